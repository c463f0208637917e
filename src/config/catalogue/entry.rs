//! `[[crawler]]`, `[[control]]` and `[words]`: the fields as they are written, of values that refuse a bad one while they are
//! read, and how they are put into what is known.
//!
//! A field that is not written keeps the value of the known entry of that name;
//! for a new name it has the default that its client kind gives.
//!
//! A sign such as `Chrome` or `*e*` of an operator's file would turn every visitor into a crawler. It is refused where it
//! hits an ordinary header of people (RFC 9110 §10.1.5). Those headers are samples of what nearly all visitors send; they
//! catch a slip of the pen and are no proof that a sign is good.

use super::card;
use crate::config::HostPattern;
use crate::config::faults::Faults;
use crate::config::values::{web_url, written};
use crate::identify::signature::SignatureAgent;
use crate::identify::{
    Card, Catalogue, ClientKind, ControlToken, Crawler, Mark, Obeys, Purpose, Sign, TokenBasis, Verify,
    Words, known_word, nearest_first, token_is_legal,
};
use jiff::civil::Date;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, HashSet};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use strum::VariantArray as _;

/// A file: crawlers, control tokens and words.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CatalogueFile {
    pub(super) crawler: Vec<CrawlerEntry>,
    pub(super) control: Vec<ControlEntry>,
    pub(super) words: BTreeMap<ListName, Vec<String>>,
}

/// A crawler. What is not written keeps its value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrawlerEntry {
    pub(super) name: CrawlerName,
    pub(super) operator: Option<Box<str>>,
    pub(super) client: Option<NamedKind>,
    pub(super) purpose: Option<Purpose>,
    pub(super) signs: Option<Vec<WrittenSign>>,
    pub(super) framework: Option<bool>,
    pub(super) tokens: Option<Vec<ProductToken>>,
    pub(super) star: Option<bool>,
    pub(super) obeys: Option<Obeys>,
    pub(super) basis: Option<TokenBasis>,
    pub(super) docs: Option<WebUrl>,
    pub(super) checked: Option<Day>,
    #[serde(default, deserialize_with = "verify")]
    pub(super) verify: Option<Verify>,
    pub(super) shares_cache_with: Option<Vec<Box<str>>>,
    pub(super) signature_agent: Option<WrittenAgent>,
    pub(super) card: Option<WebUrl>,
}

/// How the address of a crawler is checked.
#[derive(Deserialize)]
#[serde(
    remote = "Verify",
    deny_unknown_fields,
    default = "unwritten",
    expecting = "a table: `{ rdns = [\".example.com\"], ranges = [\"https://…\"] }`"
)]
struct VerifyForm {
    #[serde(deserialize_with = "listed::<HostSuffix, _>")]
    rdns: Vec<Box<str>>,
    forward: bool,
    #[serde(deserialize_with = "listed::<WebUrl, _>")]
    ranges: Vec<Box<str>>,
    shared: bool,
    #[serde(skip)]
    agent: Option<SignatureAgent>,
}

fn unwritten() -> Verify {
    Verify { forward: true, ..Verify::default() }
}

fn verify<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Verify>, D::Error> {
    VerifyForm::deserialize(deserializer).map(Some)
}

fn listed<'de, V, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<V::Target>, D::Error>
where
    V: Deserialize<'de> + Deref<Target: Clone>,
{
    Ok(Vec::<V>::deserialize(deserializer)?.into_iter().map(|written| V::Target::clone(&written)).collect())
}

/// A token that governs use.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ControlEntry {
    pub(super) token: Box<str>,
    pub(super) operator: Option<Box<str>>,
    pub(super) purpose: Option<Purpose>,
    pub(super) governs: Box<str>,
    pub(super) docs: Option<WebUrl>,
}

