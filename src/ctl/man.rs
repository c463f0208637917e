//! What is generated from the texts of `--help`. `gatewayctl completions SHELL`: what a shell needs to complete verbs and
//! options. `gatewayctl man`: the manual, in roff; one page for each verb, and one for the daemon. The page of the
//! configuration file is `conf/gateway.toml` as it is.

use super::args::Cli;
use super::output::Output;
use super::{VerbFailure, VerbOutcome, VerbResult};
use crate::config::Arguments;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
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
    match out {
        None => output.bytes(&page(command, "1")?)?,
        Some(folder) => {
            let mut all = pages(&command, None)?;
            // 8 is where daemons are looked up.
            all.push(("robots-gateway.8".to_owned(), page(Arguments::command(), "8")?));
            all.push(("gateway.toml.5".to_owned(), configuration().into_bytes()));
            for (name, page) in all {
                let path = folder.join(name);
                std::fs::write(&path, page).map_err(|error| unwritable(&path, &error))?;
                output.line(path.display().to_string())?;
            }
        }
    }
    Ok(VerbOutcome::Fine)
}

fn unwritable(path: &Path, error: &io::Error) -> VerbFailure {
    let what = format!("{}: cannot write the page: {error}", path.display());
    VerbFailure::with_hint(what, "--out names a folder that is there")
}

/// The page of a command and those of all its verbs, by file: `gatewayctl.1`, `gatewayctl-replay.1`.
fn pages(command: &Command, parent: Option<&str>) -> io::Result<Vec<(String, Vec<u8>)>> {
    let own = command.get_name();
    let name = parent.map_or_else(|| own.to_owned(), |parent| format!("{parent}-{own}"));
    let mut all = vec![(format!("{name}.1"), page(command.clone().name(name.clone()), "1")?)];
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set()) {
        all.extend(pages(verb, Some(&name))?);
    }
    Ok(all)
}

fn page(command: Command, section: &str) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command).manual("Robots Gateway").section(section).render(&mut text)?;
    Ok(text)
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
