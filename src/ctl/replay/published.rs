//! Whether a log shows that the very file which is judged by was being served.
//!
//! Rules that nobody had published convict nobody. A log does not hold the file, but it holds the size of each answer to
//! `GET /robots.txt`. An equal size is evidence of an equal file, and another size shows that there was another file.
//! Smaller answers may be the same file compressed (RFC 9110 §8.4.1): they show nothing either way, if they are about as
//! small as this file becomes and came among answers of its full size. An answer 304 has no size.
//!
//! What was seen holds from the first answer of this size on, and for 24 hours after the last: so long a copy of it may
//! be used (RFC 9309 §2.4). An answer of another size anywhere in the log undoes it for the whole of the log, because
//! nobody knows when the one file took the place of the other.

use super::sites::Sites;
use crate::ctl::access_log::LogEntry;
use crate::record::SeenInstants;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::RangeInclusive;

/// How long a copy may be used, in microseconds (RFC 9309 §2.4).
const CACHED_FOR: i64 = 24 * 3_600 * 1_000_000;

/// How many sizes of compressed answers are told apart. One file has as many as the server knows codings.
const MOST_SIZES: usize = 8;

/// What an answer to `GET /robots.txt` says of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoggedFile {
    /// It has the size of this file.
    This,
    /// It may be this file: not changed since (304), compressed, or of a size that the log does not tell.
    Perhaps,
    /// It was another file, or not the whole of it.
    Other,
}

/// The file of one site.
#[derive(Clone, Debug)]
struct SiteFile {
    size: u64,
    /// The sizes that it may have when compressed; none where that makes it no smaller.
    packed: Option<RangeInclusive<u64>>,
}

/// The files of all sites, and whether the operator vouches for them.
#[derive(Clone, Debug)]
pub(super) struct ReplayFiles {
    all: Vec<Option<SiteFile>>,
    pub(super) is_vouched: bool,
}

impl SiteFile {
    fn of(bytes: &[u8]) -> Self {
        let size = bytes.len() as u64;
        let (best, fast) = (packed(bytes, Compression::best()), packed(bytes, Compression::fast()));
        // Other programs and other codings make it a little larger or smaller.
        let likely = best * 3 / 4..=(fast * 5 / 4).min(size.saturating_sub(1));
        Self { size, packed: (best < size).then_some(likely) }
    }

    fn classify(&self, entry: &LogEntry<'_>) -> LoggedFile {
        match (entry.status, entry.size, entry.is_encoded) {
            (Some(304), ..) | (_, None, _) | (_, _, Some(true)) => LoggedFile::Perhaps,
            (_, Some(size), _) if size == self.size => LoggedFile::This,
            (_, Some(size), None) if self.packed.as_ref().is_some_and(|packed| packed.contains(&size)) => {
                LoggedFile::Perhaps
            }
            _ => LoggedFile::Other,
        }
    }
}

/// The size of a file as gzip.
fn packed(bytes: &[u8], level: Compression) -> u64 {
    let mut gzip = GzEncoder::new(Vec::new(), level);
    // Writing to memory cannot fail.
    gzip.write_all(bytes).and_then(|()| gzip.finish()).map_or(u64::MAX / 8, |packed| packed.len() as u64)
}

impl ReplayFiles {
    pub(super) fn of(sites: &Sites, is_vouched: bool) -> Self {
        let all = sites.all.iter().map(|site| site.robots.as_ref().map(|file| SiteFile::of(&file.bytes)));
        Self { all: all.collect(), is_vouched }
    }

    /// What an answer says of a site's file.
    pub(super) fn answered(&self, site: usize, entry: &LogEntry<'_>) -> LoggedFile {
        let file = self.all.get(site).and_then(Option::as_ref);
        file.map_or(LoggedFile::Other, |file| file.classify(entry))
    }

    /// Whether a fetch that was answered so counts as a read of the site's file. Where the operator says that it was
    /// published all the time, what may be this file is.
    pub(super) fn is_read(&self, answered: LoggedFile) -> bool {
        answered == LoggedFile::This || (self.is_vouched && answered == LoggedFile::Perhaps)
    }

    /// The size of a site's file.
    pub(super) fn size(&self, site: usize) -> Option<u64> {
        Some(self.all.get(site)?.as_ref()?.size)
    }
}

/// All complete answers to `GET /robots.txt` at one site.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    /// Those of the file's size.
    pub(super) this: Option<SeenInstants>,
    /// Those that may be it compressed, by size.
    packed: BTreeMap<u64, SeenInstants>,
    /// Those that say nothing.
    silent: u64,
    /// Those of another size, and the size of one of them.
    other: Option<SeenInstants>,
    other_size: Option<u64>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedAnswer {
    pub(super) site: usize,
    pub(super) at: i64,
    pub(super) answered: LoggedFile,
    /// Its size, where that is what was gone by.
    pub(super) size: Option<u64>,
}

impl Answers {
    pub(super) fn add(&mut self, answer: LoggedAnswer) {
        let (seen, size) = (SeenInstants::once(answer.at), answer.size);
        match (answer.answered, size) {
            (LoggedFile::This, _) => seen.add_to(&mut self.this),
            (LoggedFile::Perhaps, Some(size))
                if self.packed.len() < MOST_SIZES || self.packed.contains_key(&size) =>
            {
                self.packed.entry(size).and_modify(|known| known.add(seen)).or_insert(seen);
            }
            (LoggedFile::Perhaps, None) => self.silent += 1,
            (LoggedFile::Perhaps | LoggedFile::Other, _) => {
                seen.add_to(&mut self.other);
                self.other_size.get_or_insert_with(|| size.unwrap_or_default());
            }
        }
    }

