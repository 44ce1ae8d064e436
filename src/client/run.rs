//! The two tables at work: one step at a time, and the queue between the slots.

use core::net::SocketAddr;

use super::connection::{self, Cause, Closed, Connecting, Link, Resolving, State, StateTag};
use super::deadlines::{Due, Who};
use super::error::{Aborted, Error, Kind, SocketError};
use super::event::Effect;
use super::exchange::{self, Done, Facts, StateTag as Tag};
use super::out::Post;
use super::pool::Shelf;
use super::{Engine, Id, Key};
use crate::time::Instant;
use crate::trace::Subject;

impl Engine {
    /// Carries out what handlers have posted, until nothing is left, and looks at the deadlines of
    /// the slots that were touched.
    pub(super) fn run(&mut self, now: Instant) {
        self.drain(now);
        if let Some(key) = self.touched.0.take() {
            self.arm(Who::Connection(key));
        }
        if let Some(id) = self.touched.1.take() {
            self.arm(Who::Exchange(id));
        }
    }

    /// Carries out what handlers have posted, until nothing is left.
    pub(super) fn drain(&mut self, now: Instant) {
        while let Some(post) = self.out.posts.pop_front() {
            match post {
                Post::Connection(key, event) => self.step_connection(key, event, now),
                Post::Exchange(id, event) => self.step_exchange(id, event, now),
                Post::Open { owner, address } => self.open(owner, address, now),
                Post::Redial { owner } => {
                    self.counters.retried += 1;
                    self.dial(owner, now);
                }
            }
        }
    }

    /// The connection's deadline may have moved. Nearly always one is touched many times in a row.
    #[inline]
    fn touch_connection(&mut self, key: Key) {
        if let Some(other) = self.touched.0.replace(key)
            && other != key
        {
            self.arm(Who::Connection(other));
        }
    }

    #[inline]
    fn touch_exchange(&mut self, id: Id) {
        if let Some(other) = self.touched.1.replace(id)
            && other != id
        {
            self.arm(Who::Exchange(other));
        }
    }

    /// Runs one row of the connection table.
    pub(super) fn step_connection(&mut self, key: Key, event: connection::Event, now: Instant) {
        let Some(slot) = self.connections.get_mut(key) else {
            self.counters.stale += 1;
            return;
        };
        let mark = self.out.effects.len();
        let (from, on) = (slot.state.tag(), event.tag());
        // While the handler runs the slot says that it did not come back.
        let meanwhile = State::Closed(Closed {
            cause: Cause::Panicked,
        });
        let mut cx = connection::Cx {
            now,
            link: &mut slot.link,
            out: &mut self.out,
            why: None,
            impossible: false,
        };
        slot.state.step(event, meanwhile, &mut cx);
        let (why, impossible) = (cx.why, cx.impossible);
        let to = slot.state.tag();
        let (shelf, serial) = (slot.link.shelf, slot.link.serial);
        let subject = Subject { kind: 'c', serial };
        if impossible {
            return self.impossible(key, subject, from, on, now);
        }
        #[cfg(feature = "sim")]
        crate::sim::coverage::walked("connection", from.name(), on.name(), to.name());
        if from != to {
            self.trace.moved(now, subject, from.name(), to.name(), why);
            self.placed(key, shelf, from == StateTag::Pooled, to == StateTag::Pooled);
        }
        if self.trace.is_on() {
            self.trace_orders(mark, subject, now);
        }
        match to {
            StateTag::Closed => self.bury(key),
            _ => self.touch_connection(key),
        }
    }

    /// Keeps the pool's shelves in step with the states: a pooled connection is on one.
    fn placed(&mut self, key: Key, shelf: Shelf, was_pooled: bool, is_pooled: bool) {
        if was_pooled {
            // A claim has taken it off already.
            self.pool.remove(shelf, key);
        }
        if is_pooled && let Some(evicted) = self.pool.park(shelf, key) {
            self.out
                .posts
                .push_back(Post::Connection(evicted, connection::Evicted.into()));
        }
    }

    /// Closes the socket of a connection that is over, and frees its slot.
    pub(super) fn bury(&mut self, key: Key) {
        if let Some(slot) = self.connections.remove(key) {
            self.pool.drop_user(slot.link.shelf);
            self.out.effects.push_back(Effect::Close { key });
        }
    }

