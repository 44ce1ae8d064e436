//! Whence an exchange gets its connection: an idle one of the same origin, or a fresh one, perhaps
//! after a wait; and what becomes of a connection that is idle, or over.

use core::net::SocketAddr;

use super::connection::{self, Job, Pooled, State};
use super::event::Effect;
use super::out::Post;
use super::pool::{Place, Shelf};
use super::target::known;
use super::{Engine, Id, Key, exchange};
use crate::http::authority::Authority;
use crate::http::request::encode_connect;
use crate::time::Instant;

impl Engine {
    /// An idle connection of the same origin, or a new one, or a wait for either.
    pub(super) fn start(&mut self, id: Id, now: Instant) {
        let Some(slot) = self.exchanges.get(id) else {
            return;
        };
        let (job, shelf) = (slot.job(), slot.shelf);
        match self.claim(shelf, now) {
            Some(key) => self.bind(key, job),
            None => match self.pool.place(shelf) {
                Some(place) => self.dial_in(id, place, now),
                None if self.pool.may_wait(shelf) => self
                    .out
                    .posts
                    .push(Post::Exchange(id, exchange::Full.into())),
                None => self
                    .out
                    .posts
                    .push(Post::Exchange(id, exchange::Refused.into())),
            },
        }
        self.run(now);
    }

    /// Puts a connection that has become idle on its shelf, where another may have to make room.
    pub(super) fn park(&mut self, shelf: Shelf, key: Key) {
        let parked = self.pool.park(shelf, key);
        if let Some(evicted) = parked.evicted {
            self.out
                .posts
                .push(Post::Connection(evicted, connection::Evicted.into()));
        }
        if parked.awaited {
            self.vacant.push(shelf);
        }
    }

    /// Closes the socket of a connection that is over, and frees its slot.
    pub(super) fn bury(&mut self, key: Key) {
        if let Some(slot) = self.connections.remove(key) {
            let (shelf, cause) = (slot.link.shelf, slot.state.cause());
            self.pool.closed(shelf, cause.into());
            self.out.effects.push_back(Effect::Close { key });
            self.vacate(shelf);
        }
    }

    /// Has those who wait looked at, if there are any: a connection is idle, or there is one less.
    pub(super) fn vacate(&mut self, shelf: Shelf) {
        if self.pool.first(shelf).is_some() {
            self.vacant.push(shelf);
        }
    }

    /// Gives who waits longest in the pool of `shelf` a connection, if there is one or room for it.
    #[cold]
    pub(super) fn serve(&mut self, shelf: Shelf, now: Instant) {
        let Some(id) = self.pool.first(shelf) else {
            return;
        };
        match self.exchanges.get(id) {
            Some(slot) if slot.state.is_waiting() => {
                let (job, own) = (slot.job(), slot.shelf);
                if let Some(key) = self.claim(own, now) {
                    self.bind(key, job);
                } else if let Some(place) = self.pool.place(own) {
                    self.dial_in(id, place, now);
                } else {
                    return;
                }
            }
            // A handler that did not come back has left it there.
            Some(_) | None => self.pool.leave(shelf, id),
        }
        // There may be something for the next one.
        self.vacate(shelf);
    }

    /// Gives an idle connection, which is off its shelf, to an exchange.
    fn bind(&mut self, key: Key, job: Job) {
        self.counters.reused += 1;
        self.out
            .posts
            .push(Post::Connection(key, connection::Claimed { job }.into()));
    }

    /// Makes a fresh connection, for which an idle one may have to go.
    fn dial_in(&mut self, id: Id, place: Place, now: Instant) {
        match place {
            Place::Free => {}
            Place::Of(key) => self
                .out
                .posts
                .push(Post::Connection(key, connection::Evicted.into())),
        }
        self.dial(id, now);
    }

    /// An idle connection that may still be used. What is over and was not looked at yet, is now.
    #[inline]
    fn claim(&mut self, shelf: Shelf, now: Instant) -> Option<Key> {
        loop {
            let connections = &self.connections;
            let pooled = |key| match connections.get(key).map(|slot| &slot.state) {
                Some(State::Pooled(pooled)) => Some(pooled),
                Some(_) | None => None,
            };
            let fresh = |key| pooled(key).is_some_and(|pooled| pooled.is_fresh(now));
            match self.pool.claim(shelf, fresh)? {
                Ok(key) => return Some(key),
                Err(key) => {
                    if let Some((_, due)) = pooled(key).and_then(Pooled::deadline) {
                        self.step_connection(key, connection::Expired(due).into(), now);
                    }
                }
            }
        }
    }

    /// Makes a fresh connection for an exchange that is `Queued` or `Waiting`.
    pub(super) fn dial(&mut self, id: Id, now: Instant) {
        let Some(slot) = self.exchanges.get_mut(id) else {
            return;
        };
        // Who has waited has used up some of it.
        slot.facts.connect_within(now);
        let target = self.pool.target(slot.shelf);
        if target.proxy.is_some() {
            let (host, port) = (target.host, Some(target.port));
            slot.facts.connect_wire.clear();
            encode_connect(&mut slot.facts.connect_wire, Authority { host, port });
        }
        let (host, port) = self.pool.peer(slot.shelf);
        if let Some((first, second)) = known(host) {
            let addresses = &mut slot.facts.addresses;
            addresses.push_back((first, port).into());
            addresses.extend(second.map(|ip| SocketAddr::from((ip, port))));
        }
        self.out
            .posts
            .push(Post::Exchange(id, exchange::Dial.into()));
    }
}
