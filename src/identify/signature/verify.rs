//! From a request's fields to who signed it.
//!
//! What costs little is asked first: the fields, the time, the components, whether the agent and its key are known, and
//! whether more may be looked at. Only then is the signature base built and the signature verified.

use super::base::signature_base;
use super::fault::SignatureFault;
use super::field::{self, Dictionary, InnerList, Item, ListEntry};
use super::key::PublicKey;
use super::message::{SignatureAgent, SignedMessage};
use super::parameters::{SignatureParameters, tag};
use crate::identify::classify::{NoTrace, Trace};
use std::collections::HashMap;
use std::time::SystemTime;

/// The tag of signatures that identify agents.
const TAG: &str = "web-bot-auth";

/// How many signatures of one request are looked at.
const MOST_SIGNATURES: usize = 4;

/// The keys of one agent, by their thumbprints; `None` where none were fetched yet.
pub type AgentKeys = Option<HashMap<Box<str>, PublicKey>>;

/// A signature that is right but for the mathematics, which are left to whoever bounds the work.
#[derive(Clone, Copy, Debug)]
pub struct SignedStatement<'a> {
    /// Who is said to have signed.
    pub agent: &'a SignatureAgent,
    /// By which key.
    pub key: &'a PublicKey,
    /// The signature.
    pub signature: &'a [u8],
    message: &'a SignedMessage<'a>,
    input: &'a InnerList,
}

impl SignedStatement<'_> {
    /// What was signed.
    ///
    /// # Errors
    /// Where a component that is covered is not there, or not known.
    pub fn base(&self) -> Result<Vec<u8>, SignatureFault> {
        signature_base(self.message, self.input)
    }

    /// Whether the statement's key made its signature.
    ///
    /// # Errors
    /// When it did not, or when that was not found out.
    pub fn verify(&self) -> Result<(), SignatureFault> {
        let is_right = self.key.has_signed(&self.base()?, self.signature);
        if is_right { Ok(()) } else { Err(SignatureFault::Mismatch) }
    }
}

/// A signature that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedSignature {
    /// Who signed.
    pub agent: SignatureAgent,
    /// The thumbprint of the key.
    pub keyid: Box<str>,
    /// Whether it covers the whole target, query and all. One that does not could be sent again with another target
    /// by whoever saw it.
    pub covers_target: bool,
}

/// What is known of a request's signatures: the first that is right, or what is wrong with the first.
pub type SignatureOutcome = Result<VerifiedSignature, SignatureFault>;

/// Who signed `message`. `keys` knows the agents; `None` for one that nobody named. `check` verifies, or knows already.
///
/// # Errors
/// What is wrong with the first signature, where none is right.
pub fn verify_signature<'k>(
    message: &SignedMessage<'_>,
    now: SystemTime,
    keys: impl Fn(&SignatureAgent) -> Option<&'k AgentKeys>,
    mut check: impl FnMut(&SignedStatement<'_>) -> Result<(), SignatureFault>,
) -> SignatureOutcome {
    SignatureExamination { message, now: Some(now), keys: &keys, check: &mut check }.outcome(&mut NoTrace)
}

/// The same with every step, as sentences: lower case, without a full stop. However much there is of it, it is verified.
pub fn explain_signature<'k>(
    message: &SignedMessage<'_>,
    now: SystemTime,
    keys: impl Fn(&SignatureAgent) -> Option<&'k AgentKeys>,
) -> (SignatureOutcome, Vec<String>) {
    let mut steps = Vec::new();
    let check = &mut |statement: &SignedStatement<'_>| statement.verify();
    let mut examination = SignatureExamination { message, now: Some(now), keys: &keys, check };
    let outcome = examination.outcome(&mut steps);
    // One mistake hides no other: a request that was kept to be looked at has expired by then.
    if let Err(SignatureFault::Expired | SignatureFault::FromTheFuture) = outcome {
        steps.push("as of the moment when it was created:".to_owned());
        examination.now = None;
        let _: SignatureOutcome = examination.outcome(&mut steps);
    }
    (outcome, steps)
}

struct SignatureExamination<'m, 'k> {
    message: &'m SignedMessage<'m>,
    /// When; `None` at the moment when each signature was created.
    now: Option<SystemTime>,
    keys: &'m dyn Fn(&SignatureAgent) -> Option<&'k AgentKeys>,
    check: &'m mut dyn FnMut(&SignedStatement<'_>) -> Result<(), SignatureFault>,
}

impl SignatureExamination<'_, '_> {
    fn outcome(&mut self, trace: &mut impl Trace) -> SignatureOutcome {
        let outcome = self.first_right(trace);
        if let Err(fault) = outcome {
            trace.note(|| format!("signature {} ({fault}): {}", fault.kind(), fault.sentence()));
        }
        outcome
    }

