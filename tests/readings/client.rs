//! A connection that asks for one target after the other, and tells which page came.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) struct ReadingClient {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
}

impl ReadingClient {
    pub(crate) const fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// The page that `target` is answered with, if it is one, and the query as the server has it.
    pub(crate) fn page(&mut self, target: &str) -> Option<String> {
        // A server may end a connection that it kept so far.
        for _ in 0..3 {
            if let Ok(body) = self.ask(target) {
                let body = String::from_utf8(body).ok()?;
                let page = body.strip_prefix("page ")?.strip_suffix('\n')?;
                let sent = target.find('?').map_or("", |at| &target[at..]);
                let (page, query) = page.split_once('\t').unwrap_or((page, sent));
                // A proxy leaves an empty query out. Whether there is one is no matter of paths.
                let query = if sent == "?" { sent } else { query };
                return Some([page, query].concat());
            }
            self.stream = None;
        }
        None
    }

    /// The body of a 200, nothing of any other.
    fn ask(&mut self, target: &str) -> io::Result<Vec<u8>> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.set_nodelay(true)?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        write!(stream.get_mut(), "GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let (mut status, mut length, mut closes) = (0, None, false);
        for number in 0.. {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if number == 0 {
                status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
                closes |= line.starts_with("http/1.0");
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok();
            }
            closes |= line == "connection: close";
            if line.is_empty() {
                break;
            }
        }
        let mut body = Vec::new();
        match length {
            Some(length) => drop(stream.take(length).read_to_end(&mut body)?),
            None => closes = true,
        }
        if closes {
            self.stream = None;
        }
        Ok(if status == 200 { body } else { Vec::new() })
    }
}
