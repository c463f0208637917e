//! The keys that are read when the process starts: sockets, threads and folders are taken then.

use crate::config::Config;
use std::net::SocketAddr;

/// The keys in which two configurations differ, and which wait for the next start. A group of keys is named by each
/// of them.
pub(super) fn keys_needing_restart(started: &Config, next: &Config) -> Vec<String> {
    let (old_log, new_log) = (&started.log, &next.log);
    let (old_journal, new_journal) = (&started.journal, &next.journal);
    let same_folder = started.state_dir == next.state_dir;
    let keys = [
        ("listen", started.listen != next.listen),
        ("listeners", started.listeners != next.listeners),
        ("authorize.listen", doors(started) != doors(next)),
        ("limits.h2_streams", started.limits.h2_streams != next.limits.h2_streams),
        ("limits.h2_resets", started.limits.h2_resets != next.limits.h2_resets),
        ("admin", started.admin != next.admin),
        ("admin_token", started.admin_token != next.admin_token),
        ("control", started.control != next.control),
        ("fleet", started.fleet != next.fleet),
        ("state_dir", !same_folder),
        // What lies in the state folder moves with it, and needs no line of its own.
        ("journal", same_folder && old_journal.target != new_journal.target),
        ("journal_max_size", old_journal.max_bytes != new_journal.max_bytes),
        ("journal_keep", old_journal.keep != new_journal.keep),
        ("access_log", same_folder && started.access_log != next.access_log),
        ("retention", started.store.retention != next.store.retention),
        ("store_max_size", started.store.max_bytes != next.store.max_bytes),
        ("threads", started.threads != next.threads),
        ("log.format", old_log.format != new_log.format),
        ("log.level", old_log.level != new_log.level),
    ];
    keys.into_iter().filter(|(_, waits)| *waits).map(|(key, _)| key.to_owned()).collect()
}

/// Where other proxies ask.
fn doors(config: &Config) -> Option<SocketAddr> {
    config.authorize.as_ref().map(|doors| doors.listen)
}

/// Whether `key`, as written, is one of those in `waiting`.
pub(super) fn is_among(key: &str, waiting: &[String]) -> bool {
    // `listeners[0.0.0.0:80].tls`, and `access_log_format` with `access_log`.
    let is_within = |rest: &str| rest.is_empty() || rest.starts_with(['[', '.']) || rest == "_format";
    waiting.iter().any(|group| key.strip_prefix(&**group).is_some_and(is_within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arguments;

    fn config(text: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, format!("{text}\n[[sites]]\norigin = \"http://127.0.0.1:9\"\n")).unwrap();
        let state_dir = Some("/nowhere".into());
        Config::load(&Arguments { config: Some(path), state_dir, ..Arguments::default() }).unwrap()
    }

    #[test]
    fn keys_that_are_read_at_the_start_wait_and_others_do_not() {
        let started = config("threads = 2\nnotice = \"1h\"");
        assert_eq!(
            keys_needing_restart(&started, &config("threads = 2\nnotice = \"2h\"\nmode = \"enforce\"")),
            [""; 0]
        );
        for (key, text) in [
            ("listen", "listen = [\"127.0.0.1:1\"]"),
            ("authorize.listen", "[authorize]\nlisten = \"127.0.0.1:1\""),
            ("limits.h2_streams", "[limits]\nh2_streams = 50"),
            ("limits.h2_resets", "[limits]\nh2_resets = 50"),
            ("admin", "admin = \"off\""),
            ("admin_token", "admin_token = \"x\""),
            ("control", "control = \"other.sock\""),
            ("journal", "journal = \"other.jsonl\""),
            ("journal_max_size", "journal_max_size = \"2MiB\""),
            ("journal_keep", "journal_keep = 1"),
            ("access_log", "access_log = \"access.log\""),
            ("fleet", "[fleet]\ndatabase = \"postgresql:///x\""),
            ("retention", "retention = \"2d\""),
            ("store_max_size", "store_max_size = \"32MiB\""),
            ("log.format", "[log]\nformat = \"json\""),
            ("log.level", "[log]\nlevel = \"debug\""),
        ] {
            assert_eq!(
                keys_needing_restart(&started, &config(&format!("threads = 2\nnotice = \"1h\"\n{text}"))),
                [key]
            );
        }
        assert_eq!(keys_needing_restart(&started, &config("threads = 3")), ["threads"]);
    }

    #[test]
    fn a_key_as_written_belongs_to_its_group() {
        let waiting = ["listeners", "access_log", "log.level", "journal"].map(str::to_owned);
        for key in ["listeners[127.0.0.1:1].tls", "access_log", "access_log_format", "log.level", "journal"] {
            assert!(is_among(key, &waiting), "{key}");
        }
        for key in ["listen", "log.format", "journal_keep", "mode"] {
            assert!(!is_among(key, &waiting), "{key}");
        }
    }
}
