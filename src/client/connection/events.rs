//! The structs behind the table's events.

use super::*;

macro_rules! bare {
    ($($name:ident),+) => { $(#[derive(Debug)] pub(crate) struct $name;)+ };
}

bare!(
    Connected,
    Handshaken,
    Sent,
    Early,
    Unsolicited,
    Eof,
    Lost,
    Evicted
);

#[derive(Debug)]
pub(crate) struct Interim {
    pub(crate) status: u16,
}

#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) first: SocketAddr,
}

#[derive(Debug)]
pub(crate) struct Unresolved(pub(crate) ResolveError);

#[derive(Debug)]
pub(crate) struct ConnectFailed(pub(crate) SocketError);

#[derive(Debug)]
pub(crate) struct HandshakeFailed(pub(crate) TlsError);

#[derive(Debug)]
pub(crate) struct SendFailed(pub(crate) SocketError);

#[derive(Debug)]
pub(crate) struct RecvFailed(pub(crate) SocketError);

#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) Fault);

#[derive(Debug)]
pub(crate) struct Expired(pub(crate) Due);

#[derive(Debug)]
pub(crate) struct Aborted(pub(crate) error::Aborted);

/// A final head and what it means for the connection.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) head: Box<ResponseHead>,
    pub(crate) verdict: Verdict,
}

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) trailers: Option<Box<Section>>,
}

#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) job: Job,
}

#[derive(Debug)]
pub(crate) struct Released {
    pub(crate) idle: Duration,
    /// Whether it may go to the pool.
    pub(crate) verdict: Result<(), NotReused>,
}
