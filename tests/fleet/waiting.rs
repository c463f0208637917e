//! No request waits for the database of the fleet: it takes as long with the database as without.

use crate::scene::{PATIENCE, Scene, stands, status};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::wait::within;
use crate::support::{Client, Daemon, get};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// How long is measured at once, and how often each case: the cases take turns, so that what else the machine does meets all.
const SPAN: Duration = Duration::from_secs(2);
const ROUNDS: u32 = 3;

/// What is the same within noise on a machine that tests share: so much more at most.
const MOST: u32 = 4;

/// How the database is.
#[derive(Clone, Copy, Debug)]
enum DatabaseState {
    Running,
    Frozen,
    Gone,
}

/// How long requests took, over two connections that stay open.
fn measure(member: &Daemon) -> Vec<Duration> {
    let ask = || {
        let mut client = Client::to(member.address());
        let (begun, mut took) = (Instant::now(), Vec::new());
        for number in 0_u64.. {
            // A page for a person, one for a crawler, one that breaks a rule, and the file itself.
            let (target, agent) = match number % 4 {
                0 => ("/", CHROME),
                1 => ("/page", GPTBOT),
                2 => ("/private/page", GPTBOT),
                _ => ("/robots.txt", GPTBOT),
            };
            let asked = Instant::now();
            client.send(&get(target).by(agent));
            took.push(asked.elapsed());
            if begun.elapsed() > SPAN {
                break;
            }
        }
        took
    };
    std::thread::scope(|scope| {
        let clients = [scope.spawn(ask), scope.spawn(ask)];
        clients.into_iter().flat_map(|client| client.join().expect("it ends")).collect()
    })
}

fn bring_about(scene: &mut Scene, state: DatabaseState) {
    match state {
        DatabaseState::Running => {}
        DatabaseState::Frozen => scene.engine.freeze(),
        DatabaseState::Gone => scene.engine.kill(),
    }
}

fn mend(scene: &mut Scene, state: DatabaseState) {
    match state {
        DatabaseState::Running => {}
        DatabaseState::Frozen => scene.engine.thaw(),
        DatabaseState::Gone => scene.engine.resume(),
    }
}

#[test]
fn requests_take_as_long_with_a_database_that_is_frozen_or_gone() {
    let mut scene = Scene::new();
    let member = scene.member("a", ROBOTS, "0s", "settle = \"0s\"");
    stands(&member, "member");
    measure(&member);
    let cases = [DatabaseState::Running, DatabaseState::Frozen, DatabaseState::Gone];
    let mut took: [Vec<Duration>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (case, took) in cases.into_iter().zip(&mut took) {
            bring_about(&mut scene, case);
            // It is in the midst of asking.
            std::thread::sleep(Duration::from_millis(1_500));
            took.extend(measure(&member));
            mend(&mut scene, case);
            let answers = within(PATIENCE, || status(&member)["error"].is_null().then_some(()));
            assert!(answers.is_some(), "{}", status(&member));
        }
    }
    let mut rows = Vec::new();
    for (case, took) in cases.into_iter().zip(&mut took) {
        took.sort();
        let of = |thousandths: usize| took[(took.len() - 1) * thousandths / 1_000];
        let rate =
            f64::from(u32::try_from(took.len()).expect("fewer")) / SPAN.as_secs_f64() / f64::from(ROUNDS);
        eprintln!(
            "database {case:?}: {rate:.0} requests/s, p50 {:?}, p99 {:?}, p999 {:?}",
            of(500),
            of(990),
            of(999)
        );
        rows.push((rate, of(990)));
    }
    let [running, others @ ..] = &rows[..] else { panic!("{rows:?}") };
    for other in others {
        assert!(
            other.1 < running.1 * MOST + Duration::from_millis(20),
            "p99 {:?} and {:?}",
            other.1,
            running.1
        );
        assert!(other.0 * f64::from(MOST) > running.0, "{} and {} requests/s", other.0, running.0);
    }
}

/// What is not shown before another member's read has come.
const UNKNOWN: &str = "robots_gateway_fleet_reads_lag_seconds";

#[test]
fn metrics_are_those_of_the_reference() {
    let scene = Scene::new();
    let a = scene.published("a", ROBOTS, "0s", "settle = \"0s\"");
    stands(&a, "member");
    let reference = include_str!("../../docs/metrics.md");
    let listed: Vec<&str> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with("robots_gateway_fleet_") && *name != UNKNOWN)
        .collect();
    let socket = a.folder().join("control.sock");
    let output = std::process::Command::new("curl")
        .args(["-s", "--unix-socket", socket.to_str().expect("UTF-8"), "http://localhost/metrics"])
        .output()
        .expect("curl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let shown: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .filter(|name| name.starts_with("robots_gateway_fleet_") && *name != UNKNOWN)
        .collect();
    assert_eq!(shown, listed, "{text}");
}
