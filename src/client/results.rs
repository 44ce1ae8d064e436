//! The caller's side: look at what came, take it.

use core::net::SocketAddr;

use super::connection::{self};
use super::error::Aborted;
use super::exchange::{self, State};
use super::out::Post;
use super::{Engine, Finished, Head, Id, NotReused, Section, Status};
use crate::time::Instant;

impl Engine {
    /// What has become of an exchange.
    pub fn status(&self, id: Id) -> Status {
        match self.exchanges.get(id).map(|slot| &slot.state) {
            None => Status::Gone,
            Some(State::Done(done)) => done.result.map_or_else(Status::Failed, |()| Status::Ended),
            Some(
                State::Queued(_)
                | State::Waiting(_)
                | State::Dialing(_)
                | State::Sending(_)
                | State::Receiving(_),
            ) => Status::Running,
        }
    }

    /// The addresses that were tried for it, in order.
    pub fn tried(&self, id: Id) -> &[SocketAddr] {
        self.exchanges.get(id).map_or(&[], |slot| &slot.facts.tried)
    }

    /// The response head, once it has come.
    pub fn head(&self, id: Id) -> Option<&Head> {
        self.exchanges.get(id)?.facts.head.as_deref()
    }

    /// The trailer section, once the body has ended with one.
    pub fn trailers(&self, id: Id) -> Option<&Section> {
        self.exchanges.get(id)?.facts.trailers.as_deref()
    }

    /// Whether the response has a body that is not known to be empty.
    pub fn has_body(&self, id: Id) -> bool {
        self.exchanges
            .get(id)
            .is_some_and(|slot| slot.facts.has_body)
    }

    /// The largest body that is gathered whole for this exchange.
    pub fn whole_max(&self, id: Id) -> u64 {
        let allowance = self.exchanges.get(id).map(|slot| slot.facts.allowance);
        self.out.allowances.of(allowance.unwrap_or_default()).whole
    }

    /// The body bytes that have come and were not taken.
    pub fn body(&self, id: Id) -> &[u8] {
        self.exchanges
            .get(id)
            .map_or(&[], |slot| slot.facts.unread())
    }

    /// Takes the first `n` bytes of [`Engine::body`], which makes room for more.
    pub fn consume(&mut self, id: Id, n: usize, _now: Instant) {
        let Some(slot) = self.exchanges.get_mut(id) else {
            return;
        };
        let had_room = slot.facts.has_room();
        slot.facts.body.consume(n);
        if let Some(key) = slot.facts.connection
            && !had_room
            && slot.facts.has_room()
        {
            self.out
                .effects
                .push_back(super::event::Effect::Drive { key });
        }
    }

    /// How many times the exchange's connection had been taken from the pool.
    pub fn reused(&self, id: Id) -> u32 {
        self.exchanges.get(id).map_or(0, |slot| slot.facts.reused)
    }

    /// Whether the held connection could go to the pool now, and why not.
    ///
    /// # Errors
    /// The reason that [`Engine::release`] would give.
    pub fn reusable(&self, id: Id, now: Instant) -> Result<(), NotReused> {
        self.releasable(id, now)
    }

    /// What is left of an exchange that is over; `None` while it runs. The name is free
    /// afterwards, and a connection that was still held is closed.
    pub fn take(&mut self, id: Id, now: Instant) -> Option<Finished> {
        let slot = self
            .exchanges
            .get_mut(id)
            .filter(|slot| slot.state.is_done())?;
        let facts = &mut slot.facts;
        let body = facts.body.take_unread();
        let head = facts.head.take();
        let trailers = facts.trailers.take();
        let (reused, has_body) = (facts.reused, facts.has_body);
        if let Some(key) = facts.connection.take() {
            self.out.posts.push(Post::Connection(
                key,
                connection::Aborted(Aborted::Caller).into(),
            ));
            self.run(now);
        }
        let head = head.unwrap_or_else(|| {
            let mut none = self.out.head();
            none.clear();
            none
        });
        self.forget(id);
        Some(Finished {
            head,
            body,
            trailers,
            reused,
            has_body,
        })
    }

    /// Gives the buffers of [`Engine::take`] back.
    pub fn recycle(&mut self, finished: Finished) {
        self.out.recycle_head(finished.head);
        if let Some(section) = finished.trailers {
            self.out.recycle_section(section);
        }
        if finished.body.capacity() <= exchange::KEPT
            && let Some(spare) = self.spare_facts.last_mut()
        {
            spare.body.adopt(finished.body);
        }
    }
}
