//! The attacks: what each does, and how much of it.

use super::attacker::Siege;
use super::crowd::Crowd;
use super::flood::wage;
use super::{http2, plain, tls};
use std::io;

/// An attack. Its bounds are part of what it is: with more of it, the attackers' processor is what gives in.
#[derive(Debug)]
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// So many connections it has to open; with fewer it did not take place.
    pub(super) least: u64,
    pub(super) wage: fn(&Siege) -> io::Result<()>,
}

pub(super) const ATTACKS: [Attack; 15] = [
    Attack {
        name: "slow heads",
        what: "2,000 connections, 4 KiB of a head and then a byte a second",
        least: 2_000,
        wage: |siege| crowd(siege, 2_000, 8, plain::slow_head(), b"x").wage(siege),
    },
    Attack {
        name: "slow bodies",
        what: "2,000 connections, a byte of a body a second",
        least: 2_000,
        wage: |siege| crowd(siege, 2_000, 8, plain::slow_body(), b"x").wage(siege),
    },
    Attack {
        name: "silence",
        what: "4,000 connections that send nothing, half of them where TLS is spoken",
        least: 4_000,
        wage: |siege| {
            let targets = vec![siege.plain, siege.tls];
            Crowd { targets, ..crowd(siege, 4_000, 16, Vec::new(), b"") }.wage(siege)
        },
    },
    Attack {
        name: "idle connections",
        what: "15,000 connections that were answered once, from 60 addresses, at most 3,000 new ones a second",
        least: 15_000,
        wage: |siege| Crowd { per_second: 3_000, ..crowd(siege, 15_000, 60, plain::page(), b"") }.wage(siege),
    },
    Attack {
        name: "one address",
        what: "one address opens 2,000 connections a second and keeps what it gets",
        least: 2_000,
        wage: |siege| crowd(siege, 4_000, 1, Vec::new(), b"").wage(siege),
    },
    Attack {
        name: "1 MiB heads",
        what: "100 heads of 1 MiB a second",
        least: 20,
        wage: |siege| wage(siege, 100, plain::large_head),
    },
    Attack {
        name: "pipelining",
        what: "25 times a second 200 requests in one piece",
        least: 20,
        wage: |siege| wage(siege, 25, plain::row),
    },
    Attack {
        name: "malformed",
        what: "2,000 malformed requests a second, on connections of their own",
        least: 200,
        wage: |siege| wage(siege, 2_000, plain::malformed),
    },
    Attack {
        name: "wrong signatures",
        what: "10,000 requests a second, 200 in one piece, each with a wrong signature of its own by a key that is known",
        least: 20,
        wage: |siege| wage(siege, 50, |siege, number| plain::signed_row(siege, number, plain::KNOWN_KEY)),
    },
    Attack {
        name: "unknown signers",
        what: "the same by a key that is not known",
        least: 20,
        wage: |siege| wage(siege, 50, |siege, number| plain::signed_row(siege, number, "unknown")),
    },
    Attack {
        name: "rapid reset",
        what: "50 HTTP/2 connections a second, up to 2,000 streams opened and cancelled on each",
        least: 20,
        wage: |siege| {
            let client = tls::client(siege)?;
            wage(siege, 50, |siege, number| http2::rapid_reset(siege, &client, number))
        },
    },
    Attack {
        name: "PING, SETTINGS",
        what: "50 HTTP/2 connections a second, up to 4,000 PING and SETTINGS frames on each",
        least: 20,
        wage: |siege| {
            let client = tls::client(siege)?;
            wage(siege, 50, |siege, number| http2::control(siege, &client, number))
        },
    },
    Attack {
        name: "CONTINUATION",
        what: "50 HTTP/2 connections a second, up to 480 KiB of a head without an end on each",
        least: 20,
        wage: |siege| {
            let client = tls::client(siege)?;
            wage(siege, 50, |siege, number| http2::continuation(siege, &client, number))
        },
    },
    Attack {
        name: "TLS garbage",
        what: "1,000 connections a second with 2 KiB that are no handshake",
        least: 100,
        wage: |siege| wage(siege, 1_000, tls::garbage),
    },
    Attack {
        name: "TLS abandoned",
        what: "500 handshakes a second, left after the gateway's answer",
        least: 50,
        wage: |siege| {
            let client = tls::client(siege)?;
            wage(siege, 500, |siege, number| tls::abandoned(siege, &client, number))
        },
    },
];

/// A crowd at the plain listener, gathered in a second or two.
fn crowd(siege: &Siege, size: usize, addresses: u32, opening: Vec<u8>, drip: &'static [u8]) -> Crowd {
    Crowd { size, addresses, per_second: 2_000, targets: vec![siege.plain], opening, drip }
}
