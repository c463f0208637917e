//! What the columns of a log hold, told by what stands in them in its first lines.

use super::cells::Enclosure;
use super::entry::{first_address, request_line};
use super::names::{FORMATS, LogField, NamedField};
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
        FORMATS.looks.get(like).is_some_and(|look| self.is_like(|text| look.is_of(text)))
    }

    /// How much all texts together are like a `User-Agent`.
    fn likeness_to_agent(&self) -> i32 {
        let likeness = |text: &[u8]| {
            let agent =
                FORMATS.agents.iter().find(|(look, _)| look.is_of(text)).map_or(0, |(_, likeness)| *likeness);
            if first_address(text).is_some() { -2 } else { agent }
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
        let mut free = self.columns.iter().enumerate().filter(|(_, column)| column.field.is_none());
        let found = free.find(|(at, column)| is_it(*at, column)).map(|(at, _)| at)?;
        self.columns.get_mut(found)?.field = Some(field);
        Some(found)
    }

    /// The fields of each list, where the columns have a time and a request.
    pub(super) fn into_fields(mut self) -> Option<[Vec<Option<NamedField>>; 3]> {
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
                self.assign(LogField::Target, |_, column| column.looks("path"))?;
                self.assign(LogField::Method, |_, column| column.looks("method"))
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
        Some([0, 1, 2].map(fields))
    }

    /// The status, and the size of the answer: behind the request, or, as balancers write them, in front of it.
    fn status_and_size(&mut self, time: usize) {
        let (is_table, has_request) = (self.is_table, self.has_request);
        let behind = |column: &CellColumn<'_>| column.is_behind() || !has_request;
        // Far behind it balancers write those of the servers behind them.
        let near = |column: &CellColumn<'_>| behind(column) && (column.place.1 < 5 || !has_request);
        let status = self
            .assign(LogField::Status, |_, column| near(column) && column.looks("status"))
            .or_else(|| self.assign(LogField::Status, |at, column| at > time && column.looks("status")));
        let Some(status) = status else { return };
        let is_number = |at: usize| self.columns.get(at).is_some_and(|column| column.looks("number"));
        let is_front = self.columns.get(status).is_some_and(|column| !column.is_behind()) && has_request;
        let size = if is_front {
            // The status of the server behind, bytes of the request, bytes of the answer; or the last alone.
            let is_blank = |at: usize| {
                self.columns.get(at).is_some_and(|column| column.said().count() * 4 < column.texts.len())
            };
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
