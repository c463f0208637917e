//! Enums and ids of the domain as their public words, for formats that serde writes and reads:
//! `#[serde(with = "word")]`, and `#[serde(with = "word::optional")]` for one that may be null.

use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};
use std::fmt::Display;
use std::str::FromStr;

/// Writes a value as its word.
///
/// # Errors
/// When the format cannot be written.
pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Reads a value from its word.
///
/// # Errors
/// When there is no text, or no value of this word.
pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

pub mod optional {
    //! The same for a value that may be missing, which is null.

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};
    use std::fmt::Display;
    use std::str::FromStr;

    /// Writes a value as its word, or null.
    ///
    /// # Errors
    /// When the format cannot be written.
    pub fn serialize<T: Display, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        value.as_ref().map(ToString::to_string).serialize(serializer)
    }

    /// Reads a value from its word, or null.
    ///
    /// # Errors
    /// When there is neither text nor null, or no value of this word.
    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let word = Option::<String>::deserialize(deserializer)?;
        word.map(|word| word.parse().map_err(D::Error::custom)).transpose()
    }
}
