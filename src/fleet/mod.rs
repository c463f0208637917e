//! Several gateways as one: what members of a fleet tell each other by way of a database.
//!
//! The store in the state folder stays the truth of its gateway, and no request ever waits for the database, or asks it.
//! One thread with a bounded memory does all of this; it tells the database that its gateway lives once a second (a
//! *beat*), and each part of it may fail at any time without harm to what is served. A beat is one question, and its answer has
//! all that is new. Where others wait for a version, beats come at once and speak of versions alone: whoever is the last to
//! know of a version has the database wake those that wait.
//!
//! **Counts.** The store puts each batch that it writes into its outbox, in the same transaction. The outbox is known by
//! the id of its store, and its pieces by their numbers. The database keeps a *mark* for each store: `take` moves the mark
//! from the piece before a batch to its last one and adds the counts in one statement, and adds nothing where the mark
//! stands elsewhere. After any interruption the member reads the mark and goes on from there. A standby or a backup that
//! lost something has an older mark, too; pieces are kept for a day after they were taken, so that all are there. A store
//! that was lost begins a new id. One that was copied back from a backup has another batch where the mark stands, or none,
//! and does so, too.
//!
//! **Versions.** A member says which files it serves or is about to serve (`tables`), and up to where it knows what the
//! others say (`applied`). Everything that happens to members gets a *stamp*, a number in the order in which the database
//! commits; those of a database that was promoted are later than all before. A member serves a new version once the
//! `applied` of all others is past the stamp of its word. By then the others have it in their ledgers as served by somebody,
//! so that a crawler that reads it can hold it everywhere. It is replaced for a member when that learns that the last one
//! has ceased to serve it: later than the truth, never earlier.
//!
//! **Reads** come with the counts. Each carries a stamp that had been given before it. Others let go of a version by such
//! a read only where the version was replaced before that stamp. A read that is not known only excuses.
//!
//! **Pace.** Once a second a member tells which windows of crawlers are filling, in one row of its own, and reads those of the
//! others. Nothing of it has to last.
//!
//! **Leases.** Others wait for a member for `lease` after its last beat. They measure that by their own clocks, and so does
//! the member itself, from the moment at which it began to ask; no time of day is ever compared. A member whose lease has
//! run out goes on refusing what the version in force forbids, and accuses nobody (`stale`, `waived`). It joins again when the
//! database answers, and then, as any member that is new, accuses nobody until it knows what the others serve, and for
//! `settle` longer: as long as a standby may have lost its being there.
//!
//! **Generations.** What is published is a row: a whole document of robots.txt and modes, signed where `publisher_key`
//! asks for that. A member takes one that is newer than its own, keeps it in its state folder, and loads it as it loads a
//! file that changed: so its robots.txt is announced, too.
//!
//! **Starts.** A gateway that starts goes on with the file that it served last, and announces another one as after a
//! reload.
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
mod pace;
mod publish;
mod reads;
mod report;
mod setup;
mod signature;
mod tls;

pub use error::FleetError;
pub use members::{FleetMember, FleetOverview, forget, overview};
pub use membership::{Fleet, FleetStatus};
pub use publish::{publish, published};
pub use report::{FleetCounts, counts};
pub use setup::{SetUp, set_up};
pub use signature::PublisherKey;
pub use tls::read_system_authorities;

use std::future::Future;

/// Runs one question to the database to its end, for a command.
pub(crate) fn now<T>(question: impl Future<Output = Result<T, FleetError>>) -> Result<T, FleetError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime
        .map_err(|error| FleetError::Local(format!("cannot ask the database: {error}")))?
        .block_on(question)
}
