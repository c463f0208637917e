//! The Prometheus text format, version 0.0.4: metric families, their samples, and the escaping of labels.
//!
//! It knows the format and no metric.

use std::fmt::{Display, Write as _};

/// What a text of this format is called in `Content-Type`.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What kind of metric a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A text in the making. Each family is opened once, and its samples follow it.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
    family: &'static str,
}

impl Exposition {
    /// Opens a family. `help` is one line of plain words.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> &mut Self {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.family = name;
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self
    }

    /// A sample of the family that is open.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.suffixed("", labels, value)
    }

    /// A sample of a histogram: `suffix` is `_bucket`, `_sum` or `_count`.
    pub(super) fn suffixed(
        &mut self,
        suffix: &str,
        labels: &[(&str, &str)],
        value: impl Display,
    ) -> &mut Self {
        self.text.push_str(self.family);
        self.text.push_str(suffix);
        for (index, (label, value)) in labels.iter().enumerate() {
            self.text.push(if index == 0 { '{' } else { ',' });
            self.text.push_str(label);
            self.text.push_str("=\"");
            value.chars().for_each(|letter| self.escaped(letter));
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
        self
    }

    fn escaped(&mut self, letter: char) {
        match letter {
            '\\' => self.text.push_str("\\\\"),
            '"' => self.text.push_str("\\\""),
            '\n' => self.text.push_str("\\n"),
            other => self.text.push(other),
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_told_of_before_its_samples() {
        let mut text = Exposition::default();
        text.family("a_total", Kind::Counter, "Things.").sample(&[("b", "c"), ("d", "e")], 3).sample(&[], 4);
        text.family("h", Kind::Histogram, "Times.").suffixed("_bucket", &[("le", "+Inf")], 1);
        let expected = "# HELP a_total Things.\n# TYPE a_total counter\na_total{b=\"c\",d=\"e\"} 3\na_total 4\n\
                        # HELP h Times.\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\n";
        assert_eq!(text.into_text(), expected);
    }

    #[test]
    fn what_would_end_a_label_is_escaped() {
        let mut text = Exposition::default();
        text.family("a", Kind::Gauge, "A.").sample(&[("site", "q\"b\\n\nx")], 1);
        assert!(text.into_text().ends_with("a{site=\"q\\\"b\\\\n\\nx\"} 1\n"));
    }
}
