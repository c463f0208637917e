//! Fetching what is published from time to time, where the operator turned that on, and telling of what could not be
//! fetched, of what grows old, and of certificates that run out.

use super::client::PublicationClient;
use super::{DAY, HOUR, PublishedFile};
use crate::policy::fetched::{FetchHead, Teller};
use crate::policy::{Policy, Reloader};
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How often to look whether it is time.
const LOOK: Duration = Duration::from_secs(30);

/// Fetches what is older than `[verify] refresh` says, and warns of what grows old and of certificates that run out, on a
/// thread that ends with the reloader. Whoever watches the files puts it in force.
///
/// # Errors
/// When there is no thread to be had.
pub fn refresh_regularly(reloader: &Arc<Reloader>) -> io::Result<()> {
    let reloader = Arc::downgrade(reloader);
    std::thread::Builder::new().name("ranges".to_owned()).spawn(move || {
        let mut timer = Timer::default();
        while let Some(reloader) = reloader.upgrade() {
            let policy = reloader.current();
            drop(reloader);
            let now = SystemTime::now();
            timer.tell_of_certificates(&policy, now);
            timer.check(&policy, now);
            drop(policy);
            std::thread::sleep(LOOK);
        }
    })?;
    Ok(())
}

/// What was asked, and told.
#[derive(Debug, Default)]
struct Timer {
    teller: Teller,
    /// Until when nobody is asked: on a disk that is full heads are not kept, and publishers are not asked the more for it.
    rests_until: Option<SystemTime>,
}

impl Timer {
    /// Does what is due at `now`.
    fn check(&mut self, policy: &Policy, now: SystemTime) {
        // What was fetched a moment ago is young in a later policy.
        if !self.fetch(policy, now) {
            policy.evidence.published.iter().for_each(|one| self.tell_of_old(one, policy, now));
        }
    }

    /// Told anew with each day that is left, and with what a renewed one says.
    fn tell_of_certificates(&mut self, policy: &Policy, now: SystemTime) {
        for shown in &policy.certificates.shown {
            let trouble = shown.validity.and_then(|validity| validity.trouble(now));
            let path = shown.config.certificate.to_string_lossy();
            self.teller.tell("a certificate", &path, trouble.map(|trouble| format!("it {trouble}")));
        }
    }

    /// Fetches what is due; `false` where nothing is.
    fn fetch(&mut self, policy: &Policy, now: SystemTime) -> bool {
        let is_due = |one: &&PublishedFile| {
            let schedule = one.kind.schedule(&policy.config);
            schedule.is_some_and(|schedule| FetchHead::read(&one.path).may_ask(schedule, now.into()))
        };
        let due: Vec<&PublishedFile> = policy.evidence.published.iter().filter(is_due).collect();
        if due.is_empty() || self.rests_until.is_some_and(|until| now < until) {
            return false;
        }
        let client = PublicationClient::new(&policy.config, None);
        let trouble = client.as_ref().err().cloned();
        self.teller.tell("publications", "[verify] ca", trouble);
        let Ok(client) = client else { return true };
        let (mut fetched, mut failed) = (0_usize, 0_usize);
        for publication in due {
            let result = client.refresh(publication, now);
            if result.is_err() && is_due(&publication) {
                self.rests_until = now.checked_add(HOUR);
            }
            *(if result.is_ok() { &mut fetched } else { &mut failed }) += 1;
            let trouble = result.err().map(|error| format!("could not be fetched: {error}"));
            self.teller.tell(publication.kind.what(), &publication.url, trouble);
        }
        tracing::info!(fetched, failed, "what is published was fetched");
        true
    }

    fn tell_of_old(&mut self, publication: &PublishedFile, policy: &Policy, now: SystemTime) {
        let (days, why) = publication.kind.old();
        let list = policy.evidence.lists.get(&publication.path);
        let as_of = list.map_or_else(|| publication.copy().as_of(), |list| list.as_of);
        let is_old = as_of.is_some_and(|as_of| now.duration_since(as_of).is_ok_and(|age| age >= DAY * days));
        let trouble =
            is_old.then(|| format!("{why}: run `gatewayctl crawlers refresh`, or set `[verify] refresh`"));
        self.teller.tell("age", &publication.url, trouble);
    }
}

#[cfg(test)]
mod tests {
    use super::super::PublishedKind;
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::policy::fetched::{FetchAnswer, FetchedFrom, Validators};
    use clap::Parser as _;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// A mirror on loopback: how often it was asked for lists and for the keys of one agent, and whether it answers well.
    #[derive(Default)]
    struct Mirror {
        lists: AtomicUsize,
        keys: AtomicUsize,
        is_well: AtomicBool,
    }

    impl Mirror {
        fn start() -> (Arc<Self>, String) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            let mirror = Arc::new(Self::default());
            let serving = Arc::clone(&mirror);
            std::thread::spawn(move || {
                listener.incoming().flatten().for_each(|stream| serving.answer(stream));
            });
            (mirror, url)
        }

