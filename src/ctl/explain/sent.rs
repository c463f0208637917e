//! A request as an agent sent it, given to `explain` with `--header` or `--request`: who signed it, step by step.

use super::super::VerbFailure;
use super::super::args::ExplainArgs;
use crate::http::head::{HeadLimits, HeadProgress, HeadReader};
use crate::http::{Body, HttpVersion, RequestHead};
use crate::identify::signature::{PlainCheck, SignedMessage, VerifiedSignature, explain};
use crate::policy::Policy;
use crate::request::host;
use crate::request::target::origin_form;
use std::io::Read as _;
use std::path::Path;
use std::time::SystemTime;

/// A head longer than this, or of more fields, comes from no agent.
const LIMITS: HeadLimits = HeadLimits { bytes: 1024 * 1024, fields: 1_000 };

/// The head that the arguments describe; `None` where they give no fields.
pub(super) fn head(arguments: &ExplainArgs, host: Option<&str>) -> Result<Option<RequestHead>, VerbFailure> {
    if let Some(path) = &arguments.request {
        return read(path).map(Some);
    }
    if arguments.header.is_empty() {
        return Ok(None);
    }
    let mut fields: Vec<(&str, &str)> = Vec::new();
    for written in &arguments.header {
        let (name, value) = written.split_once(':').ok_or_else(|| {
            VerbFailure(format!(
                "`{written}` is no header field\n  hint: write --header 'Signature-Input: sig1=(…)'"
            ))
        })?;
        fields.push((name.trim(), value.trim()));
    }
    let has = |name: &str| fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let told = [("Host", host), ("User-Agent", arguments.user_agent.as_deref())];
    let told: Vec<(&str, &str)> = told
        .into_iter()
        .filter(|(name, _)| !has(name))
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
    let all = told.into_iter().chain(fields.iter().copied());
    let all = all.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let line = [b"GET", arguments.target.as_deref().unwrap_or("/").as_bytes()];
    Ok(Some(RequestHead::from_parts(line, None, HttpVersion::Http11, Body::None, all)))
}

/// Reads a request as it stands on the wire, or in a file with the line ends of an editor.
fn read(path: &Path) -> Result<RequestHead, VerbFailure> {
    let refuse = |error: &dyn std::fmt::Display| VerbFailure(format!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.map_err(|error| refuse(&error))?;
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let head: Vec<&[u8]> = lines.take_while(|line| !line.is_empty()).collect();
    let whole = [&head.join(&b"\r\n"[..])[..], b"\r\n\r\n"].concat();
    let mut reader = HeadReader::new(LIMITS);
    match reader.read(&whole) {
        Ok(HeadProgress::Whole(complete)) => Ok(reader.into_head(&whole, complete)),
        Ok(HeadProgress::More) => Err(refuse(&"it has no request line and header fields of HTTP/1.1")),
        Err(fault) => Err(refuse(&format!("it is no request of HTTP/1.1: {}", fault.as_str()))),
    }
}

/// Who signed the request, and every step of finding out. Its scheme is https unless its target says otherwise.
pub(super) fn signer(policy: &Policy, head: &RequestHead) -> (Option<VerifiedSignature>, Vec<String>) {
    if !head.is_signed {
        let step = "the request is not signed: it has no field Signature-Input".to_owned();
        return (None, vec![step]);
    }
    let is_plain = head.target().get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"http://"));
    let fields: Vec<_> = head.fields().collect();
    let target = origin_form(head.target()).unwrap_or_default();
    let message = SignedMessage {
        method: head.method(),
        scheme: if is_plain { "http" } else { "https" },
        authority: head.text("host").or_else(|| host::of_target(head.target())).unwrap_or_default(),
        target: &target,
        fields: &fields,
        answer: None,
    };
    let keys = |agent: &_| policy.evidence.agent_keys(agent);
    let (outcome, steps) = explain(&message, SystemTime::now(), keys, &mut PlainCheck);
    (outcome.ok(), steps)
}
