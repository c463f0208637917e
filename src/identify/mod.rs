//! Who is asking: from a `User-Agent` (RFC 9110 §10.1.5) to an [`Identity`].
//!
//! One pass of one automaton over the bytes, a few rules, a bounded cache. The
//! answer is what a client *says* it is. RFC 9309 §2.2.1 has crawlers put their
//! product token into the identification string they send; this stage finds it.
//! `classify.rs` decides. When in doubt, a client is a browser or an app.
//!
//! Pure apart from its cache: no clock, no I/O, no log, no configuration. Not
//! here: whether the claim is true, and what follows from it.
//!
//! - [`RecognitionData`]: the catalogue and the word lists, as plain data.
//! - [`Identifier`]: recognises, remembers, explains.
//! - [`OperatorTokens`]: what a site's own robots.txt adds.

mod cache;
mod catalogue;
mod classify;
mod header;
mod identifier;
mod identity;
mod operator_tokens;
mod person;
mod purpose;
mod scan;
mod second_opinion;
mod shape;
mod sign;
pub mod signature;
mod words;

pub use catalogue::{Card, Catalogue, ControlToken, Crawler, Obeys, TokenBasis, Verify, token_is_legal};
pub(crate) use classify::{NoTrace, Trace};
pub use identifier::Identifier;
pub use identity::{Basis, ClientKind, Identity, KnownProof, Proof, ProofMethod, Recognised};
pub use operator_tokens::OperatorTokens;
pub use purpose::{Purpose, PurposeSet, UnknownWord, known_word, nearest_first};
pub use shape::browser_family;
pub use sign::Sign;
pub use words::{Mark, RecognitionData, Words};
