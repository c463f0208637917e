//! The signature base (RFC 9421 §2.5): the bytes that were signed, which are the values of the covered components (§2.1, §2.2).

use super::fault::SignatureFault;
use super::field::{BareValue, DictionaryMember, FieldDictionary, FieldItem};
use super::message::{SignedMessage, lines};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// How many covered components may each be a part of a field or of the query.
const MOST_PARTS: usize = 4;

/// How many parameters of a query are looked through for one that is covered.
const MOST_QUERY_PARAMETERS: usize = 64;

/// The base of a signature whose `Signature-Input` is `input`.
pub(super) fn signature_base(
    message: &SignedMessage<'_>,
    input: &DictionaryMember<'_>,
) -> Result<Vec<u8>, SignatureFault> {
    let mut components: Vec<(String, ComponentId<'_>)> = Vec::with_capacity(input.items.len());
    for item in &input.items {
        let mut name = String::new();
        item.write(&mut name);
        if components.iter().any(|(known, _)| *known == name) {
            return Err(SignatureFault::DuplicateComponent);
        }
        components.push((name, ComponentId::of(item)?));
    }
    if components.iter().filter(|(_, id)| id.is_part()).count() > MOST_PARTS {
        return Err(SignatureFault::TooMany);
    }
    let mut base = Vec::with_capacity(512);
    for (name, id) in components {
        base.extend_from_slice(name.as_bytes());
        base.extend_from_slice(b": ");
        base.extend_from_slice(&id.value(message)?);
        base.push(b'\n');
    }
    let mut parameters = "\"@signature-params\": ".to_owned();
    input.write(&mut parameters);
    base.extend_from_slice(parameters.as_bytes());
    Ok(base)
}

/// What a component's identifier asks for.
struct ComponentId<'a> {
    name: &'a str,
    key: Option<&'a str>,
    query: Option<&'a str>,
    is_bytes: bool,
    is_of_request: bool,
}

impl<'a> ComponentId<'a> {
    /// Reads an identifier: a name, and the parameters that are supported.
    fn of(item: &'a FieldItem<'_>) -> Result<Self, SignatureFault> {
        let name = item.text().ok_or(SignatureFault::UnknownComponent)?;
        if item.parameters.is_repeated {
            return Err(SignatureFault::DuplicateParameter);
        }
        let mut id = Self { name, key: None, query: None, is_bytes: false, is_of_request: false };
        for (parameter, value) in &item.parameters.list {
            match (*parameter, value) {
                ("key", BareValue::String(key)) => id.key = Some(key.as_str()),
                ("name", BareValue::String(query)) => id.query = Some(query.as_str()),
                ("bs", BareValue::Boolean(true)) => id.is_bytes = true,
                ("req", BareValue::Boolean(true)) => id.is_of_request = true,
                _ => return Err(SignatureFault::UnsupportedParameter),
            }
        }
        let is_derived = name.starts_with('@');
        let fits = !(is_derived && (id.key.is_some() || id.is_bytes)
            || id.query.is_some() != (name == "@query-param")
            || id.key.is_some() && id.is_bytes);
        if fits { Ok(id) } else { Err(SignatureFault::UnsupportedParameter) }
    }

    /// Whether a whole field or query has to be read for its value.
    fn is_part(&self) -> bool {
        self.key.is_some() || self.query.is_some()
    }

    /// Its value in `message`.
    fn value<'m>(&self, message: &SignedMessage<'m>) -> Result<Cow<'m, [u8]>, SignatureFault> {
        if self.is_of_request && message.answer.is_none() {
            return Err(SignatureFault::UnsupportedParameter);
        }
        if self.name.starts_with('@') { self.derived(message) } else { self.field(message) }
    }

    fn derived<'m>(&self, message: &SignedMessage<'m>) -> Result<Cow<'m, [u8]>, SignatureFault> {
        // Of an answer, what is the request's has to be marked so (RFC 9421 §2.4).
        let is_status = self.name == "@status";
        let fits = if message.answer.is_some() { is_status != self.is_of_request } else { !is_status };
        if !fits {
            return Err(SignatureFault::UnknownComponent);
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
            "@query-param" => owned(query_value(query, self.query.unwrap_or_default())?),
            "@status" => owned(message.answer.map_or(0, |answer| answer.status).to_string()),
            _ => return Err(SignatureFault::UnknownComponent),
        })
    }

    fn field<'m>(&self, message: &SignedMessage<'m>) -> Result<Cow<'m, [u8]>, SignatureFault> {
        let is_name = crate::http::head::is_token(self.name.as_bytes())
            && !self.name.bytes().any(|byte| byte.is_ascii_uppercase());
        if !is_name {
            return Err(SignatureFault::UnknownComponent);
        }
        let fields = if self.is_of_request { message.fields } else { message.own_fields() };
        let value = SignedMessage::field(fields, self.name).ok_or(SignatureFault::MissingComponent)?;
        if self.is_bytes {
            let each: Vec<String> =
                lines(fields, self.name).map(|line| format!(":{}:", STANDARD.encode(line))).collect();
            return Ok(Cow::Owned(each.join(", ").into_bytes()));
        }
        let Some(key) = self.key else { return Ok(value) };
        let dictionary = FieldDictionary::parse(&value)?;
        let member = dictionary.get(key).ok_or(SignatureFault::MissingComponent)?;
        if member.is_repeated {
            return Err(SignatureFault::DuplicateLabel);
        }
        let mut written = String::new();
        member.write(&mut written);
        Ok(Cow::Owned(written.into_bytes()))
    }
}

fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'?', target) {
        Some(at) => (target.get(..at).unwrap_or_default(), target.get(at + 1..)),
        None => (target, None),
    }
}

