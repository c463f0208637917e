//! How many batches the database takes, and what they cost it.

use crate::engine::Engine;
use crate::number;
use crate::scene::SimulatedScene;
use robots_gateway::decide::Notice;
use robots_gateway::enforce::Action;
use robots_gateway::identify::{ClientKind, Proof, Purpose};
use robots_gateway::record::{CountSubject, CountedDecision, EventKind, PathCounts, Tables};
use std::time::{Duration, Instant};
use tokio_postgres::NoTls;

/// Rows of a batch: as many as a busy gateway counts in ten seconds.
const SUBJECTS: u32 = 40;
const DECISIONS: u32 = 20;
const ROLLUPS: u32 = SUBJECTS * DECISIONS;
const PATHS: u32 = 195;

/// How long writers write.
const WRITING: Duration = Duration::from_secs(20);

/// A batch of 1,035 rows, as a store exports it, and its number.
fn batch(store: u32, sequence: i64) -> String {
    let mut rows = Tables::default();
    let id = |kind: u32, number: u32| -> Box<str> {
        format!("{:032x}", u64::from(kind) << 32 | u64::from(number)).into()
    };
    for subject in 0..SUBJECTS {
        let name = format!("Sizebot{subject}");
        let (site, crawler, client) = ("example.org".into(), Some(name.into()), ClientKind::Crawler);
        let (purpose, proof) = (Some(Purpose::AiTrain), Proof::Unchecked);
        rows.subjects.insert(id(1, subject), CountSubject { site, crawler, client, purpose, proof });
        rows.presence.push(((0, id(1, subject)), (sequence * 10_000_000, sequence * 10_000_000 + 9)));
    }
    for decision in 0..DECISIONS {
        let of = CountedDecision {
            kind: EventKind::Violation,
            action: Action::Refuse,
            notice: Some(Notice::Read),
            version: "0123456789ab".parse().ok(),
            group: vec!["*".into()],
            line: Some(decision + 1),
            rule: Some("Disallow: /x".into()),
            proof_by: None,
        };
        rows.decisions.insert(id(2, decision), of);
    }
    for row in 0..ROLLUPS {
        // Each minute has six batches: the first has its rows made, the others count them up.
        let key = (60, sequence / 6 * 60, id(1, row % SUBJECTS), id(2, row / SUBJECTS));
        rows.rollups.push((key, 1));
    }
    for path in 0..PATHS {
        let target = format!(
            "/folder/{}",
            (u64::from(path) + sequence.unsigned_abs() * 31 + u64::from(store)) % 5_000
        );
        let counts = PathCounts { allowed: 1, violations: 1, refused: 1, ..PathCounts::default() };
        rows.paths.push(((0, id(1, path % SUBJECTS), target.into()), counts));
    }
    serde_json::to_string(&rows.summed()).expect("JSON")
}

/// One member's writer: as many batches as it can send.
async fn write(url: String, store: u32, until: Instant) -> Vec<Duration> {
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
    let speaks = tokio::spawn(connection);
    let name = format!("{store:016x}");
    let mut took = Vec::new();
    for sequence in 1.. {
        let rows = batch(store, sequence);
        let begun = Instant::now();
        if begun > until {
            break;
        }
        let sql = "SELECT robots_gateway.take($1, $2, $3, $4, $5::text::jsonb)";
        let piece = sequence.to_string();
        let mark = client.query_one(sql, &[&name, &sequence, &sequence, &piece, &rows]).await.expect("taken");
        assert_eq!(mark.get::<_, i64>(0), sequence);
        took.push(begun.elapsed());
    }
    speaks.abort();
    took
}

pub(crate) fn measure() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for members in [16, number("ROBOTS_GATEWAY_MEMBERS", 200)] {
        let scene = SimulatedScene::new(Engine::start());
        scene.engine.sql("ALTER SYSTEM SET fsync = on");
        scene.engine.sql("SELECT pg_reload_conf()");
        scene.engine.sql("SELECT pg_stat_reset_shared('wal')");
        let (busy, begun) = (scene.engine.busy(), Instant::now());
        let mut took = runtime.block_on(writers(&scene.engine.url("gateway"), members, begun + WRITING));
        let seconds = begun.elapsed().as_secs_f64();
        let busy = scene.engine.busy() - busy;
        took.sort();
        let of = |hundredths: usize| took[(took.len() - 1) * hundredths / 100].as_millis();
        let batches = u32::try_from(took.len()).expect("fewer");
        let count = f64::from(batches);
        println!(
            "{members} writers: {:.0} batches/s of 1,035 rows, p50 {} ms, p99 {} ms, {:.1} ms of processor time of the server each",
            count / seconds,
            of(50),
            of(99),
            busy / count,
        );
        // Servers tell of what they did some moments later.
        std::thread::sleep(Duration::from_millis(1_100));
        let wal = scene.number("SELECT wal_bytes FROM pg_stat_wal");
        println!("  WAL a batch: {:.0} KiB", wal / count / 1024.0);
        let sum = scene.engine.sql("SELECT sum(count) FROM robots_gateway.rollup");
        let wanted = u64::from(batches) * u64::from(ROLLUPS);
        assert_eq!(sum.parse(), Ok(wanted), "nothing is lost or counted twice");
    }
}

async fn writers(url: &str, members: u32, until: Instant) -> Vec<Duration> {
    let writers: Vec<_> =
        (1..=members).map(|store| tokio::spawn(write(url.to_owned(), store, until))).collect();
    let mut took = Vec::new();
    for writer in writers {
        took.extend(writer.await.expect("a writer ends"));
    }
    took
}
