//! The ways in which a robots.txt, a catalogue or a configuration is saved; each comes into force.

use crate::support::agents::{CHROME, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::wait::within;
use crate::support::{Builder, Daemon, Nginx, configured, get, until, version_of};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) fn disallowing(path: &str) -> String {
    format!("User-agent: *\nDisallow: {path}\n")
}

/// Enforces, and judges by a new file at once.
pub(crate) fn without_notice(origin: &Nginx) -> Builder {
    Daemon::with(disallowing("/old")).in_mode("enforce").with_notice("0s").in_front_of(origin)
}

fn status(gateway: &Daemon, path: &str) -> u16 {
    gateway.send(&get(path).by(GPTBOT)).status
}

/// How soon a change is judged by, on a busy machine and in a debug build. It is far below the pause
/// between two looks that a gateway might take without being told of a change.
const SOON: Duration = Duration::from_millis(2_500);

/// Waits until `robots`, which disallows `path` and nothing else, is judged by and served.
#[track_caller]
pub(crate) fn assert_comes_into_force(gateway: &Daemon, robots: &str, path: &str) {
    let in_force = within(SOON, || (status(gateway, path) == 403).then_some(()));
    assert!(in_force.is_some(), "`{path}` is not disallowed after {SOON:?}");
    assert_in_force(gateway, robots, path);
}

/// Fails the test unless `robots`, which disallows `path` and nothing else, is in force.
#[track_caller]
fn assert_in_force(gateway: &Daemon, robots: &str, path: &str) {
    assert_eq!(status(gateway, path), 403);
    let other = if path == "/old" { "/new" } else { "/old" };
    assert_eq!(status(gateway, other), 200, "the former rules are gone in the same moment");
    assert_eq!(gateway.send(&get("/robots.txt")).text(), robots);
    let refused = gateway.send(&get(path).by(GPTBOT));
    assert!(refused.text().contains(&version_of(robots)), "{}", refused.text());
    gateway.send(&get(path).by(CHROME)).came_from_origin();
}

#[test]
fn a_file_renamed_into_place() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    for path in ["/new", "/old", "/new"] {
        rename_over(&gateway.robots(), disallowing(path));
        assert_comes_into_force(&gateway, &disallowing(path), path);
    }
}

#[test]
fn a_file_moved_away_and_written_anew() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    // As vim does with `backupcopy=no`.
    fs::rename(gateway.robots(), gateway.folder().join("robots.txt~")).expect("renamed");
    fs::write(gateway.robots(), disallowing("/new")).expect("written");
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
}

/// Lays out a folder as Kubernetes does for a `ConfigMap`.
fn config_map(folder: &Path, number: u32, robots: &str) {
    let data = format!("..2026_{number}");
    fs::create_dir(folder.join(&data)).expect("created");
    fs::write(folder.join(&data).join("robots.txt"), robots).expect("written");
    symlink(&data, folder.join("..data_tmp")).expect("linked");
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).expect("renamed");
}

#[test]
fn a_symlink_swapped_as_in_a_config_map() {
    let origin = Nginx::start();
    let gateway = Daemon::without_robots().in_mode("enforce").with_notice("0s").in_front_of(&origin);
    let mounted = gateway.folder().join("mounted");
    fs::create_dir(&mounted).expect("created");
    config_map(&mounted, 1, &disallowing("/old"));
    symlink("..data/robots.txt", mounted.join("robots.txt")).expect("linked");
    let gateway = gateway.arg("--robots").arg(mounted.join("robots.txt").to_str().expect("UTF-8")).start();
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    for (number, path) in [(2, "/new"), (3, "/old"), (4, "/new")] {
        config_map(&mounted, number, &disallowing(path));
        fs::remove_dir_all(mounted.join(format!("..2026_{}", number - 1))).expect("removed");
        assert_comes_into_force(&gateway, &disallowing(path), path);
    }
}

