//! Under which names logs write what is needed of a request.
//!
//! Columns, keys of JSON and variables of a format string are one thing here: names. They are compared without case and
//! punctuation, and the keys of nested objects are joined: `cs(User-Agent)`, `cs-user-agent` and `{"cs":{"user_agent"}}`
//! are one name. Where a line has several names of one field, the one that stands first here counts.

/// What is needed of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumCount)]
pub(super) enum LogField {
    /// The address of whoever connected.
    Address,
    /// The addresses in `X-Forwarded-For`, the client's first.
    ForwardedFor,
    /// When, or the time of day alone where `Day` has the day.
    Time,
    Day,
    /// Method, target and version in one (RFC 9112 §3).
    RequestLine,
    Method,
    /// A path with its query, or a whole URL.
    Target,
    /// A path without its query.
    Path,
    Query,
    Host,
    /// What is called `host` alone: the host that was asked, the machine of the log, or the client.
    PlainHost,
    Status,
    /// How many bytes the answer had.
    Size,
    UserAgent,
    /// nginx: a path that the server has rewritten, which is not what the client asked for. Others: what it asked for.
    Rewritten,
    /// A key of logstash's own, `@version` or `@timestamp`.
    Logstash,
}

/// The names of each field, the most trusted first.
const NAMES: [(LogField, &str); 15] = [
    (
        LogField::UserAgent,
        "httpuseragent csuseragent useragent useragentoriginal clientrequestuseragent requestuseragent \
         requestheadersuseragent requestheaderuseragent cuseragent headersuseragent reqheadersuseragent requseragent \
         httprequestuseragent httpuseragentoriginal httprequestheadersuseragent proxyuseragent clientua ua agent",
    ),
    (
        LogField::Address,
        "requestclientip requestremoteip requestremoteaddr remoteaddr clientip clientaddr clienthost cip cliip \
         clientaddress httprequestremoteip httprequestclientip proxyclientip sourceip sourceaddress srcip \
         remoteip remotehost remoteaddress reqremoteaddress reqip downstreamremoteaddress \
         downstreamdirectremoteaddress realip requestip networkclientip socketip client ip",
    ),
    (
        LogField::ForwardedFor,
        "httpxforwardedfor xforwardedfor csxforwardedfor proxyaddxforwardedfor requestxforwardedfor \
         requestheadersxforwardedfor reqheadersxforwardedfor headersxforwardedfor forwardedfor httpxrealip fwd",
    ),
    (
        LogField::Time,
        "timelocal timeiso8601 msec edgestarttimestamp startutc starttime timemicros reqtimesec proxytimestamp \
         timestamp timestampms time ts datetime startlocal eventtime startedat requesttime t",
    ),
    (LogField::Day, "date"),
    (LogField::RequestLine, "request requestline httprequest clientrequest req"),
    (
        LogField::Method,
        "requestmethod csmethod clientrequestmethod httpmethod httprequestrequestmethod httprequestmethod httprequesthttpmethod \
         proxymethod reqmethod method verb",
    ),
    (
        LogField::Target,
        "requesturi originalrequesturiwithargs clientrequesturi urloriginal requesturl httprequestrequesturl \
         httprequesturl proxypath requrl requri csuri requestpath originalpath xenvoyoriginalpath \
         xenvoyoriginpath url urlfull resource",
    ),
    (
        LogField::Path,
        "csuristem clientrequestpath reqpath urlpath httprequestpath httprequesturi uripath path",
    ),
    (
        LogField::Query,
        "csuriquery querystring querystr requestquery urlquery httprequestquery httprequestargs query args",
    ),
    (
        LogField::Host,
        "httphost xhostheader originalhost clientrequesthost requesthost requestaddr reqheadershost \
         requestheadershost httprequestheadershost reqhost cshost urldomain urlhost authority requestauthority proxyhost vhost \
         virtualhost servername domain",
    ),
    (LogField::PlainHost, "host"),
    (
        LogField::Status,
        "status scstatus edgeresponsestatus downstreamstatus httpresponsestatuscode httprequeststatus \
         proxystatuscode resstatuscode responsestatus responsestatuscode responsecode responsecodesent statuscode \
         httpstatuscode httpstatus code response",
    ),
    (
        LogField::Size,
        "bodybytessent size scbytes edgeresponsebodybytes edgeresponsebytes downstreamcontentsize \
         httpresponsebodybytes httprequestresponsesize responsebytes responsesize responsebodysize bytessent \
         sentbytes totalbytes bytes",
    ),
    (LogField::Rewritten, "uri"),
];

/// What platforms wrap the fields of a request in: it is no part of their names.
pub(super) const WRAPPERS: [&str; 7] =
    ["properties", "jsonPayload", "protoPayload", "fields", "data", "attributes", "nginx"];

/// What stands under a name, and how much it is trusted: the smaller, the more. `spoken` is the name in small letters and
/// digits alone.
pub(super) fn field_of(spoken: &[u8]) -> Option<(LogField, usize)> {
    NAMES.iter().find_map(|(field, names)| {
        let place = names.split_ascii_whitespace().position(|name| name.as_bytes() == spoken)?;
        Some((*field, place))
    })
}

/// A name in small letters and digits alone, behind what `spoken` holds already.
pub(super) fn speak(name: &str, spoken: &mut Vec<u8>) {
    spoken.extend(name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()));
}

/// A whole name.
pub(super) fn spoken(name: &str) -> Vec<u8> {
    let mut spoken = Vec::new();
    speak(name, &mut spoken);
    spoken
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_name_stands_once() {
        let mut seen = HashSet::new();
        for (_, names) in NAMES {
            for name in names.split_ascii_whitespace() {
                assert!(seen.insert(name), "{name}");
                assert_eq!(spoken(name), name.as_bytes(), "{name}");
            }
        }
    }

    #[test]
    fn case_and_punctuation_do_not_matter() {
        for name in ["cs(User-Agent)", "cs-user-agent", "CS_USER_AGENT"] {
            assert_eq!(field_of(&spoken(name)).map(|found| found.0), Some(LogField::UserAgent), "{name}");
        }
        assert_eq!(field_of(&spoken("upstream_response_time")), None);
    }
}
