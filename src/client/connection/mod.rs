//! One connection: its table, its states (one file each), and what all of them share.

use alloc::boxed::Box;
use core::fmt;
use core::net::SocketAddr;

use super::allowances::Allowance;
use super::deadlines::Due;
use super::error::{self, Error, Kind, ResolveError, SocketError, TlsError};
use super::event::{Effect, Interest};
use super::exchange::{self, Facts};
use super::out::{Out, Post};
use super::pool::Shelf;
use super::{Id, Key};
use crate::http::body::Body;
use crate::http::fault::Fault;
use crate::http::framing::{Asked, NotReused, Notice, Verdict};
use crate::http::head::{Head as ResponseHead, Section};
use crate::http::parser::Parser;
use crate::machine::Edge;
use crate::time::{Duration, Instant, earlier};
use crate::trace::Subject;

mod closed;
mod connecting;
mod events;
mod handshaking;
mod held;
mod parse;
mod pooled;
mod reading_body;
mod reading_head;
mod resolving;
pub(crate) mod table;
mod tunnelling;
mod writing;

pub(crate) use closed::{Cause, Closed};
pub(crate) use connecting::Connecting;
pub(crate) use events::*;
pub(crate) use handshaking::Handshaking;
pub(crate) use held::Held;
pub(crate) use parse::Found;
pub(crate) use pooled::Pooled;
pub(crate) use reading_body::ReadingBody;
pub(crate) use reading_head::ReadingHead;
pub(crate) use resolving::Resolving;
pub(crate) use table::{Always, Event, On, State, Step};
pub(crate) use tunnelling::Tunnelling;
pub(crate) use writing::Writing;

/// What stays the same over a connection's life, beside its state.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) key: Key,
    /// For traces: counted from the engine's first connection.
    pub(crate) serial: u32,
    /// Whom it talks to.
    pub(crate) shelf: Shelf,
    /// TLS stands between TCP and the first request.
    pub(crate) tls: bool,
    /// CONNECT stands before that.
    pub(crate) tunnel: bool,
    /// How many times it was taken from the pool.
    pub(crate) reused: u32,
    /// How many more requests it may serve others with.
    pub(crate) requests_left: u32,
    /// When it is too old for others.
    pub(crate) old_at: Option<Instant>,
    /// The entry in the deadline heap.
    pub(crate) armed: Option<Instant>,
}

impl Link {
    /// Whom a trace line is about.
    pub(crate) fn subject(&self) -> Subject {
        Subject {
            kind: 'c',
            serial: self.serial,
        }
    }

    /// Until when others may find it idle, if its last response came just now.
    #[inline]
    pub(crate) fn term(&self, now: Instant, notice: Option<Notice>) -> Term {
        if self.requests_left == 0 {
            return Some((now, NotReused::Requests));
        }
        let age = self.old_at.map(|at| (at, NotReused::Age));
        let said = notice.map(|n| (Instant(now.0.saturating_add(n.idle_ms.into())), n.why));
        earlier(age, said)
    }
}

/// A connection's place in the slab.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) state: State,
    pub(crate) link: Link,
}

/// What a connection does for an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) owner: Id,
    pub(crate) asked: Asked,
    /// There is a request to send; otherwise the connection is only opened for its owner.
    pub(crate) request: bool,
    pub(crate) after: After,
    /// What the response may cost.
    pub(crate) allowance: Allowance,
}

/// What becomes of a clean connection after its exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Close,
    Hold,
    Park { idle: Duration },
}

/// From when on nobody may find the connection idle, and why. `None`: no such time is known.
pub(crate) type Term = Option<(Instant, NotReused)>;

/// Whether the term is not over.
pub(crate) fn within(term: Term, now: Instant) -> Result<(), NotReused> {
    match term {
        Some((at, why)) if at <= now => Err(why),
        Some(_) | None => Ok(()),
    }
}

/// How far the upload is. HTTP/1.1 is full duplex, so it is data in the reading states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upload {
    /// Everything was handed to the socket.
    Done,
    /// The first `sent` bytes were.
    Owed { sent: usize },
    /// The rest cannot be sent.
    Lost(SocketError),
}

