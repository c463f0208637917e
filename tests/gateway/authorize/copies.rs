//! The copies of robots.txt for proxies whose gateway is down.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_copy_is_what_is_served_after_each_change_and_can_be_read_by_others() {
    let gateway = beside("").start();
    let copy = gateway.folder().join("state/robots/default.txt");
    let is_served = |text: &str| {
        let served = asked(&gateway, &robots_txt().by(CHROME)).text();
        served == text && fs::read_to_string(&copy).is_ok_and(|copy| copy == text)
    };
    until("there is a copy", || is_served(ROBOTS).then_some(()));
    let next = format!("{ROBOTS}Disallow: /more\n");
    fs::write(gateway.folder().join("robots.txt"), &next).expect("written");
    gateway.ctl(&["reload"]).exits(0);
    until("the copy is the new file", || is_served(&next).then_some(()));
    let mode = |path: &str| {
        fs::metadata(gateway.folder().join(path)).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!((mode("state/robots"), mode("state/robots/default.txt")), (0o755, 0o644));

    // A folder that others may not enter is told of.
    let (state, config) = (gateway.folder().join("state"), gateway.folder().join("gateway.toml"));
    let own = fs::read_to_string(&config).expect("a configuration");
    fs::write(&config, format!("state_dir = \"{}\"\n{own}", state.display())).expect("written");
    let check = |mode| {
        fs::set_permissions(&state, fs::Permissions::from_mode(mode)).expect("it is ours");
        gateway.ctl(&["check", "--offline", "--config", config.to_str().expect("UTF-8")]).stdout
    };
    assert!(check(0o700).contains(&format!("may enter {}:", state.display())), "{}", check(0o700));
    assert!(!check(0o711).contains("may enter"), "{}", check(0o711));
}
