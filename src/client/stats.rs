//! What operators may want to see of the pools.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::connection::Cause;
use super::error::{Aborted, Kind};
use super::target::{Host, Origin};
use super::{Engine, Target};
use crate::http::fault::leaves;
use crate::http::framing::NotReused;

leaves! {
    /// Why a connection was closed, as statistics count it.
    Reason {
        /// Its caller did not want it kept.
        CallerCloses => "caller_closes",
        /// The peer said `Connection: close`.
        PeerCloses => "peer_closes",
        /// The peer keeps it no longer, by its Keep-Alive field.
        PeerKeepAlive => "peer_keep_alive",
        /// The peer speaks HTTP/1.0 and does not keep it.
        Http10 => "http_1_0",
        /// Its body was ended by the connection.
        BodyUntilClose => "body_until_close",
        /// The request was not sent, or the response not read, to its end.
        Unfinished => "unfinished",
        /// It has served all its requests.
        Requests => "max_requests",
        /// It was too old.
        Age => "max_lifetime",
        /// It was idle for its idle time.
        Idle => "idle_timeout",
        /// The pool needed the room.
        Evicted => "evicted",
        /// The peer closed it while it was idle.
        ClosedWhileIdle => "closed_while_idle",
        /// The peer sent something that nobody had asked for.
        Unsolicited => "unsolicited_bytes",
        /// Another address of the host was faster.
        Lost => "other_address",
        /// It could not be made.
        Connect => "connect_failed",
        /// A timeout passed.
        Timeout => "timeout",
        /// The peer closed or reset it within an exchange.
        PeerFailed => "closed_by_peer",
        /// The response was invalid, or too large.
        Response => "invalid_response",
        /// Its caller gave up, or is gone.
        Aborted => "aborted",
        /// The worker was leaving.
        Shutdown => "shutdown",
        /// A defect of ours.
        Internal => "internal_error",
    }
}

/// How many reasons there are.
pub(crate) const REASONS: usize = Reason::ALL.len();

impl From<Cause> for Reason {
    fn from(cause: Cause) -> Reason {
        match cause {
            Cause::NotReused(why) => why.into(),
            Cause::Failed(kind) => kind.into(),
            Cause::Lost => Reason::Lost,
            Cause::Evicted => Reason::Evicted,
            Cause::Idle => Reason::Idle,
            Cause::PeerClosed => Reason::ClosedWhileIdle,
            Cause::Unsolicited => Reason::Unsolicited,
            Cause::Panicked => Reason::Internal,
        }
    }
}

impl From<NotReused> for Reason {
    fn from(why: NotReused) -> Reason {
        match why {
            NotReused::PeerCloses => Reason::PeerCloses,
            NotReused::CallerCloses => Reason::CallerCloses,
            NotReused::Http10 | NotReused::Http10Coding => Reason::Http10,
            NotReused::ClosedByBody => Reason::BodyUntilClose,
            NotReused::PeerTimeout | NotReused::PeerMax => Reason::PeerKeepAlive,
            NotReused::Requests => Reason::Requests,
            NotReused::Age => Reason::Age,
            NotReused::UploadUnfinished
            | NotReused::BodyUnread
            | NotReused::Busy
            | NotReused::Gone => Reason::Unfinished,
        }
    }
}

impl From<Kind> for Reason {
    fn from(kind: Kind) -> Reason {
        match kind {
            Kind::Resolve(_) | Kind::Connect(_) | Kind::Tls(_) | Kind::Proxy(_) => Reason::Connect,
            Kind::Send(_) | Kind::Receive(_) | Kind::PeerClosed => Reason::PeerFailed,
            Kind::Expired(_) => Reason::Timeout,
            Kind::Misbehaved(_) | Kind::Limit(_) => Reason::Response,
            Kind::Misuse(_) | Kind::Aborted(Aborted::Caller) => Reason::Aborted,
            Kind::Aborted(Aborted::Shutdown) => Reason::Shutdown,
            Kind::Aborted(Aborted::Panicked) => Reason::Internal,
        }
    }
}

/// What has been counted since the worker started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Connections that were begun.
    pub opened: u64,
    /// How often an idle one was taken.
    pub reused: u64,
    /// Connections that were closed, as in [`Reason::ALL`].
    closed: [u64; REASONS],
}

impl Tally {
    pub(crate) fn close(&mut self, reason: Reason) {
        self.closed[reason as usize] += 1;
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.opened += other.opened;
        self.reused += other.reused;
        for (sum, n) in self.closed.iter_mut().zip(other.closed) {
            *sum += n;
        }
    }

    /// How many connections were closed for each reason that there was.
    pub fn closed(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        let all = Reason::ALL.iter().copied().zip(self.closed);
        all.filter(|(_, n)| *n > 0)
    }
}

/// One pool, or all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// The pool's name; of a pool without one its origin, as `http://host:port`
    /// or `http://unix:/path:`.
    pub name: Vec<u8>,
    /// Idle connections.
    pub idle: usize,
    /// Connections in use, or being made.
    pub busy: usize,
    /// Exchanges that wait for one.
    pub waiting: usize,
    /// What has been counted.
    pub tally: Tally,
}

impl Engine {
    /// The first pool from that place on, and where the next may be. Places are counted from 0.
    pub fn pool_stats(&self, place: usize) -> Option<(PoolStats, usize)> {
        self.pool.stats(place)
    }

    /// All pools together, with those that were forgotten.
    pub fn total_stats(&self) -> PoolStats {
        self.pool.total()
    }
}

/// How a pool without a name is called.
pub(crate) fn origin_name(target: &Target<'_>) -> String {
    match target.proxy {
        None => format!("{}", Origin(target)),
        Some(proxy) => format!("{} via {}:{}", Origin(target), Host(proxy.host), proxy.port),
    }
}
