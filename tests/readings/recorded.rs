//! The corpus that a live run wrote, judged anew.

use crate::judge::{ReadingJudge, ReadingVerdict, all_rules, found};
use robots_gateway::request::target::{PathParameters, RequestTarget};

const CORPUS: &str = include_str!("corpus.tsv");

/// Lines of `corpus.tsv`: what was asked for, which page came, and from whom.
fn lines() -> Vec<(&'static str, &'static str, &'static str)> {
    let lines = CORPUS.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut fields = line.split('\t');
            let mut field = || fields.next().expect("three fields");
            (field(), field(), field())
        })
        .collect()
}

#[test]
fn what_an_origin_takes_for_a_disallowed_page_is_not_allowed() {
    let (judge, rules) = (ReadingJudge::new(), all_rules());
    let lines = lines();
    let holes: Vec<_> = lines
        .iter()
        .filter(|(target, page, _)| found(&judge, &rules, target, page) == ReadingVerdict::Hole)
        .collect();
    for (target, page, origins) in holes.iter().take(40) {
        println!("{target} is {page} to {origins}, and allowed");
    }
    println!("{} targets recorded, {} holes", lines.len(), holes.len());
    assert!(lines.len() >= 1_000, "the corpus is too small: run `make readings`");
    assert!(holes.is_empty());
}

#[test]
fn the_guide_lists_what_is_done_to_paths() {
    let page = include_str!("../../docs/conformance.md");
    let (_, list) = page.split_once("<!-- readings -->").expect("a list");
    let (list, _) = list.split_once("<!-- end -->").expect("its end");
    let rows: Vec<Vec<&str>> =
        list.lines().filter(|line| line.contains('`')).map(|line| line.split('`').collect()).collect();
    assert_eq!(rows.len(), 11);
    for row in rows {
        let [.., sent, _, read, _] = row[..] else { panic!("no row: {row:?}") };
        let target = RequestTarget::new(sent.as_bytes(), PathParameters::Keep);
        assert!(target.readings().any(|reading| reading == read.as_bytes()), "{sent} is not read as {read}");
    }
}
