//! The signature base (RFC 9421 §2.5): the bytes that were signed, which are the values of the covered components (§2.1, §2.2).

use super::fault::SignatureFault;
use super::field::{self, Dictionary, InnerList, Item};
use super::message::SignedMessage;
use sfv::FieldType as _;
use std::borrow::Cow;
use std::collections::HashSet;

/// More components are covered by nobody.
const MOST_COMPONENTS: usize = 32;

/// How many of them may each be a part of a field, which has to be read whole for it.
const MOST_PARTS: usize = 4;

/// The base of a signature whose `Signature-Input` is `input`.
pub(super) fn signature_base(
    message: &SignedMessage<'_>,
    input: &InnerList,
) -> Result<Vec<u8>, SignatureFault> {
    let parts = input.items.iter().filter(|item| item.params.contains_key("key")).count();
    if input.items.len() > MOST_COMPONENTS || parts > MOST_PARTS {
        return Err(SignatureFault::TooMany);
    }
    let mut names = HashSet::new();
    let mut base = Vec::with_capacity(512);
    for item in &input.items {
        let name = item.serialize();
        base.extend([name.as_bytes(), b": ", &*component_value(message, item)?, b"\n"].concat());
        if !names.insert(name) {
            return Err(SignatureFault::DuplicateComponent);
        }
    }
    base.extend_from_slice(b"\"@signature-params\": ");
    base.extend_from_slice(field::written(input.clone()).as_bytes());
    Ok(base)
}

/// What a component's identifier asks for: a part of the request, a field, or a member of a field's dictionary, by the one
/// parameter that is supported.
fn component_value<'m>(message: &SignedMessage<'m>, item: &Item) -> Result<Cow<'m, [u8]>, SignatureFault> {
    let name = field::text(item).ok_or(SignatureFault::UnknownComponent)?;
    let key = item.params.get("key").and_then(|key| key.as_string());
    let is_upper = name.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_field = crate::http::head::is_token(name.as_bytes()) && !is_upper;
    if item.params.len() > usize::from(key.is_some() && is_field) {
        return Err(SignatureFault::UnknownComponent);
    }
    let mark = memchr::memchr(b'?', message.target).unwrap_or(message.target.len());
    let (path, query) = message.target.split_at(mark);
    let owned = |text: String| Cow::Owned(text.into_bytes());
    Ok(match name {
        "@method" => Cow::Borrowed(message.method.as_bytes()),
        "@authority" => owned(message.normal_authority()),
        "@scheme" => owned(message.scheme.to_ascii_lowercase()),
        "@target-uri" => {
            let origin = format!("{}://{}", message.scheme, message.normal_authority());
            Cow::Owned([origin.as_bytes(), message.target].concat())
        }
        "@request-target" => Cow::Borrowed(message.target),
        "@path" => Cow::Borrowed(if path.is_empty() { b"/" } else { path }),
        "@query" => Cow::Borrowed(if query.is_empty() { b"?" } else { query }),
        _ if !is_field => return Err(SignatureFault::UnknownComponent),
        _ => {
            let value = message.field(name).ok_or(SignatureFault::MissingComponent)?;
            let Some(key) = key else { return Ok(value) };
            let dictionary: Dictionary = field::parse(&value)?;
            let member = dictionary.get(key.as_str()).ok_or(SignatureFault::MissingComponent)?;
            owned(field::written(member.clone()))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::message::FieldLine;
    use super::*;

    fn value(component: &str, message: &SignedMessage<'_>) -> Result<String, SignatureFault> {
        let item: Item = field::parse(component.as_bytes()).unwrap();
        let value = component_value(message, &item)?;
        Ok(String::from_utf8_lossy(&value).into_owned())
    }

    const FIELDS: [FieldLine<'static>; 4] =
        [(b"X-One", b" a "), (b"x-one", b"b"), (b"Dict", b"k=1;p, l=(\"x\"  2)"), (b"Empty", b"")];

    /// The examples of RFC 9421 §2.1 and §2.2, with other names.
    #[test]
    fn each_component_has_its_value() {
        let message = SignedMessage {
            method: "POST",
            scheme: "https",
            authority: "WWW.Example.com:443",
            target: b"/path?param=value&foo=bar",
            fields: &FIELDS,
        };
        for (component, expected) in [
            ("\"@method\"", "POST"),
            ("\"@authority\"", "www.example.com"),
            ("\"@scheme\"", "https"),
            ("\"@target-uri\"", "https://www.example.com/path?param=value&foo=bar"),
            ("\"@path\"", "/path"),
            ("\"@query\"", "?param=value&foo=bar"),
            ("\"x-one\"", "a, b"),
            ("\"dict\";key=\"k\"", "1;p"),
            ("\"dict\";key=\"l\"", "(\"x\" 2)"),
            ("\"empty\"", ""),
        ] {
            assert_eq!(value(component, &message).as_deref(), Ok(expected), "{component}");
        }
        for (component, fault) in [
            ("\"@query-param\";name=\"a\"", SignatureFault::UnknownComponent),
            ("\"@query-param\"", SignatureFault::UnknownComponent),
            ("\"@method\";key=\"a\"", SignatureFault::UnknownComponent),
            ("\"@method\";req", SignatureFault::UnknownComponent),
            ("\"x-one\";sf", SignatureFault::UnknownComponent),
            ("\"x-one\";bs", SignatureFault::UnknownComponent),
            ("\"x-one\";key=b", SignatureFault::UnknownComponent),
            ("\"x-none\"", SignatureFault::MissingComponent),
            ("\"X-One\"", SignatureFault::UnknownComponent),
            ("\"@status\"", SignatureFault::UnknownComponent),
            ("\"@signature-params\"", SignatureFault::UnknownComponent),
            ("\"x one\"", SignatureFault::UnknownComponent),
            ("x-one", SignatureFault::UnknownComponent),
            ("\"dict\";key=\"m\"", SignatureFault::MissingComponent),
        ] {
            assert_eq!(value(component, &message), Err(fault), "{component}");
        }
    }

    #[test]
    fn a_target_without_query_has_an_empty_one() {
        let (method, scheme, authority) = ("GET", "http", "a");
        let message = SignedMessage { method, scheme, authority, target: b"/x", fields: &[] };
        assert_eq!(value("\"@query\"", &message).as_deref(), Ok("?"));
        assert_eq!(value("\"@request-target\"", &message).as_deref(), Ok("/x"));
    }
}
