//! What must hold of the pool between two calls.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::{Group, Pool, Shelf};
use crate::client::{Id, Key};

/// What connections and exchanges say of themselves.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How many connections each shelf has.
    pub(crate) connections: BTreeMap<Shelf, u32>,
    /// How many exchanges.
    pub(crate) exchanges: BTreeMap<Shelf, u32>,
    /// Where each connection belongs that is idle.
    pub(crate) pooled: BTreeMap<Key, Shelf>,
    /// And each exchange that waits.
    pub(crate) waiting: BTreeMap<Id, Shelf>,
}

impl Pool {
    /// # Errors
    /// What does not hold.
    pub(crate) fn audit(&self, mut seen: Seen) -> Result<(), String> {
        for (index, shelf) in &self.shelves {
            let place = Shelf(index as u32);
            let counted = count(&seen.connections, place) + count(&seen.exchanges, place);
            if shelf.users != counted {
                return Err(format!("a shelf counts {} users of {counted}", shelf.users));
            }
            for idle in &shelf.idle {
                if seen.pooled.remove(&idle.key) != Some(place) {
                    return Err(format!("{:?} is pooled twice or not idle", idle.key));
                }
            }
        }
        for (index, group) in &self.groups {
            self.audit_group(group, &seen.connections)?;
            for id in &group.waiting {
                let shelf = seen.waiting.remove(id);
                if shelf.map(|s| self.shelves[s.0 as usize].group) != Some(index as u32) {
                    return Err(format!("{id:?} stands in a queue and does not wait"));
                }
            }
        }
        match seen.pooled.is_empty() && seen.waiting.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "idle or waiting, and the pool does not know: {seen:?}"
            )),
        }
    }

    fn audit_group(&self, group: &Group, connections: &BTreeMap<Shelf, u32>) -> Result<(), String> {
        let shelves = group.shelves.iter();
        let idle: usize = shelves
            .clone()
            .map(|&s| self.shelves[s as usize].idle.len())
            .sum();
        let open: usize = shelves
            .map(|&s| count(connections, Shelf(s)) as usize)
            .sum();
        let size = group.size.unwrap_or(self.default_size);
        if (idle, open) != (group.idle, group.open) || idle > size {
            return Err(format!(
                "{idle} idle of {open}, {} of {} counted, {size} allowed",
                group.idle, group.open
            ));
        }
        let closed: u64 = group.tally.closed().map(|(_, n)| n).sum();
        if group.tally.opened != closed + open as u64 {
            let opened = group.tally.opened;
            return Err(format!("{opened} opened, {closed} closed, {open} left"));
        }
        let waiting = group.waiting.len();
        if waiting > group.backlog.unwrap_or(0) || (waiting > 0 && (idle > 0 || open < size)) {
            return Err(format!(
                "{waiting} wait beside {idle} idle of {open}, {size} allowed"
            ));
        }
        Ok(())
    }
}

fn count(of: &BTreeMap<Shelf, u32>, shelf: Shelf) -> u32 {
    of.get(&shelf).copied().unwrap_or(0)
}