/// The value of the one query parameter of this name (RFC 9421 §2.2.8). What comes twice must not be covered.
fn query_value(query: Option<&[u8]>, name: &str) -> Result<String, SignatureFault> {
    let encoded = |text: &str| {
        let parts = form_urlencoded::byte_serialize(text.as_bytes());
        parts.collect::<String>().replace('+', "%20")
    };
    let query = query.unwrap_or_default();
    if memchr::memchr_iter(b'&', query).count() >= MOST_QUERY_PARAMETERS {
        return Err(SignatureFault::TooMany);
    }
    let mut values = form_urlencoded::parse(query)
        .filter(|(key, _)| encoded(key) == name)
        .map(|(_, value)| encoded(&value));
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(SignatureFault::MissingComponent),
        (Some(_), Some(_)) => Err(SignatureFault::DuplicateComponent),
    }
}

#[cfg(test)]
mod tests {
    use super::super::field::DictionaryMember;
    use super::*;

    fn value(component: &str, message: &SignedMessage<'_>) -> Result<String, SignatureFault> {
        let field = format!("a=({component})");
        let dictionary = FieldDictionary::parse(field.as_bytes()).unwrap();
        let [DictionaryMember { items, .. }] = &dictionary.0[..] else { panic!("{component}") };
        let value = ComponentId::of(&items[0])?.value(message)?;
        Ok(String::from_utf8_lossy(&value).into_owned())
    }

    const FIELDS: [(&[u8], &[u8]); 4] =
        [(b"X-One", b" a "), (b"x-one", b"b"), (b"Dict", b"k=1;p, l=(\"x\"  2)"), (b"Empty", b"")];

    /// The examples of RFC 9421 §2.1 and §2.2, with other names.
    #[test]
    fn each_component_has_its_value() {
        let message = SignedMessage {
            method: "POST",
            scheme: "https",
            authority: "WWW.Example.com:443",
            target: b"/path?param=value&foo=bar&baz=bat%2Dman&two=1&two=2&s%20p=a+b",
            fields: &FIELDS,
            answer: None,
        };
        for (component, expected) in [
            ("\"@method\"", "POST"),
            ("\"@authority\"", "www.example.com"),
            ("\"@scheme\"", "https"),
            (
                "\"@target-uri\"",
                "https://www.example.com/path?param=value&foo=bar&baz=bat%2Dman&two=1&two=2&s%20p=a+b",
            ),
            ("\"@path\"", "/path"),
            ("\"@query\"", "?param=value&foo=bar&baz=bat%2Dman&two=1&two=2&s%20p=a+b"),
            ("\"@query-param\";name=\"baz\"", "bat-man"),
            ("\"@query-param\";name=\"s%20p\"", "a%20b"),
            ("\"x-one\"", "a, b"),
            ("\"x-one\";bs", ":YQ==:, :Yg==:"),
            ("\"dict\";key=\"k\"", "1;p"),
            ("\"dict\";key=\"l\"", "(\"x\" 2)"),
            ("\"empty\"", ""),
        ] {
            assert_eq!(value(component, &message).as_deref(), Ok(expected), "{component}");
        }
        for (component, fault) in [
            ("\"@query-param\";name=\"two\"", SignatureFault::DuplicateComponent),
            ("\"@query-param\";name=\"none\"", SignatureFault::MissingComponent),
            ("\"@query-param\"", SignatureFault::UnsupportedParameter),
            ("\"@method\";bs", SignatureFault::UnsupportedParameter),
            ("\"@method\";req", SignatureFault::UnsupportedParameter),
            ("\"x-one\";sf", SignatureFault::UnsupportedParameter),
            ("\"x-one\";tr", SignatureFault::UnsupportedParameter),
            ("\"x-one\";bs;bs", SignatureFault::DuplicateParameter),
            ("\"x-none\"", SignatureFault::MissingComponent),
            ("\"X-One\"", SignatureFault::UnknownComponent),
            ("\"@status\"", SignatureFault::UnknownComponent),
            ("\"@mood\"", SignatureFault::UnknownComponent),
            ("\"@signature-params\"", SignatureFault::UnknownComponent),
            ("\"x one\"", SignatureFault::UnknownComponent),
            ("x-one", SignatureFault::UnknownComponent),
            ("\"dict\";key=\"m\"", SignatureFault::MissingComponent),
            ("\"x-one\";key=\"b\";bs", SignatureFault::UnsupportedParameter),
        ] {
            assert_eq!(value(component, &message), Err(fault), "{component}");
        }
    }

    #[test]
    fn a_query_of_many_parameters_is_not_looked_through() {
        let (method, scheme, authority) = ("GET", "http", "a");
        let of = |count: usize| {
            let target = format!("/?{}", "x&".repeat(count - 1) + "a=b");
            let target = target.as_bytes();
            let message = SignedMessage { method, scheme, authority, target, fields: &[], answer: None };
            value("\"@query-param\";name=\"a\"", &message)
        };
        assert_eq!(of(MOST_QUERY_PARAMETERS).as_deref(), Ok("b"));
        assert_eq!(of(MOST_QUERY_PARAMETERS + 1), Err(SignatureFault::TooMany));
    }

    #[test]
    fn a_target_without_query_has_an_empty_one() {
        let (method, scheme, authority) = ("GET", "http", "a");
        let message = SignedMessage { method, scheme, authority, target: b"/x", fields: &[], answer: None };
        assert_eq!(value("\"@query\"", &message).as_deref(), Ok("?"));
        assert_eq!(value("\"@request-target\"", &message).as_deref(), Ok("/x"));
    }
}
