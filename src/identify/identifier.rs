//! `Identifier`: header in, `Identity` out, with a bounded cache in between.
//!
//! Built once per policy generation from the catalogue and the word lists; a
//! changed robots.txt does not rebuild it (`operator_tokens`). Not here: proof.

use super::cache::Cache;
use super::catalogue::Catalogue;
use super::classify::{Classification, NoTrace, Rules, Trace};
use super::header;
use super::identity::{Basis, ClientKind, Identity};
use super::scan::Scanner;
use super::second_opinion;
use super::words::RecognitionData;
use std::sync::Arc;

/// How many headers are remembered.
const REMEMBERED: usize = 8192;

/// Recognises clients by their `User-Agent`.
#[derive(Debug)]
pub struct Identifier {
    knowledge: RecognitionData,
    scanner: Scanner,
    entries: Box<[Arc<Identity>]>,
    cache: Cache<Arc<Identity>>,
}

impl Identifier {
    /// Compiles what is known.
    ///
    /// # Errors
    /// When the signs make an automaton that is too large: many millions of bytes of them.
    pub fn new(knowledge: RecognitionData) -> Result<Self, &'static str> {
        let scanner = Scanner::new(&knowledge)?;
        let crawlers = knowledge.catalogue.crawlers().iter();
        let entries = crawlers.map(|crawler| Arc::new(Identity::of_entry(crawler, Basis::Catalogue)));
        Ok(Self { entries: entries.collect(), cache: Cache::new(REMEMBERED), scanner, knowledge })
    }

    /// Who a request with this header says it is from. `None` when the request
    /// has no `User-Agent`. Never fails, on any bytes; of a header of more than
    /// 4,096 only the first and the last 2,048 count.
    pub fn recognise(&self, user_agent: Option<&[u8]>) -> Arc<Identity> {
        match header::ordinary(user_agent) {
            Some(header) => {
                self.cache.get_or_compute(header, |_| true, || self.answer(header, true, &mut NoTrace))
            }
            // No cache takes it.
            None => self.recognise_uncached(user_agent),
        }
    }

    /// The same answer without the cache and without the second opinion: what
    /// our own rules say. For measurements.
    pub fn recognise_cold(&self, user_agent: Option<&[u8]>) -> Arc<Identity> {
        self.answer(&header::prepare(user_agent), false, &mut NoTrace)
    }

    /// The same answer as [`Self::recognise`], computed afresh.
    pub fn recognise_uncached(&self, user_agent: Option<&[u8]>) -> Arc<Identity> {
        self.answer(&header::prepare(user_agent), true, &mut NoTrace)
    }

    /// The answer of [`Self::recognise`] with every step that led to it, as sentences for the operator: lower case,
    /// without a full stop.
    pub fn explain(&self, user_agent: Option<&[u8]>) -> (Arc<Identity>, Vec<String>) {
        let mut steps = Vec::new();
        if user_agent.is_some_and(|bytes| bytes.len() > 2 * header::LIMIT) {
            steps.push(format!("only the first and the last {} bytes are looked at", header::LIMIT));
        }
        let identity = self.answer(&header::prepare(user_agent), true, &mut steps);
        steps.push(conclusion(&identity));
        (identity, steps)
    }

    /// The identity of a crawler that calls itself by this product token.
    pub fn by_token(&self, token: &str) -> Arc<Identity> {
        let known = self.catalogue().by_token(token);
        let known = known.map(|crawler| Identity::of_entry(crawler, Basis::Catalogue));
        Arc::new(known.unwrap_or_else(|| Identity {
            tokens: Arc::new([Box::from(token)]),
            ..Identity::from_word(ClientKind::Crawler, Some(token.into()), Basis::OperatorToken)
        }))
    }

    /// The crawlers known by name.
    pub fn catalogue(&self) -> &Catalogue {
        &self.knowledge.catalogue
    }

    /// The memory that the automaton holds, in bytes.
    pub fn automaton_bytes(&self) -> usize {
        self.scanner.memory()
    }

    /// What our own rules say and, where they see nothing and it is heard, the second opinion.
    fn answer(&self, header: &[u8], hears_other: bool, trace: &mut impl Trace) -> Arc<Identity> {
        let rules = Rules::new(&self.knowledge, &self.scanner, header);
        let mut outcome = rules.classify(trace);
        // It is not heard where model names stand: it takes the phones of CUBOT for crawlers.
        if hears_other
            && matches!(outcome, Classification::Kind(ClientKind::Browser | ClientKind::Unnamed, ..))
            && !rules.is_guarded()
            && second_opinion::is_crawler(header)
        {
            trace.note(|| {
                "our rules see nothing, but woothee calls it a crawler: audited, never refused".into()
            });
            let is_browser = header::opens_as_browser(header);
            let word = if is_browser { None } else { header::name_from(header, 0) };
            outcome = Classification::Kind(ClientKind::Crawler, word, Basis::SecondOpinion);
        }
        match outcome {
            Classification::Entry(entry) => {
                let nobody = || Arc::new(Identity::from_word(ClientKind::Unnamed, None, Basis::Shape));
                self.entries.get(entry).map_or_else(nobody, Arc::clone)
            }
            Classification::Kind(client, word, basis) => {
                // A control token governs use; no header makes a crawler answer to it.
                let is_control = |word: &str| self.catalogue().control_token(word).is_some();
                let mut identity = Identity::from_word(client, word, basis);
                if identity.crawler.as_deref().is_some_and(is_control) {
                    identity.tokens = Arc::default();
                }
                Arc::new(identity)
            }
        }
    }
}

