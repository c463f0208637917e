//! Several gateways as one: what members of a fleet tell each other by way of a database.
//!
//! The store in the state folder stays the truth of its gateway, and no request ever waits for the database, or asks it.
//! One thread with a bounded memory does all of this. Each part of it may fail at any time without harm to what is served.
//! Once a second it sends a *beat* (`beat`): one question to the database, which says that its gateway lives and what it
//! serves, and whose answer has all that is new. A member with news of its own speaks at once. A *stamp* is a number that the
//! database gives to whatever happens to members, in the order in which it commits.
//!
//! The other side of this in the gateway is the [`Reloader`](crate::policy::Reloader), which `exchange` asks what is served here
//! and tells what is served elsewhere.
//!
//! **Counts.** The store puts each batch that it writes into its outbox, in the same transaction. The outbox is known by
//! the id of its store, and its pieces by their numbers. The database keeps a *mark* for each store: the last piece that was
//! counted. `take` adds the counts of a batch and moves the mark behind it, in one statement. It adds nothing where the mark
//! does not stand just before the batch. After any interruption the member reads the mark and goes on from there. Where a
//! standby or a backup of the database lost something, its mark is older, too; pieces are kept for a day after they were
//! taken, so the member can send them again. A store that was lost begins with a new id. A store that was copied back from
//! a backup has another batch where the mark stands, or none; it takes a new id, too.
//!
//! **Versions.** A member says its rows: which files it serves or is about to serve, and what it served until how long ago; and
//! up to which stamp it knows what the others say (`applied`). Each takes the rows of the others up into its own document.
//! Stamps of a database that was promoted are later than all before. A member serves a new version once the `applied` of
//! all others is past the stamp of its own announcement. By then the others have it in their rows as served by somebody. So a
//! crawler that reads it from one member is taken to hold it at all of them. A version is replaced for a member when that
//! member learns that the last one has ceased to serve it: later than the truth, never earlier. Who was away, or is new,
//! learns how long ago that was.
//!
//! **Reads** come with the counts. Each carries a stamp that had been given before it. By such a read, other members take a
//! version for no longer held only where it was replaced before that stamp. A read that a member does not know of only
//! excuses the crawler.
//!
//! **Leases.** Others wait for a member for `lease` after its last beat. They measure that by their own clocks, and so does
//! the member itself, from the moment at which it began to ask; no time of day is ever compared. A member whose lease has
//! run out goes on refusing what the version in force forbids, and accuses nobody (`stale`, `waived`). It joins again when
//! the database answers. Then, like every new member, it accuses nobody until it knows what the others serve, and for
//! `settle` longer. A standby that takes over within that time may not know yet that the member joined.
//!
//! **Generations.** What is published is a row: a whole document of robots.txt and modes, signed where `publisher_key`
//! asks for that. A member takes one that is newer than its own, keeps it in its state folder, and loads it as it loads a
//! file that changed: so its robots.txt is announced, too.
//!
//! **Starts.** A gateway that starts goes on with the file that it served last, and announces another one as after a
//! reload. One that comes to a fleet begins with the last generation, so that no older file of its own is announced.
//!
//! **What is left.** A gateway without a past that starts while the database cannot be asked serves its file all the
//! same, and says so. A member that is cut off for longer than `notice` goes on serving what the others
//! count as replaced.

mod beat;
mod connect;
mod error;
mod exchange;
mod members;
mod membership;
mod outbox;
mod publish;
mod reads;
mod report;
mod setup;
mod signature;
mod tls;

pub use connect::faults;
pub use error::FleetError;
pub use members::{FleetMember, FleetOverview, forget, overview};
pub use membership::{Fleet, FleetStatus};
pub use publish::{publish, published};
pub use report::counts;
pub use setup::{SetUp, set_up};
pub use signature::PublisherKey;
pub use tls::read_system_authorities;

use std::future::Future;

/// Runs one question to the database to its end, for a command.
pub(crate) fn now<T>(question: impl Future<Output = Result<T, FleetError>>) -> Result<T, FleetError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| FleetError::Local(format!("cannot ask the database: {error}")))?;
    let answer = runtime.block_on(question);
    // A name that is being looked up is not waited for.
    runtime.shutdown_background();
    answer
}