    /// Those of another file: how many, when the last came, and the size of one. A size that did not come among answers
    /// of the full size is another file's, whatever this one may be compressed to.
    pub(super) fn others(&self) -> Option<(SeenInstants, u64)> {
        let is_apart = |seen: &SeenInstants| {
            self.this.is_none_or(|this| seen.last < this.first || seen.first > this.last)
        };
        let apart = self.packed.iter().filter(|(_, seen)| is_apart(seen)).map(|(size, seen)| (*seen, *size));
        self.other.zip(self.other_size).into_iter().chain(apart).reduce(|(mut all, size), (seen, _)| {
            all.add(seen);
            (all, size)
        })
    }

    /// Those that say nothing: without a size, or compressed.
    pub(super) fn unclear(&self) -> u64 {
        let packed =
            if self.others().is_none() { self.packed.values().map(|seen| seen.count).sum() } else { 0 };
        self.silent + packed
    }

    /// From when until when the file is shown to have been served; `None` where that is not shown.
    pub(super) fn shown(&self) -> Option<(i64, i64)> {
        let this = self.this.filter(|_| self.others().is_none())?;
        Some((this.first, this.last.saturating_add(CACHED_FOR)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctl::access_log::LoggedUserAgent;

    fn entry(status: u16, size: Option<u64>, is_encoded: Option<bool>) -> LogEntry<'static> {
        let (host, address, request, agent) = (None, None, None, LoggedUserAgent::Absent);
        LogEntry { host, address, at: 0, request, status: Some(status), size, is_encoded, agent }
    }

    #[test]
    fn a_size_shows_this_file_or_another() {
        let small = SiteFile::of(b"User-agent: *\nDisallow: /private\n");
        let size = small.size;
        let told = |status, size, encoded| small.classify(&entry(status, size, encoded));
        assert_eq!(told(200, Some(size), None), LoggedFile::This);
        for other in [0, size / 2, size - 1, size + 1, 5 * size] {
            assert_eq!(told(200, Some(other), None), LoggedFile::Other, "{other}: it cannot be made smaller");
        }
        assert_eq!(told(200, None, None), LoggedFile::Perhaps);
        assert_eq!(told(304, Some(0), None), LoggedFile::Perhaps);
        assert_eq!(told(200, Some(size + 9), Some(true)), LoggedFile::Perhaps, "compressed, says the log");
    }

    #[test]
    fn what_may_be_compressed_is_set_aside() {
        let rules: Vec<String> = (0..100).map(|number| format!("Disallow: /private/{number}")).collect();
        let large = SiteFile::of(format!("User-agent: *\n{}\n", rules.join("\n")).as_bytes());
        let packed = large.packed.clone().unwrap();
        assert!(*packed.end() < large.size / 2, "{large:?}");
        let told = |size, encoded| large.classify(&entry(200, Some(size), encoded));
        assert_eq!(told(packed.end() - 1, None), LoggedFile::Perhaps);
        assert_eq!(told(packed.end() - 1, Some(false)), LoggedFile::Other, "not compressed, says the log");
        assert_eq!(told(packed.end() + 1, None), LoggedFile::Other);
    }

    fn answers(list: &[(i64, LoggedFile, Option<u64>)]) -> Answers {
        let mut answers = Answers::default();
        for (at, answered, size) in list {
            answers.add(LoggedAnswer { site: 0, at: *at, answered: *answered, size: *size });
        }
        answers
    }

    #[test]
    fn several_sizes_are_several_files() {
        use LoggedFile::{Other, Perhaps, This};
        assert_eq!(answers(&[]).shown(), None);
        assert_eq!(answers(&[(5, This, None), (9, This, None)]).shown(), Some((5, 9 + CACHED_FOR)));
        for list in [
            [(1, Other, Some(9)), (5, This, None), (9, This, None)],
            [(1, This, None), (5, Other, Some(9)), (9, This, None)],
            [(1, This, None), (5, This, None), (9, Other, Some(9))],
            // Smaller ones first or last are an older or a newer file.
            [(1, Perhaps, Some(9)), (5, This, None), (9, This, None)],
            [(1, This, None), (5, This, None), (9, Perhaps, Some(9))],
        ] {
            assert_eq!(answers(&list).shown(), None, "{list:?}");
            assert_eq!(answers(&list).others().map(|(seen, size)| (seen.count, size)), Some((1, 9)));
        }
        let among = answers(&[(1, This, None), (5, Perhaps, Some(9)), (7, Perhaps, None), (9, This, None)]);
        assert_eq!((among.shown(), among.unclear()), (Some((1, 9 + CACHED_FOR)), 2));
        assert_eq!(answers(&[(5, Perhaps, None)]).shown(), None, "304 alone shows nothing");
    }

    #[test]
    fn sizes_without_end_are_bounded_and_several_files() {
        let mut list = vec![(0, LoggedFile::This, None)];
        list.extend((1..1_000_u32).map(|size| (i64::from(size), LoggedFile::Perhaps, Some(u64::from(size)))));
        list.push((1_000, LoggedFile::This, None));
        let answers = answers(&list);
        assert_eq!(answers.packed.len(), MOST_SIZES);
        assert_eq!(answers.shown(), None);
    }
}
