//! # robots-gateway
//!
//! A reverse proxy that makes robots.txt binding. It serves `/robots.txt` itself, recognises the crawler
//! behind each request from its `User-Agent` or its signature, judges the request by RFC 9309, and records the
//! violation (audit) or refuses the request (enforce) before anything reaches the origin.
//!
//! ## The whole
//!
//! ```text
//!  robots.txt   configuration   catalogue               gatewayctl (ctl)
//!       └─────────────┼─────────────┘                     │           ▲ text, CSV, JSON, a page
//!                     ▼                                   ▼           │
//!              config ─▶ policy ◀──── fleet             admin      report
//!                          │             ▲                            ▲
//!     one snapshot a request             └── PostgreSQL, other members│
//!                          ▼                                          │
//!  clients ──▶ server ─▶ gateway                                      │
//!                 │        └─▶ record ──▶ journal, access log, store ─┘
//!                 └────▶ proxy ──▶ origins
//! ```
//!
//! ## Data flow
//!
//! ```text
//! bytes ─▶ RequestHead ─▶ RequestFacts ─▶ Identity ─▶ Verdict ─▶ Action ─▶ pace ─▶ forward | answer ─▶ finish(status)
//!          (http)         (gateway)       (identify)  (decide)   (enforce) (gateway) (proxy | server)   └▶ Event ─▶ record
//! ```
//!
//! A head is parsed once, judged once and answered in one place. The request is counted for the report when it is judged;
//! its event is written once its status is known. The stages from identity to action are pure functions: no clock, no
//! socket, no log; the time is an argument. `policy::JudgedClient` joins them. It also says which pace the client has to
//! keep; whoever asks it counts the requests, and changes verdict and action of one that comes too fast.
//!
//! The daemon and the tools judge by `policy::JudgedClient`. So the tools cannot disagree with the gateway.
//!
//! `server::connection` serves connections of HTTP/1, and `server::http2` those of HTTP/2, whose frames the crate `h2`
//! reads and writes; both send requests to origins through `proxy`. Pingora opens connections to origins and does
//! TLS on both sides; `proxy` keeps those that can be used again.
//!
//! ## Layers
//!
//! A module names only modules on lower lines, and never another one on its own line. `tests/layering.rs` holds the code
//! to this table. Lines 0 to 4 do no I/O and read no clock.
//!
//! ```text
//! 14 main.rs  bin/gatewayctl.rs   the two programs, which may name every module
//! 13 server  admin                clients; what an operator may ask a running gateway
//! 12 ctl                          the command line
//! 11 alerts                       what needs a look, sent to a webhook
//! 10 proxy  process               origins; sockets, hand-over and signals
//! 9  gateway  control             a head in, a decision out; what a running gateway answers; no sockets
//! 8  fleet                        several gateways as one
//! 7  policy  report               what is in force; what the store tells
//! 6  config                       the configuration file and the options
//! 5  record                       journal, store, rows, and all counts
//! 4  enforce                      mode and verdict to action
//! 3  decide                       rules, identity and reads to verdict
//! 2  identify                     header or signature to identity
//! 1  http  request                the parsers: HTTP, targets and addresses
//! 0  robots                       the engine of robots.txt, a crate of its own
//! ```
//!
//! ## Words
//!
//! *Product token*, *group*, *rule*, *path pattern* and *most specific match* are RFC 9309's words.
//! An *upstream* is one server of an origin. A *verdict* is what the rules say, the same in every *mode*; an *action* is
//! what was done about it. A *violation* is a disallowed request that no version of the file the client could hold would
//! allow. A *refusal* is the gateway's answer in place of the origin's. A *version* is a robots.txt as it was served, by its
//! bytes. *Notice* is the time in which a former version still excuses. *Proof* is what address or signature say about the
//! name that a client gives. A *fault* is what is wrong with a message, a file or an origin; its prefix says which
//! (`HttpFault`, `OriginFault`). `CONTRIBUTING.md` has the other words.

pub mod admin;
pub mod alerts;
pub mod config;
pub mod control;
pub mod ctl;
pub mod decide;
pub mod enforce;
pub mod fleet;
pub mod gateway;
pub mod http;
pub mod identify;
pub mod policy;
pub mod process;
pub mod proxy;
pub mod record;
pub mod report;
pub mod request;
pub mod server;

/// The engine of robots.txt, which is a crate of its own: the gateway uses it as anybody would.
pub use rfc9309 as robots;
