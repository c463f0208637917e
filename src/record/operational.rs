//! The operational log on standard error: one line for each event an operator must know.
//!
//! Not a record of requests; that is the journal.

use std::io::IsTerminal as _;
use tracing::metadata::LevelFilter;
use tracing_subscriber::EnvFilter;

/// The operational log as the operator wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LogOptions {
    /// Shape of its lines.
    pub format: LogFormat,
    /// The least level that is shown, `info` where none is set; the variable `RUST_LOG` overrides it.
    pub level: Option<String>,
}

impl LogOptions {
    /// Whether its level is one that the log has.
    pub fn has_known_level(&self) -> bool {
        self.level.as_ref().is_none_or(|level| level.parse::<LevelFilter>().is_ok())
    }
}

/// Shape of the operational log's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Text.
    Text,
    /// JSON.
    Json,
}

/// Starts the log. A second start changes nothing.
pub fn start_log(options: &LogOptions) {
    let level = options.level.as_deref().unwrap_or("info");
    // Pingora, h2 and rustls write a line for every client that misbehaves, and hickory one for every stray answer: an
    // invitation to fill a disk.
    let quiet = "pingora_core=off,pingora_proxy=off,pingora_pool=off,pingora_cache=off,notify=off,\
        h2=off,rustls=off,hickory_net=off,hickory_proto=off,hickory_resolver=off";
    let asked = std::env::var("RUST_LOG").ok().filter(|asked| !asked.is_empty());
    // Who asks for pingora by name gets it.
    let filter = match asked.filter(|asked| EnvFilter::try_new(asked).is_ok()) {
        Some(asked) if asked.contains("pingora") => EnvFilter::new(asked),
        Some(asked) => EnvFilter::new(format!("{asked},{quiet}")),
        None => EnvFilter::new(format!("{level},{quiet}")),
    };
    let terminal = std::io::stderr().is_terminal();
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let text = options.format == LogFormat::Text || (options.format == LogFormat::Auto && terminal);
    // The only error is a log that was started before.
    let _ = if text {
        builder.with_ansi(terminal && std::env::var_os("NO_COLOR").is_none()).try_init()
    } else {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let payload = panic.payload();
        let message = payload.downcast_ref::<&str>().copied();
        let message =
            message.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or_default();
        tracing::error!(place, "fault in the gateway, please report it: {message}");
    }));
}
