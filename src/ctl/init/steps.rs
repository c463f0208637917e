//! What to do after `init`, in order. The words stand in `init/steps.txt`, a step on each line.

use super::InitPlan;
use crate::config::HostPattern;
use crate::ctl::args::{BesideProxy, InitArgs};
use askama::Template;
use std::path::Path;

#[derive(Template)]
#[template(path = "init/steps.txt", config = "src/ctl/askama.toml", escape = "none")]
struct InitSteps<'a> {
    /// Whether the operator's configuration was not changed and lacks lines.
    is_kept: bool,
    /// Whether the unit reads its configuration there, which not everybody may.
    is_of_unit: bool,
    sudo: &'static str,
    config: String,
    proxy: Option<BesideProxy>,
    folder: String,
    hosts: Vec<&'a str>,
}

/// `is_kept` says that the operator's configuration was not changed and lacks lines.
pub(super) fn of(
    arguments: &InitArgs,
    config: &Path,
    plan: &InitPlan,
    is_kept: bool,
) -> askama::Result<Vec<String>> {
    let whole = std::path::absolute(&arguments.folder).unwrap_or_else(|_| arguments.folder.clone());
    let is_of_unit = whole == Path::new("/etc/robots-gateway");
    let steps = InitSteps {
        is_kept,
        is_of_unit,
        sudo: if is_of_unit { "sudo " } else { "" },
        config: config.display().to_string(),
        proxy: arguments.beside,
        folder: whole.display().to_string(),
        hosts: plan.hosts.iter().filter_map(HostPattern::exact).collect(),
    };
    Ok(steps.render()?.lines().filter(|step| !step.is_empty()).map(str::to_owned).collect())
}
