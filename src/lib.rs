//! # robots-gateway
//!
//! A reverse proxy that makes robots.txt binding. It serves `/robots.txt` itself, recognises the crawler
//! behind each request from its `User-Agent`, judges the request by RFC 9309, and records the violation
//! (audit) or refuses the request (enforce) before anything reaches the origin.
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
//! A connection of HTTP/1 is served by `server::connection`, and its requests go to origins through `proxy`. Pingora opens
//! connections to origins, does TLS on both sides and serves HTTP/2.
//!
//! ## Layers
//!
//! A module names only modules on lower lines; `tests/layering.rs` holds the code to it.
//!
//! ```text
//! 10 main.rs  bin/gatewayctl.rs
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
pub mod config;
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
pub mod robots;
pub mod server;
