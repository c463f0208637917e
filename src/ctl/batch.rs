//! `gatewayctl explain --batch`: JSON lines in, JSON lines out, in order.
//!
//! A line with a `token` asks the RFC 9309 matcher alone, target as given; one with a `user_agent` goes
//! through the whole pipeline. A line that cannot be read is answered too, and makes the exit code 2.

use super::args::{Cli, ExplainArgs};
use super::explain::{facts, judge_trial, ruling};
use super::output::Output;
use super::which_config::TrialPolicy;
use super::{VerbFailure, VerbOutcome, VerbResult};
use crate::decide::Ruling;
use crate::identify::Proof;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::{BufRead as _, BufReader};
use std::iter::once;
use std::path::Path;

pub(super) fn run(cli: &Cli, arguments: &ExplainArgs, output: &mut Output<'_>) -> VerbResult {
    let trial = TrialPolicy::load(cli, arguments, None)?;
    // Bytes, since a line need not be UTF-8.
    let questions = arguments.batch.as_deref().unwrap_or_else(|| Path::new("-"));
    let mut questions = BufReader::new(super::open(questions)?);
    let (mut line, mut unreadable) = (Vec::new(), 0_u64);
    while questions.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            let (id, answer) = answer(&trial, line.trim_ascii());
            let answer = answer.unwrap_or_else(|error| {
                unreadable += 1;
                Map::from_iter([("error".to_owned(), error.into())])
            });
            let id = ("id".to_owned(), id);
            output.json(&once(id).chain(answer).collect::<Map<_, _>>())?;
        }
        line.clear();
        // Who asks line by line waits for the answer before the next.
        if questions.buffer().is_empty() {
            output.flush()?;
        }
    }
    match unreadable {
        0 => Ok(VerbOutcome::Fine),
        count => {
            output.flush()?;
            Err(VerbFailure(format!("{count} lines could not be read")))
        }
    }
}

/// The id of the question in a line, and the answer, or why there is none.
fn answer(trial: &TrialPolicy, line: &[u8]) -> (Value, Result<Map<String, Value>, String>) {
    let question: Value = match serde_json::from_slice(line) {
        Ok(question) => question,
        Err(error) => return (Value::Null, Err(format!("no JSON: {error}"))),
    };
    let id = question.get("id").cloned().unwrap_or_default();
    (id, if question.is_object() { judge(trial, &question) } else { Err("no JSON object".to_owned()) })
}

fn judge(trial: &TrialPolicy, question: &Value) -> Result<Map<String, Value>, String> {
    let robots = bytes(question, "robots")?;
    if robots.is_none() && !trial.has_rules {
        return Err("no `robots` in the line, and neither --robots nor --config".to_owned());
    }
    let (user_agent, sent) = (bytes(question, "user_agent")?, bytes(question, "target")?);
    let sent = sent.ok_or("missing field `target`")?;
    let brought = robots.map(|robots| trial.judging_by(&robots));
    let site = brought.as_ref().unwrap_or(&trial.site);
    match (text(question, "token")?, user_agent) {
        (Some(_), Some(_)) => Err("give either `token` or `user_agent`".to_owned()),
        // RFC 9309 §2.2 alone: one product token, the target as given.
        (Some(token), None) => {
            let judgement = site.rules.current().robots.judge(&[&token], true, &sent);
            let (allows, reason) = (judgement.allow, judgement.reason.as_str());
            let mut answer = ruling(allows, reason, Ruling::of(&judgement).as_ref(), None);
            answer.insert("tokens".to_owned(), json!([token]));
            Ok(answer)
        }
        (None, user_agent) => {
            let facts = facts(&trial.host, &sent, user_agent.as_deref(), None)?;
            let judged = judge_trial(&trial.policy, site, &facts, None, None, Proof::Unchecked);
            let (who, verdict) = (Some(&*judged.identity), &judged.verdict);
            Ok(ruling(verdict.allows(), verdict.reason.as_str(), verdict.ruling.as_ref(), who))
        }
    }
}

/// The bytes of a field that may come as text or, with `_b64` behind its name, as base64.
fn bytes(question: &Value, name: &str) -> Result<Option<Vec<u8>>, String> {
    match (text(question, name)?, text(question, &format!("{name}_b64"))?) {
        (Some(_), Some(_)) => Err("a field is given twice, as text and as base64".to_owned()),
        (Some(text), None) => Ok(Some(text.into_bytes())),
        (None, Some(base64)) => {
            STANDARD.decode(base64).map(Some).map_err(|error| format!("a field in base64: {error}"))
        }
        (None, None) => Ok(None),
    }
}

fn text(question: &Value, name: &str) -> Result<Option<String>, String> {
    Option::deserialize(question.get(name).unwrap_or(&Value::Null)).map_err(|error| error.to_string())
}