        fn answer(&self, mut stream: TcpStream) {
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let holds = |part: &str| lines.iter().any(|line| line.contains(part));
            let is_key = holds("http-message-signatures-directory");
            let asked = if is_key { &self.keys } else { &self.lists };
            asked.fetch_add(usize::from(!is_key || holds("chatgpt.com_")), Ordering::SeqCst);
            let (status, body) = match (self.is_well.load(Ordering::SeqCst), is_key) {
                (false, _) => ("503 Service Unavailable", String::new()),
                (true, false) => ("200 OK", "192.0.2.0/24\n".to_owned()),
                (true, true) => ("200 OK", format!("{{\"keys\":[{KEY}]}}")),
            };
            let length = body.len();
            // Whoever goes away early counts as having asked.
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            );
        }
    }

    /// The key of RFC 8037 §A.2.
    const KEY: &str =
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}";

    /// A policy that fetches from this mirror once a day.
    fn policy_with(mirror: &str) -> (tempfile::TempDir, Policy) {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("gateway.toml");
        let text = format!(
            "state_dir = {:?}\n[verify]\ndns = false\n{}[[sites]]\norigin = \"http://127.0.0.1:9\"\n",
            folder.path().join("state"),
            if mirror.is_empty() {
                String::new()
            } else {
                format!("refresh = \"24h\"\nmirror = {mirror:?}\n")
            }
        );
        std::fs::write(&config, text).unwrap();
        let arguments = Arguments::parse_from(["timer", "--config", config.to_str().unwrap()]);
        let policy = crate::policy::trial(Config::load(&arguments).unwrap(), SystemTime::now()).unwrap();
        (folder, policy)
    }

    #[test]
    fn what_fails_is_asked_for_ever_less_often_and_then_as_often_as_told() {
        let (mirror, url) = Mirror::start();
        let (folder, policy) = policy_with(&url);
        let (mut timer, start) = (Timer::default(), SystemTime::now());
        let (mut lists, mut keys) = (Vec::new(), Vec::new());
        for five_minutes in 0..=(40 * 12) {
            mirror.is_well.store(five_minutes >= 15 * 12, Ordering::SeqCst);
            let before = (mirror.lists.load(Ordering::SeqCst), mirror.keys.load(Ordering::SeqCst));
            timer.check(&policy, start + Duration::from_secs(300) * five_minutes);
            if mirror.lists.load(Ordering::SeqCst) > before.0 {
                lists.push(five_minutes / 12);
            }
            if mirror.keys.load(Ordering::SeqCst) > before.1 {
                keys.push(five_minutes);
            }
        }
        // At once, then after 1, 2, 4 and 8 hours; the last of these succeeds. This policy does not see that.
        assert_eq!(lists, [0, 1, 3, 7, 15, 39]);
        // After 5, 10, 20 minutes and so on.
        assert_eq!(keys, [0, 1, 3, 7, 15, 31, 63, 127, 255]);
        let list = folder.path().join("state/ranges/openai.com_gptbot.json");
        assert_eq!(std::fs::read_to_string(&list).unwrap(), "192.0.2.0/24\n");
        assert_eq!(FetchHead::read(&list).failures, 0);
        assert!(folder.path().join("state/keys").read_dir().unwrap().count() > 0);
    }

    #[test]
    fn nobody_is_asked_for_an_hour_where_nothing_can_be_written_and_only_there() {
        let (mirror, url) = Mirror::start();
        let (folder, policy) = policy_with(&url);
        let (mut timer, start) = (Timer::default(), SystemTime::now());
        let state = folder.path().join("state");
        let _ = std::fs::remove_dir_all(&state);
        std::fs::write(&state, "no folder").unwrap();
        let minutes = |minutes: u32| start + Duration::from_secs(60) * minutes;
        timer.check(&policy, start);
        let asked = mirror.lists.load(Ordering::SeqCst);
        timer.check(&policy, minutes(59));
        assert_eq!((asked > 0, mirror.lists.load(Ordering::SeqCst)), (true, asked));
        timer.check(&policy, minutes(60));
        assert_eq!(mirror.lists.load(Ordering::SeqCst), asked * 2);
        // A clock that was set back: lists of this hour are not asked for, and all else goes on.
        std::fs::remove_file(&state).unwrap();
        let mut config = Config::clone(&policy.config);
        config.verify.mirror = None;
        let policy = crate::policy::trial(config, start).unwrap();
        for one in &policy.evidence.published {
            let heard = if one.kind == PublishedKind::Ranges { minutes(120) } else { start };
            let file = FetchAnswer::File { bytes: b"x".to_vec(), validators: Validators::default() };
            let mut copy = one.copy();
            copy.apply(file, FetchedFrom::Publisher, heard.into());
            copy.write(&one.path).unwrap();
        }
        let mut timer = Timer::default();
        assert!(timer.fetch(&policy, minutes(60)));
        assert_eq!((timer.rests_until, timer.teller.count()), (None, 0));
    }

    #[test]
    fn what_grows_old_is_told_of_once_until_it_is_young() {
        let (folder, policy) = policy_with("");
        let (mut timer, now) = (Timer::default(), SystemTime::now());
        timer.check(&policy, now + DAY * 9);
        assert_eq!(timer.teller.count(), 0, "never fetched");
        let path = folder.path().join("state/ranges/openai.com_gptbot.json");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "192.0.2.0/24\n").unwrap();
        let config = Config::clone(&policy.config);
        let policy = crate::policy::trial(config, now).unwrap();
        let told = |days: u32, timer: &mut Timer| {
            timer.check(&policy, now + DAY * days);
            timer.teller.count()
        };
        assert_eq!([5, 7, 8, 1].map(|days| told(days, &mut timer)), [0, 1, 1, 0]);
    }
}
