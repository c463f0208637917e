//! Where the fields stand in the lines of a log: by the names in its head, or by what its first lines hold.
//!
//! `[host] address ident user [time] "request" status size "referer" "user agent" …` is the best known of the logs in words, and
//! operators put fields in front of it, into it and behind it. Others are tables.

use super::cells::{Enclosure, LogCell, cut, decoded, percent_decoded, unescaped, with_blanks};
use super::entry::{LineFields, first_address, is_status, request_line};
use super::names::{FORMATS, LogField, NamedField, field_named};
use super::time;
use bstr::ByteSlice as _;
use std::borrow::Cow;
use std::net::IpAddr;

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
        FORMATS.tables.iter().find_map(|table| {
            let separator = u8::try_from(table.separator).ok()?;
            let is_w3c = matches!(separator, b'\t' | b' ');
            let layout = Self::named(table.columns.as_bytes().fields(), Some(separator).filter(|_| !is_w3c));
            let mut cells = Vec::new();
            let mut fields = LineFields::default();
            layout.read(line, &mut cells, &mut fields).ok()?;
            let is_of_table = cells.len() >= layout.fields[0].len() && line.contains(&separator);
            (is_of_table && fields.is_of_columns()).then_some(layout)
        })
    }

    fn guessed(lines: &[&[u8]], separator: Option<u8>) -> Option<Self> {
        let cut_up = |line: &&'_ [u8]| {
            let mut cells = Vec::new();
            cut(line, separator, &mut cells);
            cells
        };
        let rows: Vec<(&[u8], Vec<LogCell>)> = lines.iter().map(|line| (*line, cut_up(line))).collect();
        let pairs = |(line, cells): &(&[u8], Vec<LogCell>)| {
            cells.iter().filter(|cell| of_pair(cell, line).is_some()).count()
        };
        let most_pairs = rows.iter().map(pairs).max().unwrap_or_default();
        let request = if separator.is_none() { request_of(&rows) } else { None };
        let layout =
            Self { separator, request, has_pairs: most_pairs > 0, is_known: true, ..Self::default() };
        if request.is_none() && most_pairs >= PAIRS {
            return Some(layout);
        }
        let mut columns: Vec<CellColumn<'_>> = Vec::new();
        for (line, cells) in &rows {
            for (cell, place) in layout.placed(cells) {
                match columns.iter_mut().find(|column| column.place == place) {
                    Some(column) => column.texts.push(cell.text(line)),
                    None => columns.push(CellColumn {
                        place,
                        enclosure: cell.enclosure,
                        texts: vec![cell.text(line)],
                        field: None,
                    }),
                }
            }
        }
        columns.sort_by_key(|column| column.place);
        CellGuess { columns, is_table: separator.is_some(), has_request: request.is_some() }
            .into_layout(layout)
    }

    /// Which cell is the request; none of a line that has none.
    fn request_at(&self, cells: &[LogCell]) -> Option<usize> {
        let Some(nth) = self.request else { return Some(cells.len()) };
        let mut quoted = cells.iter().enumerate().filter(|(_, cell)| cell.enclosure == Enclosure::Quotes);
        quoted.nth(nth).map(|(at, _)| at)
    }

    /// The cells with their places: which of the lists of fields they are in, and where.
    fn placed<'c>(&self, cells: &'c [LogCell]) -> impl Iterator<Item = (&'c LogCell, CellPlace)> {
        let request = self.request_at(cells);
        let mut counts = [0; 3];
        cells.iter().enumerate().filter(move |_| request.is_some()).map(move |(at, cell)| {
            let list = match (request.is_some_and(|request| at < request), cell.enclosure) {
                (true, _) => 0,
                (false, Enclosure::Quotes) => 1,
                (false, _) => 2,
            };
            let count = counts.get_mut(list).map_or(0, |count| std::mem::replace(count, *count + 1));
            (cell, (list, count))
        })
    }

    /// Whether a line is the head of this log, or a comment in it.
    pub(super) fn is_head(&self, line: &[u8]) -> bool {
        !self.head.is_empty() && self.head == line
    }

    /// The fields of a line.
    ///
    /// # Errors
    /// What was looked for, and the column where.
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        cells: &mut Vec<LogCell>,
        fields: &mut LineFields<'a>,
    ) -> Result<(), (LogField, usize)> {
        let blank = || if line.contains(&b'\t') { b'\t' } else { b' ' };
        let separator = self.separator.or_else(|| self.is_w3c.then(blank));
        cut(line, separator, cells);
        for (cell, (list, at)) in self.placed(cells) {
            let Some(Some((field, trust))) = self.fields.get(list).and_then(|fields| fields.get(at)) else {
                continue;
            };
            let text = cell.text(line);
            // In front of the address of this line may stand no host.
            if *field != LogField::Host
                || list > 0
                || self.request.is_none()
                || is_host_name(text)
                || is_label(text)
            {
                fields.put((*field, *trust), self.decoded(*field, cell, line, separator));
            }
        }
        if self.is_w3c || !self.head.is_empty() {
            return Ok(());
        }
        if self.request.is_some() && fields.get(LogField::Address).is_none() {
            let front = self
                .placed(cells)
                .filter(|(cell, (list, _))| *list == 0 && cell.enclosure != Enclosure::Brackets);
            let found = front.map(|(cell, _)| cell.text(line)).find(|text| first_address(text).is_some());
            if let Some(address) = found {
                fields.put((LogField::Address, 1), Cow::Borrowed(address));
            }
        }
        let is_missing = self.request_at(cells).is_none() || self.fields.iter().all(Vec::is_empty);
        let mut pairs = 0;
        for cell in cells.iter().filter(|_| is_missing || self.has_pairs) {
            if let Some(((field, trust), value)) = of_pair(cell, line) {
                fields.put((field, trust + 1), unescaped(value));
                pairs += 1;
            }
        }
        // A name with blanks may stand in front of it. A number is one at the beginning only.
        let mut texts = cells.iter().map(|cell| cell.text(line));
        let first = texts.clone().next().filter(|_| is_missing);
        let found = || texts.find(|text| is_time(text)).or(first).and_then(time::any);
        fields.at = fields.time().or_else(found);
        if is_missing && pairs < PAIRS {
            let is_dated = fields.at.is_some();
            return Err(if is_dated { (LogField::RequestLine, line.len()) } else { (LogField::Time, 0) });
        }
        Ok(())
    }

    /// A cell as the client sent it. IIS writes `+` for a blank. `CloudFront` encodes what a URL may not hold, and what was
    /// encoded already a second time.
    fn decoded<'a>(
        &self,
        field: LogField,
        cell: &LogCell,
        line: &'a [u8],
        separator: Option<u8>,
    ) -> Cow<'a, [u8]> {
        let (enclosure, cell) = (cell.enclosure, cell.text(line));
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
fn of_pair<'a>(cell: &LogCell, line: &'a [u8]) -> Option<(NamedField, &'a [u8])> {
    let (key, value) = cell.pair(line)?;
    Some((field_named(key)?, value))
}

