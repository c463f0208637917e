//! What the database itself holds members to, whatever program they run.

use crate::scene::{PATIENCE, Scene, fleet_report, requests, stands};
use crate::support::agents::GPTBOT;
use crate::support::command::ctl;
use crate::support::get;
use crate::support::wait::within;
use serde_json::{Value, json};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// A beat of a member; `more` stands instead of what it usually says.
fn beat(scene: &Scene, store: &str, more: &Value) -> Value {
    let mut said = json!({
        "store": store, "name": store, "process": "p", "started": 1, "version": "0", "lease": 10, "joins": true,
        "applied": 0, "generation": 0, "outbox": 0, "outbox_since": 0, "revision": 1, "rows": {},
        "notice": 3600, "waived": [], "serving": [], "robots": {}
    });
    let fields = said.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    let sql = format!("SELECT robots_gateway.beat('{said}')");
    let answer = scene.engine.sql_of("gateway", &sql).expect("an answer");
    serde_json::from_str(&answer).expect("JSON")
}

fn word(file: &str, revision: u64) -> Value {
    json!({ "revision": revision, "rows": { "*": { file: null } } })
}

#[test]
fn a_member_cannot_have_the_database_do_what_it_may_not() {
    let scene = Scene::new();
    // What a function looks up by name alone could be found among what a session made for itself.
    let attack = "CREATE FUNCTION pg_temp.evil() RETURNS oid LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO robots_gateway.generation (number, stamp, published, document, signature)
            VALUES (1, 1, now(), 'Disallow: /', ''); RETURN 1; END $$;
        CREATE TEMP VIEW pg_inherits AS SELECT pg_temp.evil() AS inhrelid,
            'robots_gateway.rollup'::regclass::oid AS inhparent;
        CREATE TEMP VIEW pg_class AS SELECT 1::oid AS oid, 'rollup_x'::name AS relname;
        GRANT SELECT ON pg_inherits, pg_class TO public;
        SELECT robots_gateway.keep_house()";
    let _ = scene.engine.sql_of("gateway", attack);
    assert_eq!(scene.engine.sql("SELECT count(*) FROM robots_gateway.generation"), "0");
    let kept = "SELECT kept_on = current_date FROM robots_gateway.fleet";
    assert_eq!(scene.engine.sql(kept), "t", "what was asked for is done");
    // All of it belongs to a role that nobody can log in as, and that may do nothing else.
    let others = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'robots_gateway'::regnamespace
        AND (proowner <> 'robots_gateway_owner'::regrole OR proconfig[1] NOT LIKE 'search_path=pg_catalog, pg_temp')";
    assert_eq!(scene.engine.sql(others), "0");
    let owner = "SELECT rolcanlogin OR rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = 'robots_gateway_owner'";
    assert_eq!(scene.engine.sql(owner), "f");
    for forbidden in [
        "UPDATE robots_gateway.fleet SET stamp = 0",
        "SELECT robots_gateway.next_stamp()",
        "SELECT robots_gateway.publish(1, '', '')",
        "SET ROLE robots_gateway_owner",
    ] {
        let refused = scene.engine.sql_of("gateway", forbidden).expect_err(forbidden);
        assert!(refused.contains("permission denied"), "{refused}");
    }
}

#[test]
fn no_member_ends_another_one_that_lives() {
    let scene = Scene::new();
    beat(&scene, "a", &json!({}));
    let ends = "SELECT robots_gateway.expire('a', (SELECT beats FROM robots_gateway.member))";
    let is_gone = "SELECT gone IS NOT NULL FROM robots_gateway.member";
    scene.engine.sql_of("gateway", ends).expect("it may ask");
    assert_eq!(scene.engine.sql(is_gone), "f");
    scene.engine.sql("UPDATE robots_gateway.member SET seen = seen - interval '11 seconds'");
    scene.engine.sql_of("gateway", ends).expect("it may ask");
    assert_eq!(scene.engine.sql(is_gone), "t");
}

