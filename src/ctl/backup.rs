//! `gatewayctl backup`: a copy of the store in one file, of one moment, whether a gateway runs or not.
//!
//! The rows of versions are not part of it. One that is put back does not know what was served since, and would have
//! crawlers accused of what that allowed; without one, everybody is excused until notice is over.

use super::{Cli, Output, VerbFailure, VerbResult};
use crate::record::copy_store;
use serde_json::json;
use std::path::Path;

pub(super) fn run(cli: &Cli, file: &Path, output: &mut Output<'_>) -> VerbResult {
    if cli.state_dir.len() > 1 {
        return Err(VerbFailure("a backup is of one store; name one --state-dir".to_owned()));
    }
    let store = cli.store()?;
    let bytes = copy_store(&store, file)
        .map_err(|error| VerbFailure::of_stores(std::slice::from_ref(&store), &error))?;
    let (store, file) = (store.display().to_string(), file.display().to_string());
    output.answer(&json!({ "store": store, "file": file, "bytes": bytes }), false, |_, output| {
        output.line(format!("wrote {file}: {bytes} bytes, a copy of {store}"))
    })
}
