//! Bad input at the start: one message with its place, the right exit code, and nothing left running.

use crate::reload_bad::no_robots;
use crate::support::origin::free_port;
use crate::support::{Builder, Daemon, Ended, configured};
use std::net::TcpListener;
use std::time::Duration;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn plain() -> Builder {
    Daemon::with(ROBOTS).at("http://127.0.0.1:9")
}

/// Runs it with a port of its own and checks what holds for every failed start.
#[track_caller]
fn fails(gateway: Builder, code: i32, message: &[&str]) -> Ended {
    let port = free_port();
    let gateway = gateway.arg("--listen").arg(&format!("127.0.0.1:{port}"));
    let ended = gateway.fails_to_start().exits(code);
    assert!(ended.took < Duration::from_secs(20), "{ended:?}");
    for part in message {
        assert_eq!(ended.stderr.matches(part).count(), 1, "`{part}` once in:\n{}", ended.stderr);
    }
    assert!(ended.stderr.lines().count() <= 4, "one message:\n{}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    TcpListener::bind(("127.0.0.1", port)).expect("the port is left free");
    assert!(!gateway.folder().join("control.sock").exists(), "the control socket is left behind");
    ended
}

/// The configuration file's path, with line and column, as a message names it.
fn place(gateway: &Builder, line: u32, column: u32) -> String {
    format!("{}:{line}:{column}: ", gateway.folder().join("gateway.toml").display())
}

#[track_caller]
fn fails_at(config: &str, line: u32, column: u32, message: &str) {
    let gateway = configured(config).file("robots.txt", ROBOTS);
    let place = place(&gateway, line, column);
    fails(gateway, 2, &[&place, message]);
}

const SITE: &str = "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n";

#[test]
fn an_unknown_key() {
    fails_at(
        &format!("mode = \"audit\"\nlisten_on = []\n{SITE}"),
        2,
        1,
        "unknown key `listen_on`; did you mean `listen`?",
    );
    fails_at(&format!("{SITE}hots = [\"a\"]\n"), 4, 1, "unknown key `hots`; did you mean `hosts`?");
    fails_at(
        &format!("[clients]\ncurl = \"audit\"\n{SITE}"),
        2,
        1,
        "unknown key `curl`; the keys here are `crawler`",
    );
}

#[test]
fn certificates_of_the_system_that_are_not_there() {
    let gateway = plain().variable("SSL_CERT_FILE", "/nowhere/ca.pem").variable("SSL_CERT_DIR", "/nowhere");
    fails(gateway, 2, &["cannot read the certificates that the system trusts", "look at SSL_CERT_FILE"]);
}

#[test]
fn a_wrong_type() {
    fails_at(&format!("threads = \"two\"\n{SITE}"), 1, 11, "expected a whole number");
    fails_at(&format!("listen = \"127.0.0.1:80\"\n{SITE}"), 1, 10, "expected a list");
}

#[test]
fn a_wrong_value() {
    fails_at(&format!("mode = \"strict\"\n{SITE}"), 1, 8, "`strict`");
    fails_at(&format!("notice = \"24\"\n{SITE}"), 1, 10, "`24`");
    fails_at(&format!("{SITE}refusal = {{ status = 200 }}\n"), 4, 22, "`200`");
    fails_at("[[sites]]\norigin = \"example.org\"\n", 2, 10, "`example.org`");
}

#[test]
fn an_admin_listener_open_to_all_without_a_token() {
    fails_at(&format!("admin = \"0.0.0.0:9309\"\n{SITE}"), 1, 9, "can be reached from elsewhere");
    let ended = plain().arg("--admin").arg("0.0.0.0:9309").fails_to_start().exits(2);
    assert!(ended.stderr.contains("admin_token"), "{}", ended.stderr);
}

#[test]
fn no_toml() {
    fails_at("mode = \"audit\n", 1, 14, "error: ");
    fails_at("[[sites]\norigin = \"http://127.0.0.1:9\"\n", 1, 9, "error: ");
}

#[test]
fn two_sites_with_one_host() {
    let site = |host: &str| format!("[[sites]]\nhosts = [\"{host}\"]\norigin = \"http://127.0.0.1:9\"\n");
    fails_at(&[site("example.org"), site("Example.ORG.")].concat(), 5, 10, "already");
    fails_at(&format!("{SITE}{SITE}"), 4, 1, "default");
}

#[test]
fn a_missing_configuration() {
    let gateway = plain().arg("--config").arg("/nowhere/at-all/gateway.toml");
    fails(gateway, 2, &["/nowhere/at-all/gateway.toml"]);
}

#[test]
fn a_missing_robots_txt() {
    let gateway = configured("[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"absent.txt\"\n");
    let path = gateway.folder().join("absent.txt").display().to_string();
    fails(gateway, 2, &[&path]);
    let gateway =
        Daemon::without_robots().at("http://127.0.0.1:9").arg("--robots").arg("/nowhere/robots.txt");
    fails(gateway, 2, &["/nowhere/robots.txt"]);
}

#[test]
fn a_robots_txt_that_is_none() {
    for (word, bytes) in no_robots() {
        let gateway = Daemon::with(&bytes).at("http://127.0.0.1:9");
        let path = gateway.folder().join("robots.txt").display().to_string();
        let ended = fails(gateway, 2, &[&path]);
        if word == "empty" {
            assert!(ended.stderr.contains("Allow: /"), "how to mean it: {}", ended.stderr);
        }
    }
}

#[test]
fn a_robots_txt_that_is_a_folder() {
    let gateway = Daemon::without_robots().at("http://127.0.0.1:9");
    let folder = gateway.folder().to_str().expect("UTF-8").to_owned();
    fails(gateway.arg("--robots").arg(&folder), 2, &[]);
}

#[test]
fn no_site_at_all() {
    let ended = fails(Daemon::without_robots(), 2, &["no site"]);
    assert!(ended.stderr.contains("--origin"), "what to do: {}", ended.stderr);
    let gateway = configured("mode = \"audit\"\n");
    let path = gateway.folder().join("gateway.toml").display().to_string();
    fails(gateway, 2, &[&path, "no site"]);
}

#[test]
fn bad_options() {
    for (option, value) in [
        ("--mode", "strict"),
        ("--notice", "soon"),
        ("--trusted-proxy", "10.0.0.0/33"),
        ("--threads", "0"),
        ("--threads", "many"),
        ("--unknown", "1"),
    ] {
        let ended = plain().arg(option).arg(value).fails_to_start().exits(2);
        assert!(ended.stderr.contains(value) || ended.stderr.contains(option), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
    plain().arg("--listen").arg("somewhere").fails_to_start().exits(2);
    let ended = Daemon::with(ROBOTS).fails_to_start().exits(2);
    assert!(
        ended.stderr.contains("--robots without an origin") || ended.stderr.contains("--origin"),
        "{}",
        ended.stderr
    );
    Daemon::with(ROBOTS).at("ftp://example.org").fails_to_start().exits(2);
}

#[test]
fn a_taken_port_is_exit_1() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = holder.local_addr().expect("bound").to_string();
    let gateway = plain().arg("--listen").arg(&address);
    let ended = gateway.fails_to_start().exits(1);
    assert!(ended.stderr.contains(&address), "{}", ended.stderr);
    assert!(ended.took < Duration::from_secs(10), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_taken_second_port_leaves_the_first_one_closed() {
    let holder = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = holder.local_addr().expect("bound").to_string();
    let first = free_port();
    let gateway = plain().arg("--listen").arg(&format!("127.0.0.1:{first}")).arg("--listen").arg(&address);
    gateway.fails_to_start().exits(1);
    TcpListener::bind(("127.0.0.1", first)).expect("the first port is left free");
}

#[test]
fn several_faults_are_told_at_once() {
    let config = "[[sites]]\nhosts = [\"a b\"]\norigin = \"nowhere\"\n";
    let gateway = configured(config);
    let (host, origin) = (place(&gateway, 2, 10), place(&gateway, 3, 10));
    let ended = gateway.fails_to_start().exits(2);
    assert!(ended.stderr.contains(&host) && ended.stderr.contains(&origin), "{}", ended.stderr);
}

#[test]
fn without_a_home_no_folder_that_all_users_share_is_used() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};
    use std::os::unix::process::CommandExt as _;
    let shared = tempfile::tempdir().expect("a folder");
    let foreign = shared.path().join("foreign");
    for folder in [shared.path(), &foreign] {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).expect("its owner");
    }
    symlink(&foreign, shared.path().join("robots-gateway")).expect("a link");
    let mut command = crate::support::command::daemon();
    command.env_clear().env("TMPDIR", shared.path());
    command.args(["--origin", "http://127.0.0.1:9", "--listen", "127.0.0.1:0", "--admin", "off"]);
    if std::fs::metadata("/proc/self").expect("Linux").uid() == 0 {
        // Root has a place of its own.
        command.uid(65_534);
    }
    let ended = crate::support::command::run(command).exits(2);
    assert!(ended.stderr.contains("neither HOME nor XDG_STATE_HOME is set"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--state-dir"), "{}", ended.stderr);
    assert_eq!(std::fs::read_dir(&foreign).expect("a folder").count(), 0);
}