/// What a handler may touch: its own link, and the queues.
pub(crate) struct Cx<'a> {
    pub(crate) now: Instant,
    pub(crate) link: &'a mut Link,
    pub(crate) out: &'a mut Out,
    /// Why the move was made, for the trace.
    pub(crate) why: &'a mut Option<Reason>,
    /// The event cannot be in this state.
    pub(crate) impossible: bool,
}

/// Why a move was made, as the trace shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Early { sent: usize },
    Unsent(SocketError),
    Closed(Cause),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Early { sent } => write!(f, "early response, {sent} bytes sent"),
            Reason::Unsent(e) => write!(f, "cannot send: {}", e.text()),
            Reason::Closed(cause) => f.write_str(cause.text()),
        }
    }
}

impl Cx<'_> {
    /// Tells the owner something.
    #[inline(always)]
    pub(crate) fn post(&mut self, owner: Id, event: impl Into<exchange::Event>) {
        self.out
            .posts
            .push_with(|| Post::Exchange(owner, event.into()));
    }

    /// Gives the driver an order.
    pub(crate) fn order(&mut self, effect: Effect) {
        self.out.effects.push_back(effect);
    }

    /// The connection has begun to want something of its socket.
    pub(crate) fn drive(&mut self) {
        let key = self.link.key;
        self.order(Effect::Drive { key });
    }

    /// The end of an attempt that never carried a request.
    pub(crate) fn attempt_failed(&mut self, job: Job, kind: Kind, state: &'static str) -> Closed {
        let error = Error {
            kind,
            state,
            retry: true,
        };
        let key = self.link.key;
        self.post(job.owner, exchange::AttemptFailed { key, error });
        self.closed(Cause::Failed(kind))
    }

    /// The end of a connection that carries a request.
    pub(crate) fn broken(
        &mut self,
        job: Job,
        kind: Kind,
        state: &'static str,
        seen: Seen,
    ) -> Closed {
        let error = Error {
            kind,
            state,
            retry: !seen.sent,
        };
        self.post(
            job.owner,
            exchange::Broken {
                error,
                answered: seen.answered,
            },
        );
        self.closed(Cause::Failed(kind))
    }

    /// The terminal state, with its reason in the trace.
    pub(crate) fn closed(&mut self, cause: Cause) -> Closed {
        *self.why = Some(Reason::Closed(cause));
        Closed { cause }
    }

    /// From a fresh connection that is ready to its first state of use.
    pub(crate) fn take_up<S, E>(&mut self, job: Job) -> Step<S, E>
    where
        S: Edge<E, Writing> + Edge<E, Held>,
    {
        self.bound(job);
        match job.request {
            true => Step::to(Writing::begin(job, self)),
            false => Step::to(Held::begin(job, self)),
        }
    }

    /// Tells the owner that the connection is ready.
    pub(crate) fn bound(&mut self, job: Job) {
        let (key, reused) = (self.link.key, self.link.reused);
        self.post(job.owner, exchange::Bound { key, reused });
    }
}

/// How far a request got, which decides whether it may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// A byte of the request was handed to the socket.
    pub(crate) sent: bool,
    /// A byte of a response came.
    pub(crate) answered: bool,
}

/// A connection's exchange as far as the connection's derived views need it.
pub(crate) type Owner<'a> = Option<&'a Facts>;

impl State {
    /// Whose connection this is.
    pub(crate) fn owner(&self) -> Option<Id> {
        match self {
            State::Resolving(s) => Some(s.job.owner),
            State::Connecting(s) => Some(s.job.owner),
            State::Handshaking(s) => Some(s.job.owner),
            State::Tunnelling(s) => Some(s.job.owner),
            State::Writing(s) => Some(s.job.owner),
            State::ReadingHead(s) => Some(s.job.owner),
            State::ReadingBody(s) => Some(s.job.owner),
            State::Held(s) => Some(s.owner),
            State::Pooled(_) | State::Closed(_) => None,
        }
    }

