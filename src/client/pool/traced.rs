//! What traces ask of the pool: which origins are traced, and what a shelf's group is called.

use alloc::boxed::Box;

use super::{Group, Pool, Shelf};
use crate::client::target::{Scheme, Target};

#[derive(Debug)]
pub(super) struct Origin {
    scheme: Scheme,
    host: Box<[u8]>,
    port: u16,
}

impl Origin {
    fn is(&self, scheme: Scheme, host: &[u8], port: u16) -> bool {
        self.scheme == scheme && self.port == port && self.host.eq_ignore_ascii_case(host)
    }
}

impl Pool {
    fn group_at(&self, shelf: Shelf) -> &Group {
        &self.groups[self.shelves[shelf.0 as usize].group as usize]
    }

    /// The name of the shelf's group.
    pub(crate) fn name(&self, shelf: Shelf) -> Option<&[u8]> {
        self.group_at(shelf).name.as_deref()
    }

    /// The size of the shelf's group, once it has one.
    pub(crate) fn size_of(&self, shelf: Shelf) -> Option<usize> {
        self.group_at(shelf).size
    }

    /// The backlog of the shelf's group, if it has one.
    pub(crate) fn backlog_of(&self, shelf: Shelf) -> Option<usize> {
        self.group_at(shelf).backlog
    }

    /// Marks an origin, whatever its group and its proxy.
    pub(crate) fn trace(&mut self, target: &Target<'_>) {
        let Target {
            scheme, host, port, ..
        } = target.normal();
        let host = host.into();
        let origin = Origin { scheme, host, port };
        for (_, data) in &mut self.shelves {
            data.traced |= origin.is(data.scheme, &data.host, data.port);
        }
        self.traced.push(origin);
    }

    /// Whether a new shelf's origin was marked.
    pub(super) fn traces(&self, target: &Target<'_>) -> bool {
        let is = |origin: &Origin| origin.is(target.scheme, target.host, target.port);
        self.traced.iter().any(is)
    }

    /// Whether the shelf's origin was marked.
    pub(crate) fn is_traced(&self, shelf: Shelf) -> bool {
        self.shelves[shelf.0 as usize].traced
    }
}
