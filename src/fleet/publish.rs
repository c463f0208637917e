//! `gatewayctl fleet publish`: the generation that follows the last one.

use super::FleetError;
use super::connect::{connect_to_schema, within};
use super::signature::{PublisherKey, has_signed};
use crate::config::FleetConfig;
use std::time::Duration;
use tokio_postgres::Client;

/// How long the database may take to say what is published: a start waits for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The number of the last generation that was published, and its document; `None` where there was none, or none that
/// `publisher_key` accepts where `is_to_be_accepted`.
///
/// # Errors
/// When the database does not answer soon.
pub fn published(config: &FleetConfig, is_to_be_accepted: bool) -> Result<Option<(i64, String)>, FleetError> {
    let key = config.publisher_key.as_deref().filter(|_| is_to_be_accepted);
    super::now(async {
        let asked = async { last(&connect_to_schema(config).await?).await };
        let silent = |_| FleetError::Silent(PATIENCE);
        let last = tokio::time::timeout(PATIENCE, asked).await.map_err(silent)??;
        let is_accepted = |(_, document, signature): &(i64, String, String)| {
            key.is_none_or(|key| has_signed(key, document, signature))
        };
        Ok(last.filter(is_accepted).map(|(number, document, _)| (number, document)))
    })
}

/// The number of the last generation, its document and the signature.
async fn last(client: &Client) -> Result<Option<(i64, String, String)>, FleetError> {
    let sql =
        "SELECT number, document, signature FROM robots_gateway.generation ORDER BY number DESC LIMIT 1";
    let row = within(client.query_opt(sql, &[])).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))).transpose()
}

/// Publishes what `change` makes of the last document, under the number that it is given; says which that was. With
/// `is_anew` nothing is carried over from the last one.
///
/// # Errors
/// When it cannot be published; then nothing is.
pub fn publish(
    config: &FleetConfig,
    key: Option<&PublisherKey>,
    is_anew: bool,
    change: impl FnOnce(Option<&str>, i64) -> Result<String, String>,
) -> Result<i64, FleetError> {
    if let Some(expected) = &config.publisher_key
        && key.is_none_or(|key| key.public() != **expected)
    {
        return Err(FleetError::Local(
            "members take only what is signed by the key that belongs to `publisher_key`: name it with --key FILE".to_owned(),
        ));
    }
    super::now(async {
        let client = connect_to_schema(config).await?;
        let last = last(&client).await?.filter(|_| !is_anew);
        // Whoever signs answers for all that is in it.
        if let (Some(key), Some((_, document, signature))) = (key, &last)
            && !has_signed(key.public(), document, signature)
        {
            return Err(FleetError::Local(
                "the last generation is not signed by this key: --anew carries nothing over from it"
                    .to_owned(),
            ));
        }
        // A database that was set back knows fewer than its members.
        let sql = "SELECT greatest((SELECT max(number) FROM robots_gateway.generation),
            (SELECT max(generation) FROM robots_gateway.member WHERE gone IS NULL), 0) + 1";
        let number: i64 = within(client.query_one(sql, &[])).await?.try_get(0)?;
        let document = change(last.as_ref().map(|(_, document, _)| &**document), number);
        let document = document.map_err(FleetError::Local)?;
        let signature = key.map(|key| key.sign(&document)).unwrap_or_default();
        let sql = "SELECT robots_gateway.publish($1, $2, $3)";
        if within(client.query_one(sql, &[&number, &document, &signature])).await?.try_get(0)? {
            return Ok(number);
        }
        let first =
            "somebody else published at the same moment, and was first: nothing was published, try again";
        Err(FleetError::Local(first.to_owned()))
    })
}
