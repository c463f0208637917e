//! # robots-gateway
//!
//! A reverse proxy that makes robots.txt binding. It serves `/robots.txt` itself, recognises the crawler
//! behind each request from its `User-Agent`, judges the request by RFC 9309, and records the violation
//! (audit) or refuses the request (enforce) before anything reaches the origin.
//!
//! ## The whole
//!
//! ```text
//!  robots.txt   configuration   catalogue               gatewayctl (ctl)
//!       └─────────────┼─────────────┘                     │           ▲ text, CSV, JSON, a page
//!                     ▼                                   ▼           │
//!              config ─▶ policy                         admin      report
//!                          │ one snapshot a request                   ▲
//!                          ▼                                          │
//!  clients ──▶ server ─▶ gateway ─▶ proxy ──▶ origins                 │
//!                          │                                          │
//!                          └─▶ record ──▶ journal, access log, store ─┘
//! ```
//!
//! ## Data flow
//!
//! ```text
//! bytes ─▶ RequestHead ─▶ RequestFacts ─▶ Identity ─▶ Verdict ─▶ Action ─▶ forward | answer ─▶ finish(status)
//!          (http)         (gateway)       (identify)  (decide)   (enforce)  (proxy | server)   └▶ Event ─▶ record
//! ```
//!
//! A head is parsed once, judged once, answered in one place, and recorded once, when its status is known. The stages in
//! the middle are pure functions: no clock, no socket, no log; the time is an argument. The daemon and `gatewayctl explain`
//! call the very same functions, so the tool cannot disagree with the gateway.
//!
//! `server::connection` serves connections of HTTP/1, and `server::http2` those of HTTP/2, whose frames the crate `h2`
//! reads and writes; both send requests to origins through `proxy`. Pingora opens and pools connections to origins, and does
//! TLS on both sides.
//!
//! ## Layers
//!
//! A module names only modules on lower lines; `tests/layering.rs` holds the code to it.
//!
//! ```text
//! 11 main.rs  bin/gatewayctl.rs
//! 10 alerts                      what needs a look, sent to a webhook
//! 9  server  admin  ctl           never each other
//! 8  proxy  process               origins; sockets, hand-over and signals
//! 7  gateway                      a head in, a decision out; no sockets
//! 6  policy  report               never each other
//! 5  config
//! 4  record
//! 3  enforce
//! 2  decide
//! 1  identify
//! 0  robots  http  request        no I/O
//! ```
//!
//! ## Words
//!
//! *Product token*, *group*, *rule*, *path pattern* and *most specific match* are RFC 9309's words.
//! *Downstream* is the client's side and *upstream* the origin's. A *verdict* is what the rules say, the
//! same in every *mode*; an *action* is what was done about it. A *violation* is a disallowed request that
//! no version of the file the client could hold would allow; a *refusal* is the answer to one.

pub mod admin;
pub mod alerts;
pub mod config;
pub mod ctl;
pub mod decide;
pub mod enforce;
pub mod fleet;
pub mod gateway;
mod hex;
pub mod http;
pub mod identify;
pub mod policy;
pub mod process;
pub mod proxy;
pub mod record;
pub mod report;
pub mod request;
pub mod robots;
pub mod server;
