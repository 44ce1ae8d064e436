//! The other end of one connection, as the kernel would show it.

use std::collections::VecDeque;
use std::vec::Vec;

use crate::SocketError;

/// How a peer ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Fin,
    Rst,
}

/// One connection's socket buffers, and what its peer has in mind.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// The number of the caller it was opened for.
    pub(super) opener: Option<usize>,
    /// Reads to come: each piece is what one read returns.
    pub(super) inbox: VecDeque<Vec<u8>>,
    pub(super) end: Option<End>,
    /// What the engine has sent.
    pub(super) outbox: Vec<u8>,
    /// How many bytes the socket still takes; `None` is any number.
    pub(super) room: Option<usize>,
    /// Sending fails with this.
    pub(super) send_error: Option<SocketError>,
    pub(super) connected: bool,
    /// The event loop has not told of the socket's latest edge yet.
    pub(super) held: bool,
    /// TLS is being agreed.
    pub(super) shaking: bool,
    /// Bytes of answers that are made and not sent.
    pub(super) pending: VecDeque<u8>,
    /// How many requests were judged when they came.
    pub(super) judged: usize,
    /// How many requests have an answer.
    pub(super) answered: usize,
}

impl Peer {
    /// Whether a read would return something.
    pub(super) fn readable(&self) -> bool {
        !self.held && (!self.inbox.is_empty() || self.end.is_some())
    }

    /// Whether a write would do something.
    pub(super) fn writable(&self) -> bool {
        !self.held && (self.send_error.is_some() || self.room.is_none_or(|room| room > 0))
    }
}
