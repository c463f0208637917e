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
//! bytes ─▶ RequestHead ─▶ RequestFacts ─▶ Identity ─▶ Verdict ─▶ Action ─▶ forward | answer ─▶ finish(status)
//!          (http)         (gateway)       (identify)  (decide)   (enforce)  (proxy | server)   └▶ Event ─▶ record
//! ```
//!
//! A head is parsed once, judged once and answered in one place. The request is counted for the report when it is judged;
//! its event is written once its status is known. The stages in the middle are pure functions: no clock, no socket, no
//! log; the time is an argument. `policy::judge` joins them. The daemon, `gatewayctl explain`, `replay` and `diff` call it,
//! so the tools cannot disagree with the gateway.
//!
//! `server::connection` serves connections of HTTP/1, and `server::http2` those of HTTP/2, whose frames the crate `h2`
//! reads and writes; both send requests to origins through `proxy`. Pingora opens connections to origins and does
//! TLS on both sides; `proxy` keeps those that can be used again.
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
//! 7  gateway  control             a head in, a decision out; what a running gateway answers; no sockets
//! 6  policy  report  fleet       never each other
//! 5  config
//! 4  record
//! 3  enforce
//! 2  decide
//! 1  identify
//! 0  robots  http  request  hex   no I/O
//! ```
//!
//! ## Words
//!
//! *Product token*, *group*, *rule*, *path pattern* and *most specific match* are RFC 9309's words.
//! *Downstream* is the client's side and *upstream* the origin's. A *verdict* is what the rules say, the
//! same in every *mode*; an *action* is what was done about it. A *violation* is a disallowed request that
//! no version of the file the client could hold would allow; a *refusal* is the answer to one. A *version* is a
//! robots.txt as it was served, by its bytes. *Notice* is the time in which a former version still excuses. *Proof* is
//! what supports the name that a client gives. A *fault* is what is wrong with a message.

pub mod admin;
pub mod alerts;
pub mod config;
pub mod control;
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
