//! `[[crawler]]` and `[[control]]`: one entry each.
//!
//! A field that is not written keeps the value of the known entry of that name;
//! for a new name it has the default that its client kind gives.

use super::reader::CatalogueReader;
use crate::identify::signature::SignatureAgent;
use crate::identify::{
    Catalogue, ClientKind, ControlToken, Crawler, Obeys, Purpose, Sign, TokenBasis, Verify, token_is_legal,
};
use jiff::civil::Date;
use std::collections::HashSet;
use std::ops::Range;
use strum::VariantArray as _;
use toml::Spanned;
use toml::de::DeTable;

const KEYS: [&str; 15] = [
    "name",
    "operator",
    "client",
    "purpose",
    "signs",
    "framework",
    "tokens",
    "star",
    "obeys",
    "basis",
    "docs",
    "checked",
    "verify",
    "shares_cache_with",
    "signature_agent",
];

pub(super) fn read_crawlers(
    reader: &mut CatalogueReader<'_>,
    document: &DeTable<'_>,
    catalogue: &mut Catalogue,
) {
    let mut seen = HashSet::new();
    for (span, table) in reader.tables(document, "crawler") {
        reader.known_keys(table, &KEYS);
        let name = reader.text(table, "name");
        if name.is_none() && !table.contains_key("name") {
            reader.refuse(span, "a crawler needs a `name`".into());
        }
        if let Some(name) = &name {
            check_name(reader, name);
            if !seen.insert(name.get_ref().to_ascii_lowercase()) {
                reader.refuse(name.span(), format!("`{}` is named twice in this file", name.get_ref()));
            }
        }
        let crawler = CrawlerReader { reader, table, catalogue, name: name.as_ref() }.crawler();
        if name.is_some() {
            catalogue.insert(crawler);
        }
    }
}

/// Refuses a name that no report could show.
fn check_name(reader: &mut CatalogueReader<'_>, name: &Spanned<String>) {
    if name.get_ref().chars().any(char::is_control) {
        reader.refuse(name.span(), "a name holds no control characters".into());
    } else if name.get_ref().trim().is_empty() {
        reader.refuse(name.span(), "a name is not empty".into());
    }
}

/// A new entry with nothing but a name: the name is its sign, and its token
/// where robots.txt could name it.
fn default_crawler(name: &str, client: ClientKind) -> Crawler {
    let named = token_is_legal(name) && client != ClientKind::App;
    Crawler {
        name: name.into(),
        operator: None,
        client,
        purpose: match client {
            ClientKind::Tool => Purpose::Tool,
            ClientKind::Monitor => Purpose::Monitor,
            _ => Purpose::Other,
        },
        signs: Sign::parse(name).into_iter().collect(),
        framework: false,
        tokens: if named { std::iter::once(Box::from(name)).collect() } else { [].into() },
        star: star_by_default(client),
        obeys: Obeys::Unknown,
        docs: None,
        checked: None,
        verify: Verify::default(),
        shares_cache_with: Vec::new(),
        basis: TokenBasis::Inferred,
    }
}

fn star_by_default(client: ClientKind) -> bool {
    matches!(client, ClientKind::Crawler | ClientKind::Tool)
}

/// Kinds of client that an entry may have. A browser, or nobody, is what remains when no entry says otherwise.
const CLIENTS: [ClientKind; 6] = [
    ClientKind::Crawler,
    ClientKind::SpecialCase,
    ClientKind::Fetcher,
    ClientKind::Tool,
    ClientKind::Monitor,
    ClientKind::App,
];

/// One entry that is being read, beside those that are known already.
struct CrawlerReader<'r, 't, 'd, 'i> {
    reader: &'r mut CatalogueReader<'t>,
    table: &'d DeTable<'i>,
    catalogue: &'r Catalogue,
    name: Option<&'r Spanned<String>>,
}

