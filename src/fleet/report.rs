//! What all members counted, for a report.

use super::FleetError;
use super::connect::{connect_to_schema, within};
use super::members::{micros, waiting};
use crate::config::FleetConfig;
use crate::record::{ExportedRows, FleetPart, SkippedCounts};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_postgres::{Client, IsolationLevel, Row};

/// The length of a day, in seconds: partitions are days, and a report may begin where one does.
const DAY: i64 = 86_400;

/// What the database has of a time.
#[derive(Debug)]
pub struct FleetCounts {
    /// The rows of all members.
    pub rows: ExportedRows,
    /// What is not among them.
    pub part: FleetPart,
}

/// Asks the database for all that was counted from `from` on, before `to`, and for all reads and versions. Whoever cannot
/// wait for as long as that takes says how long: the server gives up then, too.
///
/// # Errors
/// When it cannot be asked, or does not answer in time.
pub fn counts(
    config: &FleetConfig,
    from: SystemTime,
    to: SystemTime,
    limit: Option<Duration>,
) -> Result<FleetCounts, FleetError> {
    super::now(async {
        let asked = ask(config, from, to, limit);
        match limit {
            None => asked.await,
            Some(limit) => tokio::time::timeout(limit, asked).await.map_err(|_| FleetError::Silent(limit))?,
        }
    })
}

async fn ask(
    config: &FleetConfig,
    from: SystemTime,
    to: SystemTime,
    limit: Option<Duration>,
) -> Result<FleetCounts, FleetError> {
    let mut client = connect_to_schema(config, Arc::default()).await?;
    let part = FleetPart { outboxes: waiting(&client).await?, skipped: skipped(&client).await? };
    // All of one moment.
    let all = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = all.start().await?;
    let limit = limit.map_or(0, |limit| limit.as_millis());
    transaction.batch_execute(&format!("SET LOCAL statement_timeout = {limit}")).await?;
    let seconds = |time: SystemTime| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        i64::try_from(since).unwrap_or(i64::MAX / 2)
    };
    let (first, end) = (seconds(from) / DAY * DAY, (seconds(to) / DAY).saturating_add(2).saturating_mul(DAY));
    let mut rows = ExportedRows::default();
    who_and_what(transaction.client(), &mut rows).await?;
    sums(transaction.client(), &mut rows, first, end).await?;
    read_and_served(transaction.client(), &mut rows).await?;
    missing(transaction.client(), &mut rows).await?;
    Ok(FleetCounts { rows, part })
}

async fn skipped(client: &Client) -> Result<Vec<SkippedCounts>, FleetError> {
    let sql = "SELECT coalesce(name, store), (extract(epoch FROM skipped_at) * 1000000)::bigint
        FROM robots_gateway.writer LEFT JOIN robots_gateway.member USING (store) WHERE skipped > 0 ORDER BY 1";
    let of = |row: &Row| Ok(SkippedCounts { name: row.try_get(0)?, found: micros(row.try_get(1)?) });
    within(client.query(sql, &[])).await?.iter().map(of).collect()
}

fn text(row: &Row, column: usize) -> Result<Box<str>, FleetError> {
    Ok(row.try_get::<_, &str>(column)?.into())
}

fn count(row: &Row, column: usize) -> Result<u64, FleetError> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?).unwrap_or_default())
}

async fn who_and_what(client: &Client, rows: &mut ExportedRows) -> Result<(), FleetError> {
    let sql = "SELECT id::text, site, client, crawler, purpose, proof FROM robots_gateway.subject";
    for row in client.query(sql, &[]).await? {
        let words = [text(&row, 1)?, text(&row, 2)?, text(&row, 3)?, text(&row, 4)?, text(&row, 5)?];
        rows.subjects.insert(text(&row, 0)?, words);
    }
    let sql = "SELECT id::text, kind, action, notice, version, tokens, rule, proof_by, line FROM robots_gateway.decision";
    for row in client.query(sql, &[]).await? {
        let word = |column| text(&row, column);
        let words = [word(1)?, word(2)?, word(3)?, word(4)?, word(5)?, word(6)?, word(7)?];
        let line = u32::try_from(row.try_get::<_, i32>(8)?).unwrap_or_default();
        rows.decisions.insert(text(&row, 0)?, (words, line));
    }
    Ok(())
}

