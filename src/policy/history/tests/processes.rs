//! What several processes of one state folder serve.

use super::*;

#[test]
fn what_another_process_serves_is_held_until_that_ends() {
    let scene = HistoryScene::new();
    let (mut old, _) = scene.start(&[(&[], "a")]);
    let (mut new, policy) = scene.start(&[(&[], "b")]);
    let (_, rules) = policy.found(policy.hosts.find("x")).unwrap();
    let of_a = |rules: &SiteRules| rules.former.iter().find(|old| id_of(old) == id("a")).unwrap().until;
    assert_eq!(of_a(rules), None);
    // Its own rows began with those of the other one.
    assert!(new.look(&policy));
    let policy = again(&mut new, &policy);
    assert!(!new.look(&policy));
    old.close();
    assert!(new.look(&policy));
    let next = again(&mut new, &policy);
    let (_, rules) = next.found(next.hosts.find("x")).unwrap();
    assert!(of_a(rules).is_some());
}

/// Both served it, and the one that went on to do so ends before the other has noted that it does not any more.
#[test]
fn what_two_processes_served_ends_with_the_last_of_them() {
    let scene = HistoryScene::new();
    let (mut old, _) = scene.start(&[(&[], "a")]);
    let (mut new, policy) = scene.start(&[(&[], "b")]);
    let in_force = policy.in_force();
    thread::sleep(Duration::from_millis(2));
    old.close();
    assert!(new.look(&policy) && new.look(&policy));
    let next = again(&mut new, &policy);
    let (_, rules) = next.found(next.hosts.find("x")).unwrap();
    let until = rules.former.iter().find(|old| id_of(old) == id("a")).unwrap().until.unwrap();
    assert!(until.since(in_force) >= Duration::from_millis(2), "a read of the new one after that counts");
}

#[test]
fn a_process_that_was_alone_learns_of_another() {
    let scene = HistoryScene::new();
    let (mut old, policy) = scene.start(&[(&[], "a")]);
    let (new, _) = scene.start(&[(&[], "b")]);
    assert!(old.look(&policy), "the other one serves something else");
    let next = again(&mut old, &policy);
    assert!(held(&next, "x").contains(&id("b")), "{:?}", held(&next, "x"));
    assert!(!old.look(&next));
    drop(new);
}

/// Another process may have written something since, and may serve it by then.
#[test]
fn what_was_seen_of_others_is_all_that_they_serve_for_a_while() {
    let scene = HistoryScene::new();
    let (mut history, policy) = scene.start(&[(&[], "a")]);
    let now = || policy.clock.now();
    assert!(policy.knows_others(now()) && !policy.knows_others(now().after(HOLDS)));
    let begun = now();
    assert!(!history.look(&policy) && policy.knows_others(begun.after(HOLDS)));
    // A reload has its turn for long: what others write is seen meanwhile.
    let begun = now();
    history.hear();
    assert!(policy.knows_others(begun.after(HOLDS)));
    let (_other, _) = scene.start(&[(&[], "b")]);
    let until = policy.known_until.load(Ordering::Relaxed);
    history.hear();
    assert_eq!(
        policy.known_until.load(Ordering::Relaxed),
        until,
        "the policy does not know of the other one's file"
    );
    assert!(history.look(&policy));
    let policy = again(&mut history, &policy);
    let begun = now();
    assert!(!history.look(&policy) && policy.knows_others(begun.after(HOLDS)));
}

/// The folder may have been removed while another process goes on to serve something.
#[test]
fn who_starts_where_rows_are_lost_lets_others_see_them_first() {
    let scene = HistoryScene::new();
    let (mut old, before) = scene.start(&[(&[], "a")]);
    std::fs::remove_dir_all(before.config.state_dir.join(ROWS_FOLDER)).unwrap();
    let begun = std::time::Instant::now();
    let (mut new, policy) = scene.start_with(RowsMemory::Noted(before.clock.now()), &[(&[], "b")]);
    assert!(begun.elapsed() >= HOLDS);
    assert!(old.look(&before) && held(&again(&mut old, &before), "x").contains(&id("b")));
    assert!(new.look(&policy));
}

/// The files say again what is in force, so that nothing of that reload is kept.
#[test]
fn a_reload_that_changes_nothing_keeps_no_news_of_others_from_the_next_look() {
    let scene = HistoryScene::new();
    let (mut old, policy) = scene.start(&[(&[], "a")]);
    let (new, _) = scene.start(&[(&[], "b")]);
    old.adopt(&mut scene.policy(&[(&[], "a")]), Some(&policy)).unwrap();
    assert!(old.look(&policy), "the policy in force does not know of the other one's file");
    assert!(held(&again(&mut old, &policy), "x").contains(&id("b")));
    assert!(!old.look(&policy));
    drop(new);
}

#[test]
fn a_document_that_is_damaged_while_others_run_is_doubt() {
    let scene = HistoryScene::new();
    let (mut alive, policy) = scene.start(&[(&[], "a")]);
    let path = policy.config.state_dir.join(ROWS_FOLDER).join("served.rows");
    std::fs::write(&path, "what was a document\n").unwrap();
    assert!(alive.look(&policy));
    assert!(held(&again(&mut alive, &policy), "x").contains(&None), "what it said is not known");
    assert!(path.with_file_name("served.rows.damaged").exists(), "it is set aside");
    assert!(!alive.look(&policy), "and told once");
    assert!(std::fs::read(&path).unwrap().len() > 100, "it is written again");
}

