//! Values of the configuration file: types that can only hold good ones.
//!
//! Each says in its error what to write instead, and `toml` adds the line and column.

use crate::http::claims::FieldPattern;
use crate::identify::{Obeys, Purpose, PurposeSet, TokenBasis, UnknownWord};
use crate::record::JournalRate;
use crate::request::address::{Network, NetworkError};
use crate::request::forwarded::ForwardedField;
use crate::request::target::PathParameters;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;
use strum::VariantArray;
use url::Url;

/// The form in which a value is written.
pub(super) trait WrittenValue {
    /// What is kept.
    type Value;

    /// What it stands for.
    fn value(self) -> Self::Value;
}

/// The form `V` in which a field is written; what it stands for is kept.
pub(super) struct WrittenAs<V>(PhantomData<V>);

impl<V> WrittenAs<V> {
    pub(super) fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>
    where
        V: Deserialize<'de> + WrittenValue<Value: Into<T>>,
    {
        V::deserialize(deserializer).map(|written| written.value().into())
    }
}

/// The form `V` in which each element of an array is written.
pub(super) struct ListedAs<V>(PhantomData<V>);

impl<V> ListedAs<V> {
    pub(super) fn deserialize<'de, C, D: Deserializer<'de>>(deserializer: D) -> Result<C, D::Error>
    where
        V: Deserialize<'de> + WrittenValue,
        C: FromIterator<V::Value>,
    {
        Ok(Vec::<V>::deserialize(deserializer)?.into_iter().map(V::value).collect())
    }
}

/// A type that is made of a text. A fault is found while `toml` has the text in hand, so it has the place of an element of an
/// array, too.
pub(super) struct TextVisitor<T>(pub(super) PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! from_text {
    ($($value:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $value {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str($crate::config::values::TextVisitor(std::marker::PhantomData))
            }
        }
    )*};
}
pub(super) use from_text;

from_text!(Purpose, PurposeSet);

/// Choices that are written as a word. The layers that they are of read no formats.
macro_rules! from_word {
    ($($value:ty),*) => {$(
        impl<'de> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                word(deserializer)
            }
        }
    )*};
}

from_word!(ForwardedField, PathParameters, Obeys, TokenBasis);

fn word<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>
where
    T: VariantArray + Copy + Into<&'static str>,
{
    let written = String::deserialize(deserializer)?;
    let words = || T::VARIANTS.iter().map(|value| -> &'static str { (*value).into() });
    let found = words().position(|word| word == written).and_then(|at| T::VARIANTS.get(at).copied());
    found.ok_or_else(|| D::Error::custom(UnknownWord::among("word", &written, words())))
}

/// Forms of values that are written as a text: what each stands for, and how it is read.
macro_rules! written {
    ($($(#[$meta:meta])* $visibility:vis $name:ident($value:ty) = $read:expr;)*) => {$(
        $(#[$meta])*
        $visibility struct $name(pub $value);

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Result<$value, String> = $read;
                read(text).map(Self)
            }
        }

        impl $crate::config::values::WrittenValue for $name {
            type Value = $value;

            fn value(self) -> $value {
                self.0
            }
        }

        $crate::config::values::from_text!($name);
    )*};
}
pub(super) use written;

written! {
    /// A duration such as `"24h"`, `"1m"`, `"200ms"`, `"0s"`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub DurationValue(Duration) = |text| {
        let (minute, day) = (60_000, 86_400_000);
        let units = [("ms", 1), ("s", 1_000), ("m", minute), ("h", 60 * minute), ("d", day), ("w", 7 * day)];
        let millis = split_number(text, &units).and_then(|(number, unit)| number.checked_mul(unit));
        let expected = "expected a number and a unit (ms, s, m, h, d or w), such as `24h`";
        millis.map(Duration::from_millis).ok_or_else(|| format!("invalid duration `{text}`: {expected}"))
    };

    /// A size such as `"500KiB"`, `"100MiB"`, `"1GiB"` or `"4096B"`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub SizeValue(u64) = |text| {
        let units = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
        let bytes = split_number(text, &units).and_then(|(number, unit)| number.checked_mul(unit));
        let expected = "expected a number and a unit (B, KiB, MiB or GiB), such as `500KiB`";
        bytes.ok_or_else(|| format!("invalid size `{text}`: {expected}"))
    };

    /// The same of something that is held in memory.
    pub(super) MemorySize(usize) = |text| {
        text.parse().map(|SizeValue(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX))
    };

    /// An address to listen on: `"127.0.0.1:8080"`, `"[::]:80"`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub ListenValue(SocketAddr) = |text| {
        let expected = "expected an IP address and a port, such as `0.0.0.0:80` or `[::]:80`";
        text.parse().map_err(|_| format!("invalid address `{text}`: {expected}"))
    };

    /// An address to listen on, or `"off"`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub AdminValue(Option<SocketAddr>) = |text| {
        let expected = "expected an IP address and a port, such as `127.0.0.1:9309`, or `off`";
        let address = (text != "off").then(|| text.parse()).transpose();
        address.map_err(|_| format!("invalid address `{text}`: {expected}"))
    };

    /// A network: `"10.0.0.0/8"`, `"192.0.2.1"`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub NetworkValue(Network) = |text| text.parse().map_err(|error: NetworkError| error.to_string());

    /// A rate: `"100/s"`, `"60/m"`, or `"off"` for none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub RateValue(Option<JournalRate>) = |text| {
        let rate = || {
            let (lines, seconds) = split_number(text, &[("/s", 1), ("/m", 60), ("/h", 3_600)])?;
            let lines = u32::try_from(lines).ok().filter(|lines| *lines > 0)?;
            Some(JournalRate { lines, period: Duration::from_secs(seconds) })
        };
        let wrong = || format!("invalid rate `{text}`: expected `100/s`, `60/m`, `1000/h` or `off`");
        (text != "off").then(|| rate().ok_or_else(wrong)).transpose()
    };

    /// The name of a field that is taken out of requests.
    pub(super) FieldToRemove(FieldPattern) = FieldPattern::to_remove;

    /// The name of a field that is passed on.
    pub(super) FieldToKeep(FieldPattern) = FieldPattern::to_keep;

    /// A public key of Ed25519, as `openssl` writes it.
    pub(super) Ed25519Value([u8; 32]) = |text| {
        let key = || STANDARD.decode(text).ok()?.strip_prefix(ED25519_KEY)?.try_into().ok();
        let expected = "expected a public key of Ed25519; write the line between the first and the last one of \
                        `openssl pkey -in key.pem -pubout`";
        key().ok_or_else(|| expected.to_owned())
    };
}