written! {
    /// A name that reports can show.
    pub(super) CrawlerName(String) = |text| match text {
        _ if text.chars().any(char::is_control) => Err("a name holds no control characters".to_owned()),
        _ if text.trim().is_empty() => Err("a name is not empty".to_owned()),
        _ => Ok(text.to_owned()),
    };
    /// A kind of client. A browser, or nobody, is what remains when no entry says otherwise.
    pub(super) NamedKind(ClientKind) = |text| {
        let is_named = |kind: &ClientKind| kind.is_automated() || *kind == ClientKind::App;
        let kinds: Vec<_> = ClientKind::VARIANTS.iter().copied().filter(is_named).collect();
        known_word("value", text, &kinds).map_err(|unknown| unknown.to_string())
    };
    /// What gives a crawler away.
    pub(super) WrittenSign(Sign) = |text| Sign::parse(text).map_err(|error| format!("sign `{text}`: {error}"));
    /// A name by which robots.txt can call it.
    pub(super) ProductToken(Box<str>) = |text| {
        let wrong = "expected letters, digits, `-`, `_`, `.`, `!` and single spaces";
        if token_is_legal(text) { Ok(text.into()) } else { Err(format!("invalid product token `{text}`: {wrong}")) }
    };
    /// An address of the web.
    pub(super) WebUrl(Box<str>) = |text| {
        let url = web_url(text).filter(|url| url.domain().is_some_and(|host| host.contains('.')));
        url.map(|_| text.into()).ok_or_else(|| format!("invalid URL `{text}`: expected an http or https URL"))
    };

    /// The end of a host's name.
    pub(super) HostSuffix(Box<str>) = |text| {
        let is_end = text.strip_prefix('.').is_some_and(|domain| domain.contains('.') && !domain.contains('*'));
        if is_end && text.is_ascii() && !text.ends_with('.') && format!("*{text}").parse::<HostPattern>().is_ok() {
            return Ok(text.into());
        }
        Err(format!("invalid host suffix `{text}`: expected one such as `.example.com`"))
    };
    /// A date.
    pub(super) Day(Box<str>) = |text| {
        let date = text.parse::<Date>().map(|date| date.to_string().into());
        date.map_err(|_| format!("`{text}` is not a date as `2026-01-31`"))
    };
    /// A list of words, by its key.
    #[derive(PartialOrd, Ord)]
    pub(super) ListName(Mark) = |name| {
        let lists = Mark::LISTS.iter().map(<&str>::from);
        let found = Mark::LISTS.iter().copied().find(|list| <&str>::from(*list) == name);
        found.ok_or_else(|| format!("unknown field `{name}`, expected one of {}", nearest_first(name, lists)))
    };
    /// Where an agent publishes its keys; nowhere where the text is empty.
    pub(super) WrittenAgent(Option<SignatureAgent>) = |text| {
        let wrong = "expected an https origin, such as `https://agent.example`, or the https URL of a key set";
        match SignatureAgent::parse(text) {
            None if !text.is_empty() => Err(format!("invalid `signature_agent` `{text}`: {wrong}")),
            agent => Ok(agent),
        }
    };
}

/// A file on its way into what is known. `own` says that it is an operator's, and is the state folder; the bundled ones are checked by the tests
/// instead of at every start.
pub(super) struct Merger<'f, 't> {
    pub(super) faults: &'f mut Faults<'t>,
    pub(super) own: Option<&'f Path>,
}

impl Merger<'_, '_> {
    /// Refuses a sign that would convict people.
    fn refuse_if_ordinary(&mut self, key: &str, sign: &Sign) {
        let Some(header) = header_matched_by(sign).filter(|_| self.own.is_some()) else { return };
        let message = format!("sign `{sign}` would take people's browsers for crawlers: `{header}`");
        let hint = "write the whole name that only the crawler sends, such as `FooBot`";
        self.faults.push(key, message, hint);
    }

