//! One exchange: a request, the connections tried for it, and what came back.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::allowances::Allowance;
use super::connection::{self, After, Job};
use super::deadlines::Due;
use super::error::{self, Error, Kind, Why};
use super::event::Effect;
use super::gathered::Gathered;
use super::out::{Out, Post};
use super::pool::Shelf;
use super::{Collect, Id, Key, Life, Timeouts, Until};
use crate::http::fault::Limit;
use crate::http::framing::{Framing, NotReused};
use crate::http::head::{Head as ResponseHead, Section};
use crate::http::request::Encoded;
use crate::machine::Edge;
use crate::time::{Instant, earlier};
use crate::trace::Subject;

mod dialing;
mod done;
mod events;
mod queued;
mod receiving;
mod sending;
mod supply;
pub(crate) mod table;
mod waiting;

pub(crate) use dialing::Dialing;
pub(crate) use done::Done;
pub(crate) use events::*;
pub(crate) use queued::Queued;
pub(crate) use receiving::Receiving;
pub(crate) use sending::Sending;
pub use supply::Piece;
use supply::{Gate, Supply};
pub(crate) use table::{Always, Event, On, State, Step};
pub(crate) use waiting::Waiting;

/// So many unread bytes are held for a caller that pulls; then the peer has to wait.
pub(crate) const WINDOW: usize = 64 << 10;

/// What a recycled buffer may keep.
pub(crate) const KEPT: usize = 64 << 10;

/// What an exchange knows whatever its state. Boxed and recycled, with its buffers.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The request as sent: head and body, apart from what is withheld or still to be supplied, and
    /// from the first `dropped` bytes, which were sent and let go.
    pub(crate) wire: Vec<u8>,
    pub(crate) dropped: usize,
    pub(crate) supply: Supply,
    /// Body bytes that wait for leave.
    pub(crate) withheld: Vec<u8>,
    /// When body bytes last became free to be sent.
    pub(crate) supplied: Instant,
    /// CONNECT for a proxy, when there is one.
    pub(crate) connect_wire: Vec<u8>,
    pub(crate) encoded: Encoded,
    pub(crate) timeouts: Timeouts,
    /// Of a connection that is opened for it.
    pub(crate) life: Life,
    pub(crate) collect: Collect,
    /// What the response may cost.
    pub(crate) allowance: Allowance,
    /// So much of the body may come.
    pub(crate) most: u64,
    /// The length of the body, where the head says it.
    pub(crate) announced: u64,
    /// So much of the body has come.
    pub(crate) came: u64,
    /// The connection it is bound to.
    pub(crate) connection: Option<Key>,
    /// Connections being made for it.
    pub(crate) attempts: Vec<Key>,
    /// Addresses tried, in order, for whoever asks why there is no connection.
    pub(crate) tried: Vec<SocketAddr>,
    /// Addresses not tried yet.
    pub(crate) addresses: VecDeque<SocketAddr>,
    /// When connecting has to be over.
    pub(crate) connect_by: Option<Instant>,
    /// When everything has to be over.
    pub(crate) total_by: Option<Instant>,
    pub(crate) reused: u32,
    pub(crate) head: Option<Box<ResponseHead>>,
    pub(crate) trailers: Option<Box<Section>>,
    pub(crate) has_body: bool,
    pub(crate) body: Gathered,
    pub(crate) waiting: Option<(Until, Instant)>,
    /// The entry in the deadline heap.
    pub(crate) armed: Option<Instant>,
    pub(crate) serial: u32,
}

/// An exchange's place in the slab.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) state: State,
    pub(crate) id: Id,
    pub(crate) shelf: Shelf,
    /// What its connection is to do.
    pub(crate) request: bool,
    pub(crate) after: After,
    pub(crate) facts: Box<Facts>,
}

/// What a handler may touch: its own facts, and the queues.
pub(crate) struct Cx<'a> {
    pub(crate) now: Instant,
    pub(crate) id: Id,
    pub(crate) request: bool,
    pub(crate) facts: &'a mut Facts,
    pub(crate) out: &'a mut Out,
    /// The event cannot be in this state.
    pub(crate) impossible: bool,
}

impl Cx<'_> {
    /// Takes a ready connection into use.
    #[inline(always)]
    pub(super) fn take_up<S>(&mut self, event: &Bound) -> Step<S, Bound>
    where
        S: Edge<Bound, Sending> + Edge<Bound, Done>,
    {
        self.facts.bind(event);
        match self.request {
            true => Step::to(Sending::begin(self)),
            false => Step::to(Done::opened()),
        }
    }

    pub(crate) fn tell(&mut self, key: Key, event: impl Into<connection::Event>) {
        self.out.posts.push(Post::Connection(key, event.into()));
    }

    /// Another attempt; the name's addresses are asked for when there is none.
    pub(crate) fn open(&mut self, address: Option<SocketAddr>) {
        self.out.posts.push(Post::Open {
            owner: self.id,
            address,
        });
    }

    /// Ends everything that was begun for this exchange.
    pub(crate) fn drop_connections(&mut self, why: error::Aborted) {
        while let Some(key) = self.facts.attempts.pop() {
            self.tell(key, connection::Aborted(why));
        }
        if let Some(key) = self.facts.connection.take() {
            self.tell(key, connection::Aborted(why));
        }
    }
}

