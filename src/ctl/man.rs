//! `gatewayctl man`: the manual, in roff, from the same texts as `--help`; one page for each verb, and one for
//! the daemon. The page of the configuration file is made of `conf/gateway.toml`.

use super::args::{Cli, ManArgs};
use super::output::Output;
use super::{VerbFailure, VerbOutcome, VerbResult};
use crate::config::Arguments;
use clap::{Command, CommandFactory as _};
use std::io;
use std::path::Path;

pub(super) fn run(arguments: &ManArgs, output: &mut Output<'_>) -> VerbResult {
    let mut command = Cli::command();
    command.build();
    match &arguments.out {
        None => output.bytes(&page(command, "1")?)?,
        Some(folder) => {
            let mut all: Vec<(String, Vec<u8>)> =
                pages(&command, None)?.into_iter().map(|(name, page)| (format!("{name}.1"), page)).collect();
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

/// The page of a command and those of all its verbs, by name: `gatewayctl`, `gatewayctl-replay`.
fn pages(command: &Command, parent: Option<&str>) -> io::Result<Vec<(String, Vec<u8>)>> {
    let own = command.get_name();
    let name = parent.map_or_else(|| own.to_owned(), |parent| format!("{parent}-{own}"));
    let mut all = vec![(name.clone(), page(command.clone().name(name.clone()), "1")?)];
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

/// gateway.toml(5): the file's comments as paragraphs, its keys as they are written there.
fn configuration() -> String {
    let mut page = String::from(
        ".TH gateway.toml 5 \"\" \"\" \"Robots Gateway\"\n.SH NAME\ngateway.toml \\- configuration of robots\\-gateway\n.SH DESCRIPTION\n",
    );
    let mut is_key = false;
    for line in CONFIGURATION.lines() {
        let prose = line.strip_prefix("# ").or_else(|| (line == "#").then_some(""));
        match prose {
            Some("") => page.push_str(".PP\n"),
            Some(prose) if !is_key => page.extend([&*escaped(prose), "\n"]),
            Some(prose) => page.extend([".fi\n.PP\n", &escaped(prose), "\n"]),
            None if line.is_empty() && is_key => page.push_str(".fi\n.PP\n"),
            None if line.is_empty() => page.push_str(".PP\n"),
            None if is_key => page.extend([&*escaped(line), "\n"]),
            None => page.extend([".PP\n.nf\n", &escaped(line), "\n"]),
        }
        is_key = prose.is_none() && !line.is_empty();
    }
    page
}

/// Text that roff takes for nothing but text.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}
