//! Requests that this gateway accepts, other readers that accept them read in the same way: httparse, hyper, and llhttp as
//! Node has it. Messages are random and mutated. What another reader refuses is no other reading.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it compared"
)]

mod httparse_reader;
mod hyper_reader;
mod llhttp_reader;
mod messages;

use messages::{Random, message};
use robots_gateway::http::head::{HeadLimits, HeadReader, HttpVersion};
use robots_gateway::http::{Body, BodyReader};

/// A request as a reader understands it: its fields in order of names, which are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    method: String,
    target: Vec<u8>,
    minor: u8,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Reading {
    fn sorted(mut self) -> Self {
        self.fields.sort();
        self
    }
}

/// The first request of `bytes` as this gateway reads it; `None` where it refuses it, or waits for more.
fn own(bytes: &[u8]) -> Option<Reading> {
    let (head, bodies) = own_head(bytes)?;
    let (mut bodies, mut body) = (BodyReader::new(bodies), Vec::new());
    bodies.read(&head.body, |data| body.extend_from_slice(data)).ok()?;
    bodies.is_done().then_some(Reading { body, ..head })
}

/// Its head, and in place of its body all that follows; and how the body is framed.
fn own_head(bytes: &[u8]) -> Option<(Reading, Body)> {
    let mut reader = HeadReader::new(HeadLimits { bytes: 10_000, fields: 60 });
    let mut rest = bytes.to_vec();
    let Ok(Some(head)) = reader.read(&mut rest) else { return None };
    let body = head.body;
    let field =
        |(name, value): (&[u8], &[u8])| (String::from_utf8_lossy(name).to_lowercase(), value.to_vec());
    let reading = Reading {
        method: head.method().to_owned(),
        target: head.target().to_vec(),
        minor: u8::from(head.version == HttpVersion::Http11),
        fields: head.fields().map(field).collect(),
        body: rest,
    };
    Some((reading.sorted(), body))
}

/// Compares so many messages that this gateway accepts with what `other` makes of them.
#[track_caller]
fn compare(name: &str, messages: &[Vec<u8>], others: &[Option<Reading>]) {
    assert_eq!(messages.len(), others.len());
    let mut agreed = 0;
    for (bytes, other) in messages.iter().zip(others) {
        let Some(other) = other else { continue };
        assert_eq!(own(bytes).as_ref(), Some(other), "{}", bytes.escape_ascii());
        agreed += 1;
    }
    println!("{} messages were accepted here, {name} accepts {agreed} of them", messages.len());
    // Most that it refuses have a method of no list, or a host that it does not take.
    assert!(agreed > messages.len() / 3, "{agreed}");
}

/// Messages that this gateway accepts.
fn accepted(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut random = Random(seed);
    let messages = std::iter::repeat_with(|| message(&mut random)).filter(|bytes| own(bytes).is_some());
    messages.take(count).collect()
}

/// All that is accepted here httparse accepts as well, but for targets that no string of Rust can hold.
#[test]
fn httparse_reads_every_head_in_the_same_way_that_is_accepted() {
    let (mut random, mut accepted) = (Random(0x9e37_79b9_7f4a_7c15), 0);
    for _ in 0..200_000 {
        let bytes = message(&mut random);
        let Some((own, _)) = own_head(&bytes) else { continue };
        let other = httparse_reader::read(&bytes);
        if std::str::from_utf8(&own.target).is_err() {
            assert_eq!(other, None, "{}", bytes.escape_ascii());
            continue;
        }
        assert_eq!(other, Some(own), "{}", bytes.escape_ascii());
        accepted += 1;
    }
    assert!(accepted > 50_000, "{accepted}");
}

#[test]
fn hyper_reads_in_the_same_way_what_is_accepted() {
    let messages = accepted(0x9e37_79b9_7f4a_7c15, 20_000);
    let others: Vec<_> = messages.iter().map(|bytes| hyper_reader::read(bytes)).collect();
    compare("hyper", &messages, &others);
}

#[test]
fn llhttp_reads_in_the_same_way_what_is_accepted() {
    let messages = accepted(0x2545_f491_4f6c_dd1d, 20_000);
    match llhttp_reader::read(&messages) {
        Some(others) => compare("llhttp", &messages, &others),
        None => println!("skipped: there is no node here"),
    }
}
