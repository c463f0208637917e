//! `gatewayctl fleet`: the members, and how far each has come.

use super::FleetError;
use super::connect::{connect_to_schema, within};
use crate::config::FleetConfig;
use crate::record::{instant, timestamp};
use crate::report::PendingOutbox;
use serde::Serialize;
use tokio_postgres::{Client, Row};

/// After how many seconds without a beat a member is late.
const LATE: f64 = 15.0;

/// The members of a fleet; field names are public API.
#[derive(Clone, Debug, Serialize)]
pub struct FleetOverview {
    /// The last generation that was published; 0 where none was.
    pub generation: i64,
    /// All members that are there, and those that went silent.
    pub members: Vec<FleetMember>,
}

/// One member; field names are public API.
#[derive(Clone, Debug, Serialize)]
pub struct FleetMember {
    /// Its name.
    pub name: String,
    /// The id of its store.
    pub store: String,
    /// The version of its program.
    pub version: String,
    /// The generation that it applied last.
    pub generation: i64,
    /// What keeps something from coming into force there.
    pub error: Option<String>,
    /// When it was last heard of, by the database's clock.
    pub last_seen: String,
    /// How many batches wait in its outbox.
    pub outbox: i64,
    /// Since when the oldest of them does.
    pub outbox_since: Option<String>,
    /// The version of robots.txt in force there, by site.
    pub serving: serde_json::Value,
    /// Why it is late; null where it is not.
    pub late: Option<String>,
}

/// Asks the database for the members.
///
/// # Errors
/// When it cannot be asked.
pub fn overview(config: &FleetConfig) -> Result<FleetOverview, FleetError> {
    super::now(async {
        let client = connect_to_schema(config).await?;
        let sql = "SELECT coalesce(max(number), 0) FROM robots_gateway.generation";
        let generation: i64 = within(client.query_one(sql, &[])).await?.try_get(0)?;
        let rows = within(client.query(MEMBERS, &[])).await?;
        let members = rows.iter().map(|row| member(row, generation)).collect::<Result<_, _>>()?;
        Ok(FleetOverview { generation, members })
    })
}

const GONE: &str = "its lease has run out: it counts no violations until it reaches the database again; crawlers may still hold \
     what it served, unless `gatewayctl fleet forget NAME` says that it is gone";

// A store that was lost leaves a member that its successor has taken the place of.
const MEMBERS: &str =
    "SELECT name, store, version, generation, error, seen, outbox, outbox_since, serving::text,
    gone IS NOT NULL, extract(epoch FROM clock_timestamp() - seen)::float8
    FROM robots_gateway.member WHERE gone IS NULL OR gone_because = 'silent'
        AND name NOT IN (SELECT name FROM robots_gateway.member WHERE gone IS NULL)
    ORDER BY name, store";

fn member(row: &Row, newest: i64) -> Result<FleetMember, FleetError> {
    let (is_gone, silence): (bool, f64) = (row.try_get(9)?, row.try_get(10)?);
    let (generation, error): (i64, Option<String>) = (row.try_get(3)?, row.try_get(4)?);
    let late = if is_gone {
        Some(GONE.to_owned())
    } else if silence > LATE {
        Some(format!(
            "nothing was heard of it for {silence:.0} s; it counts as serving until its lease runs out"
        ))
    } else if generation < newest {
        let reason = error.as_ref().map_or(String::new(), |error| format!(": {error}"));
        Some(format!("it has applied generation {generation} of {newest}{reason}"))
    } else {
        None
    };
    let since: i64 = row.try_get(7)?;
    let serving: String = row.try_get(8)?;
    Ok(FleetMember {
        name: row.try_get(0)?,
        store: row.try_get(1)?,
        version: row.try_get(2)?,
        generation,
        error,
        last_seen: timestamp(row.try_get(5)?),
        outbox: row.try_get(6)?,
        outbox_since: (since > 0).then(|| timestamp(instant(since))),
        serving: serde_json::from_str(&serving).unwrap_or_default(),
        late,
    })
}

/// Has the fleet wait no longer for members of this name; how many there were.
///
/// # Errors
/// When the database cannot be asked, or refuses.
pub fn forget(config: &FleetConfig, name: &str) -> Result<i64, FleetError> {
    super::now(async {
        let client = connect_to_schema(config).await?;
        let row = within(client.query_one("SELECT robots_gateway.forget($1)", &[&name])).await?;
        Ok(row.try_get(0)?)
    })
}

/// The members whose counts are not all in the database.
pub(super) async fn waiting(client: &Client) -> Result<Vec<PendingOutbox>, FleetError> {
    let sql = "SELECT name, outbox, CASE WHEN outbox_since > 0 THEN outbox_since
        ELSE (extract(epoch FROM seen) * 1000000)::bigint END FROM robots_gateway.member
        WHERE (outbox > 0 AND gone_because IS DISTINCT FROM 'stopped') OR gone_because = 'silent' OR (gone IS NULL AND seen < clock_timestamp() - interval '15 seconds')
        ORDER BY name";
    let rows = within(client.query(sql, &[])).await?;
    let of = |row: &Row| {
        let since = instant(row.try_get(2)?);
        Ok(PendingOutbox { name: row.try_get(0)?, batches: row.try_get(1)?, since })
    };
    rows.iter().map(of).collect()
}