    pub(super) fn control(entries: Vec<ControlEntry>, catalogue: &mut Catalogue) {
        for ControlEntry { token, operator, purpose, governs, docs } in entries {
            // Nearly all of them are about training.
            let purpose = purpose.unwrap_or(Purpose::AiTrain);
            let docs = docs.map(|docs| docs.0);
            catalogue.insert_control(ControlToken { token, operator, purpose, governs, docs });
        }
    }

    pub(super) fn crawlers(&mut self, entries: Vec<CrawlerEntry>, catalogue: &mut Catalogue) {
        let mut seen = HashSet::new();
        for (at, entry) in entries.into_iter().enumerate() {
            let (key, name) = (format!("crawler.{at}"), &*entry.name);
            let is_new = seen.insert(name.to_ascii_lowercase());
            let message = format!("`{name}` is named twice in this file");
            self.faults.require(is_new, &format!("{key}.name"), message, "");
            let crawler = self.crawler(&key, entry, catalogue);
            catalogue.insert(crawler);
        }
    }

    /// What is written of a crawler; else what is known of it, or follows for a new one from its name and kind.
    fn crawler(&mut self, key: &str, mut entry: CrawlerEntry, catalogue: &Catalogue) -> Crawler {
        let known = catalogue.get(&entry.name);
        let card = self.fill_by_card(key, &mut entry, known, catalogue).or_else(|| known?.card.clone());
        let client = entry.client.as_deref().copied().or_else(|| Some(known?.client));
        let client = client.unwrap_or(ClientKind::Crawler);
        let star = entry.star.or_else(|| Some(known.filter(|known| known.client == client)?.star));
        let signs = entry.signs.map(|signs| signs.into_iter().map(|sign| sign.0).collect());
        let signs = signs.or_else(|| Some(known?.signs.clone()));
        let tokens = entry.tokens.map(|tokens| tokens.into_iter().map(|token| token.0).collect());
        let tokens = tokens.or_else(|| Some(Arc::clone(&known?.tokens)));
        let is_token = client != ClientKind::App && token_is_legal(&entry.name);
        let purpose = match client {
            ClientKind::Tool => Purpose::Tool,
            ClientKind::Monitor => Purpose::Monitor,
            _ => Purpose::Other,
        };
        let agent = entry.signature_agent.map_or_else(|| known?.verify.agent.clone(), |written| written.0);
        let verify = entry.verify.or_else(|| Some(known?.verify.clone())).unwrap_or_default();
        let others = entry.shares_cache_with.or_else(|| Some(known?.shares_cache_with.clone()));
        let crawler = Crawler {
            client,
            star: star.unwrap_or(matches!(client, ClientKind::Crawler | ClientKind::Tool)),
            signs: signs.unwrap_or_else(|| Sign::parse(&entry.name).into_iter().collect()),
            tokens: tokens
                .unwrap_or_else(|| is_token.then(|| entry.name.as_str().into()).into_iter().collect()),
            purpose: entry.purpose.or_else(|| Some(known?.purpose)).unwrap_or(purpose),
            obeys: entry.obeys.or_else(|| Some(known?.obeys)).unwrap_or(Obeys::Unknown),
            basis: entry.basis.or_else(|| Some(known?.basis)).unwrap_or(TokenBasis::Inferred),
            framework: entry.framework.or_else(|| Some(known?.framework)).unwrap_or_default(),
            operator: entry.operator.or_else(|| known?.operator.clone()),
            docs: entry.docs.map(|docs| docs.0).or_else(|| known?.docs.clone()),
            checked: entry.checked.map(|day| day.0).or_else(|| known?.checked.clone()),
            verify: Verify { agent, ..verify },
            shares_cache_with: others.unwrap_or_default(),
            card,
            name: known.map_or_else(|| entry.name.as_str().into(), |known| Arc::clone(&known.name)),
        };
        self.check(key, &crawler, catalogue);
        crawler
    }

