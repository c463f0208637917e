//! Paths that the HTTP/2 library does not take: with `"`, `<`, `>`, a backtick, a byte that is no UTF-8, a control. It resets
//! their streams or ends the connection, and cuts a path off at `#`. HTTP/1 has an answer to all of them.
//!
//! A field section is held back until it is whole, and read just enough to find a path (RFC 9113 §4.3, RFC 7541). One that
//! the library does not take is spelled in signs that it takes; the gateway judges, and forwards or refuses, the true one.
//!
//! What breaks the protocol passes as it is: the library ends such a connection.

use super::frames::{CONTINUATION, END_STREAM, FrameHead, HEAD, HEADERS, PREFACE};
use super::hpack::BlockReader;
use std::borrow::Cow;
use tokio::io::ReadBuf;

/// What a field section may have beyond its text and still be held back: the heads of its frames and fields, and padding. An
/// encoder makes no text longer.
const MORE: usize = 16 * 1024;

/// How much of a block a frame may have (RFC 9113 §6.5.2).
const LARGEST: usize = 16_384;

/// Flags of `HEADERS` (RFC 9113 §6.2); `CONTINUATION` has the first (§6.10).
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// Reads along what a client sends.
#[derive(Debug, Default)]
pub(super) struct PathGuard {
    /// Bytes that pass as they are.
    skip: usize,
    /// What begins with a frame that may not be seen yet: its head is not whole, or its field section.
    held: Vec<u8>,
    /// What may be seen, and the library has had no room for yet.
    ready: Vec<u8>,
    /// How much may be held back.
    most: usize,
    /// Whether a section was too long, or broke the protocol: from then on all of them pass.
    is_aside: bool,
    blocks: BlockReader,
}

/// What stands at the beginning of some bytes.
enum NextFrames {
    /// Frames of so many bytes, and their block as it is written anew.
    Whole(usize, Option<Vec<u8>>),
    /// More has to come.
    Incomplete,
    /// Nothing that the protocol knows.
    Broken,
}

impl PathGuard {
    /// A guard of field sections whose text is at most so long. The library refuses longer ones, and paths that it does not take
    /// in sections that are coded at more length than they need.
    pub(super) fn new(longest: usize) -> Self {
        Self { skip: PREFACE, most: longest.saturating_add(MORE), ..Self::default() }
    }

    /// Puts what may be seen into `buffer`; whether there was any of it.
    pub(super) fn give(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let rest = self.ready.split_off(self.ready.len().min(buffer.remaining()));
        let given = std::mem::replace(&mut self.ready, rest);
        buffer.put_slice(&given);
        !given.is_empty()
    }

    /// Reads along what `buffer` has behind its first `before` bytes, each frame once it passes, and takes out what is held
    /// back. A field section counts as one frame.
    pub(super) fn read(&mut self, buffer: &mut ReadBuf<'_>, before: usize, each: impl FnMut(FrameHead)) {
        let come = buffer.filled().get(before..).unwrap_or_default();
        let passed = self.skip.min(come.len());
        self.skip -= passed;
        let (held, come) = (std::mem::take(&mut self.held), come.get(passed..).unwrap_or_default());
        let all = if held.is_empty() { Cow::Borrowed(come) } else { Cow::Owned([&*held, come].concat()) };
        self.held = self.pass(&all, each).to_vec();
        buffer.set_filled(before + passed);
        self.give(buffer);
    }

