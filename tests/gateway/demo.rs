//! `robots-gateway --demo` needs nothing at all, and what it prints is true.

use crate::support::agents::CHROME;
use crate::support::command::daemon;
use crate::support::log::Log;
use crate::support::wait::within;
use crate::support::{Client, get};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// The demonstration, killed on drop.
struct Demo(Child);

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The header, host and path of a printed `curl` line.
fn parse(line: &str) -> Option<(String, SocketAddr, String)> {
    let rest = line.trim().strip_prefix("curl ")?;
    let agent = rest
        .split_once("-A '")
        .and_then(|(_, rest)| rest.split_once('\''))
        .map_or("curl/8.5.0", |(agent, _)| agent);
    let (address, path) = rest.split_once("http://")?.1.split_once('/')?;
    Some((agent.to_owned(), address.parse().ok()?, format!("/{}", path.trim())))
}

#[test]
fn the_printed_commands_show_what_is_said_of_them() {
    let mut command = daemon();
    command.args(["--demo", "--listen", "127.0.0.1:0", "--admin", "off"]);
    let mut demo = Demo(command.spawn().expect("the gateway can be started"));
    let output = Log::of(demo.0.stdout.take().expect("piped"));
    let log = Log::of(demo.0.stderr.take().expect("piped"));
    output.line_with(&["echo '"]);
    let text = output.text();
    let lines: Vec<_> = text.lines().filter_map(parse).collect();
    assert_eq!(lines.len(), 2, "{text}");
    // It fits a terminal, and names three commands. The log says nothing beside it.
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!log.text().contains("INFO"), "{}", log.text());
    assert_eq!(
        text.lines().filter(|line| line.starts_with("  curl ") || line.starts_with("  echo ")).count(),
        3
    );
    let mut statuses = Vec::new();
    for (agent, address, path) in &lines {
        let status = Client::to(*address).send(&get(path).by(agent)).status;
        statuses.push((agent.contains("CCBot"), status));
    }
    assert_eq!(statuses, [(true, 403), (false, 200)], "a refusal and an answer");
    output.line_with(&["\"action\":\"refused\"", "\"crawler\":\"CCBot\"", "\"rule\":\"Disallow: /drafts/\""]);
    let (_, address, _) = &lines[0];
    assert_eq!(Client::to(*address).send(&get("/").by(CHROME)).status, 200);
    // `echo 'RULE' >> FILE` changes what a printed command shows, as soon as the file is saved.
    let (rule, file) = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("echo '")?.split_once("' >> "))
        .expect("a change to try");
    let robots = std::fs::read_to_string(file).expect("the demonstration's robots.txt");
    std::fs::write(file, format!("{robots}{rule}\n")).expect("written");
    let seen = |lines: &[(String, SocketAddr, String)]| -> Vec<u16> {
        lines
            .iter()
            .map(|(agent, address, path)| Client::to(*address).send(&get(path).by(agent)).status)
            .collect()
    };
    let before: Vec<u16> = statuses.iter().map(|(_, status)| *status).collect();
    let changed = within(Duration::from_secs(5), || (seen(&lines) != before).then_some(()));
    assert!(changed.is_some(), "`echo '{rule}'` changes no answer of the printed commands:\n{text}");
}

#[test]
fn its_page_shows_an_hour_of_made_traffic() {
    let mut command = daemon();
    command.args(["--demo", "--listen", "127.0.0.1:0"]);
    let mut demo = Demo(command.spawn().expect("the gateway can be started"));
    let output = Log::of(demo.0.stdout.take().expect("piped"));
    output.line_with(&["echo '"]);
    let text = output.text();
    let page = text.lines().find_map(|line| line.trim().strip_prefix("http://")).expect("the page's address");
    let (address, _) = page.split_once('/').expect("a page of it");
    let address: SocketAddr = address.parse().expect("an address");
    let shows = |name: &str| {
        let asked = get("/?since=1h").for_host(&address.to_string());
        let page = Client::try_to(address).and_then(|mut client| client.try_send(&asked)).ok()?;
        page.text().contains(name).then_some(())
    };
    for crawler in ["GPTBot", "CCBot", "Googlebot", "Bytespider"] {
        assert!(within(Duration::from_secs(10), || shows(crawler)).is_some(), "no {crawler} on the page");
    }
}

#[test]
fn it_ends_without_an_error_and_leaves_nothing_behind() {
    let mut command = daemon();
    command.args(["--demo", "--listen", "127.0.0.1:0", "--admin", "off"]);
    let mut demo = Demo(command.spawn().expect("the gateway can be started"));
    let output = Log::of(demo.0.stdout.take().expect("piped"));
    let log = Log::of(demo.0.stderr.take().expect("piped"));
    output.line_with(&["echo '"]);
    let text = output.text();
    let of_crawler = |(agent, ..): &(String, SocketAddr, String)| agent.contains("CCBot");
    let (agent, address, path) = text.lines().filter_map(parse).find(of_crawler).expect("a command");
    assert_eq!(Client::to(address).send(&get(path).by(agent)).status, 403);
    let file = text.lines().find_map(|line| line.trim().split_once("' >> ")).expect("a change to try").1;
    let folder = Path::new(file).parent().expect("a folder");
    assert!(folder.exists());
    let killed = Command::new("kill").arg(demo.0.id().to_string()).status().expect("kill");
    assert!(killed.success() && demo.0.wait().expect("it ends").success());
    let said = log.to_end();
    assert!(!said.contains("ERROR"), "{said}");
    assert!(!folder.exists());
}
