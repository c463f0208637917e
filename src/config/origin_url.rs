//! Where one server of an origin is reached, as the operator writes it.

use super::user_info::without_user_info;
use super::values::{from_text, web_url};
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = without_user_info(text);
        if let Some(path) = text.strip_prefix("unix:") {
            let path = Path::new(path.strip_prefix("//").unwrap_or(path));
            let is_whole = path.is_absolute() && path.file_name().is_some();
            let expected = "write the whole path of the socket, such as `unix:/run/app.sock`";
            return if is_whole {
                Ok(Self::Socket(path.to_owned()))
            } else {
                Err(format!("`{shown}`: {expected}"))
            };
        }
        let no_url = || format!("invalid origin `{shown}`: expected a URL such as `http://127.0.0.1:3000`");
        let url = web_url(text).ok_or_else(no_url)?;
        let tls = url.scheme() == "https";
        if url.path() != "/" || url.query().is_some() || text.contains(['@', '#']) {
            let expected = "an origin has no path, query or user; write only scheme, host and port";
            return Err(format!("`{shown}`: {expected}"));
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port().unwrap_or_else(|| default_port(tls));
        if port == 0 {
            return Err(no_url());
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
        for (bad, told) in [
            ("http://example.org/app", "`http://example.org/app`: an origin has no path"),
            ("http://u:s3cret@example.org", "`http://(hidden)@example.org`: an origin has no path"),
            ("unix:app.sock", "`unix:app.sock`: write the whole path"),
        ] {
            let error = bad.parse::<OriginUrl>().unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
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
