//! What can go wrong, as values: the kind, the state it happened in, and whether a retry is safe.

use core::fmt;

use crate::http::fault::{Fault, leaves};
pub use crate::http::fault::{Limit, Misbehaviour};
pub use crate::http::request::Misuse;

/// Why an exchange failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// What went wrong.
    pub kind: Kind,
    /// The state of the connection or exchange in which it did, as in `states/`.
    pub state: &'static str,
    /// Nothing of the request can have had an effect: trying again is safe for any method.
    pub retry: bool,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The name has no address.
    Resolve(ResolveError),
    /// No connection could be made.
    Connect(SocketError),
    /// The TLS handshake failed.
    Tls(TlsError),
    /// The proxy did not open a tunnel.
    Proxy(ProxyError),
    /// The request could not be sent.
    Send(SocketError),
    /// The response could not be received.
    Receive(SocketError),
    /// A timeout passed.
    Expired(Why),
    /// The peer closed the connection before the end of the response.
    PeerClosed,
    /// The peer broke HTTP/1.1.
    Misbehaved(Misbehaviour),
    /// A bound was passed.
    Limit(Limit),
    /// The caller asked for something impossible.
    Misuse(Misuse),
    /// Ended from our side.
    Aborted(Aborted),
}

/// Whether a request that failed may be made again whatever its method: what [`Error::retry`] can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It fails before anything of a request is sent.
    Always,
    /// Where no byte of the request was sent.
    Unsent,
    /// It comes with the response.
    Never,
}

impl Again {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Again::Always => "always",
            Again::Unsent => "if unsent",
            Again::Never => "never",
        }
    }
}

leaves! {
    /// Why a name has no address.
    ResolveError {
        /// There is nothing to ask.
        NoResolver => "no resolver defined",
        /// The name does not exist, or has no address.
        NotFound => "host could not be resolved (3: Host not found)",
        /// The name server did not answer in time.
        TimedOut => "host could not be resolved (110: Operation timed out)",
        /// The name server answered with an error, or could not be asked.
        Failed => "host could not be resolved",
    }
}

leaves! {
    /// A socket operation failed. The texts are those of cosockets.
    SocketError {
        /// ECONNREFUSED.
        Refused => "connection refused",
        /// ECONNRESET.
        Reset => "connection reset by peer",
        /// EPIPE.
        BrokenPipe => "broken pipe",
        /// ENOENT: there is no unix domain socket of that path.
        NoSocket => "no such file or directory",
        /// EACCES, EPERM: a unix domain socket, or a rule of the system's.
        Denied => "permission denied",
        /// EHOSTUNREACH.
        NoRoute => "no route to host",
        /// ENETUNREACH.
        NetworkUnreachable => "network is unreachable",
        /// ETIMEDOUT.
        TimedOut => "connection timed out",
        /// EADDRNOTAVAIL.
        AddressNotAvailable => "cannot assign requested address",
        /// No connection slot or file descriptor is free in this worker.
        NoConnections => "no free connections",
        /// Any other error; the driver has logged which.
        Other => "socket error",
    }
}

leaves! {
    /// Why there is no TLS session.
    TlsError {
        /// The driver has no TLS.
        NotBuilt => "TLS is not built in",
        /// The handshake failed.
        Failed => "TLS handshake failed",
    }
}

leaves! {
    /// Why there is no tunnel.
    ProxyError {
        /// The proxy answered CONNECT with a status other than 2xx.
        Refused => "proxy refused the tunnel",
    }
}

leaves! {
    /// Which wait was too long. Callers match on the one text.
    Why {
        /// Resolving, connecting and the handshake together.
        Connect => "timeout",
        /// No byte could be sent for the send timeout.
        Send => "timeout",
        /// No byte came for the read timeout.
        Read => "timeout",
        /// The deadline over the whole exchange.
        Total => "timeout",
    }
}

leaves! {
    /// Ended from our side.
    Aborted {
        /// By the caller, or by the end of its request. Nobody is told; traces show it.
        Caller => "aborted",
        /// The worker is leaving.
        Shutdown => "closed",
        /// A handler panicked; the connection it held is lost.
        Panicked => "internal error",
    }
}

