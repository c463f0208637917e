//! How a request's way is told: by the proxies in front, and to the origins behind.

use super::arguments::Arguments;
use super::build::Faults;
use super::file::ConfigFile;
use crate::http::claims::FieldPatterns;
use crate::request::address::NetworkList;
use crate::request::forwarded::ForwardedField;

/// What is believed, and what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// In which field trusted proxies tell where a request came from.
    pub field: ForwardedField,
    /// Whether requests to origins say that they came through a gateway.
    pub via: bool,
}

impl Forwarding {
    pub(super) fn from_file(file: &ConfigFile) -> Self {
        Self {
            field: file.forwarded_header,
            // RFC 9110 §7.6.3: a gateway has to say so.
            via: file.via.unwrap_or(true),
        }
    }
}

/// The proxies in front, of the file and of the options together.
pub(super) fn trusted(file: &ConfigFile, arguments: &Arguments) -> NetworkList {
    file.trusted_proxies.iter().chain(&arguments.trusted_proxy).map(|value| value.0).collect()
}

/// `remove_fields`: what an operator has removed beside what always is.
pub(super) fn removed_fields(file: &ConfigFile, faults: &mut Faults<'_>) -> FieldPatterns {
    let written = file.remove_fields.iter().map(|field| (field.span(), field.as_ref().parse()));
    faults.values_or_faults(written).unwrap_or_default().into_iter().collect()
}