    /// Puts what the card of an agent says where the entry leaves it open.
    fn fill_by_card(
        &mut self,
        key: &str,
        entry: &mut CrawlerEntry,
        known: Option<&Crawler>,
        catalogue: &Catalogue,
    ) -> Option<Card> {
        let url = &entry.card.as_ref()?.0;
        let message = "a card is fetched over https: write its https URL";
        self.faults.require(url.starts_with("https://"), &format!("{key}.card"), message, "");
        let (mut card, said) = card::read(self.own?, url);
        // A card makes no crawler of what is none, such as an app.
        let may_say =
            known.is_none_or(|known| matches!(known.client, ClientKind::Crawler | ClientKind::Fetcher));
        // Nor does it claim what is another's.
        let is_free = |token: &str| {
            let is_its = |name: &str| name.eq_ignore_ascii_case(token);
            let owns = |own: &Crawler| is_its(&own.name) || own.tokens.iter().any(|name| is_its(name));
            let mut others = catalogue.crawlers().iter().filter(|other| Some(*other) != known);
            !others.any(owns) && catalogue.control_token(token).is_none()
        };
        let tokens = said.token.filter(|token| is_free(token)).map(|token| vec![ProductToken(token)]);
        let verify = known.map(|known| known.verify.clone()).unwrap_or_default();
        let verify = Verify { ranges: said.ranges, ..verify };
        let fields = [
            fill("tokens", &mut entry.tokens, tokens),
            fill("client", &mut entry.client, said.client.filter(|_| may_say).map(NamedKind)),
            fill("purpose", &mut entry.purpose, said.purpose),
            fill("ranges", &mut entry.verify, Some(verify).filter(|verify| !verify.ranges.is_empty())),
        ];
        card.fields = fields.into_iter().flatten().collect();
        Some(card)
    }

    /// Refuses what does not fit together, or belongs to another. What is not written is at fault where the name stands.
    fn check(&mut self, key: &str, crawler: &Crawler, catalogue: &Catalogue) {
        let Crawler { name, client, .. } = crawler;
        let [has_signs, has_tokens, has_agent] =
            ["signs", "tokens", "signature_agent"].map(|field| self.faults.has(&format!("{key}.{field}")));
        let is_never = matches!(client, ClientKind::SpecialCase | ClientKind::Monitor | ClientKind::App);
        let message = format!("the `*` group never applies to client `{client}`");
        self.faults.require(!crawler.star || !is_never, &format!("{key}.star"), message, "");
        let is_app = *client == ClientKind::App;
        let message =
            "an `app` is never judged, so its signatures are not looked for: leave `signature_agent` out";
        let is_fine = !is_app || !has_agent || crawler.verify.agent.is_none();
        self.faults.require(is_fine, &format!("{key}.signature_agent"), message, "");
        for (at, sign) in crawler.signs.iter().enumerate() {
            let place = if has_signs { format!("{key}.signs.{at}") } else { format!("{key}.name") };
            let same = |known: &Sign| known.text().eq_ignore_ascii_case(sign.text());
            let owner = catalogue.crawlers().iter().find(|other| other.signs.iter().any(same));
            let owner = owner.map(|owner| &owner.name).filter(|owner| !owner.eq_ignore_ascii_case(name));
            if let Some(owner) = owner.filter(|_| has_signs) {
                let hint = format!("to change that crawler, write `name = \"{owner}\"`");
                let message = format!("sign `{sign}` already belongs to `{owner}`");
                self.faults.push(&place, message, &hint);
            }
            if !is_app {
                self.refuse_if_ordinary(&place, sign);
            }
        }
        for (at, token) in crawler.tokens.iter().enumerate() {
            let place = if has_tokens { format!("{key}.tokens.{at}") } else { format!("{key}.name") };
            let is_new = !crawler.tokens.iter().take(at).any(|known| known.eq_ignore_ascii_case(token));
            self.faults.require(is_new, &place, format!("token `{token}` is written twice"), "");
            let message = format!("`{token}` is a control token, which no crawler sends in a header");
            let hint = "name the crawler that reads it, and leave the token to robots.txt";
            self.faults.require(catalogue.control_token(token).is_none(), &place, message, hint);
        }
        let is_named_only = !has_signs && catalogue.get(name).is_none();
        if let Some(error) = Sign::parse(name).err().filter(|_| is_named_only) {
            let message = format!("`{name}` needs `signs`, since its name cannot be one: {error}");
            let hint = "write what the crawler sends in its `User-Agent`: `signs = [\"FooBot\"]`";
            self.faults.push(&format!("{key}.name"), message, hint);
        }
    }

