//! What must hold between two calls, whatever was called. For the simulator, which asks after each.

use alloc::format;
use alloc::string::String;

use super::allowances::Allowance;
use super::connection::{self, State as ConnectionState};
use super::deadlines::Who;
use super::driver::READ;
use super::exchange::{self, State, WINDOW};
use super::pool::Seen;
use super::{Engine, Id, Key};

impl Engine {
    /// # Errors
    /// What does not hold.
    pub(crate) fn audit(&self) -> Result<(), String> {
        if !self.out.posts.is_empty() || !self.vacant.is_empty() || self.touched != (None, None) {
            return Err("something is left to be done".into());
        }
        for key in self.connections.keys() {
            if let Some(slot) = self.connections.get(key) {
                self.audit_connection(key, slot)?;
            }
        }
        let (mut running, mut limited) = (0, 0);
        for id in self.exchanges.keys() {
            if let Some(slot) = self.exchanges.get(id) {
                running += usize::from(!slot.state.is_done());
                limited += usize::from(slot.facts.allowance != Allowance::default());
                self.audit_exchange(id, slot)?;
            }
        }
        if running != self.running {
            return Err(format!("{running} run, {} are counted", self.running));
        }
        let limits = self.out.allowances.len();
        if limits != limited {
            return Err(format!("{limits} limits are kept for {limited} exchanges"));
        }
        let opened = self.counters.opened;
        if opened < self.connections.len() as u64 || opened != u64::from(self.serials.0) {
            return Err(format!("{opened} connections are counted as opened"));
        }
        self.audit_deadlines()?;
        self.audit_pool()
    }

    /// A connection and whoever owns it name each other.
    fn audit_connection(&self, key: Key, slot: &connection::Slot) -> Result<(), String> {
        let owner = slot.state.owner().map(|id| (id, self.exchanges.get(id)));
        let facts = owner.and_then(|(_, owner)| owner).map(|s| &s.facts);
        let (attempted, bound) = (
            facts.is_some_and(|f| f.attempts.contains(&key)),
            facts.is_some_and(|f| f.connection == Some(key)),
        );
        let right = match &slot.state {
            ConnectionState::Resolving(_)
            | ConnectionState::Connecting(_)
            | ConnectionState::Handshaking(_)
            | ConnectionState::Tunnelling(_) => attempted && !bound,
            ConnectionState::Writing(_)
            | ConnectionState::ReadingHead(_)
            | ConnectionState::ReadingBody(_)
            | ConnectionState::Held(_) => bound && !attempted,
            ConnectionState::Pooled(_) => owner.is_none(),
            // Buried as soon as it is.
            ConnectionState::Closed(_) => false,
        };
        match right && slot.link.key == key {
            true => Ok(()),
            false => Err(format!(
                "c{} is {} and its owner does not know",
                slot.link.serial,
                slot.state.name()
            )),
        }
    }

    fn audit_exchange(&self, id: Id, slot: &exchange::Slot) -> Result<(), String> {
        let facts = &slot.facts;
        let say = |what: &str| {
            let (serial, state) = (facts.serial, slot.state.name());
            Err(format!("e{serial} is {state}: {what}"))
        };
        let owned = |key: Key| {
            let connection = self.connections.get(key);
            connection.is_some_and(|c| c.state.owner() == Some(id))
        };
        if !facts
            .attempts
            .iter()
            .chain(&facts.connection)
            .all(|&key| owned(key))
        {
            // A connection that was held may have gone; its owner learns that when it asks.
            let held = slot.state.is_done() && facts.attempts.is_empty();
            if !held {
                return say("it names a connection that is not its own");
            }
        }
        let right = match &slot.state {
            State::Queued(_) => false,
            State::Waiting(_) => facts.connection.is_none() && facts.attempts.is_empty(),
            State::Dialing(_) => facts.connection.is_none() && !facts.attempts.is_empty(),
            State::Sending(_) | State::Receiving(_) => {
                facts.connection.is_some() && facts.attempts.is_empty()
            }
            State::Done(_) => facts.attempts.is_empty(),
        };
        if !right {
            return say("its connections are not those of its state");
        }
        if facts
            .waiting
            .is_some_and(|(until, _)| slot.state.satisfies(until, facts))
        {
            return say("what is waited for has come");
        }
        let most = match facts.gathers() || slot.state.is_done() {
            true => (self.out.allowances.of(facts.allowance).whole as usize).max(WINDOW) + 1 + READ,
            false => WINDOW + READ,
        };
        if facts.unread().len() > most {
            return say(&format!("{} bytes are held for it", facts.unread().len()));
        }
        Ok(())
    }

    /// Whoever has a deadline is looked at in time.
    fn audit_deadlines(&self) -> Result<(), String> {
        let connections = self.connections.keys().map(Who::Connection);
        for who in connections.chain(self.exchanges.keys().map(Who::Exchange)) {
            let armed = match who {
                Who::Connection(key) => self.connections.get(key).and_then(|s| s.link.armed),
                Who::Exchange(id) => self.exchanges.get(id).and_then(|s| s.facts.armed),
            };
            let due = self.due_of(who).map(|(at, _)| at);
            if let Some(due) = due
                && armed.is_none_or(|at| at > due)
            {
                return Err(format!("{who:?} is due at {due:?} and looked at {armed:?}"));
            }
            if let Some(at) = armed
                && !self.deadlines.holds(at, who)
            {
                return Err(format!("{who:?} does not stand in the heap"));
            }
        }
        let live = self.connections.len() + self.exchanges.len();
        match self.deadlines.is_stale(live + 64) {
            true => Err("the heap of deadlines grows".into()),
            false => Ok(()),
        }
    }

    fn audit_pool(&self) -> Result<(), String> {
        let mut seen = Seen::default();
        for key in self.connections.keys() {
            if let Some(slot) = self.connections.get(key) {
                let shelf = slot.link.shelf;
                *seen.connections.entry(shelf).or_insert(0) += 1;
                if matches!(slot.state, ConnectionState::Pooled(_)) {
                    seen.pooled.insert(key, shelf);
                }
            }
        }
        for id in self.exchanges.keys() {
            if let Some(slot) = self.exchanges.get(id) {
                *seen.exchanges.entry(slot.shelf).or_insert(0) += 1;
                if slot.state.is_waiting() {
                    seen.waiting.insert(id, slot.shelf);
                }
            }
        }
        self.pool.audit(seen)
    }
}
