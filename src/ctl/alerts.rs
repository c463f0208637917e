//! `gatewayctl alerts test`: sends one alert, so that an operator sees one arrive before it matters.

use super::{Cli, Output, VerbFailure, VerbResult, which_config};
use crate::alerts::send_test;
use crate::policy::Webhook;
use serde_json::json;

pub(super) fn test(cli: &Cli, output: &mut Output<'_>) -> VerbResult {
    let config = which_config::load_any(cli)?;
    let Some(alerts) = config.alerts else {
        let message = "the configuration has no [alerts]: name the file of a webhook, `webhook_file`";
        return Err(VerbFailure(message.to_owned()));
    };
    let webhook = Webhook::load(&alerts.webhook_file)?;
    let gateway = config.fleet.as_ref().map(|fleet| &*fleet.name);
    let refused = send_test(&webhook, alerts.ca.as_deref(), gateway).err();
    let answer = json!({ "sent": refused.is_none(), "error": refused });
    output.answer(&answer, refused.is_some(), |_, output| {
        output.line(refused.as_ref().map_or_else(
            || "the receiver took a test alert".to_owned(),
            |why| format!("the receiver did not take a test alert: {why}"),
        ))
    })
}