async fn sums(client: &Client, rows: &mut ExportedRows, first: i64, end: i64) -> Result<(), FleetError> {
    let sql = "SELECT span::bigint, start, subject::text, decision::text, sum(count)::bigint
        FROM robots_gateway.rollup WHERE start >= $1 AND start < $2 GROUP BY 1, 2, 3, 4";
    for row in client.query(sql, &[&first, &end]).await? {
        let key = (row.try_get(0)?, row.try_get(1)?, text(&row, 2)?, text(&row, 3)?);
        rows.rollups.push((key, count(&row, 4)?));
    }
    let sql = "SELECT span::bigint, start, subject::text, sum(bytes)::bigint
        FROM robots_gateway.sent WHERE start >= $1 AND start < $2 GROUP BY 1, 2, 3";
    for row in client.query(sql, &[&first, &end]).await? {
        let key = (row.try_get(0)?, row.try_get(1)?, text(&row, 2)?);
        rows.sent.push((key, count(&row, 3)?));
    }
    let sql = "SELECT min(day), subject::text, min(first), max(last) FROM robots_gateway.presence GROUP BY 2";
    for row in client.query(sql, &[]).await? {
        rows.presence.push(((row.try_get(0)?, text(&row, 1)?), (row.try_get(2)?, row.try_get(3)?)));
    }
    let sql = "SELECT day, subject::text, target, sum(allowed)::bigint, sum(violations)::bigint, sum(stale)::bigint,
        sum(variants)::bigint, sum(spoofed)::bigint, sum(refused)::bigint
        FROM robots_gateway.path WHERE day >= $1 AND day < $2 GROUP BY 1, 2, 3";
    for row in client.query(sql, &[&first, &end]).await? {
        let sums = [
            count(&row, 3)?,
            count(&row, 4)?,
            count(&row, 5)?,
            count(&row, 6)?,
            count(&row, 7)?,
            count(&row, 8)?,
        ];
        rows.paths.push(((row.try_get(0)?, text(&row, 1)?, text(&row, 2)?), sums));
    }
    Ok(())
}

async fn read_and_served(client: &Client, rows: &mut ExportedRows) -> Result<(), FleetError> {
    let sql = "SELECT subject::text, version, in_force, host, network, chosen, rules, first, last, count
               FROM robots_gateway.read";
    for row in client.query(sql, &[]).await? {
        let key =
            (text(&row, 0)?, text(&row, 1)?, row.try_get(2)?, text(&row, 3)?, text(&row, 4)?, text(&row, 5)?);
        rows.reads.push((key, (text(&row, 6)?, row.try_get(7)?, row.try_get(8)?, count(&row, 9)?, 0)));
    }
    for row in client.query("SELECT site, sha256, since, until FROM robots_gateway.version", &[]).await? {
        rows.versions.push((text(&row, 0)?, text(&row, 1)?, row.try_get(2)?, row.try_get(3)?));
    }
    for row in client.query("SELECT sha256, bytes FROM robots_gateway.robots", &[]).await? {
        rows.robots.insert(text(&row, 0)?, row.try_get(1)?);
    }
    Ok(())
}

async fn missing(client: &Client, rows: &mut ExportedRows) -> Result<(), FleetError> {
    let sql = "SELECT start, span, kind, sum(count)::bigint FROM robots_gateway.loss GROUP BY 1, 2, 3";
    for row in client.query(sql, &[]).await? {
        rows.losses.push(((row.try_get(0)?, row.try_get(1)?, text(&row, 2)?), count(&row, 3)?));
    }
    for row in client.query("SELECT site, reason, first, last FROM robots_gateway.unseen_reads", &[]).await? {
        rows.unseen.push(((text(&row, 0)?, text(&row, 1)?), (row.try_get(2)?, row.try_get(3)?)));
    }
    for row in client.query("SELECT since, until FROM robots_gateway.unclean", &[]).await? {
        rows.unclean.insert((row.try_get(0)?, row.try_get(1)?));
    }
    Ok(())
}
