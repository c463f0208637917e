//! What a fleet costs its database, and how soon its members come to serve what is published. Run by `make sizes`; what
//! it prints is in docs/fleet-sizes.md.

use crate::scene::Scene;
use robots_gateway::config::{Arguments, Config};
use robots_gateway::fleet::Fleet;
use robots_gateway::policy::{CurrentPolicy, NoticeHistory, OriginFiles, Reloader, check, offer_first};
use robots_gateway::record::{ExportedRows, FleetLedger, ReadBook, Recorder};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio_postgres::NoTls;

/// Rows of a batch: as many as a busy gateway counts in ten seconds.
const SUBJECTS: u32 = 40;
const ROLLUPS: u32 = 800;
const PATHS: u32 = 195;

/// How long writers write.
const WRITING: Duration = Duration::from_secs(20);

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A batch of 1,035 rows, as a store exports it, and its number.
fn batch(store: u32, sequence: i64) -> String {
    let mut rows = ExportedRows::default();
    let id = |kind: u32, number: u32| -> Box<str> {
        format!("{:032x}", u64::from(kind) << 32 | u64::from(number)).into()
    };
    let words = |text: &str| text.to_owned().into_boxed_str();
    for subject in 0..SUBJECTS {
        let name = format!("Sizebot{subject}");
        let of = [words("example.org"), words("crawler"), name.into(), words("ai-train"), words("unchecked")];
        rows.subjects.insert(id(1, subject), of);
        rows.presence.push(((0, id(1, subject)), (sequence * 10_000_000, sequence * 10_000_000 + 9)));
    }
    for decision in 0..4 {
        let of = ["violation", "refuse", "read", "0123456789ab", "[\"*\"]", "Disallow: /x", ""].map(words);
        rows.decisions.insert(id(2, decision), (of, decision + 1));
    }
    for row in 0..ROLLUPS {
        // Each minute has six batches.
        let start = (sequence / 6 * 60) + i64::from(row / (SUBJECTS * 4)) * 60;
        let key = (60, start, id(1, row % SUBJECTS), id(2, row / SUBJECTS % 4));
        rows.rollups.push((key, 1));
    }
    for path in 0..PATHS {
        let target = format!(
            "/folder/{}",
            (u64::from(path) + sequence.unsigned_abs() * 31 + u64::from(store)) % 5_000
        );
        rows.paths.push(((0, id(1, path % SUBJECTS), target.into()), [1, 1, 0, 0, 0, 1]));
    }
    rows.summed().json().expect("JSON")
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

#[test]
#[ignore = "takes minutes, and measures: `make sizes`"]
fn batches_of_16_and_200_members() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for members in [16, number("ROBOTS_GATEWAY_MEMBERS", 200)] {
        let scene = Scene::new();
        scene.engine.sql("ALTER SYSTEM SET fsync = on");
        scene.engine.sql("SELECT pg_reload_conf()");
        let wal =
            || -> f64 { scene.engine.sql("SELECT pg_current_wal_lsn() - '0/0'").parse().expect("bytes") };
        let url = scene.engine.url("gateway");
        let (before, begun) = (wal(), Instant::now());
        let mut took = runtime.block_on(async {
            let until = begun + WRITING;
            let writers: Vec<_> =
                (1..=members).map(|store| tokio::spawn(write(url.clone(), store, until))).collect();
            let mut took = Vec::new();
            for writer in writers {
                took.extend(writer.await.expect("a writer ends"));
            }
            took
        });
        let (seconds, written) = (begun.elapsed().as_secs_f64(), wal() - before);
        took.sort();
        let of = |hundredths: usize| took[(took.len() - 1) * hundredths / 100].as_millis();
        let batches = u32::try_from(took.len()).expect("fewer");
        let count = f64::from(batches);
        let rows = |table: &str| scene.engine.sql(&format!("SELECT count(*) FROM robots_gateway.{table}"));
        println!(
            "{members} members: {:.0} batches/s of 1,035 rows, p50 {} ms, p99 {} ms, {:.0} KiB of WAL a batch; rows: rollup {}, \
             path {}, presence {}",
            count / seconds,
            of(50),
            of(99),
            written / count / 1024.0,
            rows("rollup"),
            rows("path"),
            rows("presence")
        );
        let sum = scene.engine.sql("SELECT sum(count) FROM robots_gateway.rollup");
        let wanted = u64::from(batches) * u64::from(ROLLUPS);
        assert_eq!(sum.parse(), Ok(wanted), "nothing is lost or counted twice");
    }
}

/// A member as the gateway makes it, without its listeners.
struct SimulatedMember {
    reloader: Arc<Reloader>,
    recorder: Arc<Recorder>,
    fleet: Fleet,
}

