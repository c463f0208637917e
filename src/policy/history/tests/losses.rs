//! A ledger that cannot be written, or is lost.

use super::*;

#[test]
fn where_nothing_can_be_written_nobody_is_accused_and_nothing_changes() {
    let scene = HistoryScene::new();
    std::fs::write(scene.path().join("state"), "no folder").unwrap();
    let (history, policy) = scene.start(&[(&[], "a")]);
    let (_, rules) = policy.found(policy.hosts.find("x")).unwrap();
    let unrecorded = Some(&Doubt::Unrecorded);
    assert_eq!(rules.former()[0].version.as_ref().err(), unrecorded);
    assert!(history.fault().is_some());
    let mut next = scene.policy(&[(&[], "b")]);
    let error = history.adopt(&mut next, Some(&policy)).unwrap_err().to_string();
    assert!(error.contains("make the state folder writable"), "{error}");
    std::fs::remove_file(scene.path().join("state")).unwrap();
    assert!(history.poll_ledger(&policy));
    let mut next = policy.next(SystemTime::now());
    history.give(&mut next);
    let (_, rules) = next.found(next.hosts.find("x")).unwrap();
    assert!(rules.former().iter().all(|old| old.version.as_ref().err() != unrecorded));
    assert_eq!((held(&next, "x"), history.fault()), (vec![None], None));
}

#[test]
fn a_ledger_that_is_being_written_holds_no_question_up() {
    let scene = HistoryScene::new();
    let (history, _) = scene.start(&[(&[], "a")]);
    let _writing = history.state.lock();
    assert_eq!(history.fault(), None);
}

#[test]
fn a_ledger_that_is_lost_while_the_gateway_runs_is_doubt_for_every_host() {
    let scene = HistoryScene::new();
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
            let (_, rules) = next.found(next.hosts.find(host)).unwrap();
            let lost = rules.former().iter().find(|old| is_unknown(old)).unwrap().replaced.unwrap();
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
    let scene = HistoryScene::new();
    let (old, policy) = scene.start(&[(&["a.example"], "old")]);
    let path = policy.config.state_dir.join(LEDGER_FILE);
    for found_by in ["a start", "a look"] {
        let (history, mut next) = scene.start(&[(&["a.example"], "new")]);
        std::fs::write(&path, "").unwrap();
        if found_by == "a start" {
            let mut remembering =
                HistoryState::new(&next.config, LedgerMemory::Entry(history.last_entry().unwrap()));
            let mut policy = scene.policy(&[(&["a.example"], "new")]);
            remembering.record(&policy).unwrap();
            remembering.give(&mut policy);
            next = policy;
        } else {
            assert!(history.poll_ledger(&next));
            history.give(&mut next);
        }
        let (_, rules) = next.found(next.hosts.find("a.example")).unwrap();
        // The old process has not seen of the loss yet, and serves what it has. It may end before it does.
        let lost = rules.former().iter().find(|old| is_unknown(old)).unwrap().replaced.unwrap();
        assert!(lost.sequence > rules.sequence, "{found_by}: {lost:?} {}", rules.sequence);
    }
    drop(old);
}