/// A default of so many seconds.
pub(super) const fn seconds<const SECONDS: u64>() -> Duration {
    Duration::from_secs(SECONDS)
}

/// How a public key of Ed25519 begins (RFC 8410 §4).
const ED25519_KEY: &[u8] = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// Splits `12m` into its number and what its unit stands for.
fn split_number(text: &str, units: &[(&str, u64)]) -> Option<(u64, u64)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, written) = text.split_at_checked(digits)?;
    let (_, unit) = units.iter().find(|(name, _)| *name == written)?;
    Some((number.parse().ok()?, *unit))
}

/// A URL of the web, with nothing in it that could not stand in a field of a head.
pub(super) fn web_url(text: &str) -> Option<Url> {
    // Browsers also take what has blanks in it or lacks slashes; an operator has mistyped it.
    let is_whole = text.contains("://") && text.bytes().all(|byte| byte.is_ascii_graphic());
    Url::parse(text).ok().filter(|url| is_whole && matches!(url.scheme(), "http" | "https"))
}

/// A table that may be written as a text, too.
pub(super) trait TableOrText: Sized {
    /// What is expected.
    const WANTED: &'static str;

    /// The table that a text stands for.
    fn of_text(text: &str) -> Result<Self, String>;
}

/// A text, or a table with its own complaints about its keys.
#[derive(Debug)]
pub(super) struct TextOrTable<T>(T);

impl<T> WrittenValue for TextOrTable<T> {
    type Value = T;

    fn value(self) -> T {
        self.0
    }
}

impl<'de, T: TableOrText + Deserialize<'de>> Deserialize<'de> for TextOrTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrTableVisitor(PhantomData)).map(Self)
    }
}

struct TextOrTableVisitor<T>(PhantomData<T>);

impl<'de, T: TableOrText + Deserialize<'de>> Visitor<'de> for TextOrTableVisitor<T> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(T::WANTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::of_text(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        let duration = |text: &str| text.parse::<DurationValue>().map(|value| value.0).ok();
        assert_eq!(duration("24h"), Some(Duration::from_secs(86_400)));
        assert_eq!(duration("200ms"), Some(Duration::from_millis(200)));
        assert_eq!(duration("0s"), Some(Duration::ZERO));
        assert_eq!(duration("2d"), Some(Duration::from_secs(172_800)));
        assert_eq!(duration("1w"), duration("7d"));
        for bad in ["", "24", "h", "-1s", "1.5h", "1 h", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_are_binary() {
        let size = |text: &str| text.parse::<SizeValue>().map(|value| value.0).ok();
        assert_eq!(size("500KiB"), Some(512_000));
        assert_eq!(size("1MiB"), Some(1_048_576));
        for bad in ["500", "500KB", "500 KiB", "KiB", "18446744073709551615GiB"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }

    #[test]
    fn rates_are_a_number_in_a_period() {
        let rate = |text: &str| {
            let rate = text.parse::<RateValue>().ok()?.0;
            Some(rate.map(|rate| (rate.lines, rate.period.as_secs())))
        };
        assert_eq!(rate("100/s"), Some(Some((100, 1))));
        assert_eq!((rate("60/m"), rate("5/h")), (Some(Some((60, 60))), Some(Some((5, 3_600)))));
        assert_eq!(rate("off"), Some(None));
        for bad in ["", "100", "0/s", "/s", "1/d", "5000000000/s", "1 /s", "none"] {
            assert_eq!(rate(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_admin_listener_can_be_off() {
        assert_eq!("off".parse(), Ok(AdminValue(None)));
        assert!("127.0.0.1:9309".parse::<AdminValue>().is_ok_and(|value| value.0.is_some()));
        assert!("localhost:9309".parse::<AdminValue>().is_err());
    }
}
