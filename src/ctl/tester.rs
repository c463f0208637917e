//! What an operator tries on the page of a running gateway: a request as `explain` takes it, and a robots.txt as `lint` does.

use super::explain::{explain, facts};
use super::which_config::TrialPolicy;
use super::{lint, logs};
use crate::ctl::args::Format;
use crate::ctl::output::Output;
use crate::policy::{Policy, RobotsFile};
use crate::request::{RequestFacts, host};
use askama::Template as _;
use std::borrow::Cow;
use std::net::IpAddr;
use std::path::Path;

/// What is tried. What is empty is not given.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(default)]
pub struct TesterInput {
    /// The header of the client.
    pub user_agent: String,
    /// What it asks for.
    pub target: String,
    /// From where.
    pub address: String,
    /// Of which host.
    pub host: String,
    /// A line of an access log in place of these.
    pub line: String,
    /// A robots.txt in place of the site's.
    pub robots: String,
}

impl TesterInput {
    /// What `explain` says under `policy`, or why it says nothing; `None` where no request is given.
    pub fn explanation(&self, policy: &Policy) -> Option<String> {
        let has_request = !self.target.is_empty() || !self.user_agent.is_empty() || !self.line.is_empty();
        has_request.then(|| self.explained(policy).unwrap_or_else(|why| why))
    }

    fn explained(&self, policy: &Policy) -> Result<String, String> {
        let (batch, end) = logs::read_line(self.line.trim().as_bytes());
        let entry = batch.entries().next();
        if entry.is_none() && !self.line.is_empty() {
            let told = end.example.unwrap_or_else(|| "expected a request".to_owned());
            return Err(format!("the line of a log cannot be read: {told}"));
        }
        let address = Some(self.address.trim()).filter(|text| !text.is_empty()).map(|text| {
            text.parse::<IpAddr>()
                .map_err(|_| format!("invalid address `{text}`: expected one such as 192.0.2.7"))
        });
        let (address, agent) =
            (address.transpose()?, Some(self.user_agent.as_bytes()).filter(|agent| !agent.is_empty()));
        let target = if self.target.is_empty() { "/" } else { &self.target };
        let facts = match &entry {
            Some(entry) => entry.facts().ok_or("the request of that line names no path")?,
            None => facts("", target.as_bytes(), agent, address)?,
        };
        let named = if self.host.is_empty() { facts.host.clone() } else { host::normalise(self.host.trim()) };
        let site = if named.is_empty() { policy.sites().first() } else { policy.site(&named) };
        let site = site.ok_or_else(|| format!("no site serves `{named}`"))?;
        let named = if named.is_empty() { Cow::Borrowed(&*site.config.name) } else { named };
        let (host, facts) = (named.clone().into_owned(), RequestFacts { host: named, ..facts });
        let mut trial = TrialPolicy { policy: policy.clone(), site: (**site).clone(), host, has_rules: true };
        if !self.robots.is_empty() {
            trial.site = trial.judging_by(self.robots().as_bytes());
        }
        explain(&trial, &facts, None, None, None).render().map_err(|error| error.to_string())
    }

    /// The robots.txt as it is in a file: a form sends other line ends.
    fn robots(&self) -> String {
        self.robots.replace("\r\n", "\n")
    }

    /// What `lint` says of the robots.txt, where one is given.
    pub fn findings(&self) -> Option<String> {
        if self.robots.is_empty() {
            return None;
        }
        let file = RobotsFile::of(Path::new("robots.txt"), self.robots().into_bytes());
        let mut text = Vec::new();
        let mut output = Output::new(Format::Text, false, &mut text);
        // Writing to memory cannot fail.
        let _ = lint::print_all(&file, &lint::findings(&file), &mut output).and_then(|()| output.flush());
        drop(output);
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}
