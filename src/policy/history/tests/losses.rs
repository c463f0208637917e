//! Rows that cannot be written, or are lost.

use super::*;

#[test]
fn where_nothing_can_be_written_nobody_is_accused_and_nothing_changes() {
    let scene = HistoryScene::new();
    std::fs::write(scene.path().join("state"), "no folder").unwrap();
    let (mut history, policy) = scene.start(&[(&[], "a")]);
    let (_, rules) = policy.found(policy.hosts.find("x")).unwrap();
    let unrecorded = Some(&Doubt::Unrecorded);
    assert_eq!(rules.former[0].version.as_ref().err(), unrecorded);
    assert!(history.fault.is_some());
    let mut next = scene.policy(&[(&[], "b")]);
    let error = history.adopt(&mut next, Some(&policy)).unwrap_err().to_string();
    assert!(error.contains("make the state folder writable"), "{error}");
    std::fs::remove_file(scene.path().join("state")).unwrap();
    assert!(history.look(&policy));
    let next = again(&mut history, &policy);
    let (_, rules) = next.found(next.hosts.find("x")).unwrap();
    assert!(rules.former.iter().all(|old| old.version.as_ref().err() != unrecorded));
    assert_eq!((held(&next, "x"), history.fault), (vec![None], None));
}

#[test]
fn a_former_file_whose_end_cannot_be_written_ends_for_the_policy_in_force() {
    let scene = HistoryScene::new();
    let (mut history, first) = scene.start(&[(&[], "a")]);
    let mut second = scene.policy(&[(&[], "b")]);
    history.adopt(&mut second, Some(&first)).unwrap();
    let rows = first.config.state_dir.join(ROWS_FOLDER);
    std::fs::remove_dir_all(&rows).unwrap();
    std::fs::write(&rows, "in the way").unwrap();
    assert!(history.end_former(&second), "the past is to be given anew");
}

#[test]
fn rows_that_are_lost_while_the_gateway_runs_are_written_again_and_nothing_is_lost() {
    let scene = HistoryScene::new();
    let (mut history, first) = scene.start(&[(&["a.example"], "a")]);
    let second = scene.reload(&mut history, &first, &[(&["a.example"], "b")]);
    let rows = first.config.state_dir.join(ROWS_FOLDER);
    std::fs::remove_dir_all(&rows).unwrap();
    history.look(&second);
    assert_eq!(held(&again(&mut history, &second), "a.example"), sorted(vec![None, id("a")]));
    drop(history);
    let (_, policy) = scene.start(&[(&["a.example"], "b")]);
    assert_eq!(held(&policy, "a.example").len(), 2, "the next start finds them, if not each former file");
}

#[test]
fn a_read_lets_nobody_forget_what_another_process_served_when_the_rows_were_lost() {
    let scene = HistoryScene::new();
    let (old, policy) = scene.start(&[(&["a.example"], "old")]);
    std::fs::remove_dir_all(policy.config.state_dir.join(ROWS_FOLDER)).unwrap();
    let noted = RowsMemory::Noted(old.last_noted().unwrap());
    let begun = crate::record::uptime();
    let mut state = NoticeHistory::new(&policy.config, (noted, NoticeTime::default()));
    let mut policy = scene.policy(&[(&["a.example"], "new")]);
    state.record(&policy).unwrap();
    state.give(&mut policy);
    let (_, rules) = policy.found(policy.hosts.find("a.example")).unwrap();
    // The old process has not seen of the loss yet, and serves what it has. It may end before it does.
    let lost = rules.former.iter().find(|old| is_unknown(old)).unwrap();
    assert_eq!(lost.version.as_ref().err(), Some(&Doubt::Lost));
    assert!(lost.until.unwrap().since(state.own.clock.at(begun)) >= SEEN, "{lost:?}");
    drop(old);
}

#[test]
fn a_reload_whose_rows_cannot_be_written_is_refused_and_what_was_written_holds() {
    let scene = HistoryScene::new();
    let (mut history, first) = scene.start(&[(&[], "a")]);
    let rows = first.config.state_dir.join(ROWS_FOLDER);
    let aside = scene.path().join("aside");
    std::fs::rename(&rows, &aside).unwrap();
    std::fs::write(&rows, "no folder").unwrap();
    let mut next = scene.policy(&[(&[], "b")]);
    assert!(history.adopt(&mut next, Some(&first)).is_err());
    std::fs::remove_file(&rows).unwrap();
    std::fs::rename(&aside, &rows).unwrap();
    assert_eq!(held(&again(&mut history, &first), "x"), [None], "nothing of it was served");
}

#[test]
fn where_rows_can_be_written_only_later_the_clock_never_goes_back() {
    let scene = HistoryScene::new();
    let rows = scene.path().join("state").join(ROWS_FOLDER);
    std::fs::create_dir(scene.path().join("state")).unwrap();
    std::fs::write(&rows, "no folder").unwrap();
    let (mut history, policy) = scene.start(&[(&[], "a")]);
    let read_at = policy.clock.now();
    std::fs::remove_file(&rows).unwrap();
    assert!(history.look(&policy));
    let now = again(&mut history, &policy).clock.now();
    assert!(
        now >= read_at,
        "what ends from now on, {now:?}, is taken to have ended before a read at {read_at:?}"
    );
}

#[test]
fn what_was_served_while_rows_could_not_be_written_is_doubt_for_the_next_process() {
    for is_mended_before_it_ends in [false, true] {
        let scene = HistoryScene::new();
        let (mut first, policy) = scene.start(&[(&[], "a")]);
        first.close();
        let rows = policy.config.state_dir.join(ROWS_FOLDER);
        let aside = scene.path().join("aside");
        let noted = |history: &NoticeHistory| RowsMemory::Noted(history.last_noted().unwrap());
        std::fs::rename(&rows, &aside).unwrap();
        std::fs::write(&rows, "in the way").unwrap();
        let mend = || {
            std::fs::remove_file(&rows).unwrap();
            std::fs::rename(&aside, &rows).unwrap();
        };
        let (mut second, _) = scene.start_with(noted(&first), &[(&[], "b")]);
        is_mended_before_it_ends.then(mend);
        second.close();
        (!is_mended_before_it_ends).then(mend);
        let (_, policy) = scene.start_with(noted(&second), &[(&[], "c")]);
        let (_, rules) = policy.found(policy.hosts.find("x")).unwrap();
        let doubts: Vec<_> = rules.former.iter().filter_map(|old| old.version.as_ref().err()).collect();
        assert!(doubts.contains(&&Doubt::Lost), "nobody knows of what the second one served: {doubts:?}");
        assert!(held(&policy, "x").contains(&id("a")));
    }
}

#[test]
fn the_clock_goes_on_from_the_latest_read_where_that_was_after_the_last_rows() {
    let scene = HistoryScene::new();
    let (first, policy) = scene.start(&[(&[], "a")]);
    let noted = first.last_noted().unwrap();
    drop(first);
    // The machine was started anew: no document is of this boot.
    let read = noted.after(Duration::from_secs(86_400));
    let state = NoticeHistory::new(&policy.config, (RowsMemory::Noted(noted), read));
    assert!(state.own.clock.now() >= read, "what ends from now on seems to have ended before the read");
}
