//! What hosts were given, when sites and names change.

use super::*;

#[test]
fn sites_that_become_one_keep_what_each_host_was_given() {
    let scene = HistoryScene::new();
    let (history, before) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    let after = scene.reload(&history, &before, &[(&["b.example", "a.example"], "b")]);
    assert_eq!(held(&after, "a.example"), sorted(vec![None, id("a")]));
    assert_eq!(held(&after, "b.example"), [None]);
}

#[test]
fn a_host_that_falls_to_the_default_keeps_its_past_and_others_do_not_get_it() {
    let scene = HistoryScene::new();
    let (history, before) = scene.start(&[(&["a.example"], "a"), (&[], "d")]);
    let after = scene.reload(&history, &before, &[(&[], "d")]);
    assert_eq!(held(&after, "a.example"), sorted(vec![None, id("a")]));
    assert_eq!(held(&after, "other.example"), [None]);
}

#[test]
fn a_wildcard_carved_out_of_the_default_has_its_past() {
    let scene = HistoryScene::new();
    let (history, before) = scene.start(&[(&[], "d")]);
    let after = scene.reload(&history, &before, &[(&["*.example"], "w"), (&[], "d")]);
    assert_eq!(held(&after, "x.example"), sorted(vec![None, id("d")]));
    let last = scene.reload(&history, &after, &[(&["x.example"], "x"), (&["*.example"], "w"), (&[], "d")]);
    assert_eq!(held(&last, "x.example"), sorted(vec![None, id("d"), id("w")]));
    assert_eq!(held(&last, "y.example"), sorted(vec![None, id("d")]));
}

#[test]
fn neither_a_new_name_nor_a_restart_forgets_anything() {
    let scene = HistoryScene::new();
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
fn a_new_host_without_a_file_was_given_what_allows_everything() {
    let scene = HistoryScene::new();
    let (history, first) = scene.start(&[(&["a.example"], "a")]);
    let without = scene.reload(&history, &first, &[(&["a.example"], "a"), (&["b.example"], NO_FILE)]);
    let rules = |policy: &Policy| policy.found(policy.hosts.find("b.example")).unwrap().1.clone();
    let opened = rules(&without).sequence;
    let with = scene.reload(&history, &without, &[(&["a.example"], "a"), (&["b.example"], "b")]);
    let last = rules(&with).former().iter().filter_map(|old| old.replaced).max().unwrap();
    assert!(last.sequence > opened && opened > 0, "what was served until now was replaced now: {last:?}");
}

#[test]
fn a_host_that_moved_to_a_site_has_its_file_only_since_then() {
    let scene = HistoryScene::new();
    let (history, before) = scene.start(&[(&["a.example"], "a"), (&["b.example"], "b")]);
    let after = scene.reload(&history, &before, &[(&["a.example", "b.example"], "a")]);
    let rules = |policy: &Policy, host: &str| policy.found(policy.hosts.find(host)).unwrap().1.clone();
    assert_eq!(rules(&after, "a.example").since, rules(&before, "a.example").since);
    assert!(rules(&after, "b.example").since > rules(&before, "b.example").since);
    // Within one second they have one date, and it proves nothing.
    let (old, new) = (rules(&before, "b.example"), rules(&after, "b.example"));
    let second =
        |rules: &SiteRules| rules.since.unwrap().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!(rules(&after, "a.example").is_dated && new.is_dated == (second(&old) < second(&new)));
}