impl Kind {
    /// Every kind with every leaf, for tables and tests.
    pub fn all() -> impl Iterator<Item = Kind> {
        fn each<L: Copy + 'static>(
            leaves: &'static [L],
            kind: fn(L) -> Kind,
        ) -> impl Iterator<Item = Kind> {
            leaves.iter().map(move |&leaf| kind(leaf))
        }
        each(ResolveError::ALL, Kind::Resolve)
            .chain(each(SocketError::ALL, Kind::Connect))
            .chain(each(TlsError::ALL, Kind::Tls))
            .chain(each(ProxyError::ALL, Kind::Proxy))
            .chain(each(SocketError::ALL, Kind::Send))
            .chain(each(SocketError::ALL, Kind::Receive))
            .chain(each(Why::ALL, Kind::Expired))
            .chain([Kind::PeerClosed])
            .chain(each(Misbehaviour::ALL, Kind::Misbehaved))
            .chain(each(Limit::ALL, Kind::Limit))
            .chain(each(Misuse::ALL, Kind::Misuse))
            .chain(each(Aborted::ALL, Kind::Aborted))
    }

    /// The text Lua callers see.
    pub const fn text(self) -> &'static str {
        match self {
            Kind::Resolve(e) => e.text(),
            Kind::Connect(e) | Kind::Send(e) | Kind::Receive(e) => e.text(),
            Kind::Tls(e) => e.text(),
            Kind::Proxy(e) => e.text(),
            Kind::Expired(e) => e.text(),
            Kind::PeerClosed => "closed",
            Kind::Misbehaved(e) => e.text(),
            Kind::Limit(e) => e.text(),
            Kind::Misuse(e) => e.text(),
            Kind::Aborted(e) => e.text(),
        }
    }

    /// When it happens.
    pub const fn meaning(self) -> &'static str {
        match self {
            Kind::Resolve(e) => e.meaning(),
            Kind::Connect(e) | Kind::Send(e) | Kind::Receive(e) => e.meaning(),
            Kind::Tls(e) => e.meaning(),
            Kind::Proxy(e) => e.meaning(),
            Kind::Expired(e) => e.meaning(),
            Kind::PeerClosed => "The peer closed the connection before the end of the response.",
            Kind::Misbehaved(e) => e.meaning(),
            Kind::Limit(e) => e.meaning(),
            Kind::Misuse(e) => e.meaning(),
            Kind::Aborted(e) => e.meaning(),
        }
    }

    /// Whether it is safe to try again, as far as the kind alone says it.
    pub const fn again(self) -> Again {
        match self {
            Kind::Resolve(_) | Kind::Connect(_) | Kind::Tls(_) | Kind::Proxy(_) => Again::Always,
            Kind::Expired(Why::Connect) | Kind::Limit(Limit::Backlog | Limit::Slots) => {
                Again::Always
            }
            Kind::Misuse(Misuse::ContentLength) => Again::Unsent,
            Kind::Misuse(_) => Again::Always,
            Kind::Misbehaved(Misbehaviour::ChunkSize | Misbehaviour::Trailer) => Again::Never,
            Kind::Limit(Limit::Extensions | Limit::Trailers | Limit::Whole) => Again::Never,
            Kind::Send(_) | Kind::Receive(_) | Kind::Expired(_) | Kind::PeerClosed => Again::Unsent,
            Kind::Misbehaved(_) | Kind::Limit(_) | Kind::Aborted(_) => Again::Unsent,
        }
    }

    /// (kind, leaf) by name; the leaf is empty where there is only one.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Kind::Resolve(e) => ("Resolve", e.name()),
            Kind::Connect(e) => ("Connect", e.name()),
            Kind::Tls(e) => ("Tls", e.name()),
            Kind::Proxy(e) => ("Proxy", e.name()),
            Kind::Send(e) => ("Send", e.name()),
            Kind::Receive(e) => ("Receive", e.name()),
            Kind::Expired(e) => ("Expired", e.name()),
            Kind::PeerClosed => ("PeerClosed", ""),
            Kind::Misbehaved(e) => ("Misbehaved", e.name()),
            Kind::Limit(e) => ("Limit", e.name()),
            Kind::Misuse(e) => ("Misuse", e.name()),
            Kind::Aborted(e) => ("Aborted", e.name()),
        }
    }

    /// The other end went away, as it may at any time on a kept connection.
    pub(crate) const fn peer_left(self) -> bool {
        matches!(
            self,
            Kind::PeerClosed
                | Kind::Send(SocketError::Reset | SocketError::BrokenPipe)
                | Kind::Receive(SocketError::Reset | SocketError::BrokenPipe)
        )
    }
}

impl From<Fault> for Kind {
    fn from(fault: Fault) -> Kind {
        match fault {
            Fault::Misbehaved(m) => Kind::Misbehaved(m),
            Fault::Limit(l) => Kind::Limit(l),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.text())
    }
}

impl core::error::Error for Error {}

impl Error {
    /// A refusal before anything happened.
    pub(crate) fn misuse(misuse: Misuse, state: &'static str) -> Error {
        Error {
            kind: Kind::Misuse(misuse),
            state,
            retry: true,
        }
    }
}
