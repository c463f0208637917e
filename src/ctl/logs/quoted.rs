//! Lines of words, and of texts in quotes, brackets and braces: what most servers write.
//!
//! `[host] address ident user [time] "request" status size "referer" "user agent" …` is the best known of them, and operators
//! put fields in front of it, into it and behind it. So the places of the fields are found by what a log's first lines hold
//! there. A quote within a text is written as `\"` or `\x22`, so that a text ends where it ends.

use super::entry::{FieldsOfLine, first_address, parts_of_request};
use super::names::LogField;
use super::pieces::{Enclosure, LogPiece, pieces, time_of, unescaped};
use std::borrow::Cow;

/// Where something stands among the pieces of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PiecePlace {
    /// So many pieces from the beginning.
    Front(usize),
    /// So many quoted texts behind the request.
    Quoted(usize),
    /// So many words behind the request, from its end on.
    Word(usize),
    /// This part of what is in braces, between bars: what `HAProxy` captured.
    Captured(usize, usize),
}

/// The places of the fields of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct QuotedLayout {
    /// Which of the quoted texts is the request.
    request: usize,
    agent: Option<PiecePlace>,
    forwarded: Option<PiecePlace>,
    host: Option<PiecePlace>,
}

impl QuotedLayout {
    /// The places of the fields in a log that begins with these lines.
    pub(super) fn of(lines: &[&[u8]]) -> Self {
        let cut: Vec<(&[u8], Vec<LogPiece>)> = lines
            .iter()
            .map(|line| {
                let mut list = Vec::new();
                pieces(line, &mut list);
                (*line, list)
            })
            .collect();
        let quoted = |list: &[LogPiece]| -> Vec<usize> {
            (0..list.len())
                .filter(|at| list.get(*at).is_some_and(|piece| piece.enclosure == Enclosure::Quotes))
                .collect()
        };
        let is_request = |line: &[u8], piece: &LogPiece| parts_of_request(piece.text(line)).is_some();
        let mut requests = [0_u32; 8];
        for (line, list) in &cut {
            let places = quoted(list);
            let found =
                places.iter().position(|at| list.get(*at).is_some_and(|piece| is_request(line, piece)));
            found.and_then(|place| requests.get_mut(place)).into_iter().for_each(|count| *count += 1);
        }
        let request = (0..requests.len()).rev().max_by_key(|place| requests.get(*place)).unwrap_or_default();
        let mut layout = Self { request, ..Self::default() };
        let mut samples: Vec<(PiecePlace, Vec<&[u8]>)> = Vec::new();
        for (line, list) in &cut {
            let Some((time_at, ..)) = time_of(list, line) else { continue };
            for (place, text) in layout.places(list, line, time_at) {
                match samples.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, texts)) => texts.push(text),
                    None => samples.push((place, vec![text])),
                }
            }
        }
        samples.sort_by_key(|(place, _)| *place);
        layout.assign(&samples);
        layout
    }

    fn assign(&mut self, samples: &[(PiecePlace, Vec<&[u8]>)]) {
        let score = |texts: &[&[u8]], of: fn(&[u8]) -> i32| texts.iter().map(|text| of(text)).sum::<i32>();
        let behind = |place: &PiecePlace| !matches!(place, PiecePlace::Front(_) | PiecePlace::Word(_));
        let agents = samples.iter().filter(|(place, _)| behind(place));
        let best = agents
            .map(|(place, texts)| (score(texts, likeness_to_agent), *place))
            .filter(|(score, _)| *score > 0);
        // Of equal ones the first.
        let best = best.max_by(|one, two| one.0.cmp(&two.0).then(two.1.cmp(&one.1)));
        // Where nothing looks like one, the combined format has it second.
        let second =
            samples.iter().find(|(place, _)| *place == PiecePlace::Quoted(1)).map(|(place, _)| *place);
        self.agent = best.map(|(_, place)| place).or(second);
        let is_free = |place: &PiecePlace| Some(*place) != self.agent;
        let lists = |texts: &[&[u8]]| {
            texts.iter().all(|text| is_nothing(text) || first_address(text).is_some())
                && texts.iter().any(|text| !is_nothing(text))
        };
        let quoted =
            samples.iter().filter(|(place, _)| matches!(place, PiecePlace::Quoted(_)) && is_free(place));
        self.forwarded = quoted.clone().find(|(_, texts)| lists(texts)).map(|(place, _)| *place);
        let front = |wanted: usize, is: fn(&[u8]) -> bool| {
            let texts = samples.iter().find(|(place, _)| *place == PiecePlace::Front(wanted));
            texts.is_some_and(|(_, texts)| {
                let count = texts.iter().filter(|text| is(text)).count();
                count > 0 && count * 10 >= texts.len() * 9
            })
        };
        let is_address = |text: &[u8]| first_address(text).is_some();
        let is_host_place = |(place, texts): &&(PiecePlace, Vec<&[u8]>)| {
            let may = match place {
                PiecePlace::Front(at) => *at == 1 && front(0, is_address),
                _ => is_free(place),
            };
            may && texts.iter().all(|text| is_nothing(text) || is_host_name(text))
                && texts.iter().any(|text| !is_nothing(text))
        };
        self.host = samples.iter().find(is_host_place).map(|(place, _)| *place);
    }

    /// The pieces that a field may stand in, and their places.
    fn places<'a>(&self, list: &[LogPiece], line: &'a [u8], time_at: usize) -> Vec<(PiecePlace, &'a [u8])> {
        let request = self.request_at(list).unwrap_or(list.len());
        let mut places = Vec::new();
        let (mut quotes, mut words, mut braces) = (0, 0, 0);
        for (at, piece) in list.iter().enumerate() {
            let text = piece.text(line);
            match piece.enclosure {
                Enclosure::Braces => {
                    let parts = text.split(|byte| *byte == b'|').enumerate();
                    places.extend(parts.map(|(part, text)| (PiecePlace::Captured(braces, part), text)));
                    braces += 1;
                }
                _ if at < time_at.min(request) => places.push((PiecePlace::Front(at), text)),
                Enclosure::Quotes if at > request => {
                    places.push((PiecePlace::Quoted(quotes), text));
                    quotes += 1;
                }
                Enclosure::Word if at > request => {
                    places.push((PiecePlace::Word(words), text));
                    words += 1;
                }
                _ => {}
            }
        }
        places
    }

    /// Which piece is the request.
    fn request_at(&self, list: &[LogPiece]) -> Option<usize> {
        let mut quoted = (0..list.len())
            .filter(|at| list.get(*at).is_some_and(|piece| piece.enclosure == Enclosure::Quotes));
        quoted.nth(self.request)
    }

    /// The fields of a line, and its time.
    ///
    /// # Errors
    /// What was looked for, and the column where.
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        list: &mut Vec<LogPiece>,
    ) -> Result<FieldsOfLine<'a>, (LogField, usize)> {
        pieces(line, list);
        let list = &list[..];
        let (time_at, at, _) = time_of(list, line).ok_or((LogField::Time, 0))?;
        let request = self.request_at(list).ok_or((LogField::RequestLine, line.len()))?;
        let mut fields = FieldsOfLine::at(at);
        let mut put = |field, text: Cow<'a, [u8]>| fields.put((field, 0), text);
        put(
            LogField::RequestLine,
            unescaped(list.get(request).map(|piece| piece.text(line)).unwrap_or_default()),
        );
        let is_address = |piece: &&LogPiece| {
            piece.enclosure != Enclosure::Brackets && first_address(piece.text(line)).is_some()
        };
        // `vhost_combined`: the host, and then the address.
        let has_host = time_at > 1 && list.first().is_some_and(|piece| !is_address(&piece));
        let host = list.first().filter(|_| has_host && list.get(1).is_some_and(|piece| is_address(&piece)));
        let before = list.get(usize::from(host.is_some())..time_at).unwrap_or_default().iter().take(4);
        let behind = list.get(time_at + 1..request).unwrap_or_default().iter().take(3);
        let peer = before.chain(behind).find(is_address);
        let (status, size) = status_and_size(list, line, (time_at, request));
        let plain = |piece: Option<&LogPiece>| piece.map(|piece| piece.text(line));
        for (field, text) in [
            (LogField::Host, plain(host)),
            (LogField::Address, plain(peer)),
            (LogField::Status, status),
            (LogField::Size, size),
        ] {
            put(field, Cow::Borrowed(text.unwrap_or_default()));
        }
        for (field, place) in [
            (LogField::UserAgent, self.agent),
            (LogField::ForwardedFor, self.forwarded),
            (LogField::Host, self.host),
        ] {
            if let Some(text) = place.and_then(|place| text_at(place, list, line, request)) {
                put(field, unescaped(text));
            }
        }
        Ok(fields)
    }
}