    /// What the state wants of its socket.
    pub(crate) fn interest(&self, owner: Owner<'_>) -> Interest {
        match self {
            State::Resolving(_) | State::Closed(_) => Interest {
                read: false,
                write: false,
            },
            State::Connecting(_) => Interest {
                read: false,
                write: true,
            },
            // Ciphertext is the driver's.
            State::Handshaking(_) => Interest {
                read: false,
                write: false,
            },
            State::Tunnelling(s) => Interest {
                read: true,
                write: s.upload.is_owed(),
            },
            State::Writing(s) => Interest {
                read: true,
                write: owner.is_some_and(|owner| owner.owes(s.sent)),
            },
            State::ReadingHead(s) => Interest {
                read: true,
                write: s.upload.owes(owner),
            },
            State::ReadingBody(s) => Interest {
                read: s.wants_more(owner),
                write: s.upload.owes(owner),
            },
            State::Pooled(_) | State::Held(_) => Interest {
                read: true,
                write: false,
            },
        }
    }

    /// When the state is over if nothing happens, and what that means.
    pub(crate) fn deadline(&self, owner: Owner<'_>) -> Option<(Instant, Due)> {
        match self {
            State::Resolving(s) => s.deadline(),
            State::Connecting(s) => s.deadline(),
            State::Handshaking(s) => s.deadline(),
            State::Tunnelling(s) => s.deadline(),
            State::Writing(s) => s.deadline(owner),
            State::ReadingHead(s) => s.deadline(owner),
            State::ReadingBody(s) => s.deadline(owner),
            State::Pooled(s) => s.deadline(),
            State::Held(_) | State::Closed(_) => None,
        }
    }

    /// How many bytes of the owner's request (or CONNECT) were handed to the socket, while some are owed.
    pub(crate) fn owed_from(&self) -> Option<usize> {
        match self {
            State::Writing(s) => Some(s.sent),
            State::Tunnelling(Tunnelling {
                upload: Upload::Owed { sent },
                ..
            })
            | State::ReadingHead(ReadingHead {
                upload: Upload::Owed { sent },
                ..
            })
            | State::ReadingBody(ReadingBody {
                upload: Upload::Owed { sent },
                ..
            }) => Some(*sent),
            State::Resolving(_)
            | State::Connecting(_)
            | State::Handshaking(_)
            | State::Tunnelling(_)
            | State::ReadingHead(_)
            | State::ReadingBody(_)
            | State::Pooled(_)
            | State::Held(_)
            | State::Closed(_) => None,
        }
    }

    /// Counts bytes handed to the socket. Not an event: only the last byte is.
    pub(crate) fn progress(&mut self, n: usize, now: Instant) {
        let (sent, since) = match self {
            State::Writing(s) => (&mut s.sent, Some(&mut s.since)),
            State::Tunnelling(Tunnelling {
                upload: Upload::Owed { sent },
                ..
            }) => (sent, None),
            State::ReadingHead(ReadingHead {
                upload: Upload::Owed { sent },
                since,
                ..
            })
            | State::ReadingBody(ReadingBody {
                upload: Upload::Owed { sent },
                since,
                ..
            }) => (sent, Some(since)),
            State::Resolving(_)
            | State::Connecting(_)
            | State::Handshaking(_)
            | State::Tunnelling(_)
            | State::ReadingHead(_)
            | State::ReadingBody(_)
            | State::Pooled(_)
            | State::Held(_)
            | State::Closed(_) => return,
        };
        *sent += n;
        if let Some(since) = since {
            *since = now;
        }
    }
}

impl Upload {
    pub(crate) fn is_owed(self) -> bool {
        matches!(self, Upload::Owed { .. })
    }

    /// Whether there are bytes to be sent now.
    #[inline]
    pub(crate) fn owes(self, owner: Owner<'_>) -> bool {
        match self {
            Upload::Owed { sent } => owner.is_some_and(|owner| owner.owes(sent)),
            Upload::Done | Upload::Lost(_) => false,
        }
    }

    /// What is due while the request is being sent: `Some` as long as it is. The send timeout runs
    /// between two bytes handed to the socket, not while there are none because the caller supplies
    /// them or leave is awaited.
    pub(crate) fn deadline(self, since: Instant, owner: &Facts) -> Option<Option<(Instant, Due)>> {
        let Upload::Owed { sent } = self else {
            return None;
        };
        if owner.owes(sent) {
            let due = since.max(owner.supplied).plus(owner.timeouts.send);
            return Some(due.map(|at| (at, Due::Budget(error::Why::Send))));
        }
        owner.goes_on().then_some(None)
    }
}
