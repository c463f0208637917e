//! Values of the configuration file: types that can only hold good ones.
//!
//! Each says in its error what to write instead, and `toml` adds the line and column.

use crate::http::claims::FieldPattern;
use crate::identify::{Obeys, Purpose, PurposeSet, TokenBasis, UnknownWord, known_word};
use crate::record::JournalRate;
use crate::request::address::Network;
use crate::request::forwarded::ForwardedField;
use crate::request::prefixes::Prefixes;
use crate::request::target::PathParameters;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use strum::VariantArray;
use url::Url;

/// A type that is made of a text. A fault is found while `toml` has the text in hand, so it has the place of an element of an
/// array, too.
pub(super) struct TextVisitor<T, E>(pub(super) fn(&str) -> Result<T, E>);

impl<T, F: fmt::Display> Visitor<'_> for TextVisitor<T, F> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        self.0(text).map_err(E::custom)
    }
}

/// Types that are made of a text, and by which function.
macro_rules! from_text {
    ($($value:ty: $read:expr),*) => {$(
        impl<'de> serde::Deserialize<'de> for $value {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str($crate::config::values::TextVisitor($read))
            }
        }
    )*};
}
pub(super) use from_text;

from_text!(Network: str::parse, Purpose: str::parse, PurposeSet: str::parse);

// Choices that are written as a word. The layers that they are of read no formats.
from_text!(ForwardedField: word, PathParameters: word, Obeys: word, TokenBasis: word);

fn word<T: VariantArray + Copy + Into<&'static str>>(text: &str) -> Result<T, UnknownWord> {
    known_word("word", text, T::VARIANTS)
}

impl<'de> Deserialize<'de> for Prefixes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Network>::deserialize(deserializer).map(Self::from_iter)
    }
}

/// Tables that may be written as a text, too: what is expected, and the key that a text is the value of. A table is read by
/// what `serde` derives for `remote`, which names the type itself.
macro_rules! text_or_table {
    ($value:ty, $expected:expr, $entry:expr) => {
        impl<'de> serde::Deserialize<'de> for $value {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Either;

                impl<'de> serde::de::Visitor<'de> for Either {
                    type Value = $value;

                    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        out.write_str($expected)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$value, E> {
                        let (key, value) = $entry(text);
                        let table = toml::Table::from_iter([(String::from(key), toml::Value::from(value))]);
                        <$value>::deserialize(table).map_err(|error| E::custom(error.message()))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<$value, A::Error> {
                        <$value>::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }

                deserializer.deserialize_any(Either)
            }
        }
    };
}
pub(super) use text_or_table;

/// Forms of values that are written as a text: what each stands for, and how it is read.
macro_rules! written {
    ($($(#[$meta:meta])* $visibility:vis $name:ident($value:ty) = $read:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $visibility struct $name(pub $value);

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Result<$value, String> = $read;
                read(text).map(Self)
            }
        }

        impl std::ops::Deref for $name {
            type Target = $value;

            fn deref(&self) -> &$value {
                &self.0
            }
        }

        $crate::config::values::from_text!($name: str::parse);
    )*};
}
pub(super) use written;

written! {
    /// A duration such as `"24h"`, `"1m"`, `"200ms"`, `"0s"`.
    #[derive(Copy, Default)]
    pub DurationValue(Duration) = |text| {
        let (minute, day) = (60_000, 86_400_000);
        let units = [("ms", 1), ("s", 1_000), ("m", minute), ("h", 60 * minute), ("d", day), ("w", 7 * day)];
        let millis = split_number(text, &units).and_then(|(number, unit)| number.checked_mul(unit));
        let expected = "expected a number and a unit (ms, s, m, h, d or w), such as `24h`";
        millis.map(Duration::from_millis).ok_or_else(|| format!("invalid duration `{text}`: {expected}"))
    };

    /// A size such as `"500KiB"`, `"100MiB"`, `"1GiB"` or `"4096B"`.
    #[derive(Copy)]
    pub SizeValue(u64) = |text| {
        let units = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
        let bytes = split_number(text, &units).and_then(|(number, unit)| number.checked_mul(unit));
        let expected = "expected a number and a unit (B, KiB, MiB or GiB), such as `500KiB`";
        bytes.ok_or_else(|| format!("invalid size `{text}`: {expected}"))
    };

    /// The same of something that is held in memory.
    #[derive(Copy)]
    pub MemorySize(usize) = |text| {
        text.parse().map(|SizeValue(bytes)| usize::try_from(bytes).unwrap_or(usize::MAX))
    };

    /// An address to listen on: `"127.0.0.1:8080"`, `"[::]:80"`.
    #[derive(Copy, Hash)]
    pub ListenValue(SocketAddr) = |text| {
        let expected = "expected an IP address and a port, such as `0.0.0.0:80` or `[::]:80`";
        text.parse().map_err(|_| format!("invalid address `{text}`: {expected}"))
    };

    /// An address to listen on, or `"off"`.
    #[derive(Copy)]
    pub AdminValue(Option<SocketAddr>) = |text| {
        let expected = "expected an IP address and a port, such as `127.0.0.1:9309`, or `off`";
        let address = (text != "off").then(|| text.parse()).transpose();
        address.map_err(|_| format!("invalid address `{text}`: {expected}"))
    };

    /// A rate: `"100/s"`, `"60/m"`, or `"off"` for none.
    #[derive(Copy)]
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
    pub FieldToRemove(FieldPattern) = FieldPattern::to_remove;

    /// The name of a field that is passed on.
    pub FieldToKeep(FieldPattern) = FieldPattern::to_keep;

    /// A public key of Ed25519, as `openssl` writes it.
    #[derive(Copy)]
    pub Ed25519Value([u8; 32]) = |text| {
        let key = || STANDARD.decode(text).ok()?.strip_prefix(ED25519_KEY)?.try_into().ok();
        let expected = "expected a public key of Ed25519; write the line between the first and the last one of \
                        `openssl pkey -in key.pem -pubout`";
        key().ok_or_else(|| expected.to_owned())
    };
}

/// A default of so many seconds.
pub(super) const fn seconds<const SECONDS: u64>() -> DurationValue {
    DurationValue(Duration::from_secs(SECONDS))
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
