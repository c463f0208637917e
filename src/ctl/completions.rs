//! `gatewayctl completions SHELL`: what a shell needs to complete verbs and options.

use super::args::{Cli, CompletionsArgs};
use super::output::Output;
use super::{VerbOutcome, VerbResult};
use clap::CommandFactory as _;

pub(super) fn run(arguments: &CompletionsArgs, output: &mut Output<'_>) -> VerbResult {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "gatewayctl", &mut script);
    output.bytes(&script)?;
    Ok(VerbOutcome::Fine)
}
