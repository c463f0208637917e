//! Who signed a request: HTTP Message Signatures (RFC 9421) as agents send them
//! (draft-ietf-webbotauth-httpsig-protocol, "Web Bot Auth").
//!
//! A signed request has three fields. `Signature-Input` says what was signed, by which key and for how long,
//! `Signature` holds the signatures, and `Signature-Agent` says where the keys are published. [`verify_signature`] takes a
//! request, the keys that are known and the time, and says which agent signed it, or what is wrong.
//!
//! Pure: keys are looked up, never fetched, and the time is an argument. Not here: fetching keys, remembering
//! results and bounding the work (`policy::proof`), and what follows for the client's identity.

mod base;
mod fault;
mod field;
mod key;
mod message;
mod parameters;
#[cfg(test)]
mod tests;
mod verify;

pub use fault::{SignatureFault, SignatureOutcomeKind};
pub use key::{KeyFault, PublicKey, has_signed_file};
pub use message::{FieldLine, SignatureAgent, SignedMessage};
pub use verify::{
    AgentKeys, SignatureOutcome, SignedStatement, VerifiedSignature, explain_signature, verify_signature,
};
