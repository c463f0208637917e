//! Asks a running gateway over its control socket: HTTP/1.0, one question, one answer.

use super::{Cli, VerbFailure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// How long the answer to a question may take.
fn patience(method: &str, path: &str) -> Duration {
    Duration::from_secs(match (method, path) {
        // A reload may wait for another one, and then for files.
        (_, "/reload" | "/robots/refresh") => 60,
        // To keep a mode takes a write to a disk, perhaps after another one.
        ("POST", "/mode") => 15,
        // Everything else is answered from memory.
        _ => 2,
    })
}

impl Cli {
    /// Sends `method path`, with `options` as the query, to the running gateway, and returns its answer.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        options: &impl Serialize,
    ) -> Result<T, VerbFailure> {
        let socket = self.control_socket()?;
        let (shown, patience) = (socket.display(), patience(method, path));
        let question = format!("{method} {path}{}", query(options));
        let answer = exchange(&socket, &question, patience).map_err(|error| {
            let late = format!("it does not answer within {} s", patience.as_secs());
            let why = if error.kind() == io::ErrorKind::WouldBlock { late } else { error.to_string() };
            let hint = match error.kind() {
                io::ErrorKind::WouldBlock => "it is stopped, or hangs; its process and its log may say why",
                io::ErrorKind::PermissionDenied => "run this as the user the gateway runs as",
                _ => "is the gateway running? --control SOCKET names another socket",
            };
            VerbFailure::with_hint(format!("{shown}: cannot ask the gateway: {why}"), hint)
        })?;
        let garbled = || VerbFailure(format!("{shown}: the gateway's answer could not be understood"));
        let end = memchr::memmem::find(&answer, b"\r\n\r\n").ok_or_else(garbled)?;
        let (head, body) = answer.split_at_checked(end + 4).ok_or_else(garbled)?;
        if !head.starts_with(b"HTTP/1.1 200") && !head.starts_with(b"HTTP/1.0 200") {
            return Err(VerbFailure(format!("{shown}: {}", String::from_utf8_lossy(body).trim_end())));
        }
        serde_json::from_slice(body).map_err(|_| garbled())
    }
}

fn exchange(socket: &Path, question: &str, patience: Duration) -> io::Result<Vec<u8>> {
    let mut stream = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A gateway that is stopped may not even take the connection. Connecting heeds the limit of writing (socket(7)).
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    stream.connect(&SockAddr::unix(socket)?)?;
    write!(stream, "{question} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// Options as a query, percent-encoded (RFC 3986 §2.1): texts as values, and flags that are set as names alone.
fn query(options: &impl Serialize) -> String {
    let mut query = form_urlencoded::Serializer::for_suffix("?".to_owned(), 1);
    let options = serde_json::to_value(options).unwrap_or_default();
    for (name, value) in options.as_object().into_iter().flatten() {
        match value {
            Value::String(text) => query.append_pair(name, text),
            Value::Bool(true) => query.append_key_only(name),
            _ => &mut query,
        };
    }
    query.finish().trim_end_matches('?').replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_travel_unharmed() {
        let options = json!({ "mode": "off", "crawler": "Sogou web spider/4&x+?", "site": null, "persist": true, "all": false });
        assert_eq!(query(&options), "?mode=off&crawler=Sogou%20web%20spider%2F4%26x%2B%3F&persist");
        assert_eq!(query(&()), "");
    }
}
