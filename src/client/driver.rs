//! The driver's side: facts and bytes in, orders and bytes out, one deadline.

use alloc::vec::Vec;

use super::connection::{self, Found, State};
use super::deadlines::{Due, Who};
use super::error::Aborted;
use super::event::{Effect, Event, Interest};
use super::exchange;
use super::out::Post;
use super::{Engine, Id, Key};
use crate::time::Instant;

/// Room for received bytes. Moved to the driver and back, so no borrow is held across the read.
#[derive(Debug)]
pub struct Buf {
    bytes: Vec<u8>,
    /// Bytes before the room that are not the driver's.
    start: usize,
    /// How many bytes may be received.
    room: usize,
    home: Home,
}

/// Where a buffer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    Scratch,
    /// The body of that exchange: what is received needs no copy.
    Body(Id),
}

/// How much is received at once.
pub(super) const READ: usize = 64 << 10;

impl Buf {
    /// Where to receive to.
    pub fn spare(&mut self) -> &mut [u8] {
        let end = (self.start + self.room).min(self.bytes.len());
        &mut self.bytes[self.start..end]
    }
}

impl Engine {
    /// Takes in a fact about a connection.
    pub fn handle(&mut self, key: Key, event: Event<'_>, now: Instant) {
        if self.trace.has_facts() {
            self.trace_event(key, &event, now);
        }
        let event = match event {
            Event::Resolved(list) => return self.resolved(key, list, now),
            Event::Unresolved(e) => connection::Unresolved(e).into(),
            Event::Connected => connection::Connected.into(),
            Event::ConnectFailed(e) => connection::ConnectFailed(e).into(),
            Event::Handshaken => connection::Handshaken.into(),
            Event::HandshakeFailed(e) => connection::HandshakeFailed(e).into(),
            Event::Eof => connection::Eof.into(),
            Event::SendFailed(e) => connection::SendFailed(e).into(),
            Event::RecvFailed(e) => connection::RecvFailed(e).into(),
        };
        self.step_connection(key, event, now);
        self.run(now);
    }

    fn resolved(&mut self, key: Key, list: &[core::net::IpAddr], now: Instant) {
        let Some(slot) = self.connections.get(key) else {
            self.counters.stale += 1;
            return;
        };
        let port = self.pool.peer(slot.link.shelf).1;
        let owner = match &slot.state {
            State::Resolving(resolving) => Some(resolving.job.owner),
            _ => None,
        };
        let Some((&first, rest)) = list.split_first() else {
            let none = super::error::ResolveError::NotFound;
            return self.handle(key, Event::Unresolved(none), now);
        };
        self.step_connection(
            key,
            connection::Resolved {
                first: (first, port).into(),
            }
            .into(),
            now,
        );
        if let Some(owner) = owner {
            if let Some(slot) = self.exchanges.get_mut(owner) {
                slot.facts.tried.push((first, port).into());
            }
            let rest = rest.iter().map(|&ip| (ip, port).into()).collect();
            self.out
                .posts
                .push(Post::Exchange(owner, exchange::Resolved { rest }.into()));
        }
        self.run(now);
    }

    /// What the connection wants of its socket.
    #[inline]
    pub fn interest(&self, key: Key) -> Interest {
        self.connections
            .get(key)
            .map_or_else(Interest::default, |slot| {
                slot.state.interest(self.owner_of(&slot.state))
            })
    }

    /// The bytes owed to the peer; empty when none are.
    #[inline]
    pub fn output(&self, key: Key) -> &[u8] {
        let Some(slot) = self.connections.get(key) else {
            return &[];
        };
        let Some(from) = slot.state.owed_from() else {
            return &[];
        };
        let Some(facts) = self.owner_of(&slot.state) else {
            return &[];
        };
        match slot.state {
            State::Tunnelling(_) => facts.connect_wire.get(from..).unwrap_or_default(),
            _ => facts.owed(from),
        }
    }

    /// Whether a request is to begin on the connection. A driver that has just received from it
    /// receives again before it sends: what is left in the socket is no answer to that request.
    pub fn begins(&self, key: Key) -> bool {
        self.connections
            .get(key)
            .is_some_and(|slot| matches!(&slot.state, State::Writing(s) if s.sent == 0))
    }

