//! Where one server of an origin is reached, as the operator writes it.

use super::user_info::without_user_info;
use super::values::from_text;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where one server of an origin is reached. Names are resolved while the gateway runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OriginUrl {
    /// A server that listens on TCP.
    Tcp {
        /// Whether it speaks TLS.
        tls: bool,
        /// Host name or IP address, an IPv6 address without brackets.
        host: Box<str>,
        /// TCP port.
        port: u16,
    },
    /// A server that listens on a Unix socket.
    Socket(PathBuf),
}

/// Why a text is no [`OriginUrl`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// Not an URL of scheme and authority.
    #[error("invalid origin `{0}`: expected a URL such as `http://127.0.0.1:3000`")]
    NoUrl(String),
    /// A path, query or user in the URL.
    #[error("`{0}`: an origin has no path, query or user; write only scheme, host and port")]
    TooMuch(String),
    /// A socket whose path is not absolute.
    #[error("`{0}`: write the whole path of the socket, such as `unix:/run/app.sock`")]
    Relative(String),
}

impl fmt::Display for OriginUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(out, "unix:{}", path.display()),
            Self::Tcp { tls, host, port } => {
                let scheme = if *tls { "https" } else { "http" };
                if host.contains(':') {
                    write!(out, "{scheme}://[{host}]:{port}")
                } else {
                    write!(out, "{scheme}://{host}:{port}")
                }
            }
        }
    }
}

impl OriginUrl {
    /// Whether it speaks TLS.
    pub const fn is_tls(&self) -> bool {
        matches!(self, Self::Tcp { tls: true, .. })
    }

    /// What a request that names no host is for: the host and port of the URL, the port only where it is not
    /// the scheme's own (RFC 9110 §4.2.1).
    pub fn authority(&self) -> String {
        match self {
            Self::Socket(_) => "localhost".to_owned(),
            Self::Tcp { tls, host, port } => {
                let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
                if *port == default_port(*tls) { host } else { format!("{host}:{port}") }
            }
        }
    }
}

const fn default_port(tls: bool) -> u16 {
    if tls { 443 } else { 80 }
}

from_text!(OriginUrl);

impl FromStr for OriginUrl {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let owned = || without_user_info(text).into_owned();
        if let Some(path) = text.strip_prefix("unix:") {
            let path = Path::new(path.strip_prefix("//").unwrap_or(path));
            let is_whole = path.is_absolute() && path.file_name().is_some();
            return if is_whole {
                Ok(Self::Socket(path.to_owned()))
            } else {
                Err(OriginError::Relative(owned()))
            };
        }
        let uri: http::Uri = text.parse().map_err(|_| OriginError::NoUrl(owned()))?;
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(OriginError::NoUrl(owned())),
        };
        let authority = uri.authority().ok_or_else(|| OriginError::NoUrl(owned()))?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() || authority.as_str().contains('@') {
            return Err(OriginError::TooMuch(owned()));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let port = match authority.as_str().rsplit_once(':') {
            Some((_, digits)) if !digits.contains(']') => {
                digits.parse().ok().filter(|port| *port != 0).ok_or_else(|| OriginError::NoUrl(owned()))?
            }
            _ => default_port(tls),
        };
        if host.is_empty() {
            return Err(OriginError::NoUrl(owned()));
        }
        Ok(Self::Tcp { tls, host: host.into(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        text.parse::<OriginUrl>().ok().map(|origin| origin.to_string())
    }

    #[test]
    fn reads_urls_of_scheme_host_and_port() {
        assert_eq!(shown("http://127.0.0.1:3000").as_deref(), Some("http://127.0.0.1:3000"));
        assert_eq!(shown("http://example.org/").as_deref(), Some("http://example.org:80"));
        assert_eq!(shown("http://[::1]:3000").as_deref(), Some("http://[::1]:3000"));
        assert_eq!(shown("https://example.org").as_deref(), Some("https://example.org:443"));
        assert_eq!(shown("unix:/run/app.sock").as_deref(), Some("unix:/run/app.sock"));
        assert_eq!(shown("unix:///run/app.sock").as_deref(), Some("unix:/run/app.sock"));
    }

    #[test]
    fn refuses_what_it_could_not_honour() {
        assert!(matches!("http://example.org/app".parse::<OriginUrl>(), Err(OriginError::TooMuch(_))));
        let told = "http://u:s3cret@example.org".parse::<OriginUrl>();
        assert_eq!(told, Err(OriginError::TooMuch("http://(hidden)@example.org".to_owned())));
        assert!(matches!("unix:app.sock".parse::<OriginUrl>(), Err(OriginError::Relative(_))));
        for bad in [
            "",
            "example.org:80",
            "127.0.0.1:3000",
            "ftp://h",
            "http://",
            "http://h:0",
            "http://h:99999",
            "unix:/",
        ] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_authority_has_a_port_only_where_it_is_needed() {
        let authority = |text: &str| text.parse::<OriginUrl>().unwrap().authority();
        assert_eq!(authority("http://a"), "a");
        assert_eq!(authority("https://a:80"), "a:80");
        assert_eq!(authority("http://[::1]:3000"), "[::1]:3000");
        assert_eq!(authority("unix:/a"), "localhost");
    }
}
