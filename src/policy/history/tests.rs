use super::*;
use crate::config::{Arguments, Config};
use crate::decide::{FormerVersion, VersionId};
use crate::policy::check;
use crate::record::{FleetNews, LedgerSeed};
use std::path::Path;
use tempfile::TempDir;

/// A folder with a configuration, and what a gateway there would do.
struct Scene(TempDir);

fn closing(path: &str) -> String {
    format!("User-agent: *\nDisallow: /{path}\n")
}

#[expect(clippy::unnecessary_wraps, reason = "what is not known has no id")]
fn id(path: &str) -> Option<VersionId> {
    Some(VersionId::of(closing(path).as_bytes()))
}

impl Scene {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The configuration of sites: their hosts, and which path they close.
    fn config(&self, sites: &[(&[&str], &str)]) -> Config {
        use std::fmt::Write as _;
        let mut text = String::from("notice = \"1000s\"\nstate_dir = \"state\"\n");
        for (hosts, path) in sites {
            writeln!(text, "[[sites]]\norigin = \"http://127.0.0.1:9\"").unwrap();
            if *path == NO_FILE {
                writeln!(text, "robots = {{ from = \"none\" }}").unwrap();
            } else {
                std::fs::write(self.path().join(format!("{path}.txt")), closing(path)).unwrap();
                writeln!(text, "robots = \"{path}.txt\"").unwrap();
            }
            if !hosts.is_empty() {
                writeln!(text, "hosts = {hosts:?}").unwrap();
            }
        }
        let file = self.path().join("gateway.toml");
        std::fs::write(&file, text).unwrap();
        Config::load(&Arguments { config: Some(file), ..Arguments::default() }).unwrap()
    }

    fn policy(&self, sites: &[(&[&str], &str)]) -> Policy {
        check(self.config(sites), SystemTime::now()).unwrap()
    }

    /// A gateway that starts here.
    fn start(&self, sites: &[(&[&str], &str)]) -> (NoticeHistory, Policy) {
        let history = NoticeHistory::open(&self.config(sites));
        let policy = history.begin(self.policy(sites));
        (history, policy)
    }

    /// The same gateway after a reload.
    fn reload(&self, history: &NoticeHistory, previous: &Policy, sites: &[(&[&str], &str)]) -> Policy {
        let mut policy = self.policy(sites);
        history.adopt(&mut policy, Some(previous)).unwrap();
        policy
    }
}

/// What visitors of a host could hold beside the version in force; `None` for what is not known.
fn held(policy: &Policy, host: &str) -> Vec<Option<VersionId>> {
    let (_, rules) = policy.found(policy.hosts().find(host)).unwrap();
    let mut held: Vec<_> = rules.former().iter().map(|former: &FormerVersion| former.version.id).collect();
    held.sort_unstable();
    held
}

fn sorted(mut ids: Vec<Option<VersionId>>) -> Vec<Option<VersionId>> {
    ids.sort_unstable();
    ids
}

#[test]
fn sites_that_become_one_keep_what_each_host_was_given() {
    let scene = Scene::new();
    let (history, before) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    let after = scene.reload(&history, &before, &[(&["b.example", "a.example"], "b")]);
    assert_eq!(held(&after, "a.example"), sorted(vec![None, id("a")]));
    assert_eq!(held(&after, "b.example"), [None]);
}

#[test]
fn a_host_that_falls_to_the_default_keeps_its_past_and_others_do_not_get_it() {
    let scene = Scene::new();
    let (history, before) = scene.start(&[(&["a.example"], "a"), (&[], "d")]);
    let after = scene.reload(&history, &before, &[(&[], "d")]);
    assert_eq!(held(&after, "a.example"), sorted(vec![None, id("a")]));
    assert_eq!(held(&after, "other.example"), [None]);
}

#[test]
fn a_wildcard_carved_out_of_the_default_has_its_past() {
    let scene = Scene::new();
    let (history, before) = scene.start(&[(&[], "d")]);
    let after = scene.reload(&history, &before, &[(&["*.example"], "w"), (&[], "d")]);
    assert_eq!(held(&after, "x.example"), sorted(vec![None, id("d")]));
    let last = scene.reload(&history, &after, &[(&["x.example"], "x"), (&["*.example"], "w"), (&[], "d")]);
    assert_eq!(held(&last, "x.example"), sorted(vec![None, id("d"), id("w")]));
    assert_eq!(held(&last, "y.example"), sorted(vec![None, id("d")]));
}

