//! The sign of life of a member: what it says of itself, and what it is told of the others.
//!
//! The other end is the function `robots_gateway.beat` in `schema_1.sql`. It takes [`Beat`] and gives [`BeatAnswer`], both as
//! JSON.

use super::FleetError;
use super::connect::{PATIENCE, within};
use crate::policy::OwnWord;
use crate::record::{FleetWaiver, PastRows};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_postgres::{Client, Statement};

/// What a member says.
#[derive(Debug, Default, Serialize)]
pub(super) struct Beat {
    /// The id of its store, by which members are told apart.
    pub(super) store: String,
    /// Its name, for people.
    pub(super) name: String,
    /// Which process of it speaks: during an upgrade there are two.
    pub(super) process: String,
    /// Higher for the process that started later.
    pub(super) started: u64,
    /// The version of the program.
    pub(super) version: &'static str,
    /// For how many seconds the others wait for it after a beat.
    pub(super) lease: f64,
    /// Whether it becomes a member with this beat.
    pub(super) joins: bool,
    /// Up to this stamp it knows what the others say.
    pub(super) applied: u64,
    /// It cannot note what the others serve, and accuses nobody: nobody waits for it.
    pub(super) is_deaf: bool,
    /// The last generation of which all is in force here.
    pub(super) generation: i64,
    /// The document of a generation after this one is asked for.
    pub(super) taken: i64,
    /// News is asked for of reads that were noted in this transaction or a later one.
    pub(super) reads: u64,
    /// How many batches of counts wait in its outbox, and since when, in microseconds.
    pub(super) outbox: i64,
    pub(super) outbox_since: i64,
    /// A number for rows and waivers: where the database has the same one, nothing of these is news.
    pub(super) revision: i64,
    #[serde(flatten)]
    pub(super) own: OwnWord,
    /// The bytes of the files that it serves or is about to, in base64; sent only with news.
    pub(super) robots: BTreeMap<Box<str>, String>,
}

/// What a member is told.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BeatAnswer {
    /// Whether the database has it as a member: one whose lease has run out, or that was forgotten, has to join again.
    pub(super) is_member: bool,
    /// Another process of this gateway speaks for it.
    pub(super) is_replaced: bool,
    /// The last stamp that was given.
    pub(super) stamp: u64,
    /// How many beats the member gave.
    pub(super) beats: i64,
    /// The time of day there, in microseconds.
    pub(super) now: i64,
    /// The stamp at which what this member says last changed.
    pub(super) changed: u64,
    /// The revision of what the database has of this member.
    pub(super) revision: i64,
    /// The last piece of its outbox that was counted.
    pub(super) mark: i64,
    /// A digest of the batch that ended there: a store that was copied back has another one.
    pub(super) piece: Option<String>,
    /// The last generation that was published.
    pub(super) generation: i64,
    /// The last generation, where the member asked for it.
    pub(super) published: Option<PublishedDocument>,
    /// The transaction before which all have ended; a number that is larger than JSON's.
    pub(super) horizon: String,
    /// Whether there is news of reads at others from before that.
    pub(super) has_reads: bool,
    /// Up to where all others know; nothing where there are none.
    pub(super) floor: Option<u64>,
    /// Whom the member's last word has not reached.
    pub(super) behind: Vec<String>,
    /// Others whose word is new.
    pub(super) members: Vec<OtherMember>,
    /// Others of which nothing was heard for seconds: store, beats, how many seconds to wait for more, and whether nobody waits
    /// for it any more while what it served still counts.
    pub(super) silent: Vec<(String, i64, f64, bool)>,
}

/// What is published.
#[derive(Debug, Deserialize)]
pub(super) struct PublishedDocument {
    pub(super) document: String,
    pub(super) signature: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct OtherMember {
    pub(super) store: Box<str>,
    rows: PastRows,
    /// How many seconds ago it said that, and since when it serves nothing any more.
    said: f64,
    ended: Option<f64>,
    /// For how many seconds it remembers what it served.
    pub(super) notice: f64,
    #[serde(default)]
    pub(super) waived: Vec<FleetWaiver>,
}

impl OtherMember {
    /// What it serves or is about to serve, or may still serve where it is silent, and what it served. That ended a little
    /// later than it says: whoever read something else meanwhile knew stamps that are older here by as long as an answer takes.
    pub(super) fn rows(mut self) -> PastRows {
        let span = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let (said, ended) = (span(self.said), self.ended.map(span));
        let end = |ago: Option<Duration>| ago.map(|ago| ago.saturating_add(said)).or(ended);
        self.rows.reckon(|ago| end(ago).map(|ago| ago.saturating_sub(PATIENCE)));
        self.rows
    }
}

/// A number for what is said: another one for other words. 48 bits of a digest.
pub(super) fn revision(rows: &PastRows, waived: &[FleetWaiver]) -> i64 {
    let hosts = rows.0.iter().flat_map(|(pattern, host)| host.rows.iter().map(move |row| (pattern, row)));
    let rows: Vec<_> = hosts.map(|(pattern, row)| (pattern, &row.version, row.until.is_some())).collect();
    let text = serde_json::to_vec(&(rows, waived)).unwrap_or_default();
    let digest = Sha256::digest(text);
    digest.iter().take(6).fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

/// What a beat asks; prepared once for a connection.
pub(super) const BEAT: &str = "SELECT robots_gateway.beat($1::text::jsonb)::text";

/// Speaks.
pub(super) async fn beat(
    (client, question): (&Client, &Statement),
    said: &Beat,
) -> Result<BeatAnswer, FleetError> {
    let said = serde_json::to_string(said).map_err(|error| FleetError::Local(error.to_string()))?;
    let said = said.replace("\\u0000", "\\ufffd");
    let heard: String = within(client.query_one(question, &[&said])).await?.try_get(0)?;
    serde_json::from_str(&heard).map_err(|error| {
        FleetError::Local(format!("the database of the fleet answers what is not understood: {error}"))
    })
}