#[test]
fn a_symlink_to_a_file_elsewhere() {
    let origin = Nginx::start();
    let gateway = Daemon::without_robots().in_mode("enforce").with_notice("0s").in_front_of(&origin);
    let folder = gateway.folder().to_owned();
    for name in ["releases", "site"] {
        fs::create_dir(folder.join(name)).expect("created");
    }
    fs::write(folder.join("releases/1.txt"), disallowing("/old")).expect("written");
    fs::write(folder.join("releases/2.txt"), disallowing("/new")).expect("written");
    let link = folder.join("site/robots.txt");
    symlink("../releases/1.txt", &link).expect("linked");
    let gateway = gateway.arg("--robots").arg(link.to_str().expect("UTF-8")).start();
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    // `ln -sfn` of the link itself.
    symlink("../releases/2.txt", folder.join("site/next")).expect("linked");
    fs::rename(folder.join("site/next"), &link).expect("renamed");
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
    // A change of the file behind the link, in a folder of its own.
    rename_over(&folder.join("releases/2.txt"), disallowing("/old"));
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
}

#[test]
fn a_file_saved_in_place_is_read_when_its_writer_closes_it() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let robots = format!("{}{}", disallowing("/new"), "# padding\n".repeat(40));
    let mut client = gateway.client();
    let mut file = File::create(gateway.robots()).expect("opened");
    let mut last = Instant::now();
    let mut observed = 0;
    for piece in robots.as_bytes().chunks(23) {
        let begun = Instant::now();
        file.write_all(piece).expect("written");
        let quiet = last.elapsed() < Duration::from_millis(80);
        last = begun;
        let responses = ["/old", "/ne"].map(|path| client.send(&get(path).by(GPTBOT)).status);
        // After 100 ms unchanged the gateway may take the file for finished; a slow machine can cause that.
        if !quiet || last.elapsed() >= Duration::from_millis(80) {
            break;
        }
        assert_eq!(responses, [403, 200], "judged by half a file");
        observed += 1;
    }
    println!("an in-place save was observed {observed} times while it went on");
    fs::write(gateway.robots(), &robots).expect("written");
    drop(file);
    // On a slow machine a part of the file may be in force by now, and that part names `/new` as well.
    until("the whole file is served", || (gateway.send(&get("/robots.txt")).text() == robots).then_some(()));
    assert_in_force(&gateway, &robots, "/new");
}

#[test]
fn a_file_whose_writer_never_closes_it_is_read_too() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let mut file = OpenOptions::new().write(true).truncate(true).open(gateway.robots()).expect("opened");
    file.write_all(disallowing("/new").as_bytes()).expect("written");
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
    drop(file);
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
}

#[test]
fn a_file_deleted_and_returned() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    fs::remove_file(gateway.robots()).expect("removed");
    gateway.log.line_with(&["robots.txt", "User-agent: *"]);
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    fs::write(gateway.robots(), disallowing("/new")).expect("written");
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
}

#[test]
fn a_folder_deleted_and_returned() {
    let origin = Nginx::start();
    let gateway = Daemon::without_robots().in_mode("enforce").with_notice("0s").in_front_of(&origin);
    let mounted = gateway.folder().join("mounted");
    fs::create_dir(&mounted).expect("created");
    fs::write(mounted.join("robots.txt"), disallowing("/old")).expect("written");
    let gateway = gateway.arg("--robots").arg(mounted.join("robots.txt").to_str().expect("UTF-8")).start();
    fs::remove_dir_all(&mounted).expect("removed");
    gateway.log.line_with(&["robots.txt", "User-agent: *"]);
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    let new = gateway.folder().join("mounted-new");
    fs::create_dir(&new).expect("created");
    fs::write(new.join("robots.txt"), disallowing("/new")).expect("written");
    fs::rename(&new, &mounted).expect("renamed");
    // The folder that was watched is gone with its watch, so this may take longer than other changes.
    until("the new folder is found", || (status(&gateway, "/new") == 403).then_some(()));
    assert_in_force(&gateway, &disallowing("/new"), "/new");
}

