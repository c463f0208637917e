//! Where the fields stand in the lines of a log: by the names in its head, or by what its first lines hold.
//!
//! `[host] address ident user [time] "request" status size "referer" "user agent" …` is the best known of the logs in words, and
//! operators put fields in front of it, into it and behind it. Others are tables.

use super::cells::{Enclosure, LogCell, cells, decoded, percent_decoded, unescaped, with_blanks};
use super::entry::{LineFields, first_address, request_line};
use super::guess::{CellColumn, CellGuess, CellPlace, is_time};
use super::names::{FORMATS, LogField, NamedField, field_named};
use super::reader::LineFault;
use super::time;
use bstr::ByteSlice as _;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What is taken for the format where nothing of the first lines is of an access log.
const COMBINED: &[u8] =
    br#"192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1 "-" "curl/8.5.0""#;

/// What stands between the cells of a table without a head.
const SEPARATORS: [u8; 4] = [b'\t', b'|', b';', b','];

/// What `#Fields:` begins with, in the W3C's extended log file format.
const FIELDS: &[u8] = b"#Fields:";

/// So many fields under their names are a line of `key=value`, as Heroku's router writes it, or of `key:value` between tabs.
const PAIRS: usize = 3;

/// The cells of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct LogLayout {
    /// What stands between two of them; `None` for words, and texts in quotes, brackets and braces.
    separator: Option<u8>,
    /// Which of the texts in quotes is the request. What follows is counted from there, since a name in front may have blanks.
    request: Option<usize>,
    /// What is in front of the request, or in all cells; the texts in quotes from it on; and what else is behind it.
    fields: [Vec<Option<NamedField>>; 3],
    /// The line that names the cells. That of a table may stand in it again.
    head: Vec<u8>,
    /// Some words name their field themselves, as in `xff=…`.
    has_pairs: bool,
    /// It was found in lines, and not taken for want of another.
    pub(super) is_known: bool,
}

impl LogLayout {
    /// The cells that a line names: `#Fields: …`, or the head of a table. `None` for other lines.
    pub(super) fn named_by(line: &[u8]) -> Option<Self> {
        let of_w3c = line.strip_prefix(FIELDS);
        let separator = SEPARATORS.into_iter().find(|mark| of_w3c.is_none() && line.contains(mark));
        let names: Vec<Option<NamedField>> = match of_w3c {
            Some(names) => names.fields().map(field_named).collect(),
            None => cells(line, separator).map(|cell| field_named(cell.text)).collect(),
        };
        let has = |field| names.iter().flatten().any(|(known, _)| *known == field);
        let is_table = || has(LogField::Time) && has(LogField::Status) && line.find(b": ").is_none();
        let is_head = of_w3c.is_some() || separator.is_some() && is_table();
        let fields = [names, Vec::new(), Vec::new()];
        is_head.then(|| Self { separator, head: line.to_vec(), fields, is_known: true, ..Self::default() })
    }

    /// The cells of a log that begins with these lines.
    pub(super) fn of(lines: &[&[u8]]) -> Self {
        let head = || Self::named_by(lines.first()?);
        let known = || Self::known(lines.first()?);
        let guess =
            || SEPARATORS.map(Some).into_iter().chain([None]).find_map(|one| Self::guessed(lines, one));
        let combined = || Some(Self { is_known: false, ..Self::guessed(&[COMBINED], None)? });
        head().or_else(known).or_else(guess).or_else(combined).unwrap_or_default()
    }

    /// The table without a head that a line is of: the target begins with a slash, and the time is one, where its names say so.
    fn known(line: &[u8]) -> Option<Self> {
        FORMATS.tables.iter().filter_map(|head| Self::named_by(head.as_bytes())).find(|layout| {
            let mut fields = LineFields::default();
            cells(line, layout.separator_of(line)).count() >= layout.fields[0].len()
                && layout.read(line, &mut fields).is_ok()
                && fields.is_of_columns()
        })
    }

    fn guessed(lines: &[&[u8]], separator: Option<u8>) -> Option<Self> {
        let mut rows: Vec<Vec<_>> = lines.iter().map(|line| cells(line, separator).collect()).collect();
        let pairs = |row: &Vec<LogCell<'_>>| row.iter().filter_map(of_pair).count();
        let most_pairs = rows.iter().map(pairs).max().unwrap_or_default();
        let request = if separator.is_none() { request_of(&rows) } else { None };
        let layout =
            Self { separator, request, has_pairs: most_pairs > 0, is_known: true, ..Self::default() };
        if request.is_none() && most_pairs >= PAIRS {
            return Some(layout);
        }
        rows.retain(|row| request.is_none_or(|nth| quoted(row).count() > nth));
        let mut columns: BTreeMap<CellPlace, CellColumn<'_>> = BTreeMap::new();
        for (cell, place) in rows.iter().flat_map(|row| layout.placed(row.iter().copied())) {
            let new = || CellColumn { place, enclosure: cell.enclosure, texts: Vec::new(), field: None };
            columns.entry(place).or_insert_with(new).texts.push(cell.text);
        }
        let columns = columns.into_values().collect();
        let guess = CellGuess { columns, is_table: separator.is_some(), has_request: request.is_some() };
        Some(Self { fields: guess.into_fields()?, ..layout })
    }

