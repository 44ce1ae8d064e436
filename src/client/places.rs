//! Whence an exchange gets its connection: an idle one of the same origin, or a fresh one.

use core::net::SocketAddr;

use super::connection::{self, State};
use super::out::Post;
use super::pool::Shelf;
use super::target::known;
use super::{Engine, Id, Key, exchange};
use crate::time::Instant;

impl Engine {
    /// An idle connection of the same origin, or a new one.
    pub(super) fn start(&mut self, id: Id, now: Instant) {
        let Some(slot) = self.exchanges.get(id) else {
            return;
        };
        let (job, shelf) = (slot.job(), slot.shelf);
        match self.claim(shelf, now) {
            Some(key) => {
                self.counters.reused += 1;
                self.out
                    .posts
                    .push(Post::Connection(key, connection::Claimed { job }.into()));
            }
            None => self.dial(id, now),
        }
        self.run(now);
    }

    /// An idle connection that may still be used. What is over and was not looked at yet, is now.
    #[inline]
    fn claim(&mut self, shelf: Shelf, now: Instant) -> Option<Key> {
        loop {
            let key = self.pool.claim(shelf)?;
            let Some(State::Pooled(pooled)) = self.connections.get(key).map(|slot| &slot.state)
            else {
                continue;
            };
            if pooled.is_fresh(now) {
                return Some(key);
            }
            if let Some((_, due)) = pooled.deadline() {
                self.step_connection(key, connection::Expired(due).into(), now);
            }
        }
    }

    /// Makes a fresh connection for an exchange that is `Queued`.
    pub(super) fn dial(&mut self, id: Id, now: Instant) {
        let Some(slot) = self.exchanges.get_mut(id) else {
            return;
        };
        slot.facts.connect_by = now.plus(slot.facts.timeouts.connect);
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