#[test]
fn a_silent_member_counts_as_serving_until_its_notice_is_over() {
    let scene = Scene::new();
    let another = |file: &str, process: &str| json!({ "revision": 1, "rows": { "*": { file: null } }, "process": process });
    beat(&scene, "a", &word("v1", 1));
    let ends =
        "SELECT robots_gateway.expire('a', (SELECT beats FROM robots_gateway.member WHERE store = 'a'))";
    scene.engine.sql("UPDATE robots_gateway.member SET seen = seen - interval '11 seconds'");
    scene.engine.sql_of("gateway", ends).expect("it may ask");
    // Nobody waits for it, and it may be cut off and serve what it served.
    let answer = beat(&scene, "b", &another("v2", "q"));
    let waits = answer["silent"][0][2].as_f64();
    assert_eq!((&answer["floor"], waits), (&Value::Null, Some(3_600.0)), "{answer}");
    assert_eq!(answer["members"][0]["rows"], json!({ "*": { "v1": null } }), "{answer}");
    assert_eq!(answer["members"][0]["ended"], Value::Null, "{answer}");
    let stamp = answer["stamp"].as_u64().expect("a stamp");
    scene.engine.sql_of("gateway", ends).expect("it may ask");
    let known = json!({ "revision": 1, "applied": stamp, "process": "q" });
    assert_eq!(beat(&scene, "b", &known)["members"], json!([]));
    scene.engine.sql("UPDATE robots_gateway.member SET gone = gone - interval '1 hour' WHERE store = 'a'");
    scene.engine.sql_of("gateway", ends).expect("it may ask");
    let answer = beat(&scene, "b", &known);
    assert_eq!(answer["silent"], json!([]), "{answer}");
    assert!(answer["members"][0]["ended"].as_f64().is_some_and(|ago| ago < 60.0), "{answer}");
    // Who joins only now hears what it may have served until then.
    let answer = beat(&scene, "c", &another("v2", "r"));
    let of_a =
        answer["members"].as_array().and_then(|members| members.iter().find(|other| other["store"] == "a"));
    assert_eq!(of_a.expect("a")["rows"], json!({ "*": { "v1": null } }), "{answer}");
}

/// It says its rows only where the database has others than it knows of.
#[test]
fn a_member_that_says_no_rows_goes_on_to_serve_what_it_said() {
    let scene = Scene::new();
    let told = beat(&scene, "a", &word("v1", 1));
    let answer = beat(&scene, "a", &json!({ "revision": 2 }));
    assert_eq!((&answer["changed"], &answer["revision"]), (&told["changed"], &json!(1)), "{answer}");
    let heard = beat(&scene, "b", &json!({ "process": "q" }));
    assert_eq!(heard["members"][0]["rows"], json!({ "*": { "v1": null } }), "{heard}");
}

#[test]
fn a_stamp_that_was_never_given_acknowledges_nothing() {
    let scene = Scene::new();
    beat(&scene, "a", &word("v1", 1));
    beat(&scene, "b", &word("v1", 1));
    // The database was restored from an older state, so b names a stamp that the database does not have.
    let answer = beat(&scene, "b", &json!({ "revision": 1, "applied": 1_u64 << 60 }));
    assert_eq!(answer["members"][0]["store"], "a", "it is told everything again: {answer}");
    let answer = beat(&scene, "a", &word("v2", 2));
    assert_eq!(answer["behind"], json!(["b"]), "{answer}");
    let changed = answer["changed"].as_u64().expect("a stamp");
    assert!(answer["floor"].as_u64().expect("a stamp") < changed, "{answer}");
    // Whoever cannot note it is not waited for, and accuses nobody.
    beat(&scene, "b", &json!({ "revision": 1, "is_deaf": true }));
    let answer = beat(&scene, "a", &word("v2", 2));
    assert_eq!((&answer["behind"], &answer["floor"]), (&json!([]), &Value::Null));
}

#[test]
fn who_was_away_hears_of_what_came_and_went_and_how_long_ago() {
    let scene = Scene::new();
    beat(&scene, "a", &word("v1", 1));
    let rows = json!({ "*": { "v2": null, "v1": 7 } });
    beat(&scene, "a", &json!({ "revision": 2, "rows": rows }));
    scene.engine.sql("UPDATE robots_gateway.member SET said = said - interval '1 hour'");
    // To say that it lives says nothing new of that.
    beat(&scene, "a", &json!({ "revision": 2, "rows": rows }));
    let other = json!({ "revision": 1, "rows": { "*": { "v2": null } }, "process": "q" });
    let heard = beat(&scene, "b", &other);
    let of_a = &heard["members"][0];
    let (said, notice) = (of_a["said"].as_f64().expect("a time"), of_a["notice"].as_f64());
    assert_eq!((&of_a["rows"], &of_a["ended"], notice), (&rows, &Value::Null, Some(3_600.0)), "{heard}");
    assert!((3_600.0..3_700.0).contains(&said), "{heard}");
    // It says of itself that it stops, or somebody else does.
    scene.engine.sql_of("gateway", "SELECT robots_gateway.leave('a', 'p')").expect("it may");
    let heard = beat(&scene, "b", &other);
    assert!(heard["members"][0]["ended"].as_f64().is_some_and(|ago| ago < 60.0), "{heard}");
}

