//! What other members of a fleet gave a host.

use super::*;
use crate::policy::standing::FleetNews;
use crate::record::digest;
use crate::robots::Robots;
use std::collections::BTreeMap;

/// What a file says, or a doubt.
fn version(word: &str) -> RowVersion {
    if let Ok(doubt) = word.parse() {
        return RowVersion::Unknown(doubt);
    }
    let texts = ["a", "b"].map(closing);
    let text = texts.iter().find(|text| *digest(text.as_bytes()) == *word).unwrap();
    let robots = Robots::parse(text.as_bytes(), &ParseLimits { max_bytes: 1_000 }).robots;
    RowVersion::Known { rules: RobotsVersion::new(None, Arc::new(robots)).rules, file: Some(word.into()) }
}

fn news(stamp: u64, member: &str, said: &[(&str, &str, Option<u64>)], joins: bool) -> FleetNews {
    let mut rows = PastRows::default();
    for (host, word, ago) in said {
        let host = rows.0.entry((*host).into()).or_default();
        host.serve(&version(word), SystemTime::now());
        host.rows.last_mut().unwrap().until = ago.map(Duration::from_secs);
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
        let (mut history, before) = scene.start(sites);
        assert_eq!(held(&before, "www.example"), [None]);
        history.learn(&before, news(1, "x", &said, true)).unwrap();
        assert_eq!(held(&scene.reload(&mut history, &before, sites), "www.example"), expected, "{said:?}");
    }
}

#[test]
fn what_a_new_member_does_not_know_is_no_doubt_of_those_that_are_there() {
    let scene = HistoryScene::new();
    let sites: &[(&[&str], &str)] = &[(&[], "b")];
    let (mut history, policy) = scene.start(sites);
    let new = digest(closing("b").as_bytes());
    let said = [("*", &*new, None), ("*", "before", Some(0))];
    history.learn(&policy, news(1, "old", &said[..1], true)).unwrap();
    history.learn(&policy, news(2, "new", &said, false)).unwrap();
    assert_eq!(held(&scene.reload(&mut history, &policy, sites), "x"), []);
    // What nobody knows any more of what it served itself is another thing.
    history.learn(&policy, news(3, "new", &[("*", &new, None), ("*", "lost", Some(0))], false)).unwrap();
    assert_eq!(held(&scene.reload(&mut history, &policy, sites), "x"), [None]);
}

#[test]
fn what_a_member_served_ended_no_earlier_than_it_says() {
    let scene = HistoryScene::new();
    let (mut history, policy) = scene.start(&[(&[], "b")]);
    let (old, new) = (digest(closing("a").as_bytes()), digest(closing("b").as_bytes()));
    history.learn(&policy, news(1, "x", &[("*", &old, None)], true)).unwrap();
    let served = policy.clock.now();
    history.learn(&policy, news(2, "x", &[("*", &new, None), ("*", &old, Some(5))], false)).unwrap();
    let next = again(&mut history, &policy);
    let (_, rules) = next.found(next.hosts.find("y")).unwrap();
    let [row] = &rules.former[..] else { panic!("{:?}", rules.former) };
    assert!(id_of(row) == id("a") && row.until.unwrap() >= served, "{row:?} was served at {served:?}");
}

#[test]
fn a_member_begins_with_what_was_served_last() {
    let scene = HistoryScene::new();
    let (mut history, _) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    history.close();
    let mut policy = scene.policy(&[(&["a.example"], "x"), (&["b.example"], "b"), (&["c.example"], "c")]);
    let history = NoticeHistory::open(&policy.config, &ReadBook::default());
    history.keep_last(&mut policy);
    let served = |host: &str| policy.site(host).unwrap().version();
    assert_eq!((served("a.example"), served("b.example"), served("c.example")), (id("a"), id("b"), id("c")));
    let waits: Vec<bool> = policy.sites().iter().map(|site| site.error.is_some()).collect();
    assert_eq!(waits, [true, false, false]);
}

#[test]
fn a_member_that_is_gone_is_forgotten_once_nobody_can_hold_what_it_served() {
    let scene = HistoryScene::new();
    let (mut history, policy) = scene.start(&[(&[], "a")]);
    let mut gone = PastRows::default();
    gone.tell_apart("*").doubt(Doubt::Before, Some(NoticeTime::default()));
    let mut serving = PastRows::default();
    serving.tell_apart("*").doubt(Doubt::Before, None);
    history.own.members = BTreeMap::from([("gone".into(), gone), ("serving".into(), serving)]);
    let mut next = history.own.clone();
    history.prune(&mut next, &served(&policy));
    assert_eq!(next.members.keys().map(|store| &**store).collect::<Vec<_>>(), ["serving"]);
}

#[test]
fn what_is_announced_is_said_and_goes_on_until_it_is_in_force_or_comes_to_nothing() {
    let scene = HistoryScene::new();
    let (mut history, first) = scene.start(&[(&[], "a")]);
    let sites: &[(&[&str], &str)] = &[(&[], "b"), (&["b.example"], "b")];
    let announced = scene.policy(sites);
    let file = digest(closing("b").as_bytes());
    let is_said = |history: &NoticeHistory, policy: &Policy| {
        let rows = history.word(policy).rows;
        let is_open =
            |host: &HostRows| host.open().any(|version| version.file() == Some(&Some(file.clone())));
        ["*", "b.example"].map(|host| rows.0.get(host).is_some_and(is_open))
    };
    for comes_to_nothing in [true, false] {
        history.announce(&announced).unwrap();
        // What waits is not in force after a reload that brought the rest.
        let same = scene.reload(&mut history, &first, &[(&[], "a")]);
        assert!(
            !history.look(&same) && is_said(&history, &same) == [true; 2] && history.announced().is_some()
        );
        assert_eq!(history.bytes(&history.word(&same).rows).len(), 2);
        if comes_to_nothing {
            history.withdraw();
            assert!(history.look(&same) && is_said(&history, &same) == [false; 2]);
        } else {
            let served = scene.reload(&mut history, &same, sites);
            assert!(is_said(&history, &served) == [true; 2] && history.announced().is_none());
        }
    }
}
