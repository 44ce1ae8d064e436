//! After a panic that the driver caught: what was in the hands of a handler is lost, the rest goes on.

use alloc::vec::Vec;

use super::connection::{self, Cause, State as ConnectionState};
use super::error::{Aborted, Kind};
use super::event::Effect;
use super::exchange::{self, State};
use super::out::Post;
use super::{Engine, Id, Key};
use crate::time::Instant;

impl Engine {
    /// After a panic that the driver caught: what was in the hands of the handler is lost, the
    /// rest goes on. Without one it does nothing but order what is under way to be driven.
    pub fn recover(&mut self, now: Instant) {
        let keys: Vec<Key> = self.connections.keys().collect();
        let ids: Vec<Id> = self.exchanges.keys().collect();
        let (closed, ended) = self.panicked(&keys, &ids);
        self.out.posts.retain(|post| match post {
            Post::Connection(key, _) => !closed.contains(key),
            Post::Exchange(id, _) => !ended.contains(id),
            Post::Open { owner, .. } | Post::Redial { owner } => !ended.contains(owner),
        });
        for key in closed {
            if let Some(slot) = self.connections.get(key) {
                self.pool.remove(slot.link.shelf, key);
            }
            self.bury(key);
        }
        for id in ended {
            if let Some(slot) = self.exchanges.get(id) {
                self.pool.leave(slot.shelf, id);
            }
            // Its outcome stands. This wakes its caller and ends its connections.
            self.tell(id, exchange::Aborted(Aborted::Panicked));
        }
        self.run(now);
        self.end_abandoned(&keys, &ids, now);
        if let Some(id) = self.nameless.take() {
            self.tell(id, exchange::Aborted(Aborted::Panicked));
            self.run(now);
            self.forget(id);
        }
        let running = ids.iter().filter_map(|&id| self.exchanges.get(id));
        self.running = running.filter(|slot| !slot.state.is_done()).count();
        // Whatever was being moved when it happened, no second edge will come for it.
        for key in self.connections.keys() {
            self.out.effects.push_back(Effect::Drive { key });
        }
    }

    /// The slots whose handlers did not come back.
    fn panicked(&self, keys: &[Key], ids: &[Id]) -> (Vec<Key>, Vec<Id>) {
        let closed = keys.iter().copied().filter(|&key| {
            let state = self.connections.get(key).map(|slot| &slot.state);
            matches!(state, Some(ConnectionState::Closed(c)) if c.cause == Cause::Panicked)
        });
        let ended = ids.iter().copied().filter(|&id| {
            let slot = self.exchanges.get(id);
            slot.is_some_and(|slot| slot.state.has_panicked())
        });
        (closed.collect(), ended.collect())
    }

    /// A handler that did not come back has not told the other side of its slot.
    fn end_abandoned(&mut self, keys: &[Key], ids: &[Id], now: Instant) {
        for &key in keys {
            if self
                .connections
                .get(key)
                .is_some_and(|slot| !self.is_owned(slot))
            {
                let event = connection::Aborted(Aborted::Panicked);
                self.step_connection(key, event.into(), now);
            }
        }
        for &id in ids {
            let connections = &self.connections;
            if let Some(slot) = self.exchanges.get_mut(id) {
                let attempts = &mut slot.facts.attempts;
                attempts.retain(|&key| connections.get(key).is_some());
            }
            if self
                .exchanges
                .get(id)
                .is_some_and(|slot| !self.is_served(slot))
            {
                self.tell(id, exchange::Aborted(Aborted::Panicked));
            }
        }
        self.run(now);
    }

    /// Whether whoever the connection works for knows of it.
    fn is_owned(&self, slot: &connection::Slot) -> bool {
        let Some(owner) = slot.state.owner() else {
            return true;
        };
        self.exchanges.get(owner).is_some_and(|owner| {
            let mut keys = owner.facts.connection.iter().chain(&owner.facts.attempts);
            keys.any(|&key| key == slot.link.key)
        })
    }

    /// Whether some connection is to bring the exchange further.
    fn is_served(&self, slot: &exchange::Slot) -> bool {
        let lives = |key: &Key| self.connections.get(*key).is_some();
        match &slot.state {
            State::Queued(_) => false,
            State::Waiting(_) => true,
            State::Dialing(_) => !slot.facts.attempts.is_empty(),
            State::Sending(_) | State::Receiving(_) => slot.facts.connection.iter().any(lives),
            State::Done(_) => true,
        }
    }
}

impl State {
    /// Whether this is what a handler leaves that does not come back: no row leads there with an
    /// error of this state.
    fn has_panicked(&self) -> bool {
        let panicked = Kind::Aborted(Aborted::Panicked);
        match self {
            State::Done(done) => done
                .result
                .is_err_and(|error| error.kind == panicked && error.state == "Done"),
            State::Queued(_)
            | State::Waiting(_)
            | State::Dialing(_)
            | State::Sending(_)
            | State::Receiving(_) => false,
        }
    }
}
