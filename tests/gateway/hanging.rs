//! Files that cannot be read to an end: pipes, devices, folders, and mounts whose server is gone. Whatever stands in
//! the place of a file, the gateway can be asked and steered, and a good file heals it.

use crate::reload_styles::{assert_comes_into_force, disallowing, without_notice};
use crate::support::agents::GPTBOT;
use crate::support::dead_mount::DeadMount;
use crate::support::folder::rename_over;
use crate::support::{Daemon, Ended, Nginx, configured, get, until};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How soon a question is answered that waits for no file. Generous: the machine may be busy.
const AT_ONCE: Duration = Duration::from_secs(2);

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success()), "mkfifo");
}

fn zero(path: &Path) {
    symlink("/dev/zero", path).expect("linked");
}

fn folder(path: &Path) {
    fs::create_dir(path).expect("created");
}

/// Puts something that is no file in the place of a file.
fn put(path: &Path, make: fn(&Path)) {
    fs::remove_file(path).expect("removed");
    make(path);
}

fn clear_away(path: &Path) {
    if path.symlink_metadata().expect("something is there").is_dir() {
        fs::remove_dir(path).expect("removed");
    } else {
        fs::remove_file(path).expect("removed");
    }
}

#[track_caller]
fn at_once(ended: Ended) -> Ended {
    assert!(ended.took < AT_ONCE, "{ended:?}");
    ended
}

#[test]
fn a_robots_txt_that_is_no_regular_file_is_refused_at_once_and_a_good_one_heals_it() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    for (make, what, path) in [
        (pipe as fn(&Path), "a named pipe", "/new"),
        (zero, "a device", "/old"),
        (folder, "a folder", "/new"),
    ] {
        put(&gateway.robots(), make);
        let reload = at_once(gateway.ctl(&["reload"])).exits(1);
        let said =
            format!("robots.txt: cannot read the robots.txt: it is {what}, and a regular file is expected");
        assert!(reload.stdout.contains(&said), "{reload:?}");
        assert!(at_once(gateway.ctl(&["status"])).exits(0).stdout.contains(what));
        at_once(gateway.ctl(&["mode", "off"])).exits(0);
        at_once(gateway.ctl(&["mode", "--clear"])).exits(0);
        clear_away(&gateway.robots());
        rename_over(&gateway.robots(), disallowing(path));
        assert_comes_into_force(&gateway, &disallowing(path), path);
    }
}

#[test]
fn no_other_file_that_is_a_pipe_holds_a_reload_up() {
    let origin = Nginx::start();
    let config = "catalogue = \"own.toml\"\n[verify]\nranges = { GPTBot = [\"ranges.txt\"] }\n\
                  [[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let files = [
        ("own.toml", "[[crawler]]\nname = \"OurProbe\"\nclient = \"monitor\"\n"),
        ("ranges.txt", "192.0.2.0/24\n"),
        ("robots.txt", "User-agent: *\nDisallow: /private\n"),
    ];
    let gateway = files.iter().fold(configured(config), |builder, (name, text)| builder.file(name, text));
    let gateway = gateway.in_front_of(&origin).start();
    for name in ["own.toml", "ranges.txt", "gateway.toml"] {
        let path = gateway.folder().join(name);
        let text = fs::read(&path).expect("read");
        put(&path, pipe);
        let reload = at_once(gateway.ctl(&["reload"])).exits(1);
        let is_told = reload.stdout.contains(name) && reload.stdout.contains("it is a named pipe");
        assert!(is_told, "{name}: {reload:?}");
        at_once(gateway.ctl(&["status"])).exits(0);
        clear_away(&path);
        fs::write(&path, text).expect("written");
        gateway.ctl(&["reload"]).exits(0);
    }
}

#[test]
fn a_start_with_a_pipe_is_refused_and_does_not_hang() {
    let gateway = Daemon::without_robots().at("http://127.0.0.1:9");
    let robots = gateway.folder().join("robots.txt");
    pipe(&robots);
    let ended = gateway.arg("--robots").arg(robots.to_str().expect("UTF-8")).fails_to_start().exits(2);
    assert!(ended.stderr.contains("it is a named pipe, and a regular file is expected"), "{}", ended.stderr);
}

#[test]
fn a_mount_that_hangs_holds_up_nothing_but_what_is_read_from_it() {
    let origin = Nginx::start();
    let config = "mode = \"enforce\"\nnotice = \"0s\"\n[[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"site/robots.txt\"\n";
    let gateway = configured(config);
    fs::create_dir(gateway.folder().join("site")).expect("created");
    let gateway = gateway.file("site/robots.txt", disallowing("/old")).in_front_of(&origin).start();
    let robots = gateway.folder().join("site/robots.txt");
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    let Some(mount) = DeadMount::over(&gateway.folder().join("site")) else { return };
    // What this reload puts in force must not undo what is set while it waits.
    let text = fs::read_to_string(gateway.folder().join("gateway.toml")).expect("read");
    fs::write(gateway.folder().join("gateway.toml"), format!("verdict_headers = true\n{text}"))
        .expect("written");
    let status = || gateway.send(&get("/old").by(GPTBOT)).status;
    std::thread::scope(|scope| {
        let reloading = scope.spawn(|| gateway.ctl(&["reload"]));
        until("the gateway waits for the mount", || {
            let tasks = fs::read_dir(format!("/proc/{}/task", gateway.process_id())).ok()?;
            let mut names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.any(|name| name == "bounded\n").then_some(())
        });
        at_once(gateway.ctl(&["status"])).exits(0);
        at_once(gateway.ctl(&["mode", "off"])).exits(0);
        assert_eq!(status(), 200, "it is off at once");
        assert!(!reloading.is_finished(), "the reload was to wait all the while");
        let reload = reloading.join().expect("it ended");
        let said = "the file system that it lies on does not answer";
        assert!(reload.code == Some(1) && reload.stdout.contains(said), "{reload:?}");
    });
    until("the rest of the configuration is in force", || {
        let reload = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        (reload["generation"].as_u64() >= Some(3)).then_some(())
    });
    assert_eq!(status(), 200, "the mode outlived the reload it was set in");
    gateway.ctl(&["mode", "--clear"]).exits(0);
    assert_eq!(status(), 403, "the last good file is in force");
    drop(mount);
    rename_over(&robots, disallowing("/new"));
    until("the file is read when it can be read again", || {
        (gateway.send(&get("/new").by(GPTBOT)).status == 403).then_some(())
    });
}