    /// Makes ready what may be seen of some bytes, which begin with a frame; the rest of them is held.
    fn pass<'a>(&mut self, mut rest: &'a [u8], mut each: impl FnMut(FrameHead)) -> &'a [u8] {
        while let Some(head) = FrameHead::of(rest) {
            let (length, block) = match self.next(rest, head) {
                NextFrames::Whole(length, block) => (length, block),
                NextFrames::Incomplete if rest.len() <= self.most => break,
                NextFrames::Incomplete | NextFrames::Broken => {
                    self.is_aside = true;
                    continue;
                }
            };
            each(FrameHead { length: length - HEAD, ..head });
            let (passed, behind) = rest.split_at(length.min(rest.len()));
            match block {
                Some(block) => self.write(head, &block),
                None => self.ready.extend_from_slice(passed),
            }
            (self.skip, rest) = (length - passed.len(), behind);
        }
        rest
    }

    /// Finds the frame at the beginning of `bytes`, with those of the rest of its field section.
    fn next(&mut self, bytes: &[u8], first: FrameHead) -> NextFrames {
        if first.kind != HEADERS || self.is_aside {
            return NextFrames::Whole(HEAD + first.length, None);
        }
        let (mut block, mut at) = (Vec::new(), 0);
        loop {
            let frame = bytes.get(at..).unwrap_or_default();
            let Some(head) = FrameHead::of(frame) else { return NextFrames::Incomplete };
            if at > 0 && (head.kind, head.stream) != (CONTINUATION, first.stream) {
                return NextFrames::Broken;
            }
            let Some(payload) = frame.get(HEAD..HEAD + head.length) else { return NextFrames::Incomplete };
            let part = if at > 0 { Some(payload) } else { part(head, payload) };
            let Some(part) = part else { return NextFrames::Broken };
            block.extend_from_slice(part);
            at += HEAD + head.length;
            if head.flags & END_HEADERS != 0 {
                return match self.blocks.read(&block) {
                    None => NextFrames::Broken,
                    Some(Cow::Borrowed(_)) => NextFrames::Whole(at, None),
                    Some(Cow::Owned(block)) => NextFrames::Whole(at, Some(block)),
                };
            }
        }
    }

    /// Writes a field section anew.
    fn write(&mut self, first: FrameHead, block: &[u8]) {
        let (mut kind, mut rest) = (HEADERS, block);
        loop {
            let (part, behind) = rest.split_at(rest.len().min(LARGEST));
            let end = if behind.is_empty() { END_HEADERS } else { 0 };
            let flags = first.flags & END_STREAM | end;
            FrameHead { length: part.len(), kind, flags, ..first }.put(&mut self.ready);
            self.ready.extend_from_slice(part);
            if behind.is_empty() {
                return;
            }
            (kind, rest) = (CONTINUATION, behind);
        }
    }
}

