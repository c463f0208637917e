//! How serde writes maps whose keys are no text, and bytes: `#[serde(with = "…")]`.

use super::tally::Map;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::hash::Hash;

/// A map as a list of keys and values.
pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
    map: &Map<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map)
}

pub(super) fn deserialize<'de, K: Deserialize<'de> + Eq + Hash, V: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<K, V>, D::Error> {
    Ok(Vec::deserialize(deserializer)?.into_iter().collect())
}

/// Bytes: as text where they are UTF-8, so nearly always.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum RawBytes<'a> {
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> From<&'a [u8]> for RawBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        std::str::from_utf8(bytes).map_or_else(|_| Self::Bytes(bytes.into()), |text| Self::Text(text.into()))
    }
}

impl RawBytes<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

pub(super) mod raw {
    //! Bytes, or none.

    use super::{Deserialize, Deserializer, RawBytes, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde hands the field over as it stands")]
    pub(in crate::record) fn serialize<S: Serializer>(
        bytes: &Option<impl AsRef<[u8]>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.as_ref().map(|bytes| RawBytes::from(bytes.as_ref())).serialize(serializer)
    }

    pub(in crate::record) fn deserialize<'de, T: for<'a> From<&'a [u8]>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<RawBytes<'_>>::deserialize(deserializer)?.map(|raw| raw.bytes().into()))
    }
}

pub(super) mod raw_keys {
    //! A map by bytes as a list of keys and values.

    use super::{Deserialize, Deserializer, Map, RawBytes, Serialize, Serializer};

    pub(in crate::record) fn serialize<V: Serialize, S: Serializer>(
        map: &Map<Box<[u8]>, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter().map(|(key, value)| (RawBytes::from(&**key), value)))
    }

    pub(in crate::record) fn deserialize<'de, V: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Map<Box<[u8]>, V>, D::Error> {
        let pairs: Vec<(RawBytes<'_>, V)> = Vec::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|(key, value)| (key.bytes().into(), value)).collect())
    }
}
