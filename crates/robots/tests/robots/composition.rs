//! Files made of several parts: none changes what another says.

use crate::generate::{Alphabet, Random, target};
use crate::parse;
use rfc9309::{BlockedTokens, Composed};

fn blocks() -> Vec<BlockedTokens> {
    let tokens = ["GPTBot", "CCBot", "Google-Extended"].map(Box::from).to_vec();
    vec![BlockedTokens { purpose: "ai-train".into(), tokens }]
}

const ADDED: &str = "User-agent: AddedBot\nDisallow: /added";

/// Every token of the file, one that it does not name, and the added one, judged by the parts and by the whole.
#[track_caller]
fn assert_unchanged(name: &str, own: &[u8], targets: &[Vec<u8>]) {
    let composed = Composed::new(own, ADDED.as_bytes(), &blocks(), "maker").unwrap();
    let (before, after) = (parse(own).robots, parse(&composed.bytes).robots);
    let is_joined = |token: &str| {
        let is_one = |part: &str| part.eq_ignore_ascii_case(token);
        ["AddedBot", "GPTBot", "CCBot", "Google-Extended"].into_iter().any(is_one)
    };
    let tokens: Vec<&str> =
        before.tokens().filter(|token| !is_joined(token)).chain(["NobodyAtAll"]).collect();
    for target in targets {
        for token in &tokens {
            let (old, new) = (before.judge(&[token], true, target), after.judge(&[token], true, target));
            let shown = String::from_utf8_lossy(target);
            assert_eq!(old.allow, new.allow, "{name}: {token} {shown}");
            assert_eq!(
                old.rule.map(|rule| rule.line),
                new.rule.map(|rule| rule.line),
                "{name}: {token} {shown}"
            );
        }
        // Where the owner says nothing of it, a blocked token may fetch nothing but robots.txt.
        if before.group(&["GPTBot"], false).is_none() {
            assert_eq!(after.judge(&["gptbot"], true, target).allow, target == b"/robots.txt", "{name}");
        }
    }
    let lines: u32 = composed.sections.iter().map(|section| section.lines).sum();
    let bytes: usize = composed.sections.iter().map(|section| section.bytes).sum();
    assert_eq!((lines as usize, bytes), (rfc9309::lines(&composed.bytes).count(), composed.bytes.len()));
    assert!(composed.bytes.starts_with(own), "{name}: the owner's own bytes come first, as they are");
}

#[test]
fn real_files_say_what_they_said() {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS") else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let mut random = Random::new(21);
    let mut count = 0;
    for file in std::fs::read_dir(std::path::Path::new(&folder).join("robots/files")).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap();
        if bytes.len() > 200_000 || file.path().extension().is_none_or(|kind| kind == "json") {
            continue;
        }
        let mut targets = vec![b"/".to_vec(), b"/robots.txt".to_vec(), b"/added/x".to_vec()];
        let rules = parse(&bytes);
        targets.extend(rules.robots.rules().take(12).map(|(_, rule)| rule.pattern.to_vec()));
        targets.retain(|target| target.starts_with(b"/"));
        targets.push(target(&mut random, Alphabet::any(&mut Random::new(1))));
        assert_unchanged(&file.path().display().to_string(), &bytes, &targets);
        count += 1;
    }
    println!("{count} files");
    assert!(count >= 30, "{count}");
}

/// Files put together of lines at random, with every kind of line end, so that many end in the middle of something.
#[test]
fn files_at_random_say_what_they_said() {
    const LINES: [&str; 14] = [
        "User-agent: a",
        "User-agent: b",
        "User-agent: *",
        "User-agent: GPTBot",
        "User-agent:",
        "Disallow: /",
        "Disallow: /x",
        "Disallow:",
        "Allow: /x/y",
        "Crawl-delay: 5",
        "Sitemap: https://example.org/sitemap.xml",
        "nonsense",
        "# a comment",
        "",
    ];
    let targets = ["/", "/x", "/x/y", "/added", "/robots.txt"].map(|path| path.as_bytes().to_vec());
    let mut random = Random::new(2);
    for round in 0..2_000 {
        let mut own = Vec::new();
        for _ in 0..random.below(9) {
            own.extend_from_slice(LINES[random.below(LINES.len())].as_bytes());
            own.extend_from_slice(["\n", "\r\n", "\r", "\n\n"][random.below(4)].as_bytes());
        }
        if random.one_in(2) {
            own.extend_from_slice(LINES[random.below(LINES.len())].as_bytes());
        }
        assert_unchanged(&format!("round {round}: {:?}", String::from_utf8_lossy(&own)), &own, &targets);
    }
}