/// Which of the texts in quotes is the request, in most of the lines.
fn request_of(rows: &[(&[u8], Vec<LogCell>)]) -> Option<usize> {
    let mut counts = [0_u32; 8];
    for (line, cells) in rows {
        let mut quoted = cells.iter().filter(|cell| cell.enclosure == Enclosure::Quotes);
        let found = quoted.position(|cell| request_line(cell.text(line)).is_some());
        found.and_then(|place| counts.get_mut(place)).into_iter().for_each(|count| *count += 1);
    }
    // Of equal ones the first.
    let most = counts.into_iter().enumerate().rev().max_by_key(|(_, count)| *count);
    most.filter(|(_, count)| *count > 0).map(|(place, _)| place)
}

/// Which list of fields a cell is in, and where.
type CellPlace = (usize, usize);

/// What the first lines hold at one place.
struct CellColumn<'a> {
    place: CellPlace,
    enclosure: Enclosure,
    texts: Vec<&'a [u8]>,
    field: Option<LogField>,
}

impl CellColumn<'_> {
    /// Whether three in four of the texts that say something are like that, and one does.
    fn is_like(&self, is_like: fn(&[u8]) -> bool) -> bool {
        let like = self.texts.iter().filter(|text| !is_nothing(text) && is_like(text)).count();
        like > 0 && like * 4 >= self.said() * 3
    }

    /// How many of the texts say something.
    fn said(&self) -> usize {
        self.texts.iter().filter(|text| !is_nothing(text)).count()
    }

    /// How much all texts together are like a `User-Agent`.
    fn likeness_to_agent(&self) -> i32 {
        self.texts.iter().map(|text| likeness_to_agent(text)).sum()
    }

    const fn is_behind(&self) -> bool {
        self.place.0 > 0
    }
}

/// The columns of a log while it is found out what they hold.
struct CellGuess<'a> {
    columns: Vec<CellColumn<'a>>,
    is_table: bool,
    has_request: bool,
}

