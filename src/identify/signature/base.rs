//! The signature base (RFC 9421 §2.5): the bytes that were signed, which are the values of the covered components (§2.1, §2.2).

use super::fault::SignatureFault;
use super::field::{self, Dictionary, InnerList, Item};
use super::message::SignedMessage;
use std::borrow::Cow;

/// More components are covered by nobody.
const MOST_COMPONENTS: usize = 32;

/// How many of them may each be a part of a field, which has to be read whole for it.
const MOST_PARTS: usize = 4;

/// The base of a signature whose `Signature-Input` is `input`.
pub(super) fn signature_base(
    message: &SignedMessage<'_>,
    input: &InnerList,
) -> Result<Vec<u8>, SignatureFault> {
    if input.items.len() > MOST_COMPONENTS {
        return Err(SignatureFault::TooMany);
    }
    let mut components: Vec<(String, ComponentId<'_>)> = Vec::with_capacity(input.items.len());
    for item in &input.items {
        let name = field::written(item);
        if components.iter().any(|(known, _)| *known == name) {
            return Err(SignatureFault::DuplicateComponent);
        }
        components.push((name, ComponentId::of(item)?));
    }
    if components.iter().filter(|(_, id)| id.key.is_some()).count() > MOST_PARTS {
        return Err(SignatureFault::TooMany);
    }
    let mut base = Vec::with_capacity(512);
    for (name, id) in components {
        base.extend_from_slice(name.as_bytes());
        base.extend_from_slice(b": ");
        base.extend_from_slice(&id.value(message)?);
        base.push(b'\n');
    }
    base.extend_from_slice(b"\"@signature-params\": ");
    base.extend_from_slice(field::written_list(input).as_bytes());
    Ok(base)
}

/// What a component's identifier asks for: a part of the request, or of a field's dictionary.
struct ComponentId<'a> {
    name: &'a str,
    key: Option<&'a str>,
}

impl<'a> ComponentId<'a> {
    /// Reads an identifier: a name, and the one parameter that is supported.
    fn of(item: &'a Item) -> Result<Self, SignatureFault> {
        let name = field::text(item).ok_or(SignatureFault::UnknownComponent)?;
        let mut id = Self { name, key: None };
        for (parameter, value) in &item.params {
            id.key = value.as_string().map(sfv::StringRef::as_str);
            if parameter.as_str() != "key" || id.key.is_none() || name.starts_with('@') {
                return Err(SignatureFault::UnknownComponent);
            }
        }
        Ok(id)
    }

    /// Its value in `message`.
    fn value<'m>(&self, message: &SignedMessage<'m>) -> Result<Cow<'m, [u8]>, SignatureFault> {
        if !self.name.starts_with('@') {
            return self.field(message);
        }
        let (path, query) = split(message.target);
        let owned = |text: String| Cow::Owned(text.into_bytes());
        Ok(match self.name {
            "@method" => Cow::Borrowed(message.method.as_bytes()),
            "@authority" => owned(message.normal_authority()),
            "@scheme" => owned(message.scheme.to_ascii_lowercase()),
            "@target-uri" => {
                let origin = format!("{}://{}", message.scheme, message.normal_authority());
                Cow::Owned([origin.as_bytes(), message.target].concat())
            }
            "@request-target" => Cow::Borrowed(message.target),
            "@path" => Cow::Borrowed(if path.is_empty() { b"/" } else { path }),
            "@query" => Cow::Owned([b"?", query.unwrap_or_default()].concat()),
            _ => return Err(SignatureFault::UnknownComponent),
        })
    }

    fn field<'m>(&self, message: &SignedMessage<'m>) -> Result<Cow<'m, [u8]>, SignatureFault> {
        let is_name = crate::http::head::is_token(self.name.as_bytes())
            && !self.name.bytes().any(|byte| byte.is_ascii_uppercase());
        if !is_name {
            return Err(SignatureFault::UnknownComponent);
        }
        let value = message.field(self.name).ok_or(SignatureFault::MissingComponent)?;
        let Some(key) = self.key else { return Ok(value) };
        let dictionary: Dictionary = field::parse(&value)?;
        let member = dictionary.get(key).ok_or(SignatureFault::MissingComponent)?;
        Ok(Cow::Owned(field::written_entry(member).into_bytes()))
    }
}

fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (target.get(..at).unwrap_or_default(), target.get(at + 1..)),
        None => (target, None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::FieldLine;
    use super::*;

    fn value(component: &str, message: &SignedMessage<'_>) -> Result<String, SignatureFault> {
        let item: Item = field::parse(component.as_bytes()).unwrap();
        let value = ComponentId::of(&item)?.value(message)?;
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
