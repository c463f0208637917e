//! A site of a few lines behind the proxies: it takes bodies, lets clients wait, sends much, echoes what comes over a
//! WebSocket, and speaks HTTP/2 with trailers as gRPC does.

use bytes::Bytes;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Longer than a recipe waits for the gateway when it asks.
pub(crate) const SLOW: Duration = Duration::from_millis(1_200);

/// The size of its largest page.
pub(crate) const LARGE: usize = 8 << 20;

/// Starts it on a free port, for as long as the test binary runs.
pub(crate) fn site() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that has gone is no fault of the site's.
            thread::spawn(move || serve(stream).ok());
        }
    });
    address
}

fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if reader.read_until(b'\n', &mut head)? == 0 {
                return Ok(());
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let field = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
        };
        // With the answer to the key of RFC 6455 §1.3.
        if field("upgrade").is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket")) {
            stream.write_all(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
            )?;
            return std::io::copy(&mut reader, &mut stream).map(drop);
        }
        if field("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let length = field("content-length").map(|length| length.parse::<u64>().expect("a length"));
        let is_chunked = field("transfer-encoding").is_some();
        let read =
            if is_chunked { chunks(&mut reader)? } else { skip(&mut reader, length.unwrap_or_default())? };
        let line = head
            .lines()
            .next()
            .unwrap_or_default()
            .trim_end_matches(" HTTP/1.1")
            .trim_end_matches(" HTTP/1.0");
        let agent = field("user-agent").unwrap_or_default();
        let mut page = format!("origin: {line}\nbody: {read}\nagent: {agent}\n").into_bytes();
        if line.ends_with("/slow") {
            thread::sleep(SLOW);
        }
        if line.ends_with("/large") {
            page.resize(LARGE, b'a');
        }
        let fields =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", page.len());
        stream.write_all(fields.as_bytes())?;
        if !line.starts_with("HEAD ") {
            stream.write_all(&page)?;
        }
    }
}

fn skip(reader: &mut impl Read, length: u64) -> std::io::Result<u64> {
    std::io::copy(&mut reader.take(length), &mut std::io::sink())
}

/// The size of a body that comes in chunks.
fn chunks(reader: &mut BufReader<TcpStream>) -> std::io::Result<u64> {
    let mut whole = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim(), 16).expect("the size of a chunk");
        whole += skip(reader, size)?;
        skip(reader, 2)?;
        if size == 0 {
            return Ok(whole);
        }
    }
}

/// Starts a service of gRPC on a free port: it answers each call with the bytes that came, and with `grpc-status: 0`.
pub(crate) fn grpc() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    listener.set_nonblocking(true).expect("a socket for tokio");
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(calls(stream));
            }
        });
    });
    address
}

async fn calls(stream: tokio::net::TcpStream) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((mut request, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            let mut message = Vec::new();
            while let Some(Ok(data)) = request.body_mut().data().await {
                let _ = request.body_mut().flow_control().release_capacity(data.len());
                message.extend(data);
            }
            let answer = http::Response::builder()
                .header("content-type", "application/grpc")
                .body(())
                .expect("a head");
            let Ok(mut body) = respond.send_response(answer, false) else { return };
            let _ = body.send_data(Bytes::from(message), false);
            let mut trailers = http::HeaderMap::new();
            trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
            let _ = body.send_trailers(trailers);
        });
    }
}
