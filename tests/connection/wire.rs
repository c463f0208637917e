//! HTTP/1.1 read without mercy, on either side of the gateway: what it writes has one meaning only (RFC 9112).

/// A request as an origin got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireRequest {
    pub(crate) method: String,
    /// Whether it offers to speak WebSocket.
    pub(crate) is_handshake: bool,
    /// From whom it came, as the gateway says.
    pub(crate) client: Vec<u8>,
    framing: WireFraming,
}

/// How a message goes on behind its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WireFraming {
    Nothing,
    Length(usize),
    Chunks,
}

/// What has come of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WireProgress<T> {
    /// All of it, and how long it is.
    Whole(T, usize),
    More,
}

/// Answers in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireAnswers {
    /// Those that are whole, interim ones not counted.
    pub(crate) whole: usize,
    /// Whether another one has begun.
    pub(crate) is_torn: bool,
    /// Whether a tunnel follows, of which anything may come.
    pub(crate) is_tunnel: bool,
    /// Of those that are whole.
    pub(crate) refused: usize,
}

type WireField<'a> = (String, &'a [u8]);

/// The lines of a head, and how long it is.
struct Head<'a> {
    line: &'a [u8],
    fields: Vec<WireField<'a>>,
    length: usize,
}

/// The head that `bytes` begin with.
fn head(bytes: &[u8]) -> Result<Option<Head<'_>>, String> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let is_end = |place: &usize| bytes[*place..].starts_with(b"\r\n");
    let mut ends = (0..=end).filter(is_end);
    let first = ends.next().unwrap_or(end);
    let (line, mut fields, mut start) = (&bytes[..first], Vec::new(), first + 2);
    for end in ends {
        fields.push(field(&bytes[start..end])?);
        start = end + 2;
    }
    match line.iter().find(|byte| byte.is_ascii_control()) {
        Some(byte) => Err(format!("{byte} in the first line")),
        None => Ok(Some(Head { line, fields, length: end + 4 })),
    }
}

fn field(line: &[u8]) -> Result<WireField<'_>, String> {
    let fault = || format!("a field like this: {}", line.escape_ascii());
    let colon = line.iter().position(|byte| *byte == b':').ok_or_else(fault)?;
    let (name, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let is_clean = |byte: &u8| !byte.is_ascii_control() || *byte == b'\t';
    if !is_token(name) || !value.iter().all(is_clean) || value.trim_ascii().len() != value.len() {
        return Err(fault());
    }
    Ok((String::from_utf8_lossy(name).to_ascii_lowercase(), value))
}

fn is_token(bytes: &[u8]) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_sign)
}

fn all<'a>(fields: &'a [WireField<'_>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    fields.iter().filter(move |(other, _)| other == name).map(|(_, value)| *value)
}

fn framing(fields: &[WireField<'_>]) -> Result<WireFraming, String> {
    let lengths: Vec<&[u8]> = all(fields, "content-length").collect();
    let codings: Vec<&[u8]> = all(fields, "transfer-encoding").collect();
    match (&lengths[..], &codings[..]) {
        ([], []) => Ok(WireFraming::Nothing),
        ([], [b"chunked"]) => Ok(WireFraming::Chunks),
        ([length], []) if !length.is_empty() && length.iter().all(u8::is_ascii_digit) => {
            let length = String::from_utf8_lossy(length).parse();
            length.map(WireFraming::Length).map_err(|error| error.to_string())
        }
        _ => Err(format!("lengths {lengths:?} and codings {codings:?}")),
    }
}

/// The body that `bytes` begin with; none where its head says that it has another one.
fn body(bytes: &[u8], framing: WireFraming) -> Result<WireProgress<Vec<u8>>, String> {
    match framing {
        WireFraming::Nothing => Ok(WireProgress::Whole(Vec::new(), 0)),
        WireFraming::Length(length) => Ok(match bytes.get(..length) {
            Some(body) => WireProgress::Whole(body.to_vec(), length),
            None => WireProgress::More,
        }),
        WireFraming::Chunks => chunks(bytes),
    }
}

fn chunks(bytes: &[u8]) -> Result<WireProgress<Vec<u8>>, String> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(line) = rest.windows(2).position(|two| two == b"\r\n") else {
            let is_size =
                rest.len() < 18 && rest.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'\r');
            return if is_size { Ok(WireProgress::More) } else { Err("no size of a chunk".to_owned()) };
        };
        let size =
            std::str::from_utf8(&rest[..line]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or_else(|| format!("a chunk of {}", rest[..line].escape_ascii()))?;
        let Some(chunk) = rest.get(line + 2..line + 2 + size + 2) else { return Ok(WireProgress::More) };
        let Some(data) = chunk.strip_suffix(b"\r\n") else {
            return Err("a chunk without its end".to_owned());
        };
        at += line + 2 + size + 2;
        if size == 0 {
            return Ok(WireProgress::Whole(body, at));
        }
        body.extend_from_slice(data);
    }
}

