//! Fields by which a client would tell an origin what only a proxy in front may say: who it is, how it came, and that it
//! asks for another page than the one that was judged. This is the one list of them.
//!
//! Names are compared as a gateway interface takes them: CGI and its successors write `-` as `_` (RFC 3875 §4.1.18), and
//! some of them every byte that is no letter or digit. So `X.Forwarded.For` is `X-Forwarded-For`.

use std::sync::LazyLock;

/// Names of such fields, in lower case. What a trusted proxy writes in them is believed.
pub const NAMES: [&str; 19] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-pseudo-ipv4",
    "client-ip",
    "fastly-client-ip",
    "forwarded",
    "forwarded-for",
    "front-end-https",
    // A script has it as HTTP_PROXY, by which many programs choose their proxy ("httpoxy").
    "proxy",
    "remote-user",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-forwarded",
    "x-host",
    "x-http-host-override",
    "x-real-ip",
    "x-replaced-path",
    "x-request-id",
];

/// How the names of such fields begin, in lower case.
pub const PREFIXES: [&str; 4] = ["wl-proxy-", "x-envoy-", "x-forwarded-", "x-original-"];

/// Fields that have a program serve another path, file or method than those of the request line, in lower case, each with
/// a program that believes it. They are believed of nobody: a proxy that writes none of them passes on what its clients
/// send. An operator who needs one says so (`keep_fields`).
pub const DETOURS: [(&str, &str); 21] = [
    ("daphne-root-path", "Daphne"),
    // `forwarder_headers` of gunicorn has these two by default, and believes them of 127.0.0.1.
    ("path-info", "gunicorn"),
    ("request-base", "Dancer"),
    ("script-name", "gunicorn"),
    ("x-astro-path", "Astro on Vercel"),
    ("x-http-method", "method-override of Express"),
    ("x-http-method-override", "Rack, Symfony, ASP.NET Core"),
    ("x-ingress-path", "add-ons of Home Assistant"),
    ("x-matched-path", "Next.js"),
    ("x-method-override", "method-override of Express"),
    ("x-middleware-override-headers", "Next.js"),
    ("x-middleware-rewrite", "Next.js"),
    ("x-middleware-subrequest", "Next.js"),
    ("x-ms-original-url", "Nitro and SvelteKit on Azure"),
    ("x-now-route-matches", "Next.js, Nitro"),
    ("x-original-url", "Symfony, Laminas, WordPress on IIS"),
    ("x-proxycontextpath", "Apache NiFi"),
    ("x-request-base", "Catalyst, Mojolicious"),
    ("x-rewrite-url", "Symfony, Laminas, WordPress on IIS"),
    ("x-script-name", "mod_wsgi, Radicale"),
    ("x-traversal-path", "Plack"),
];

/// How the names of such fields begin, in lower case, each with a program that believes them.
pub const DETOUR_PREFIXES: [(&str, &str); 5] = [
    ("x-accel-", "Rack::Sendfile, Plack"),
    ("x-invoke-", "Next.js"),
    ("x-sendfile", "Rack::Sendfile, Plack"),
    ("x-vhm-", "Pyramid"),
    ("x-waws-", "Express on Azure"),
];

/// How the names of the gateway's own fields begin, in lower case: nobody else may send one, not even a trusted proxy.
pub const OWN_PREFIX: &str = "x-robots-";

/// Fields that say where a message ends (RFC 9112 §6).
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// Fields without which no request can be sent.
const NEEDED: [&str; 3] = ["host", "content-length", "transfer-encoding"];

/// Fields that the gateway writes itself.
const WRITTEN: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-request-id", OWN_PREFIX];

/// Who may say what a field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldClaim {
    /// A trusted proxy.
    OfProxy,
    /// Nobody: it leads to another page than the one that was judged.
    Detour,
}

/// What a field of this name, in any case, claims; nothing, as nearly every field.
pub fn claim(name: &[u8]) -> Option<FieldClaim> {
    let beginning = name.first().and_then(|first| BEGINNINGS.get(usize::from(first | 0x20)))?;
    if beginning & (1 | length_bit(name.len())) == 0 {
        return None;
    }
    let is_detour = DETOURS.iter().any(|(own, _)| is_spelled(name, own))
        || DETOUR_PREFIXES.iter().any(|(own, _)| begins(name, own));
    if is_detour {
        return Some(FieldClaim::Detour);
    }
    let is_of_proxy =
        NAMES.iter().any(|own| is_spelled(name, own)) || PREFIXES.iter().any(|own| begins(name, own));
    is_of_proxy.then_some(FieldClaim::OfProxy)
}