    /// What stands between the cells of a line: in the W3C's, blanks or tabs.
    fn separator_of(&self, line: &[u8]) -> Option<u8> {
        let blank = || if line.contains(&b'\t') { b'\t' } else { b' ' };
        self.separator.or_else(|| self.is_w3c().then(blank))
    }

    /// Whether cells are encoded as IIS and `CloudFront` do.
    fn is_w3c(&self) -> bool {
        self.head.starts_with(FIELDS)
    }

    /// The cells with their places: which of the lists of fields they are in, and where.
    fn placed<'c>(
        &self,
        cells: impl Iterator<Item = LogCell<'c>>,
    ) -> impl Iterator<Item = (LogCell<'c>, CellPlace)> {
        let (request, mut quoted, mut counts) = (self.request, 0, [0; 3]);
        cells.map(move |cell| {
            let is_quoted = cell.enclosure == Enclosure::Quotes;
            quoted += usize::from(is_quoted);
            let list = match (request.is_some_and(|nth| quoted > nth), is_quoted) {
                (false, _) => 0,
                (true, true) => 1,
                (true, false) => 2,
            };
            let count = counts.get_mut(list).map_or(0, |count| std::mem::replace(count, *count + 1));
            (cell, (list, count))
        })
    }

    /// Whether a line is the head of this log once more.
    pub(super) fn is_head(&self, line: &[u8]) -> bool {
        !self.head.is_empty() && self.head == line
    }

    /// The fields of a line.
    ///
    /// # Errors
    /// What was looked for, and the column where.
    pub(super) fn read<'a>(&self, line: &'a [u8], fields: &mut LineFields<'a>) -> Result<(), LineFault> {
        let separator = self.separator_of(line);
        let mut has_request = self.request.is_none();
        for (cell, (list, at)) in self.placed(cells(line, separator)) {
            has_request |= list > 0;
            let Some(Some((field, trust))) = self.fields.get(list).and_then(|fields| fields.get(at)) else {
                continue;
            };
            // Lines without the host in front begin with the address.
            let is_front = list == 0 && self.request.is_some() && *field == LogField::Host;
            let is_client = is_front && first_address(cell.text).is_some();
            let named = if is_client { (LogField::Address, 1) } else { (*field, *trust) };
            fields.put(named, self.decoded(*field, &cell, separator));
        }
        if !self.head.is_empty() {
            return Ok(());
        }
        if !has_request {
            *fields = LineFields::default();
        }
        let is_missing = !has_request || self.fields.iter().all(Vec::is_empty);
        let mut pairs = 0;
        for cell in (is_missing || self.has_pairs).then(|| cells(line, separator)).into_iter().flatten() {
            if let Some(((field, trust), value)) = of_pair(&cell) {
                fields.put((field, trust + 1), unescaped(value));
                pairs += 1;
            }
        }
        // A name with blanks may stand in front of it. A number is one at the beginning only.
        let texts = || cells(line, separator).map(|cell| cell.text);
        let first = || texts().next().filter(|_| is_missing);
        let found = || texts().find(|text| is_time(text)).or_else(first).and_then(time::any);
        fields.at = fields.time().or_else(found);
        if is_missing && pairs < PAIRS {
            let is_dated = fields.at.is_some();
            return Err(if is_dated { (LogField::RequestLine, line.len()) } else { (LogField::Time, 0) });
        }
        Ok(())
    }

    /// A cell as the client sent it. IIS writes `+` for a blank. `CloudFront` encodes what a URL may not hold, and what was
    /// encoded already a second time.
    fn decoded<'a>(&self, field: LogField, cell: &LogCell<'a>, separator: Option<u8>) -> Cow<'a, [u8]> {
        let (is_w3c, text) = (self.is_w3c(), cell.text);
        let is_path = matches!(field, LogField::Path | LogField::Query | LogField::Target);
        match field {
            LogField::UserAgent if is_w3c && separator == Some(b' ') && !text.contains(&b' ') => {
                Cow::Owned(with_blanks(text))
            }
            LogField::UserAgent if separator.is_some() => percent_decoded(unescaped(text)),
            _ if is_path && is_w3c && separator == Some(b'\t') && text.find(b"%25").is_some() => {
                Cow::Owned(text.replace(b"%25", b"%"))
            }
            // HAProxy writes what its own format needs as `#` and a number.
            _ if cell.enclosure == Enclosure::Braces && text.contains(&b'#') => {
                Cow::Owned(decoded(text, b"#"))
            }
            _ if is_w3c => Cow::Borrowed(text),
            _ => unescaped(text),
        }
    }
}

/// The field that a cell names itself, and what it holds.
fn of_pair<'a>(cell: &LogCell<'a>) -> Option<(NamedField, &'a [u8])> {
    let (key, value) = cell.pair()?;
    Some((field_named(key)?, value))
}

/// The texts in quotes.
fn quoted<'r, 'a>(row: &'r [LogCell<'a>]) -> impl Iterator<Item = &'r LogCell<'a>> {
    row.iter().filter(|cell| cell.enclosure == Enclosure::Quotes)
}

/// Which of the texts in quotes is the request, in most of the lines; of equal ones the first.
fn request_of(rows: &[Vec<LogCell<'_>>]) -> Option<usize> {
    let is_request = |cell: &LogCell<'_>| request_line(cell.text).is_some();
    let count = |nth: &usize| rows.iter().filter(|row| quoted(row).nth(*nth).is_some_and(is_request)).count();
    (0..8).rev().max_by_key(count).filter(|nth| count(nth) > 0)
}