fn conclusion(identity: &Identity) -> String {
    let name = identity.crawler.as_deref().map(|name| format!(" `{name}`")).unwrap_or_default();
    let judged = match (identity.is_judged(), identity.star) {
        (false, _) => ", never judged by robots.txt",
        (true, true) => ", judged by its own group, else by `*`",
        (true, false) => ", judged by its own group only",
    };
    format!("{}{name} ({}){judged}", identity.client, identity.basis)
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{Crawler, Obeys, TokenBasis, Verify};
    use super::super::purpose::Purpose;
    use super::super::sign::Sign;
    use super::super::words::{Mark, Words};
    use super::*;

    fn identifier() -> Identifier {
        let sign = |written: &str| Sign::parse(written).unwrap();
        let entry = |name: &str, client, star| Crawler {
            name: name.into(),
            operator: None,
            client,
            purpose: Purpose::Search,
            signs: vec![sign(name)],
            framework: false,
            tokens: Arc::new([name.into()]),
            star,
            obeys: Obeys::Yes,
            docs: None,
            checked: None,
            verify: Verify::default(),
            shares_cache_with: Vec::new(),
            card: None,
            basis: TokenBasis::Documented,
        };
        let crawlers = vec![
            entry("FooBot", ClientKind::Crawler, true),
            entry("FooBot-Image", ClientKind::Crawler, true),
            entry("FooAds", ClientKind::SpecialCase, false),
            entry("libfoo", ClientKind::Tool, true),
        ];
        let words = Words::default()
            .with(Mark::CrawlerSigns, &["*bot", "crawl*"])
            .with(Mark::ToolSigns, &["*preview"])
            .with(Mark::AppMarks, &["CFNetwork/"])
            .with(Mark::DeviceMarks, &["MIDP-"])
            .with(Mark::Handhelds, &["*Android*"])
            .with(Mark::Desktops, &["Windows"])
            .with(Mark::Engines, &["AppleWebKit/"])
            .with(Mark::Platforms, &["Linux"])
            .with(Mark::Compatible, &["MSIE"]);
        Identifier::new(RecognitionData { catalogue: Catalogue::new(crawlers, Vec::new()), words }).unwrap()
    }

    fn told(header: &str) -> (ClientKind, Option<String>) {
        let identity = identifier().recognise(Some(header.as_bytes()));
        (identity.client, identity.crawler.as_deref().map(str::to_owned))
    }

    #[test]
    fn names_come_first_and_the_longest_wins() {
        assert_eq!(told("FooBot-Image/1.0"), (ClientKind::Crawler, Some("FooBot-Image".into())));
        assert_eq!(
            told("Mozilla/5.0 (compatible; fooads; +http://x/FooBot)"),
            (ClientKind::SpecialCase, Some("FooAds".into()))
        );
        assert_eq!(told("BarBot (like FooBot)"), (ClientKind::Crawler, Some("BarBot".into())));
        assert_eq!(told("libfoo/1 FooBot/2").1.as_deref(), Some("FooBot"));
        assert_eq!(told("MyCrawler/1 libfoo/2").0, ClientKind::Tool);
        assert_eq!(told("My-crawler/1 libfoo/2"), (ClientKind::Crawler, Some("My-crawler".into())));
    }

    #[test]
    fn padding_hides_no_name() {
        let browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36";
        for padding in [1, 1_910, 1_920, 1_925, 2_040, 2_048, 5_000, 30_000] {
            let filled = [" ".repeat(padding), "x".repeat(padding), "; ".repeat(padding / 2)];
            for filled in filled {
                let named = format!("{browser} {filled} (compatible; FooBot/1.2)");
                assert_eq!(told(&named).1.as_deref(), Some("FooBot"), "{padding}");
                assert_eq!(told(&format!("{browser} {filled}")), (ClientKind::Browser, None), "{padding}");
            }
        }
    }

    #[test]
    fn model_names_convict_nobody() {
        let phone = "Mozilla/5.0 (Linux; Android 7.0; M bot 54) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/78 Safari/537.36";
        assert_eq!(told(phone).0, ClientKind::Browser);
        assert_eq!(told(&format!("{phone} (compatible; FooBot/2.1)")).1.as_deref(), Some("FooBot"));
        assert_eq!(told(&phone.replace("M bot 54", "FooBot/1.0")).1.as_deref(), Some("FooBot"));
        assert_eq!(told(&phone.replace("M bot 54", "FooBot Build/X")).1.as_deref(), Some("FooBot"));
        assert_eq!(told(&phone.replace("M bot 54", "FooBot-5")).0, ClientKind::Browser);
    }

    #[test]
    fn shapes() {
        assert_eq!(told("Mozilla/5.0 (Windows NT 6.1) Firefox/4"), (ClientKind::Browser, None));
        assert_eq!(told("Mozilla/5.0 (compatible; Unheard; Windows)").1.as_deref(), Some("Unheard"));
        assert_eq!(told("Mozilla/4.0 (compatible;)"), (ClientKind::Unnamed, None));
        assert_eq!(told("Mozilla/5.0"), (ClientKind::Tool, None));
        assert_eq!(told("MyShop/12 CFNetwork/1410"), (ClientKind::App, None));
        assert_eq!(told("NOKIA-1 MIDP-2.0"), (ClientKind::Browser, None));
        assert_eq!(told("unheard-of/1.0"), (ClientKind::Tool, Some("unheard-of".into())));
        assert_eq!(told("x (+http://x.org)").0, ClientKind::Crawler);
        assert_eq!(told("just some words").0, ClientKind::Tool);
        assert_eq!(told("t\u{e9}l\u{e9}phone \u{1f639}"), (ClientKind::Unnamed, None));
        assert_eq!(told(" - ").0, ClientKind::Unnamed);
        assert_eq!(identifier().recognise(None).client, ClientKind::Unnamed);
    }

    #[test]
    fn steps_end_in_the_answer() {
        let (identity, steps) = identifier().explain(Some(b"BarBot (like FooBot)"));
        assert_eq!(identity.crawler.as_deref(), Some("BarBot"));
        assert!(steps.iter().any(|s| s.as_str().contains("only compares itself")));
        assert!(steps.last().unwrap().as_str().starts_with("crawler `BarBot` (sign)"));
    }

    #[test]
    fn one_identifier_serves_all_threads() {
        fn shareable<T: Send + Sync>() {}
        shareable::<Identifier>();
        shareable::<super::super::operator_tokens::OperatorTokens>();
        let identifier = identifier();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for i in 0..500 {
                        let header = format!("FooBot/{}", i % 50);
                        let identity = identifier.recognise(Some(header.as_bytes()));
                        assert_eq!(identity.crawler.as_deref(), Some("FooBot"));
                    }
                });
            }
        });
    }

    #[test]
    fn a_token_is_an_identity() {
        let identifier = identifier();
        assert!(!identifier.by_token("fooads").star);
        let other = identifier.by_token("Other");
        assert_eq!((&*other.tokens, other.star), (&[Box::from("Other")][..], true));
    }

    #[test]
    fn any_bytes_get_an_answer() {
        let identifier = identifier();
        let mut state = 1_u32;
        for len in (0..4096).step_by(7) {
            let bytes: Vec<u8> = (0..len)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    state.to_le_bytes()[3]
                })
                .collect();
            let identity = identifier.recognise(Some(&bytes));
            assert_eq!(identity, identifier.recognise_uncached(Some(&bytes)));
            assert!(identity.crawler.as_ref().is_none_or(|name| name.len() <= Identity::MAX_NAME));
        }
    }
}
