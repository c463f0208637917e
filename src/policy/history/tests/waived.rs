//! What the operator says of the past.

use super::*;

#[test]
fn what_the_operator_waives_is_noted_for_the_hosts_of_the_site() {
    let scene = HistoryScene::new();
    let sites: &[(&[&str], &str)] = &[(&["a.example"], "a"), (&["b.example"], "b")];
    let (mut history, policy) = scene.start(sites);
    history.waive(&policy, Some(0), Some("GPTBot")).unwrap();
    drop(history);
    let (_, policy) = scene.start(sites);
    let waivers = |host| policy.found(policy.hosts.find(host)).unwrap().1.waivers.clone();
    assert_eq!(waivers("a.example")[0].crawler.as_deref(), Some("gptbot"));
    assert_eq!(waivers("b.example").len(), 0);
}
