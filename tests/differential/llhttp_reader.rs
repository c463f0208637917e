//! What llhttp makes of requests: one process of Node reads them all.

use super::Reading;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/differential/llhttp.js");

/// The first request of each of `messages`, `None` where llhttp refuses it; or `None` where there is no Node.
pub(crate) fn read(messages: &[Vec<u8>]) -> Option<Vec<Option<Reading>>> {
    let mut node = Command::new("node");
    node.args(["--no-deprecation", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().ok()?;
    let mut input = node.stdin.take().expect("piped");
    let lines: String = messages.iter().map(|bytes| hexadecimal(bytes) + "\n").collect();
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = node.wait_with_output().expect("node ends");
    writing.join().expect("no panic").expect("node reads");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    Some(text.lines().map(reading).collect())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes all");
        text
    })
}

fn reading(line: &str) -> Option<Reading> {
    let message: Value = serde_json::from_str(line).expect("JSON");
    if message["whole"] != true {
        return None;
    }
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let fields: Vec<String> = message["fields"].as_array().expect("a list").iter().map(text).collect();
    let body = text(&message["body"]);
    let pairs = body.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    let reading = Reading {
        method: text(&message["method"]),
        target: bytes(&text(&message["target"])),
        minor: u8::try_from(message["minor"].as_u64().expect("a number")).expect("a digit"),
        fields: fields.chunks(2).map(|pair| (pair[0].to_lowercase(), bytes(&pair[1]))).collect(),
        body: pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect(),
    };
    Some(reading.sorted())
}

/// Node has texts whose characters are the bytes.
fn bytes(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(letter).expect("a byte")).collect()
}