impl Slot {
    /// Whom a trace line is about.
    pub(crate) fn subject(&self) -> Subject {
        Subject {
            kind: 'e',
            serial: self.facts.serial,
        }
    }

    /// The work order for a connection.
    pub(crate) fn job(&self) -> Job {
        Job {
            owner: self.id,
            asked: self.facts.encoded.asked,
            request: self.request,
            after: self.after,
            allowance: self.facts.allowance,
        }
    }
}

impl Facts {
    /// Makes ready for another exchange; buffers keep a modest capacity. The rest becomes what it is
    /// by default, field by field: a whole new value would cost three times as much.
    pub(crate) fn clear(&mut self) {
        let Facts {
            wire,
            dropped,
            supply,
            withheld,
            supplied,
            connect_wire,
            encoded,
            timeouts,
            life,
            collect,
            allowance,
            most,
            announced,
            came,
            connection,
            attempts,
            tried,
            addresses,
            connect_by,
            total_by,
            reused,
            head,
            trailers,
            has_body,
            body,
            waiting,
            armed,
            serial,
        } = self;
        wire.clear();
        wire.shrink_to(KEPT);
        connect_wire.clear();
        withheld.clear();
        withheld.shrink_to(KEPT);
        (*dropped, *supply, *supplied) = Default::default();
        body.clear(KEPT);
        attempts.clear();
        tried.clear();
        addresses.clear();
        (*encoded, *timeouts, *life, *collect) = Default::default();
        (*most, *announced, *came) = (0, 0, 0);
        (*allowance, *reused, *serial) = (Allowance::default(), 0, 0);
        *has_body = false;
        (*connection, *connect_by, *total_by, *armed) = (None, None, None, None);
        (*head, *trailers, *waiting) = (None, None, None);
    }

    /// Starts the connect budget, unless it runs already.
    pub(crate) fn connect_within(&mut self, now: Instant) {
        if self.connect_by.is_none() {
            self.connect_by = now.plus(self.timeouts.connect);
        }
    }

    /// Body bytes that the caller has not taken.
    pub(crate) fn unread(&self) -> &[u8] {
        self.body.unread()
    }

    /// Whether the whole body is being gathered.
    pub(crate) fn gathers(&self) -> bool {
        self.collect == Collect::Whole || matches!(self.waiting, Some((Until::Done, _)))
    }

    /// Whether more of the body may be received.
    pub(crate) fn has_room(&self) -> bool {
        self.gathers() || self.unread().len() < WINDOW
    }

    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        match self.waiting {
            Some((_, since)) => Some(since),
            None if self.collect == Collect::Whole => Some(Instant(0)),
            None => None,
        }
    }
}

impl State {
    /// Whether there is an outcome.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, State::Done(_))
    }

    /// Whether it stands in a pool's queue.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self, State::Waiting(_))
    }

    /// Whether what a caller waits for has come.
    pub(crate) fn satisfies(&self, until: Until, facts: &Facts) -> bool {
        self.is_done()
            || match until {
                Until::Connected => false,
                Until::Done => self.wants_piece(facts),
                // Who still supplies does that first.
                Until::Head if facts.is_supplied() => self.wants_piece(facts),
                Until::Head => facts.head.is_some(),
                Until::Data => !facts.unread().is_empty(),
            }
    }

    /// What is due next.
    pub(crate) fn deadline(&self, facts: &Facts) -> Option<(Instant, Due)> {
        let total = facts.total_by.map(|at| (at, Due::Budget(Why::Total)));
        match self {
            State::Dialing(s) => earlier(total, s.next.map(|at| (at, Due::NextAddress))),
            State::Sending(s) => earlier(total, s.until.map(|at| (at, Due::Leave))),
            State::Waiting(_) => {
                let connect = facts.connect_by;
                earlier(total, connect.map(|at| (at, Due::Budget(Why::Connect))))
            }
            State::Queued(_) | State::Receiving(_) => total,
            State::Done(_) => None,
        }
    }
}

impl Always<Expired> for State {
    type To = Done;
    fn always(self, event: Expired, cx: &mut Cx<'_>) -> Done {
        self.give_up(Kind::Expired(event.0), error::Aborted::Caller, cx)
    }
}

impl Always<Aborted> for State {
    type To = Done;
    fn always(self, event: Aborted, cx: &mut Cx<'_>) -> Done {
        self.give_up(Kind::Aborted(event.0), event.0, cx)
    }
}

impl State {
    fn give_up(self, kind: Kind, why: error::Aborted, cx: &mut Cx<'_>) -> Done {
        let state = self.name();
        cx.drop_connections(why);
        match self {
            // An outcome stands; only what it left behind goes.
            State::Done(done) => done,
            State::Queued(_) | State::Waiting(_) | State::Dialing(_) => Done::failed(Error {
                kind,
                state,
                retry: true,
            }),
            State::Sending(_) | State::Receiving(_) => Done::failed(Error {
                kind,
                state,
                retry: false,
            }),
        }
    }
}
