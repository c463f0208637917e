//! The rules for headers that name nobody: what their shape says.
//!
//! What could be a person's browser or app is one, unless something stands in it
//! that only crawlers write. Not here: names and generic words (`classify`).

use super::classify::{Classification, Rules, Trace};
use super::find::SignHit;
use super::header;
use super::identity::{Basis, ClientKind};
use std::sync::Arc;

impl Rules<'_> {
    /// Whether the header has a browser's shape: opens as one, holds one, or
    /// names an engine.
    pub(super) fn is_browser_shaped(&self) -> bool {
        self.found.mozilla.is_some() || self.found.engine.is_some() || header::opens_as_browser(self.header)
    }

    pub(super) fn browser_shaped(&self, weak: Option<SignHit>, trace: &mut impl Trace) -> Classification {
        if let Some(outcome) = self.stranger(trace) {
            return outcome;
        }
        let found = self.found;
        if let Some(mark) = found.app {
            trace.note(|| format!("`{}` is the mark of an app", self.quote(mark)));
            return shape(ClientKind::App);
        }
        // Apps add their names to the header of a phone's browser.
        if let Some(hit) = weak.filter(|_| found.handheld.or(found.device).is_none()) {
            return self.by_sign(hit);
        }
        let path = |hit: &SignHit| header::has_path(self.header, *hit);
        let host = || self.host().filter(|hit| path(hit) || !self.is_full_desktop());
        let link = self.link().or_else(host).filter(|_| found.device.is_none());
        if link.is_some() {
            trace.note(|| "people's browsers send no link and no address".into());
            return Classification::Kind(ClientKind::Crawler, self.neighbour(), Basis::Sign);
        }
        self.platform_or_tool(trace)
    }

    fn platform_or_tool(&self, trace: &mut impl Trace) -> Classification {
        let found = self.found;
        let system = found.handheld.or(found.desktop).or(found.platform).or(found.device);
        let bare = found.mozilla.is_some() && memchr::memchr2(b'(', b';', self.header).is_none();
        let word = found.compatible.filter(|_| self.has_compatible_word());
        let engine = found.engine.filter(|_| !bare);
        if let Some(mark) = system.or(engine).or(word).or(found.whole_guard) {
            trace
                .note(|| format!("a browser's shape, and `{}` is a platform or an engine", self.quote(mark)));
            return shape(ClientKind::Browser);
        }
        if found
            .compatible
            .is_some_and(|hit| header::is_blank(self.header.get(hit.end()..).unwrap_or_default()))
        {
            trace.note(|| {
                "a header stripped to `compatible;`, as proxies in front of people and crawlers send it"
                    .into()
            });
            return shape(ClientKind::Unnamed);
        }
        trace.note(|| "a browser's shape, but no platform".into());
        Classification::Kind(ClientKind::Tool, None, Basis::Structure)
    }

    /// What stands where only crawlers put their name: after `compatible;`,
    /// unless browsers put it there, or after `like Gecko;`.
    fn stranger(&self, trace: &mut impl Trace) -> Option<Classification> {
        let found = self.found;
        let opening = found.handheld.filter(|mark| mark.start() == 0);
        let person = self.has_compatible_word() || found.device.or(found.app).or(opening).is_some();
        let compatible = found.compatible.filter(|hit| !person || self.has_own_link(*hit));
        let tail = found.gecko_tail.filter(|_| found.device.is_none());
        for hit in [compatible, tail].into_iter().flatten() {
            let field = header::field_from(self.header, hit.end());
            if !header::is_blank(field) && found.whole_guard.is_none() {
                trace.note(|| {
                    format!("`{}` stands where crawlers put their name", String::from_utf8_lossy(field))
                });
                let name = header::name_from(self.header, hit.end());
                return Some(Classification::Kind(ClientKind::Crawler, name, Basis::Structure));
            }
        }
        None
    }

    /// Whether a `+http` link follows: the custom of crawlers, and of nobody else.
    fn has_own_link(&self, compatible: SignHit) -> bool {
        let own = |link: &SignHit| link.start() > compatible.end() && header::is_own_link(self.header, *link);
        !self.has_compatible_word() && self.found.links.as_slice().iter().any(own)
    }

    pub(super) fn product_shaped(&self, weak: Option<SignHit>, trace: &mut impl Trace) -> Classification {
        let found = self.found;
        if let Some(outcome) = self.stranger(trace) {
            return outcome;
        }
        let handheld = found.handheld.filter(|_| found.device.is_none());
        if let Some(mark) = found.app.or(handheld) {
            trace.note(|| format!("`{}` is the mark of an app", self.quote(mark)));
            return shape(ClientKind::App);
        }
        // Phones that send the address of their maker's page open with it.
        let opening = |link: SignHit| link.start() < "https://".len();
        let device = found.device.filter(|_| self.link().is_none_or(opening));
        if let Some(mark) = device.or(found.whole_guard) {
            trace.note(|| format!("`{}` is the mark of a person's device", self.quote(mark)));
            return shape(ClientKind::Browser);
        }
        if let Some(hit) = weak {
            return self.by_sign(hit);
        }
        if self.link().is_some() {
            trace.note(|| "an unknown product with a link or an address".into());
            return Classification::Kind(ClientKind::Crawler, self.neighbour(), Basis::Sign);
        }
        if let Some(mark) = found.desktop {
            trace.note(|| format!("an unknown product on `{}`, a person's system", self.quote(mark)));
            return shape(ClientKind::App);
        }
        if header::names_a_program(self.header) {
            trace.note(|| "an unknown product that names no platform of people".into());
            return Classification::Kind(
                ClientKind::Tool,
                header::name_from(self.header, 0),
                Basis::Structure,
            );
        }
        trace.note(|| "free text: says nothing about its sender".into());
        shape(ClientKind::Unnamed)
    }

    /// A link or mail address that no guard cancels.
    pub(super) fn link(&self) -> Option<SignHit> {
        if self.found.whole_guard.is_some() {
            return None;
        }
        let mail = |hit: &&SignHit| header::is_mail_address(self.header, hit.start());
        let links = self.found.links.as_slice().iter();
        links
            .chain(self.found.mails.as_slice().iter().filter(mail))
            .filter(|hit| !self.is_among_models(**hit) && !self.is_bare_host_of_browser(**hit))
            .min_by_key(|hit| hit.start())
            .copied()
    }

    /// A host name outside the names of models.
    fn host(&self) -> Option<SignHit> {
        let counts =
            |hit: &&SignHit| header::is_host_name(self.header, **hit) && !self.is_among_models(**hit);
        self.found.hosts.as_slice().iter().find(counts).filter(|_| self.found.whole_guard.is_none()).copied()
    }

    /// The name next to a link: what stands after `compatible;`, or what opens
    /// the header, or nothing.
    fn neighbour(&self) -> Option<Arc<str>> {
        if let Some(hit) = self.found.compatible {
            return (!self.has_compatible_word())
                .then(|| header::name_from(self.header, hit.end()))
                .flatten();
        }
        (!header::opens_as_browser(self.header)).then(|| header::name_from(self.header, 0)).flatten()
    }
}