#[test]
fn neither_a_new_name_nor_a_restart_forgets_anything() {
    let scene = Scene::new();
    let (history, before) = scene.start(&[(&["a.example", "b.example"], "a")]);
    let after = scene.reload(&history, &before, &[(&["a.example", "b.example"], "b")]);
    assert_eq!(held(&after, "a.example"), sorted(vec![None, id("a")]));
    history.close();
    let (history, policy) = scene.start(&[(&["b.example", "a.example"], "b")]);
    for host in ["a.example", "b.example"] {
        assert_eq!(held(&policy, host), sorted(vec![None, id("a")]), "{host}");
    }
    // The file changed while nobody was there.
    drop(history);
    let (_, policy) = scene.start(&[(&["b.example", "a.example"], "c")]);
    assert_eq!(held(&policy, "a.example"), sorted(vec![None, id("a"), id("b")]));
}

#[test]
fn what_another_process_serves_is_held_until_that_ends() {
    let scene = Scene::new();
    let (old, _) = scene.start(&[(&[], "a")]);
    let (new, policy) = scene.start(&[(&[], "b")]);
    let (_, rules) = policy.found(policy.hosts().find("x")).unwrap();
    let of_a =
        |rules: &SiteRules| rules.former().iter().find(|old| old.version.id == id("a")).unwrap().replaced;
    assert_eq!(of_a(rules), None);
    assert!(!new.poll_ledger(&policy));
    old.close();
    assert!(new.poll_ledger(&policy));
    let mut next = policy.next(SystemTime::now());
    new.give(&mut next);
    let (_, rules) = next.found(next.hosts().find("x")).unwrap();
    assert!(of_a(rules).is_some());
}

#[test]
fn where_nothing_can_be_written_nobody_is_accused_and_nothing_changes() {
    let scene = Scene::new();
    std::fs::write(scene.path().join("state"), "no folder").unwrap();
    let (history, policy) = scene.start(&[(&[], "a")]);
    let (_, rules) = policy.found(policy.hosts().find("x")).unwrap();
    assert!(rules.is_unrecorded && history.fault().is_some());
    let mut next = scene.policy(&[(&[], "b")]);
    let error = history.adopt(&mut next, Some(&policy)).unwrap_err().to_string();
    assert!(error.contains("make the state folder writable"), "{error}");
    std::fs::remove_file(scene.path().join("state")).unwrap();
    assert!(history.poll_ledger(&policy));
    let mut next = policy.next(SystemTime::now());
    history.give(&mut next);
    assert!(!next.found(next.hosts().find("x")).unwrap().1.is_unrecorded);
    assert_eq!((held(&next, "x"), history.fault()), (vec![None], None));
}

fn every_host() -> NewHosts {
    NewHosts { site: 0, pattern: "*".into() }
}

#[test]
fn the_origin_can_say_what_was_there_before() {
    let old = SystemTime::now().checked_sub(Duration::from_secs(2_000));
    let young = SystemTime::now().checked_sub(Duration::from_secs(500));
    let word = |path: &str, modified| OriginWord { bytes: Some(closing(path).into_bytes()), modified };
    let silence = OriginWord::default();
    let cases = [
        (word("a", old), vec![]),
        (word("a", None), vec![None]),
        (word("a", young), vec![None]),
        (word("b", young), vec![id("b")]),
        (word("b", None), vec![id("b")]),
        (silence, vec![None]),
        (OriginWord { bytes: Some(b"<html></html>".to_vec()), modified: old }, vec![None]),
    ];
    for (word, expected) in cases {
        let scene = Scene::new();
        let (history, policy) = scene.start(&[(&[], "a")]);
        assert_eq!(history.unexplained(&policy), [every_host()]);
        history.explain(&policy, &[(every_host(), word.clone())]);
        let mut next = policy.next(SystemTime::now());
        history.give(&mut next);
        assert_eq!(held(&next, "x"), expected, "{word:?}");
        history.close();
        let (history, policy) = scene.start(&[(&[], "a")]);
        assert_eq!(held(&policy, "x"), expected, "{word:?} after a restart");
        drop(history);
    }
}

