//! What is fetched, whatever it is: one table of what a publisher or an origin may answer, for all kinds.

use crate::publisher::ListPublisher;
use crate::signing::{AgentKey, CATALOGUE, DIRECTORY};
use crate::support::agents::CHROME;
use crate::support::command::{ctl, program};
use crate::support::scripted::{Scripted, answer};
use crate::support::{Daemon, Folder, get, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
enum FetchedKind {
    Ranges,
    Keys,
    Card,
    Catalogue,
    Origin,
}

impl FetchedKind {
    /// A good file of the kind.
    fn good(self, number: u8) -> String {
        match self {
            Self::Ranges => format!("{{\"prefixes\":[{{\"ipv4Prefix\":\"20.171.{number}.0/24\"}}]}}"),
            Self::Keys => AgentKey::new(number).directory(),
            Self::Card => format!("{{\"rfc9309-product-token\": \"Zorkel{number}\"}}"),
            Self::Catalogue => published(number),
            Self::Origin => format!("User-agent: *\nDisallow: /{number}\n"),
        }
    }

    /// The name in the path that it is asked for by.
    const fn name(self) -> &'static str {
        match self {
            Self::Ranges => "openai.com_gptbot.json",
            Self::Keys => DIRECTORY,
            Self::Card => "a.example_bot.json",
            Self::Catalogue => "crawlers.toml",
            Self::Origin => "/robots.txt",
        }
    }

    /// More bytes than are taken.
    const fn too_many(self) -> usize {
        match self {
            Self::Ranges | Self::Origin => (16 << 20) + 1,
            Self::Keys | Self::Card => (64 << 10) + 1,
            Self::Catalogue => (8 << 20) + 1,
        }
    }
}

/// A catalogue that somebody publishes.
fn published(number: u8) -> String {
    format!("[[crawler]]\nname = \"Zorkel\"\npurpose = \"ai-train\"\ntokens = [\"Zorkel{number}\"]\n")
}

fn signing_key(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a pair")
}

