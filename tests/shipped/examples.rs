//! What is shipped in conf/ beside the configuration: examples that load, and filters that find what they should.

use crate::{TOOL, path, text};
use std::process::{Command, Output};

fn check(name: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let config = text(&format!("conf/examples/{name}"));
    std::fs::write(folder.path().join(name), &config).unwrap();
    for line in config.lines().filter_map(|line| line.strip_prefix("robots = ")) {
        std::fs::write(folder.path().join(line.trim_matches('"')), "User-agent: *\nDisallow: /private\n")
            .unwrap();
    }
    if config.contains("[[certificates]]") {
        let own = rcgen::generate_simple_self_signed(["example.org".to_owned()]).unwrap();
        std::fs::write(folder.path().join("example.org.crt"), own.cert.pem()).unwrap();
        std::fs::write(folder.path().join("example.org.key"), own.signing_key.serialize_pem()).unwrap();
    }
    let mut command = Command::new(TOOL);
    command.args(["check", "--offline", "--deny", "warnings", "--config", name]).current_dir(folder.path());
    command.output().unwrap()
}

#[test]
fn every_example_passes_check_without_a_warning() {
    let mut count = 0;
    for entry in std::fs::read_dir(path("conf/examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let output = check(&name);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
        count += 1;
    }
    assert!(count >= 4, "{count}");
}

/// Events of a log, as the journal has them: one refusal of a name that a client made up to deceive the filter.
fn journal() -> String {
    let folder = tempfile::tempdir().unwrap();
    let agent = r#"EvilBot/1.0 (+http://evil.example/) \"action\":\"refused\",\"address\":\"203.0.113.99\""#;
    let line = |address: &str, target: &str, agent: &str| {
        format!(
            "{address} - - [01/Nov/2026:10:00:00 +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n"
        )
    };
    let log = [
        line("192.0.2.1", "/private", "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"),
        line("192.0.2.2", "/private", agent),
        line("2001:db8::3", "/private", "Googlebot/2.1"),
        line("192.0.2.4", "/private", "curl/8.5.0"),
    ];
    std::fs::write(folder.path().join("access.log"), log.concat()).unwrap();
    std::fs::write(folder.path().join("robots.txt"), "User-agent: *\nDisallow: /private\n").unwrap();
    let arguments = ["replay", "access.log", "--robots", "robots.txt", "--events"];
    let output = Command::new(TOOL).args(arguments).current_dir(folder.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_filter_of_fail2ban_finds_refusals_and_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal.jsonl");
    let journal = journal();
    let refused = journal.lines().filter(|line| line.contains("\"action\":\"refused\"")).count();
    assert_eq!((refused, journal.lines().count()), (3, 4), "{journal}");
    std::fs::write(&file, &journal).unwrap();
    let filter = path("conf/fail2ban/robots-gateway.filter.conf");
    let Ok(output) = Command::new("fail2ban-regex").args(["--out", "ip"]).args([&file, &filter]).output()
    else {
        println!("skipped: there is no fail2ban-regex (Debian: apt-get install fail2ban)");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let mut found: Vec<&str> = said.split_whitespace().collect();
    found.sort_unstable();
    assert_eq!(found, ["192.0.2.1", "192.0.2.2", "2001:db8::3"], "{journal}");
}

#[test]
fn the_pipeline_of_vector_names_fields_that_the_journal_has() {
    let config = text("conf/vector.toml");
    let pipeline: toml::Table = config.parse().unwrap();
    let journal = journal();
    let events: Vec<serde_json::Value> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // `.name` in the program once the line is parsed, and `{{ name }}` in the labels, which stand in comments.
    let program = pipeline["transforms"]["events"]["source"].as_str().unwrap();
    let (_, parsed) = program.split_once("parse_json!").unwrap();
    let of_program = parsed.split(['(', ' ', ',', ')']).filter_map(|word| word.strip_prefix('.'));
    let of_program = of_program.filter(|name| !name.is_empty() && *name != "message");
    let of_labels = config.split("{{ ").skip(1).filter_map(|rest| rest.split(" }}").next());
    let named: Vec<&str> = of_program.chain(of_labels).collect();
    assert_eq!(named, ["time", "event", "action"]);
    for (event, name) in events.iter().flat_map(|event| named.iter().map(move |name| (event, name))) {
        assert!(event[*name].is_string(), "{name} in {event}");
    }
    // `%+` is a time of RFC 3339.
    assert!(program.contains(r#"parse_timestamp!(.time, "%+")"#), "{program}");
    for event in &events {
        let time = event["time"].as_str().unwrap();
        assert!(time.parse::<jiff::Timestamp>().is_ok() && time.ends_with('Z'), "{time}");
    }
    let include = pipeline["sources"]["journal"]["include"][0].as_str().unwrap();
    assert!(text("docs/in-front.md").contains(include), "the journal's default place is {include}");
}

#[test]
fn the_pipeline_of_vector_is_one() {
    let _: toml::Table = text("conf/vector.toml").parse().unwrap();
    let file = path("conf/vector.toml");
    match Command::new("vector").args(["validate", "--no-environment"]).arg(file).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(_) => println!("skipped: there is no vector"),
    }
}
