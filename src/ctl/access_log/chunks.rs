//! A log in pieces of whole lines, in bounded memory whatever its lines are like.

use super::LogSource;
use memchr::memrchr;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How much is judged at a time.
const CHUNK: usize = 1 << 20;

/// Longer lines are no requests: servers take some tens of kilobytes of a request's head.
const LONGEST_LINE: usize = 1 << 17;

/// How often a log that may grow is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Some lines of a log, the last perhaps without its end.
#[derive(Debug, Default)]
pub(in crate::ctl) struct Chunk {
    pub(in crate::ctl) bytes: Vec<u8>,
    /// Which of the logs.
    pub(in crate::ctl) log: usize,
    /// Lines in front of it that were too long to be looked at.
    pub(in crate::ctl) overlong: u64,
    /// Why the log could not be read beyond it: then it is the last of this log.
    pub(in crate::ctl) broken: Option<String>,
}

/// Cuts logs into chunks.
pub(in crate::ctl) struct LogChunks<'a> {
    sources: Vec<LogSource>,
    log: usize,
    /// The start of a line whose end has not been read.
    rest: Vec<u8>,
    overlong: u64,
    /// A line that is too long is being passed over.
    skipping: bool,
    follow: bool,
    stop: &'a AtomicBool,
}

impl<'a> LogChunks<'a> {
    /// The lines of `sources`, one after the other. To `follow` is to wait at the end of the last until `stop`.
    pub(in crate::ctl) fn new(sources: Vec<LogSource>, follow: bool, stop: &'a AtomicBool) -> Self {
        Self { sources, log: 0, rest: Vec::new(), overlong: 0, skipping: false, follow, stop }
    }

    fn chunk(&mut self, bytes: Vec<u8>) -> Chunk {
        Chunk { bytes, log: self.log, overlong: std::mem::take(&mut self.overlong), broken: None }
    }

    /// What is left of a log at its end, or the first chunk of the next.
    fn finish_log(&mut self, buffer: Vec<u8>, broken: Option<String>) -> Option<Chunk> {
        let is_there = !buffer.is_empty() || self.overlong > 0 || broken.is_some();
        let chunk = is_there.then(|| Chunk { broken, ..self.chunk(buffer) });
        self.log += 1;
        self.skipping = false;
        match chunk {
            Some(chunk) => Some(chunk),
            None if self.log < self.sources.len() => self.next(),
            None => None,
        }
    }

    /// Reads until there is a chunk's worth; `true` at the end of the log. A log that grows gives what there is.
    fn fill(&mut self, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let last = self.log + 1 == self.sources.len();
        let Some(source) = self.sources.get_mut(self.log) else { return Ok(true) };
        if !(self.follow && last) {
            let wanted = CHUNK.saturating_sub(buffer.len()).max(CHUNK / 4) as u64;
            let got = source.by_ref().take(wanted).read_to_end(buffer)?;
            return Ok((got as u64) < wanted);
        }
        let mut more = vec![0; CHUNK / 4];
        let mut got = source.read(&mut more)?;
        while got == 0 && source.can_grow() && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            got = source.read_growth(&mut more)?;
        }
        buffer.extend_from_slice(more.get(..got).unwrap_or_default());
        Ok(got == 0)
    }

    /// Drops the rest of a line that was too long.
    fn skip_long_line(&mut self, buffer: &mut Vec<u8>) {
        match memchr::memchr(b'\n', buffer) {
            Some(end) => {
                buffer.drain(..=end);
                self.skipping = false;
            }
            None => buffer.clear(),
        }
    }
}

impl Iterator for LogChunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        loop {
            let mut buffer = Vec::with_capacity(CHUNK + CHUNK / 4);
            buffer.append(&mut self.rest);
            let filled = self.fill(&mut buffer);
            if self.skipping {
                self.skip_long_line(&mut buffer);
            }
            match filled {
                Ok(false) => {}
                Ok(true) => return self.finish_log(buffer, None),
                Err(error) => {
                    // Half a line says something else than the whole.
                    buffer.truncate(memrchr(b'\n', &buffer).map_or(0, |end| end + 1));
                    return self.finish_log(buffer, Some(error.to_string()));
                }
            }
            self.rest = buffer.split_off(memrchr(b'\n', &buffer).map_or(0, |end| end + 1));
            let is_overlong = self.rest.len() > LONGEST_LINE;
            if is_overlong {
                self.rest.clear();
                self.skipping = true;
            }
            // The line that is too long comes behind these lines, and in front of the next.
            let chunk = (!buffer.is_empty()).then(|| self.chunk(buffer));
            self.overlong += u64::from(is_overlong);
            if chunk.is_some() {
                return chunk;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressBar;
    use std::io::Write as _;

    fn chunks(files: &[&[u8]]) -> Vec<(usize, usize, u64)> {
        let folder = tempfile::tempdir().unwrap();
        let open = |(at, bytes): (usize, &&[u8])| {
            let path = folder.path().join(at.to_string());
            std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
            LogSource::open(&path, &ProgressBar::hidden()).unwrap()
        };
        let (sources, stop) = (files.iter().enumerate().map(open).collect(), AtomicBool::new(false));
        let mut seen = Vec::new();
        for chunk in LogChunks::new(sources, false, &stop) {
            assert!(chunk.bytes.len() <= CHUNK + LONGEST_LINE + CHUNK / 4);
            let lines = chunk.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
            seen.push((chunk.log, lines, chunk.overlong));
        }
        seen
    }

    #[test]
    fn lines_stay_whole_across_chunks_and_files() {
        let line = [b"x".repeat(99), b"\n".to_vec()].concat();
        let log = line.repeat(30_000);
        let seen = chunks(&[&log, b"", b"a\nb", b"c\n"]);
        let of = |log: usize| seen.iter().filter(|chunk| chunk.0 == log).map(|chunk| chunk.1).sum::<usize>();
        assert_eq!((of(0), of(1), of(2), of(3)), (30_000, 0, 2, 1), "{seen:?}");
    }

    #[test]
    fn a_line_without_end_is_passed_over_in_bounded_memory() {
        let endless = b"y".repeat(5 * CHUNK);
        let log = [b"a\n", &endless[..], b"\nb\n", &endless[..]].concat();
        let seen = chunks(&[&log]);
        let sum = |what: fn(&(usize, usize, u64)) -> u64| seen.iter().map(what).sum::<u64>();
        assert_eq!((sum(|chunk| chunk.1 as u64), sum(|chunk| chunk.2)), (2, 2), "{seen:?}");
        // The first stands between `a` and `b`, the second behind both.
        assert_eq!(seen, [(0, 1, 0), (0, 1, 1), (0, 0, 1)]);
    }
}
