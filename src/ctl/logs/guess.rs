//! What the columns of a log hold, told by what stands in them in its first lines.

use super::cells::Enclosure;
use super::entry::{first_address, request_line};
use super::names::{AGENTS, LOOKS, LogField, NamedField};
use super::time;
use bstr::ByteSlice as _;
use std::net::IpAddr;

/// Which list of fields a cell is in, and where.
pub(super) type CellPlace = (usize, usize);

/// What the first lines hold at one place.
pub(super) struct CellColumn<'a> {
    pub(super) place: CellPlace,
    pub(super) enclosure: Enclosure,
    pub(super) texts: Vec<&'a [u8]>,
    pub(super) field: Option<LogField>,
}

impl CellColumn<'_> {
    fn said(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().copied().filter(|text| !text.is_empty() && *text != b"-")
    }

    /// Whether three in four of the texts that say something are like that, and one does.
    fn is_like(&self, is_like: impl Fn(&[u8]) -> bool) -> bool {
        let like = self.said().filter(|text| is_like(text)).count();
        like > 0 && like * 4 >= self.said().count() * 3
    }

    /// Whether they look like what `formats.toml` calls so.
    fn looks(&self, like: &str) -> bool {
        LOOKS.get(like).is_some_and(|look| self.is_like(|text| look.is_match(text)))
    }

    /// How much all texts together are like a `User-Agent`.
    fn likeness_to_agent(&self) -> i32 {
        let likeness = |text: &[u8]| {
            let agent = AGENTS.iter().find(|(look, _)| look.is_match(text));
            if first_address(text).is_some() { -2 } else { agent.map_or(0, |(_, likeness)| *likeness) }
        };
        self.said().map(likeness).sum()
    }

    const fn is_behind(&self) -> bool {
        self.place.0 > 0
    }
}

/// The columns of a log while it is found out what they hold.
pub(super) struct CellGuess<'a> {
    pub(super) columns: Vec<CellColumn<'a>>,
    pub(super) is_table: bool,
    pub(super) has_request: bool,
}

impl CellGuess<'_> {
    /// The first column without a field that is like one gets it.
    fn assign(&mut self, field: LogField, is_it: impl Fn(usize, &CellColumn<'_>) -> bool) -> Option<usize> {
        let mut free = self.columns.iter_mut().enumerate().filter(|(_, column)| column.field.is_none());
        let (at, column) = free.find(|(at, column)| is_it(*at, column))?;
        column.field = Some(field);
        Some(at)
    }

    /// The fields of each list, where the columns have a time and a request.
    pub(super) fn into_fields(mut self) -> Option<[Vec<Option<NamedField>>; 3]> {
        let (is_table, has_request) = (self.is_table, self.has_request);
        let in_brackets =
            |_, column: &CellColumn<'_>| column.enclosure == Enclosure::Brackets && column.is_like(is_time);
        let bare = |at, column: &CellColumn<'_>| {
            column.is_like(if is_table || at == 0 { is_moment } else { is_time })
        };
        let time = self.assign(LogField::Time, in_brackets).or_else(|| self.assign(LogField::Time, bare));
        let whole = |_, column: &CellColumn<'_>| {
            if has_request { column.is_behind() } else { column.is_like(|text| request_line(text).is_some()) }
        };
        let request = self.assign(LogField::RequestLine, whole).or_else(|| {
            self.assign(LogField::Target, |_, column| column.looks("path"))?;
            self.assign(LogField::Method, |_, column| column.looks("method"))
        })?;
        // What is passed on by loggers may have its time in front of the line alone.
        let time = time.or_else(|| (!is_table).then_some(request))?;
        let address = self.assign(LogField::Address, |_, column| {
            let is_front = column.enclosure != Enclosure::Brackets && (is_table || !column.is_behind());
            is_front && column.is_like(|text| first_address(text).is_some())
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
        Some([0, 1, 2].map(fields))
    }

    /// The status, and the size of the answer: behind the request, or, as balancers write them, in front of it.
    fn status_and_size(&mut self, time: usize) {
        let (is_table, has_request) = (self.is_table, self.has_request);
        // Far behind the request balancers write those of the servers behind them.
        let near = |_, column: &CellColumn<'_>| {
            (column.is_behind() && column.place.1 < 5 || !has_request) && column.looks("status")
        };
        let later = |at, column: &CellColumn<'_>| at > time && column.looks("status");
        let status = self.assign(LogField::Status, near).or_else(|| self.assign(LogField::Status, later));
        let Some((status, rest)) = status.and_then(|at| self.columns.get(at..)?.split_first()) else {
            return;
        };
        let is_number = |column: &CellColumn<'_>| column.looks("number");
        let is_blank = |column: &CellColumn<'_>| column.said().count() * 4 < column.texts.len();
        let mut numbers = (0..).zip(rest).filter(|(_, column)| is_number(column) && column.field.is_none());
        // Balancers write the status of the server behind, bytes of the request and of the answer; or the last alone. Envoy
        // writes the time first, and flags, perhaps details, bytes of the request, and of the answer; S3 a code and bytes.
        let size = if has_request && !status.is_behind() {
            let among = rest.iter().take_while(|column| is_number(column) || is_blank(column)).count();
            numbers.take_while(|(at, _)| *at < among).last()
        } else if time == 0 && !is_table && !rest.first().is_some_and(is_number) {
            numbers.take_while(|(at, _)| *at < 6).take(2).last()
        } else {
            numbers.find(|(at, _)| is_table || *at < 2)
        };
        let size = size.map(|(_, column)| column.place);
        self.assign(LogField::Size, |_, column| Some(column.place) == size);
    }

    /// Of the texts in quotes, or that `HAProxy` captured, the one that is most like a `User-Agent`; of equal ones the first.
    fn agent(&mut self) {
        let is_text = |column: &&CellColumn<'_>| {
            let is_enclosed = matches!(column.enclosure, Enclosure::Quotes | Enclosure::Braces);
            column.field.is_none() && (self.is_table || is_enclosed)
        };
        let texts = || self.columns.iter().filter(is_text).map(|text| (text.likeness_to_agent(), text));
        let best = texts().rev().max_by_key(|(likeness, _)| *likeness).filter(|(likeness, _)| *likeness > 0);
        // Where nothing looks like one, the combined format has it second.
        let second =
            || texts().filter(|(_, text)| text.is_behind()).nth(1).filter(|(likeness, _)| *likeness == 0);
        let agent = best.or_else(second).map(|(_, column)| column.place);
        self.assign(LogField::UserAgent, |_, column| Some(column.place) == agent);
    }

    /// The host that was asked: in front of the client's address or beside it, behind the time, or in most lines behind the
    /// request.
    fn host(&mut self, address: Option<usize>, time: usize) {
        let (is_table, has_request) = (self.is_table, self.has_request);
        self.assign(LogField::Host, |at, column| {
            let is_named = column.looks("host");
            match address {
                _ if is_table || !has_request => is_named,
                _ if column.is_behind() || column.enclosure == Enclosure::Braces => {
                    is_named && column.said().count() * 2 > column.texts.len()
                }
                Some(1) if at == 0 => is_named || column.looks("label"),
                // A name alone is that of the client.
                Some(address) if address < time || time == 0 => is_named && (at <= address + 1 || at > time),
                _ => false,
            }
        });
    }
}

/// A time with its colons: there are many other numbers.
pub(super) fn is_time(text: &[u8]) -> bool {
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