impl CrawlerReader<'_, '_, '_, '_> {
    fn crawler(&mut self) -> Crawler {
        let written = self.name.map(|name| name.get_ref().as_str()).unwrap_or_default();
        let known = self.catalogue.get(written);
        let client = self.reader.one_of(self.table, "client", &CLIENTS);
        let client = client.unwrap_or_else(|| known.map_or(ClientKind::Crawler, |k| k.client));
        if let Some(name) = self.name.filter(|_| known.is_none()) {
            self.check_defaults(name, client);
        }
        let mut crawler = known.cloned().unwrap_or_else(|| default_crawler(written, client));
        let is_same_kind = known.is_some_and(|k| k.client == client);
        let star = if is_same_kind { crawler.star } else { star_by_default(client) };
        crawler.client = client;
        crawler.star = self.star(client).unwrap_or(star);
        crawler.signs = self.signs(written, client).unwrap_or(crawler.signs);
        crawler.tokens = self.tokens().map_or(crawler.tokens, Into::into);
        crawler.checked = self.date().or(crawler.checked);
        let known_agent = crawler.verify.agent.take();
        crawler.verify = self.verify().unwrap_or(crawler.verify);
        crawler.verify.agent = self.signature_agent(client, known_agent);
        let (reader, table) = (&mut *self.reader, self.table);
        crawler.purpose = reader.one_of(table, "purpose", Purpose::VARIANTS).unwrap_or(crawler.purpose);
        crawler.obeys = reader.one_of(table, "obeys", Obeys::VARIANTS).unwrap_or(crawler.obeys);
        crawler.basis = reader.one_of(table, "basis", TokenBasis::VARIANTS).unwrap_or(crawler.basis);
        crawler.framework = reader.flag(table, "framework").map_or(crawler.framework, Spanned::into_inner);
        crawler.operator = reader.text(table, "operator").map(boxed).or(crawler.operator);
        crawler.docs = url(reader, table, "docs").or(crawler.docs);
        let shares = reader.texts(table, "shares_cache_with");
        crawler.shares_cache_with =
            shares.map_or(crawler.shares_cache_with, |names| names.into_iter().map(boxed).collect());
        crawler
    }

    /// What a new entry takes from its name where nothing is written: its sign and
    /// its token. Both must be fit for it.
    fn check_defaults(&mut self, name: &Spanned<String>, client: ClientKind) {
        let written = name.get_ref();
        if !self.table.contains_key("tokens") && client != ClientKind::App {
            self.refuse_control_token(name.span(), written);
        }
        let is_name = !written.trim().is_empty() && !written.chars().any(char::is_control);
        if self.table.contains_key("signs") || !is_name {
            return;
        }
        match Sign::parse(written) {
            Ok(sign) if client != ClientKind::App => self.reader.refuse_if_ordinary(name.span(), &sign),
            Ok(_) => {}
            Err(error) => self.reader.refuse_with_hint(
                name.span(),
                format!("`{written}` needs `signs`, since its name cannot be one: {error}"),
                Some("write what the crawler sends in its `User-Agent`: `signs = [\"FooBot\"]`".into()),
            ),
        }
    }

    fn refuse_control_token(&mut self, span: Range<usize>, token: &str) {
        if self.catalogue.control_token(token).is_some() {
            self.reader.refuse_with_hint(
                span,
                format!("`{token}` is a control token, which no crawler sends in a header"),
                Some("name the crawler that reads it, and leave the token to robots.txt".into()),
            );
        }
    }

    fn star(&mut self, client: ClientKind) -> Option<bool> {
        let star = self.reader.flag(self.table, "star")?;
        let is_never = matches!(client, ClientKind::SpecialCase | ClientKind::Monitor | ClientKind::App);
        if *star.get_ref() && is_never {
            self.reader.refuse(star.span(), format!("the `*` group never applies to client `{client}`"));
            return None;
        }
        Some(*star.get_ref())
    }

    fn signs(&mut self, name: &str, client: ClientKind) -> Option<Vec<Sign>> {
        let mut signs = Vec::new();
        for written in self.reader.texts(self.table, "signs")? {
            let sign = match Sign::parse(written.get_ref()) {
                Ok(sign) => sign,
                Err(error) => {
                    self.reader.refuse(written.span(), format!("sign `{}`: {error}", written.get_ref()));
                    continue;
                }
            };
            let owner = find_owner(self.catalogue, &sign);
            if let Some(owner) = owner.filter(|owner| !owner.eq_ignore_ascii_case(name)) {
                self.reader.refuse_with_hint(
                    written.span(),
                    format!("sign `{sign}` already belongs to `{owner}`"),
                    Some(format!("to change that crawler, write `name = \"{owner}\"`")),
                );
            }
            if client != ClientKind::App {
                self.reader.refuse_if_ordinary(written.span(), &sign);
            }
            signs.push(sign);
        }
        Some(signs)
    }

    fn tokens(&mut self) -> Option<Vec<Box<str>>> {
        let mut tokens: Vec<Box<str>> = Vec::new();
        for written in self.reader.texts(self.table, "tokens")? {
            let token = written.get_ref();
            if !token_is_legal(token) {
                self.reader.refuse(
                    written.span(),
                    format!("invalid product token `{token}`: expected letters, digits, `-`, `_`, `.`, `!` and single spaces"),
                );
            } else if tokens.iter().any(|known| known.eq_ignore_ascii_case(token)) {
                self.reader.refuse(written.span(), format!("token `{token}` is written twice"));
            } else {
                self.refuse_control_token(written.span(), token);
                tokens.push(boxed(written));
            }
        }
        Some(tokens)
    }

