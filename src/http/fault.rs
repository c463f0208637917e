//! What can be wrong with a request's grammar, and how it is answered.

/// A fault of a request, with the section that it offends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum HttpFault {
    /// A line does not end in CR LF, or a CR stands alone (RFC 9112 §2.2).
    LineEnd,
    /// More empty lines before a request than robustness asks to ignore (RFC 9112 §2.2).
    EmptyLines,
    /// The request line is not `method SP target SP HTTP-version` (RFC 9112 §3).
    RequestLine,
    /// The method is no token (RFC 9112 §3.1).
    Method,
    /// The version is neither HTTP/1.1 nor HTTP/1.0 (RFC 9112 §2.3).
    Version,
    /// The target has one of the four forms for no method that may have it (RFC 9112 §3.2).
    Target,
    /// The target holds a control character, a space or a fragment (RFC 9112 §3.2 asks for 400).
    TargetBytes,
    /// The scheme is another one than `http` and `https` (RFC 9110 §4.2).
    Scheme,
    /// `CONNECT`: this is no tunnel (RFC 9110 §9.3.6).
    Connect,
    /// A field line has no name, whitespace around its name, or no colon (RFC 9112 §5.1).
    FieldName,
    /// A field value holds a control character (RFC 9110 §5.5).
    FieldValue,
    /// A field line is folded (RFC 9112 §5.2).
    Folding,
    /// `Host` is missing, doubled or no host (RFC 9112 §3.2).
    Host,
    /// The authority of the target and `Host` differ (RFC 9112 §3.2.2).
    Authority,
    /// `Content-Length` is no number, or more than one (RFC 9112 §6.2, §6.3).
    ContentLength,
    /// `Transfer-Encoding` is anything but one `chunked`, or comes with HTTP/1.0 (RFC 9112 §6.1).
    TransferEncoding,
    /// Both `Transfer-Encoding` and `Content-Length` (RFC 9112 §6.3).
    TwoLengths,
    /// A name that a gateway interface takes for `Content-Length` or `Transfer-Encoding` (RFC 3875 §4.1.18).
    Spelling,
    /// `Connection` names no token, or a field that must reach the origin (RFC 9110 §7.6.1).
    Connection,
    /// A chunk's size, extension or end is malformed (RFC 9112 §7.1).
    Chunk,
    /// A trailer line is malformed or may not be a trailer (RFC 9112 §7.1.2, RFC 9110 §6.5.1).
    Trailer,
    /// The request line is larger than this gateway takes (RFC 9112 §3).
    LineSize,
    /// The head is larger than this gateway takes (RFC 6585 §5).
    HeadSize,
    /// The head has more fields than this gateway takes (RFC 6585 §5).
    HeadFields,
}

impl HttpFault {
    /// The status it is answered with.
    pub const fn status(self) -> u16 {
        match self {
            Self::Connect => 405,
            Self::LineSize => 414,
            Self::HeadSize | Self::HeadFields => 431,
            _ => 400,
        }
    }

    /// Whether the head is larger than a limit allows. It may be well-formed.
    pub const fn is_size(self) -> bool {
        matches!(self, Self::LineSize | Self::HeadSize | Self::HeadFields)
    }

    /// One word for a log or a label.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// What the client is told.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::LineEnd => "a line of the request does not end in CR LF",
            Self::EmptyLines => "too many empty lines before the request",
            Self::RequestLine => "the request line could not be understood",
            Self::Method => "the method is not a token",
            Self::Version => "this version of HTTP is not spoken here",
            Self::Target => "the request target is not a path",
            Self::TargetBytes => "the request target holds a control character, a space or a fragment",
            Self::Scheme => "the scheme of the request is neither http nor https",
            Self::Connect => "this is not a tunnel",
            Self::FieldName => "a header field has no proper name",
            Self::FieldValue => "a header field holds a control character",
            Self::Folding => "a header field is folded",
            Self::Host => "the request names no host that could be one, or several",
            Self::Authority => "the request target and Host name different hosts",
            Self::ContentLength => "Content-Length is not a single number",
            Self::TransferEncoding => "Transfer-Encoding is not chunked alone",
            Self::TwoLengths => "the request has both Transfer-Encoding and Content-Length",
            Self::Spelling => "a header field could be taken for Content-Length or Transfer-Encoding",
            Self::Connection => "Connection names a field that does not belong to the connection",
            Self::Chunk => "a chunk of the body is malformed",
            Self::Trailer => "a trailer field is malformed",
            Self::LineSize => "the request target is too long",
            Self::HeadSize => "the header of the request is too large",
            Self::HeadFields => "the request has too many header fields",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use strum::VariantArray as _;

    #[test]
    fn faults_are_told_apart() {
        let words: HashSet<&str> = HttpFault::VARIANTS.iter().map(|fault| fault.as_str()).collect();
        let sentences: HashSet<&str> = HttpFault::VARIANTS.iter().map(|fault| fault.sentence()).collect();
        assert_eq!((words.len(), sentences.len()), (HttpFault::VARIANTS.len(), HttpFault::VARIANTS.len()));
    }

    #[test]
    fn none_is_the_fault_of_the_server() {
        for &fault in HttpFault::VARIANTS {
            assert!((400..500).contains(&fault.status()), "{fault:?}");
        }
    }
}
