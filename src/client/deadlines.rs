//! When something is due: a lazy heap with one live entry for each slot that has a deadline.
//!
//! What is due is computed from the states; the heap only remembers when to look. An entry is
//! pushed when a deadline moves earlier and checked when it is popped, so a deadline that keeps
//! moving later (the common case: each request renews the read timeout) costs nothing.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use super::error::Why;
use super::{Id, Key, NotReused};
use crate::time::Instant;

/// Whose deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    Connection(Key),
    Exchange(Id),
}

/// What a deadline is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// A budget is over, which is an error.
    Budget(Why),
    /// A pooled connection was not used for its idle time.
    Idle,
    /// A pooled connection must not be used any longer.
    Over(NotReused),
    /// The wait before the next address is over (RFC 8305 section 5).
    NextAddress,
    /// The wait for leave to send the body is over (RFC 9110 10.1.1).
    Leave,
}

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, Who)>>,
}

/// Below this many entries the heap is never swept.
const SWEEP_FROM: usize = 64;

impl Deadlines {
    /// Remembers to look at `who` at `due`. `armed` is the entry the slot has in the heap. Returns
    /// whether the heap has grown.
    #[inline]
    pub(crate) fn arm(&mut self, who: Who, due: Instant, armed: &mut Option<Instant>) -> bool {
        let sooner = armed.is_none_or(|at| due < at);
        if sooner {
            *armed = Some(due);
            self.heap.push(Reverse((due, who)));
        }
        sooner
    }

    /// When to look next.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// The next entry that is due.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Instant, Who)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Whether entries of dead slots outnumber the living, so that a sweep pays.
    #[inline]
    pub(crate) fn is_stale(&self, live: usize) -> bool {
        self.heap.len() > SWEEP_FROM + 2 * live
    }

    /// Keeps the entries that `alive` confirms.
    pub(crate) fn sweep(&mut self, mut alive: impl FnMut(Instant, Who) -> bool) {
        self.heap.retain(|Reverse((at, who))| alive(*at, *who));
    }

    /// Whether `who` is looked at at `due`.
    #[cfg(feature = "sim")]
    pub(crate) fn holds(&self, due: Instant, who: Who) -> bool {
        self.heap.iter().any(|Reverse(entry)| *entry == (due, who))
    }

    /// How many entries there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}
