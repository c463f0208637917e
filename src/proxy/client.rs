//! The client's side of an exchange, as an exchange needs it.

use crate::http::HttpFault;
use http::HeaderMap;
use std::task::{Context, Poll};
use std::time::Instant;

/// Why a client has no part in its request any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFault {
    /// It closed the connection, or takes nothing of what is sent.
    Gone,
    /// Its body has a fault.
    Malformed(HttpFault),
    /// Its body is larger than it may be (RFC 9110 §15.5.14).
    TooLarge,
    /// Its body comes too slowly (RFC 9110 §15.5.9).
    TooSlow,
}

/// A client whose request is being exchanged with an origin.
pub trait ExchangeClient: Send {
    /// Appends the data of the request's body that has come to `out`; `true` once the body is over.
    fn poll_body(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>>;

    /// Appends what comes through a tunnel to `out`; `true` once the client sends no more. Only clients of HTTP/1.1 have
    /// tunnels (RFC 9113 §8.6).
    fn poll_tunnel(&mut self, _: &mut Context<'_>, _: &mut Vec<u8>) -> Poll<Result<bool, ClientFault>> {
        Poll::Ready(Err(ClientFault::Gone))
    }

    /// Sends the head of an answer in fields; whether a body follows is known then. Clients of HTTP/1 are sent it as text.
    ///
    /// # Errors
    /// When the client is gone.
    fn send_head(&mut self, _: u16, _: HeaderMap, _: bool) -> Result<(), ClientFault> {
        Err(ClientFault::Gone)
    }

    /// Asks for the request's body, before the head of the answer (RFC 9110 §10.1.1). Clients of HTTP/1 are asked in text.
    fn send_continue(&mut self) {}

    /// Says that nothing more comes through a tunnel; the client may go on to send.
    fn poll_end_tunnel(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    /// A tunnel is closed because nothing came through it.
    fn note_idle_tunnel(&mut self) {}

    /// Sends some of `bytes`, and says how many.
    fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize, ClientFault>>;

    /// Sends what was taken and is held back.
    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ClientFault>> {
        Poll::Ready(Ok(()))
    }

    /// Ready once the client has left, without its next request.
    fn poll_left(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    /// Ready at `at`.
    fn poll_deadline(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()>;
}
