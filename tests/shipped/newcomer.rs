//! A newcomer's first deployment: the commands of `docs/in-front.md`, run in order on a machine of their own.
//!
//! A block marked `sh` is run and must end well, or with the code of its `exit=`. A block marked `text` shows lines that
//! the block before it must have printed.

use crate::sandbox::Sandbox;
use crate::text;
use std::time::{Duration, Instant};

/// How long a result may take to show: the journal is written beside the request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A block of commands, and what it is to lead to.
struct Block {
    commands: String,
    code: i32,
    shows: Vec<String>,
}

impl Block {
    /// Whether running it again changes nothing but numbers.
    fn may_be_repeated(&self) -> bool {
        let reads = ["curl ", "sudo tail ", "gatewayctl explain "];
        self.commands.lines().all(|line| reads.iter().any(|read| line.starts_with(read)))
    }
}

fn blocks(section: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // Odd parts stand between fences.
    for part in section.split("```").skip(1).step_by(2) {
        let (kind, body) = part.split_once('\n').unwrap();
        match kind.split_once(" exit=").unwrap_or((kind, "0")) {
            ("sh", code) => {
                blocks.push(Block {
                    commands: body.to_owned(),
                    code: code.parse().unwrap(),
                    shows: Vec::new(),
                });
            }
            ("text", _) => blocks.last_mut().unwrap().shows.extend(body.lines().map(str::to_owned)),
            _ => panic!("docs/in-front.md: a block of an unknown kind: {kind}"),
        }
    }
    blocks
}

/// Runs a block until it has shown what it is to show; its output.
fn run(sandbox: &Sandbox, block: &Block) -> String {
    let has_event = |shown: &str| !block.commands.contains("journal.jsonl") || shown.contains("\"event\"");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = sandbox.run(&block.commands);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let missing: Vec<String> = block
            .shows
            .iter()
            .map(|line| sandbox.rewrite(line))
            .filter(|line| !shown.lines().any(|other| other == line))
            .collect();
        let code = output.status.code();
        if code == Some(block.code) && missing.is_empty() && has_event(&shown) {
            return shown;
        }
        if Instant::now() > deadline || !block.may_be_repeated() {
            let talk = String::from_utf8_lossy(&output.stderr);
            panic!("{}exit {code:?}, not shown: {missing:?}\n{shown}{talk}", block.commands);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_five_steps_lead_to_an_enforcing_gateway() {
    let page = text("docs/in-front.md");
    let section = page.split("\n## ").next().unwrap_or_default();
    assert_eq!(section.matches("\n**").count(), 5, "five steps");
    let blocks = blocks(section);
    assert!(blocks.len() >= 7, "only {} blocks seen", blocks.len());
    let sandbox = Sandbox::new();
    let mut journal = String::new();
    for block in &blocks {
        let shown = run(&sandbox, block);
        if block.commands.contains("journal.jsonl") {
            journal = shown;
        }
    }
    // In audit mode the page came from the site, and the line says so.
    let line = journal.lines().last().unwrap_or_default();
    assert!(journal.starts_with("200\n"), "{journal}");
    let event: serde_json::Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{journal}: {error}"));
    for (field, value) in
        [("event", "stale"), ("action", "forwarded"), ("crawler", "GPTBot"), ("target", "/drafts/")]
    {
        assert_eq!(event[field], value, "{line}");
    }
}
