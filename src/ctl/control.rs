//! Asks a running gateway over its control socket: HTTP/1.0, one question, one answer.

use super::Failure;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A reload parses files; anything slower than this is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends `method path` and returns the JSON of the answer.
pub(super) fn ask(socket: &Path, method: &str, path: &str) -> Result<Value, Failure> {
    let shown = socket.display();
    let answer = exchange(socket, method, path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "run this as the user the gateway runs as",
            _ => "is the gateway running? --control SOCKET names another socket",
        };
        Failure(format!("{shown}: cannot ask the gateway: {error}\n  hint: {hint}"))
    })?;
    let garbled = || Failure(format!("{shown}: the gateway's answer could not be understood"));
    let end = memchr::memmem::find(&answer, b"\r\n\r\n").ok_or_else(garbled)?;
    let (head, body) = answer.split_at_checked(end + 4).ok_or_else(garbled)?;
    if !head.starts_with(b"HTTP/1.1 200") && !head.starts_with(b"HTTP/1.0 200") {
        return Err(Failure(format!("{shown}: {}", String::from_utf8_lossy(body).trim_end())));
    }
    serde_json::from_slice(body).map_err(|_| garbled())
}

fn exchange(socket: &Path, method: &str, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// Percent-encodes all but unreserved characters (RFC 3986 §2.3).
pub(super) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, octet| {
        if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) {
            encoded.push(char::from(octet));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(encoded, "%{octet:02X}");
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_travel_unharmed() {
        assert_eq!(encoded("Sogou web spider/4&x"), "Sogou%20web%20spider%2F4%26x");
    }
}
