//! `exempt`, and `except` of a crawler: who is not judged, why, and until when.

use super::values::{NetworkValue, TableOrText, WrittenAs};
use crate::record::timestamp;
use crate::request::address::Network;
use serde::Deserialize;
use std::time::{Duration, SystemTime};

/// How long before its end an exception is told of: time to ask whether it is still wanted.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// Somebody who is not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Exception {
    /// From where; from everywhere where there is none.
    #[serde(with = "WrittenAs::<NetworkValue>")]
    pub address: Option<Network>,
    /// Why.
    pub reason: Option<String>,
    /// When it ends.
    #[serde(deserialize_with = "end")]
    #[cfg_attr(test, schemars(with = "super::tests::LocalDate"))]
    pub until: Option<SystemTime>,
}

/// The end of the day that is written, in UTC.
fn end<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<SystemTime>, D::Error> {
    let written = toml::value::Datetime::deserialize(deserializer)?;
    let day = written.to_string().parse::<jiff::civil::Date>().ok().filter(|_| written.time.is_none());
    let end = day.and_then(|day| day.tomorrow().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok());
    end.map(|end| Some(end.timestamp().into())).ok_or_else(|| {
        serde::de::Error::custom(format!(
            "invalid end `{written}`: expected a day such as 2027-01-31, without quotes"
        ))
    })
}

impl TableOrText for Exception {
    const WANTED: &'static str =
        "a network such as \"192.0.2.0/24\", or a table with `address`, `reason` and `until`";

    fn of_text(text: &str) -> Result<Self, String> {
        text.parse().map(|NetworkValue(address)| Self { address: Some(address), ..Self::default() })
    }
}

impl Exception {
    /// Whether it holds.
    pub fn holds(&self, now: SystemTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// What is to be known of its end, where that has come or comes soon. `key` says where it is written.
    pub fn trouble(&self, key: &str, now: SystemTime) -> Option<String> {
        let until = self.until.filter(|until| *until <= now + SOON)?;
        let what = if self.holds(now) { "ends" } else { "has ended" };
        let of = self.address.map_or_else(String::new, |address| format!(" of {address}"));
        let why = self.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        Some(format!("the exception{of} in `{key}`{why} {what}: {}", timestamp(until)))
    }
}