/// A kind that the shape alone gives: nobody is named.
pub(super) fn shape(client: ClientKind) -> Classification {
    Classification::Kind(client, None, Basis::Shape)
}

#[cfg(test)]
mod tests {
    use super::super::classify::NoTrace;
    use super::super::scan::Scanner;
    use super::super::sign::Sign;
    use super::super::words::{RecognitionData, Words};
    use super::*;

    fn kind(header: &str) -> (ClientKind, Option<String>) {
        let list = |words: &[&str]| words.iter().map(|written| Sign::parse(written).unwrap()).collect();
        let words = Words {
            tool_signs: list(&["*probe"]),
            app_marks: list(&["CFNetwork/"]),
            device_marks: list(&["MIDP"]),
            handhelds: list(&["Android", "iPhone"]),
            desktops: list(&["Windows"]),
            platforms: list(&["Linux"]),
            engines: list(&["Gecko/", "*KHTML"]),
            compatible: list(&["MSIE"]),
            ..Words::default()
        };
        let knowledge = RecognitionData { words, ..RecognitionData::default() };
        let scanner = Scanner::new(&knowledge).unwrap();
        let found = scanner.scan(header.as_bytes());
        match Rules::new(&knowledge, &scanner, header.as_bytes(), &found).classify(&mut NoTrace) {
            Classification::Kind(client, name, _) => (client, name.as_deref().map(str::to_owned)),
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
            ("Mozilla/5.0 (Linux; Android 4; http://x.org) Gecko/1", ClientKind::Browser),
            ("Mozilla/5.0 (Windows; com.example.io) Gecko/1", ClientKind::Browser),
            ("Mozilla/5.0", ClientKind::Tool),
            ("Mozilla/5.0 Gecko/1 Foo/1", ClientKind::Tool),
            ("Mozilla/4.0 (compatible;)", ClientKind::Unnamed),
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
        assert_eq!(kind("Mozilla/4.0 (compatible; MSIE 6.0; http://x.org)"), (ClientKind::Crawler, None));
    }

    #[test]
    fn headers_of_a_products_shape() {
        for (header, client) in [
            ("Zork/1 CFNetwork/1", ClientKind::App),
            ("Zork/1 (Android 9) http://x.org", ClientKind::App),
            ("Zork/1 (Windows)", ClientKind::App),
            ("Zork/1 (Windows; http://x.org)", ClientKind::Crawler),
            ("Zork MIDP", ClientKind::Browser),
            ("zork-probe", ClientKind::Tool),
            ("Zork/1", ClientKind::Tool),
            ("\u{441}\u{43b}\u{43e}\u{432}\u{43e}", ClientKind::Unnamed),
        ] {
            assert_eq!(kind(header).0, client, "{header}");
        }
    }
}