#[test]
fn a_ledger_that_is_lost_lets_no_origin_speak() {
    let scene = Scene::new();
    let (history, policy) = scene.start(&[(&[], "a")]);
    assert_eq!(history.unexplained(&policy), [every_host()]);
    drop(history);
    // It can be told by what the store remembers.
    let config = scene.config(&[(&[], "a")]);
    std::fs::remove_file(config.state_dir.join(LEDGER_FILE)).unwrap();
    let recorder = crate::record::Recorder::start(&config.store).unwrap();
    recorder.set_ledger_entry(7);
    recorder.in_force("a.example", None, SystemTime::now());
    recorder.flush();
    recorder.close();
    let (history, policy) = scene.start(&[(&[], "a")]);
    assert_eq!((held(&policy, "x"), history.unexplained(&policy)), (vec![None], vec![]));
    assert!(history.last_entry() > Some(7));
}

#[test]
fn the_operator_can_say_since_when_a_version_was_published() {
    let config = |scene: &Scene, version: &str, ago: i64| {
        let config = scene.config(&[(&[], "a")]);
        let since = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(ago);
        let file = config.path.clone().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let published = format!("published = {{ version = \"{version}\", since = {since} }}\n");
        std::fs::write(&file, text + &published).unwrap();
        Config::load(&Arguments { config: Some(file), ..Arguments::default() }).unwrap()
    };
    let right = id("a").unwrap().to_string();
    for (version, ago, expected) in
        [(&*right, 2_000, vec![]), (&*right, 500, vec![None]), ("0123456789ab", 2_000, vec![None])]
    {
        let scene = Scene::new();
        let config = config(&scene, version, ago);
        let history = NoticeHistory::open(&config);
        let policy = history.begin(check(config, SystemTime::now()).unwrap());
        assert_eq!(held(&policy, "x"), expected, "{version} {ago}");
        if ago == 500 {
            let (_, rules) = policy.found(policy.hosts().find("x")).unwrap();
            let replaced = rules.former()[0].replaced.unwrap().at;
            let left = replaced.after(Duration::from_secs(1_000)).since(policy.clock.now()).as_secs();
            assert!((400..=500).contains(&left), "{left}");
        }
    }
}

#[test]
fn what_version_0_1_served_is_known() {
    let scene = Scene::new();
    let config = scene.config(&[(&["a.example", "b.example"], "b")]);
    let digest_of = |path: &str| crate::record::digest(closing(path).as_bytes());
    let seed = |sequence, ago, change| LedgerSeed {
        sequence,
        ago: Duration::from_secs(ago),
        time: SystemTime::now() - Duration::from_secs(ago),
        change,
    };
    let serving = |path: &str| {
        let hosts = ["a.example", "b.example"].map(|host| (host.into(), Some(digest_of(path))));
        LedgerChange::Serving { hosts: hosts.into_iter().collect(), gone: Vec::new() }
    };
    let seeds = vec![
        seed(2, 5_000, LedgerChange::file(closing("a").as_bytes())),
        seed(3, 5_000, serving("a")),
        seed(4, 300, LedgerChange::file(closing("b").as_bytes())),
        seed(5, 300, serving("b")),
    ];
    let state = HistoryState::new(&config, LedgerMemory::Seeds(seeds));
    let history = NoticeHistory { state: Mutex::new(state), told: Mutex::default() };
    let policy = history.begin(check(config, SystemTime::now()).unwrap());
    assert_eq!(held(&policy, "b.example"), [id("a")]);
    assert!(history.unexplained(&policy).is_empty());
}

#[test]
fn what_the_operator_waives_is_noted_for_the_hosts_of_the_site() {
    let scene = Scene::new();
    let sites: &[(&[&str], &str)] = &[(&["a.example"], "a"), (&["b.example"], "b")];
    let (history, policy) = scene.start(sites);
    history.waive(&policy, Some(0), Some("GPTBot")).unwrap();
    drop(history);
    let (_, policy) = scene.start(sites);
    let waivers = |host| policy.found(policy.hosts().find(host)).unwrap().1.waivers.clone();
    assert_eq!(waivers("a.example")[0].crawler.as_deref(), Some("gptbot"));
    assert_eq!(waivers("b.example").len(), 0);
}

#[test]
fn a_ledger_that_is_being_written_holds_no_question_up() {
    let scene = Scene::new();
    let (history, _) = scene.start(&[(&[], "a")]);
    let _writing = history.state();
    assert_eq!(history.fault(), None);
}

