//! A type name stands for one thing, in the code, its tests and its benchmarks.

use super::{Source, files_below};
use std::collections::BTreeMap;

/// The type that a line declares. An associated type has a trait's name for it, and stands deeper.
fn declared_type(line: &str) -> Option<&str> {
    let words = line.trim_start();
    let words = words.strip_prefix("pub").map_or(words, |rest| {
        let rest =
            rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
        rest.trim_start()
    });
    let (keyword, rest) = words.split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
    is_type.then_some(&rest[..end])
}

/// Each crate of tests or benchmarks that needs numbers without a pattern has a generator of its own, so that a change
/// for one of them does not move the course of another whose seeds are known.
const SHARED: [&str; 1] = ["Random"];

/// Names that stand for more than one type. Crates of tests are included, since whoever searches for a name finds them,
/// too.
fn shared_type_names(files: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (line, text) in lines {
            if let Some(name) = declared_type(text).filter(|name| !SHARED.contains(name)) {
                places.entry(name).or_default().push(format!("{path}:{}", line + 1));
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    shared.map(|(name, places)| format!("`{name}` is {}", places.join(" and "))).collect()
}

#[test]
fn a_type_name_stands_for_one_thing() {
    let files = ["src", "tests", "benches"].map(files_below).concat();
    let found = shared_type_names(&files);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_name_of_two_types_is_caught() {
    let with = |text: &str| {
        let files = [("src/a.rs", "pub struct Answer;\n"), ("tests/b/main.rs", text)];
        shared_type_names(&files.map(|(path, text)| (path.to_owned(), text.to_owned())))
    };
    for text in [
        "enum Answer {\n",
        "pub(super) struct Answer<'a>(&'a str);\n",
        "pub(in crate::record) struct Answer {\n",
        "type Answer = u8;\n",
    ] {
        assert_eq!(with(text), ["`Answer` is src/a.rs:1 and tests/b/main.rs:1"], "{text}");
    }
    assert_eq!(
        with("mod tests {\n    struct Answer;\n}\n"),
        ["`Answer` is src/a.rs:1 and tests/b/main.rs:2"]
    );
    for text in ["struct Answers;\n", "    type Answer = u8;\n", "// struct Answer\n"] {
        assert_eq!(with(text), Vec::<String>::new(), "{text}");
    }
}