    pub(super) fn words(&mut self, lists: BTreeMap<ListName, Vec<String>>, words: &mut Words) {
        for (ListName(list), written) in lists {
            for (at, word) in written.iter().enumerate() {
                let place = format!("words.{}.{at}", <&str>::from(list));
                let (list, word) = match word.strip_prefix(WHOLE) {
                    Some(word) if list == Mark::Guards => (Mark::WholeGuards, word),
                    _ => (list, word.as_str()),
                };
                match Sign::parse(word) {
                    Err(error) => self.faults.push(&place, format!("`{word}`: {error}"), ""),
                    Ok(sign) => {
                        if list.is_convicting() {
                            self.refuse_if_ordinary(&place, &sign);
                        }
                        words.0.push((list, sign));
                    }
                }
            }
        }
    }
}

/// Puts what is `said` where nothing is written, and names the field where it does.
fn fill<T>(field: &'static str, written: &mut Option<T>, said: Option<T>) -> Option<&'static str> {
    let is_filled = written.is_none() && said.is_some();
    *written = written.take().or(said);
    is_filled.then_some(field)
}

/// What stands before a guard of whole headers in an operator's list of guards.
const WHOLE: &str = "all ";

/// Browsers and apps in everyday use.
fn headers() -> impl Iterator<Item = &'static str> {
    include_str!("../../../rules/ordinary-headers.txt").lines().filter(|line| !line.starts_with('#'))
}