/// What of the payload of `HEADERS` is a part of the block (RFC 9113 §6.2).
fn part(head: FrameHead, mut payload: &[u8]) -> Option<&[u8]> {
    if head.flags & PADDED != 0 {
        let (padding, rest) = payload.split_first()?;
        payload = rest.get(..rest.len().checked_sub(usize::from(*padding))?)?;
    }
    if head.flags & PRIORITY == 0 { Some(payload) } else { payload.get(5..) }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::put_text;
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        FrameHead { length: payload.len(), kind, flags, stream: 1 }.put(&mut frame);
        [&frame, payload].concat()
    }

    fn text(text: impl AsRef<[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        put_text(&mut out, text.as_ref());
        out
    }

    /// What the library sees of `bytes`, read in pieces of so many, and the frames that were counted.
    fn seen(guard: &mut PathGuard, bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<(u8, usize)>) {
        let (mut seen, mut counted) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            let mut room = vec![0; piece.len()];
            let mut buffer = ReadBuf::new(&mut room);
            buffer.put_slice(piece);
            guard.read(&mut buffer, 0, |head| counted.push((head.kind, head.length)));
            loop {
                seen.extend_from_slice(buffer.filled());
                buffer.clear();
                if !guard.give(&mut buffer) {
                    break;
                }
            }
        }
        (seen, counted)
    }

    /// What becomes of `frames` behind a preface, however they are cut.
    fn guarded(frames: &[u8]) -> (Vec<u8>, Vec<(u8, usize)>) {
        let whole = [&[b'#'; PREFACE], frames].concat();
        let read = |piece| {
            let (seen, counted) = seen(&mut PathGuard::new(1_000), &whole, piece);
            (seen[PREFACE..].to_vec(), counted)
        };
        let at_once = read(usize::MAX);
        assert!((1..20).all(|piece| read(piece) == at_once));
        at_once
    }

    #[test]
    fn a_path_is_spelled_however_its_field_is_written() {
        // `/p#f` in Huffman's code.
        let coded = [0x84, 0x62, 0xbf, 0xfa, 0x97];
        let long = [&[b'x'; 199][..], b"\xff"].concat();
        for name in [
            &[0x44][..],
            &[0x04],
            &[0x15],
            &[0x00, 5, b':', b'p', b'a', b't', b'h'],
            &[0x40, 0x84, 0xb9, 0x58, 0xd3, 0x3f],
        ] {
            for (sent, path) in [
                (&*text("/p<f"), "/\u{200}/p\u{13c}f".to_owned()),
                (&coded, "/\u{200}/p\u{123}f".to_owned()),
                (&text(&long), format!("/\u{200}{}\u{1ff}", "x".repeat(199))),
            ] {
                // Behind other fields, among them one of the table and a change of its size that may not stand there.
                let before = [&[0x82, 0x3f, 0xe1, 0x1f, 0x00, 1, b'a', 1, b'#'][..], name].concat();
                let expected = frame(HEADERS, END_HEADERS | END_STREAM, &[&*before, &text(path)].concat());
                let priority = [0, 0, 0, 0, 15];
                for (flags, front, behind) in
                    [(5, &[][..], &[][..]), (0x25, &priority, &[]), (0xd, &[2], b"##")]
                {
                    let frame = frame(HEADERS, flags, &[front, &before, sent, behind].concat());
                    let counted = [(HEADERS, frame.len() - HEAD)];
                    assert_eq!(guarded(&frame), (expected.clone(), counted.to_vec()), "{name:x?}");
                }
                // What is spelled already is no path that a client has sent.
                assert_ne!(guarded(&expected).0, expected);
            }
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let other =
            [&[0x44][..], &text("/p"), &[0x00], &text(":pat"), &text("#"), &[0x53], &text("#")].concat();
        let data = frame(0, 0, b"\x44\x03/p#");
        let frames =
            [data.clone(), frame(HEADERS, 0, &other[..5]), frame(CONTINUATION, 4, &other[5..]), data]
                .concat();
        let counted = vec![(0, 5), (HEADERS, other.len() + HEAD), (0, 5)];
        assert_eq!(guarded(&frames), (frames, counted));
    }

    #[test]
    fn changes_of_the_tables_size_are_left_out_where_they_may_stand() {
        let field = [&[0x44][..], &text("/p")].concat();
        let with = |before: &[u8]| frame(HEADERS, END_HEADERS, &[before, &field].concat());
        assert_eq!(guarded(&with(&[0x20, 0x3f, 0xe1, 0x1f])).0, with(&[]));
        assert_eq!(guarded(&frame(HEADERS, END_HEADERS, &[0x20])).0, frame(HEADERS, END_HEADERS, &[]));
        // More than the library may have.
        let larger = with(&[0x3f, 0xe2, 0x1f]);
        assert_eq!(guarded(&larger).0, larger);
    }

    #[test]
    fn no_more_than_a_section_may_be_long_is_held_back() {
        let mut guard = PathGuard::new(1_000);
        let sent = [&[b'#'; PREFACE][..], &frame(HEADERS, 0, &[0; 0x4000])].concat();
        let endless = frame(CONTINUATION, 0, &[0; 0x4000]);
        assert_eq!(seen(&mut guard, &sent, 1_000), (vec![b'#'; PREFACE], vec![]));
        let (seen, counted) = seen(&mut guard, &endless, 1_000);
        assert_eq!(seen.len(), sent.len() - PREFACE + endless.len());
        assert_eq!(counted, [(HEADERS, 0x4000), (CONTINUATION, 0x4000)], "they are counted all the same");
        assert!(guard.held.is_empty());
    }

    #[test]
    fn a_path_may_be_cut_by_the_head_of_a_frame() {
        let field = [&[0x44][..], &text(b"/caf\xe9")].concat();
        let expected = frame(HEADERS, END_HEADERS, &[&[0x44][..], &text("/\u{200}/caf\u{1e9}")].concat());
        for cut in 0..field.len() {
            let frames = [frame(HEADERS, 0, &field[..cut]), frame(CONTINUATION, 4, &field[cut..])].concat();
            assert_eq!(guarded(&frames).0, expected, "{cut}");
        }
    }

    #[test]
    fn a_long_section_is_written_in_several_frames() {
        let mut guard = PathGuard::new(100_000);
        let field = [&[0x44][..], &text(format!("/{}", "<".repeat(20_000)))].concat();
        let (first, rest) = field.split_at(10_000);
        let sent = [frame(HEADERS, END_STREAM, first), frame(CONTINUATION, END_HEADERS, rest)].concat();
        guard.skip = 0;
        let (mut seen, _) = seen(&mut guard, &sent, 5_000);
        let (mut kinds, mut block) = (Vec::new(), Vec::new());
        while let Some(head) = FrameHead::of(&seen) {
            assert!(head.length <= LARGEST);
            kinds.push((head.kind, head.flags & END_HEADERS));
            block.extend(seen.drain(..HEAD + head.length).skip(HEAD));
        }
        assert_eq!(kinds, [(HEADERS, 0), (CONTINUATION, 0), (CONTINUATION, END_HEADERS)]);
        let path = format!("/\u{200}/{}", "\u{13c}".repeat(20_000));
        assert_eq!(block, [&[0x44][..], &text(path)].concat());
    }
}
