//! What hosts were given, when sites and names change.

use super::*;

#[test]
fn sites_that_become_one_keep_what_each_host_was_given() {
    let scene = HistoryScene::new();
    let (mut history, before) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    let after = scene.reload(&mut history, &before, &[(&["b.example", "a.example"], "b")]);
    assert_eq!(held(&after, "a.example"), sorted(vec![None, id("a")]));
    assert_eq!(held(&after, "b.example"), [None]);
}

#[test]
fn a_host_that_falls_to_the_default_keeps_its_past_and_others_do_not_get_it() {
    let scene = HistoryScene::new();
    let (mut history, before) = scene.start(&[(&["a.example"], "a"), (&[], "d")]);
    let after = scene.reload(&mut history, &before, &[(&[], "d")]);
    assert_eq!(held(&after, "a.example"), sorted(vec![None, id("a")]));
    assert_eq!(held(&after, "other.example"), [None]);
}

/// Before the swap nothing of it has ended yet.
#[test]
fn a_host_that_falls_to_the_default_keeps_its_past_where_nothing_else_of_it_is_known() {
    let scene = HistoryScene::new();
    let (mut history, mut policy) = scene.start(&[(&["a.example"], "a"), (&[], "d")]);
    for rows in history.own.hosts.0.values_mut() {
        rows.prune(
            NoticePeriod { notice: Duration::ZERO, settle: Duration::ZERO },
            NoticeTime(Duration::MAX),
        );
    }
    history.give(&mut policy);
    assert_eq!(held(&policy, "a.example"), []);
    let after = scene.reload(&mut history, &policy, &[(&[], "d")]);
    assert_eq!(held(&after, "a.example"), [id("a")]);
}

#[test]
fn a_wildcard_carved_out_of_the_default_has_its_past() {
    let scene = HistoryScene::new();
    let (mut history, before) = scene.start(&[(&[], "d")]);
    let after = scene.reload(&mut history, &before, &[(&["*.example"], "w"), (&[], "d")]);
    assert_eq!(held(&after, "x.example"), sorted(vec![None, id("d")]));
    let last =
        scene.reload(&mut history, &after, &[(&["x.example"], "x"), (&["*.example"], "w"), (&[], "d")]);
    assert_eq!(held(&last, "x.example"), sorted(vec![None, id("d"), id("w")]));
    assert_eq!(held(&last, "y.example"), sorted(vec![None, id("d")]));
}

#[test]
fn neither_a_new_name_nor_a_restart_forgets_anything() {
    let scene = HistoryScene::new();
    let (mut history, before) = scene.start(&[(&["a.example", "b.example"], "a")]);
    let after = scene.reload(&mut history, &before, &[(&["a.example", "b.example"], "b")]);
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
fn a_new_host_without_a_file_was_given_what_allows_everything() {
    let scene = HistoryScene::new();
    let (mut history, first) = scene.start(&[(&["a.example"], "a")]);
    let without = scene.reload(&mut history, &first, &[(&["a.example"], "a"), (&["b.example"], NO_FILE)]);
    let rules = |policy: &Policy| policy.found(policy.hosts.find("b.example")).unwrap().1.clone();
    let opened = rules(&without).as_of;
    let with = scene.reload(&mut history, &without, &[(&["a.example"], "a"), (&["b.example"], "b")]);
    let last = rules(&with).former.iter().filter_map(|old| old.until).max().unwrap();
    assert!(last > opened, "what was served until now was replaced now: {last:?}");
}

#[test]
fn a_host_that_moved_to_a_site_has_its_file_only_since_then() {
    let scene = HistoryScene::new();
    let (mut history, before) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    let after = scene.reload(&mut history, &before, &[(&["a.example", "b.example"], "a")]);
    let rules = |policy: &Policy, host: &str| policy.found(policy.hosts.find(host)).unwrap().1.clone();
    assert_eq!(rules(&after, "a.example").since, rules(&before, "a.example").since);
    assert!(rules(&after, "b.example").since > rules(&before, "b.example").since);
    // Within one second they have one date, and it proves nothing.
    let (old, new) = (rules(&before, "b.example"), rules(&after, "b.example"));
    let second =
        |rules: &SiteRules| rules.since.unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!(rules(&after, "a.example").is_dated && new.is_dated == (second(&old) < second(&new)));
}

#[test]
fn what_is_served_is_replaced_only_when_the_next_one_is_in_force() {
    let scene = HistoryScene::new();
    let (mut history, before) = scene.start(&[(&["a.example"], "a")]);
    let mut next = scene.policy(&[(&["a.example"], "b")]);
    history.adopt(&mut next, Some(&before)).unwrap();
    let rules = |policy: &Policy| policy.found(policy.hosts.find("a.example")).unwrap().1.clone();
    let of_a = |policy: &Policy| rules(policy).former.iter().find(|old| id_of(old) == id("a")).unwrap().until;
    let (written, as_of) = (of_a(&next).unwrap(), rules(&next).as_of);
    assert!(written > as_of, "until the swap it is served: a read in between lets nobody forget it");
    assert!(history.end_former(&next));
    let after = again(&mut history, &next);
    assert!(of_a(&after).unwrap() > written && of_a(&after).unwrap() <= rules(&after).as_of);
}

/// The default site's file was never served there.
#[test]
fn a_host_whose_origins_file_is_not_known_yet_does_not_inherit_the_defaults_past() {
    let scene = HistoryScene::new();
    let sites: &[(&[&str], &str)] = &[(&["a.example"], OF_ORIGIN), (&[], "d")];
    let (mut history, first) = scene.start(sites);
    let (site, _) = first.found(first.hosts.find("a.example")).unwrap();
    assert!(site.is_unknown);
    let known = scene.reload(&mut history, &first, &[(&["a.example"], "a"), (&[], "d")]);
    assert_eq!(held(&known, "a.example"), [None], "what the origin answered meanwhile is not known");
    assert_eq!(held(&known, "other.example"), [None]);
}

/// What a shorter notice would have dropped is kept from the reload on that asks for a longer one.
#[test]
fn a_longer_notice_holds_from_the_reload_on_that_brings_it() {
    let scene = HistoryScene::new();
    let sites: [(&[&str], &str); 1] = [(&["a.example"], "a")];
    let (mut history, before) = scene.start(&sites);
    let longer = *before.config.notice * 3;
    let mut next = scene.policy(&sites);
    next.config = Arc::new(Config { notice: DurationValue(longer), ..Config::clone(&next.config) });
    history.adopt(&mut next, Some(&before)).unwrap();
    assert_eq!(history.period().notice, longer);
}
