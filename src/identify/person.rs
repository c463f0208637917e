//! What says that a person sent a header that also has a crawler's word in it:
//! the marks of apps and handhelds, and the full header of a desktop browser.
//!
//! A robot vacuum's app, a card game and a feed reader's own app write `Robot`,
//! `Spider` and `Feedly` where crawlers write their names (RFC 9110 §10.1.5 sets
//! no rule). A crawler that means to be known adds a link, an address or
//! `compatible;`, and people's programs do not. Not here: the order of the
//! questions (`classify`) and headers that name nobody (`shape`).

use super::classify::Rules;
use super::header;
use super::identity::ClientKind;
use super::scan::SignHit;
use super::words::Mark;

impl Rules<'_> {
    /// The mark of an app or of a handheld, outside the word of `hit`, in a
    /// header that does not present itself as a crawler.
    pub(super) fn app_or_handheld_beside(&self, hit: SignHit) -> Option<SignHit> {
        let marks = || [self.app(), self.first(Mark::Handhelds)].into_iter().flatten();
        let beside = marks().find(|mark| !self.same_word(hit, *mark));
        // Only the first mark of each kind is kept: `com.robot.app/3 (Android 14)`.
        let mark = beside.or_else(|| marks().next().and_then(|_| self.mark_behind(hit)))?;
        (!self.presents_itself()).then_some(mark)
    }

    /// The mark of an app or of a handheld behind the word of `hit`.
    fn mark_behind(&self, hit: SignHit) -> Option<SignHit> {
        let end = header::word_range(self.header, hit).end;
        let behind = self.scanner.scan(header::after(self.header, end));
        let mark = behind.first(Mark::AppMarks).or_else(|| behind.first(Mark::Handhelds))?;
        Some(SignHit { start: mark.start + end, end: mark.end + end, ..mark })
    }

    /// Whether the header gives a link, an address, or a name where crawlers put
    /// it: after `compatible;` or `like Gecko;`. `+http` counts among model names
    /// too: no phone is called that.
    pub(super) fn presents_itself(&self) -> bool {
        let compatible = self.first(Mark::CompatibleTail).is_some() && !self.has_compatible_word();
        compatible
            || self.first(Mark::GeckoTail).is_some()
            || self.link().is_some()
            || self.first(Mark::WholeGuards).is_none() && self.own_link().is_some()
    }

    /// Whether a header that names a crawler of this kind at `at` is that of the
    /// app of the same name: `WhatsApp/2 Android/5 Device/…`, a chat program that
    /// is a browser inside (`… Mattermost/5 Electron/33 …`), a feed reader's
    /// view of a page (`… Mobile/15E148 Feedly/100`).
    pub(super) fn is_app_of(&self, client: ClientKind, at: SignHit) -> bool {
        let Some(mark) = self.app_or_handheld_beside(at) else {
            return false;
        };
        match client {
            // `curl/8 (x86_64-apple-darwin22)` is curl: servers and shells run that system, too.
            ClientKind::Tool if self.quote(mark).to_ascii_lowercase().starts_with("darwin") => false,
            // What people ask for: behind the header of a whole browser too.
            ClientKind::Fetcher if self.app().is_some() || at.start > 0 => true,
            ClientKind::Fetcher | ClientKind::Monitor | ClientKind::Tool => {
                !self.is_browser_shaped() || self.is_view()
            }
            // `Pinterest/0.2 CFNetwork/…` is an app, `AppleNewsBot CFNetwork/…` is none.
            ClientKind::Crawler => self.app() == Some(mark) && !self.holds_crawler_sign(at),
            _ => false,
        }
    }

    /// Whether this is the browser that an app on a handheld has inside. Probes
    /// that pose as a phone send the header of a whole browser.
    fn is_view(&self) -> bool {
        let holds = |part| memchr::memmem::find(self.header, part).is_some();
        self.first(Mark::Handhelds).is_some() && (holds(b"; wv)") || !holds(b"Safari/"))
    }

    fn holds_crawler_sign(&self, at: SignHit) -> bool {
        self.found.words().any(|word| word.is_crawlers() && self.same_word(at, word))
    }

    /// Whether a generic word at `hit` is one that people's headers hold too, and
    /// says nothing here; the reason, if so. Who presents himself means the word.
    pub(super) fn outweighed(&self, hit: SignHit) -> Option<&'static str> {
        let end = || header::word_range(self.header, hit).end;
        if self.presents_itself() {
            None
        } else if hit.is_crawlers() && self.app_or_handheld_beside(hit).is_some() {
            Some("people's apps use the word too, and no link or address supports it")
        } else if self.is_desktop_program() || self.is_mac_view() {
            Some("desktop programs use the word too, and no link or address supports it")
        } else if self.is_toolbar(hit) {
            Some("programs add words to the comment of Internet Explorer")
        } else if !hit.is_crawlers() && self.is_full_desktop() && !header::has_version(self.header, end()) {
            Some("in the full header of a desktop browser a word needs a version")
        } else {
            None
        }
    }

    /// Whether the header is that of a program on a person's computer: it opens
    /// with a product, and has a desktop system in a comment:
    /// `Harvest/2.4 (Macintosh; Intel Mac OS X 14.4)`. Servers that crawl
    /// run none of these systems, or add a link.
    fn is_desktop_program(&self) -> bool {
        let in_comment = |mark: SignHit| header::comment_around(self.header, mark.start).is_some();
        !self.is_browser_shaped() && self.first(Mark::Desktops).is_some_and(in_comment)
    }

    /// Whether this is the browser that a program on a Mac has inside: `WebKit`'s
    /// header without the `Safari/` of a whole browser, `… (KHTML, like Gecko) Scrapbook/3.2`.
    fn is_mac_view(&self) -> bool {
        let holds = |part: &str| memchr::memmem::find(self.header, part.as_bytes()).is_some();
        let is_whole = holds("Safari/") || holds("Chrome/");
        self.first(Mark::Macintosh).is_some() && holds("AppleWebKit/") && !is_whole
    }

    /// Whether `hit` stands in the comment of an Internet Explorer, where
    /// toolbars and components leave their names. What ends in a crawler's word is none of them: `; dbot)`.
    fn is_toolbar(&self, hit: SignHit) -> bool {
        let is_crawler = hit.is_crawlers() && header::ends_field(self.header, hit.end);
        self.first(Mark::Mozilla).is_some() && !is_crawler && self.is_in_internet_explorer(hit)
    }

    /// Whether `hit` stands in the comment of an Internet Explorer.
    pub(super) fn is_in_internet_explorer(&self, hit: SignHit) -> bool {
        let comment = header::comment_around(self.header, hit.start);
        comment.and_then(|range| self.header.get(range)).is_some_and(header::is_internet_explorer)
    }

    /// Whether the link at `hit` is only a host name, `www.example.org`, in the
    /// full header of a desktop browser: shops and schools put theirs there.
    pub(super) fn is_bare_host_of_browser(&self, hit: SignHit) -> bool {
        let before = header::before(self.header, hit.start);
        !self.quote(hit).contains([':', '@'])
            && !before.ends_with(b"://")
            && !before.ends_with(b"+")
            && self.is_full_desktop()
    }

    /// Whether the header is that of a desktop browser, complete: its opening, a
    /// comment, a system and an engine.
    pub(super) fn is_full_desktop(&self) -> bool {
        let system = self.first(Mark::Desktops).or_else(|| self.first(Mark::Platforms));
        let comment = memchr::memchr(b'(', self.header).is_some();
        header::opens_as_browser(self.header)
            && comment
            && system.is_some()
            && self.first(Mark::Engines).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::Scanner;
    use super::super::words::{RecognitionData, Words};
    use super::*;

    /// What `ask` says about a header; the words are `*bot` and `*probe`.
    fn ask<T>(header: &str, ask: impl Fn(&Rules<'_>) -> T) -> T {
        let words = Words::default()
            .with(Mark::CrawlerSigns, &["*bot"])
            .with(Mark::ToolSigns, &["*probe"])
            .with(Mark::AppMarks, &["CFNetwork/"])
            .with(Mark::AppWords, &["*podcast*"])
            .with(Mark::ServerWords, &["*import*"])
            .with(Mark::Handhelds, &["*Android*", "*iPhone*", "Darwin"])
            .with(Mark::Desktops, &["*Windows*"])
            .with(Mark::Engines, &["Gecko/", "*MSIE*"])
            .with(Mark::Compatible, &["MSIE*"]);
        let knowledge = RecognitionData { words, ..RecognitionData::default() };
        let scanner = Scanner::new(&knowledge).unwrap();
        ask(&Rules::new(&knowledge, &scanner, header.as_bytes()))
    }

    fn convicts(header: &str) -> bool {
        ask(header, |rules| rules.outweighed(rules.found.words().next().unwrap()).is_none())
    }

    #[test]
    fn a_word_beside_the_mark_of_an_app_needs_support() {
        assert!(!convicts("robot-podcast/1 (iPhone)"));
        for innocent in ["Robot/7 CFNetwork/1", "Robot/3 (iPhone)", "Mozilla/5.0 (Linux; Android 9) Robot/2"]
        {
            assert!(!convicts(innocent), "{innocent}");
        }
        for supported in [
            "Robot/7 (+http://x.org) CFNetwork/1",
            "Robot/3 (iPhone; me@x.org)",
            "Mozilla/5.0 (iPhone) (compatible; Robot/2)",
            "Mozilla/5.0 (Linux; Android 9; Robot/2; +http://x.org) Gecko/1",
            "podcastbot/1",
        ] {
            assert!(convicts(supported), "{supported}");
        }
    }

    #[test]
    fn a_word_in_a_desktop_browser_needs_a_version_and_none_helps_a_toolbar() {
        let windows = "Mozilla/5.0 (Windows) Gecko/1";
        assert!(!convicts(&format!("{windows} Probe")) && convicts(&format!("{windows} Probe/1.0")));
        assert!(convicts(&format!("{windows} Robot")));
        assert!(convicts(&format!("{windows} Probe http://x.org")));
        assert!(convicts("Mozilla/5.0 Probe") && convicts("Probe Mozilla/5.0 (Windows) Gecko/1"));
        let explorer = |word: &str| format!("Mozilla/4.0 (compatible; MSIE 8.0; Windows; {word})");
        assert!(!convicts(&explorer("Robot/1 Toolbar")) && !convicts(&explorer("Probe/1")));
        assert!(convicts(&explorer("Robot http://x.org")));
        assert!(convicts(&format!("{} Robot", explorer("x"))));
    }

    #[test]
    fn a_word_in_a_program_of_a_desktop_needs_support() {
        for innocent in [
            "Robot/2.4 (Windows NT 10.0)",
            "x-probe/1 (Windows; U)",
            "Mozilla/5.0 (Macintosh; x) AppleWebKit/605 (KHTML, like Gecko) Robot/2",
        ] {
            assert!(!convicts(innocent), "{innocent}");
        }
        for supported in [
            "Robot/2.4 (Windows; +http://x.org)",
            "Robot/2.4 (compatible; Zork; Windows)",
            "Robot/2.4 Windows",
            "Mozilla/5.0 (Macintosh; x) AppleWebKit/605 (KHTML, like Gecko) Safari/605 Robot/2",
        ] {
            assert!(convicts(supported), "{supported}");
        }
    }

    #[test]
    fn names_of_services_are_also_those_of_their_apps() {
        let is_app = |client, header: &str| {
            ask(header, |rules| {
                let at = header.find("Name").unwrap();
                rules.is_app_of(client, SignHit { mark: Mark::Named, entry: 0, start: at, end: at + 4 })
            })
        };
        assert!(!is_app(ClientKind::Tool, "Name/1 (x86-apple-Darwin)"));
        for client in [ClientKind::Fetcher, ClientKind::Monitor, ClientKind::Tool] {
            assert_eq!(is_app(client, "Name/1 Darwin/17.2"), client != ClientKind::Tool, "{client}");
            assert!(is_app(client, "Name/1 (iPhone)"));
            assert!(is_app(client, "Mozilla/5.0 (iPhone) Mobile/15E148 Name/1"));
            assert!(is_app(client, "Mozilla/5.0 (Linux; Android 9; wv) Safari/5 Name/1"));
            let whole = is_app(client, "Mozilla/5.0 (iPhone) Mobile/15E148 Safari/6 Name/1");
            assert_eq!(whole, client == ClientKind::Fetcher, "{client}");
            assert!(!is_app(client, "Name Mozilla/5.0 (iPhone) Mobile/15E148 Safari/6"));
            assert!(!is_app(client, "Name/1 (iPhone; http://x.org)") && !is_app(client, "Name/1"));
        }
        assert!(
            is_app(ClientKind::Crawler, "Name/1 CFNetwork/1")
                && !is_app(ClientKind::Crawler, "Name/1 (iPhone)")
        );
        assert!(!is_app(ClientKind::Crawler, "Namebot/1 CFNetwork/1"));
        assert!(!is_app(ClientKind::SpecialCase, "Name/1 CFNetwork/1"));
    }

    #[test]
    fn only_a_whole_link_counts_in_a_browser() {
        let link = |header: &str| ask(header, |rules| rules.link().is_some());
        assert!(!link("Mozilla/5.0 (Windows; www.x.org) Gecko/1") && link("www.x.org"));
        for whole in ["http://www.x.org", "+www.x.org", "me@x.org"] {
            assert!(link(&format!("Mozilla/5.0 (Windows; {whole}) Gecko/1")), "{whole}");
        }
    }
}
