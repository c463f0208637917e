//! `gatewayctl explain --batch`: JSON lines in, JSON lines out, in order.
//!
//! A line with a `token` asks the RFC 9309 matcher alone, target as given; one with a `user_agent` goes
//! through the whole pipeline. A line that cannot be read is answered too, and makes the exit code 2.

use super::args::{Cli, ExplainArgs};
use super::explain::{ExplainAnswer, facts, invalid_target, judge_trial};
use super::output::Output;
use super::which_config::TrialPolicy;
use super::{VerbFailure, VerbOutcome, VerbResult};
use crate::decide::Ruling;
use crate::identify::Proof;
use crate::policy::Site;
use crate::record::printable;
use crate::request::target::RequestTarget;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

/// One question.
#[derive(Debug, Deserialize)]
struct BatchQuestion {
    robots: Option<String>,
    robots_b64: Option<String>,
    token: Option<String>,
    user_agent: Option<String>,
    user_agent_b64: Option<String>,
    target: Option<String>,
    target_b64: Option<String>,
}

#[derive(Serialize)]
struct BatchAnswer {
    id: Value,
    #[serde(flatten)]
    answer: ExplainAnswer,
}

pub(super) fn run(cli: &Cli, arguments: &ExplainArgs, output: &mut Output<'_>) -> VerbResult {
    let trial = TrialPolicy::load(cli, arguments, None)?;
    // Bytes, since a line need not be UTF-8.
    let questions = arguments.batch.as_deref().unwrap_or_else(|| Path::new("-"));
    let mut questions = BufReader::new(super::open(questions)?);
    let (mut line, mut unreadable) = (Vec::new(), 0_u64);
    while questions.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            match answer(&trial, line.trim_ascii()) {
                (id, Ok(answer)) => output.json(&BatchAnswer { id, answer })?,
                (id, Err(error)) => {
                    unreadable += 1;
                    output.json(&json!({ "id": id, "error": error }))?;
                }
            }
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
fn answer(trial: &TrialPolicy, line: &[u8]) -> (Value, Result<ExplainAnswer, String>) {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return (Value::Null, Err(format!("no JSON: {error}"))),
    };
    let id = value.get("id").cloned().unwrap_or_default();
    let is_object = value.is_object();
    (id, if is_object { judge(trial, value) } else { Err("no JSON object".to_owned()) })
}

fn judge(trial: &TrialPolicy, question: Value) -> Result<ExplainAnswer, String> {
    let question: BatchQuestion = serde_json::from_value(question).map_err(|error| error.to_string())?;
    let robots = bytes(question.robots.as_deref(), question.robots_b64.as_deref())?;
    if robots.is_none() && !trial.has_rules {
        return Err("no `robots` in the line, and neither --robots nor --config".to_owned());
    }
    let user_agent = bytes(question.user_agent.as_deref(), question.user_agent_b64.as_deref())?;
    let sent = bytes(question.target.as_deref(), question.target_b64.as_deref())?;
    let sent = sent.ok_or("missing field `target`")?;
    let brought = robots.map(|robots| trial.judging_by(&robots));
    let site = brought.as_ref().unwrap_or(&trial.site);
    match (&question.token, user_agent) {
        (Some(_), Some(_)) => Err("give either `token` or `user_agent`".to_owned()),
        (Some(token), None) => Ok(judge_by_token(site, token, &sent)),
        (None, user_agent) => {
            let facts = facts(&trial.host, &sent, user_agent.as_deref(), None);
            let facts = facts.ok_or_else(|| invalid_target(&printable(&sent)))?;
            let target = RequestTarget::new(&facts.target, site.config.path_parameters);
            let proof = Proof::Unchecked;
            let judged = judge_trial(&trial.policy, site, &facts, &target, None, None, proof);
            Ok(ExplainAnswer::of(&judged))
        }
    }
}

/// The bytes of a field that may come as text or as base64.
fn bytes(text: Option<&str>, base64: Option<&str>) -> Result<Option<Vec<u8>>, String> {
    match (text, base64) {
        (Some(_), Some(_)) => Err("a field is given twice, as text and as base64".to_owned()),
        (Some(text), None) => Ok(Some(text.as_bytes().to_vec())),
        (None, Some(base64)) => {
            STANDARD.decode(base64).map(Some).map_err(|error| format!("a field in base64: {error}"))
        }
        (None, None) => Ok(None),
    }
}

/// RFC 9309 §2.2 alone: one product token, the target as given.
fn judge_by_token(site: &Site, token: &str, target: &[u8]) -> ExplainAnswer {
    let judgement = site.rules.current().robots.judge(&[token], true, target);
    let ruling = Ruling::of(&judgement);
    ExplainAnswer {
        tokens: vec![token.to_owned()],
        ..ExplainAnswer::of_rules(judgement.allow, judgement.reason.as_str(), ruling.as_ref())
    }
}