impl CellGuess<'_> {
    /// The first column without a field that is like one gets it.
    fn assign(&mut self, field: LogField, is_it: impl Fn(usize, &CellColumn<'_>) -> bool) -> Option<usize> {
        let mut free = self.columns.iter().enumerate().filter(|(_, column)| column.field.is_none());
        let found = free.find(|(at, column)| is_it(*at, column)).map(|(at, _)| at)?;
        self.columns.get_mut(found)?.field = Some(field);
        Some(found)
    }

    fn into_layout(mut self, layout: LogLayout) -> Option<LogLayout> {
        let is_table = self.is_table;
        let time = self
            .assign(LogField::Time, |_, column| {
                column.enclosure == Enclosure::Brackets && column.is_like(is_time)
            })
            .or_else(|| {
                self.assign(LogField::Time, |at, column| {
                    column.is_like(if is_table || at == 0 { is_moment } else { is_time })
                })
            });
        let request = if self.has_request {
            self.assign(LogField::RequestLine, |_, column| column.is_behind())
        } else {
            let whole = self.assign(LogField::RequestLine, |_, column| {
                column.is_like(|text| request_line(text).is_some())
            });
            whole.or_else(|| {
                self.assign(LogField::Target, |_, column| column.is_like(|text| text.starts_with(b"/")))?;
                self.assign(LogField::Method, |_, column| column.is_like(is_common_method))
            })
        }?;
        // What is passed on by loggers may have its time in front of the line alone.
        let time = time.or_else(|| (!is_table).then_some(request))?;
        let front = |column: &CellColumn<'_>| is_table || !column.is_behind();
        let address = self.assign(LogField::Address, |_, column| {
            column.enclosure != Enclosure::Brackets
                && front(column)
                && column.is_like(|text| first_address(text).is_some())
        });
        self.assign(LogField::ForwardedFor, |at, column| {
            let is_between = address.is_some_and(|address| address < at) && at < time;
            let is_captured = column.enclosure == Enclosure::Braces;
            let is_placed = is_table || column.is_behind() || is_between || is_captured;
            is_placed && column.is_like(is_forwarded_for)
        });
        self.status_and_size(time);
        self.agent();
        self.host(address, time);
        let fields = |list| {
            let columns = self.columns.iter().filter(|column| column.place.0 == list);
            columns.map(|column| column.field.map(|field| (field, 0))).collect()
        };
        Some(LogLayout { fields: [0, 1, 2].map(fields), ..layout })
    }

    /// The status, and the size of the answer: behind the request, or, as balancers write them, in front of it.
    fn status_and_size(&mut self, time: usize) {
        let (is_table, has_request) = (self.is_table, self.has_request);
        let behind = |column: &CellColumn<'_>| column.is_behind() || !has_request;
        // Far behind it balancers write those of the servers behind them.
        let near = |column: &CellColumn<'_>| behind(column) && (column.place.1 < 5 || !has_request);
        let status = self
            .assign(LogField::Status, |_, column| near(column) && column.is_like(is_status))
            .or_else(|| self.assign(LogField::Status, |at, column| at > time && column.is_like(is_status)));
        let Some(status) = status else { return };
        let is_number = |at: usize| self.columns.get(at).is_some_and(|column| column.is_like(is_digits));
        let is_front = self.columns.get(status).is_some_and(|column| !column.is_behind()) && has_request;
        let size = if is_front {
            // The status of the server behind, bytes of the request, bytes of the answer; or the last alone.
            let is_blank =
                |at: usize| self.columns.get(at).is_some_and(|column| column.said() * 4 < column.texts.len());
            (status + 1..self.columns.len())
                .take_while(|at| is_number(*at) || is_blank(*at))
                .filter(|at| is_number(*at))
                .last()
        } else if is_number(status + 1) || is_table {
            (status + 1..self.columns.len()).find(|at| is_number(*at))
        } else {
            // Envoy writes the time first, and flags, perhaps details, bytes of the request, and of the answer; S3 a code and bytes.
            let numbers = (status + 1..status + 7).filter(|at| is_number(*at));
            if time == 0 { numbers.take(2).last() } else { numbers.take(1).find(|at| *at < status + 3) }
        };
        if let Some(column) = size.and_then(|at| self.columns.get_mut(at)) {
            column.field = Some(LogField::Size);
        }
    }

    /// Of the texts in quotes, or that `HAProxy` captured, the one that is most like a `User-Agent`; of equal ones the first.
    fn agent(&mut self) {
        let is_text = |column: &CellColumn<'_>| {
            self.is_table || matches!(column.enclosure, Enclosure::Quotes | Enclosure::Braces)
        };
        let free = || {
            self.columns.iter().enumerate().filter(|(_, column)| column.field.is_none() && is_text(column))
        };
        let best = free().map(|(at, column)| (column.likeness_to_agent(), std::cmp::Reverse(at))).max();
        // Where nothing looks like one, the combined format has it second.
        let second = || {
            free()
                .filter(|(_, column)| column.is_behind())
                .nth(1)
                .filter(|(_, column)| column.likeness_to_agent() == 0)
        };
        let found =
            best.filter(|(likeness, _)| *likeness > 0).map(|(_, at)| at.0).or_else(|| Some(second()?.0));
        if let Some(column) = found.and_then(|at| self.columns.get_mut(at)) {
            column.field = Some(LogField::UserAgent);
        }
    }

    /// The host that was asked: in front of the client's address or beside it, behind the time, or in most lines behind the
    /// request.
    fn host(&mut self, address: Option<usize>, time: usize) {
        let (is_table, has_request) = (self.is_table, self.has_request);
        self.assign(LogField::Host, |at, column| {
            let is_named = column.is_like(is_host_name);
            match address {
                _ if is_table || !has_request => is_named,
                _ if column.is_behind() || column.enclosure == Enclosure::Braces => {
                    is_named && column.said() * 2 > column.texts.len()
                }
                Some(1) if at == 0 => is_named || column.is_like(is_label),
                // A name alone is that of the client.
                Some(address) if address < time || time == 0 => is_named && (at <= address + 1 || at > time),
                _ => false,
            }
        });
    }
}

