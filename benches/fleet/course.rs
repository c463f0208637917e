//! A fleet under its usual traffic while things go wrong: members are cut off, the database is frozen and killed, and a
//! standby takes its place that has lost the last moments. The database's clock is minutes off.

use crate::engine::Engine;
use crate::member::{OF_A_BATCH, SimulatedMember, join_all};
use crate::number;
use crate::relay::{DatabaseRelay, RelayState};
use crate::scene::SimulatedScene;
use crate::support::wait::within;
use std::time::{Duration, Instant};

/// Every so many members reach the database by a way that can be cut.
const APART: u32 = 4;

/// How long it is as usual, and how long a trouble lasts.
const USUAL: Duration = Duration::from_secs(20);
const TROUBLE: Duration = Duration::from_secs(8);

/// How often requests come; a batch is sent every ten seconds.
const STEP: Duration = Duration::from_millis(500);

/// Has requests come to all members for a while.
fn go_on(members: &mut [SimulatedMember], span: Duration) {
    let begun = Instant::now();
    let mut next = begun;
    while begun.elapsed() < span {
        for member in members.iter_mut() {
            member.is_asked(OF_A_BATCH / 20);
        }
        next += STEP;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

fn oldest(members: &[SimulatedMember]) -> f64 {
    members.iter().map(|member| member.fleet.status().outbox_seconds).fold(0.0, f64::max)
}

pub(crate) fn run() {
    let count = number("ROBOTS_GATEWAY_MEMBERS", 200);
    let mut scene = SimulatedScene::new(Engine::start_at("-7m"));
    scene.engine.sql("ALTER SYSTEM SET fsync = on");
    scene.engine.sql("SELECT pg_reload_conf()");
    let relay = DatabaseRelay::to(scene.engine.port());
    let ports = [scene.engine.port(), relay.port()];
    let port = |number: u32| ports[usize::from(number.is_multiple_of(APART))];
    let (mut members, joined) = join_all(&scene, count, port);
    let offset = members[1].fleet.status().clock_offset_seconds;
    println!(
        "{count} members under traffic: joined after {:.1} s; the clock of the database is {offset:.0} s off",
        joined.as_secs_f64()
    );
    go_on(&mut members, Duration::from_secs(11));
    let pieces = "SELECT coalesce(sum(n_tup_upd), 0) FROM pg_stat_user_tables WHERE relname = 'writer'";
    let (sent, written, busy, begun) =
        (scene.number(pieces), scene.wal(), scene.engine.busy(), Instant::now());
    go_on(&mut members, USUAL);
    let seconds = begun.elapsed().as_secs_f64();
    std::thread::sleep(Duration::from_millis(1_100));
    let batches = scene.number(pieces) - sent;
    println!(
        "as usual: {:.1} batches/s, {:.0} KiB of WAL a batch with beats, {:.0} ms of processor time of the server a second; the \
         oldest batch waits for {:.0} s",
        batches / seconds,
        (scene.wal() - written) / 1024.0 / batches,
        (scene.engine.busy() - busy) / seconds,
        oldest(&members)
    );
    relay.set(RelayState::Silent);
    go_on(&mut members, TROUBLE);
    relay.set(RelayState::Cut);
    scene.engine.freeze();
    go_on(&mut members, TROUBLE);
    scene.engine.thaw();
    let mut standby = scene.engine.standby();
    // What comes from now on the standby never hears of.
    go_on(&mut members, TROUBLE);
    let port = scene.engine.port();
    scene.engine.kill();
    standby.promote();
    standby.move_to(port);
    std::mem::swap(&mut scene.engine, &mut standby);
    relay.set(RelayState::Open);
    go_on(&mut members, TROUBLE);
    let healed = Instant::now();
    for member in &members {
        member.recorder.flush();
    }
    let counted: u64 = members.iter().map(|member| member.counted).sum();
    let sum = "SELECT coalesce(sum(count), 0) FROM robots_gateway.rollup";
    let is_whole = || (scene.engine.sql(sum) == counted.to_string()).then_some(());
    let found = within(Duration::from_secs(120), is_whole);
    assert!(found.is_some(), "{counted} were counted, and the fleet has {}", scene.engine.sql(sum));
    println!(
        "a quarter cut off, the database frozen and killed, a standby without the last {} s promoted: {counted} requests, all of them \
         and none twice {:.1} s after that",
        TROUBLE.as_secs(),
        healed.elapsed().as_secs_f64()
    );
    members.iter().for_each(SimulatedMember::close);
}