    /// Runs one row of the exchange table.
    pub(super) fn step_exchange(&mut self, id: Id, event: exchange::Event, now: Instant) {
        let Some(slot) = self.exchanges.get_mut(id) else {
            self.counters.stale += 1;
            return;
        };
        let panicked = Error {
            kind: Kind::Aborted(Aborted::Panicked),
            state: "Done",
            retry: false,
        };
        let (from, on) = (slot.state.tag(), event.tag());
        let mut cx = exchange::Cx {
            now,
            id,
            request: slot.request,
            facts: &mut slot.facts,
            out: &mut self.out,
            impossible: false,
        };
        let meanwhile = Done::failed(panicked).into();
        slot.state.step(event, meanwhile, &mut cx);
        let impossible = cx.impossible;
        let to = slot.state.tag();
        let (was_done, is_done) = (from == Tag::Done, to == Tag::Done);
        // A dialling exchange plans the next address anew with each step.
        let due =
            (from != to || to == Tag::Dialing) && slot.state.deadline(&slot.facts).is_some();
        let subject = Subject {
            kind: 'e',
            serial: slot.facts.serial,
        };
        self.out.wake(slot);
        if impossible {
            return self.impossible_exchange(id, subject, from, on, now);
        }
        #[cfg(feature = "sim")]
        crate::sim::coverage::walked("exchange", from.name(), on.name(), to.name());
        if !was_done && is_done {
            self.running -= 1;
        }
        if from != to {
            self.trace
                .moved(now, subject, from.name(), to.name(), None::<&str>);
        }
        if self.trace.is_on() {
            self.trace_result(id, subject, on, was_done, now);
        }
        if due {
            self.touch_exchange(id);
        }
    }

    /// Makes a connection slot and gives the first order for it.
    fn open(&mut self, owner: Id, address: Option<SocketAddr>, now: Instant) {
        let Some(slot) = self.exchanges.get_mut(owner) else {
            return;
        };
        let (job, by, shelf) = (slot.job(), slot.facts.connect_by, slot.shelf);
        let target = self.pool.target(shelf);
        let (tls, tunnel) = (
            target.scheme == super::Scheme::Https,
            target.proxy.is_some(),
        );
        let state = match address {
            Some(_) => Connecting { job, by }.into(),
            None => Resolving { job, by }.into(),
        };
        let serial = self.serials.0;
        let made = self.connections.insert_with(|key| connection::Slot {
            state,
            link: Link {
                key,
                serial,
                shelf,
                tls,
                tunnel,
                reused: 0,
                armed: None,
            },
        });
        let Some(key) = made else {
            let kind = Kind::Connect(SocketError::NoConnections);
            // The exchange has no such attempt, and takes the news all the same.
            let key = Key::from_bits(u64::MAX).unwrap_or_else(|| unreachable!("not zero"));
            let error = Error {
                kind,
                state: "Dialing",
                retry: true,
            };
            return self.out.posts.push_back(Post::Exchange(
                owner,
                exchange::AttemptFailed { key, error }.into(),
            ));
        };
        slot.facts.attempts.push(key);
        self.serials.0 += 1;
        self.counters.opened += 1;
        self.pool.hold(shelf);
        let mark = self.out.effects.len();
        self.out.effects.push_back(match address {
            Some(address) => Effect::Connect { key, address },
            None => Effect::Resolve { key },
        });
        if self.trace.is_on() {
            self.trace_orders(mark, Subject { kind: 'c', serial }, now);
        }
        self.touch_connection(key);
    }

    pub(super) fn owner_of(&self, state: &State) -> Option<&Facts> {
        self.exchanges.get(state.owner()?).map(|slot| &*slot.facts)
    }

    /// What is due for a slot, computed from its state.
    pub(super) fn due_of(&self, who: Who) -> Option<(Instant, Due)> {
        match who {
            Who::Connection(key) => {
                let state = &self.connections.get(key)?.state;
                state.deadline(self.owner_of(state))
            }
            Who::Exchange(id) => {
                let slot = self.exchanges.get(id)?;
                slot.state.deadline(&slot.facts)
            }
        }
    }

