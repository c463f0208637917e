//! TLS to the origin: verified against the authority that the operator names, and for the right name.

use crate::support::agents::CHROME;
use crate::support::origin::free_port;
use crate::support::wait::within;
use crate::support::{Daemon, Folder, configured, get};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// nginx that speaks TLS for one name, and the authority that signed its certificate.
struct Secure {
    process: Child,
    port: u16,
    authority: String,
    _folder: Folder,
}

impl Drop for Secure {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn signed_for(name: &str) -> (String, String, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &authority).expect("signed");
    (authority.pem(), certificate.pem(), key.serialize_pem())
}

impl Secure {
    fn start(name: &str) -> Self {
        let (authority, certificate, key) = signed_for(name);
        let folder = Folder::new();
        let root = folder.path().display().to_string();
        folder.write("cert.pem", certificate);
        folder.write("key.pem", key);
        let port = free_port();
        let config = format!(
            "daemon off; master_process off; pid {root}/pid; events {{}}\nhttp {{\n\
             client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;\n\
             uwsgi_temp_path {root}/u; scgi_temp_path {root}/s; access_log off;\n\
             server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {root}/cert.pem;\n\
             ssl_certificate_key {root}/key.pem; location / {{ return 200 \"$ssl_server_name $request_uri\"; }} }} }}"
        );
        let config = folder.write("nginx.conf", config);
        let process = Command::new("nginx")
            .args(["-p", &root, "-e", "stderr", "-c"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx (Debian: apt-get install nginx)");
        let secure = Self { process, port, authority, _folder: folder };
        let ready = within(Duration::from_secs(10), || TcpStream::connect(("127.0.0.1", port)).ok());
        assert!(ready.is_some(), "nginx does not listen");
        secure
    }

    /// A gateway in front of it, with these keys of the server and of the origin.
    fn gateway(&self, server: &str, ca: Option<&str>) -> Daemon {
        let trust = if ca.is_some() { ", ca = \"ca.pem\"" } else { "" };
        configured(&format!(
            "[[sites]]\nrobots = \"robots.txt\"\n\
             origin = {{ servers = [{{ url = \"https://127.0.0.1:{}\"{server} }}]{trust} }}\n",
            self.port
        ))
        .file("robots.txt", "User-agent: *\nDisallow: /private\n")
        .file("ca.pem", ca.unwrap_or_default())
        .start()
    }
}

#[test]
fn a_certificate_for_the_right_name_of_the_right_authority_is_trusted() {
    let secure = Secure::start("origin.test");
    let gateway = secure.gateway(", server_name = \"origin.test\"", Some(&secure.authority));
    let mut client = gateway.client();
    for _ in 0..3 {
        let response = client.send(&get("/page").by(CHROME));
        assert_eq!((response.status, response.text().as_str()), (200, "origin.test /page"));
    }
}

#[test]
fn another_authority_is_believed_once_its_file_is_there() {
    let secure = Secure::start("origin.test");
    let (stranger, ..) = signed_for("origin.test");
    let gateway = secure.gateway(", server_name = \"origin.test\"", Some(&stranger));
    let status = || gateway.send(&get("/page").by(CHROME)).status;
    assert_eq!(status(), 502);
    gateway.folder().write("ca.pem", &secure.authority);
    let believed = within(Duration::from_secs(10), || (status() == 200).then_some(()));
    assert!(believed.is_some(), "the new authority is not believed");
}

#[test]
fn every_other_certificate_is_a_502() {
    let secure = Secure::start("origin.test");
    let (stranger, ..) = signed_for("origin.test");
    for (server, ca, what) in [
        (", server_name = \"other.test\"", Some(secure.authority.as_str()), "the wrong name"),
        ("", Some(secure.authority.as_str()), "an address that the certificate does not name"),
        (", server_name = \"origin.test\"", Some(stranger.as_str()), "another authority"),
        (", server_name = \"origin.test\"", None, "an authority that the system does not know"),
    ] {
        let gateway = secure.gateway(server, ca);
        let response = gateway.send(&get("/page").by(CHROME));
        assert_eq!(response.status, 502, "{what}: {}", response.text());
        gateway.log.line_with(&["requests failed at the origin", "\"status\":502"]);
        assert_eq!(gateway.send(&get("/robots.txt").by(CHROME)).status, 200);
    }
}

#[test]
fn plain_words_to_a_server_that_speaks_tls_are_an_error_of_its_own() {
    let secure = Secure::start("origin.test");
    let url = format!("http://127.0.0.1:{}", secure.port);
    let gateway = Daemon::with("User-agent: *\n").at(&url).start();
    assert_eq!(gateway.send(&get("/page").by(CHROME)).status, 400, "the origin's own answer");
}
