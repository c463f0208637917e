//! A gateway that is busy for a day while its database is away: what it takes of memory and of the disk, and that all arrives
//! when the database is back. The day is made of the times that requests bear; it passes in about a minute.

use crate::engine::Engine;
use crate::member::{OF_A_BATCH, join_all};
use crate::scene::SimulatedScene;
use crate::support::wait::within;
use std::time::{Duration, SystemTime};

const MINUTE: Duration = Duration::from_secs(60);

/// How many minutes are counted before they are written: a gateway writes once a second.
const AT_ONCE: u32 = 2;

/// How much memory may be taken more at the end of the day than in its third hour.
const MORE: f64 = 32.0;

/// What this process takes of memory, in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its size");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib / 1024.0
}

pub(crate) fn run() {
    let mut scene = SimulatedScene::new(Engine::start());
    let port = scene.engine.port();
    let (mut members, _) = join_all(&scene, 1, |_| port);
    let member = &mut members[0];
    scene.engine.kill();
    let first = SystemTime::now() - MINUTE * 1_440;
    let mut early = 0.0;
    let mut told = Vec::new();
    for minute in 0..1_440 {
        member.is_asked_at(OF_A_BATCH, first + MINUTE * minute);
        if minute % AT_ONCE == 0 {
            member.recorder.flush();
        }
        if minute % 180 == 179 {
            told.push(format!("{:.0}", resident()));
        }
        if minute == 180 {
            early = resident();
        }
    }
    member.recorder.flush();
    let disk = std::fs::metadata(scene.state("m0").join("store.sqlite")).map_or(0, |file| file.len());
    println!(
        "a day without the database, {} requests of {} crawlers by {} rules each minute: {} MiB of memory after 3, 6, … 24 hours; the store \
         takes {} MiB",
        OF_A_BATCH,
        OF_A_BATCH / 20,
        20,
        told.join(", "),
        disk / 1_048_576
    );
    assert!(resident() < early + MORE, "memory grew from {early:.0} to {:.0} MiB", resident());
    scene.engine.resume();
    let sum = "SELECT coalesce(sum(count), 0) FROM robots_gateway.rollup";
    let back = std::time::Instant::now();
    let is_whole = || (scene.engine.sql(sum) == member.counted.to_string()).then_some(());
    let found = within(Duration::from_secs(120), is_whole);
    assert!(found.is_some(), "{} were counted, and the fleet has {}", member.counted, scene.engine.sql(sum));
    println!(
        "  all {} are in the database {:.0} s after it is back",
        member.counted,
        back.elapsed().as_secs_f64()
    );
    member.close();
}