impl SimulatedMember {
    fn join(scene: &Scene, number: u32) -> Self {
        let name = format!("m{number}");
        let state = scene.state(&name);
        scene.file("robots.txt", "User-agent: *\nDisallow: /old\n");
        let text = format!(
            "state_dir = \"{0}\"\ncontrol = \"{0}/control.sock\"\nadmin = \"off\"\nnotice = \"1h\"\n\
             [fleet]\ndatabase = \"{1}\"\nname = \"{name}\"\nsettle = \"0s\"\n\
             [[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n",
            state.display(),
            scene.engine.url("gateway")
        );
        let config = Some(scene.file(&format!("{name}.toml"), text).into());
        let arguments = Arguments { config, ..Arguments::default() };
        std::fs::create_dir_all(&state).expect("a state folder");
        let policy =
            check(Config::load(&arguments).expect("a configuration"), SystemTime::now()).expect("a policy");
        let config = Arc::clone(&policy.config);
        let recorder = Arc::new(Recorder::start(&config.store).expect("a recorder"));
        recorder.flush();
        let reads = Arc::new(ReadBook::default());
        let history = Arc::new(NoticeHistory::open(&config));
        let current = Arc::new(CurrentPolicy::new(history.begin(policy)));
        let origins = Arc::new(OriginFiles::open(&config));
        let (kept, told) = (Arc::clone(&reads), Arc::clone(&recorder));
        let reloader = Arc::new(Reloader::new(current, arguments, kept, told, history, origins));
        reloader.keep_history().expect("a thread");
        let ledger: Arc<dyn FleetLedger> = Arc::clone(&reloader) as _;
        let settings = config.fleet.as_ref().expect("[fleet]");
        let fleet =
            Fleet::start(&config, settings, ledger, &reads, &Arc::default(), &recorder).expect("a thread");
        offer_first(&reloader, &reads.fleet);
        Self { reloader, recorder, fleet }
    }
}

/// Notes when each member has applied the first generation.
fn watch(members: &[SimulatedMember], applied: &mut [Option<f64>], begun: Instant) {
    while applied.iter().any(Option::is_none) {
        assert!(begun.elapsed() < Duration::from_secs(120), "{applied:?}");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs_f64();
        for (member, at) in members.iter().zip(applied.iter_mut()) {
            if at.is_none() && member.reloader.generation().applied >= 1 {
                *at = Some(now);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "takes minutes, and measures: `make sizes`"]
fn members_apply_what_is_published() {
    let count = number("ROBOTS_GATEWAY_CONVERGING", 100);
    let scene = Scene::new();
    let members: Vec<_> = (0..count).map(|number| SimulatedMember::join(&scene, number)).collect();
    let begun = Instant::now();
    while !members.iter().all(|member| member.fleet.status().standing == "member") {
        assert!(begun.elapsed() < Duration::from_secs(300), "not all have joined");
        std::thread::sleep(Duration::from_millis(50));
    }
    println!(
        "{count} members: all have joined {:.1} s after the last one started",
        begun.elapsed().as_secs_f64()
    );
    let beats = || -> f64 {
        let sql = "SELECT coalesce(sum(xact_commit), 0) FROM pg_stat_database";
        scene.engine.sql(sql).parse().expect("a number")
    };
    let wal = || -> f64 { scene.engine.sql("SELECT pg_current_wal_lsn() - '0/0'").parse().expect("bytes") };
    let (first, written, idle) = (beats(), wal(), Instant::now());
    std::thread::sleep(Duration::from_secs(10));
    let seconds = idle.elapsed().as_secs_f64();
    println!(
        "at rest: {:.0} transactions/s, {:.1} KiB of WAL/s",
        (beats() - first) / seconds,
        (wal() - written) / 1024.0 / seconds
    );
    let file = scene.file("published.txt", "User-agent: *\nDisallow: /new\n");
    let mut applied: Vec<Option<f64>> = vec![None; members.len()];
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let publishes = scope.spawn(|| scene.publisher(&["fleet", "publish", &file]).exits(0));
        watch(&members, &mut applied, begun);
        publishes.join().expect("published");
    });
    let sql = "SELECT extract(epoch FROM published) FROM robots_gateway.generation WHERE number = 1";
    let published: f64 = scene.engine.sql(sql).parse().expect("a time");
    let mut took: Vec<f64> = applied.into_iter().flatten().map(|at| at - published).collect();
    took.sort_by(f64::total_cmp);
    println!(
        "published: served by half after {:.2} s, by 99 of 100 after {:.2} s, by all after {:.2} s",
        took[took.len() / 2],
        took[(took.len() - 1) * 99 / 100],
        took[took.len() - 1]
    );
    for member in members {
        member.reloader.close_history();
        member.recorder.close();
        member.fleet.close();
    }
}
