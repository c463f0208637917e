//! `gatewayctl explain --batch`: JSON lines in, JSON lines out, in order.
//!
//! A line with a `token` asks the RFC 9309 matcher alone, target as given; one with a `user_agent` goes
//! through the whole pipeline. A line that cannot be read is answered too, and makes the exit code 2.

use super::args::{Cli, ExplainArgs};
use super::explain::{ExplainAnswer, facts, judge_trial};
use super::output::Output;
use super::trial::TrialPolicy;
use super::{VerbFailure, VerbOutcome, VerbResult};
use crate::identify::Proof;
use crate::policy::Site;
use crate::record::printable;
use crate::request::target::RequestTarget;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

/// One question.
#[derive(Debug, Deserialize)]
struct BatchQuestion {
    robots: Option<String>,
    robots_b64: Option<String>,
    token: Option<String>,
    user_agent: Option<String>,
    user_agent_b64: Option<String>,
    target: String,
}

#[derive(Serialize)]
struct BatchAnswer {
    id: Value,
    #[serde(flatten)]
    answer: ExplainAnswer,
}

#[derive(Serialize)]
struct UnreadableQuestion {
    id: Value,
    error: String,
}

pub(super) fn run(cli: &Cli, arguments: &ExplainArgs, output: &mut Output<'_>) -> VerbResult {
    let mut batch = QuestionBatch { trial: TrialPolicy::load(cli, arguments, None)?, last: None };
    let mut questions = questions(arguments.batch.as_deref().unwrap_or_else(|| Path::new("-")))?;
    let (mut line, mut unreadable) = (Vec::new(), 0_u64);
    while questions.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            match batch.answer(line.trim_ascii()) {
                Ok(answered) => output.json(&answered)?,
                Err(error) => {
                    unreadable += 1;
                    output.json(&error)?;
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

/// A file, or standard input; bytes, since a line need not be UTF-8.
fn questions(path: &Path) -> Result<BufReader<Box<dyn Read>>, VerbFailure> {
    if path == Path::new("-") {
        return Ok(BufReader::new(Box::new(io::stdin())));
    }
    let file = File::open(path).map_err(|error| VerbFailure(format!("{}: {error}", path.display())))?;
    Ok(BufReader::new(Box::new(file)))
}

struct QuestionBatch {
    trial: TrialPolicy,
    /// The rules of the line before: most batches ask the same file many times.
    last: Option<(Vec<u8>, Site)>,
}

impl QuestionBatch {
    fn answer(&mut self, line: &[u8]) -> Result<BatchAnswer, UnreadableQuestion> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| UnreadableQuestion { id: Value::Null, error: format!("no JSON: {error}") })?;
        let id = value.get("id").cloned().unwrap_or_default();
        if !value.is_object() {
            return Err(UnreadableQuestion { id, error: "no JSON object".to_owned() });
        }
        let question: BatchQuestion = serde_json::from_value(value)
            .map_err(|error| UnreadableQuestion { id: id.clone(), error: error.to_string() })?;
        let unreadable = |error: String| UnreadableQuestion { id: id.clone(), error };
        let robots = bytes(question.robots.as_deref(), question.robots_b64.as_deref()).map_err(unreadable)?;
        if robots.is_none() && !self.trial.has_rules {
            return Err(unreadable("no `robots` in the line, and neither --robots nor --config".to_owned()));
        }
        let answer = self.judge_question(&question, robots).map_err(unreadable)?;
        Ok(BatchAnswer { id, answer })
    }

    fn judge_question(
        &mut self,
        question: &BatchQuestion,
        robots: Option<Vec<u8>>,
    ) -> Result<ExplainAnswer, String> {
        let user_agent = bytes(question.user_agent.as_deref(), question.user_agent_b64.as_deref())?;
        let trial = &self.trial;
        let site = match robots {
            None => &trial.site,
            Some(robots) => {
                let known = self.last.take().filter(|(bytes, _)| *bytes == robots);
                let entry = known.unwrap_or_else(|| {
                    let site = trial.site.judging_by(&robots, &trial.limits);
                    (robots, site)
                });
                &self.last.insert(entry).1
            }
        };
        match (&question.token, user_agent) {
            (Some(_), Some(_)) => Err("give either `token` or `user_agent`".to_owned()),
            (Some(token), None) => Ok(judge_by_token(site, token, question.target.as_bytes())),
            (None, user_agent) => {
                let facts = facts(&trial.host, question.target.as_bytes(), user_agent.as_deref(), None)
                    .ok_or_else(|| {
                        format!(
                            "invalid request target `{}`: expected a path such as /private?x=1",
                            question.target
                        )
                    })?;
                let target = RequestTarget::new(&facts.target, site.config.path_parameters);
                Ok(ExplainAnswer::of(&judge_trial(
                    &trial.policy,
                    site,
                    &facts,
                    &target,
                    None,
                    None,
                    Proof::Unchecked,
                )))
            }
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
    let group = judgement.group.as_ref();
    ExplainAnswer {
        verdict: if judgement.allow { "allow" } else { "disallow" },
        client: None,
        crawler: None,
        tokens: vec![token.to_owned()],
        token: group.map(|group| group.matched().to_owned()),
        group: group.map_or_else(Vec::new, |group| group.tokens().into_iter().map(str::to_owned).collect()),
        line: judgement.rule.map(|rule| rule.line),
        source: judgement.rule.and_then(|rule| rule.source().map(str::to_owned)),
        rule: judgement.rule.map(|rule| printable(rule.text)),
        reason: judgement.reason.as_str(),
    }
}
