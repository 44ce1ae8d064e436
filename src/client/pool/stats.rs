//! What the pool counts, as others see it.

use super::{Group, Pool, Shelf};
use crate::client::stats::{PoolStats, origin_name};

impl Pool {
    /// See [`Engine::pool_stats`](crate::Engine::pool_stats).
    pub(crate) fn stats(&self, place: usize) -> Option<(PoolStats, usize)> {
        // Places of the slab, some of which may be empty.
        let places = place..self.groups.capacity();
        places
            .filter_map(|at| Some((self.groups.get(at)?, at)))
            .map(|(group, at)| {
                let name = self.called(group);
                (
                    PoolStats {
                        name,
                        ..group.stats()
                    },
                    at + 1,
                )
            })
            .next()
    }

    /// See [`Engine::total_stats`](crate::Engine::total_stats).
    pub(crate) fn total(&self) -> PoolStats {
        let mut total = PoolStats {
            tally: self.forgotten,
            ..PoolStats::default()
        };
        for (_, group) in &self.groups {
            let stats = group.stats();
            total.idle += stats.idle;
            total.busy += stats.busy;
            total.waiting += stats.waiting;
            total.tally.add(&stats.tally);
        }
        total
    }

    fn called(&self, group: &Group) -> alloc::vec::Vec<u8> {
        match (&group.name, group.shelves.first()) {
            (Some(name), _) => name.to_vec(),
            (None, Some(&shelf)) => origin_name(&self.target(Shelf(shelf))).into_bytes(),
            (None, None) => alloc::vec::Vec::new(),
        }
    }
}

impl Group {
    fn stats(&self) -> PoolStats {
        PoolStats {
            name: alloc::vec::Vec::new(),
            idle: self.idle,
            busy: self.open - self.idle,
            waiting: self.waiting.len(),
            tally: self.tally,
        }
    }
}
