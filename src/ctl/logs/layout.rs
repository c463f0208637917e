//! Where the fields stand in the lines of a log: by the names in its head, or by what its first lines hold.
//!
//! `[host] address ident user [time] "request" status size "referer" "user agent" …` is the best known of the logs in words, and
//! operators put fields in front of it, into it and behind it. Others are tables.

use super::cells::{Enclosure, LogCell, cut, decoded, percent_decoded, unescaped, with_blanks};
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
    /// The W3C's: cells between blanks or tabs, encoded as IIS and `CloudFront` do.
    is_w3c: bool,
    /// Which of the texts in quotes is the request. What follows is counted from there, since a name in front may have blanks.
    request: Option<usize>,
    /// What is in front of the request, or in all cells; the texts in quotes from it on; and what else is behind it.
    fields: [Vec<Option<NamedField>>; 3],
    /// The head of a table, which may stand in it again.
    head: Vec<u8>,
    /// Some words name their field themselves, as in `xff=…`.
    has_pairs: bool,
    /// It was found in lines, and not taken for want of another.
    pub(super) is_known: bool,
}

impl LogLayout {
    /// The cells that a line names: `#Fields: …`, or the head of a table. `None` for other lines.
    pub(super) fn named_by(line: &[u8]) -> Option<Self> {
        if let Some(names) = line.strip_prefix(FIELDS) {
            return Some(Self::named(names.fields(), None));
        }
        let separator = SEPARATORS.into_iter().find(|separator| line.contains(separator))?;
        let names =
            line.split(|byte| *byte == separator).map(|name| name.trim_ascii().trim_with(|mark| mark == '"'));
        let layout = Self { head: line.to_vec(), ..Self::named(names, Some(separator)) };
        let has = |field| layout.fields.iter().flatten().flatten().any(|(known, _)| *known == field);
        (has(LogField::Time) && has(LogField::Status) && line.find(b": ").is_none()).then_some(layout)
    }

