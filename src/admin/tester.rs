//! The page on which an operator tries a request and a robots.txt: a form, and what the tool says of it.
//!
//! Nothing is kept or changed, so it may be asked from anywhere that the page may be read from.

use super::{Admin, guard, page, query, text};
use crate::ctl::TesterInput;
use crate::report::html::{self, Frame};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::Value;

/// Answers the form that `request` carries, in its query or its body.
pub(super) fn answer(admin: &Admin, request: &Request<()>) -> Response<Vec<u8>> {
    let body = request.extensions().get::<Bytes>().map(|body| String::from_utf8_lossy(body));
    let form = body.as_deref().unwrap_or_else(|| request.uri().query().unwrap_or_default());
    if !form.is_empty() && !guard::is_of_own_page(request) {
        return text(
            StatusCode::FORBIDDEN,
            "a page of another site sent this form: open /test here and fill it in",
        );
    }
    let fields = query::pairs(form).map(|(name, text)| (name, Value::String(text)));
    let tried: TesterInput = serde_json::from_value(fields.collect()).unwrap_or_default();
    let (explained, findings) = (tried.explanation(&admin.reloader.current()), tried.findings());
    let fields = [
        ("user_agent", "User-Agent", &*tried.user_agent),
        ("target", "Path", &tried.target),
        ("address", "Address of the client", &tried.address),
        ("host", "Host", &tried.host),
        ("line", "Or a line of an access log", &tried.line),
    ];
    let frame = Frame { lists: vec![page::pages(false)] };
    let made = html::tester(&fields, &tried.robots, explained.as_deref(), findings.as_deref(), &frame);
    let made = made.unwrap_or_else(|error| error.to_string());
    page::html_response(StatusCode::OK, made, &html::policy_of_forms())
}
