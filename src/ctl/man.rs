//! What is generated from the texts of `--help`. `gatewayctl completions SHELL`: what a shell needs to complete verbs and
//! options. `gatewayctl man`: the manual, in roff; one page for each verb, and one for the daemon. The page of the
//! configuration file is `conf/gateway.toml` as it is.

use super::{Cli, Output, VerbFailure, VerbOutcome, VerbResult};
use crate::config::Arguments;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io;
use std::path::Path;

pub(super) fn completions(shell: Shell, output: &mut Output<'_>) -> VerbResult {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gatewayctl", &mut script);
    output.bytes(&script)?;
    Ok(VerbOutcome::Fine)
}

pub(super) fn run(out: Option<&Path>, output: &mut Output<'_>) -> VerbResult {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = out else {
        output.bytes(&page(command, "1")?.1)?;
        return Ok(VerbOutcome::Fine);
    };
    let pages = with_verbs(&command).into_iter().map(|command| page(command, "1"));
    // 8 is where daemons are looked up.
    let mut pages = pages.chain([page(Arguments::command(), "8")]).collect::<io::Result<Vec<_>>>()?;
    pages.push(("gateway.toml.5".to_owned(), configuration().into_bytes()));
    for (name, page) in pages {
        let path = folder.join(name);
        std::fs::write(&path, page).map_err(|error| {
            let what = format!("{}: cannot write the page: {error}", path.display());
            VerbFailure::with_hint(what, "--out names a folder that is there")
        })?;
        output.line(path.display().to_string())?;
    }
    Ok(VerbOutcome::Fine)
}

/// A command and all its verbs.
fn with_verbs(command: &Command) -> Vec<Command> {
    let verbs = command.get_subcommands();
    let verbs = verbs.filter(|verb| verb.get_name() != "help" && !verb.is_hide_set()).flat_map(with_verbs);
    [command.clone()].into_iter().chain(verbs).collect()
}

/// The page of a command, and its file: `gatewayctl.1`, `gatewayctl-replay.1`.
fn page(command: Command, section: &str) -> io::Result<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = Man::new(command.name(name)).manual("Robots Gateway").section(section);
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok((page.get_filename(), text))
}

/// The file that has every key, its default and the reason for it.
const CONFIGURATION: &str = include_str!("../../conf/gateway.toml");

/// gateway.toml(5): the file as it is written.
fn configuration() -> String {
    let lines: Vec<String> = CONFIGURATION.lines().map(escaped).collect();
    let title = ".TH gateway.toml 5 \"\" \"\" \"Robots Gateway\"\n.SH NAME\ngateway.toml \\- configuration of robots\\-gateway";
    format!("{title}\n.SH DESCRIPTION\n.nf\n{}\n.fi\n", lines.join("\n"))
}

/// Text that roff takes for nothing but text.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}
