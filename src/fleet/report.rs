//! What all members counted, for a report.

use super::FleetError;
use super::connect::{connect_to_schema, within};
use super::members::waiting;
use crate::config::FleetConfig;
use crate::record::{Tables, instant};
use crate::report::{FleetPart, SkippedCounts};
use std::time::{Duration, SystemTime};
use tokio_postgres::{Client, Row};

/// The length of a day, in seconds: partitions are days, and a report may begin where one does.
const DAY: i64 = 86_400;

/// Asks the database for all that was counted from `from` on, before `to`, and for all reads and versions; and for what is not
/// among that. Whoever cannot wait for as long as that takes says how long: the server gives up then, too.
///
/// # Errors
/// When it cannot be asked, or does not answer in time.
pub fn counts(
    config: &FleetConfig,
    from: SystemTime,
    to: SystemTime,
    limit: Option<Duration>,
) -> Result<(Tables, FleetPart), FleetError> {
    let asked = async {
        let client = connect_to_schema(config).await?;
        let part = FleetPart { outboxes: waiting(&client).await?, skipped: skipped(&client).await? };
        let limit = limit.map_or(0, |limit| limit.as_millis());
        client.batch_execute(&format!("SET statement_timeout = {limit}")).await?;
        let seconds = |time: SystemTime| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            i64::try_from(since).unwrap_or(i64::MAX / 2)
        };
        let (first, end) =
            (seconds(from) / DAY * DAY, (seconds(to) / DAY).saturating_add(2).saturating_mul(DAY));
        let mut rows = Tables::default();
        for row in client.query(ROWS, &[&first, &end]).await? {
            rows.add(serde_json::from_str(row.try_get(0)?).map_err(|error| {
                FleetError::Local(format!("the database of the fleet has what is not understood: {error}"))
            })?);
        }
        Ok((rows, part))
    };
    let longest = limit.unwrap_or(Duration::MAX);
    super::now(async { tokio::time::timeout(longest, asked).await.map_err(|_| FleetError::Silent(longest))? })
}

async fn skipped(client: &Client) -> Result<Vec<SkippedCounts>, FleetError> {
    let sql = "SELECT coalesce(name, store), (extract(epoch FROM skipped_at) * 1000000)::bigint
        FROM robots_gateway.writer LEFT JOIN robots_gateway.member USING (store) WHERE skipped > 0 ORDER BY 1";
    let of = |row: &Row| Ok(SkippedCounts { name: row.try_get(0)?, found: instant(row.try_get(1)?) });
    within(client.query(sql, &[])).await?.iter().map(of).collect()
}

/// All of one moment: each row as the JSON of [`Tables`] that have nothing else.
const ROWS: &str = "
    SELECT json_build_object('subjects', json_build_object(id, name))::text FROM robots_gateway.subject
    UNION ALL SELECT json_build_object('decisions', json_build_object(id, name))::text FROM robots_gateway.decision
    UNION ALL SELECT json_build_object('rollups', json_build_array(json_build_array(
            json_build_array(span, start, subject, decision), sum(count))))::text
        FROM robots_gateway.rollup WHERE start >= $1 AND start < $2 GROUP BY span, start, subject, decision
    UNION ALL SELECT json_build_object('sent', json_build_array(json_build_array(
            json_build_array(span, start, subject), sum(bytes))))::text
        FROM robots_gateway.sent WHERE start >= $1 AND start < $2 GROUP BY span, start, subject
    UNION ALL SELECT json_build_object('presence', json_build_array(json_build_array(
            json_build_array(min(day), subject), json_build_array(min(first), max(last)))))::text
        FROM robots_gateway.presence GROUP BY subject
    UNION ALL SELECT json_build_object('paths', json_build_array(json_build_array(
            json_build_array(day, subject, target), json_build_object(
            'allowed', sum(allowed), 'violations', sum(violations), 'stale', sum(stale), 'variants', sum(variants),
            'spoofed', sum(spoofed), 'refused', sum(refused)))))::text
        FROM robots_gateway.path WHERE day >= $1 AND day < $2 GROUP BY day, subject, target
    UNION ALL SELECT json_build_object('reads', json_build_array(json_build_array(
            json_build_array(subject, json_build_object('version', version,
            'in_force', in_force, 'host', host, 'network', nullif(network, ''), 'chosen', nullif(chosen, ''))),
            json_build_object('rules', rules, 'first', first, 'last', last, 'count', count, 'as_of', 0))))::text
        FROM robots_gateway.read
    UNION ALL SELECT json_build_object('versions', json_build_array(
            json_build_array(site, sha256, since, until)))::text FROM robots_gateway.version
    UNION ALL SELECT json_build_object('robots', json_build_object(sha256, bytes))::text FROM robots_gateway.robots
    UNION ALL SELECT json_build_object('missing', json_build_array(json_build_object(
            'what', what, 'reason', reason, 'site', site, 'from', since, 'to', until, 'count', count)))::text
        FROM robots_gateway.missing";