/// A host whose site has no file.
const NO_FILE: &str = "";

#[test]
fn a_new_host_without_a_file_was_given_what_allows_everything() {
    let scene = Scene::new();
    let (history, first) = scene.start(&[(&["a.example"], "a")]);
    let without = scene.reload(&history, &first, &[(&["a.example"], "a"), (&["b.example"], NO_FILE)]);
    let rules = |policy: &Policy| policy.found(policy.hosts().find("b.example")).unwrap().1.clone();
    let opened = rules(&without).sequence;
    let with = scene.reload(&history, &without, &[(&["a.example"], "a"), (&["b.example"], "b")]);
    let last = rules(&with).former().iter().filter_map(|old| old.replaced).max().unwrap();
    assert!(last.sequence > opened && opened > 0, "what was served until now was replaced now: {last:?}");
}

#[test]
fn a_ledger_that_is_lost_while_the_gateway_runs_is_doubt_for_every_host() {
    let scene = Scene::new();
    let sites = |path| [(&["a.example"][..], path), (&["b.example"][..], "b")];
    for found_by in ["a reload", "a waiver", "a look"] {
        let (history, first) = scene.start(&sites("a"));
        let state = first.config.state_dir.clone();
        std::fs::remove_file(state.join(LEDGER_FILE)).unwrap();
        let policy = match found_by {
            "a reload" => scene.reload(&history, &first, &sites("c")),
            "a waiver" => {
                history.waive(&first, Some(0), Some("GPTBot")).unwrap();
                first
            }
            _ => {
                assert!(history.poll_ledger(&first));
                first
            }
        };
        let mut next = policy.next(SystemTime::now());
        history.give(&mut next);
        for host in ["a.example", "b.example"] {
            assert!(held(&next, host).contains(&None), "{found_by}: {host} {:?}", held(&next, host));
            let (_, rules) = next.found(next.hosts().find(host)).unwrap();
            let lost = rules.former().iter().find(|old| old.is_unknown).unwrap().replaced.unwrap();
            let is_over = lost.at.since(next.clock.now()).is_zero();
            assert!(!is_over, "{found_by}: another process may serve {host} until it has seen of the loss");
        }
        drop(history);
        let (_, policy) = scene.start(&sites(if found_by == "a reload" { "c" } else { "a" }));
        for host in ["a.example", "b.example"] {
            assert!(held(&policy, host).contains(&None), "{found_by}, and a start: {host}");
        }
        std::fs::remove_dir_all(state).unwrap();
    }
}

#[test]
fn a_read_from_one_process_lets_nobody_forget_what_another_served_when_the_ledger_was_lost() {
    let scene = Scene::new();
    let (old, policy) = scene.start(&[(&["a.example"], "old")]);
    let path = policy.config.state_dir.join(LEDGER_FILE);
    for found_by in ["a start", "a look"] {
        let (mut history, mut next) = scene.start(&[(&["a.example"], "new")]);
        std::fs::write(&path, "").unwrap();
        if found_by == "a start" {
            let mut remembering =
                HistoryState::new(&next.config, LedgerMemory::Entry(history.last_entry().unwrap()));
            let mut policy = scene.policy(&[(&["a.example"], "new")]);
            remembering.record(&policy).unwrap();
            remembering.give(&mut policy);
            (history, next) =
                (NoticeHistory { state: Mutex::new(remembering), told: Mutex::default() }, policy);
        } else {
            assert!(history.poll_ledger(&next));
            history.give(&mut next);
        }
        let (_, rules) = next.found(next.hosts().find("a.example")).unwrap();
        // The old process has not seen of the loss yet, and serves what it has. It may end before it does.
        let lost = rules.former().iter().find(|old| old.is_unknown).unwrap().replaced.unwrap();
        assert!(lost.sequence > rules.sequence, "{found_by}: {lost:?} {}", rules.sequence);
        history.waive(&next, None, None).unwrap();
        history.give(&mut next);
        let (_, rules) = next.found(next.hosts().find("a.example")).unwrap();
        let lost = rules.former().iter().find(|old| old.is_unknown).unwrap().replaced.unwrap();
        let waived = rules.waivers.last().unwrap().sequence;
        assert!(lost.sequence <= waived, "{found_by}: {lost:?} {waived}");
    }
    drop(old);
}

