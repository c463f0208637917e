//! How soon members serve what is published.

use crate::engine::Engine;
use crate::member::{SimulatedMember, join_all, robots};
use crate::number;
use crate::scene::SimulatedScene;
use std::time::{Duration, Instant};

/// How often members are looked at.
const STEP: Duration = Duration::from_millis(10);

/// How often something is published.
const ROUNDS: i64 = 3;

/// When each member has applied a generation, in seconds.
fn watch(scene: &SimulatedScene, members: &[SimulatedMember], generation: i64) -> Vec<f64> {
    let begun = Instant::now();
    let mut took = Vec::new();
    let mut waiting: Vec<&SimulatedMember> = members.iter().collect();
    let mut is_told = false;
    while !waiting.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} members are late", waiting.len());
        let before = waiting.len();
        waiting.retain(|member| member.reloader.applied_generation() < generation);
        took.resize(took.len() + before - waiting.len(), begun.elapsed().as_secs_f64());
        if !is_told && begun.elapsed() > Duration::from_millis(700) {
            is_told = true;
            let (late, why) = scene.late();
            println!(
                "  after {:.2} s `fleet` shows {late} late: {}",
                begun.elapsed().as_secs_f64(),
                why.unwrap_or_default()
            );
        }
        std::thread::sleep(STEP);
    }
    took
}

pub(crate) fn measure() {
    let count = number("ROBOTS_GATEWAY_CONVERGING", 100);
    let scene = SimulatedScene::in_memory(Engine::start());
    let (members, joined) = join_all(&scene, count);
    println!("{count} members have joined after {:.1} s", joined.as_secs_f64());
    let commits = || scene.number("SELECT coalesce(sum(xact_commit), 0) FROM pg_stat_database");
    std::thread::sleep(Duration::from_secs(2));
    let (first, written, busy, idle) = (commits(), scene.wal(), scene.engine.busy(), Instant::now());
    std::thread::sleep(Duration::from_secs(10));
    let seconds = idle.elapsed().as_secs_f64();
    println!(
        "at rest: {:.0} transactions/s, {:.1} KiB of WAL/s, {:.0} ms of processor time of the server a second",
        (commits() - first) / seconds,
        (scene.wal() - written) / 1024.0 / seconds,
        (scene.engine.busy() - busy) / seconds,
    );
    for generation in 1..=ROUNDS {
        let (begun, before) = (Instant::now(), commits());
        scene.publish(&robots(&format!("generation-{generation}")));
        let published = begun.elapsed().as_secs_f64();
        let took = watch(&scene, &members, generation);
        println!(
            "published in {published:.2} s: served by half after {:.2} s, by 99 of 100 after {:.2} s, by all after {:.2} s, with {:.0} transactions",
            took[took.len() / 2],
            took[(took.len() - 1) * 99 / 100],
            took[took.len() - 1],
            commits() - before,
        );
        std::thread::sleep(Duration::from_secs(2));
    }
    let (late, why) = scene.late();
    assert_eq!((late, why), (0, None), "nobody is late any more");
    members.iter().for_each(SimulatedMember::close);
}
