//! The caller's side: start, wait, look, take.

use alloc::boxed::Box;
use alloc::string::ToString;

use super::connection::{self, After, State as ConnectionState, within};
use super::error::{Aborted, Error, Kind, Misuse};
use super::exchange::{self, Facts, State};
use super::out::Post;
use super::pool::Shelf;
use super::{Collect, Engine, Id, Keepalive, NotReused, Request, Target, Timeouts, Until};
use crate::http::fault::Limit;
use crate::http::request::encode;
use crate::time::Instant;

/// A call that is under way; it is dropped only where a handler does not come back.
struct Call<'a> {
    engine: &'a mut Engine,
    id: Id,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.engine.nameless = Some(self.id);
    }
}

impl Engine {
    /// Starts a request on a connection of its own, from the pool if one is idle. Afterwards the
    /// connection goes to the pool with `keepalive`, and is closed without.
    ///
    /// # Errors
    /// A request that must not go on the wire; nothing has happened then.
    pub fn fetch<'a, F>(
        &mut self,
        target: &Target<'_>,
        request: &Request<'a, F>,
        timeouts: Timeouts,
        collect: Collect,
        keepalive: Option<Keepalive>,
        now: Instant,
    ) -> Result<Id, Error>
    where
        F: Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    {
        let shelf = self.acquire(target)?;
        let mut facts = self.fresh_facts(timeouts, collect, now);
        if let Err(misuse) = self.write(&mut facts, shelf, request, keepalive.is_none()) {
            self.pool.drop_user(shelf);
            return Err(self.refuse(facts, misuse));
        }
        let size = target.pool_size.or(keepalive.and_then(|k| k.pool_size));
        self.pool.plan(shelf, size, target.backlog);
        facts.life = target.life;
        let after = match keepalive {
            Some(Keepalive { idle, .. }) if !facts.encoded.asked.close => After::Park { idle },
            Some(_) | None => After::Close,
        };
        let id = self.insert(facts, shelf, true, after)?;
        self.trace_call(id, now, "fetch", Some(request));
        self.in_call(id, |engine| engine.start(id, now));
        Ok(id)
    }

    /// Starts to open a connection, from the pool if one is idle, to be held for the caller.
    ///
    /// # Errors
    /// A target that cannot be; nothing has happened then.
    pub fn connect(
        &mut self,
        target: &Target<'_>,
        timeouts: Timeouts,
        now: Instant,
    ) -> Result<Id, Error> {
        let shelf = self.acquire(target)?;
        self.pool.plan(shelf, target.pool_size, target.backlog);
        let mut facts = self.fresh_facts(timeouts, Collect::Stream, now);
        facts.life = target.life;
        let id = self.insert(facts, shelf, false, After::Hold)?;
        self.trace_call::<()>(id, now, "connect", None);
        self.in_call(id, |engine| engine.start(id, now));
        Ok(id)
    }

    /// Starts a request on the connection held by `held`, which names nothing afterwards.
    ///
    /// # Errors
    /// The request must not go on the wire, the connection is gone or busy, or the previous body
    /// was not read to its end. `held` stays as it was then.
    pub fn request<'a, F>(
        &mut self,
        held: Id,
        request: &Request<'a, F>,
        collect: Collect,
        now: Instant,
    ) -> Result<Id, Error>
    where
        F: Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    {
        let (key, shelf, timeouts) = self
            .held(held)
            .map_err(|misuse| Error::misuse(misuse, "Held"))?;
        let mut facts = self.fresh_facts(timeouts, collect, now);
        if let Err(misuse) = self.write(&mut facts, shelf, request, false) {
            return Err(self.refuse(facts, misuse));
        }
        self.pool.hold(shelf);
        let id = self.insert(facts, shelf, true, After::Hold)?;
        self.trace_call(id, now, "request", Some(request));
        self.forget(held);
        if let Some(slot) = self.exchanges.get(id) {
            let job = slot.job();
            self.out
                .posts
                .push(Post::Connection(key, connection::Claimed { job }.into()));
        }
        self.in_call(id, |engine| engine.run(now));
        Ok(id)
    }

    /// Gives the held connection to the pool. `id` names nothing afterwards.
    ///
    /// # Errors
    /// Why the connection was closed instead.
    pub fn release(&mut self, id: Id, keepalive: Keepalive, now: Instant) -> Result<(), NotReused> {
        if self.trace.has_facts() {
            self.trace_exchange_fact(id, now, "release", &keepalive.idle.0.to_string());
        }
        let verdict = self.releasable(id, now);
        let Ok((key, shelf, _)) = self.held(id) else {
            self.give_up(id, now);
            return verdict;
        };
        if let Some(slot) = self.exchanges.get_mut(id) {
            slot.facts.connection = None;
        }
        if verdict.is_ok() {
            self.pool.plan(shelf, keepalive.pool_size, None);
        }
        self.forget(id);
        let idle = keepalive.idle;
        self.out.posts.push(Post::Connection(
            key,
            connection::Released { idle, verdict }.into(),
        ));
        self.run(now);
        verdict
    }

    /// Ends an exchange in any state, closes its connections and forgets it.
    pub fn abort(&mut self, id: Id, now: Instant) {
        if self.exchanges.get(id).is_none() {
            return;
        }
        if self.trace.has_facts() {
            self.trace_exchange_fact(id, now, "abort", "");
        }
        self.give_up(id, now);
    }

    fn give_up(&mut self, id: Id, now: Instant) {
        self.out.posts.push(Post::Exchange(
            id,
            exchange::Aborted(Aborted::Caller).into(),
        ));
        if let Some(slot) = self.exchanges.get_mut(id) {
            slot.facts.waiting = None;
        }
        self.in_call(id, |engine| engine.run(now));
        self.forget(id);
    }

    /// Does what a call does while nobody else has the name of its exchange. Should that not come
    /// back, nobody ever will: [`Engine::recover`] forgets the exchange.
    #[inline(always)]
    fn in_call(&mut self, id: Id, f: impl FnOnce(&mut Engine)) {
        let call = Call { engine: self, id };
        f(&mut *call.engine);
        core::mem::forget(call);
    }

    /// Other timeouts from now on. The deadline over everything stays as it was when the exchange
    /// began; the next one on the same connection begins with the new one.
    pub fn set_timeouts(&mut self, id: Id, timeouts: Timeouts, now: Instant) {
        if self.trace.has_facts() {
            self.trace_timeouts(id, timeouts, now);
        }
        let Some(slot) = self.exchanges.get_mut(id) else {
            return;
        };
        slot.facts.timeouts = timeouts;
        let connection = slot.facts.connection;
        if let Some(key) = connection {
            self.arm_connection(key);
        }
    }

    /// `true` when it holds already; otherwise [`Effect::Wake`](super::event::Effect::Wake) comes
    /// once, when it does. A later call replaces an earlier one.
    pub fn wait(&mut self, id: Id, until: Until, now: Instant) -> bool {
        let Some(slot) = self.exchanges.get_mut(id) else {
            return true;
        };
        if slot.state.satisfies(until, &slot.facts) {
            slot.facts.waiting = None;
            return true;
        }
        let pulled = slot.facts.collect == Collect::Stream;
        if pulled && until == Until::Done {
            let whole = self.out.allowances.of(slot.facts.allowance).whole;
            if !slot.facts.gather_rest(whole) {
                // The answer is given here, and no wake besides.
                slot.facts.waiting = None;
                self.tell(id, exchange::Overflown);
                self.run(now);
                return true;
            }
        }
        let had_room = slot.facts.has_room();
        slot.facts.waiting = Some((until, now));
        let drive = !had_room && slot.facts.has_room();
        if let Some(key) = slot.facts.connection {
            if drive {
                self.out
                    .effects
                    .push_back(super::event::Effect::Drive { key });
            }
            if pulled {
                // The read timeout of a pulled body runs from here.
                self.arm_connection(key);
            }
        }
        false
    }

    fn acquire(&mut self, target: &Target<'_>) -> Result<Shelf, Error> {
        self.pool
            .acquire(target)
            .map_err(|misuse| Error::misuse(misuse, "Queued"))
    }

    fn fresh_facts(&mut self, timeouts: Timeouts, collect: Collect, now: Instant) -> Box<Facts> {
        let mut facts = self.spare_facts.pop().unwrap_or_default();
        facts.timeouts = timeouts;
        facts.collect = collect;
        facts.total_by = now.plus(timeouts.total);
        facts
    }

    /// Writes the request down, as it goes to the shelf's origin, and what its response may cost.
    #[inline(always)]
    fn write<'a, F>(
        &mut self,
        facts: &mut Facts,
        shelf: Shelf,
        request: &Request<'a, F>,
        close: bool,
    ) -> Result<(), Misuse>
    where
        F: Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    {
        self.out.allowances.set(facts, request.limits);
        let behind_target = self.pool.version_and_host(shelf);
        facts.encoded = encode(&mut facts.wire, behind_target, request, close)?;
        Ok(())
    }

    fn refuse(&mut self, facts: Box<Facts>, misuse: Misuse) -> Error {
        self.keep_facts(facts);
        Error::misuse(misuse, "Queued")
    }

    /// Makes the exchange's slot.
    fn insert(
        &mut self,
        mut facts: Box<Facts>,
        shelf: Shelf,
        request: bool,
        after: After,
    ) -> Result<Id, Error> {
        facts.serial = self.serials.1;
        facts.plan_body();
        let allowance = facts.allowance;
        let state = State::Queued(exchange::Queued);
        let made = self.exchanges.insert_with(|id| exchange::Slot {
            state,
            id,
            shelf,
            request,
            after,
            facts,
        });
        match made {
            Some(id) => {
                self.serials.1 += 1;
                self.running += 1;
                Ok(id)
            }
            None => {
                self.pool.drop_user(shelf);
                self.out.allowances.free(allowance);
                Err(Error {
                    kind: Kind::Limit(Limit::Slots),
                    state: "Queued",
                    retry: true,
                })
            }
        }
    }

    /// The live held connection of an exchange that is over and read to its end.
    fn held(&self, id: Id) -> Result<(super::Key, Shelf, Timeouts), Misuse> {
        let slot = self.exchanges.get(id).ok_or(Misuse::NotConnected)?;
        let State::Done(done) = &slot.state else {
            return Err(match slot.request {
                true if slot.facts.head.is_some() => Misuse::BodyUnread,
                _ => Misuse::Busy,
            });
        };
        if done.result.is_err() {
            return Err(Misuse::NotConnected);
        }
        if !slot.facts.unread().is_empty() {
            return Err(Misuse::BodyUnread);
        }
        let key = slot.facts.connection.ok_or(Misuse::NotConnected)?;
        match self.connections.get(key).map(|c| &c.state) {
            Some(ConnectionState::Held(held)) if held.owner == id => {
                Ok((key, slot.shelf, slot.facts.timeouts))
            }
            _ => Err(Misuse::NotConnected),
        }
    }

    pub(super) fn releasable(&self, id: Id, now: Instant) -> Result<(), NotReused> {
        let slot = self.exchanges.get(id).ok_or(NotReused::Gone)?;
        let State::Done(done) = &slot.state else {
            return Err(if slot.facts.head.is_some() {
                NotReused::BodyUnread
            } else {
                NotReused::Busy
            });
        };
        done.reuse?;
        let (key, ..) = self.held(id).map_err(|misuse| match misuse {
            Misuse::BodyUnread => NotReused::BodyUnread,
            _ => NotReused::Gone,
        })?;
        match self.connections.get(key).map(|c| &c.state) {
            Some(ConnectionState::Held(held)) => within(held.term, now),
            _ => Err(NotReused::Gone),
        }
    }

    /// Frees an exchange's slot and keeps its buffers.
    pub(super) fn forget(&mut self, id: Id) {
        let Some(slot) = self.exchanges.remove(id) else {
            return;
        };
        if !slot.state.is_done() {
            self.running -= 1;
        }
        self.pool.drop_user(slot.shelf);
        self.keep_facts(slot.facts);
    }

    fn keep_facts(&mut self, mut facts: Box<Facts>) {
        /// So many spare ones are kept.
        const SPARE: usize = 64;
        self.out.allowances.free(facts.allowance);
        if let Some(head) = facts.head.take() {
            self.out.recycle_head(head);
        }
        if let Some(section) = facts.trailers.take() {
            self.out.recycle_section(section);
        }
        if self.spare_facts.len() < SPARE {
            facts.clear();
            self.spare_facts.push(facts);
        }
    }
}