/// A person's header in which the sign stands, if there is one.
fn header_matched_by(sign: &Sign) -> Option<&'static str> {
    headers().find(|header| sign.stands_in(header.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::catalogue::bundled;
    use crate::config::catalogue::tests::merge;
    use crate::identify::Identifier;
    use std::path::Path;

    fn message(entry: &str) -> String {
        let text = format!("[[crawler]]\nname = \"Zorkel\"\n{entry}\n");
        let errors = merge(&text, Path::new("x"), Path::new("")).unwrap_err();
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
            ("verify = 1", "expected a table"),
            ("signature_agent = \"http://agent.example\"", "such as `https://agent.example`"),
            ("signature_agent = \"https://agent.example/x#y\"", "or the https URL of a key set"),
            ("client = \"app\"\nsignature_agent = \"https://agent.example\"", "is never judged"),
            ("verify = { rnds = [] }", "did you mean `rdns`"),
            ("star = \"yes\"", "expected `true` or `false`"),
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
        let errors = |text: &str| merge(text, Path::new("x"), Path::new("")).map(|_| ()).unwrap_err();
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
            assert!(
                errors[0].message.contains(part) && (errors[0].line, errors[0].column) == (Some(2), Some(8)),
                "{}",
                errors[0]
            );
        }
        let own = "[[control]]\ntoken = \"Own-X\"\noperator = \"Own\"\ngoverns = \"use\"\n";
        for token in ["Applebot-Extended", "own-x"] {
            let errors = errors(&format!("{own}[[crawler]]\nname = \"Zorkel\"\ntokens = [\"{token}\"]\n"));
            assert_eq!(
                (errors.len(), errors[0].line, errors[0].column),
                (1, Some(7), Some(11)),
                "{errors:#?}"
            );
        }
        let signed = "[[crawler]]\nname = \"Zörkel\"\nsigns = [\"Zoerkel\"]\n";
        assert_eq!(
            merge(signed, Path::new("x"), Path::new(""))
                .unwrap()
                .catalogue
                .get("Zörkel")
                .unwrap()
                .signs
                .len(),
            1
        );
    }

    #[test]
    fn control_tokens_need_a_name_and_a_meaning() {
        let text = "[[control]]\ntoken = \"Foo-Extended\"\n";
        assert!(merge(text, Path::new("x"), Path::new("")).unwrap_err()[0].message.contains("`governs`"));
        let knowledge =
            merge(&format!("{text}governs = \"training\"\n"), Path::new("x"), Path::new("")).unwrap();
        let control = knowledge.catalogue.control_token("foo-extended").unwrap();
        assert_eq!((&*control.governs, &control.operator), ("training", &None), "it is for everybody");
    }

    #[test]
    fn a_name_written_twice_is_refused() {
        let text = "[[crawler]]\nname = \"Zorkel\"\n[[crawler]]\nname = \"zorkel\"\n";
        assert!(merge(text, Path::new("x"), Path::new("")).unwrap_err()[0].message.contains("named twice"));
        // An entry between the two that is refused is left out of what is counted.
        let text = text.replacen(
            "[[crawler]]\nname = \"zorkel",
            "[[crawler]]\nname = \" \"\n[[crawler]]\nname = \"zorkel",
            1,
        );
        let errors = merge(&text, Path::new("x"), Path::new("")).unwrap_err();
        assert_eq!(
            errors.iter().map(|error| error.line).collect::<Vec<_>>(),
            [Some(4), Some(6)],
            "{errors:#?}"
        );
    }

    #[test]
    fn a_card_claims_neither_what_is_anothers_nor_a_control_token() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(card::CARDS)).unwrap();
        let tokens = |name: &str, claimed: &str| {
            let said = format!("{{\"rfc9309-product-token\": \"{claimed}\"}}");
            std::fs::write(folder.path().join(card::CARDS).join("a.example_bot.json"), said).unwrap();
            let text = format!("[[crawler]]\nname = \"{name}\"\ncard = \"https://a.example/bot.json\"\n");
            let knowledge = merge(&text, Path::new("x"), folder.path()).unwrap();
            knowledge.catalogue.get(name).unwrap().tokens.join(" ")
        };
        let image = "Baiduspider-image Baiduspider";
        for (name, claimed, expected) in [
            ("Baiduspider-image", "Baiduspider", image),
            ("Baiduspider-image", "GPTBot", image),
            ("Baiduspider-image", "baiduspider-image", "baiduspider-image"),
            ("Zorkel", "gptbot", "Zorkel"),
            ("Zorkel", "Google-Extended", "Zorkel"),
            ("Zorkel", "ZorkelToo", "ZorkelToo"),
        ] {
            assert_eq!(tokens(name, claimed), expected, "{name} claims {claimed}");
        }
    }

    #[test]
    fn signs_of_everybody_are_told_from_those_of_a_crawler() {
        for everybody in ["Chrome", "gecko", "^Mozilla/5.0", "Mobile/15E148", "*like Mac*"] {
            assert!(header_matched_by(&Sign::parse(everybody).unwrap()).is_some(), "{everybody}");
        }
        for own in ["Zorkel", "^Chrome", "Pod", "*bot"] {
            assert_eq!(header_matched_by(&Sign::parse(own).unwrap()), None, "{own}");
        }
    }

    #[test]
    fn the_bundled_knowledge_leaves_these_people_alone() {
        let knowledge = bundled();
        let convicting =
            knowledge.catalogue.crawlers().iter().filter(|crawler| crawler.client != ClientKind::App);
        for sign in convicting.flat_map(|crawler| &crawler.signs) {
            assert_eq!(header_matched_by(sign), None, "{sign}");
        }
        let identifier = Identifier::new(knowledge).unwrap();
        for header in headers() {
            assert!(!identifier.recognise(Some(header.as_bytes())).is_judged(), "{header}");
        }
    }
}
