//! What httparse makes of a request: it reads heads only.

use super::Reading;

/// The head as it is read, and in place of its body all that follows.
pub(crate) fn read(bytes: &[u8]) -> Option<Reading> {
    let mut room = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut room);
    let Ok(httparse::Status::Complete(end)) = request.parse(bytes) else { return None };
    let field = |field: &httparse::Header<'_>| (field.name.to_lowercase(), field.value.to_vec());
    let reading = Reading {
        method: request.method?.to_owned(),
        target: request.path?.into(),
        minor: request.version?,
        fields: request.headers.iter().map(field).collect(),
        body: bytes[end..].to_vec(),
    };
    Some(reading.sorted())
}
