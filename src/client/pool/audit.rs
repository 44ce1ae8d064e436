//! What must hold of the pool between two calls.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::{Pool, Shelf};
use crate::client::Key;

impl Pool {
    /// `users` is how many connections and exchanges name each shelf, `pooled` where each connection
    /// belongs that says it is idle.
    ///
    /// # Errors
    /// What does not hold.
    pub(crate) fn audit(
        &self,
        users: &BTreeMap<Shelf, u32>,
        mut pooled: BTreeMap<Key, Shelf>,
    ) -> Result<(), String> {
        for (index, shelf) in &self.shelves {
            let place = Shelf(index as u32);
            let counted = users.get(&place).copied().unwrap_or(0);
            if shelf.users != counted {
                return Err(format!("a shelf counts {} users of {counted}", shelf.users));
            }
            for idle in &shelf.idle {
                if pooled.remove(&idle.key) != Some(place) {
                    return Err(format!("{:?} is pooled twice or not idle", idle.key));
                }
            }
        }
        if !pooled.is_empty() {
            return Err(format!("idle and on no shelf: {pooled:?}"));
        }
        for (_, group) in &self.groups {
            let shelves = group.shelves.iter();
            let idle: usize = shelves.map(|&s| self.shelves[s as usize].idle.len()).sum();
            let size = group.size.unwrap_or(self.default_size);
            if idle != group.idle || idle > size {
                return Err(format!(
                    "{idle} idle, {} counted, {size} allowed",
                    group.idle
                ));
            }
        }
        Ok(())
    }
}
