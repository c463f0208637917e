//! The Prometheus text format, version 0.0.4: metric families, their samples, and the escaping of labels.
//!
//! It knows the format and no metric.

use std::fmt::{Display, Write as _};

/// What a text of this format is called in `Content-Type`.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How the names of metrics begin, but for those that every program has.
const PREFIX: &str = "robots_gateway_";

/// How those begin that every program has.
const COMMON: &str = "process_";

/// A text in the making. Each family is opened once, and its samples follow it.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
    family: &'static str,
}

impl Exposition {
    /// Opens a family of counters. `help` is one line of plain words.
    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> &mut Self {
        self.family(name, "counter", help)
    }

    /// Opens a family of gauges.
    pub(super) fn gauge(&mut self, name: &'static str, help: &str) -> &mut Self {
        self.family(name, "gauge", help)
    }

    /// Opens a family of another kind.
    pub(super) fn family(&mut self, name: &'static str, kind: &str, help: &str) -> &mut Self {
        self.family = name;
        // Writing to a `String` cannot fail.
        let prefix = prefix(name);
        let _ = writeln!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}");
        self
    }

    /// A sample of the family that is open.
    pub(super) fn sample(&mut self, labels: &[(&str, &dyn Display)], value: impl Display) -> &mut Self {
        self.suffixed("", labels, value)
    }

    /// The only sample of the family that is open.
    pub(super) fn value(&mut self, value: impl Display) -> &mut Self {
        self.sample(&[], value)
    }

    /// Samples of the family that is open, told apart by one label.
    pub(super) fn by<L: Display, V: Display>(
        &mut self,
        label: &str,
        samples: impl IntoIterator<Item = (L, V)>,
    ) -> &mut Self {
        samples.into_iter().fold(self, |text, (word, value)| text.sample(&[(label, &word)], value))
    }

    /// A sample of a histogram: `suffix` is `_bucket`, `_sum` or `_count`.
    pub(super) fn suffixed(
        &mut self,
        suffix: &str,
        labels: &[(&str, &dyn Display)],
        value: impl Display,
    ) -> &mut Self {
        let (prefix, family) = (prefix(self.family), self.family);
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(*value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{prefix}{family}{suffix}{labels} {value}");
        self
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// A value that can stand between quotes.
fn escaped(value: &dyn Display) -> String {
    value.to_string().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn prefix(name: &str) -> &'static str {
    if name.starts_with(COMMON) { "" } else { PREFIX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_told_of_before_its_samples() {
        let mut text = Exposition::default();
        text.counter("a_total", "Things.").sample(&[("b", &"c"), ("d", &"e")], 3).sample(&[], 4);
        text.family("h", "histogram", "Times.").suffixed("_bucket", &[("le", &"+Inf")], 1);
        let expected = "# HELP P_a_total Things.\n# TYPE P_a_total counter\nP_a_total{b=\"c\",d=\"e\"} 3\nP_a_total 4\n\
                        # HELP P_h Times.\n# TYPE P_h histogram\nP_h_bucket{le=\"+Inf\"} 1\n";
        assert_eq!(text.into_text(), expected.replace("P_", PREFIX));
    }

    #[test]
    fn what_every_program_has_is_called_alike() {
        let mut text = Exposition::default();
        text.gauge("process_open_fds", "Files.").sample(&[], 3);
        assert!(text.into_text().ends_with("gauge\nprocess_open_fds 3\n"));
    }

    #[test]
    fn what_would_end_a_label_is_escaped() {
        let mut text = Exposition::default();
        text.gauge("a", "A.").sample(&[("site", &"q\"b\\n\nx")], 1);
        assert!(text.into_text().ends_with("a{site=\"q\\\"b\\\\n\\nx\"} 1\n"));
    }
}