/// The first words behind the request that are a status and a number. Balancers write the status in front of it.
fn status_and_size<'a>(
    list: &[LogPiece],
    line: &'a [u8],
    (time_at, request): (usize, usize),
) -> (Option<&'a [u8]>, Option<&'a [u8]>) {
    let is_word = |piece: &&LogPiece| piece.enclosure == Enclosure::Word;
    let texts = |list: &'_ [LogPiece]| -> Vec<&'a [u8]> {
        list.iter().filter(is_word).take(8).map(|piece| piece.text(line)).collect()
    };
    let behind = texts(list.get(request + 1..).unwrap_or_default());
    let status = behind.iter().position(|text| is_status(text) || *text == b"-");
    let size =
        status.and_then(|at| behind.get(at + 1..)?.iter().find(|text| text.iter().all(u8::is_ascii_digit)));
    let status = status.and_then(|at| behind.get(at)).filter(|text| is_status(text)).copied();
    let before =
        || texts(list.get(time_at + 1..request).unwrap_or_default()).into_iter().find(|text| is_status(text));
    (status.or_else(before), size.copied())
}

fn text_at<'a>(place: PiecePlace, list: &[LogPiece], line: &'a [u8], request: usize) -> Option<&'a [u8]> {
    let behind = |enclosure: Enclosure| {
        list.get(request + 1..).unwrap_or_default().iter().filter(move |piece| piece.enclosure == enclosure)
    };
    let piece = match place {
        PiecePlace::Front(at) => list.get(at),
        PiecePlace::Quoted(at) => behind(Enclosure::Quotes).nth(at),
        PiecePlace::Word(at) => behind(Enclosure::Word).nth(at),
        PiecePlace::Captured(brace, part) => {
            let brace = list.iter().filter(|piece| piece.enclosure == Enclosure::Braces).nth(brace)?;
            return brace.text(line).split(|byte| *byte == b'|').nth(part);
        }
    };
    piece.map(|piece| piece.text(line))
}