#[test]
fn the_newer_process_of_a_store_speaks_for_it_while_it_lives() {
    let scene = Scene::new();
    beat(&scene, "a", &json!({ "process": "new", "started": 7 }));
    let old = json!({ "process": "old", "started": 5 });
    assert_eq!(beat(&scene, "a", &old)["is_replaced"], true);
    // It ended without a word.
    scene.engine.sql("UPDATE robots_gateway.member SET seen = seen - interval '11 seconds'");
    assert_eq!(beat(&scene, "a", &old)["is_replaced"], Value::Null);
}

#[test]
fn a_new_day_waits_for_no_report() {
    let scene = Scene::new();
    scene.engine.sql("SELECT robots_gateway.need_day(0)");
    let mut report = scene.engine.session(
        "BEGIN; SELECT count(*) FROM robots_gateway.rollup, robots_gateway.presence, robots_gateway.path;
         SELECT pg_sleep(300)",
    );
    let reads = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    assert!(within(PATIENCE, || (scene.engine.sql(reads) == "1").then_some(())).is_some());
    let made =
        scene.engine.sql_of("postgres", "SET lock_timeout = '2s'; SELECT robots_gateway.need_day(86400)");
    // Nor does what goes: it is tried again another day.
    let kept =
        scene.engine.sql_of("gateway", "SET statement_timeout = '5s'; SELECT robots_gateway.keep_house()");
    let _ = report.kill();
    let _ = report.wait();
    assert_eq!((made, kept), (Ok(String::new()), Ok(String::new())));
    let days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'robots_gateway.rollup'::regclass";
    assert_eq!(scene.engine.sql(days), "3", "those two, and tomorrow");
}

#[test]
fn a_target_of_any_length_is_counted() {
    let scene = Scene::new();
    let a = scene.member("a", ROBOTS, "0s", "settle = \"0s\"");
    stands(&a, "member");
    // Written so that it can be printed, it is longer than a row of an index may be, and cannot be made shorter.
    let mut seed = 7_u64;
    let mut letter = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[(seed >> 33) as usize % 62],
        )
    };
    let mut target = "/private/".to_owned();
    while target.len() < 2_030 {
        target.push_str("\\x");
        target.extend((0..7).map(|_| letter()));
    }
    a.send(&get(target).by(GPTBOT));
    let whole = scene.adds_up(&a, &["a"]);
    assert_eq!((requests(&whole), &whole["counts_lost"]), (1, &json!(0)));
    let longest = "SELECT max(length(target)) > 2704 FROM robots_gateway.path";
    assert_eq!(scene.engine.sql(longest), "t");
}

#[test]
fn counts_that_the_database_refuses_are_told_to_be_missing_and_hold_up_nothing() {
    let scene = Scene::new();
    let a = scene.member("a", ROBOTS, "0s", "settle = \"0s\"");
    stands(&a, "member");
    scene.engine.sql("ALTER TABLE robots_gateway.path ADD CHECK (target <> '/private/poison')");
    a.send(&get("/private/poison").by(GPTBOT));
    let skipped = "SELECT coalesce(sum(skipped), 0) > 0 FROM robots_gateway.writer";
    assert!(
        within(PATIENCE, || (scene.engine.sql(skipped) == "t").then_some(())).is_some(),
        "{}",
        a.log.text()
    );
    stands(&a, "member");
    a.send(&get("/private/good").by(GPTBOT));
    let counted = within(PATIENCE, || (requests(&fleet_report(&a)) == 1).then_some(()));
    assert!(counted.is_some(), "{}", a.log.text());
    assert!(a.log.text().contains("counts are missing in the fleet"), "{}", a.log.text());
}

