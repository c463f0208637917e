//! A crawler that is spread over the members has one pace.

use crate::scene::{Scene, stands};
use crate::support::agents::GPTBOT;
use crate::support::{Client, Daemon, get};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// What may come in a minute.
const RATE: usize = 60;

/// How often the crawler comes to each member in a second, and for how many seconds.
const PULSE: Duration = Duration::from_millis(1_500);
const SECONDS: u32 = 45;

/// After so long without the database a member goes on alone.
const CUT_OFF: Duration = Duration::from_secs(6);

fn passes(client: &mut Client) -> bool {
    match client.send(&get("/open").by(GPTBOT)).status {
        200 => true,
        429 => false,
        status => panic!("{status}"),
    }
}

/// It asks for all that it may have at each member within a second, before the members can have told each other.
#[test]
fn a_quick_crawler_at_three_members_does_not_have_its_pace_three_times() {
    let scene = Scene::new();
    let start = |name| scene.slowing(name, ROBOTS, &format!("[crawlers.GPTBot]\nrate = \"{RATE}/m\""));
    let members: Vec<Daemon> = ["a", "b", "c"].map(start).into_iter().collect();
    for member in &members {
        stands(member, "member");
    }
    let mut clients: Vec<Client> = members.iter().map(Daemon::client).collect();
    let (begun, mut passed, mut asked) = (Instant::now(), 0, 0);
    while begun.elapsed() < Duration::from_secs(20) {
        passed += clients.iter_mut().filter_map(|client| passes(client).then_some(())).count();
        asked += clients.len();
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("{passed} of {asked} requests of a quick crawler passed at three members; {RATE} a minute may");
    assert!(asked > 5 * RATE && passed.abs_diff(RATE) <= RATE / 10, "{passed} of {asked}");
}

#[test]
fn a_crawler_at_three_members_is_held_to_its_pace_and_a_partition_changes_nothing() {
    let mut scene = Scene::new();
    let start = |name| scene.slowing(name, ROBOTS, &format!("[crawlers.GPTBot]\nrate = \"{RATE}/m\""));
    let members: Vec<Daemon> = ["a", "b", "c"].map(start).into_iter().collect();
    for member in &members {
        stands(member, "member");
    }
    let mut clients: Vec<Client> = members.iter().map(Daemon::client).collect();
    let (begun, mut passed, mut asked) = (Instant::now(), 0, 0);
    while begun.elapsed() < Duration::from_secs(SECONDS.into()) {
        let next = Instant::now() + PULSE;
        passed += clients.iter_mut().filter_map(|client| passes(client).then_some(())).count();
        asked += clients.len();
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    println!("{passed} of {asked} requests passed at three members; {RATE} a minute may");
    assert!(asked > RATE * 5 / 4 && passed.abs_diff(RATE) <= RATE / 10, "{passed} of {asked}");
    // Each goes on with the part it has. All of this is within one window.
    scene.engine.kill();
    std::thread::sleep(CUT_OFF);
    let more: usize =
        (0..RATE).flat_map(|_| clients.iter_mut().map(passes).collect::<Vec<_>>()).map(usize::from).sum();
    assert!(passed + more <= RATE + RATE / 10, "{passed} and {more} more");
}
