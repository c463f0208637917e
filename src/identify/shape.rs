//! The rules for headers that name nobody: what their shape says.
//!
//! What could be a person's browser or app is one, unless something stands in it
//! that only crawlers write. Not here: names and generic words (`classify`).

use super::classify::Classification::{self, Kind};
use super::classify::{Rules, Trace};
use super::header;
use super::identity::{Basis, ClientKind};
use super::scan::SignHit;
use super::words::Mark;
use std::sync::Arc;

impl Rules<'_> {
    /// Whether the header has a browser's shape: opens as one, holds one, or
    /// names an engine.
    pub(super) fn is_browser_shaped(&self) -> bool {
        self.first(Mark::Mozilla).is_some()
            || self.first(Mark::Engines).is_some()
            || header::opens_as_browser(self.header)
    }

    pub(super) fn browser_shaped(&self, weak: Option<SignHit>, trace: &mut impl Trace) -> Classification {
        if let Some(mark) = self.app() {
            trace.note(|| format!("`{}` is the mark of an app", self.quote(mark)));
            let has_stack = self.first(Mark::AppMarks).is_some();
            return shape(if has_stack { ClientKind::App } else { ClientKind::Browser });
        }
        let carried = self.first(Mark::Handhelds).or_else(|| self.first(Mark::DeviceMarks));
        // Apps add their names to the header of a phone's browser.
        if let Some(hit) = weak.filter(|_| carried.is_none()) {
            return self.by_word(hit);
        }
        if let Some(hit) = self.opening_product().filter(|_| carried.is_none()) {
            trace.note(|| "a product before the header of a browser, as those write who borrow it".into());
            return Kind(ClientKind::Tool, header::name_at(self.header, hit), Basis::Structure);
        }
        self.linked(trace).unwrap_or_else(|| self.platform_or_tool(trace))
    }

    /// What a link, an address or a host says of a browser's header. Extensions, companies and people who test for
    /// faults put theirs behind the whole header of a browser, apps behind that of a phone, and nobody can tell them
    /// from crawlers that do the same: there it makes a tool. Where no browser is, it is a crawler's.
    fn linked(&self, trace: &mut impl Trace) -> Option<Classification> {
        let path = |hit: &SignHit| header::has_path(self.header, *hit);
        let host = || self.host().filter(|hit| path(hit) || !self.is_full_desktop());
        let link = self.link().or_else(host).filter(|_| self.first(Mark::DeviceMarks).is_none())?;
        let handheld = self.first(Mark::Handhelds);
        let system = handheld.or_else(|| self.first(Mark::Desktops)).or_else(|| self.first(Mark::Platforms));
        let is_browser = handheld.is_some() || system.is_some() && self.first(Mark::Engines).is_some();
        let is_own = self.own_link().is_some();
        if is_browser && !is_own && (handheld.is_some() || self.is_in_internet_explorer(link)) {
            trace.note(|| format!("`{}` is a link, as apps and companies leave one", self.quote(link)));
            return None;
        }
        let kind = if is_browser { ClientKind::Tool } else { ClientKind::Crawler };
        trace.note(|| "people's browsers send no link and no address".into());
        Some(Kind(kind, self.neighbour(), Basis::Sign))
    }

    /// The product that stands alone before `Mozilla/`: `Foo/1.0 Mozilla/5.0 (Windows …`.
    fn opening_product(&self) -> Option<SignHit> {
        let browser = self.first(Mark::Mozilla)?;
        let before = header::before(self.header, browser.start).strip_suffix(b" ")?;
        let slash = memchr::memchr(b'/', before)?;
        let is_version = |b: &u8| b.is_ascii_digit() || *b == b'.';
        let version = before.get(slash + 1..)?;
        (slash > 1 && !version.is_empty() && version.iter().all(is_version)).then_some(SignHit {
            start: 0,
            end: slash,
            ..browser
        })
    }

    fn platform_or_tool(&self, trace: &mut impl Trace) -> Classification {
        let marks = [Mark::Handhelds, Mark::Desktops, Mark::Platforms, Mark::DeviceMarks, Mark::WholeGuards];
        let system = marks.into_iter().find_map(|mark| self.first(mark));
        let is_bare =
            self.first(Mark::Mozilla).is_some() && memchr::memchr2(b'(', b';', self.header).is_none();
        let has_word = self.has_compatible_word();
        let compatible = self.first(Mark::CompatibleTail);
        let engine = self.first(Mark::Engines).filter(|_| !is_bare && (compatible.is_none() || has_word));
        if let Some(mark) = system.or(engine).or_else(|| compatible.filter(|_| has_word)) {
            trace
                .note(|| format!("a browser's shape, and `{}` is a platform or an engine", self.quote(mark)));
            return shape(ClientKind::Browser);
        }
        if compatible.is_some_and(|hit| header::is_blank(header::after(self.header, hit.end))) {
            trace.note(|| {
                "a header stripped to `compatible;`, as proxies in front of people and crawlers send it"
                    .into()
            });
            return shape(ClientKind::Unnamed);
        }
        trace.note(|| "a browser's shape, but no platform".into());
        Kind(ClientKind::Tool, None, Basis::Structure)
    }

    /// What stands where only crawlers put their name: after `compatible;`,
    /// unless browsers put it there, or after `like Gecko;`.
    pub(super) fn stranger(&self, trace: &mut impl Trace) -> Option<Classification> {
        let compatible = self.first(Mark::CompatibleTail).filter(|hit| self.is_strangers(*hit));
        let tail = self.first(Mark::GeckoTail).filter(|hit| {
            let person = self.first(Mark::DeviceMarks).or_else(|| self.app());
            let is_persons = self.scanner.is_compatible_word(self.header, hit.end);
            // Programs that have the browser of Windows inside add their names to its header.
            person.is_none()
                && !is_persons
                && !header::is_internet_explorer(header::before(self.header, hit.start))
        });
        let field = |hit: SignHit| header::field_from(self.header, hit.end);
        let hit = [compatible, tail].into_iter().flatten().find(|hit| !header::is_blank(field(*hit)))?;
        if self.first(Mark::WholeGuards).is_some() {
            return None;
        }
        let quote = || String::from_utf8_lossy(field(hit));
        trace.note(|| format!("`{}` stands where crawlers put their name", quote()));
        let is_programs = self.is_of_an_old_browser() && self.link().is_none();
        let client = if is_programs { ClientKind::Tool } else { ClientKind::Crawler };
        Some(Kind(client, header::name_from(self.header, hit.end), Basis::Structure))
    }

    /// Whether the header opens as browsers did before Mozilla 5. Programs on people's computers wrote that, too:
    /// editors, printers, libraries of Windows.
    fn is_of_an_old_browser(&self) -> bool {
        let version = self.header.strip_prefix(b"Mozilla/").and_then(<[u8]>::first);
        version.is_some_and(|digit| (b'1'..b'5').contains(digit))
    }

    /// Whether a crawler put its name behind this `compatible;`: no word of people's browsers stands there, and none of
    /// their marks behind it, unless a link follows; a `+http` link is the custom of crawlers, and of nobody else.
    fn is_strangers(&self, compatible: SignHit) -> bool {
        let follows = |link: SignHit| link.start > compatible.end;
        let opening = self.first(Mark::Handhelds).filter(|mark| mark.start == 0);
        let person = self.first(Mark::DeviceMarks).or_else(|| self.app()).or(opening);
        let rest = header::after(self.header, compatible.end);
        let is_free =
            || person.is_none() && !header::opens_with_locale(rest) && !header::is_internet_explorer(rest);
        let is_linked = || !header::names_a_browser(rest) || self.link().is_some_and(follows);
        !self.has_compatible_word() && (self.own_link().is_some_and(follows) || is_free() && is_linked())
    }

    pub(super) fn product_shaped(&self, weak: Option<SignHit>, trace: &mut impl Trace) -> Classification {
        let handheld = self.first(Mark::Handhelds).filter(|_| self.first(Mark::DeviceMarks).is_none());
        if let Some(mark) = self.app().or(handheld) {
            trace.note(|| format!("`{}` is the mark of an app", self.quote(mark)));
            return shape(ClientKind::App);
        }
        // Phones send the address of their maker's page, and of the page that describes them.
        let in_comment = |link: SignHit| header::opens_comment(self.header, link);
        let is_crawlers = || self.own_link().is_some() || self.link().is_some_and(in_comment);
        let is_ahead = |mark: &SignHit| !header::before(self.header, mark.start).contains(&b'(');
        let is_persons = |mark: &SignHit| self.own_link().is_none() && is_ahead(mark) || !is_crawlers();
        let device = self.first(Mark::DeviceMarks).filter(is_persons);
        if let Some(mark) = device.or_else(|| self.first(Mark::WholeGuards)) {
            trace.note(|| format!("`{}` is the mark of a person's device", self.quote(mark)));
            return shape(ClientKind::Browser);
        }
        if let Some(hit) = weak {
            return self.by_word(hit);
        }
        if let Some(link) = self.link() {
            trace.note(|| "an unknown product with a link or an address".into());
            // Proxies in front of people, and those who advertise, send a link in the place of a product.
            let is_all = header::segment_range(self.header, link).start == 0 && link.mark != Mark::Mail;
            let is_named = !is_all || self.own_link().is_some();
            let client = if is_named { ClientKind::Crawler } else { ClientKind::Tool };
            return Kind(client, self.neighbour(), Basis::Sign);
        }
        if let Some(mark) = self.first(Mark::Desktops) {
            trace.note(|| format!("an unknown product on `{}`, a person's system", self.quote(mark)));
            return shape(ClientKind::App);
        }
        if header::names_a_program(self.header) {
            trace.note(|| "an unknown product that names no platform of people".into());
            return Kind(ClientKind::Tool, header::name_from(self.header, 0), Basis::Structure);
        }
        trace.note(|| "free text: says nothing about its sender".into());
        shape(ClientKind::Unnamed)
    }

    /// A link or mail address that no guard cancels.
    pub(super) fn link(&self) -> Option<SignHit> {
        if self.first(Mark::WholeGuards).is_some() {
            return None;
        }
        let counts = |hit: &SignHit| {
            (hit.mark == Mark::Link || header::is_mail_address(self.header, hit.start))
                && !self.is_among_models(*hit)
                && !self.is_bare_host_of_browser(*hit)
        };
        self.found.all(&[Mark::Link, Mark::Mail]).filter(counts).min_by_key(|hit| hit.start)
    }

    /// A host name outside the names of models.
    fn host(&self) -> Option<SignHit> {
        let counts = |hit: &SignHit| header::is_host_name(self.header, *hit) && !self.is_among_models(*hit);
        self.found.all(&[Mark::Host]).find(counts).filter(|_| self.first(Mark::WholeGuards).is_none())
    }

    /// The name next to a link: what stands after `compatible;`, or what opens
    /// the header, or nothing.
    fn neighbour(&self) -> Option<Arc<str>> {
        if let Some(hit) = self.first(Mark::CompatibleTail) {
            return (!self.has_compatible_word()).then(|| header::name_from(self.header, hit.end)).flatten();
        }
        (!header::opens_as_browser(self.header)).then(|| header::name_from(self.header, 0)).flatten()
    }
}