#[test]
fn a_process_that_was_alone_learns_of_another() {
    let scene = Scene::new();
    let (old, policy) = scene.start(&[(&[], "a")]);
    let (new, _) = scene.start(&[(&[], "b")]);
    assert!(old.poll_ledger(&policy), "the other one serves something else");
    let mut next = policy.next(SystemTime::now());
    old.give(&mut next);
    assert!(held(&next, "x").contains(&id("b")), "{:?}", held(&next, "x"));
    assert!(!old.poll_ledger(&next));
    drop(new);
}

#[test]
fn a_process_that_was_taken_for_dead_says_again_what_it_serves() {
    let scene = Scene::new();
    let (alive, policy) = scene.start(&[(&[], "a")]);
    let state = policy.config.state_dir.clone();
    for entry in std::fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("ledger.") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let (other, _) = scene.start(&[(&[], "b")]);
    assert!(alive.poll_ledger(&policy));
    let mut next = policy.next(SystemTime::now());
    alive.give(&mut next);
    let (_, rules) = next.found(next.hosts().find("x")).unwrap();
    assert_eq!((rules.current().id, rules.is_unrecorded), (id("a"), false));
    drop(other);
}

#[test]
fn a_host_that_moved_to_a_site_has_its_file_only_since_then() {
    let scene = Scene::new();
    let (history, before) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    let after = scene.reload(&history, &before, &[(&["a.example", "b.example"], "a")]);
    let rules = |policy: &Policy, host: &str| policy.found(policy.hosts().find(host)).unwrap().1.clone();
    assert_eq!(rules(&after, "a.example").since, rules(&before, "a.example").since);
    assert!(rules(&after, "b.example").since > rules(&before, "b.example").since);
    // Within one second they have one date, and it proves nothing.
    let (old, new) = (rules(&before, "b.example"), rules(&after, "b.example"));
    let second =
        |rules: &SiteRules| rules.since.unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!(rules(&after, "a.example").is_dated && new.is_dated == (second(&old) < second(&new)));
}

#[test]
fn a_member_says_what_every_process_of_its_folder_serves() {
    let scene = Scene::new();
    let (former, _old) = scene.start(&[(&["a.example"], "v1"), (&[], "d")]);
    // The one that replaces it has another file, and no site of its own for the host.
    let (history, new) = scene.start(&[(&[], "v2")]);
    let counts = |history: &NoticeHistory| -> Vec<(String, usize)> {
        history.served_here().into_iter().map(|(host, files)| (host.into(), files.len())).collect()
    };
    assert_eq!(counts(&history), [("*".to_owned(), 2), ("a.example".to_owned(), 2)]);
    former.close();
    history.poll_ledger(&new);
    assert_eq!(counts(&history), [("*".to_owned(), 1)]);
}

#[test]
fn what_was_replaced_last_counts_whatever_pattern_a_member_has_for_a_host() {
    let scene = Scene::new();
    let (history, before) = scene.start(&[(&["www.example"], "a")]);
    assert_eq!(held(&before, "www.example"), [None]);
    let said = |pattern: &str, seconds| BTreeMap::from([(Box::from(pattern), seconds)]);
    let news = FleetNews {
        stamp: 1,
        replaced_ago: vec![said("www.example", 172_800), said("*.example", 10)],
        ..FleetNews::default()
    };
    assert!(history.learn(&before, news));
    let after = scene.reload(&history, &before, &[(&["www.example"], "a")]);
    assert_eq!(held(&after, "www.example"), [None], "it was replaced ten seconds ago at another member");
}

#[test]
fn a_member_begins_with_what_was_served_last() {
    let scene = Scene::new();
    let (history, _) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    history.close();
    let mut policy = scene.policy(&[(&["a.example"], "x"), (&["b.example"], "b"), (&["c.example"], "c")]);
    let history = NoticeHistory::open(&policy.config);
    history.state().keep_last(&mut policy);
    let served = |host: &str| policy.site(host).unwrap().version();
    assert_eq!((served("a.example"), served("b.example"), served("c.example")), (id("a"), id("b"), id("c")));
    let waits: Vec<bool> = policy.sites().iter().map(|site| site.error.is_some()).collect();
    assert_eq!(waits, [true, false, false]);
}