    fn named<'n>(names: impl Iterator<Item = &'n [u8]>, separator: Option<u8>) -> Self {
        let fields = [names.map(field_named).collect(), Vec::new(), Vec::new()];
        Self { separator, is_w3c: separator.is_none(), fields, is_known: true, ..Self::default() }
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
        FORMATS.tables.iter().find_map(|head| {
            let layout = Self::named_by(head.as_bytes())?;
            let mut fields = LineFields::default();
            let cells = layout.read(line, &mut fields).ok()?;
            let is_of_table = cells >= layout.fields[0].len() && fields.is_of_columns();
            is_of_table.then_some(layout)
        })
    }

    fn guessed(lines: &[&[u8]], separator: Option<u8>) -> Option<Self> {
        let rows: Vec<Vec<LogCell<'_>>> = lines.iter().map(|line| cut(line, separator)).collect();
        let pairs = rows.iter().map(|cells| cells.iter().filter_map(of_pair).count());
        let most_pairs = pairs.max().unwrap_or_default();
        let request = if separator.is_none() { request_of(&rows) } else { None };
        let layout =
            Self { separator, request, has_pairs: most_pairs > 0, is_known: true, ..Self::default() };
        if request.is_none() && most_pairs >= PAIRS {
            return Some(layout);
        }
        let mut columns: BTreeMap<CellPlace, CellColumn<'_>> = BTreeMap::new();
        for (cell, place) in rows.iter().flat_map(|cells| layout.placed(cells)) {
            let new = || CellColumn { place, enclosure: cell.enclosure, texts: Vec::new(), field: None };
            columns.entry(place).or_insert_with(new).texts.push(cell.text);
        }
        let columns = columns.into_values().collect();
        let guess = CellGuess { columns, is_table: separator.is_some(), has_request: request.is_some() };
        Some(Self { fields: guess.into_fields()?, ..layout })
    }

    /// Which cell is the request; none of a line that has none.
    fn request_at(&self, cells: &[LogCell<'_>]) -> Option<usize> {
        let Some(nth) = self.request else { return Some(cells.len()) };
        let mut quoted = cells.iter().enumerate().filter(|(_, cell)| cell.enclosure == Enclosure::Quotes);
        quoted.nth(nth).map(|(at, _)| at)
    }

    /// The cells with their places: which of the lists of fields they are in, and where.
    fn placed<'a>(&self, cells: &[LogCell<'a>]) -> impl Iterator<Item = (LogCell<'a>, CellPlace)> {
        let request = self.request_at(cells);
        let mut counts = [0; 3];
        cells.iter().copied().enumerate().filter(move |_| request.is_some()).map(move |(at, cell)| {
            let list = match (request.is_some_and(|request| at < request), cell.enclosure) {
                (true, _) => 0,
                (false, Enclosure::Quotes) => 1,
                (false, _) => 2,
            };
            let count = counts.get_mut(list).map_or(0, |count| std::mem::replace(count, *count + 1));
            (cell, (list, count))
        })
    }

    /// Whether a line is the head of this log once more.
    pub(super) fn is_head(&self, line: &[u8]) -> bool {
        !self.head.is_empty() && self.head == line
    }

    /// The fields of a line, and how many cells it has.
    ///
    /// # Errors
    /// What was looked for, and the column where.
    pub(super) fn read<'a>(&self, line: &'a [u8], fields: &mut LineFields<'a>) -> Result<usize, LineFault> {
        let blank = || if line.contains(&b'\t') { b'\t' } else { b' ' };
        let separator = self.separator.or_else(|| self.is_w3c.then(blank));
        let cells = cut(line, separator);
        for (cell, (list, at)) in self.placed(&cells) {
            let Some(Some((field, trust))) = self.fields.get(list).and_then(|fields| fields.get(at)) else {
                continue;
            };
            // Lines without the host in front begin with the address.
            let is_front = list == 0 && self.request.is_some() && *field == LogField::Host;
            let is_client = is_front && first_address(cell.text).is_some();
            let named = if is_client { (LogField::Address, 1) } else { (*field, *trust) };
            fields.put(named, self.decoded(*field, &cell, separator));
        }
        if self.is_w3c || !self.head.is_empty() {
            return Ok(cells.len());
        }
        let is_missing = self.request_at(&cells).is_none() || self.fields.iter().all(Vec::is_empty);
        let mut pairs = 0;
        for cell in cells.iter().filter(|_| is_missing || self.has_pairs) {
            if let Some(((field, trust), value)) = of_pair(cell) {
                fields.put((field, trust + 1), unescaped(value));
                pairs += 1;
            }
        }
        // A name with blanks may stand in front of it. A number is one at the beginning only.
        let mut texts = cells.iter().map(|cell| cell.text);
        let first = texts.clone().next().filter(|_| is_missing);
        let found = || texts.find(|text| is_time(text)).or(first).and_then(time::any);
        fields.at = fields.time().or_else(found);
        if is_missing && pairs < PAIRS {
            let is_dated = fields.at.is_some();
            return Err(if is_dated { (LogField::RequestLine, line.len()) } else { (LogField::Time, 0) });
        }
        Ok(cells.len())
    }

    /// A cell as the client sent it. IIS writes `+` for a blank. `CloudFront` encodes what a URL may not hold, and what was
    /// encoded already a second time.
    fn decoded<'a>(&self, field: LogField, cell: &LogCell<'a>, separator: Option<u8>) -> Cow<'a, [u8]> {
        let (enclosure, cell) = (cell.enclosure, cell.text);
        let is_path = matches!(field, LogField::Path | LogField::Query | LogField::Target);
        match field {
            LogField::UserAgent if self.is_w3c && separator == Some(b' ') && !cell.contains(&b' ') => {
                Cow::Owned(with_blanks(cell))
            }
            LogField::UserAgent if separator.is_some() => percent_decoded(unescaped(cell)),
            _ if is_path && self.is_w3c && separator == Some(b'\t') && cell.find(b"%25").is_some() => {
                Cow::Owned(cell.replace(b"%25", b"%"))
            }
            // HAProxy writes what its own format needs as `#` and a number.
            _ if enclosure == Enclosure::Braces && cell.contains(&b'#') => Cow::Owned(decoded(cell, b"#")),
            _ if self.is_w3c => Cow::Borrowed(cell),
            _ => unescaped(cell),
        }
    }
}

/// The field that a cell names itself, and what it holds.
fn of_pair<'a>(cell: &LogCell<'a>) -> Option<(NamedField, &'a [u8])> {
    let (key, value) = cell.pair()?;
    Some((field_named(key)?, value))
}

/// Which of the texts in quotes is the request, in most of the lines; of equal ones the first.
fn request_of(rows: &[Vec<LogCell<'_>>]) -> Option<usize> {
    let count = |nth| {
        let is_request = |cells: &&Vec<LogCell<'_>>| {
            let mut quoted = cells.iter().filter(|cell| cell.enclosure == Enclosure::Quotes);
            quoted.nth(nth).is_some_and(|cell| request_line(cell.text).is_some())
        };
        rows.iter().filter(is_request).count()
    };
    let most = (0..8).rev().map(|nth| (count(nth), nth)).max_by_key(|(count, _)| *count);
    most.filter(|(count, _)| *count > 0).map(|(_, nth)| nth)
}