fn is_nothing(text: &[u8]) -> bool {
    text.is_empty() || text == b"-"
}

fn is_digits(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}

fn is_common_method(text: &[u8]) -> bool {
    matches!(text, b"GET" | b"HEAD" | b"POST" | b"PUT" | b"OPTIONS" | b"DELETE" | b"PATCH")
}

/// A time with its colons: there are many other numbers.
fn is_time(text: &[u8]) -> bool {
    text.contains(&b':') && is_moment(text)
}

fn is_moment(text: &[u8]) -> bool {
    time::any(text).is_some()
}

/// Whether a text is what a proxy puts into `X-Forwarded-For`: addresses without ports. Those of upstreams have ports.
fn is_forwarded_for(text: &[u8]) -> bool {
    let is_bare = |one: &[u8]| {
        let one = one.trim_with(|mark| matches!(mark, ' ' | '(' | ')' | '[' | ']'));
        std::str::from_utf8(one).is_ok_and(|one| one.parse::<IpAddr>().is_ok())
    };
    text.split(|byte| *byte == b',').any(is_bare)
}

/// Whether a text is a name of the DNS with a dot, perhaps with a port.
fn is_host_name(text: &[u8]) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    without_port(text).is_some_and(|name| {
        let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let is_word = last.len() > 1 && last.iter().all(u8::is_ascii_alphabetic);
        is_word && name.contains(&b'.') && name.iter().all(is_name)
    })
}

/// Whether a text is one label of a name, in small letters: numbers and what identifies a request are none.
fn is_label(text: &[u8]) -> bool {
    without_port(text).is_some_and(|name| {
        let is_name = |byte: &u8| {
            byte.is_ascii_lowercase()
                || matches!(byte, b'-' | b'_')
                || (name.len() < text.len() && byte.is_ascii_digit())
        };
        name.first().is_some_and(u8::is_ascii_lowercase) && name.iter().all(is_name)
    })
}

/// A name without the port that may stand behind it.
fn without_port(text: &[u8]) -> Option<&[u8]> {
    let Some((name, port)) = text.split_once_str(b":") else { return Some(text) };
    (!port.is_empty() && is_digits(port)).then_some(name)
}

/// How much a text is like a `User-Agent`: a product, and perhaps a comment (RFC 9110 §10.1.5).
fn likeness_to_agent(text: &[u8]) -> i32 {
    let is_other = [&b"http://"[..], b"https://", b"/", b"HTTP/"].iter().any(|start| text.starts_with(start));
    if is_nothing(text) {
        return 0;
    } else if is_other || first_address(text).is_some() {
        return -2;
    }
    let (product, behind) = text.split_at(text.find_byte(b'/').unwrap_or(text.len()));
    let is_product =
        product.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') && !product.is_empty();
    if text.starts_with(b"Mozilla/") {
        3
    } else if is_product && behind.get(1).is_some_and(u8::is_ascii_digit) {
        2
    } else {
        i32::from(text.find(b"(+http").is_some() || text.find(b"bot").is_some())
    }
}
