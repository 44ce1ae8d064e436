//! Facts that a driver reports, and orders it carries out.

use core::net::{IpAddr, SocketAddr};

use super::error::{ResolveError, SocketError, TlsError};
use super::{Id, Key};

/// A fact about a connection, reported with [`Engine::handle`](super::Engine::handle). Bytes come
/// through [`Engine::received`](super::Engine::received) and [`Engine::sent`](super::Engine::sent).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The answer to [`Effect::Resolve`]: at least one address, in the order to try them.
    Resolved(&'a [IpAddr]),
    /// [`Effect::Resolve`] failed.
    Unresolved(ResolveError),
    /// The answer to [`Effect::Connect`].
    Connected,
    /// [`Effect::Connect`] failed.
    ConnectFailed(SocketError),
    /// The answer to [`Effect::Handshake`].
    Handshaken,
    /// [`Effect::Handshake`] failed.
    HandshakeFailed(TlsError),
    /// The peer sends no more.
    Eof,
    /// Nothing more can be sent; a response may still be there to read.
    SendFailed(SocketError),
    /// Nothing more can be received.
    RecvFailed(SocketError),
}

/// An order, taken with [`Engine::poll`](super::Engine::poll). Every one must be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Find the addresses of [`Engine::host`](super::Engine::host).
    Resolve {
        /// Whose.
        key: Key,
    },
    /// Open a TCP connection.
    Connect {
        /// Whose.
        key: Key,
        /// Where to.
        address: SocketAddr,
    },
    /// Open a connection to the unix domain socket that [`Engine::host`](super::Engine::host) names
    /// behind `unix:`. Answered like [`Effect::Connect`].
    ConnectUnix {
        /// Whose.
        key: Key,
    },
    /// Make a TLS session on the open connection.
    Handshake {
        /// Whose.
        key: Key,
    },
    /// The connection has begun to want to send or to receive: if its socket is ready, go on now.
    Drive {
        /// Whose.
        key: Key,
    },
    /// Close the socket, cancel what runs for the key. It names nothing from now on.
    Close {
        /// Whose.
        key: Key,
    },
    /// What [`Engine::wait`](super::Engine::wait) waited for has come.
    Wake {
        /// Whose.
        id: Id,
    },
}

/// What a connection wants of its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest {
    /// Receive.
    pub read: bool,
    /// Send [`Engine::output`](super::Engine::output), or learn that the connect is over.
    pub write: bool,
}