    /// The first `n` bytes of [`Engine::output`] were handed to the socket.
    pub fn sent(&mut self, key: Key, n: usize, now: Instant) {
        if self.trace.has_facts() {
            self.trace_sent(key, now, n);
        }
        let left = self.output(key).len();
        let Some(slot) = self.connections.get_mut(key) else {
            self.counters.stale += 1;
            return;
        };
        slot.state.progress(n.min(left), now);
        if n < left || left == 0 {
            return;
        }
        if let (Some(owner), false) = (
            slot.state.owner(),
            matches!(slot.state, State::Tunnelling(_)),
        ) && let Some(slot) = self.exchanges.get_mut(owner)
            && !slot.facts.is_complete()
        {
            // More is still to come.
            slot.facts.let_go();
            return self.out.wake(slot);
        }
        self.step_connection(key, connection::Sent.into(), now);
        self.run(now);
    }

    /// Room to receive into; `None` when the connection wants nothing.
    pub fn input(&mut self, key: Key) -> Option<Buf> {
        let slot = self.connections.get(key)?;
        if !slot.state.interest(self.owner_of(&slot.state)).read {
            return None;
        }
        if let State::ReadingBody(s) = &slot.state {
            let (owner, room) = (s.job.owner, s.body.room_in_place());
            if room > 0 {
                return self.input_in_place(owner, room);
            }
        }
        let mut bytes = core::mem::take(&mut self.scratch);
        // Initialised once, when it is first used.
        bytes.resize(READ, 0);
        Some(Buf {
            bytes,
            start: 0,
            room: READ,
            home: Home::Scratch,
        })
    }

    /// The body's own buffer: its room is no more than the body still needs.
    fn input_in_place(&mut self, owner: Id, room: u64) -> Option<Buf> {
        let facts = &mut self.exchanges.get_mut(owner)?.facts;
        let unread = facts.unread().len();
        let window = if facts.gathers() {
            // Grows with what has come, never with what was announced. One byte past the limit
            // shows that it is passed.
            let allowed = facts.left().saturating_add(1);
            unread
                .max(READ)
                .min(usize::try_from(allowed).unwrap_or(usize::MAX))
        } else {
            exchange::WINDOW.saturating_sub(unread).max(1)
        };
        let room = window.min(usize::try_from(room).unwrap_or(usize::MAX));
        let (bytes, start) = facts.body.lend(room);
        Some(Buf {
            bytes,
            start,
            room,
            home: Home::Body(owner),
        })
    }

    /// `n` bytes were received into the room of `buf`.
    pub fn received(&mut self, key: Key, buf: Buf, n: usize, now: Instant) {
        let n = n.min(buf.room);
        if self.trace.has_facts() {
            self.trace_bytes(key, now, &buf.bytes[buf.start..buf.start + n]);
        }
        match buf.home {
            Home::Body(owner) => {
                let Some(slot) = self.exchanges.get_mut(owner) else {
                    return;
                };
                slot.facts.body.give_back(buf.bytes, n);
                slot.facts.came += n as u64;
                if n == 0 {
                    return;
                }
                if let Some(State::ReadingBody(s)) =
                    self.connections.get_mut(key).map(|c| &mut c.state)
                {
                    s.received_in_place(n, now);
                }
                self.gather(owner, &[], now);
                // A body that is complete says so without another byte.
                self.feed(key, &[], now);
            }
            Home::Scratch => {
                self.feed(key, &buf.bytes[..n], now);
                self.scratch = buf.bytes;
            }
        }
    }

    /// Gives back a buffer that nothing was received into.
    pub fn give_back(&mut self, key: Key, buf: Buf) {
        self.received(key, Buf { room: 0, ..buf }, 0, Instant(0));
    }

    /// Walks through received bytes: each thing they complete is an event of its own.
    fn feed(&mut self, key: Key, input: &[u8], now: Instant) {
        let mut at = 0;
        while let Some(slot) = self.connections.get_mut(key) {
            match slot.state.parse(input, &mut at, &mut self.out, now) {
                Some(Found::Event(event)) => {
                    self.step_connection(key, event, now);
                    self.run(now);
                }
                Some(Found::Body { owner, piece }) => self.gather(owner, &input[piece], now),
                None => break,
            }
        }
    }