/// The public key as `openssl pkey -pubout` writes it, between its first and last line.
fn public_key(pair: &Ed25519KeyPair) -> String {
    STANDARD
        .encode([b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", pair.public_key().as_ref()].concat())
}

fn signature(pair: &Ed25519KeyPair, text: &[u8]) -> String {
    format!("{}\n", STANDARD.encode(pair.sign(text)))
}

/// A small file system for state, where this user may have one.
struct DiskOfState(PathBuf);

impl DiskOfState {
    fn over(folder: PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(&folder);
        let is_mounted = mount.output().is_ok_and(|output| output.status.success());
        is_mounted.then_some(Self(folder))
    }

    fn fill(&self) {
        let _ = std::fs::write(self.0.join("ballast"), vec![0; 2 << 20]);
    }

    fn empty(&self) {
        std::fs::remove_file(self.0.join("ballast")).expect("the ballast");
    }
}

impl Drop for DiskOfState {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// Something of one kind, and who publishes it.
struct FetchScene {
    kind: FetchedKind,
    publisher: Scripted,
    folder: Folder,
    disk: Option<DiskOfState>,
    /// Who asks an origin.
    gateway: Option<Daemon>,
}

impl FetchScene {
    fn new(kind: FetchedKind) -> Self {
        let publisher = Scripted::new();
        let url = publisher.url();
        let mut place = Self { kind, publisher, folder: Folder::new(), disk: None, gateway: None };
        if kind == FetchedKind::Origin {
            place.says("200 OK", "ETag: \"1\"\r\n", kind.good(1).into_bytes());
            let site = "robots = { from = \"origin\", every = \"24h\" }";
            let gateway = Daemon::without_robots().site(site).with_notice("0s").at(&url);
            place.gateway = Some(gateway.start());
            return place;
        }
        let config = format!(
            "state_dir = \"state\"\ncatalogue = {{ file = \"own.toml\", url = \"{url}/robots/crawlers.toml\", \
             public_key = \"{}\" }}\n[verify]\nmirror = \"{url}/robots/\"\n[[sites]]\norigin = \"http://127.0.0.1:9\"\n",
            public_key(&signing_key(7)),
        );
        let card = "[[crawler]]\nname = \"Carded\"\ncard = \"https://a.example/bot.json\"\n";
        place.folder.write("own.toml", format!("{CATALOGUE}{card}"));
        place.folder.write("gateway.toml", config);
        place.disk = DiskOfState::over(place.folder.join("state"));
        place
    }

    /// From now on this is the answer, and to what else is asked for that it is not there.
    fn says(&self, status: &'static str, fields: &'static str, body: Vec<u8>) {
        let (name, sig) = (self.kind.name(), signature(&signing_key(7), &body));
        self.publisher.answers(move |head| {
            let path = head.split(' ').nth(1).unwrap_or_default();
            Some(match path {
                _ if path.ends_with(&format!("{name}.sig")) => answer("200 OK", "", &sig),
                _ if path.ends_with(name) => answer(status, fields, &body),
                _ => answer("404 Not Found", "", ""),
            })
        });
    }

    /// Has it asked for now: what came of it, and what was wrong.
    fn ask(&self) -> (String, String) {
        let text = |told: &Value, key: &str| told[key].as_str().unwrap_or_default().to_owned();
        if let Some(gateway) = &self.gateway {
            let told = gateway.ctl(&["robots", "refresh", "--format", "json"]).json()[0].clone();
            let result =
                text(&told, "result").replace("changed", "replaced").replace("unreplaced", "unchanged");
            return (result, text(&told, "error"));
        }
        let config = self.folder.join("gateway.toml");
        // What drips takes longer than other commands may.
        let mut refresh = program(env!("CARGO_BIN_EXE_gatewayctl"));
        refresh.args(["crawlers", "refresh", "--format", "json", "--config"]).arg(config);
        let told = refresh.output().expect("it runs").stdout;
        let told: Value = serde_json::from_slice(&told).expect("JSON");
        let lists = ["lists", "directories", "cards"].iter().filter_map(|list| told[*list].as_array());
        let is_own = |list: &&Value| text(list, "path").contains(self.kind.name());
        let own = lists.flatten().find(is_own).unwrap_or_else(|| panic!("{told}"));
        (text(own, "result"), text(own, "error"))
    }

    #[track_caller]
    fn fails(&self, row: &str, why: &str) {
        let (result, error) = self.ask();
        assert_eq!(result, "failed", "{:?}, {row}", self.kind);
        assert!(error.contains(why), "{:?}, {row}: {error}", self.kind);
        assert_eq!(self.held(), self.kind.good(1), "{:?}, {row}", self.kind);
    }

    /// Where it is kept.
    fn path(&self) -> PathBuf {
        match self.kind {
            FetchedKind::Ranges => self.folder.join("state/ranges").join(self.kind.name()),
            FetchedKind::Keys => self.folder.join("state/keys").join(self.kind.name()),
            FetchedKind::Card => self.folder.join("state/cards").join(self.kind.name()),
            FetchedKind::Catalogue => {
                let folder = self.folder.join("state/catalogue");
                // Of each key one.
                let mut folders = std::fs::read_dir(folder).expect("a folder").flatten();
                let mut files =
                    std::fs::read_dir(folders.next().expect("a folder").path()).expect("files").flatten();
                let is_text = |name: &str| !name.ends_with(".receipt");
                let own = files.find(|file| file.file_name().to_str().is_some_and(is_text));
                own.expect("a file").path()
            }
            FetchedKind::Origin => unreachable!("it is asked for what it serves"),
        }
    }

    /// What is in force, or kept.
    fn held(&self) -> String {
        if let Some(gateway) = &self.gateway {
            return gateway.send(&get("/robots.txt").by(CHROME)).text();
        }
        std::fs::read_to_string(self.path()).expect("what is kept")
    }
}

/// What a publisher or an origin may answer, and what comes of it.
#[track_caller]
fn table(kind: FetchedKind) {
    let place = FetchScene::new(kind);
    place.says("200 OK", "ETag: \"1\"\r\nContent-Type: application/json\r\n", kind.good(1).into_bytes());
    if kind != FetchedKind::Origin {
        assert_eq!(place.ask(), ("replaced".to_owned(), String::new()), "{kind:?}");
    }
    assert_eq!(place.held(), kind.good(1));
    // 304, and only to whoever asks with the validator.
    let name = kind.name();
    let asked_with = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked_with);
    place.publisher.answers(move |head| {
        let is_own = head.split(' ').nth(1).is_some_and(|path| path.ends_with(name));
        let has_validator = head.to_ascii_lowercase().contains("if-none-match: \"1\"");
        noted.lock().expect("a list").extend(is_own.then_some(has_validator));
        let status = if is_own && has_validator { "304 Not Modified" } else { "404 Not Found" };
        Some(answer(status, "", ""))
    });
    assert_eq!(place.ask(), ("unchanged".to_owned(), String::new()), "{kind:?}");
    assert_eq!(*asked_with.lock().expect("a list"), [true], "{kind:?}");

    place.says("429 Too Many Requests", "Retry-After: 7200\r\n", Vec::new());
    place.fails("429", "answers 429");
    if let Some(gateway) = &place.gateway {
        let site = gateway.ctl(&["status", "--format", "json"]).exits(0).json()["sites"][0].clone();
        // Up to an eighth earlier, so that not all are asked at once.
        assert!(
            site["next_fetch_seconds"].as_u64().is_some_and(|next| (6_000..=7_200).contains(&next)),
            "{site}"
        );
    }
    for _ in 0..3 {
        place.says("503 Service Unavailable", "", Vec::new());
        place.fails("503", "answers 503");
    }
    place.says(
        "200 OK",
        "Content-Type: application/json\r\n",
        b"<!doctype html><title>Sign in</title>".to_vec(),
    );
    place.fails("a web page", "");
    place.says("200 OK", "Content-Type: application/json\r\n", vec![b' '; kind.too_many()]);
    place.fails("oversize", "");
    place.says("302 Found", "Location: http://elsewhere.example/robots\r\n", Vec::new());
    place.fails("a redirect elsewhere", "");
    place.says("200 OK", "Content-Type: application/json\r\n", vec![b' '; 4_000]);
    place.publisher.pauses(Duration::from_millis(100), name);
    place.fails("slow drip", if kind == FetchedKind::Origin { "10 s" } else { "timeout" });
    place.publisher.pauses(Duration::ZERO, name);

    place.says("200 OK", "Content-Type: application/json\r\n", kind.good(2).into_bytes());
    if let Some(disk) = &place.disk {
        disk.fill();
        place.fails("disk full", "cannot be written");
        disk.empty();
    }
    assert_eq!(place.ask(), ("replaced".to_owned(), String::new()), "{kind:?}");
    assert_eq!(place.held(), kind.good(2));
}

#[test]
fn address_ranges() {
    table(FetchedKind::Ranges);
}

#[test]
fn keys_of_agents() {
    table(FetchedKind::Keys);
}

#[test]
fn cards_of_agents() {
    table(FetchedKind::Card);
}

#[test]
fn a_published_catalogue() {
    table(FetchedKind::Catalogue);
}

#[test]
fn robots_txt_of_an_origin() {
    table(FetchedKind::Origin);
}

/// A gateway whose catalogue is published there, which this key has to have signed.
fn following(publisher: &ListPublisher, key: &Ed25519KeyPair) -> crate::support::Builder {
    let url = format!("{}/crawlers.toml", publisher.url());
    let catalogue = format!("catalogue = {{ url = \"{url}\", public_key = \"{}\" }}", public_key(key));
    Daemon::with("User-agent: *\nDisallow: /private\n").set(&catalogue).at("http://127.0.0.1:9")
}

#[test]
fn a_new_crawler_is_known_without_a_new_program() {
    let (publisher, key) = (ListPublisher::start(), signing_key(7));
    let text = published(1);
    publisher.publishes("crawlers.toml", &text);
    publisher.publishes("crawlers.toml.sig", signature(&key, text.as_bytes()));
    let gateway = following(&publisher, &key).start();
    let mut number = 0;
    until("it is known what Zorkel fetches for", || {
        number += 1;
        let target = format!("/private/{number}");
        gateway.send(&get(&target).by("Zorkel/1.0"));
        (gateway.journal().event_of(&target)["purpose"] == "ai-train").then_some(())
    });
    let config = gateway.folder().join("gateway.toml");
    let config = config.to_str().expect("UTF-8");
    let known = gateway.ctl(&["crawlers", "--config", config, "--format", "json", "Zorkel/1.0"]);
    assert_eq!(known.json()["crawler"], "Zorkel", "{known:?}");
}

#[test]
fn a_catalogue_that_is_not_signed_by_the_key_is_not_taken() {
    let (publisher, key) = (ListPublisher::start(), signing_key(7));
    let gateway = following(&publisher, &key).start();
    let config = gateway.folder().join("gateway.toml");
    let config = config.to_str().expect("UTF-8");
    let refresh = || {
        let told = gateway.ctl(&[
            "crawlers",
            "refresh",
            "--config",
            config,
            "--from",
            &publisher.url(),
            "--format",
            "json",
        ]);
        told.json()["lists"][0].clone()
    };
    let text = published(1);
    publisher.publishes("crawlers.toml", &text);
    let unsigned = refresh();
    assert!(
        unsigned["error"].as_str().is_some_and(|error| error.contains("crawlers.toml.sig")),
        "{unsigned}"
    );
    for signed in
        [signature(&signing_key(8), text.as_bytes()), signature(&key, b"other"), "no Base64".to_owned()]
    {
        publisher.publishes("crawlers.toml.sig", signed);
        let refused = refresh();
        assert_eq!(refused["result"], "failed", "{refused}");
        assert!(refused["error"].as_str().is_some_and(|error| error.contains("`public_key`")), "{refused}");
    }
    // Signed, and no catalogue.
    let text = "[[crawler]]\nclient = \"tool\"\n";
    publisher.publishes("crawlers.toml", text);
    publisher.publishes("crawlers.toml.sig", signature(&key, text.as_bytes()));
    let refused = refresh();
    assert!(refused["error"].as_str().is_some_and(|error| error.starts_with("line 1")), "{refused}");
    assert!(refused["catalogue"].is_null(), "none is kept: {refused}");
}

/// What `make catalogue` writes, with the key and the signature of another program.
#[test]
fn what_the_project_publishes_is_taken() {
    let (publisher, folder) = (ListPublisher::start(), Folder::new());
    let run = |program: &str, arguments: &[&str]| {
        let ended = Command::new(program).args(arguments).output();
        let ended = ended.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(ended.status.success(), "{program}: {ended:?}");
        String::from_utf8(ended.stdout).expect("UTF-8").trim().to_owned()
    };
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    run("openssl", &["genpkey", "-algorithm", "ed25519", "-out", &path("key.pem")]);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/catalogue");
    let key = run(script, &[&path("key.pem"), &path("out")]);
    for name in ["crawlers.toml", "crawlers.toml.sig"] {
        publisher.publishes(name, std::fs::read(folder.join("out").join(name)).expect("what was written"));
    }
    let config = format!(
        "state_dir = \"state\"\ncatalogue = {{ url = \"{}/crawlers.toml\", public_key = \"{key}\" }}\n\
         [[sites]]\norigin = \"http://127.0.0.1:9\"\n",
        publisher.url(),
    );
    folder.write("gateway.toml", config);
    let from = publisher.url();
    let told =
        ctl(["crawlers", "refresh", "--format", "json", "--from", &from, "--config", &path("gateway.toml")])
            .json();
    let own = &told["lists"][0];
    assert_eq!((&own["result"], &own["error"]), (&"replaced".into(), &Value::Null), "{own}");
    assert!(own["catalogue"].as_u64().is_some_and(|crawlers| crawlers > 300), "{own}");
}
