//! Asks a running gateway over its control socket: HTTP/1.0, one question, one answer.

use super::VerbFailure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// A reload may wait for another one, and then for files.
const RELOADING: Duration = Duration::from_secs(60);

/// Everything else is answered from memory.
const PATIENCE: Duration = Duration::from_secs(2);

/// To keep a mode takes a write to a disk, perhaps after another one.
const WRITING: Duration = Duration::from_secs(15);

/// How long the answer to a question may take.
fn patience(path: &str, query: &str) -> Duration {
    match path {
        "/reload" | "/robots/refresh" => RELOADING,
        "/mode" if !query.is_empty() => WRITING,
        _ => PATIENCE,
    }
}

/// Sends `method path`, with `options` as the query, and returns the answer.
pub(super) fn ask<T: DeserializeOwned>(
    socket: &Path,
    method: &str,
    path: &str,
    options: &impl Serialize,
) -> Result<T, VerbFailure> {
    let shown = socket.display();
    let query = query(options);
    let patience = patience(path, &query);
    let answer = exchange_within(patience, socket, method, &format!("{path}{query}")).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::TimedOut => "it is stopped, or hangs; its process and its log may say why",
            io::ErrorKind::PermissionDenied => "run this as the user the gateway runs as",
            _ => "is the gateway running? --control SOCKET names another socket",
        };
        VerbFailure::with_hint(format!("{shown}: cannot ask the gateway: {error}"), hint)
    })?;
    let garbled = || VerbFailure(format!("{shown}: the gateway's answer could not be understood"));
    let end = memchr::memmem::find(&answer, b"\r\n\r\n").ok_or_else(garbled)?;
    let (head, body) = answer.split_at_checked(end + 4).ok_or_else(garbled)?;
    if !head.starts_with(b"HTTP/1.1 200") && !head.starts_with(b"HTTP/1.0 200") {
        return Err(VerbFailure(format!("{shown}: {}", String::from_utf8_lossy(body).trim_end())));
    }
    serde_json::from_slice(body).map_err(|_| garbled())
}

/// Asks on a thread of its own: a gateway that is stopped may not even take the connection, and connecting cannot be told
/// to hurry.
fn exchange_within(patience: Duration, socket: &Path, method: &str, path: &str) -> io::Result<Vec<u8>> {
    let (answer, answered) = sync_channel(1);
    let (socket, method, path) = (socket.to_owned(), method.to_owned(), path.to_owned());
    std::thread::Builder::new().name("ask".to_owned()).spawn(move || {
        // Nobody waits any more when it took too long.
        let _ = answer.send(exchange(&socket, &method, &path));
    })?;
    answered.recv_timeout(patience).unwrap_or_else(|_| {
        let message = format!("it does not answer within {} s", patience.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    })
}

fn exchange(socket: &Path, method: &str, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
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
