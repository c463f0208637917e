//! What a field of a log holds, told by its texts.

use super::entry::{first_address, parts_of_request};
use super::names::LogField;
use super::time;

pub(super) fn is_nothing(text: &[u8]) -> bool {
    text.is_empty() || text == b"-"
}

pub(super) fn is_status(text: &[u8]) -> bool {
    matches!(text, [b'1'..=b'5', second, third] if second.is_ascii_digit() && third.is_ascii_digit())
}

/// Whether a text is what a proxy puts into `X-Forwarded-For`: addresses without ports. Those of upstreams have ports.
pub(super) fn is_forwarded_for(text: &[u8]) -> bool {
    let plain =
        |text: &[u8]| std::str::from_utf8(text).is_ok_and(|text| text.parse::<std::net::IpAddr>().is_ok());
    text.split(|byte| *byte == b',').any(|one| plain(one.trim_ascii()))
}

/// How all texts of a field together are like something; those that say nothing count for nothing.
pub(super) fn likeness(texts: &[&[u8]], of: fn(&[u8]) -> i32) -> i32 {
    texts.iter().map(|text| of(text)).sum()
}

/// Whether nine in ten of the texts that say something are like that, and one does.
pub(super) fn are_like(texts: &[&[u8]], is_like: fn(&[u8]) -> bool) -> bool {
    let said = texts.iter().filter(|text| !is_nothing(text));
    let like = said.clone().filter(|text| is_like(text)).count();
    like > 0 && like * 10 >= said.count() * 9
}

/// The fields that columns hold, each known by its first texts. A log in columns has a time and a request.
pub(super) fn fields_of(columns: &[Vec<&[u8]>]) -> Option<Vec<Option<LogField>>> {
    let mut fields: Vec<Option<LogField>> = vec![None; columns.len()];
    for (column, texts) in columns.iter().enumerate() {
        let is_known = |field| fields.contains(&Some(field));
        // Other numbers stand in front.
        let is_new =
            |field: &LogField| !is_known(*field) && (*field != LogField::Size || is_known(LogField::Status));
        let found =
            MARKS.iter().filter(|(field, _)| is_new(field)).find(|(_, is_like)| are_like(texts, *is_like));
        if let Some(place) = fields.get_mut(column) {
            *place = found.map(|(field, _)| *field);
        }
    }
    let agents = fields.iter().zip(columns).enumerate().filter(|(_, (field, _))| field.is_none());
    let agents =
        agents.map(|(column, (_, texts))| (likeness(texts, likeness_to_agent), std::cmp::Reverse(column)));
    if let Some((_, column)) = agents.max().filter(|(likeness, _)| *likeness > 0) {
        fields.get_mut(column.0).into_iter().for_each(|field| *field = Some(LogField::UserAgent));
    }
    let has = |field| fields.contains(&Some(field));
    let has_request = has(LogField::RequestLine) || (has(LogField::Method) && has(LogField::Target));
    (has(LogField::Time) && has_request).then_some(fields)
}

/// Whether a text is like what a field holds.
type TextMark = fn(&[u8]) -> bool;

/// What a column is known by, in the order in which it is tried.
const MARKS: [(LogField, TextMark); 9] = [
    (LogField::Time, |text| std::str::from_utf8(text).ok().and_then(time::any).is_some()),
    (LogField::RequestLine, |text| parts_of_request(text).is_some()),
    (LogField::Method, |text| {
        matches!(text, b"GET" | b"HEAD" | b"POST" | b"PUT" | b"OPTIONS" | b"DELETE" | b"PATCH")
    }),
    (LogField::Target, |text| text.starts_with(b"/")),
    (LogField::Address, |text| first_address(text).is_some()),
    (LogField::ForwardedFor, is_forwarded_for),
    (LogField::Status, is_status),
    (LogField::Size, |text| text.iter().all(u8::is_ascii_digit)),
    (LogField::Host, is_host_name),
];

/// Whether a text is a name of the DNS with a dot, perhaps with a port.
pub(super) fn is_host_name(text: &[u8]) -> bool {
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

/// Whether a text is one label of a name, in small letters: numbers and what identifies a request are none.
pub(super) fn is_label(text: &[u8]) -> bool {
    let name = text.split(|byte| *byte == b':').next().unwrap_or_default();
    let port = text.get(name.len()..).unwrap_or_default();
    let is_port = port.is_empty() || (port.len() > 1 && port.iter().skip(1).all(u8::is_ascii_digit));
    let is_name = |byte: &u8| {
        byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_') || (port.len() > 1 && byte.is_ascii_digit())
    };
    is_port && name.first().is_some_and(u8::is_ascii_lowercase) && name.iter().all(is_name)
}

/// How much a text is like a `User-Agent`: a product, and perhaps a comment (RFC 9110 §10.1.5).
pub(super) fn likeness_to_agent(text: &[u8]) -> i32 {
    if is_nothing(text) {
        return 0;
    }
    let is_other = [&b"http://"[..], b"https://", b"/", b"HTTP/"].iter().any(|start| text.starts_with(start));
    if is_other || first_address(text).is_some() {
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