#[test]
fn what_nothing_names_any_more_goes() {
    let scene = Scene::new();
    let row = |version: Value| json!({ "version": version, "until": null });
    let versions = [
        json!({ "known": { "file": "served" } }),
        json!({ "known": { "file": null } }),
        json!({ "unknown": "lost" }),
    ];
    let rows = json!({ "*": { "rows": versions.map(row) } });
    beat(&scene, "a", &json!({ "rows": rows, "robots": { "served": "", "other": "" } }));
    scene.engine.sql(
        "UPDATE robots_gateway.robots SET used = used - 30;
         INSERT INTO robots_gateway.subject SELECT md5(used::text)::uuid, '{}', used
            FROM (VALUES (current_date), (current_date - 100)) AS days (used);
         INSERT INTO robots_gateway.decision SELECT md5(used::text)::uuid, '{}', used
            FROM (VALUES (current_date), (current_date - 100)) AS days (used);
         INSERT INTO robots_gateway.writer VALUES ('gone', 'x', 7, '', now() - interval '100 days');
         INSERT INTO robots_gateway.version VALUES ('gone', 'x', 'other', 1, 0)",
    );
    scene.engine.sql_of("gateway", "SELECT robots_gateway.keep_house()").expect("it may");
    let count = |of: &str| scene.engine.sql(&format!("SELECT count(*) FROM robots_gateway.{of}"));
    assert_eq!((count("subject").as_str(), count("decision").as_str()), ("1", "1"));
    // It goes on the day after its version has ended.
    scene
        .engine
        .sql("UPDATE robots_gateway.version SET until = 1; UPDATE robots_gateway.fleet SET kept_on = NULL");
    scene.engine.sql_of("gateway", "SELECT robots_gateway.keep_house()").expect("it may");
    assert_eq!((count("version").as_str(), count("writer").as_str()), ("0", "0"));
    assert_eq!(scene.engine.sql("SELECT string_agg(sha256, ' ') FROM robots_gateway.robots"), "served");
}

#[test]
fn a_process_whose_store_is_another_one_waits_for_nothing_of_what_it_was() {
    let scene = Scene::new();
    beat(&scene, "a", &json!({ "process": "p" }));
    beat(&scene, "b", &json!({ "process": "q" }));
    beat(&scene, "c", &json!({ "process": "p" }));
    let living = "SELECT string_agg(store, ' ' ORDER BY store) FROM robots_gateway.member WHERE gone IS NULL";
    assert_eq!(scene.engine.sql(living), "b c");
}

#[test]
fn a_store_goes_to_another_user_when_it_was_forgotten() {
    let scene = Scene::new();
    scene.engine.sql("CREATE ROLE another LOGIN IN ROLE robots_gateway_member");
    beat(&scene, "a", &json!({}));
    let take = "SELECT robots_gateway.take('a', 1, 1, '', '{}')";
    scene.engine.sql_of("gateway", take).expect("it is its own");
    let again = take.replace("1, 1", "2, 2");
    let refused = scene.engine.sql_of("another", &again).expect_err("it is another one's");
    assert!(refused.contains("belongs to another user"), "{refused}");
    scene.forget("a");
    scene.engine.sql_of("another", &again).expect("nobody's");
    scene.engine.sql_of("gateway", &take.replace("1, 1", "3, 3")).expect_err("it was taken");
}

#[test]
fn to_set_it_up_again_has_stamps_rise_and_reads_taken_up_and_nothing_else() {
    let scene = Scene::new();
    // As a dump of another cluster has it.
    scene.engine.sql(
        "INSERT INTO robots_gateway.read VALUES
            ('a', 'e3b0c442-98fc-1c14-9afb-f4c8996fb924', 'v', 1, 'h', '', '', '', 1, 1, 1, 1, '99999999999')",
    );
    for _ in 0..17 {
        ctl(["fleet", "init", "--database", &scene.engine.url("postgres")]).exits(0);
    }
    // There is room for what a promotion adds.
    assert_eq!(scene.engine.sql("SELECT stamp < 2::bigint << 48 FROM robots_gateway.fleet"), "t");
    let known = "SELECT noted < pg_snapshot_xmin(pg_current_snapshot()) FROM robots_gateway.read";
    assert_eq!(scene.engine.sql(known), "t");
}
