//! Memory of connections that are kept open and wait for their next request, beside nginx and `HAProxy`.

use crate::figures::mebibytes;
use crate::origin::BenchOrigin;
use crate::peers::{Kind, Peer};
use crate::process::settle;
use robots_gateway::process::raise_open_files;
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// What the gateway may take with 10,000 of them, in bytes.
const MOST: u64 = 50_000_000;
const MANY: usize = 10_000;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: e2e.example\r\nUser-Agent: Mozilla/5.0\r\n\r\n";

/// Opens `count` connections to each peer, each of which was answered once; `false` where the gateway takes too much.
pub(crate) fn measure(count: usize, folder: &Path) -> Result<bool, Box<dyn Error>> {
    let _ = raise_open_files(2 * count as u64 + 1_000);
    let origin = BenchOrigin::start(folder)?;
    let mut passed = true;
    let mut ours = None;
    for kind in [Kind::Enforce, Kind::NginxFour, Kind::Haproxy] {
        if !kind.is_installed() {
            println!("{} is left out: it is not installed", kind.name());
            continue;
        }
        let peer = Peer::start(kind, &origin, folder)?;
        drop(asked(peer.addresses.plain)?);
        let fresh = peer.running.memory()?;
        // HAProxy sets two open files aside for each.
        let count = if kind == Kind::Haproxy { count.min(8_000) } else { count };
        let open = (0..count).map(|_| asked(peer.addresses.plain)).collect::<Result<Vec<_>, _>>()?;
        settle();
        let idle = peer.running.memory()?;
        let (start, end) = (mebibytes(fresh), mebibytes(idle));
        let each = (end - start) * 1_024.0 * f64::from(u32::try_from(open.len())?).recip();
        println!(
            "{:<20} fresh {start:.1} MiB, with {} idle connections {end:.1} MiB, {each:.2} KiB each; the gateway's is {:.2} of that",
            kind.name(),
            open.len(),
            *ours.get_or_insert(each) / each,
        );
        if kind == Kind::Enforce {
            // A machine that allows fewer open files measures fewer connections.
            let all = fresh + idle.saturating_sub(fresh) * MANY as u64 / open.len().max(1) as u64;
            passed &= all <= MOST;
            let word = if passed { "pass" } else { "FAIL" };
            println!(
                "{word:<12} the gateway with {MANY} idle connections, from these: {all} bytes, {MOST} at most"
            );
        }
    }
    Ok(passed)
}

/// A connection that was answered, and stays open.
fn asked(address: SocketAddr) -> Result<TcpStream, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(REQUEST)?;
    let mut answer = Vec::new();
    let mut piece = [0; 4_096];
    while !answer.ends_with(b"ssss") {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err(
                "a connection was not kept: allow more open files (ulimit -n), or measure fewer (--idle)"
                    .into(),
            );
        }
        answer.extend(piece.iter().take(count));
    }
    Ok(stream)
}
