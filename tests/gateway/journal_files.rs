//! The journal's files: who rotates them, and what becomes of them when somebody else renames them.

use crate::support::agents::GPTBOT;
use crate::support::{Daemon, Folder, Nginx, configured, get, until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const LIMIT: usize = 8 * 1_024;

/// Two gateways of an upgrade: one state folder, one control socket.
fn start(folder: &Folder, origin: &Nginx) -> Daemon {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let robots = folder.write("robots.txt", "User-agent: *\nDisallow: /private\n");
    let config = format!(
        "journal_max_size = \"8KiB\"\njournal_keep = 100\njournal_rate = \"off\"\n[[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"{}\"\n",
        robots.display()
    );
    let builder = configured(&config).in_front_of(origin);
    builder.arg("--state-dir").arg(&path("state")).arg("--control").arg(&path("control.sock")).start()
}

/// All whole lines of all files of the journal, by file.
fn files(state: &Path) -> BTreeMap<String, Vec<Value>> {
    let names = fs::read_dir(state).expect("a state folder").flatten().map(|entry| entry.file_name());
    let names =
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("journal.jsonl"));
    let lines = |name: String| {
        let text = fs::read_to_string(state.join(&name)).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).expect("a whole line of JSON"));
        (name, lines.collect())
    };
    names.map(lines).collect()
}

/// How often each target was told of.
fn told(state: &Path) -> BTreeMap<String, usize> {
    let mut targets = BTreeMap::new();
    for event in files(state).into_values().flatten() {
        *targets.entry(event["target"].as_str().expect("a target").to_owned()).or_default() += 1;
    }
    targets
}

#[test]
fn of_two_gateways_the_holder_of_the_control_socket_rotates() {
    let (folder, origin) = (Folder::new(), Nginx::start());
    let state = folder.join("state");
    let mut old = start(&folder, &origin);
    until("the control socket is open", || folder.join("control.sock").exists().then_some(()));
    let new = start(&folder, &origin);
    let mut sent = 0;
    let ask = |gateway: &Daemon, count: usize, sent: &mut usize| {
        let mut client = gateway.client();
        for _ in 0..count {
            client.send(&get(format!("/private/{sent}")).by(GPTBOT));
            *sent += 1;
        }
    };
    // More than two files' worth through the one that may not rotate.
    ask(&new, 40, &mut sent);
    until("all is written", || (told(&state).len() == sent).then_some(()));
    assert_eq!(files(&state).len(), 1, "only the holder rotates");
    for _ in 0..10 {
        ask(&old, 4, &mut sent);
        ask(&new, 4, &mut sent);
    }
    old.signal("TERM");
    assert_eq!(old.ends_within(Duration::from_secs(10)), Some(0));
    until("the new one holds the socket", || new.log.text().contains("control socket is open").then_some(()));
    let before = files(&state).len();
    ask(&new, 60, &mut sent);
    until("all is written", || (told(&state).len() == sent).then_some(()));
    let told = told(&state);
    assert!(told.values().all(|count| *count == 1) && told.len() == sent, "{told:?}");
    assert!(files(&state).len() >= before + 3, "the new one rotates now");
}

#[test]
fn a_batch_is_rotated_between_its_lines() {
    let (folder, origin) = (Folder::new(), Nginx::start());
    let state = folder.join("state");
    let mut gateway = start(&folder, &origin);
    until("the control socket is open", || folder.join("control.sock").exists().then_some(()));
    std::thread::scope(|scope| {
        for sender in 0..8 {
            let gateway = &gateway;
            scope.spawn(move || {
                let mut client = gateway.client();
                for number in 0..40 {
                    client.send(&get(format!("/private/{sender}/{number}")).by(GPTBOT));
                }
            });
        }
    });
    // What is written once the control socket is given up is not this gateway's to rotate.
    until("all is written", || (told(&state).len() == 320).then_some(()));
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0));
    assert_eq!(told(&state).len(), 320);
    for name in files(&state).keys() {
        let size = fs::metadata(state.join(name)).expect("a file").len();
        assert!(size <= LIMIT as u64, "{name} has {size} bytes");
    }
}

#[test]
fn a_journal_that_logrotate_renames_is_begun_anew() {
    let (folder, origin) = (Folder::new(), Nginx::start());
    let gateway = start(&folder, &origin);
    let journal = folder.join("state").join("journal.jsonl");
    let ask = |target: &str| {
        gateway.send(&get(target).by(GPTBOT));
        let written = || fs::read_to_string(&journal).is_ok_and(|text| text.contains(target)).then_some(());
        until(&format!("{target} is written"), written);
    };
    ask("/private/one");
    fs::rename(&journal, folder.join("state").join("renamed")).expect("a journal");
    ask("/private/two");
    let text = fs::read_to_string(&journal).expect("a journal");
    assert!(!text.contains("/private/one") && text.lines().count() == 1, "{text}");
}

#[test]
fn a_journal_that_is_a_pipe_is_refused_and_holds_nothing_up() {
    let origin = Nginx::start();
    let builder = Daemon::with("User-agent: *\nDisallow: /private\n").in_front_of(&origin);
    let pipe = builder.folder().join("journal.pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()), "mkfifo");
    let gateway = builder.arg("--journal").arg(pipe.to_str().expect("UTF-8")).start();
    gateway.log.line_with(&["cannot write the journal", "it is a named pipe"]);
    gateway.send(&get("/private/lost").by(GPTBOT));
    until("its line is counted as lost", || {
        let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        (status["details_dropped"] == 1).then_some(())
    });
}

/// The inodes of the folders that a gateway watches.
fn watched(gateway: &Daemon) -> Vec<u64> {
    let descriptors =
        fs::read_dir(format!("/proc/{}/fdinfo", gateway.process_id())).expect("its descriptors");
    let texts = descriptors.flatten().filter_map(|file| fs::read_to_string(file.path()).ok());
    let lines: Vec<String> =
        texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let watches = lines.iter().filter(|line| line.starts_with("inotify "));
    let inodes = watches.filter_map(|line| line.split_once("ino:")?.1.split(' ').next());
    inodes.map(|inode| u64::from_str_radix(inode, 16).expect("a number")).collect()
}

/// Each line of the journal, and each page of the store, would wake the thread that watches files.
#[test]
fn the_folder_of_the_journal_is_not_watched() {
    let origin = Nginx::start();
    let gateway = Daemon::with("User-agent: *\nDisallow: /private\n").in_front_of(&origin).start();
    let inode = |name: &str| fs::metadata(gateway.folder().join(name)).expect("a folder").ino();
    // The lists of addresses lie in a folder below it, and their folder is watched.
    let found = until("folders are watched", || {
        Some(watched(&gateway)).filter(|found| found.contains(&inode("state/ranges")))
    });
    assert!(found.contains(&inode(".")) && !found.contains(&inode("state")), "{found:?}");
}
