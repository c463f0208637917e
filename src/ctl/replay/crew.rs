//! Threads: one reads the logs, as many as there are processors judge, and the caller adds up.
//!
//! Chunks go round the workers in turn, and their parts come back in the same turn, so everything is added up
//! in the order of the log and nothing has to wait in a heap. The queues are short: memory does not depend on
//! which of them is the slowest.

use crate::ctl::access_log::{Chunk, LogChunks};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

/// Chunks that wait for one worker, and parts that wait to be added up.
const WAITING: usize = 2;

/// Reads all chunks, has each made into a part, and hands the parts on in order, with the number of the worker.
///
/// # Errors
/// What `add` fails with. The logs may then still be read, until they end or are stopped.
pub(in crate::ctl) fn run<P: Send, W: FnMut(&Chunk) -> P + Send>(
    mut chunks: LogChunks<'_>,
    workers: Vec<W>,
    mut add: impl FnMut(usize, P) -> io::Result<()>,
) -> io::Result<()> {
    std::thread::scope(|scope| {
        // Buffers come back to be filled again.
        let (used, free) = channel::<Vec<u8>>();
        let mut queues = Vec::new();
        let mut parts = Vec::new();
        for mut work in workers {
            let (queue, waiting) = sync_channel::<Chunk>(WAITING);
            let (done, part) = sync_channel::<P>(WAITING);
            let used = used.clone();
            queues.push(queue);
            parts.push(part);
            scope.spawn(move || {
                for chunk in waiting {
                    if done.send(work(&chunk)).is_err() {
                        break;
                    }
                    // The reader has ended when nobody wants it.
                    let _ = used.send(chunk.bytes);
                }
            });
        }
        let reader = scope.spawn(move || distribute(&mut chunks, &queues, &free));
        let added = collect(&parts, &mut add);
        // Workers and reader end when nobody takes their parts.
        drop(parts);
        let read = reader.join().map_err(|_| io::Error::other("the reader came to grief"));
        added.and(read)
    })
}

/// Gives each worker a chunk in turn, to the end of the logs.
fn distribute(chunks: &mut LogChunks<'_>, queues: &[SyncSender<Chunk>], free: &Receiver<Vec<u8>>) {
    for queue in queues.iter().cycle() {
        let buffer = free.try_recv().unwrap_or_default();
        let Some(chunk) = chunks.next(buffer) else { break };
        if queue.send(chunk).is_err() {
            break;
        }
    }
}

fn collect<P>(parts: &[Receiver<P>], add: &mut impl FnMut(usize, P) -> io::Result<()>) -> io::Result<()> {
    for (worker, part) in parts.iter().enumerate().cycle() {
        match part.recv() {
            Ok(part) => add(worker, part)?,
            // The worker whose turn it is has no more chunks, so no other has.
            Err(_) => break,
        }
    }
    Ok(())
}
