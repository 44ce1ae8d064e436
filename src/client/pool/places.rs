//! How many connections there may be. With a backlog the size of a group bounds all its connections,
//! idle or not, and exchanges wait for one in the order they came. Without, it bounds the idle ones.
//!
//! While somebody waits no connection of the group is idle and there is room for none: whoever
//! changes that has the engine look at the first in the queue.

use super::{Group, Pool, Shelf};
use crate::client::stats::Reason;
use crate::client::{Id, Key};

/// Where a fresh connection would go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// There is room.
    Free,
    /// There is when this idle connection, of another origin, is closed. It is off its shelf.
    Of(Key),
}

impl Pool {
    fn group_of(&mut self, shelf: Shelf) -> &mut Group {
        let group = self.shelves[shelf.0 as usize].group;
        &mut self.groups[group as usize]
    }

    /// The first size and the first backlog given to a group stay.
    pub(crate) fn plan(&mut self, shelf: Shelf, size: Option<usize>, backlog: Option<usize>) {
        let group = self.group_of(shelf);
        group.size = group.size.or(size.map(|size| size.max(1)));
        group.backlog = group.backlog.or(backlog);
    }

    /// One more connection. Counts as a user of the shelf.
    pub(crate) fn opened(&mut self, shelf: Shelf) {
        self.hold(shelf);
        let group = self.group_of(shelf);
        group.open += 1;
        group.tally.opened += 1;
    }

    /// One connection less.
    pub(crate) fn closed(&mut self, shelf: Shelf, reason: Reason) {
        self.drop_user(shelf);
        let group = self.group_of(shelf);
        group.open = group.open.saturating_sub(1);
        group.tally.close(reason);
    }

    /// Room for a fresh connection, if there is.
    pub(crate) fn place(&mut self, shelf: Shelf) -> Option<Place> {
        let default_size = self.default_size;
        let index = self.shelves[shelf.0 as usize].group;
        let group = &mut self.groups[index as usize];
        if group.backlog.is_none() || group.open < *group.size.get_or_insert(default_size) {
            return Some(Place::Free);
        }
        self.evict(index).map(Place::Of)
    }

    /// Whether one more may wait.
    pub(crate) fn may_wait(&mut self, shelf: Shelf) -> bool {
        let group = self.group_of(shelf);
        group.waiting.len() < group.backlog.unwrap_or(0)
    }

    /// Puts an exchange at the end of the queue.
    pub(crate) fn wait(&mut self, shelf: Shelf, id: Id) {
        self.group_of(shelf).waiting.push_back(id);
    }

    /// Takes an exchange out of the queue. Mostly it is the first: it was served, or waited longest.
    pub(crate) fn leave(&mut self, shelf: Shelf, id: Id) {
        let waiting = &mut self.group_of(shelf).waiting;
        if let Some(at) = waiting.iter().position(|&other| other == id) {
            waiting.remove(at);
        }
    }

    /// Who waits longest.
    pub(crate) fn first(&mut self, shelf: Shelf) -> Option<Id> {
        self.group_of(shelf).waiting.front().copied()
    }
}
