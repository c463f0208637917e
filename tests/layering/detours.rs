//! A request has one way through the code, and destructors do little.

use super::{Source, files_below, is_test_file};

/// What only one place may do: where it may stand, and what it looks like. Unit tests may do anything.
const ONLY: [(&str, &str); 2] =
    [("src/http/response.rs", "HTTP/1.1 \""), ("src/http/response.rs", "HTTP/1.1 {")];

/// What neither requests nor connections are handed on by.
const NEVER_IN_THE_PATH: [&str; 3] = ["downcast", "dyn Any", "as_any("];

/// The lines of a file above its unit tests, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// A request's way is one: parsed once, judged once, answered in one place.
fn detours(files: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut judged = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test_file(path)) {
        let is_path =
            ["src/server/", "src/proxy/", "src/gateway/"].iter().any(|folder| path.starts_with(folder));
        for (line, text) in code(text) {
            let at = || format!("{path}:{}", line + 1);
            for (home, what) in ONLY.iter().filter(|(home, _)| path != home) {
                if is_path && text.contains(what) {
                    found.push(format!("{}: only {home} writes the head of an answer", at()));
                }
            }
            for what in NEVER_IN_THE_PATH.iter().filter(|what| is_path && text.contains(**what)) {
                found.push(format!("{}: nothing is handed on by `{what}`", at()));
            }
            if is_path && calls_judge(text) && !path.starts_with("src/server/demo/") {
                judged.push(at());
            }
        }
        found.extend(drops(path, text));
    }
    if judged.len() != 1 {
        found.push(format!("`judge` has one caller in the daemon, not {judged:?}"));
    }
    found
}

/// Whether a line calls `policy::judge`, or what stands behind it. The demo's traffic is made up, and no request.
fn calls_judge(text: &str) -> bool {
    let mut calls = text.match_indices("judge(").map(|(at, _)| &text[..at]);
    calls.any(|before| {
        !before.ends_with("fn ")
            && !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
    })
}

/// What no destructor does: recording, and input and output.
const NEVER_IN_A_DESTRUCTOR: [&str; 16] = [
    ".record(",
    "journal",
    "recorder",
    "fs::",
    "io::",
    "net::",
    "process::",
    "remove_",
    "File",
    "Stream",
    "write",
    "flush",
    "sync",
    "tracing",
    "print",
    ".close(",
];

/// Destructors that record something, or do input or output.
fn drops(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (line, text) in code(text) {
        is_inside = (is_inside && text != "}") || text.contains(" Drop for ");
        // Of a generic type it is the name of a parameter.
        let is_body = is_inside && !text.contains(" Drop for ");
        if is_body && NEVER_IN_A_DESTRUCTOR.iter().any(|what| text.contains(what)) {
            found.push(format!("{path}:{}: a destructor neither records nor does I/O", line + 1));
        }
    }
    found
}

#[test]
fn a_request_has_one_way_through_the_code() {
    let found = detours(&files_below("src"));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_planted_detour_is_caught() {
    let judge = ("src/gateway/decision.rs".to_owned(), "    judge(policy);\n".to_owned());
    let with = |path: &str, text: &str| detours(&[judge.clone(), (path.to_owned(), text.to_owned())]);
    assert_eq!(with("src/server/a.rs", "fn a() {}\n"), Vec::<String>::new());
    for (path, text) in [
        ("src/server/a.rs", "let a = b\"HTTP/1.1 \";\n"),
        ("src/server/a.rs", "let a = stream.downcast();\n"),
        ("src/proxy/a.rs", "    let a = judge(policy);\n"),
        ("src/proxy/a.rs", "    let a = policy::judge(policy);\n"),
        ("src/proxy/a.rs", "    let a = client.judge(policy);\n"),
        (
            "src/gateway/a.rs",
            "impl Drop for A {\n    fn drop(&mut self) {\n        self.log.record(&x);\n    }\n}\n",
        ),
        (
            "src/process/a.rs",
            "impl<T> Drop for A<T> {\n    fn drop(&mut self) {\n        let _ = std::fs::remove_file(&self.0);\n    }\n}\n",
        ),
    ] {
        assert_eq!(with(path, text).len(), 1, "{text}");
    }
}
