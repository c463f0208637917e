//! A matcher written from the words of RFC 9309, slow and plain, to check the engine against.
//!
//! It shares nothing with the engine: no types, no tables, no idea of an index. Every rule is tried
//! on every target, symbol by symbol, with the set of places where the pattern may stand so far.

/// What the naive matcher says, and the line of the rule it says it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NaiveAnswer {
    pub(crate) allow: bool,
    pub(crate) line: Option<u32>,
}

/// One byte of a path after decoding, and whether it was encoded.
type Symbol = (u8, bool);

enum Part {
    Any,
    One(Symbol),
}

struct NaiveRule {
    allow: bool,
    line: u32,
    pattern: Vec<u8>,
}

#[derive(Default)]
struct Group {
    agents: Vec<Vec<u8>>,
    rules: Vec<NaiveRule>,
}

pub(crate) struct Naive {
    groups: Vec<Group>,
}

impl Naive {
    pub(crate) fn parse(file: &[u8]) -> Self {
        // A byte order mark, or what is left of one: section 2.3 has the file in UTF-8.
        let mark =
            [&b"\xEF\xBB\xBF"[..], b"\xEF\xBB", b"\xEF"].into_iter().find(|mark| file.starts_with(mark));
        let file = &file[mark.map_or(0, <[u8]>::len)..];
        let mut groups: Vec<Group> = Vec::new();
        let mut rules_seen = true;
        for (number, line) in lines(file) {
            let Some((name, value)) = record(&line) else { continue };
            let allow = match name.as_slice() {
                b"user-agent" | b"useragent" | b"user agent" => {
                    if rules_seen {
                        groups.push(Group::default());
                        rules_seen = false;
                    }
                    groups.last_mut().unwrap().agents.push(value);
                    continue;
                }
                b"allow" => true,
                b"disallow" | b"dissallow" | b"dissalow" | b"disalow" | b"diasllow" | b"disallaw" => false,
                _ => continue,
            };
            if let Some(group) = groups.last_mut() {
                group.rules.push(NaiveRule { allow, line: number, pattern: value });
                rules_seen = true;
            }
        }
        Self { groups }
    }

    /// Section 2.2.2: the matching rule with the most bytes decides; allow on a tie; otherwise the
    /// target is allowed.
    pub(crate) fn judge(&self, tokens: &[&str], star: bool, target: &[u8]) -> NaiveAnswer {
        if target == b"/robots.txt" {
            return NaiveAnswer { allow: true, line: None };
        }
        let named = tokens.iter().find_map(|token| {
            let some: Vec<&Group> = self.groups.iter().filter(|group| group.names(token)).collect();
            (!some.is_empty()).then_some(some)
        });
        let chosen = match named {
            Some(groups) => groups,
            None if star => self.groups.iter().filter(|group| group.for_everyone()).collect(),
            None => Vec::new(),
        };
        let mut best: Option<(usize, bool, u32)> = None;
        for rule in chosen.iter().flat_map(|group| &group.rules) {
            if matches(&rule.pattern, target) {
                let length = bytes(&rule.pattern);
                let better = match best {
                    None => true,
                    Some((most, allow, _)) => length > most || (length == most && rule.allow && !allow),
                };
                if better {
                    best = Some((length, rule.allow, rule.line));
                }
            }
        }
        best.map_or(NaiveAnswer { allow: true, line: None }, |(_, allow, line)| NaiveAnswer {
            allow,
            line: Some(line),
        })
    }
}

impl Group {
    /// Section 2.2.1: without regard to case; the whole value, or its part within the grammar.
    fn names(&self, token: &str) -> bool {
        self.agents.iter().any(|value| {
            let everyone = is_everyone(value);
            let cut: Vec<u8> = value
                .iter()
                .copied()
                .take_while(|b| b.is_ascii_alphabetic() || *b == b'-' || *b == b'_')
                .collect();
            let whole = !value.contains(&b'*') && value.eq_ignore_ascii_case(token.as_bytes());
            !everyone && !token.is_empty() && (whole || cut.eq_ignore_ascii_case(token.as_bytes()))
        })
    }

    fn for_everyone(&self) -> bool {
        self.agents.iter().any(|value| is_everyone(value))
    }
}

