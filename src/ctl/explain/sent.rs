//! A request as an agent sent it, given to `explain` with `--header` or `--request`: who signed it, step by step.

use super::super::args::ExplainArgs;
use super::super::{VerbFailure, open};
use crate::http::head::{HeadLimits, HeadReader};
use crate::http::{Body, HttpVersion, RequestHead};
use crate::identify::signature::{SignatureFault, SignedMessage, VerifiedSignature, explain_signature};
use crate::policy::Policy;
use crate::request::host;
use crate::request::target::origin_form;
use bstr::ByteSlice as _;
use std::ffi::OsStr;
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
            let what = format!("invalid header field `{written}`: expected a name, a colon and a value");
            VerbFailure::with_hint(what, "write --header 'Signature-Input: sig1=(…)'")
        })?;
        fields.push((name.trim(), value.trim()));
    }
    let has = |name: &str| fields.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let told = [("Host", host), ("User-Agent", arguments.user_agent.as_deref())];
    let told = told.into_iter().filter(|(name, _)| !has(name));
    let all = told.filter_map(|(name, value)| Some((name, value?))).chain(fields.iter().copied());
    let all = all.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let target = arguments.target.as_deref().unwrap_or_else(|| OsStr::new("/"));
    let line = [b"GET", target.as_encoded_bytes()];
    Ok(Some(RequestHead::from_parts(line, None, HttpVersion::Http11, Body::None, all)))
}

/// Reads a request as it stands on the wire, or in a file with the line ends of an editor.
fn read(path: &Path) -> Result<RequestHead, VerbFailure> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|error| VerbFailure::at(path, error))?;
    let head: Vec<&[u8]> = bytes.lines().take_while(|line| !line.is_empty()).collect();
    let mut whole = [&head.join(&b"\r\n"[..])[..], b"\r\n\r\n"].concat();
    let fault = match HeadReader::new(LIMITS).read(&mut whole) {
        Ok(Some(head)) => return Ok(head),
        Ok(None) => "it has no request line and header fields of HTTP/1.1".to_owned(),
        Err(fault) => format!("expected a request of HTTP/1.1: {}", fault.as_str()),
    };
    Err(VerbFailure::at(path, fault))
}

/// Who signed the request, and every step of finding out. Its host is `host` unless it names one. Its scheme is https unless
/// its target says otherwise; where the other one is what was signed, that is told.
pub(super) fn signer(
    policy: &Policy,
    head: &RequestHead,
    host: &str,
) -> (Option<VerifiedSignature>, Vec<String>) {
    if !head.is_signed {
        let step = "the request is not signed: it has no field Signature-Input".to_owned();
        return (None, vec![step]);
    }
    let is_plain = head.target().get(..7).is_some_and(|start| start.eq_ignore_ascii_case(b"http://"));
    let (scheme, other) = if is_plain { ("http", "https") } else { ("https", "http") };
    let fields: Vec<_> = head.fields().collect();
    let target = origin_form(head.target()).unwrap_or_default();
    let authority = head.text("host").or_else(|| host::of_target(head.target())).unwrap_or(host);
    let of = |scheme| {
        let (method, target, fields) = (head.method(), &*target, &fields);
        let message = SignedMessage { method, scheme, authority, target, fields };
        explain_signature(&message, SystemTime::now(), |agent| policy.evidence.keys(agent))
    };
    let (outcome, mut steps) = of(scheme);
    let (verified, step) = match (outcome, of(other).0) {
        (Err(SignatureFault::Mismatch), Ok(verified)) => {
            let step = format!("as a request over {other} it is verified: that scheme was signed");
            (Some(verified), Some(step))
        }
        (Ok(verified), Err(SignatureFault::Mismatch)) => {
            let step = format!(
                "the scheme {scheme} was signed: a gateway that takes such a request over {other} verifies it only if the \
                 proxy in front is in `trusted_proxies` and sends X-Forwarded-Proto"
            );
            (Some(verified), Some(step))
        }
        (outcome, _) => (outcome.ok(), None),
    };
    steps.extend(step);
    (verified, steps)
}
