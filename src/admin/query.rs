//! The query of a URL (RFC 3986 §3.4) as names and values, and back.

use http::{Request, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The pairs of a query, in their order. What is not UTF-8 is replaced.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    form_urlencoded::parse(query.as_bytes()).into_owned()
}

/// What a request asks for in its query: values are texts, and a name without one is a flag that is set.
pub(super) fn read<T: DeserializeOwned>(request: &Request<()>) -> Result<T, (StatusCode, String)> {
    let value = |text: String| if text.is_empty() { Value::Bool(true) } else { Value::String(text) };
    let fields = pairs(request.uri().query().unwrap_or_default()).map(|(name, text)| (name, value(text)));
    serde_json::from_value(fields.collect()).map_err(|error| (StatusCode::BAD_REQUEST, error.to_string()))
}

/// A value that can stand in a query.
pub(super) fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for text in ["7d", "*.example.org", "a b&c=d%/+", "caf\u{e9}", ""] {
            let query = format!("site={}", encoded(text));
            assert_eq!(pairs(&query).collect::<Vec<_>>(), [("site".to_owned(), text.to_owned())], "{query}");
        }
    }

    #[test]
    fn broken_queries_are_read_as_far_as_they_go() {
        let read = |query: &str| pairs(query).collect::<Vec<_>>();
        assert_eq!(
            read("&&a&b=%&c=%4&d=%zz&e=%ff"),
            [
                ("a".to_owned(), String::new()),
                ("b".to_owned(), "%".to_owned()),
                ("c".to_owned(), "%4".to_owned()),
                ("d".to_owned(), "%zz".to_owned()),
                ("e".to_owned(), "\u{fffd}".to_owned()),
            ]
        );
    }
}
