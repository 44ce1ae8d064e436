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

/// One connection's socket buffers.
#[derive(Debug, Default)]
pub(super) struct Peer {
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
}

impl Peer {
    /// Whether a read would return something.
    pub(super) fn readable(&self) -> bool {
        !self.inbox.is_empty() || self.end.is_some()
    }
}
