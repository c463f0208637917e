//! `gatewayctl init`: a configuration and a robots.txt to start with. Asks nothing, and overwrites nothing that somebody wrote:
//! the configuration as the package brought it is nobody's.
//!
//! The robots.txt is the one that was given; else the one that the site serves now, so that nothing changes for anybody; else
//! one that allows everything, which is what a site without one says (RFC 9309 §2.3.1.3).

mod beside;

use super::args::{BesideProxy, InitArgs};
use super::crawlers::control_text;
use super::{Cli, Output, VerbFailure, VerbResult, fit_robots, init, origin_copy};
use crate::config::catalogue;
use crate::config::{HostPattern, OriginUrl, www_sibling};
use crate::enforce::Mode;
use crate::identify::PurposeSet;
use crate::policy::fitness;
use askama::Template;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What was done; field names are public API.
#[derive(Serialize, Template)]
#[template(path = "init/done.txt", config = "src/ctl/askama.toml")]
struct InitReport {
    config: String,
    /// Whether the configuration was `written`, or `kept` because somebody wrote it.
    configuration: &'static str,
    /// What a configuration that was kept needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    add: Vec<String>,
    robots: String,
    /// Where the robots.txt came from: `file`, `origin`, `sample`, or `kept`.
    source: &'static str,
    /// What was written for the other proxy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    beside: Vec<String>,
    warnings: Vec<String>,
    /// What to do next, in order.
    next: Vec<String>,
    #[serde(skip)]
    mode: Mode,
}

/// Where the site is taken to answer when nobody says where.
const ORIGIN: &str = "http://127.0.0.1:3000";

/// An example of each way to say what may be done with pages. Nothing of it counts before somebody removes a `#`: nobody is
/// told what nobody meant.
const PREFERENCES: &str = include_str!("init/preferences.txt");

/// The configuration as the package brings it.
const SHIPPED: &str = include_str!("../../conf/gateway.toml");

const SAMPLE: &str = include_str!("init/robots.txt");

pub(super) fn run(cli: &Cli, arguments: &InitArgs, output: &mut Output<'_>) -> VerbResult {
    let folder = &arguments.folder;
    let (config, robots) = (folder.join("gateway.toml"), folder.join("robots.txt"));
    let is_kept = is_another(&config, SHIPPED.as_bytes());
    if is_kept && arguments.beside.is_none() {
        return Err(there_already(&config));
    }
    let own_robots = robots.symlink_metadata().is_ok();
    if own_robots && arguments.robots.is_some() {
        return Err(there_already(&robots));
    }
    let plan = InitPlan::of(cli, arguments, own_robots.then_some(robots.as_path()))?;
    let mut files = beside::files(arguments.beside, folder, &plan);
    if let Some((path, _)) = files.iter().find(|(path, text)| is_another(path, text)) {
        return Err(there_already(path));
    }
    // The template engine drops the end of the last line.
    let text = format!("{}\n", GatewayToml { arguments, plan: &plan }.render()?);
    let shown = |path: &Path| path.display().to_string();
    let done = InitReport {
        configuration: if is_kept { "kept" } else { "written" },
        add: if is_kept { said(&text) } else { Vec::new() },
        next: steps(arguments, &config, &plan, is_kept)?,
        config: shown(&config),
        robots: shown(&robots),
        source: plan.source,
        beside: files.iter().map(|(path, _)| shown(path)).collect(),
        warnings: plan.warnings,
        mode: arguments.mode,
    };
    files.extend((!is_kept).then_some((config, text.into_bytes())));
    files.extend((!own_robots).then_some((robots, plan.robots)));
    let unwritable = |path: &Path, error| VerbFailure::at(path, format!("cannot be written: {error}"));
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, error))?;
    for (path, content) in &files {
        // In place, so that a file that is replaced keeps its owner and who may read it.
        std::fs::write(path, content).map_err(|error| unwritable(path, error))?;
    }
    output.answer(&done, false, |done, output| output.render(done))
}

/// Whether something else than `ours` is at `path`.
fn is_another(path: &Path, ours: &[u8]) -> bool {
    match std::fs::read(path) {
        Ok(there) => there != ours,
        Err(_) => path.symlink_metadata().is_ok(),
    }
}

fn there_already(path: &Path) -> VerbFailure {
    let hint = "name another folder; init overwrites nothing";
    VerbFailure::with_hint(format!("{}: is there already", path.display()), hint)
}

