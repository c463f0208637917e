//! Changes behind links: of the file a link ends at, of a folder on the way, and of two files at once.

use crate::reload_styles::{assert_comes_into_force, disallowing, without_notice};
use crate::support::agents::GPTBOT;
use crate::support::folder::rename_over;
use crate::support::wait::within;
use crate::support::{Folder, Nginx, get};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::Duration;

#[test]
fn the_file_that_a_link_ends_at_saved_in_place() {
    let origin = Nginx::start();
    let elsewhere = Folder::new();
    let real = elsewhere.write("real.txt", disallowing("/old"));
    let builder = without_notice(&origin);
    let link = builder.folder().join("robots.txt");
    fs::remove_file(&link).expect("removed");
    symlink(&real, &link).expect("linked");
    let gateway = builder.start();
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    fs::write(&real, disallowing("/new")).expect("written");
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
}

#[test]
fn a_folder_on_the_way_swapped_as_a_deployment_does() {
    let origin = Nginx::start();
    let releases = Folder::new();
    for (number, path) in [("1", "/old"), ("2", "/new")] {
        fs::create_dir_all(releases.join(number).join("public")).expect("created");
        fs::write(releases.join(number).join("public/robots.txt"), disallowing(path)).expect("written");
    }
    symlink("1", releases.join("current")).expect("linked");
    let builder = without_notice(&origin);
    let link = builder.folder().join("robots.txt");
    fs::remove_file(&link).expect("removed");
    symlink(releases.join("current/public/robots.txt"), &link).expect("linked");
    let gateway = builder.start();
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    symlink("2", releases.join("next")).expect("linked");
    fs::rename(releases.join("next"), releases.join("current")).expect("swapped");
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
}

#[test]
fn a_busy_folder_hides_no_change() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let mut busy = File::create(gateway.folder().join("busy.log")).expect("created");
    let changed = within(Duration::from_secs(8), || {
        writeln!(busy, "a line").expect("written");
        rename_over(&gateway.robots(), disallowing("/new"));
        (gateway.send(&get("/new").by(GPTBOT)).status == 403).then_some(())
    });
    assert!(changed.is_some());
}
