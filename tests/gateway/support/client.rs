//! A client of HTTP/1.1 (RFC 9112) that writes exactly the bytes it is told to.

use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A request in the making.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: String,
    target: Vec<u8>,
    host: Option<String>,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// Any method, any bytes as target.
pub(crate) fn request(method: &str, target: impl AsRef<[u8]>) -> Request {
    let host = Some("localhost".to_owned());
    Request {
        method: method.to_owned(),
        target: target.as_ref().to_vec(),
        host,
        headers: Vec::new(),
        body: Vec::new(),
    }
}

pub(crate) fn get(target: impl AsRef<[u8]>) -> Request {
    request("GET", target)
}

pub(crate) fn head(target: impl AsRef<[u8]>) -> Request {
    request("HEAD", target)
}

impl Request {
    /// Sent by a client that calls itself `user_agent`.
    pub(crate) fn by(self, user_agent: impl AsRef<[u8]>) -> Self {
        self.with("User-Agent", user_agent)
    }

    pub(crate) fn for_host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub(crate) fn without_host(mut self) -> Self {
        self.host = None;
        self
    }

    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [self.method.as_bytes(), b" ", &self.target, b" HTTP/1.1\r\n"].concat();
        if let Some(host) = &self.host {
            bytes.extend([b"Host: ", host.as_bytes(), b"\r\n"].concat());
        }
        for (name, value) in &self.headers {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        if !self.body.is_empty() || self.method == "POST" {
            bytes.extend(format!("Content-Length: {}\r\n", self.body.len()).into_bytes());
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }
}

/// A response, read to its end.
#[derive(Clone, Debug)]
pub(crate) struct ClientResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl ClientResponse {
    /// The value of a header field; fails the test when it was sent twice.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
        let first = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "`{name}` was sent twice: {self:?}");
        first
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Fails the test unless the origin answered.
    #[track_caller]
    pub(crate) fn came_from_origin(&self) -> &Self {
        assert_eq!(self.status, 200, "{}", self.text());
        assert!(self.body.starts_with(b"origin: "), "{}", self.text());
        self
    }
}

/// A connection that stays open for one request after the other.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
    /// Whether the server said that the last answer was the last (RFC 9112 §9.6).
    is_over: bool,
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self::try_to(address).unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"))
    }

    pub(crate) fn try_to(address: SocketAddr) -> std::io::Result<Self> {
        Self::over(TcpStream::connect(address)?)
    }

    /// Speaks over a connection that is open.
    pub(crate) fn over(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.set_write_timeout(Some(Duration::from_secs(20)))?;
        Ok(Self { stream, unread: Vec::new(), is_over: false })
    }

    /// Sends a request on this connection and reads the whole response.
    #[track_caller]
    pub(crate) fn send(&mut self, request: &Request) -> ClientResponse {
        self.try_send(request).unwrap_or_else(|error| panic!("no response to {request:?}: {error}"))
    }

    /// The same; on a new connection where the server has announced the end of this one.
    pub(crate) fn try_send(&mut self, request: &Request) -> std::io::Result<ClientResponse> {
        if self.is_over {
            *self = Self::try_to(self.stream.peer_addr()?)?;
        }
        // A server may answer and close before it has taken the whole body; the answer is what counts.
        let written = self.stream.write_all(&request.bytes());
        match self.read(request.method == "HEAD") {
            Err(error) => Err(written.err().unwrap_or(error)),
            response => response,
        }
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes the bytes");
    }

    /// Reads one response; `to_head` says that it has no body whatever its header fields say.
    pub(crate) fn read(&mut self, to_head: bool) -> std::io::Result<ClientResponse> {
        loop {
            let head = self.until_blank_line()?;
            let (status, headers) = parse_head(&head)?;
            if (100..200).contains(&status) {
                continue;
            }
            let mut response = ClientResponse { status, headers, body: Vec::new() };
            self.is_over =
                response.header("Connection").is_some_and(|option| option.eq_ignore_ascii_case("close"));
            if !to_head && status != 204 && status != 304 {
                response.body = self.body(&response)?;
            }
            return Ok(response);
        }
    }

    /// Waits for the beginning of a response, and leaves the rest of it unread.
    pub(crate) fn first_byte(&mut self) {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).expect("a response begins");
    }

    /// Whether the server ends the connection, with nothing more to say.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        self.unread.is_empty() && matches!(self.stream.read(&mut byte), Ok(0))
    }

    fn body(&mut self, response: &ClientResponse) -> std::io::Result<Vec<u8>> {
        if response.header("Transfer-Encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            return self.chunks();
        }
        if let Some(length) = response.header("Content-Length") {
            return self.exactly(length.parse().map_err(|_| broken("Content-Length"))?);
        }
        while self.more()? {}
        Ok(std::mem::take(&mut self.unread))
    }

    fn chunks(&mut self) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = self.line()?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| broken("chunk size"))?;
            let chunk = self.exactly(size)?;
            body.extend(chunk);
            self.line()?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn line(&mut self) -> std::io::Result<String> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|pair| pair == b"\r\n") {
                let line: Vec<u8> = self.unread.drain(..end + 2).take(end).collect();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            self.need_more()?;
        }
    }

    fn until_blank_line(&mut self) -> std::io::Result<String> {
        loop {
            if let Some(end) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.unread.drain(..end + 4).take(end).collect();
                return Ok(String::from_utf8_lossy(&head).into_owned());
            }
            self.need_more()?;
        }
    }

    fn exactly(&mut self, bytes: usize) -> std::io::Result<Vec<u8>> {
        while self.unread.len() < bytes {
            self.need_more()?;
        }
        Ok(self.unread.drain(..bytes).collect())
    }

    fn need_more(&mut self) -> std::io::Result<()> {
        if self.more()? { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }

    fn more(&mut self) -> std::io::Result<bool> {
        let mut bytes = [0; 16_384];
        let count = self.stream.read(&mut bytes)?;
        self.unread.extend(&bytes[..count]);
        Ok(count > 0)
    }
}

fn broken(what: &str) -> std::io::Error {
    std::io::Error::new(ErrorKind::InvalidData, format!("broken {what}"))
}

fn parse_head(head: &str) -> std::io::Result<(u16, Vec<(String, String)>)> {
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3))
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| broken("status line"))?;
    let headers = lines
        .map(|line| line.split_once(':').ok_or_else(|| broken("header field")))
        .map(|field| field.map(|(name, value)| (name.to_owned(), value.trim().to_owned())))
        .collect::<Result<_, _>>()?;
    Ok((status, headers))
}
