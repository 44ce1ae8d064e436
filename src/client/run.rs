//! The two tables at work: one step at a time, and the queue between the slots.

use core::net::SocketAddr;

use super::connection::{self, Connecting, Link, Resolving, State};
use super::deadlines::{Due, Who};
use super::error::{Aborted, Error, Kind, SocketError};
use super::event::Effect;
use super::exchange::{self, Facts};
use super::out::Post;
use super::target::is_unix;
use super::{Engine, Id, Key};
use crate::machine::Description;
use crate::time::Instant;
use crate::trace::Subject;

impl Engine {
    /// Looks at the deadlines of the slots that were touched last.
    #[inline]
    pub(super) fn arm_touched(&mut self) {
        if let Some(key) = self.touched.0.take() {
            self.arm_connection(key);
        }
        if let Some(id) = self.touched.1.take() {
            self.arm_exchange(id);
        }
    }

    /// Posts news for an exchange.
    pub(super) fn tell(&mut self, id: Id, event: impl Into<exchange::Event>) {
        self.out.posts.push(Post::Exchange(id, event.into()));
    }

    /// Carries out what handlers have posted, until nothing is left.
    #[inline]
    pub(super) fn run(&mut self, now: Instant) {
        if !self.out.posts.is_empty() || !self.vacant.is_empty() {
            self.deliver(now);
        }
    }

