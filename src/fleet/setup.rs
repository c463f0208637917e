//! `gatewayctl fleet init`: schema and roles.

use super::FleetError;
use super::connect::{SCHEMA, connect, within};
use crate::config::FleetConfig;

/// What leads from nothing to the schema.
const SCHEMA_SQL: &str = include_str!("schema_1.sql");

/// Groups without a login, which hold what users may do.
const ROLES: [&str; 4] =
    ["robots_gateway_owner", "robots_gateway_member", "robots_gateway_publisher", "robots_gateway_reader"];

/// No older database has what is used here.
const OLDEST_SERVER: i32 = 150_000;

/// After a database was restored from a dump its stamps have to be later than all that were given since. There is room for
/// 65,536 of these before a promotion counts on.
const LATER: i64 = 1 << 32;

/// What was done.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SetUp {
    /// The schema that was found; 0 of an empty database.
    pub found: i32,
    /// The schema that there is now.
    pub schema: i32,
    /// For how many days counts are kept.
    pub retention_days: i64,
}

/// Sets up the database, or brings it to the version of this program. To do so again changes nothing else.
///
/// # Errors
/// When that cannot be done; then nothing of it is.
pub fn set_up(config: &FleetConfig, retention_days: Option<u32>) -> Result<SetUp, FleetError> {
    super::now(async { do_set_up(config, retention_days).await })
}

async fn do_set_up(config: &FleetConfig, retention_days: Option<u32>) -> Result<SetUp, FleetError> {
    let mut client = connect(config).await?;
    let row = within(client.query_one("SELECT current_setting('server_version_num')::integer", &[])).await?;
    if row.try_get::<_, i32>(0)? < OLDEST_SERVER {
        return Err(FleetError::Local("the database is too old: expected PostgreSQL 15 or later".to_owned()));
    }
    let transaction = within(client.transaction()).await?;
    within(transaction.execute("SELECT pg_advisory_xact_lock(hashtext('robots_gateway.init'))", &[])).await?;
    let sql = "SELECT to_regclass('robots_gateway.fleet') IS NOT NULL";
    let is_there: bool = within(transaction.query_one(sql, &[])).await?.try_get(0)?;
    let found: i32 = if is_there {
        within(transaction.query_one("SELECT schema FROM robots_gateway.fleet", &[])).await?.try_get(0)?
    } else {
        0
    };
    if found > SCHEMA {
        return Err(FleetError::Local(format!(
            "the database of the fleet has schema {found}, and this program knows {SCHEMA}: run the gatewayctl of that \
             version"
        )));
    }
    for role in ROLES {
        let create = format!(
            "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role} NOLOGIN; \
             END IF; END $$"
        );
        within(transaction.batch_execute(&create)).await?;
    }
    // Whoever sets it up has to be a member of the role that owns it, but for a superuser, who may be any.
    let join = "DO $$ BEGIN IF NOT pg_has_role('robots_gateway_owner', 'USAGE') THEN
                EXECUTE format('GRANT robots_gateway_owner TO %I', current_user); END IF; END $$";
    within(transaction.batch_execute(join)).await?;
    if found == 0 {
        within(transaction.batch_execute(SCHEMA_SQL)).await?;
    }
    // A dump has the numbers of transactions of another cluster. To take a read up twice adds nothing.
    within(transaction.batch_execute("UPDATE robots_gateway.read SET noted = DEFAULT")).await?;
    let days = retention_days.map(f64::from);
    let update = "UPDATE robots_gateway.fleet SET schema = $1, stamp = stamp + $2,
                  retention = coalesce($3 * interval '1 day', retention)
                  RETURNING (extract(epoch FROM retention) / 86400)::bigint";
    let row = within(transaction.query_one(update, &[&SCHEMA, &LATER, &days])).await?;
    let retention_days = row.try_get(0)?;
    within(transaction.commit()).await?;
    Ok(SetUp { found, schema: SCHEMA, retention_days })
}