#[test]
fn a_process_whose_document_is_gone_says_again_what_it_serves() {
    let scene = HistoryScene::new();
    let (mut alive, policy) = scene.start(&[(&[], "a")]);
    std::fs::remove_dir_all(policy.config.state_dir.join(ROWS_FOLDER)).unwrap();
    let (mut other, next) = scene.start(&[(&[], "b")]);
    assert!(!held(&next, "x").contains(&id("a")), "nobody has said so");
    assert!(alive.look(&policy));
    assert!(other.look(&next));
    assert!(held(&again(&mut other, &next), "x").contains(&id("a")));
    let next = again(&mut alive, &policy);
    let (_, rules) = next.found(next.hosts.find("x")).unwrap();
    assert_eq!(rules.current().id, id("a"));
    assert!(rules.former.iter().all(|old| old.version.as_ref().err() != Some(&Doubt::Unrecorded)));
    drop(other);
}

#[test]
fn a_process_that_has_ended_its_rows_writes_none_again() {
    let scene = HistoryScene::new();
    let (mut history, policy) = scene.start(&[(&[], "a")]);
    history.close();
    std::fs::remove_dir_all(&policy.config.state_dir).unwrap();
    assert!(!history.look(&policy));
    history.note_time(KeptSpans::default());
    assert!(!policy.config.state_dir.exists());
}

#[test]
fn a_member_says_what_every_process_of_its_folder_serves() {
    let scene = HistoryScene::new();
    let (mut former, _old) = scene.start(&[(&["a.example"], "v1"), (&[], "d")]);
    // The one that replaces it has another file, and no site of its own for the host.
    let (mut history, new) = scene.start(&[(&[], "v2")]);
    // Its own rows began with those of the other one.
    history.look(&new);
    let counts = |history: &NoticeHistory| -> Vec<(String, usize)> {
        let rows = history.word(&new).rows.0.into_iter();
        rows.map(|(host, rows)| (host.into(), rows.open().count())).collect()
    };
    assert_eq!(counts(&history), [("*".to_owned(), 2), ("a.example".to_owned(), 2)]);
    former.close();
    history.look(&new);
    assert_eq!(counts(&history), [("*".to_owned(), 1), ("a.example".to_owned(), 1)]);
}

/// A reload that reads slowly has its turn for as long as that takes. The others wait for no longer than a look.
#[test]
fn what_another_process_is_about_to_serve_is_seen_while_a_reload_reads() {
    use crate::policy::{CurrentPolicy, OriginFiles, Reloader};
    use crate::record::Recorder;
    let scene = HistoryScene::new();
    let (history, policy) = scene.start(&[(&[], "a")]);
    let config = Arc::clone(&policy.config);
    let recorder = Arc::new(Recorder::start(&config.store()).unwrap());
    let (current, origins) = (Arc::new(CurrentPolicy::new(policy)), Arc::new(OriginFiles::open(&config)));
    let arguments = Arguments { config: Some(scene.path().join("gateway.toml")), ..Arguments::default() };
    let reloader = Reloader::new(current, arguments, Arc::default(), Arc::clone(&recorder), history, origins);
    let reading = reloader.turn.lock();
    let (other, _) = scene.start(&[(&[], "b")]);
    reloader.look_at_history();
    assert!(held(&reloader.current(), "x").contains(&id("b")), "its visitors may come here");
    drop((reading, other));
    recorder.close();
}

#[test]
fn a_process_that_begins_beside_another_has_the_date_of_what_both_serve() {
    let scene = HistoryScene::new();
    let (old, before) = scene.start(&[(&[], "a")]);
    thread::sleep(Duration::from_millis(2));
    let (new, after) = scene.start(&[(&[], "a")]);
    let of = |policy: &Policy| {
        let rules = policy.found(policy.hosts.find("x")).unwrap().1;
        (rules.since, rules.is_dated)
    };
    assert_eq!((of(&after), of(&after).1), (of(&before), true));
    drop((old, new));
}

/// Both read the same files again at the same time.
#[test]
fn what_is_served_as_before_is_no_news_to_others() {
    let scene = HistoryScene::new();
    let (mut old, policy) = scene.start(&[(&[], "a")]);
    let (_new, _) = scene.start(&[(&["x"], "b"), (&[], "b")]);
    let mut next = scene.policy(&[(&[], "a")]);
    assert!(!old.adopt(&mut next, Some(&policy)).unwrap(), "rows of a host of the other one are new here");
    assert!(old.adopt(&mut scene.policy(&[(&[], "b")]), Some(&policy)).unwrap());
}

/// A reload may be under way when the gateway is stopped.
#[test]
fn a_process_that_has_said_its_last_word_writes_nothing_any_more() {
    let scene = HistoryScene::new();
    let (mut history, policy) = scene.start(&[(&[], "a")]);
    history.close();
    let rows = policy.config.state_dir.join(ROWS_FOLDER);
    std::fs::remove_dir_all(&rows).unwrap();
    assert!(!history.adopt(&mut scene.policy(&[(&[], "b")]), Some(&policy)).unwrap());
    assert!(!rows.exists());
}
