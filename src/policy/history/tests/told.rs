//! What the origin, the operator and version 0.1 say of the past.

use super::*;

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
        let scene = HistoryScene::new();
        let (history, policy) = scene.start(&[(&[], "a")]);
        assert_eq!(history.hosts_without_past(&policy), [every_host()]);
        history.take_origin_words(&policy, &[(every_host(), word.clone())]);
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
    let scene = HistoryScene::new();
    let (history, policy) = scene.start(&[(&[], "a")]);
    assert_eq!(history.hosts_without_past(&policy), [every_host()]);
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
    assert_eq!((held(&policy, "x"), history.hosts_without_past(&policy)), (vec![None], vec![]));
    assert!(history.last_entry() > Some(7));
}

#[test]
fn the_operator_can_say_since_when_a_version_was_published() {
    let config = |scene: &HistoryScene, version: &str, ago: i64| {
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
        let scene = HistoryScene::new();
        let config = config(&scene, version, ago);
        let history = NoticeHistory::open(&config);
        let policy = history.begin(check(config, SystemTime::now()).unwrap());
        assert_eq!(held(&policy, "x"), expected, "{version} {ago}");
        if ago == 500 {
            let (_, rules) = policy.found(policy.hosts.find("x")).unwrap();
            let replaced = rules.former()[0].replaced.unwrap().at;
            let left = replaced.after(Duration::from_secs(1_000)).since(policy.clock.now()).as_secs();
            assert!((400..=500).contains(&left), "{left}");
        }
    }
}

#[test]
fn what_version_0_1_served_is_known() {
    let scene = HistoryScene::new();
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
    assert!(history.hosts_without_past(&policy).is_empty());
}

#[test]
fn what_the_operator_waives_is_noted_for_the_hosts_of_the_site() {
    let scene = HistoryScene::new();
    let sites: &[(&[&str], &str)] = &[(&["a.example"], "a"), (&["b.example"], "b")];
    let (history, policy) = scene.start(sites);
    history.waive(&policy, Some(0), Some("GPTBot")).unwrap();
    drop(history);
    let (_, policy) = scene.start(sites);
    let waivers = |host| policy.found(policy.hosts.find(host)).unwrap().1.waivers.clone();
    assert_eq!(waivers("a.example")[0].crawler.as_deref(), Some("gptbot"));
    assert_eq!(waivers("b.example").len(), 0);
}
