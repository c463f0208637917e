//! The pace of crawlers that come to several members: each tells the others once a second what it is asked for.
//!
//! Each lets a crawler have as large a part of what it may have as it asks for there. So whoever keeps its pace at all
//! all members together is never limited at one. Between two exchanges each lets through its part of what all may have still,
//! so that a quick crawler does not have all of it at each. Without the database each goes on with what it last heard.

use super::FleetError;
use super::connect::within;
use crate::record::{PaceBook, PaceName};
use std::collections::HashMap;
use tokio_postgres::Client;

/// What is told of a window: its name, and how many requests are in it.
const TOLD: usize = size_of::<PaceName>() + size_of::<u32>();

/// Tells what this member is asked for, and takes up what the others are. `is_quiet` where nothing was told last.
pub(super) async fn exchange(
    client: &Client,
    store: &str,
    book: &PaceBook,
    others: u32,
    is_quiet: &mut bool,
) -> Result<(), FleetError> {
    let asked = book.asked(PaceBook::moment());
    if asked.is_empty() && *is_quiet {
        // Nobody is asked, and nobody is cut off for that.
        book.learn(&HashMap::new(), others, PaceBook::moment());
        return Ok(());
    }
    *is_quiet = asked.is_empty();
    let told: Vec<u8> =
        asked.iter().flat_map(|(name, asked)| name.iter().copied().chain(asked.to_be_bytes())).collect();
    let rows = within(client.query("SELECT robots_gateway.pace($1, $2)", &[&store, &told])).await?;
    let mut elsewhere: HashMap<PaceName, u32> = HashMap::new();
    for row in rows {
        for (name, asked) in row.try_get::<_, &[u8]>(0)?.as_chunks::<TOLD>().0.iter().filter_map(window) {
            let sum = elsewhere.entry(name).or_default();
            *sum = sum.saturating_add(asked);
        }
    }
    book.learn(&elsewhere, others, PaceBook::moment());
    Ok(())
}

fn window(told: &[u8; TOLD]) -> Option<(PaceName, u32)> {
    let (name, asked) = told.split_first_chunk()?;
    Some((*name, u32::from_be_bytes(*asked.first_chunk()?)))
}
