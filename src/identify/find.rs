//! What a pass over a header finds, by kind. Fixed places, no allocation.

/// What a sign stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
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
pub(super) struct Hit {
    sign: u32,
    start: u16,
    end: u16,
}

impl Hit {
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Hits<const N: usize> {
    hits: [Hit; N],
    len: usize,
}

impl<const N: usize> Default for Hits<N> {
    fn default() -> Self {
        Self { hits: [Hit::default(); N], len: 0 }
    }
}

impl<const N: usize> Hits<N> {
    /// Keeps the hit, and says whether there was room.
    #[inline]
    pub(super) fn push(&mut self, hit: Hit) -> bool {
        let free = self.hits.get_mut(self.len);
        let room = free.is_some();
        if let Some(free) = free {
            *free = hit;
            self.len += 1;
        }
        room
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[Hit] {
        self.hits.get(..self.len).unwrap_or_default()
    }
}

/// All finds of one pass.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) named: Hits<8>,
    pub(super) signs: Hits<8>,
    pub(super) guards: Hits<4>,
    pub(super) links: Hits<3>,
    pub(super) mails: Hits<3>,
    pub(super) hosts: Hits<3>,
    pub(super) whole_guard: Option<Hit>,
    pub(super) app: Option<Hit>,
    pub(super) device: Option<Hit>,
    pub(super) handheld: Option<Hit>,
    pub(super) desktop: Option<Hit>,
    pub(super) engine: Option<Hit>,
    pub(super) platform: Option<Hit>,
    pub(super) mozilla: Option<Hit>,
    pub(super) compatible: Option<Hit>,
    pub(super) gecko_tail: Option<Hit>,
    pub(super) model: Option<Hit>,
    pub(super) macintosh: Option<Hit>,
}

impl Found {
    /// The place of a mark, for those of which the first one says it all.
    #[inline]
    pub(super) fn mark(&mut self, meaning: Meaning) -> Option<&mut Option<Hit>> {
        Some(match meaning {
            Meaning::WholeGuard => &mut self.whole_guard,
            Meaning::App => &mut self.app,
            Meaning::Device => &mut self.device,
            Meaning::Handheld => &mut self.handheld,
            Meaning::Desktop => &mut self.desktop,
            Meaning::Engine => &mut self.engine,
            Meaning::Platform => &mut self.platform,
            Meaning::Mozilla => &mut self.mozilla,
            Meaning::Compatible => &mut self.compatible,
            Meaning::GeckoTail => &mut self.gecko_tail,
            Meaning::Model => &mut self.model,
            Meaning::Macintosh => &mut self.macintosh,
            Meaning::Named(_)
            | Meaning::CrawlerSign
            | Meaning::ToolSign
            | Meaning::Guard
            | Meaning::Link
            | Meaning::Mail
            | Meaning::Host => return None,
        })
    }

    #[inline]
    pub(super) fn record(&mut self, meaning: Meaning, hit: Hit) {
        match meaning {
            Meaning::Named(_) => self.named.push(hit),
            Meaning::CrawlerSign | Meaning::ToolSign => self.signs.push(hit),
            Meaning::Guard => self.guards.push(hit),
            Meaning::Link => self.links.push(hit),
            Meaning::Mail => self.mails.push(hit),
            Meaning::Host => self.hosts.push(hit),
            mark => self.mark(mark).is_some_and(|place| place.replace(hit).is_none()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded() {
        let mut hits = Hits::<2>::default();
        let kept: Vec<bool> = (0..3).map(|i| hits.push(Hit::new(i, i, i + 1))).collect();
        assert_eq!((kept, hits.as_slice().len()), (vec![true, true, false], 2));
        assert_eq!(Hit::new(1, 2, 3).shifted(10), Hit::new(1, 12, 13));
    }

    #[test]
    fn kinds_go_to_their_places() {
        let mut found = Found::default();
        found.record(Meaning::Named(7), Hit::new(1, 0, 1));
        found.record(Meaning::Engine, Hit::new(2, 0, 1));
        assert_eq!((found.named.as_slice().len(), found.engine), (1, Some(Hit::new(2, 0, 1))));
        assert!(found.mark(Meaning::Engine).unwrap().is_some() && found.mark(Meaning::Link).is_none());
    }
}
