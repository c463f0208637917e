//! Lines of words, and of texts in quotes, brackets and braces: what most servers write.
//!
//! `[host] address ident user [time] "request" status size "referer" "user agent" …` is the best known of them, and operators
//! put fields in front of it, into it and behind it. So the places of the fields are found by what a log's first lines hold
//! there. A quote within a text is written as `\"` or `\x22`, so that a text ends where it ends.

use super::columns::decoded_once;
use super::entry::{FieldsOfLine, first_address, parts_of_request};
use super::guess::{
    are_like, is_forwarded_for, is_host_name, is_label, is_nothing, is_status, likeness, likeness_to_agent,
};
use super::names::LogField;
use super::pieces::{Enclosure, LogPiece, pieces, time_of, unescaped};
use std::borrow::Cow;

/// Where something stands among the pieces of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PiecePlace {
    /// So many pieces from the beginning, in front of the request.
    Front(usize),
    /// So many quoted texts behind the request.
    Quoted(usize),
    /// So many words behind the request, from its end on.
    Word(usize),
    /// This part of what is in braces, between bars: what `HAProxy` captured.
    Captured(usize, usize),
}

/// A place, and what stands there in the first lines.
type PlaceSamples<'a> = (PiecePlace, Vec<&'a [u8]>);

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
        // Nothing of these lines is of an access log. What may follow is taken for the combined format.
        if requests.iter().all(|count| *count == 0) {
            return Self { agent: Some(PiecePlace::Quoted(1)), ..Self::default() };
        }
        let request = (0..requests.len()).rev().max_by_key(|place| requests.get(*place)).unwrap_or_default();
        let mut layout = Self { request, ..Self::default() };
        let mut samples: Vec<PlaceSamples<'_>> = Vec::new();
        let mut first_time = None;
        for (line, list) in &cut {
            let Some(request) = layout.request_at(list) else { continue };
            first_time.get_or_insert_with(|| time_of(list, line).map_or(request, |(place, ..)| place));
            for (place, text) in layout.places(list, line) {
                match samples.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, texts)) => texts.push(text),
                    None => samples.push((place, vec![text])),
                }
            }
        }
        samples.sort_by_key(|(place, _)| *place);
        layout.assign(&samples, first_time.unwrap_or_default());
        layout
    }

    fn assign(&mut self, samples: &[PlaceSamples<'_>], time_at: usize) {
        let is_behind = |place: &PiecePlace| !matches!(place, PiecePlace::Front(_) | PiecePlace::Word(_));
        let agents = samples.iter().filter(|(place, _)| is_behind(place));
        let agents = agents.map(|(place, texts)| (likeness(texts, likeness_to_agent), *place));
        // Of equal ones the first.
        let best = agents.clone().filter(|(likeness, _)| *likeness > 0);
        let best = best.max_by(|one, two| one.0.cmp(&two.0).then(two.1.cmp(&one.1)));
        // Where nothing looks like one, the combined format has it second.
        let second =
            agents.clone().find(|(likeness, place)| *place == PiecePlace::Quoted(1) && *likeness == 0);
        self.agent = best.or(second).map(|(_, place)| place);
        let texts_at =
            |wanted| samples.iter().find(|(place, _)| *place == wanted).map(|(_, texts)| texts.as_slice());
        let front_is = |at, is: fn(&[u8]) -> bool| {
            texts_at(PiecePlace::Front(at)).is_some_and(|texts| are_like(texts, is))
        };
        let is_address = |text: &[u8]| first_address(text).is_some();
        let first = (0..time_at).find(|at| front_is(*at, is_address));
        // Where the combined format has the referer, which few requests have, a name has to stand in most lines.
        let is_free = |(place, texts): &PlaceSamples<'_>| {
            let said = texts.iter().filter(|text| !is_nothing(text)).count();
            Some(*place) != self.agent && (*place != PiecePlace::Quoted(0) || said * 2 > texts.len())
        };
        let is_forwarded = |(place, texts): &&PlaceSamples<'_>| match place {
            PiecePlace::Front(at) => {
                first.is_some_and(|first| first < *at && *at < time_at) && are_like(texts, is_address)
            }
            PiecePlace::Quoted(_) => Some(*place) != self.agent && are_like(texts, is_address),
            PiecePlace::Word(_) | PiecePlace::Captured(..) => are_like(texts, is_forwarded_for),
        };
        self.forwarded = samples.iter().find(is_forwarded).map(|(place, _)| *place);
        let is_host = |sample: &&PlaceSamples<'_>| match (sample.0, first) {
            // A name alone is that of the client.
            (PiecePlace::Front(_), None) => false,
            (PiecePlace::Front(0), Some(1)) if are_like(&sample.1, is_label) => true,
            (PiecePlace::Front(at), Some(first)) => {
                (at <= first + 1 || at == time_at + 1) && are_like(&sample.1, is_host_name)
            }
            _ => is_free(sample) && are_like(&sample.1, is_host_name),
        };
        self.host = samples.iter().find(is_host).map(|(place, _)| *place);
    }

    /// The pieces that a field may stand in, and their places.
    fn places<'a>(&self, list: &[LogPiece], line: &'a [u8]) -> Vec<(PiecePlace, &'a [u8])> {
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
                _ if at < request => places.push((PiecePlace::Front(at), text)),
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
        // The time may stand in front of the line, where a logger put it.
        let time = time_of(list, line);
        let missing = if time.is_some() { (LogField::RequestLine, line.len()) } else { (LogField::Time, 0) };
        let request = self.request_at(list).ok_or(missing)?;
        let time_at = time.map_or(request, |(place, ..)| place);
        let mut fields = FieldsOfLine::at(time.map(|(_, at, _)| at));
        let mut put = |field, text: Cow<'a, [u8]>| fields.put((field, 0), text);
        put(
            LogField::RequestLine,
            unescaped(list.get(request).map(|piece| piece.text(line)).unwrap_or_default()),
        );
        let is_address = |piece: &&LogPiece| {
            piece.enclosure != Enclosure::Brackets && first_address(piece.text(line)).is_some()
        };
        let before = list.get(..time_at).unwrap_or_default().iter().take(5);
        let behind = list.get(time_at + 1..request).unwrap_or_default().iter().take(3);
        let peer = before.chain(behind).find(is_address).map(|piece| piece.text(line));
        let (status, size) = status_and_size(list, line, (time_at, request));
        // `vhost_combined`: the host, and then the address.
        let first = list.first().map(|piece| piece.text(line)).filter(|text| is_host_name(text));
        let host = first.filter(|_| list.get(1).is_some_and(|piece| is_address(&piece)));
        for (field, text) in [
            (LogField::Host, host),
            (LogField::Address, peer),
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
            let Some(place) = place else { continue };
            let Some(text) = text_at(place, list, line, request) else { continue };
            let is_host = field == LogField::Host && matches!(place, PiecePlace::Front(_));
            match place {
                // On this line it may be something else.
                _ if is_host && !is_host_name(text) && !is_label(text) => {}
                PiecePlace::Captured(..) => put(field, without_numbers(text)),
                _ => put(field, unescaped(text)),
            }
        }
        Ok(fields)
    }
}

