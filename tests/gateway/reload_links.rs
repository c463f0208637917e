//! Changes behind links: of the file a link ends at, of a folder on the way, and of two files at once.

use crate::reload_styles::{assert_comes_into_force, disallowing, without_notice};
use crate::support::agents::GPTBOT;
use crate::support::folder::rename_over;
use crate::support::wait::within;
use crate::support::{Builder, Daemon, Folder, Nginx, get};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
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
    // A file that is never left alone is read after ten seconds all the same.
    let changed = within(Duration::from_secs(15), || {
        writeln!(busy, "a line").expect("written");
        rename_over(&gateway.robots(), disallowing("/new"));
        (gateway.send(&get("/new").by(GPTBOT)).status == 403).then_some(())
    });
    assert!(changed.is_some());
}

/// Puts a folder with a new file in the place of `folder`, as `mv` does: the old one goes, then the new one comes.
/// Nothing happens within either of them.
fn replace(folder: &Path, file: &str, path: &str, number: usize) {
    let (next, gone) = (folder.with_extension("next"), folder.with_extension(number.to_string()));
    let file = next.join(file);
    fs::create_dir_all(file.parent().expect("a folder")).expect("created");
    fs::write(file, disallowing(path)).expect("written");
    fs::rename(folder, gone).expect("renamed");
    fs::rename(&next, folder).expect("renamed");
}

#[test]
fn a_folder_replaced_by_another() {
    let origin = Nginx::start();
    for (replaced, file) in [("site", "robots.txt"), ("releases", "site/public/robots.txt")] {
        let gateway = Daemon::without_robots().in_mode("enforce").with_notice("0s").in_front_of(&origin);
        let folder = gateway.folder().join(replaced);
        let robots = folder.join(file);
        fs::create_dir_all(robots.parent().expect("a folder")).expect("created");
        fs::write(&robots, disallowing("/old")).expect("written");
        let gateway = gateway.arg("--robots").arg(robots.to_str().expect("UTF-8")).start();
        assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
        // Each time, since the one before may have been found by looking.
        for (number, path) in ["/new", "/old", "/new", "/old"].into_iter().enumerate() {
            replace(&folder, file, path, number);
            assert_comes_into_force(&gateway, &disallowing(path), path);
        }
    }
}

/// Runs a gateway under limits of its own, which only a user namespace has.
fn limited(builder: Builder, limit: &str) -> Builder {
    let script = format!("echo 0 > /proc/sys/user/{limit} && exec \"$@\"");
    builder.by(&["unshare", "--user", "--map-root-user", "sh", "-c", &script, "sh"])
}

#[test]
fn without_room_for_watches_changes_are_found_by_looking_and_that_is_told() {
    let may = Command::new("unshare").args(["--user", "--map-root-user", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no user namespace can be made here");
        return;
    }
    let origin = Nginx::start();
    let told = "fs.inotify.max_user_instances or fs.inotify.max_user_watches is reached";
    for limit in ["max_inotify_instances", "max_inotify_watches"] {
        let gateway = limited(without_notice(&origin), limit).start();
        gateway.log.line_with(&["watching files", told]);
        let status = gateway.ctl(&["status"]).exits(0).stdout;
        assert!(status.contains(told), "{status}");
        rename_over(&gateway.robots(), disallowing("/new"));
        assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
    }
}