    fn verify(&mut self) -> Option<Verify> {
        let value = self.table.get("verify")?;
        let Some(inner) = value.get_ref().as_table() else {
            self.reader.refuse(
                value.span(),
                "`verify` must be a table: `{ rdns = [\".example.com\"], ranges = [\"https://…\"] }`".into(),
            );
            return None;
        };
        self.reader.known_keys(inner, &["rdns", "ranges", "forward"]);
        let forward = self.reader.flag(inner, "forward").is_none_or(Spanned::into_inner);
        let mut verify = Verify { forward, ..Verify::default() };
        for suffix in self.reader.texts(inner, "rdns").unwrap_or_default() {
            if is_suffix(suffix.get_ref()) {
                verify.rdns.push(boxed(suffix));
            } else {
                self.reader.refuse(
                    suffix.span(),
                    format!(
                        "invalid host suffix `{}`: expected one such as `.example.com`",
                        suffix.get_ref()
                    ),
                );
            }
        }
        for link in self.reader.texts(inner, "ranges").unwrap_or_default() {
            verify.ranges.extend(checked_url(self.reader, link, "ranges"));
        }
        Some(verify)
    }

    /// The agent that signs as a crawler: the `known` one where nothing is written, and none where an empty text is.
    fn signature_agent(
        &mut self,
        client: ClientKind,
        known: Option<SignatureAgent>,
    ) -> Option<SignatureAgent> {
        let Some(written) = self.reader.text(self.table, "signature_agent") else { return known };
        if written.get_ref().is_empty() {
            return None;
        }
        if client == ClientKind::App {
            let message =
                "an `app` is never judged, so its signatures are not looked for: leave `signature_agent` out";
            self.reader.refuse(written.span(), message.to_owned());
            return None;
        }
        let agent = SignatureAgent::parse(written.get_ref());
        if agent.is_none() {
            let message = format!(
                "invalid `signature_agent` `{}`: expected an https origin, such as `https://agent.example`, or the https URL of a key set",
                written.get_ref()
            );
            self.reader.refuse(written.span(), message);
        }
        agent
    }

    fn date(&mut self) -> Option<Box<str>> {
        let text = self.reader.text(self.table, "checked")?;
        let date = text.get_ref().parse::<Date>().ok().filter(|_| text.get_ref().len() == "2026-01-31".len());
        if date.is_some_and(|date| (2000..3000).contains(&date.year())) {
            return Some(boxed(text));
        }
        let message = format!("`checked` is `{}`, not a date as `2026-01-31`", text.get_ref());
        self.reader.refuse(text.span(), message);
        None
    }
}

fn find_owner<'c>(catalogue: &'c Catalogue, sign: &Sign) -> Option<&'c str> {
    let same = |known: &Sign| known.text().eq_ignore_ascii_case(sign.text());
    let owner = catalogue.crawlers().iter().find(|crawler| crawler.signs.iter().any(same))?;
    Some(&owner.name)
}

fn is_suffix(text: &str) -> bool {
    let label =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    text.strip_prefix('.').is_some_and(|rest| rest.contains('.') && rest.split('.').all(label))
}

fn url(reader: &mut CatalogueReader<'_>, table: &DeTable<'_>, key: &str) -> Option<Box<str>> {
    let text = reader.text(table, key)?;
    checked_url(reader, text, key)
}

