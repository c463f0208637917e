//! What other members of a fleet gave a host.

use super::*;
use crate::record::FleetNews;
use std::collections::BTreeMap;

#[test]
fn what_was_replaced_last_counts_whatever_pattern_a_member_has_for_a_host() {
    let scene = HistoryScene::new();
    let (history, before) = scene.start(&[(&["www.example"], "a")]);
    assert_eq!(held(&before, "www.example"), [None]);
    let said = |pattern: &str, seconds| BTreeMap::from([(Box::from(pattern), seconds)]);
    for (stamp, ago, expected) in [(1, 10, vec![None]), (2, 86_400, vec![])] {
        let news = FleetNews {
            stamp,
            replaced_ago: vec![said("www.example", 172_800), said("*.example", ago)],
            ..FleetNews::default()
        };
        assert!(history.learn(&before, news));
        let after = scene.reload(&history, &before, &[(&["www.example"], "a")]);
        assert_eq!(held(&after, "www.example"), expected, "it was replaced {ago} s ago at another member");
    }
}

#[test]
fn a_member_begins_with_what_was_served_last() {
    let scene = HistoryScene::new();
    let (history, _) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    history.close();
    let mut policy = scene.policy(&[(&["a.example"], "x"), (&["b.example"], "b"), (&["c.example"], "c")]);
    let history = NoticeHistory::open(&policy.config);
    history.state.lock().keep_last(&mut policy);
    let served = |host: &str| policy.site(host).unwrap().version();
    assert_eq!((served("a.example"), served("b.example"), served("c.example")), (id("a"), id("b"), id("c")));
    let waits: Vec<bool> = policy.sites().iter().map(|site| site.error.is_some()).collect();
    assert_eq!(waits, [true, false, false]);
}

#[test]
fn a_member_that_is_gone_is_forgotten_once_nobody_can_hold_what_it_served() {
    let scene = HistoryScene::new();
    let (history, policy) = scene.start(&[(&[], "a")]);
    let mut state = history.state.lock();
    let mut gone = PastRows::default();
    gone.tell_apart("*").doubt(Doubt::Before, Some(NoticeTime::default()));
    let mut serving = PastRows::default();
    serving.tell_apart("*").doubt(Doubt::Before, None);
    state.own.members = BTreeMap::from([("gone".into(), gone), ("serving".into(), serving)]);
    let mut next = state.own.clone();
    state.prune(&mut next, &served(&policy));
    assert_eq!(next.members.keys().map(|store| &**store).collect::<Vec<_>>(), ["serving"]);
}