/// For each first byte, how long the names are that begin with it, as bits. The lowest says that a beginning of names does.
/// Each field of each request is looked up here; few of ordinary requests are compared with the lists then.
static BEGINNINGS: LazyLock<[u32; 128]> = LazyLock::new(|| {
    let names = NAMES.into_iter().chain(DETOURS.map(|(name, _)| name));
    let prefixes = PREFIXES.into_iter().chain(DETOUR_PREFIXES.map(|(prefix, _)| prefix));
    let mut beginnings = [0; 128];
    for (name, bit) in
        names.map(|name| (name, length_bit(name.len()))).chain(prefixes.map(|prefix| (prefix, 1)))
    {
        let first = name.bytes().next().map_or(0, usize::from);
        beginnings.get_mut(first).into_iter().for_each(|bits| *bits |= bit);
    }
    beginnings
});

/// The longest name of the lists has 29 bytes.
const fn length_bit(length: usize) -> u32 {
    if length < 32 { 1 << length } else { 0 }
}

/// Whether a field of this name, in any case, could be taken for one of the gateway's own.
pub fn is_own(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'x' | b'X')) && begins(name, OWN_PREFIX)
}

/// Whether the name is spelled as a proxy spells it. It may have passed on what a client spelled otherwise.
pub fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Whether the name, in any case, could be taken for `Content-Length` or `Transfer-Encoding`, and is neither: the gateway
/// and an origin would see the message end in two places.
pub fn is_disguised_framing(name: &[u8]) -> bool {
    let is_disguised = |own: &&str| is_spelled(name, own) && !name.eq_ignore_ascii_case(own.as_bytes());
    matches!(name.len(), 14 | 17) && FRAMING.iter().any(is_disguised)
}

/// Whether `name` could be taken for `own`. Nearly always the lengths differ, or the first bytes that are looked at.
fn is_spelled(name: &[u8], own: &str) -> bool {
    name.len() == own.len() && begins(name, own)
}

/// Whether `name` could be taken for one that begins with `own`.
fn begins(name: &[u8], own: &str) -> bool {
    let same = |(byte, own): (&u8, u8)| folded(byte.to_ascii_lowercase()) == own;
    name.len() >= own.len() && name.iter().zip(own.bytes()).all(same)
}

const fn folded(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() { byte } else { b'-' }
}

/// The name of a field, or with a `*` behind it all names that begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPattern {
    /// In lower case, with `-` for every byte that is no letter or digit.
    name: Box<str>,
    is_prefix: bool,
}

impl FieldPattern {
    /// One whose fields are removed.
    ///
    /// # Errors
    ///
    /// `text` is no name, or that of a field that requests need.
    pub fn to_remove(text: &str) -> Result<Self, String> {
        let pattern = Self::read(text)?;
        let needed = NEEDED.into_iter().find(|field| pattern.is_for(field.as_bytes()));
        let wrong = |field| format!("`{text}` would remove `{field}`, without which no request can be sent");
        needed.map_or(Ok(pattern), |field| Err(wrong(field)))
    }

    /// One whose fields are kept, although they are claims.
    ///
    /// # Errors
    ///
    /// `text` is no name, or that of a field that the gateway writes.
    pub fn to_keep(text: &str) -> Result<Self, String> {
        let pattern = Self::read(text)?;
        let is_own = begins(pattern.name.as_bytes(), OWN_PREFIX).then_some(OWN_PREFIX);
        let written = WRITTEN.into_iter().find(|field| pattern.is_for(field.as_bytes())).or(is_own);
        let wrong = |field| {
            format!(
                "`{text}` would keep `{field}` of clients, which the gateway writes itself: `trusted_proxies` names \
                 proxies that are believed in it"
            )
        };
        written.map_or(Ok(pattern), |field| Err(wrong(field)))
    }

    fn read(text: &str) -> Result<Self, String> {
        let (name, is_prefix) = text.strip_suffix('*').map_or((text, false), |name| (name, true));
        let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(may_stand) {
            return Err(format!(
                "invalid field name `{text}`: expected one such as `X-User`, or `X-Acme-*` for all that begin so"
            ));
        }
        let folded =
            name.bytes().map(|byte| char::from(folded(byte.to_ascii_lowercase()))).collect::<String>();
        Ok(Self { name: folded.into(), is_prefix })
    }