/// The lines of a configuration that say something.
fn said(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// What will be written, all of it known to be good.
struct InitPlan {
    /// Where the gateway stands, or whom it asks for its robots.txt.
    origin: Option<OriginUrl>,
    hosts: Vec<HostPattern>,
    /// The other names of the hosts, with or without `www.`, that are none of the site's.
    siblings: Vec<String>,
    /// The state folder that was named, whatever folder that was said in.
    state_dir: Option<PathBuf>,
    robots: Vec<u8>,
    source: &'static str,
    warnings: Vec<String>,
}

impl InitPlan {
    /// `own` is the robots.txt that stands where one would be written.
    fn of(cli: &Cli, arguments: &InitArgs, own: Option<&Path>) -> Result<Self, VerbFailure> {
        let origin = arguments.origin.as_deref().or_else(|| arguments.beside.is_none().then_some(ORIGIN));
        let origin = origin.map(str::parse::<OriginUrl>).transpose();
        let origin = origin.map_err(|error| VerbFailure(format!("--origin: {error}")))?;
        let (mut hosts, mut siblings) = (arguments.hosts.clone(), missing_siblings(&arguments.hosts));
        if arguments.www {
            hosts.extend(siblings.drain(..).filter_map(|(_, other)| other.parse().ok()));
        }
        let missing = |(host, other): &(String, String)| {
            format!("`{other}` is not a host of the site, while {host} is; --www adds it")
        };
        let mut warnings: Vec<String> = siblings.iter().map(missing).collect();
        let named = own.or(arguments.robots.as_deref());
        let is_needed = origin.is_some() || named.is_none();
        let copy = if is_needed { fetch_published(origin.as_ref(), &hosts) } else { Ok(None) };
        warnings.extend(copy.as_ref().err().cloned());
        let (robots, source) = match (named, copy.unwrap_or_default()) {
            (Some(path), copy) => {
                let robots = fit_robots(path)?.bytes;
                if let Some(origin) = origin.as_ref().filter(|_| copy.is_some_and(|copy| copy != robots)) {
                    warnings.push(format!(
                        "the origin {origin} serves another robots.txt; the gateway's is the one that will count"
                    ));
                }
                (robots, if own.is_some() { "kept" } else { "file" })
            }
            (None, Some(copy)) => (copy, "origin"),
            (None, None) => (SAMPLE.as_bytes().to_vec(), "sample"),
        };
        let robots = if arguments.preferences { with_examples(robots) } else { robots };
        let siblings = siblings.into_iter().map(|(_, other)| other).collect();
        let state_dir = cli.state_dir.first().map(|folder| absolute(folder));
        Ok(Self { origin, hosts, siblings, state_dir, robots, source, warnings })
    }
}

/// A robots.txt with the examples at its end.
fn with_examples(mut robots: Vec<u8>) -> Vec<u8> {
    if !robots.is_empty() && !robots.ends_with(b"\n") {
        robots.push(b'\n');
    }
    robots.extend_from_slice(PREFERENCES.as_bytes());
    for control in catalogue::bundled().catalogue.control_tokens() {
        let text = format!("# {}\n#User-agent: {}\n#Disallow: /\n", control_text(control), control.token);
        robots.extend_from_slice(text.as_bytes());
    }
    robots
}

/// The other names, with or without `www.`, of hosts that were given, where those were not given too.
fn missing_siblings(hosts: &[HostPattern]) -> Vec<(String, String)> {
    let is_given = |name: &str| hosts.iter().any(|host| host.admits(name));
    let exact = hosts.iter().filter_map(HostPattern::exact);
    let others = exact.filter_map(|host| Some((host.to_owned(), www_sibling(host)?)));
    others.filter(|(_, other)| !is_given(other)).collect()
}

/// The robots.txt that the origin has, or that the site publishes under its own name; or why none is taken.
fn fetch_published(origin: Option<&OriginUrl>, hosts: &[HostPattern]) -> Result<Option<Vec<u8>>, String> {
    let host = hosts.iter().find_map(HostPattern::exact);
    let fetched = |server: String| match origin_copy::fetch(
        &server,
        origin.and(host),
        origin.is_none() || host.is_none(),
    ) {
        Ok(copy) => Ok((copy, server)),
        Err(error) => Err(format!(
            "{server} did not give the site's robots.txt: {error}; give the file with --robots FILE"
        )),
    };
    let (copy, server) = match (origin, host) {
        (Some(OriginUrl::Socket(_)), _) => return Ok(None),
        (Some(origin), _) => fetched(origin.to_string())?,
        // Only where nothing answers under https.
        (None, Some(host)) => {
            fetched(format!("https://{host}")).or_else(|_| fetched(format!("http://{host}")))?
        }
        (None, None) => {
            let text = "the site's own robots.txt was not looked for: --host HOST names the site, --robots FILE its file";
            return Err(text.to_owned());
        }
    };
    let unfit = |unfit| format!("what {server} serves as robots.txt is not taken: {unfit}");
    copy.as_deref().map_or(Ok(()), fitness).map_err(unfit)?;
    Ok(copy)
}

/// What `gateway.toml` says.
#[derive(Template)]
#[template(path = "init/gateway.toml", config = "src/ctl/askama.toml", escape = "none")]
struct GatewayToml<'a> {
    arguments: &'a InitArgs,
    plan: &'a InitPlan,
}

/// What to do next.
#[derive(Template)]
#[template(path = "init/steps.txt", config = "src/ctl/askama.toml", escape = "none")]
struct InitSteps<'a> {
    /// Whether the operator's configuration was not changed and lacks lines.
    is_kept: bool,
    /// Whether the unit reads its configuration there, which not everybody may.
    is_of_unit: bool,
    config: &'a Path,
    proxy: Option<BesideProxy>,
    folder: &'a Path,
    hosts: Vec<&'a str>,
}

fn steps(arguments: &InitArgs, config: &Path, plan: &InitPlan, is_kept: bool) -> askama::Result<Vec<String>> {
    let folder = &*absolute(&arguments.folder);
    let hosts = plan.hosts.iter().filter_map(HostPattern::exact).collect();
    let (proxy, is_of_unit) = (arguments.beside, folder == Path::new("/etc/robots-gateway"));
    let steps = InitSteps { is_kept, is_of_unit, config, proxy, folder, hosts }.render()?;
    Ok(steps.lines().filter(|step| !step.is_empty()).map(str::to_owned).collect())
}

/// A path whatever folder it was said in: what is included elsewhere cannot be relative.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn toml_string(text: &impl ToString) -> String {
    toml::Value::String(text.to_string()).to_string()
}

fn toml_list<T: ToString>(texts: impl IntoIterator<Item = T>) -> String {
    texts.into_iter().map(|text| toml_string(&text)).collect::<Vec<_>>().join(", ")
}