fn checked_url(reader: &mut CatalogueReader<'_>, text: Spanned<String>, key: &str) -> Option<Box<str>> {
    let rest = text.get_ref().strip_prefix("https://").or_else(|| text.get_ref().strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let plain = text.get_ref().bytes().all(|b| b.is_ascii_graphic());
    if plain && host.is_some_and(|host| is_suffix(&format!(".{host}"))) {
        return Some(boxed(text));
    }
    reader.refuse(
        text.span(),
        format!("`{key}`: invalid URL `{}`: expected an http or https URL", text.get_ref()),
    );
    None
}

fn boxed(text: Spanned<String>) -> Box<str> {
    text.into_inner().into()
}

pub(super) fn read_control(
    reader: &mut CatalogueReader<'_>,
    document: &DeTable<'_>,
    catalogue: &mut Catalogue,
) {
    for (span, table) in reader.tables(document, "control") {
        reader.known_keys(table, &["token", "operator", "purpose", "governs", "docs"]);
        let docs = url(reader, table, "docs");
        // Nearly all of them are about training.
        let purpose = reader.one_of(table, "purpose", Purpose::VARIANTS).unwrap_or(Purpose::AiTrain);
        let operator = reader.text(table, "operator").map(boxed);
        let fields = ["token", "governs"].map(|key| reader.text(table, key).map(boxed));
        match fields {
            [Some(token), Some(governs)] => {
                catalogue.insert_control(ControlToken { token, operator, purpose, governs, docs });
            }
            _ => reader.refuse(span, "a control token needs `token` and `governs`".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::catalogue::merge;
    use std::path::Path;

    fn message(entry: &str) -> String {
        let text = format!("[[crawler]]\nname = \"Zorkel\"\n{entry}\n");
        let errors = merge(&text, Path::new("x")).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:#?}");
        errors[0].to_string()
    }

    #[test]
    fn each_mistake_has_its_message() {
        for (entry, part) in [
            ("docs = \"example.org\"", "expected an http or https URL"),
            ("docs = \"https://localhost/x\"", "expected an http or https URL"),
            ("checked = \"2026-13-01\"", "not a date"),
            ("checked = \"26-1-1\"", "not a date"),
            ("tokens = [\"a/b\"]", "invalid product token"),
            ("tokens = [\"Foo\", \"foo\"]", "written twice"),
            ("signs = [\"a*b\"]", "only open or close"),
            ("verify = { rdns = [\"example.org\"] }", "expected one such as `.example.com`"),
            ("verify = 1", "must be a table"),
            ("signature_agent = \"http://agent.example\"", "such as `https://agent.example`"),
            ("signature_agent = \"https://agent.example/x#y\"", "or the https URL of a key set"),
            ("client = \"app\"\nsignature_agent = \"https://agent.example\"", "is never judged"),
            ("verify = { rnds = [] }", "did you mean `rdns`"),
            ("star = \"yes\"", "`true` or `false`"),
            ("obeys = \"maybe\"", "`partly`"),
            ("client = \"browser\"", "expected one of"),
            ("name = \"Other\"", "duplicate key"),
        ] {
            let message = message(entry);
            assert!(message.contains(part), "{entry}: {message}");
        }
    }

    #[test]
    fn names_that_cannot_stand_for_themselves_are_refused() {
        let errors = |text: &str| merge(text, Path::new("x")).map(|_| ()).unwrap_err();
        for (name, part) in [
            ("Z", "needs `signs`"),
            ("Zork*Bot", "needs `signs`"),
            ("Zörkel", "needs `signs`"),
            ("", "not empty"),
            ("Zor\\u0007kel", "control characters"),
            ("Zor\\nkel", "control characters"),
            ("google-extended", "control token"),
        ] {
            let errors = errors(&format!("[[crawler]]\nname = \"{name}\"\n"));
            assert_eq!(errors.len(), 1, "{errors:#?}");
            assert!(errors[0].message.contains(part) && errors[0].position == Some((2, 8)), "{}", errors[0]);
        }
        let own = "[[control]]\ntoken = \"Own-X\"\noperator = \"Own\"\ngoverns = \"use\"\n";
        for token in ["Applebot-Extended", "own-x"] {
            let errors = errors(&format!("{own}[[crawler]]\nname = \"Zorkel\"\ntokens = [\"{token}\"]\n"));
            assert_eq!((errors.len(), errors[0].position), (1, Some((7, 11))), "{errors:#?}");
        }
        let signed = "[[crawler]]\nname = \"Zörkel\"\nsigns = [\"Zoerkel\"]\n";
        assert_eq!(merge(signed, Path::new("x")).unwrap().catalogue.get("Zörkel").unwrap().signs.len(), 1);
    }

    #[test]
    fn control_tokens_need_a_name_and_a_meaning() {
        let text = "[[control]]\ntoken = \"Foo-Extended\"\n";
        assert!(merge(text, Path::new("x")).unwrap_err()[0].message.contains("`governs`"));
        let knowledge = merge(&format!("{text}governs = \"training\"\n"), Path::new("x")).unwrap();
        let control = knowledge.catalogue.control_token("foo-extended").unwrap();
        assert_eq!((&*control.governs, &control.operator), ("training", &None), "it is for everybody");
    }

    #[test]
    fn a_name_written_twice_is_refused() {
        let text = "[[crawler]]\nname = \"Zorkel\"\n[[crawler]]\nname = \"zorkel\"\n";
        assert!(merge(text, Path::new("x")).unwrap_err()[0].message.contains("named twice"));
    }
}
