//! Where a site's requests go: the URL of its origin.

use std::fmt;
use std::str::FromStr;

/// An origin server as the operator names it. Names are resolved when a policy is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Host name or IP address, an IPv6 address without brackets.
    pub host: Box<str>,
    /// TCP port.
    pub port: u16,
}

/// Why a text is no [`Origin`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginError {
    /// Not an URL of scheme and authority.
    NoUrl(String),
    /// `https` needs TLS towards the origin.
    NeedsTls(String),
    /// A path, query or user in the URL.
    TooMuch(String),
}

impl fmt::Display for OriginError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUrl(text) => {
                write!(out, "`{text}` is no origin; write a URL such as `http://127.0.0.1:3000`")
            }
            Self::NeedsTls(text) => {
                write!(out, "`{text}`: TLS towards the origin is not supported yet; write a `http://` URL")
            }
            Self::TooMuch(text) => {
                write!(
                    out,
                    "`{text}`: an origin has no path, query or user; write only scheme, host and port"
                )
            }
        }
    }
}

impl std::error::Error for OriginError {}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "http://[{}]:{}", self.host, self.port)
        } else {
            write!(out, "http://{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let owned = || text.to_owned();
        let uri: http::Uri = text.parse().map_err(|_| OriginError::NoUrl(owned()))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(OriginError::NeedsTls(owned())),
            _ => return Err(OriginError::NoUrl(owned())),
        }
        let authority = uri.authority().ok_or_else(|| OriginError::NoUrl(owned()))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() || authority.as_str().contains('@') {
            return Err(OriginError::TooMuch(owned()));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let port = match authority.as_str().rsplit_once(':') {
            Some((_, digits)) if !digits.contains(']') => {
                digits.parse().ok().filter(|port| *port != 0).ok_or_else(|| OriginError::NoUrl(owned()))?
            }
            _ => 80,
        };
        if host.is_empty() {
            return Err(OriginError::NoUrl(owned()));
        }
        Ok(Self { host: host.into(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        text.parse::<Origin>().ok().map(|origin| origin.to_string())
    }

    #[test]
    fn reads_urls_of_scheme_host_and_port() {
        assert_eq!(shown("http://127.0.0.1:3000").as_deref(), Some("http://127.0.0.1:3000"));
        assert_eq!(shown("http://example.org/").as_deref(), Some("http://example.org:80"));
        assert_eq!(shown("http://[::1]:3000").as_deref(), Some("http://[::1]:3000"));
    }

    #[test]
    fn refuses_what_it_could_not_honour() {
        assert!(matches!("https://example.org".parse::<Origin>(), Err(OriginError::NeedsTls(_))));
        assert!(matches!("http://example.org/app".parse::<Origin>(), Err(OriginError::TooMuch(_))));
        assert!(matches!("http://u@example.org".parse::<Origin>(), Err(OriginError::TooMuch(_))));
        for bad in
            ["", "example.org:80", "127.0.0.1:3000", "ftp://h", "http://", "http://h:0", "http://h:99999"]
        {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }
}
