//! What a pass over a header finds, by kind. Fixed places, no allocation.

use arrayvec::ArrayVec;

/// What a sign stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignMeaning {
    /// The entry of this index in the catalogue.
    Named(u32),
    CrawlerSign,
    ToolSign,
    Guard,
    WholeGuard,
    App,
    Device,
    Handheld,
    Desktop,
    Engine,
    Platform,
    /// `Mozilla/`
    Mozilla,
    /// `.com`, `.org`, …
    Host,
    /// `://` or `www.`
    Link,
    /// `@`
    Mail,
    /// `compatible;`
    Compatible,
    /// `like Gecko;`
    GeckoTail,
    /// A word that makes its comment a list of phone or TV models.
    Model,
    /// `(Macintosh;`
    Macintosh,
}

/// Where a sign was found. Small, because a pass fills dozens of places; a
/// header of at most 4,097 bytes fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SignHit {
    sign: u32,
    start: u16,
    end: u16,
}

impl SignHit {
    #[inline]
    pub(super) fn new(sign: usize, start: usize, end: usize) -> Self {
        let narrow = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Self { sign: u32::try_from(sign).unwrap_or(u32::MAX), start: narrow(start), end: narrow(end) }
    }

    /// The index of the sign.
    #[inline]
    pub(super) fn sign(self) -> usize {
        self.sign as usize
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        usize::from(self.start)
    }

    #[inline]
    pub(super) fn end(self) -> usize {
        usize::from(self.end)
    }

    /// The same hit in a text that stands at `offset` of the header.
    pub(super) fn shifted(self, offset: usize) -> Self {
        Self::new(self.sign(), self.start() + offset, self.end() + offset)
    }
}

/// The first `N` hits of one kind; later ones are dropped, so a header stuffed
/// with signs costs no memory.
type Hits<const N: usize> = ArrayVec<SignHit, N>;

/// All finds of one pass.
#[derive(Debug, Default)]
pub(super) struct SignFinds {
    pub(super) named: Hits<8>,
    pub(super) signs: Hits<8>,
    pub(super) guards: Hits<4>,
    pub(super) links: Hits<3>,
    pub(super) mails: Hits<3>,
    pub(super) hosts: Hits<3>,
    pub(super) whole_guard: Option<SignHit>,
    pub(super) app: Option<SignHit>,
    pub(super) device: Option<SignHit>,
    pub(super) handheld: Option<SignHit>,
    pub(super) desktop: Option<SignHit>,
    pub(super) engine: Option<SignHit>,
    pub(super) platform: Option<SignHit>,
    pub(super) mozilla: Option<SignHit>,
    pub(super) compatible: Option<SignHit>,
    pub(super) gecko_tail: Option<SignHit>,
    pub(super) model: Option<SignHit>,
    pub(super) macintosh: Option<SignHit>,
}

impl SignFinds {
    /// The place of a mark, for those of which the first one says it all.
    #[inline]
    pub(super) fn mark(&mut self, meaning: SignMeaning) -> Option<&mut Option<SignHit>> {
        Some(match meaning {
            SignMeaning::WholeGuard => &mut self.whole_guard,
            SignMeaning::App => &mut self.app,
            SignMeaning::Device => &mut self.device,
            SignMeaning::Handheld => &mut self.handheld,
            SignMeaning::Desktop => &mut self.desktop,
            SignMeaning::Engine => &mut self.engine,
            SignMeaning::Platform => &mut self.platform,
            SignMeaning::Mozilla => &mut self.mozilla,
            SignMeaning::Compatible => &mut self.compatible,
            SignMeaning::GeckoTail => &mut self.gecko_tail,
            SignMeaning::Model => &mut self.model,
            SignMeaning::Macintosh => &mut self.macintosh,
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn record(&mut self, meaning: SignMeaning, hit: SignHit) {
        match meaning {
            SignMeaning::Named(_) => self.named.try_push(hit).is_ok(),
            SignMeaning::CrawlerSign | SignMeaning::ToolSign => self.signs.try_push(hit).is_ok(),
            SignMeaning::Guard => self.guards.try_push(hit).is_ok(),
            SignMeaning::Link => self.links.try_push(hit).is_ok(),
            SignMeaning::Mail => self.mails.try_push(hit).is_ok(),
            SignMeaning::Host => self.hosts.try_push(hit).is_ok(),
            mark => self.mark(mark).is_some_and(|place| place.replace(hit).is_none()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded() {
        let mut found = SignFinds::default();
        (0..9).for_each(|at| found.record(SignMeaning::Named(0), SignHit::new(at, at, at + 1)));
        assert_eq!((found.named.len(), found.named.last()), (8, Some(&SignHit::new(7, 7, 8))));
        assert_eq!(SignHit::new(1, 2, 3).shifted(10), SignHit::new(1, 12, 13));
    }

    #[test]
    fn kinds_go_to_their_places() {
        let mut found = SignFinds::default();
        found.record(SignMeaning::Named(7), SignHit::new(1, 0, 1));
        found.record(SignMeaning::Engine, SignHit::new(2, 0, 1));
        assert_eq!((found.named.as_slice().len(), found.engine), (1, Some(SignHit::new(2, 0, 1))));
        assert!(
            found.mark(SignMeaning::Engine).unwrap().is_some() && found.mark(SignMeaning::Link).is_none()
        );
    }
}
