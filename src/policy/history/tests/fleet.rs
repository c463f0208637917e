//! What other members of a fleet gave a host.

use super::*;
use crate::policy::standing::{FleetNews, FleetStanding, SaidRows};
use crate::record::digest;
use std::collections::BTreeMap;

fn news(stamp: u64, member: &str, said: &[(&str, &str, Option<u64>)], joins: bool) -> FleetNews {
    let mut rows = SaidRows::new();
    for (host, word, ago) in said {
        rows.entry((*host).into()).or_default().insert((*word).into(), *ago);
    }
    let files = vec![closing("a").into_bytes(), closing("b").into_bytes()];
    let known_for = joins.then_some(Duration::from_secs(1_000));
    FleetNews {
        stamp,
        files,
        members: BTreeMap::from([(member.into(), rows)]),
        known_for,
        ..FleetNews::default()
    }
}

#[test]
fn who_joins_knows_what_the_others_know_whatever_pattern_they_have_for_a_host() {
    let (old, new) = (digest(closing("a").as_bytes()), digest(closing("b").as_bytes()));
    for (said, expected) in [
        // It serves the same, and has served another file that may be held still, or not.
        (vec![("*.example", &*new, None), ("*.example", &*old, Some(10))], vec![id("a")]),
        (vec![("*.example", &*new, None), ("*.example", &*old, Some(2_000))], vec![]),
        // It does not know either what was served before it, or it serves other hosts.
        (vec![("*", &*new, None), ("*", "before", Some(10))], vec![None]),
        (vec![("other.example", &*new, None)], vec![None]),
    ] {
        let scene = HistoryScene::new();
        let sites: &[(&[&str], &str)] = &[(&["www.example"], "b")];
        let (history, before) = scene.start(sites);
        assert_eq!(held(&before, "www.example"), [None]);
        assert!(history.learn(&before, news(1, "x", &said, true)));
        assert_eq!(held(&scene.reload(&history, &before, sites), "www.example"), expected, "{said:?}");
    }
}

#[test]
fn what_a_new_member_does_not_know_is_no_doubt_of_those_that_are_there() {
    let scene = HistoryScene::new();
    let sites: &[(&[&str], &str)] = &[(&[], "b")];
    let (history, policy) = scene.start(sites);
    let new = digest(closing("b").as_bytes());
    let said = [("*", &*new, None), ("*", "before", Some(0))];
    assert!(history.learn(&policy, news(1, "old", &said[..1], true)));
    assert!(history.learn(&policy, news(2, "new", &said, false)));
    assert_eq!(held(&scene.reload(&history, &policy, sites), "x"), []);
    // What nobody knows any more of what it served itself is another thing.
    assert!(history.learn(&policy, news(3, "new", &[("*", &new, None), ("*", "lost", Some(0))], false)));
    assert_eq!(held(&scene.reload(&history, &policy, sites), "x"), [None]);
}

#[test]
fn what_a_member_served_ended_no_earlier_than_it_says() {
    let scene = HistoryScene::new();
    let (history, policy) = scene.start(&[(&[], "b")]);
    let (old, new) = (digest(closing("a").as_bytes()), digest(closing("b").as_bytes()));
    assert!(history.learn(&policy, news(1, "x", &[("*", &old, None)], true)));
    let served = policy.clock.now();
    assert!(history.learn(&policy, news(2, "x", &[("*", &new, None), ("*", &old, Some(5))], false)));
    let next = again(&history, &policy);
    let (_, rules) = next.found(next.hosts.find("y")).unwrap();
    let [row] = rules.former() else { panic!("{:?}", rules.former()) };
    assert!(id_of(row) == id("a") && row.until.unwrap() >= served, "{row:?} was served at {served:?}");
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

#[test]
fn what_is_announced_is_said_and_goes_on_until_it_is_in_force_or_comes_to_nothing() {
    let scene = HistoryScene::new();
    let (history, first) = scene.start(&[(&[], "a")]);
    let sites: &[(&[&str], &str)] = &[(&[], "b"), (&["b.example"], "b")];
    let announced = scene.policy(sites);
    let file = digest(closing("b").as_bytes());
    let is_said = |policy: &Policy| {
        let rows = history.word(policy, &FleetStanding::default()).rows;
        ["*", "b.example"].map(|host| rows.get(host).is_some_and(|words| words.get(&file) == Some(&None)))
    };
    for comes_to_nothing in [true, false] {
        history.announce(&announced).unwrap();
        // What waits is not in force after a reload that brought the rest.
        let same = scene.reload(&history, &first, &[(&[], "a")]);
        assert!(!history.look(&same) && is_said(&same) == [true; 2] && !history.announced().at.is_empty());
        assert_eq!(history.bytes(&history.word(&same, &FleetStanding::default()).rows).len(), 2);
        if comes_to_nothing {
            history.withdraw();
            assert!(history.look(&same) && is_said(&same) == [false; 2]);
        } else {
            let served = scene.reload(&history, &same, sites);
            assert!(is_said(&served) == [true; 2] && history.announced().at.is_empty());
        }
    }
}