/// `*`, perhaps followed by words nobody needs.
fn is_everyone(value: &[u8]) -> bool {
    value.first() == Some(&b'*') && value.get(1).is_none_or(|&next| blank(next))
}

/// Section 2.2 ABNF: lines end with CR, LF or CR LF.
fn lines(file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut number = 1;
    let mut line = Vec::new();
    let mut at = 0;
    while at < file.len() {
        match file[at] {
            b'\r' | b'\n' => {
                if file[at] == b'\r' && file.get(at + 1) == Some(&b'\n') {
                    at += 1;
                }
                all.push((number, std::mem::take(&mut line)));
                number += 1;
            }
            byte => line.push(byte),
        }
        at += 1;
    }
    all.push((number, line));
    all
}

/// Name (lower-cased) and value of a line.
fn record(line: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let end = line.iter().position(|&b| b == b'#' || b == 0).unwrap_or(line.len());
    let line = trim(&line[..end]);
    if let Some(colon) = line.iter().position(|&b| b == b':') {
        return Some((trim(&line[..colon]).to_ascii_lowercase(), trim(&line[colon + 1..]).to_vec()));
    }
    let words: Vec<&[u8]> = line.split(|&b| blank(b)).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [name, value] => Some((name.to_ascii_lowercase(), value.to_vec())),
        _ => None,
    }
}

fn blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 11 | 12)
}

fn trim(mut text: &[u8]) -> &[u8] {
    while text.first().is_some_and(|&b| blank(b)) {
        text = &text[1..];
    }
    while text.last().is_some_and(|&b| blank(b)) {
        text = &text[..text.len() - 1];
    }
    text
}

fn decode(raw: &[u8]) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        let digits = raw.get(at + 1..at + 3).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        if let Some(digits) = digits.filter(|_| raw[at] == b'%') {
            let value = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
            symbols.push((value, true));
            at += 3;
        } else {
            symbols.push((raw[at], false));
            at += 1;
        }
    }
    symbols
}

/// Section 2.2.2, figure 4: encoding makes no difference, but for delimiters; in the query `/` and
/// `?` are data.
fn equal(rule: Symbol, uri: Symbol, in_query: bool) -> bool {
    let delimiter = match uri.0 {
        b'/' | b'?' => !in_query,
        b'&' | b'=' => true,
        _ => false,
    };
    rule.0 == uri.0 && (!delimiter || rule.1 == uri.1)
}

/// Section 2.2.3: `*` is any bytes, a final `$` is the end.
pub(crate) fn matches(pattern: &[u8], target: &[u8]) -> bool {
    if !matches!(pattern.first(), Some(b'/' | b'*')) || pattern.iter().any(|&b| blank(b)) {
        return false;
    }
    let (body, to_end) = match pattern.strip_suffix(b"$") {
        Some(body) => (body, true),
        None => (pattern, false),
    };
    let parts: Vec<Part> = decode(body)
        .into_iter()
        .map(|symbol| if symbol == (b'*', false) { Part::Any } else { Part::One(symbol) })
        .collect();
    let uri = decode(target);
    let query = uri.iter().position(|&symbol| symbol == (b'?', false)).unwrap_or(uri.len());
    let mut places = vec![false; uri.len() + 1];
    places[0] = true;
    for part in parts {
        match part {
            Part::Any => {
                let first = places.iter().position(|&p| p).unwrap_or(places.len());
                places[first..].fill(true);
            }
            Part::One(symbol) => {
                for at in (0..uri.len()).rev() {
                    places[at + 1] = places[at] && equal(symbol, uri[at], at > query);
                }
                places[0] = false;
            }
        }
    }
    if to_end { places[uri.len()] } else { places.contains(&true) }
}

/// Section 2.2.2 "the most bytes": of the rule as written, bytes beyond ASCII in encoded form,
/// encoded unreserved characters as the character.
pub(crate) fn bytes(pattern: &[u8]) -> usize {
    let count = |&(value, encoded): &Symbol| {
        let unreserved = value.is_ascii_alphanumeric() || b"-._~".contains(&value);
        if encoded {
            if unreserved { 1 } else { 3 }
        } else if value.is_ascii() {
            1
        } else {
            3
        }
    };
    decode(pattern).iter().map(count).sum()
}