    /// Body bytes for an exchange, which may be what its caller waits for, or too much.
    fn gather(&mut self, owner: Id, piece: &[u8], now: Instant) {
        let Some(slot) = self.exchanges.get_mut(owner) else {
            return;
        };
        slot.facts.gather(piece);
        if slot.facts.fits() {
            self.out.wake(slot);
        } else {
            self.tell(owner, exchange::Overflown);
            self.run(now);
        }
    }

    /// The next order.
    #[inline]
    pub fn poll(&mut self) -> Option<Effect> {
        self.out.effects.pop_front()
    }

    /// Whether [`Engine::poll`] has an order.
    #[inline]
    pub fn has_orders(&self) -> bool {
        !self.out.effects.is_empty()
    }

    /// Whom the connection talks to: what [`Effect::Resolve`] asks for.
    pub fn host(&self, key: Key) -> Option<&[u8]> {
        self.connections
            .get(key)
            .map(|slot| self.pool.peer(slot.link.shelf).0)
    }

    /// Whose connection it is: the exchange that it is made for, or works for.
    pub fn owner(&self, key: Key) -> Option<Id> {
        self.connections.get(key)?.state.owner()
    }

    /// Whether the connection is idle in the pool.
    pub fn pooled(&self, key: Key) -> bool {
        self.connections
            .get(key)
            .is_some_and(|slot| matches!(slot.state, State::Pooled(_)))
    }

    /// When [`Engine::expire`] should be called. May be earlier than anything is due, never later.
    #[inline]
    pub fn deadline(&mut self) -> Option<Instant> {
        self.arm_touched();
        self.deadlines.next()
    }

    /// Carries out what is due.
    pub fn expire(&mut self, now: Instant) {
        self.arm_touched();
        while let Some((at, who)) = self.deadlines.pop(now) {
            let (armed, due) = match who {
                Who::Connection(key) => {
                    let Some(slot) = self.connections.get_mut(key) else {
                        continue;
                    };
                    let armed = slot.link.armed;
                    if armed == Some(at) {
                        slot.link.armed = None;
                    }
                    (armed, self.due_of(who))
                }
                Who::Exchange(id) => {
                    let Some(slot) = self.exchanges.get_mut(id) else {
                        continue;
                    };
                    let armed = slot.facts.armed;
                    if armed == Some(at) {
                        slot.facts.armed = None;
                    }
                    (armed, self.due_of(who))
                }
            };
            if armed != Some(at) {
                continue;
            }
            match due {
                Some((when, due)) if when <= now => self.expired(who, due, now),
                _ => self.arm(who),
            }
        }
    }

    fn expired(&mut self, who: Who, due: Due, now: Instant) {
        if self.trace.has_facts() {
            match who {
                Who::Connection(key) => self.trace_fact(key, now, "expired", ""),
                Who::Exchange(id) => self.trace_exchange_fact(id, now, "expired", ""),
            }
        }
        match (who, due) {
            (Who::Connection(key), due) => {
                self.step_connection(key, connection::Expired(due).into(), now)
            }
            (Who::Exchange(id), Due::NextAddress | Due::Leave) => self.tell(id, exchange::Waited),
            (Who::Exchange(id), Due::Budget(why)) => self.tell(id, exchange::Expired(why)),
            // Only connections idle.
            (Who::Exchange(_), Due::Idle | Due::Over(_)) => {}
        }
        self.run(now);
        // A wait that is over is not all that is due, and what its connection waits for may be new.
        self.arm(who);
        if let Who::Exchange(id) = who
            && let Some(key) = self.exchanges.get(id).and_then(|s| s.facts.connection)
        {
            self.arm_connection(key);
        }
    }

    /// The worker closes this connection now, whatever it does.
    pub fn shut(&mut self, key: Key, now: Instant) {
        if self.trace.has_facts() {
            self.trace_fact(key, now, "shut", "");
        }
        self.step_connection(key, connection::Aborted(Aborted::Shutdown).into(), now);
        self.run(now);
    }

    /// Ends everything: the worker is leaving.
    pub fn shutdown(&mut self, now: Instant) {
        let exchanges: Vec<Id> = self.exchanges.keys().collect();
        for id in exchanges {
            if self.trace.has_facts() {
                self.trace_exchange_fact(id, now, "shutdown", "");
            }
            self.tell(id, exchange::Aborted(Aborted::Shutdown));
            self.run(now);
        }
        let connections: Vec<Key> = self.connections.keys().collect();
        for key in connections {
            self.shut(key, now);
        }
    }
}