/// What `HAProxy` captured: it writes what its own format needs as `#` and a number.
fn without_numbers(text: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr(b'#', text) {
        Some(_) => Cow::Owned(decoded_once(text, b'#')),
        None => Cow::Borrowed(text),
    }
}

/// The status, and the size of the answer: words behind the request, or, as balancers write them, in front of it.
fn status_and_size<'a>(
    list: &[LogPiece],
    line: &'a [u8],
    (time_at, request): (usize, usize),
) -> (Option<&'a [u8]>, Option<&'a [u8]>) {
    let text = |piece: &LogPiece| piece.text(line);
    let number = |piece: &LogPiece| Some(text(piece)).filter(|text| text.iter().all(u8::is_ascii_digit));
    let behind = words(list.get(request + 1..), line);
    if let Some(at) = behind.iter().position(|piece| is_status(text(piece)) || is_nothing(text(piece))) {
        let size = match behind.get(at + 1..).unwrap_or_default() {
            // Envoy: flags, perhaps details, bytes of the request, bytes of the answer.
            [flags, rest @ ..] if number(flags).is_none() && rest.len() > 2 => {
                rest.iter().filter_map(number).nth(1)
            }
            rest => rest.first().and_then(number),
        };
        return (behind.get(at).map(text).filter(|text| is_status(text)), size);
    }
    let before = words(list.get(time_at + 1..request), line);
    let Some(at) = before.iter().position(|piece| is_status(text(piece))) else { return (None, None) };
    // The status of the server behind, bytes of the request, bytes of the answer; or the last alone.
    let rest = before.get(at + 1..).unwrap_or_default();
    let size = if rest.len() == 3 { rest.last() } else { rest.first() };
    (before.get(at).map(text), size.and_then(number))
}

/// The words that a list begins with. Some put a number, or nothing, in quotes.
fn words<'l>(list: Option<&'l [LogPiece]>, line: &[u8]) -> &'l [LogPiece] {
    let list = list.unwrap_or_default();
    let is_number = |text: &[u8]| is_nothing(text) || text.iter().all(u8::is_ascii_digit);
    let is_word = |piece: &LogPiece| match piece.enclosure {
        Enclosure::Word => true,
        Enclosure::Quotes => is_number(piece.text(line)),
        Enclosure::Brackets | Enclosure::Braces => false,
    };
    let end = list.iter().position(|piece| !is_word(piece)).unwrap_or(list.len());
    list.get(..end).unwrap_or_default()
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