/// The head of the request that `bytes` begin with.
pub(crate) fn request(bytes: &[u8]) -> Result<WireProgress<WireRequest>, String> {
    let Some(Head { line, fields, length }) = head(bytes)? else { return Ok(WireProgress::More) };
    let fault = || format!("a request line like this: {}", line.escape_ascii());
    let parts: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [method, target, b"HTTP/1.1"] = parts[..] else { return Err(fault()) };
    let is_target = target.starts_with(b"/") || (target == b"*" && method == b"OPTIONS");
    if !is_token(method) || !is_target || target.contains(&b'#') {
        return Err(fault());
    }
    let hosts: Vec<&[u8]> = all(&fields, "host").collect();
    if hosts.len() != 1 || hosts[0].is_empty() || hosts[0].contains(&b',') {
        return Err(format!("hosts {hosts:?}"));
    }
    let is_handshake = all(&fields, "upgrade").eq([b"websocket"]);
    if all(&fields, "upgrade").count() != all(&fields, "connection").count()
        || !all(&fields, "connection").all(|option| option == b"Upgrade")
    {
        return Err(format!("fields of a connection: {fields:?}"));
    }
    let method = String::from_utf8_lossy(method).into_owned();
    let client = all(&fields, "x-forwarded-for").collect::<Vec<_>>().concat();
    Ok(WireProgress::Whole(WireRequest { method, is_handshake, client, framing: framing(&fields)? }, length))
}

impl WireRequest {
    /// The body that `bytes` begin with.
    pub(crate) fn body(&self, bytes: &[u8]) -> Result<WireProgress<Vec<u8>>, String> {
        body(bytes, self.framing)
    }
}

/// Reads answers to requests of which `are_head` says whether their method is HEAD; `has_ended` where nothing more comes.
pub(crate) fn answers(mut bytes: &[u8], are_head: &[bool], has_ended: bool) -> Result<WireAnswers, String> {
    let mut answers = WireAnswers::default();
    while !bytes.is_empty() {
        let Some(Head { line, fields, length }) = head(bytes)? else {
            answers.is_torn = true;
            break;
        };
        let status = status(line).ok_or_else(|| format!("a status line: {}", line.escape_ascii()))?;
        let mut framing = framing(&fields)?;
        if (status < 200 || status == 204) && framing != WireFraming::Nothing {
            return Err(format!("{status} with a body"));
        }
        bytes = bytes.get(length..).unwrap_or_default();
        match status {
            101 => {
                (answers.is_tunnel, answers.whole) = (true, answers.whole + 1);
                break;
            }
            100..200 => continue,
            _ => {}
        }
        let is_head = are_head.get(answers.whole).copied().unwrap_or(false);
        let is_closing = all(&fields, "connection").any(|option| option == b"close");
        if is_head || matches!(status, 204 | 304) {
            framing = WireFraming::Nothing;
        } else if framing == WireFraming::Nothing {
            // Whatever comes belongs to it.
            answers.is_torn = !has_ended;
            answers.whole += usize::from(has_ended);
            return if is_closing { Ok(answers) } else { Err("an answer without an end".to_owned()) };
        }
        let WireProgress::Whole(_, length) = body(bytes, framing)? else {
            answers.is_torn = true;
            break;
        };
        bytes = bytes.get(length..).unwrap_or_default();
        answers.whole += 1;
        answers.refused += usize::from(status == 403);
        if is_closing && !bytes.is_empty() {
            return Err(format!("more behind the last answer: {}", bytes.escape_ascii()));
        }
    }
    Ok(answers)
}

fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.1 ")?;
    let (digits, rest) = rest.split_at_checked(3)?;
    let is_status = digits.iter().all(u8::is_ascii_digit) && rest.starts_with(b" ");
    std::str::from_utf8(digits)
        .ok()
        .filter(|_| is_status)?
        .parse()
        .ok()
        .filter(|status| (100..600).contains(status))
}