    /// The part of [`Self::run`] that has something to do.
    #[inline(never)]
    fn deliver(&mut self, now: Instant) {
        loop {
            while !self.out.posts.is_empty()
                && let Some(post) = self.out.posts.pop()
            {
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
            // Nothing else is left to do: those who wait for connections are served.
            let Some(shelf) = self.vacant.pop() else {
                return;
            };
            self.serve(shelf, now);
        }
    }

    /// The connection's deadline may have moved. Nearly always one is touched many times in a row.
    #[inline]
    fn touch_connection(&mut self, key: Key) {
        if let Some(other) = self.touched.0.replace(key)
            && other != key
        {
            self.arm_connection(other);
        }
    }

    #[inline]
    fn touch_exchange(&mut self, id: Id) {
        if let Some(other) = self.touched.1.replace(id)
            && other != id
        {
            self.arm_exchange(other);
        }
    }

    /// Runs one row of the connection table.
    pub(super) fn step_connection(&mut self, key: Key, event: connection::Event, now: Instant) {
        let Some(slot) = self.connections.get_mut(key) else {
            self.counters.stale += 1;
            return;
        };
        let mark = self.out.effects.len();
        let from = slot.state.index();
        let was_pooled = matches!(slot.state, State::Pooled(_));
        let mut why = None;
        let mut cx = connection::Cx {
            now,
            link: &mut slot.link,
            out: &mut self.out,
            why: &mut why,
            impossible: false,
        };
        #[cfg(feature = "sim")]
        blow(&mut slot.state);
        let on = State::step_in(&mut slot.state, event, &mut cx);
        #[cfg(feature = "sim")]
        blow(&mut slot.state);
        let impossible = cx.impossible;
        let (to, shelf) = (slot.state.index(), slot.link.shelf);
        let (is_pooled, is_closed) = (
            matches!(slot.state, State::Pooled(_)),
            matches!(slot.state, State::Closed(_)),
        );
        let subject = slot.link.subject();
        if impossible {
            return self.impossible(key, subject, from, on, now);
        }
        #[cfg(feature = "sim")]
        walked("connection", &State::DESCRIPTION, from, on, to);
        if from != to {
            self.trace.remember(now, subject, from, to);
            if was_pooled && is_closed {
                // Any other end of idleness is a claim, which has taken it off its shelf already.
                self.pool.remove(shelf, key);
            }
            if is_pooled {
                self.park(shelf, key);
            }
        }
        if self.trace.is_on() {
            self.trace_connection(key, subject, (from, to), why, mark, now);
        }
        match is_closed {
            true => self.bury(key),
            false => self.touch_connection(key),
        }
    }

    /// Runs one row of the exchange table. Whoever is not [`Self::deliver`] posts the event.
    #[inline(always)]
    fn step_exchange(&mut self, id: Id, event: exchange::Event, now: Instant) {
        let Some(slot) = self.exchanges.get_mut(id) else {
            self.counters.stale += 1;
            return;
        };
        let (from, was_done) = (slot.state.index(), slot.state.is_done());
        let was_waiting = slot.state.is_waiting();
        let mut cx = exchange::Cx {
            now,
            id,
            request: slot.request,
            facts: &mut slot.facts,
            out: &mut self.out,
            impossible: false,
        };
        #[cfg(feature = "sim")]
        blow(&mut slot.state);
        let on = exchange::State::step_in(&mut slot.state, event, &mut cx);
        #[cfg(feature = "sim")]
        blow(&mut slot.state);
        let impossible = cx.impossible;
        let (to, is_done) = (slot.state.index(), slot.state.is_done());
        let (is_waiting, shelf) = (slot.state.is_waiting(), slot.shelf);
        // A dialling exchange plans the next address anew with each step.
        let due = (from != to || matches!(slot.state, exchange::State::Dialing(_)))
            && slot.state.deadline(&slot.facts).is_some();
        let subject = slot.subject();
        self.out.wake(slot);
        if impossible {
            return self.impossible_exchange(id, subject, from, on);
        }
        #[cfg(feature = "sim")]
        walked("exchange", &exchange::State::DESCRIPTION, from, on, to);
        if from != to {
            self.trace.remember(now, subject, from, to);
            if is_done && !was_done {
                self.running -= 1;
            }
            if is_waiting {
                self.pool.wait(shelf, id);
            } else if was_waiting {
                self.pool.leave(shelf, id);
            }
        }
        if self.trace.is_on() {
            self.trace_exchange(id, subject, (from, on, to), now);
        }
        if due {
            self.touch_exchange(id);
        }
    }

    /// Makes a connection slot and gives the first order for it.
    #[inline(never)]
    fn open(&mut self, owner: Id, address: Option<SocketAddr>, now: Instant) {
        let Some(slot) = self.exchanges.get_mut(owner) else {
            return;
        };
        let (job, by, shelf) = (slot.job(), slot.facts.connect_by, slot.shelf);
        let life = slot.facts.life.or(self.config.life);
        let target = self.pool.target(shelf);
        let (tls, tunnel) = (
            target.scheme == super::Scheme::Https,
            target.proxy.is_some(),
        );
        let unix = is_unix(self.pool.peer(shelf).0);
        let state = match address {
            None if !unix => Resolving { job, by }.into(),
            Some(_) | None => Connecting { job, by }.into(),
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
                requests_left: life.requests(),
                old_at: now.plus(life.time),
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
            return self.out.posts.push(Post::Exchange(
                owner,
                exchange::AttemptFailed { key, error }.into(),
            ));
        };
        slot.facts.attempts.push(key);
        slot.facts.tried.extend(address);
        self.serials.0 += 1;
        self.counters.opened += 1;
        self.pool.opened(shelf);
        let mark = self.out.effects.len();
        self.out.effects.push_back(match address {
            Some(address) => Effect::Connect { key, address },
            None if unix => Effect::ConnectUnix { key },
            None => Effect::Resolve { key },
        });
        if self.trace.is_on() {
            let subject = Subject { kind: 'c', serial };
            self.trace_open(key, subject, mark, now);
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
        match who {
            Who::Connection(key) => self.arm_connection(key),
            Who::Exchange(id) => self.arm_exchange(id),
        }
    }

    pub(super) fn arm_connection(&mut self, key: Key) {
        let Some(slot) = self.connections.get_mut(key) else {
            return;
        };
        let owner = slot.state.owner().and_then(|id| self.exchanges.get(id));
        if let Some((due, _)) = slot.state.deadline(owner.map(|owner| &*owner.facts)) {
            let who = Who::Connection(key);
            if self.deadlines.arm(who, due, &mut slot.link.armed) {
                self.sweep();
            }
        }
    }

    pub(super) fn arm_exchange(&mut self, id: Id) {
        let Some(slot) = self.exchanges.get_mut(id) else {
            return;
        };
        if let Some((due, _)) = slot.state.deadline(&slot.facts) {
            let who = Who::Exchange(id);
            if self.deadlines.arm(who, due, &mut slot.facts.armed) {
                self.sweep();
            }
        }
    }

    /// Drops the deadlines of slots that are gone, when that pays.
    #[inline(never)]
    fn sweep(&mut self) {
        let Engine {
            deadlines,
            connections,
            exchanges,
            ..
        } = self;
        if !deadlines.is_stale(connections.len() + exchanges.len()) {
            return;
        }
        deadlines.sweep(|at, who| match who {
            Who::Connection(key) => connections
                .get(key)
                .is_some_and(|slot| slot.link.armed == Some(at)),
            Who::Exchange(id) => exchanges
                .get(id)
                .is_some_and(|slot| slot.facts.armed == Some(at)),
        });
    }

    /// A fact that cannot be: the driver is wrong. The connection is given up, the worker lives.
    #[cold]
    #[inline(never)]
    fn impossible(&mut self, key: Key, who: Subject, state: u8, event: u8, now: Instant) {
        self.complain(who, &State::DESCRIPTION, state, event);
        self.step_connection(key, connection::Aborted(Aborted::Panicked).into(), now);
    }

    #[cold]
    #[inline(never)]
    fn impossible_exchange(&mut self, id: Id, who: Subject, state: u8, event: u8) {
        self.complain(who, &exchange::State::DESCRIPTION, state, event);
        self.tell(id, exchange::Aborted(Aborted::Panicked));
    }

    fn complain(&mut self, who: Subject, table: &Description, state: u8, event: u8) {
        self.counters.impossible += 1;
        let tail = self.trace.tail(who, table.states);
        let (state, event) = (table.state(state), table.event(event));
        let text = alloc::format!(
            "impossible event {event} in state {state} of {}{}: {tail}",
            who.kind,
            who.serial
        );
        assert!(!self.config.strict, "{text}");
        self.alerts.push_back(text);
    }
}

/// Notes that a row was walked.
#[cfg(feature = "sim")]
fn walked(machine: &'static str, table: &Description, from: u8, on: u8, to: u8) {
    let (from, on, to) = (table.state(from), table.event(on), table.state(to));
    crate::sim::coverage::walked(machine, from, on, to);
}

/// Leaves the slot as a handler leaves it that does not come back, should the fuse blow.
#[cfg(feature = "sim")]
fn blow<S, P: crate::machine::Place<S>>(place: &mut P) {
    crate::sim::coverage::burn(|| drop(place.take()));
}