    fn first_right(&mut self, trace: &mut impl Trace) -> SignatureOutcome {
        let message = self.message;
        let field = |name| message.field(name).unwrap_or_default();
        let inputs: Dictionary = field::parse(&field("signature-input"))?;
        let signatures: Dictionary = field::parse(&field("signature"))?;
        let agents = agents(&field("signature-agent"));
        let mut first = Err(SignatureFault::WrongTag);
        let lists = inputs.iter().filter_map(|(label, entry)| Some((label.as_str(), field::list(entry)?)));
        for (place, (label, input)) in lists.filter(|(_, input)| tag(input) == Some(TAG)).enumerate() {
            if place >= MOST_SIGNATURES {
                return first.map_err(|_: SignatureFault| SignatureFault::TooMany);
            }
            trace.note(|| format!("signature `{label}` has the tag \"{TAG}\""));
            match self.one((label, input), signatures.get(label), &agents, trace) {
                Ok(verified) => return Ok(verified),
                fault if place == 0 => first = fault,
                _ => {}
            }
        }
        first
    }

    fn one(
        &mut self,
        (label, input): (&str, &InnerList),
        signature: Option<&ListEntry>,
        agents: &Result<Dictionary, SignatureFault>,
        trace: &mut impl Trace,
    ) -> SignatureOutcome {
        let parameters = SignatureParameters::of(input)?;
        self.now.map_or(Ok(()), |now| parameters.check_time(now))?;
        trace.note(|| "`created` and `expires` hold now".to_owned());
        let signature = signature.and_then(field::item).and_then(|item| item.bare_item.as_byte_sequence());
        let signature = signature.ok_or(SignatureFault::MissingSignature)?;
        let covers = |names: &[&str]| {
            input.items.iter().any(|item| field::text(item).is_some_and(|text| names.contains(&text)))
        };
        if !covers(&["@authority", "@target-uri"]) {
            return Err(SignatureFault::AuthorityNotCovered);
        }
        let agent = covered_agent(agents.as_ref().map_err(|fault| *fault)?, label, input)?;
        trace.note(|| format!("it names the agent {}", agent.as_str()));
        let keys = (self.keys)(&agent).ok_or(SignatureFault::UnknownAgent)?;
        let keys = keys.as_ref().ok_or(SignatureFault::NoKeys)?;
        let key = keys.get(parameters.keyid).ok_or(SignatureFault::UnknownKey)?;
        trace.note(|| format!("its directory has the key {} ({})", parameters.keyid, key.algorithm_name()));
        if parameters.algorithm.is_some_and(|algorithm| algorithm != key.algorithm_name()) {
            return Err(SignatureFault::AlgorithmMismatch);
        }
        let statement = SignedStatement { agent: &agent, key, signature, message: self.message, input };
        trace.notes(|| {
            let base = statement.base().unwrap_or_default();
            let lines = base.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.map(|line| format!("signature base: {}", String::from_utf8_lossy(line))).collect()
        });
        (self.check)(&statement)?;
        // Rules match path and query. A signature of a path alone was perhaps made for a target that had a query, too.
        let covers_target =
            covers(&["@target-uri", "@request-target"]) || covers(&["@path"]) && covers(&["@query"]);
        trace.note(|| {
            let agent = agent.as_str();
            if covers_target {
                return format!("verified: {agent} signed this request");
            }
            format!(
                "verified: {agent} signed, but neither \"@path\" and \"@query\" nor \"@target-uri\": it names the \
                 client, and proves nothing of this request"
            )
        });
        Ok(VerifiedSignature { agent, keyid: parameters.keyid.into(), covers_target })
    }
}

/// The field `Signature-Agent`: a dictionary, or a bare string in its older form, which is taken for its only member. A
/// signature that covers a member of that name cannot be checked.
fn agents(field: &[u8]) -> Result<Dictionary, SignatureFault> {
    let bare = sfv::key_ref("bare").to_owned();
    // The first byte tells them apart.
    match field.first() {
        None => Err(SignatureFault::NoAgent),
        Some(b'"') => Ok(Dictionary::from_iter([(bare, field::parse::<Item>(field)?.into())])),
        Some(_) => field::parse(field),
    }
}

/// The agent that the signature of this label covers the name of.
fn covered_agent(
    members: &Dictionary,
    label: &str,
    input: &InnerList,
) -> Result<SignatureAgent, SignatureFault> {
    let covering = || input.items.iter().filter(|item| field::text(item) == Some("signature-agent"));
    let is_whole = covering().any(|item| !item.params.contains_key("key"));
    let keys = || covering().filter_map(|item| item.params.get("key")?.as_string());
    let is_covered = |name: &str| is_whole || keys().any(|key| key.as_str() == name);
    let mut covered = members.iter().filter(|(name, _)| is_covered(name.as_str()));
    // Of several the signer's own is the one of its label.
    let own = match (covered.next(), covered.next()) {
        (Some((_, only)), None) => Some(only),
        _ => members.get(label).filter(|_| is_covered(label)),
    };
    let own = field::item(own.ok_or(SignatureFault::AgentNotCovered)?).ok_or(SignatureFault::NotAnOrigin)?;
    // Newer forms of the draft leave members with parameters alone, and older ones have the one that says what holds
    // without it.
    let is_directory = |name: &str, value: Option<&str>| name == "type" && value == Some("directory");
    let mut parameters = own.params.iter();
    if !parameters
        .all(|(name, value)| is_directory(name.as_str(), value.as_token().map(sfv::TokenRef::as_str)))
    {
        return Err(SignatureFault::DirectoryType);
    }
    field::text(own).and_then(SignatureAgent::parse).ok_or(SignatureFault::NotAnOrigin)
}
