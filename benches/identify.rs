//! Recognition beside woothee and the isbot crate, cold and cached, in one run.
//!
//! `ROBOTS_GATEWAY_CORPUS` names the folder with the headers; without it a few
//! typical ones are used.

use criterion::{BenchmarkId, Criterion, Throughput};
use robots_gateway::config::catalogue::bundled;
use robots_gateway::identify::{Identifier, OperatorTokens};
use std::hint::black_box;

const BROWSERS: [&str; 4] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0",
];

const CRAWLERS: [&str; 4] = [
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.3; +https://openai.com/gptbot",
    "CCBot/2.0 (https://commoncrawl.org/faq/)",
    "curl/8.5.0",
];

/// A thousand headers of one corpus file, or the built-in ones.
fn headers(file: &str, typical: &[&str]) -> Vec<String> {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS") else {
        return typical.iter().map(ToString::to_string).collect();
    };
    let text =
        std::fs::read_to_string(std::path::Path::new(&folder).join("ua").join(file)).unwrap_or_default();
    let all: Vec<String> = text
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).ok()?.get("ua")?.as_str().map(str::to_owned)
        })
        .collect();
    let step = (all.len() / 1000).max(1);
    all.into_iter().step_by(step).collect()
}

fn recognition(criterion: &mut Criterion) {
    let Ok(identifier) = Identifier::new(bundled()) else { return };
    let woothee = woothee::parser::Parser::new();
    let isbot = isbot::Bots::default();
    let own = OperatorTokens::new(["GPTBot", "ClaudeBot", "Bytespider", "FooBot"]);
    for (kind, headers) in
        [("browsers", headers("browsers.jsonl", &BROWSERS)), ("crawlers", headers("bots.jsonl", &CRAWLERS))]
    {
        let mut group = criterion.benchmark_group(format!("recognise/{kind}"));
        group.throughput(Throughput::Elements(headers.len() as u64));
        let mut measure = |name: &str, act: &dyn Fn(&str)| {
            group.bench_with_input(BenchmarkId::from_parameter(name), &headers, |bencher, headers| {
                bencher.iter(|| headers.iter().for_each(|header| act(black_box(header))));
            });
        };
        measure("own rules, cold", &|header| {
            drop(black_box(identifier.recognise_cold(Some(header.as_bytes()))));
        });
        measure("whole miss, cold", &|header| {
            drop(black_box(identifier.recognise_uncached(Some(header.as_bytes()))));
        });
        measure("cached", &|header| drop(black_box(identifier.recognise(Some(header.as_bytes())))));
        measure("cached, with operator tokens", &|header| {
            let header = Some(header.as_bytes());
            drop(black_box(own.applied(&identifier.recognise(header), header)));
        });
        measure("woothee", &|header| {
            black_box(woothee.parse(header));
        });
        measure("isbot", &|header| {
            black_box(isbot.is_bot(header));
        });
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .measurement_time(std::time::Duration::from_secs(2))
        .configure_from_args();
    recognition(&mut criterion);
    criterion.final_summary();
}
