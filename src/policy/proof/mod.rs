//! Whether a client is the crawler it says it is: proof by its address, or by its signature.
//!
//! Three methods, all from the catalogue: the address ranges that an operator publishes, forward-confirmed reverse DNS,
//! and signatures by the keys that an agent publishes. The first two are joined in `prove`; a signature is
//! verified before, and joined with them in `policy::judge`. [`Evidence`] is what a policy generation knows, with the ranges of the
//! files as they are now; [`Prover`] outlives generations and remembers what name servers said. A request
//! takes the answer that is there: questions to name servers run beside it, and help later requests.
//!
//! A client is contradicted only where that is beyond reasonable doubt: its address is a public one and
//! no trusted proxy's, nothing shows that it is itself a proxy, every method that is configured said no,
//! and ranges, if they were asked, are recent. Everything else that is not confirmed is unchecked.

mod answer;
mod directory;
mod dns;
mod evidence;
mod memory;
mod prover;
mod signatures;

pub use directory::KeyDirectory;
pub(super) use directory::KeySet;
pub use evidence::{Evidence, OwnAddresses, RangeList};
pub use memory::QuestionCounts;
pub use prover::{Claim, Prover, explain_proof, name_server_doubt};