    /// Makes sure that the slot is looked at when something is due for it.
    pub(super) fn arm(&mut self, who: Who) {
        let Some((due, _)) = self.due_of(who) else {
            return;
        };
        let armed = match who {
            Who::Connection(key) => self
                .connections
                .get_mut(key)
                .map(|slot| &mut slot.link.armed),
            Who::Exchange(id) => self.exchanges.get_mut(id).map(|slot| &mut slot.facts.armed),
        };
        if let Some(armed) = armed {
            self.deadlines.arm(who, due, armed);
        }
        if self
            .deadlines
            .is_stale(self.connections.len() + self.exchanges.len())
        {
            let Engine {
                deadlines,
                connections,
                exchanges,
                ..
            } = self;
            deadlines.sweep(|at, who| match who {
                Who::Connection(key) => connections
                    .get(key)
                    .is_some_and(|slot| slot.link.armed == Some(at)),
                Who::Exchange(id) => exchanges
                    .get(id)
                    .is_some_and(|slot| slot.facts.armed == Some(at)),
            });
        }
    }

    /// A fact that cannot be: the driver is wrong. The connection is given up, the worker lives.
    fn impossible(
        &mut self,
        key: Key,
        who: Subject,
        state: StateTag,
        event: connection::EventTag,
        now: Instant,
    ) {
        self.complain(who, state.name(), event.name());
        self.step_connection(key, connection::Aborted(Aborted::Panicked).into(), now);
    }

    fn impossible_exchange(
        &mut self,
        id: Id,
        who: Subject,
        state: exchange::StateTag,
        event: exchange::EventTag,
        now: Instant,
    ) {
        self.complain(who, state.name(), event.name());
        self.step_exchange(id, exchange::Aborted(Aborted::Panicked).into(), now);
    }

    fn complain(&mut self, who: Subject, state: &'static str, event: &'static str) {
        self.counters.impossible += 1;
        let tail = self.trace.tail(who);
        let text = alloc::format!(
            "impossible event {event} in state {state} of {}{}: {tail}",
            who.kind,
            who.serial
        );
        assert!(!self.config.strict, "{text}");
        self.alerts.push_back(text);
    }

    /// Traces the orders given since `mark`. Drives and wakes depend on how bytes were cut.
    fn trace_orders(&mut self, mark: usize, who: Subject, now: Instant) {
        for effect in self.out.effects.iter().skip(mark) {
            match effect {
                Effect::Resolve { key } => {
                    let shelf = self.connections.get(*key).map(|slot| slot.link.shelf);
                    let host = shelf.map(|s| {
                        alloc::string::String::from_utf8_lossy(self.pool.peer(s).0).into_owned()
                    });
                    self.trace.line(
                        now,
                        who,
                        '<',
                        format_args!("resolve   {}", host.unwrap_or_default()),
                    );
                }
                Effect::Connect { address, .. } => {
                    self.trace
                        .line(now, who, '<', format_args!("connect   {address}"));
                }
                Effect::Handshake { .. } => {
                    self.trace.line(now, who, '<', format_args!("handshake"))
                }
                Effect::Drive { .. } | Effect::Close { .. } | Effect::Wake { .. } => {}
            }
        }
    }

    /// Traces what the caller will see.
    fn trace_result(
        &mut self,
        id: Id,
        who: Subject,
        on: exchange::EventTag,
        was_done: bool,
        now: Instant,
    ) {
        let Engine {
            exchanges, trace, ..
        } = self;
        let Some(slot) = exchanges.get(id) else {
            return;
        };
        if on == exchange::EventTag::Head
            && let Some(head) = &slot.facts.head
        {
            let (status, minor, lines) = (head.status, head.minor, head.fields.len());
            trace.line(
                now,
                who,
                '<',
                format_args!("head      {status} HTTP/1.{minor} {lines} lines"),
            );
        }
        let exchange::State::Done(done) = &slot.state else {
            return;
        };
        if was_done {
            return;
        }
        match done.result {
            Err(error) => trace.line(
                now,
                who,
                '<',
                format_args!("failed    {error} in {}", error.state),
            ),
            Ok(()) if slot.request => {
                let trailers = slot.facts.trailers.as_ref().map_or(0, |t| t.len());
                trace.line(now, who, '<', format_args!("end       {trailers} trailers"));
            }
            Ok(()) => trace.line(now, who, '<', format_args!("connected")),
        }
    }
}

impl exchange::Slot {
    /// Whether it waits for a connection that no longer is.
    pub(super) fn is_orphan(&self, gone: &[Key]) -> bool {
        let mut keys = self.facts.connection.iter().chain(&self.facts.attempts);
        !self.state.is_done() && keys.any(|key| gone.contains(key))
    }
}
