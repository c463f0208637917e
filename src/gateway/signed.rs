//! Who signed a request: what of it was signed, handed to what verifies it.

use crate::http::RequestHead;
use crate::identify::signature::{SignedMessage, VerifiedSignature};
use crate::policy::{Policy, Prover};
use crate::request::{RequestFacts, host};
use std::time::SystemTime;

/// What a refusal asks whoever sent the request to sign (RFC 9421 §5): what proves this very request to be its own.
pub(super) const ACCEPT_SIGNATURE: &str = "sig1=(\"@method\" \"@authority\" \"@path\" \"@query\" \
     \"signature-agent\";key=\"sig1\");created;expires;keyid;tag=\"web-bot-auth\"";

/// Who signed a request, where that is beyond doubt. One that nobody signed costs a look at a flag.
pub(super) fn signer(
    (prover, policy): (&Prover, &Policy),
    head: &RequestHead,
    facts: &RequestFacts<'_>,
    is_new: bool,
    now: SystemTime,
) -> Option<VerifiedSignature> {
    if !head.is_signed {
        return None;
    }
    let fields: Vec<_> = head.fields().collect();
    let message = SignedMessage {
        method: facts.method,
        scheme: facts.scheme.as_str(),
        authority: head.text("host").or_else(|| host::of_target(head.target())).unwrap_or_default(),
        target: &facts.target,
        fields: &fields,
    };
    prover.signature(policy, &message, facts.address, is_new, now)
}
