//! A publisher of address ranges on loopback: files by name, with validators (RFC 9110 §8.8).

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::PrivateKeyDer;

#[derive(Debug, Default)]
struct PublisherState {
    files: HashMap<String, Vec<u8>>,
    /// Path and `If-None-Match` of every request.
    asked: Vec<(String, Option<String>)>,
}

/// The publisher; it lives as long as the test program.
#[derive(Clone, Debug)]
pub(crate) struct ListPublisher {
    address: SocketAddr,
    state: Arc<Mutex<PublisherState>>,
}

impl ListPublisher {
    pub(crate) fn start() -> Self {
        Self::serving(Some)
    }

    fn serving<S: Read + Write>(wrap: impl Fn(TcpStream) -> Option<S> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let publisher = Self { address, state: Arc::default() };
        let serving = publisher.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten().filter_map(&wrap) {
                // A client that goes away early is the client's affair.
                let _ = serving.serve(stream);
            }
        });
        publisher
    }

    /// One that speaks TLS, and the certificate that vouches for it, in PEM form.
    pub(crate) fn start_with_tls() -> (Self, String) {
        let names = vec!["127.0.0.1".to_owned()];
        let own = rcgen::generate_simple_self_signed(names).expect("a certificate");
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("protocol versions")
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .expect("a certificate and its key");
        let config = Arc::new(config);
        let publisher = Self::serving(move |stream| {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).ok()?;
            Some(rustls::StreamOwned::new(connection, stream))
        });
        (publisher, own.cert.pem())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/lists", self.address)
    }

    pub(crate) fn tls_url(&self) -> String {
        format!("https://{}/lists", self.address)
    }

    pub(crate) fn publishes(&self, name: &str, content: impl AsRef<[u8]>) {
        self.state().files.insert(format!("/lists/{name}"), content.as_ref().to_vec());
    }

    pub(crate) fn withdraws(&self, name: &str) {
        self.state().files.remove(&format!("/lists/{name}"));
    }

    /// What was asked for `name`: the validator of each request.
    pub(crate) fn validators(&self, name: &str) -> Vec<Option<String>> {
        let path = format!("/lists/{name}");
        self.state().asked.iter().filter(|(asked, _)| *asked == path).map(|(_, tag)| tag.clone()).collect()
    }

    fn state(&self) -> MutexGuard<'_, PublisherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: impl Read + Write) -> std::io::Result<()> {
        let mut lines = BufReader::new((&mut stream).take(65_536)).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut tag = None;
        for line in lines {
            let line = line?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("if-none-match")
            {
                tag = Some(value.trim().to_owned());
            }
        }
        let content = {
            let mut state = self.state();
            state.asked.push((path.clone(), tag.clone()));
            state.files.get(&path).cloned()
        };
        let Some(content) = content else {
            return stream
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        let own = format!("\"{}\"", crate::support::version_of(&content));
        let head = format!("ETag: {own}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", content.len());
        if tag.as_deref() == Some(&own) {
            let head = format!("HTTP/1.1 304 Not Modified\r\nETag: {own}\r\nConnection: close\r\n\r\n");
            return stream.write_all(head.as_bytes());
        }
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}").as_bytes())?;
        stream.write_all(&content)
    }
}