/// A kind that the shape alone gives: nobody is named.
pub(super) fn shape(client: ClientKind) -> Classification {
    Kind(client, None, Basis::Shape)
}

/// What a browser's header says it is, for a person to read. Each of these has the words of those below it.
pub fn browser_family(user_agent: &[u8]) -> &'static str {
    const FAMILIES: [(&str, &str); 6] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    let has = |word: &str| memchr::memmem::find(user_agent, word.as_bytes()).is_some();
    FAMILIES.iter().find(|(word, _)| has(word)).map_or("a browser", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::super::classify::NoTrace;
    use super::super::scan::Scanner;
    use super::super::words::{RecognitionData, Words};
    use super::*;

    fn kind(header: &str) -> (ClientKind, Option<String>) {
        let words = Words::default()
            .with(Mark::ToolSigns, &["*probe"])
            .with(Mark::AppMarks, &["CFNetwork/"])
            .with(Mark::DeviceMarks, &["MIDP"])
            .with(Mark::Handhelds, &["Android", "iPhone"])
            .with(Mark::Desktops, &["Windows"])
            .with(Mark::Platforms, &["Linux"])
            .with(Mark::Engines, &["Gecko/", "*KHTML", "*MSIE*"])
            .with(Mark::Compatible, &["MSIE"]);
        let knowledge = RecognitionData { words, ..RecognitionData::default() };
        let scanner = Scanner::new(&knowledge).unwrap();
        match Rules::new(&knowledge, &scanner, header.as_bytes()).classify(&mut NoTrace) {
            Kind(client, name, _) => (client, name.as_deref().map(str::to_owned)),
            Classification::Entry(_) => unreachable!("there is no entry"),
        }
    }

    #[test]
    fn headers_of_a_browsers_shape() {
        for (header, client) in [
            ("Mozilla/5.0 (Linux) Gecko/1", ClientKind::Browser),
            ("5.0 (Windows) Gecko/1 Foo/1", ClientKind::Browser),
            ("Mozilla/4.0 (compatible; MSIE 6.0)", ClientKind::Browser),
            ("Mozilla/4.0 (compatible; MIDP; Foo)", ClientKind::Browser),
            ("Mozilla/5.0 (iPhone) x-probe/1", ClientKind::Browser),
            ("Mozilla/5.0 (iPhone) CFNetwork/1 http://x.org", ClientKind::App),
            ("Mozilla/5.0 (Windows) x-probe/1", ClientKind::Tool),
            ("Mozilla/5.0 (Windows) http://x.org", ClientKind::Crawler),
            ("Mozilla/5.0 (Windows) x.org", ClientKind::Crawler),
            ("Mozilla/5.0 (Windows) me@x.org", ClientKind::Crawler),
            ("Mozilla/5.0 (Windows) Gecko/1 Foo (https://x.org)", ClientKind::Tool),
            ("Mozilla/5.0 (Windows) Gecko/1 me@x.org", ClientKind::Tool),
            ("Mozilla/5.0 (iPhone) Gecko/1 Foo (https://x.org)", ClientKind::Browser),
            ("Mozilla/5.0 (iPhone) Gecko/1 Foo (+https://x.org)", ClientKind::Tool),
            ("Foo/1.0 Mozilla/5.0 (Windows) Gecko/1", ClientKind::Tool),
            ("Mozilla/5.0 (compatible; Foo) Gecko/1", ClientKind::Tool),
            ("Mozilla/5.0 (compatible; Foo; Windows NT 6.1) Gecko/1", ClientKind::Browser),
            ("Mozilla/5.0 (compatible; Foo; MSIE 9.0; Windows)", ClientKind::Browser),
            ("Mozilla/4.0 (compatible; MSIE 6.0; Windows; http://x.org)", ClientKind::Browser),
            ("Mozilla/5.0 (Linux; compatible; zh-cn; Foo)", ClientKind::Browser),
            ("Mozilla/5.0 (Linux; Android 4; http://x.org) Gecko/1", ClientKind::Browser),
            ("Mozilla/5.0 (Linux; Android 4; Foo; +http://x.org) Gecko/1", ClientKind::Tool),
            ("Mozilla/5.0 (Windows; com.example.io) Gecko/1", ClientKind::Browser),
            ("Mozilla/5.0", ClientKind::Tool),
            ("Mozilla/5.0 Gecko/1 Foo/1", ClientKind::Tool),
            ("Mozilla/4.0 (compatible;)", ClientKind::Unnamed),
            ("Mozilla/4.0 (compatible; Zork/1.0)", ClientKind::Tool),
            ("Mozilla/4.0 (compatible; Zork/1.0; http://x.org)", ClientKind::Crawler),
            ("Mozilla/5.0 (Trident/7.0; Linux) like Gecko; Zork)", ClientKind::Browser),
        ] {
            assert_eq!(kind(header).0, client, "{header}");
        }
    }

    #[test]
    fn strangers_give_their_name() {
        for header in [
            "Mozilla/5.0 (compatible; Zork/1.0; Windows)",
            "Mozilla/5.0 (KHTML, like Gecko; Zork)",
            "Mozilla/5.0 (iPhone) x (compatible;Zork)",
            "NOKIA MIDP (compatible; Zork; +http://x.org)",
            "Zork (me@x.org)",
        ] {
            assert_eq!(kind(header), (ClientKind::Crawler, Some("Zork".into())), "{header}");
        }
    }

    #[test]
    fn headers_of_a_products_shape() {
        for (header, client) in [
            ("Zork/1 CFNetwork/1", ClientKind::App),
            ("Zork/1 (Android 9) http://x.org", ClientKind::App),
            ("Zork/1 (Windows)", ClientKind::App),
            ("Zork/1 (Windows; http://x.org)", ClientKind::Crawler),
            ("Zork MIDP", ClientKind::Browser),
            ("Zork MIDP x-wap-profile http://x.org", ClientKind::Browser),
            ("Zork MIDP (+http://x.org)", ClientKind::Crawler),
            ("zork-probe", ClientKind::Tool),
            ("Zork/1", ClientKind::Tool),
            ("\u{441}\u{43b}\u{43e}\u{432}\u{43e}", ClientKind::Unnamed),
        ] {
            assert_eq!(kind(header).0, client, "{header}");
        }
    }
}