#[test]
fn the_same_bytes_again_are_the_same_version() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let validators = |gateway: &Daemon| {
        let response = gateway.send(&get("/robots.txt"));
        ["ETag", "Last-Modified"].map(|name| response.header(name).map(str::to_owned))
    };
    let before = validators(&gateway);
    rename_over(&gateway.robots(), disallowing("/old"));
    let ended = gateway.ctl(&["reload", "--format", "json"]).exits(0);
    assert_eq!(ended.json()["result"], "unchanged", "{}", ended.stdout);
    assert_eq!(validators(&gateway), before);
}

#[test]
fn a_changed_configuration() {
    let origin = Nginx::start();
    let gateway = Daemon::with(disallowing("/old")).in_front_of(&origin).set("mode = \"audit\"").start();
    assert_eq!(status(&gateway, "/old"), 200);
    let path = gateway.folder().join("gateway.toml");
    let config = fs::read_to_string(&path).expect("read");
    rename_over(&path, config.replace("audit", "enforce"));
    until("the gateway enforces", || (status(&gateway, "/old") == 403).then_some(()));
    // Another robots.txt, which is watched from then on.
    let other = gateway.folder().write("other.txt", disallowing("/old"));
    rename_over(
        &path,
        format!("notice = \"0s\"\n{}", config.replace("audit", "enforce").replace("robots.txt", "other.txt")),
    );
    gateway.ctl(&["reload"]).exits(0);
    rename_over(&other, disallowing("/new"));
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
}

#[test]
fn a_changed_catalogue() {
    let origin = Nginx::start();
    let agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Zorptronic/2.0";
    let entry = |name: &str| {
        format!(
            "[[crawler]]\nname = \"{name}\"\nclient = \"crawler\"\npurpose = \"search\"\nsigns = [\"{name}\"]\ntokens = [\"{name}\"]\n"
        )
    };
    let gateway = without_notice(&origin)
        .set("catalogue = \"mine.toml\"")
        .file("mine.toml", entry("Otherwise"))
        // A name that somebody wrote: who visits is remembered with what it does to him.
        .file("robots.txt", format!("User-agent: Nobody\nDisallow: /\n\n{}", disallowing("/old")))
        .start();
    gateway.send(&get("/old").by(agent)).came_from_origin();
    rename_over(&gateway.folder().join("mine.toml"), entry("Zorptronic"));
    until("the new crawler is known", || (gateway.send(&get("/old").by(agent)).status == 403).then_some(()));
    assert_eq!(
        gateway.journal().event_where("the new crawler", |event| event["crawler"] == "Zorptronic")["token"],
        "*"
    );
    let renamed = entry("Zorptronic").replacen("Zorptronic", "Renamed", 1);
    rename_over(&gateway.folder().join("mine.toml"), renamed);
    let told = || gateway.send(&get("/old").by(agent)).text().contains("crawler: Renamed").then_some(());
    until("its other name is known", told);
}

#[test]
fn a_site_added_to_the_configuration() {
    let origin = Nginx::start();
    let site = |name: &str| {
        format!("[[sites]]\nhosts = [\"{name}\"]\norigin = \"{}\"\nrobots = \"robots.txt\"\n", origin.url())
    };
    let config = format!("mode = \"enforce\"\n{}", site("one.example"));
    let gateway = configured(&config).file("robots.txt", disallowing("/old")).start();
    let ask = |host: &str| gateway.send(&get("/old").for_host(host).by(GPTBOT)).status;
    assert_eq!((ask("one.example"), ask("two.example")), (403, 421));
    rename_over(&gateway.folder().join("gateway.toml"), config.clone() + &site("two.example"));
    until("the new site is there", || (ask("two.example") == 403).then_some(()));
    rename_over(&gateway.folder().join("gateway.toml"), config);
    until("the new site is gone", || (ask("two.example") == 421).then_some(()));
    assert_eq!(ask("one.example"), 403);
}
