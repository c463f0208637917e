//! A strict reader of the Prometheus text format 0.0.4. What it refuses, some scraper may refuse too.

use std::collections::{BTreeMap, BTreeSet};

/// One line with a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricSample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// A metric: its help, its type, and its samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Family {
    pub(crate) help: String,
    pub(crate) kind: String,
    pub(crate) samples: Vec<MetricSample>,
}

/// A whole text.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParsedExposition {
    pub(crate) families: BTreeMap<String, Family>,
}

impl ParsedExposition {
    /// Reads a text, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.ends_with('\n') {
            return Err("the last line has no end".to_owned());
        }
        let (mut whole, mut open) = (Self::default(), String::new());
        for (index, line) in text.lines().enumerate() {
            whole.line(line, &mut open).map_err(|fault| format!("line {}: {fault}: {line}", index + 1))?;
        }
        for (name, family) in &whole.families {
            family.check(name).map_err(|fault| format!("{name}: {fault}"))?;
        }
        Ok(whole)
    }

    fn line(&mut self, line: &str, open: &mut String) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').ok_or("no help")?;
            is_name(name)?;
            let family = Family { help: help.to_owned(), ..Family::default() };
            if self.families.insert(name.to_owned(), family).is_some() {
                return Err("the family was opened before".to_owned());
            }
            name.clone_into(open);
            return Ok(());
        }
        let family = self.families.get_mut(open.as_str()).ok_or("no family is open")?;
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').ok_or("no type")?;
            if name != open || !family.kind.is_empty() || !family.samples.is_empty() {
                return Err("a type out of its place".to_owned());
            }
            kind.clone_into(&mut family.kind);
            return Ok(());
        }
        let sample = sample(line)?;
        let suffixes: &[&str] =
            if family.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        if !suffixes.iter().any(|suffix| sample.name == format!("{open}{suffix}")) {
            return Err(format!("not a sample of {open}"));
        }
        family.samples.push(sample);
        Ok(())
    }

    /// The value of the one sample with exactly these labels.
    #[track_caller]
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let wanted: BTreeMap<String, String> =
            labels.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect();
        self.samples(name)
            .find(|sample| sample.name == name && sample.labels == wanted)
            .unwrap_or_else(|| panic!("no {name} {labels:?}"))
            .value
    }

    /// The sum of all samples with these labels and any others.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&MetricSample| {
            labels.iter().all(|(label, value)| sample.labels.get(*label).is_some_and(|own| own == value))
        };
        self.samples(name).filter(has).map(|sample| sample.value).sum()
    }

    pub(crate) fn samples(&self, name: &str) -> impl Iterator<Item = &MetricSample> {
        self.families.values().flat_map(|family| &family.samples).filter(move |sample| sample.name == name)
    }

    /// Every name that a query may use, with the labels that its samples have.
    pub(crate) fn names(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for sample in self.families.values().flat_map(|family| &family.samples) {
            names.entry(&sample.name).or_default().extend(sample.labels.keys().map(String::as_str));
        }
        names
    }
}

impl Family {
    fn check(&self, name: &str) -> Result<(), String> {
        if !["counter", "gauge", "histogram"].contains(&self.kind.as_str()) {
            return Err(format!("type `{}`", self.kind));
        }
        if (self.kind == "counter") != name.ends_with("_total") {
            return Err("counters, and they alone, end with _total".to_owned());
        }
        if !self.help.ends_with('.') {
            return Err("the help is no sentence".to_owned());
        }
        let mut seen = BTreeSet::new();
        for sample in &self.samples {
            if !seen.insert((&sample.name, &sample.labels)) {
                return Err(format!("twice: {sample:?}"));
            }
            if self.kind != "gauge" && !(sample.value >= 0.0 && sample.value.is_finite()) {
                return Err(format!("counts {}", sample.value));
            }
        }
        if self.kind == "histogram" { self.buckets(name) } else { Ok(()) }
    }

    /// Buckets rise, and the last holds everything.
    fn buckets(&self, name: &str) -> Result<(), String> {
        let (mut bound, mut count) = (f64::NEG_INFINITY, 0.0);
        for sample in self.samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
            let le: f64 = sample.labels.get("le").and_then(|le| le.parse().ok()).ok_or("no bound")?;
            if le <= bound || sample.value < count {
                return Err(format!("does not rise at {le}"));
            }
            (bound, count) = (le, sample.value);
        }
        let total = self.samples.iter().find(|sample| sample.name == format!("{name}_count"));
        let sums = self.samples.iter().filter(|sample| sample.name == format!("{name}_sum")).count();
        (bound.is_infinite()
            && sums == 1
            && total.is_some_and(|total| total.value.to_bits() == count.to_bits()))
        .then_some(())
        .ok_or_else(|| "no sum, or buckets and count disagree".to_owned())
    }
}

fn sample(line: &str) -> Result<MetricSample, String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let (name, mut rest) = line.split_at(end);
    is_name(name)?;
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").ok_or("no label")?;
            is_name(label)?;
            let (value, after) = quoted(after)?;
            if labels.insert(label.to_owned(), value).is_some() {
                return Err(format!("label {label} twice"));
            }
            if let Some(after) = after.strip_prefix('}') {
                rest = after;
                break;
            }
            rest = after.strip_prefix(',').ok_or("no comma between labels")?;
        }
    }
    let value = rest.strip_prefix(' ').ok_or("no blank before the value")?;
    let value = value.parse().map_err(|_| format!("value `{value}`"))?;
    Ok(MetricSample { name: name.to_owned(), labels, value })
}

/// The value up to its closing quote, and what follows that.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, '\\')) => value.push('\\'),
                Some((_, '"')) => value.push('"'),
                Some((_, 'n')) => value.push('\n'),
                other => return Err(format!("escape {other:?}")),
            },
            other => value.push(other),
        }
    }
    Err("a label without an end".to_owned())
}

fn is_name(name: &str) -> Result<(), String> {
    let good = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    good.then_some(()).ok_or_else(|| format!("name `{name}`"))
}

#[test]
fn the_reader_is_strict() {
    let good = "# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"c\\\"d\"} 3\n";
    let read = ParsedExposition::parse(good).expect("a good text");
    assert!((read.value("a_total", &[("b", "c\"d")]) - 3.0).abs() < f64::EPSILON);
    for (old, new) in [
        ("# TYPE a_total counter\n", ""),
        ("# HELP a_total A.\n", ""),
        ("counter", "gauge"),
        (" 3", " -3"),
        (" 3", " x"),
        (" 3", "  3"),
        ("b=", "B="),
        ("\\\"d\"", "\\d\""),
        ("a_total{", "b_total{"),
        (" 3\n", " 3\na_total{b=\"c\\\"d\"} 4\n"),
        (" 3\n", " 3"),
    ] {
        let text = good.replacen(old, new, 1);
        assert_ne!(text, good, "{old}");
        assert!(ParsedExposition::parse(&text).is_err(), "{text}");
    }
}