    /// Whether a field of this name, in any case, is one that it is for.
    pub fn is_for(&self, name: &[u8]) -> bool {
        if self.is_prefix { begins(name, &self.name) } else { is_spelled(name, &self.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_lists_is_a_claim_in_every_spelling() {
        let longer = |prefix: &str| format!("{prefix}anything");
        let of_proxy = NAMES.map(str::to_owned).into_iter().chain(PREFIXES.map(longer));
        let detours = DETOURS.map(|(name, _)| name.to_owned()).into_iter();
        let detours = detours.chain(DETOUR_PREFIXES.map(|(prefix, _)| longer(prefix)));
        let of_proxy = of_proxy.map(|name| (name, FieldClaim::OfProxy));
        for (name, expected) in of_proxy.chain(detours.map(|name| (name, FieldClaim::Detour))) {
            for between in ['-', '_', '.', '~', '!', '`', '|', '^', '*', '\'', '%'] {
                let spelled = name.replace('-', &between.to_string());
                assert_eq!(claim(spelled.as_bytes()), Some(expected), "{spelled}");
                assert_eq!(claim(spelled.to_uppercase().as_bytes()), Some(expected), "{spelled}");
            }
            assert!(
                is_plain(name.as_bytes())
                    && (!name.contains('-') || !is_plain(name.replace('-', "_").as_bytes())),
                "{name}"
            );
        }
        assert!(is_own(b"x-robots-verdict") && is_own(b"X.robots.anything") && !is_own(b"x-robot-verdict"));
    }

    #[test]
    fn ordinary_names_are_none() {
        for name in [
            "host",
            "user-agent",
            "accept",
            "accept-encoding",
            "cookie",
            "cache-control",
            "connection",
            "content-type",
            "content-length",
            "te",
            "pragma",
            "proxy-authorization",
            "range",
            "referer",
            "from",
            "x-requested-with",
            "x-csrf-token",
            "x-real-ip-too",
            "x-forwarde",
            "wl-proxy",
            "script-names",
            "x-script",
            "x-middleware-prefetch",
            "x-http-version",
            "path",
            "\u{e9}",
            "",
        ] {
            assert!(claim(name.as_bytes()).is_none() && !is_own(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn what_frames_a_message_is_known_in_disguise() {
        for name in
            ["Content_Length", "content.length", "CONTENT~LENGTH", "Transfer_Encoding", "transfer'encoding"]
        {
            assert!(is_disguised_framing(name.as_bytes()), "{name}");
        }
        for name in
            ["Content-Length", "transfer-encoding", "contentxlength", "accept-charset", "sec-fetch-dest"]
        {
            assert!(!is_disguised_framing(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn an_operator_names_further_fields() {
        let pattern = FieldPattern::to_remove;
        let patterns = ["X-User", "x_acme-*"].map(|text| pattern(text).unwrap());
        let contain = |name: &[u8]| patterns.iter().any(|pattern| pattern.is_for(name));
        for name in ["x-user", "x.user", "x-acme-", "x_acme_tenant"] {
            assert!(contain(name.as_bytes()), "{name}");
        }
        assert!(!contain(b"x-users") && !contain(b"x-acme") && !contain(b"cookie"));
        for bad in ["", "*", "X User", "X-User:", "a*b", "caf\u{e9}"] {
            assert!(pattern(bad).unwrap_err().starts_with(&format!("invalid field name `{bad}`")));
        }
        for (needed, field) in
            [("Host", "host"), ("content_length", "content-length"), ("T*", "transfer-encoding")]
        {
            let error = pattern(needed).unwrap_err();
            assert!(error.starts_with(&format!("`{needed}` would remove `{field}`")), "{error}");
        }
        for (written, field) in [
            ("X_Forwarded_For", "x-forwarded-for"),
            ("X-*", "x-forwarded-for"),
            ("X-Robots-Verdict", OWN_PREFIX),
            ("x.robots*", OWN_PREFIX),
        ] {
            let error = FieldPattern::to_keep(written).unwrap_err();
            assert!(error.starts_with(&format!("`{written}` would keep `{field}`")), "{error}");
        }
        for kept in ["SCRIPT_NAME", "X-HTTP-Method-Override", "X-Forwarded-Prefix", "X-Accel-*"] {
            assert!(FieldPattern::to_keep(kept).is_ok(), "{kept}");
        }
    }
}