fn is_nothing(text: &[u8]) -> bool {
    text.is_empty() || text == b"-"
}

fn is_status(text: &[u8]) -> bool {
    matches!(text, [b'1'..=b'5', second, third] if second.is_ascii_digit() && third.is_ascii_digit())
}

/// Whether a text is a name of the DNS with a dot, perhaps with a port.
fn is_host_name(text: &[u8]) -> bool {
    let name = match memchr::memrchr(b':', text) {
        Some(colon) if text.get(colon + 1..).is_some_and(|port| port.iter().all(u8::is_ascii_digit)) => {
            text.get(..colon).unwrap_or_default()
        }
        _ => text,
    };
    let is_name = name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    is_name && name.contains(&b'.') && last.len() > 1 && last.iter().all(u8::is_ascii_alphabetic)
}

/// How much a text is like a `User-Agent`: a product, and perhaps a comment (RFC 9110 §10.1.5).
fn likeness_to_agent(text: &[u8]) -> i32 {
    if is_nothing(text) {
        return 0;
    }
    if text.starts_with(b"http://")
        || text.starts_with(b"https://")
        || text.starts_with(b"/")
        || first_address(text).is_some()
    {
        return -2;
    }
    let product = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
    let version = text.get(product + 1).is_some_and(u8::is_ascii_digit);
    let name = text.get(..product).unwrap_or_default();
    let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    match (text.starts_with(b"Mozilla/"), version && is_name) {
        (true, _) => 3,
        (_, true) => 2,
        _ => i32::from(
            memchr::memmem::find(text, b"(+http").is_some() || memchr::memmem::find(text, b"bot").is_some(),
        ),
    }
}
