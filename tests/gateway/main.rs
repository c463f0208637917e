//! Black-box tests of the gateway: the real daemon in front of a real nginx, over real sockets.
//!
//! Expectations come from RFC 9309, RFC 9110 and the project's own promises, not from the code.
//! Tests of public corpora need `ROBOTS_GATEWAY_CORPUS`, and say so when it is not set.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it measured"
)]

mod actions;
mod alerts;
mod audit;
mod authorize;
mod authorize_same;
mod bad_start;
mod block;
mod bounds;
mod connections;
mod control;
mod corpus;
mod demo;
mod descriptors;
mod early;
mod enforce;
mod exceptions;
mod faults;
mod hanging;
mod hidden;
mod http2;
mod http2_answers;
mod http2_floods;
mod http2_places;
mod journal_files;
mod life;
mod limits;
mod many_origins;
mod memory;
mod modes;
mod notice;
mod origin_robots;
mod pace;
mod pace_cost;
mod pace_kinds;
mod pace_walk;
mod proxy_protocol;
mod public;
mod raw_targets;
mod recording;
mod reload_bad;
mod reload_links;
mod reload_load;
mod reload_styles;
mod robots_tags;
mod robots_txt;
mod self_test;
mod shutdown;
mod sites;
mod support;
mod tls;
mod undelivered;
mod variants;
