//! Idle connections: by origin on shelves, by name in groups that size them.
//!
//! A *group* is what callers call a pool: it has a size. A *shelf* holds the idle connections of
//! one origin within a group; only these may stand in for each other. Without a name, an origin
//! has a group to itself. Keys only: what a pooled connection is, its state says.
//!
//! With a backlog a group bounds all its connections, and exchanges wait for them (`places`).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};
use slab::Slab;

use super::error::Misuse;
use super::stats::Tally;
use super::target::{Proxy, Scheme, Target, is_unix};
use super::{Id, Key};
use crate::http::authority::version_and_host;

#[cfg(feature = "sim")]
mod audit;
#[cfg(feature = "sim")]
pub(crate) use audit::Seen;
mod places;
mod stats;
#[cfg(test)]
mod tests;
pub(crate) use places::Place;
mod traced;

/// A shelf's place. Valid while somebody holds it: [`Pool::acquire`] and [`Pool::hold`] count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shelf(u32);

#[derive(Debug)]
struct ShelfData {
    group: u32,
    hash: u64,
    scheme: Scheme,
    host: Box<[u8]>,
    port: u16,
    proxy: Option<(Box<[u8]>, u16)>,
    /// What requests carry behind their target unless the caller gives a Host.
    version_and_host: Box<[u8]>,
    traced: bool,
    /// Least recently used first.
    idle: VecDeque<Idle>,
    /// Connections and exchanges that name this shelf.
    users: u32,
}

/// An idle connection and when it was parked, counted in parkings.
#[derive(Debug, Clone, Copy)]
struct Idle {
    key: Key,
    parked: u64,
}

/// What comes of parking a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parked {
    /// This one has to make room for it.
    pub(crate) evicted: Option<Key>,
    /// Somebody waits for one.
    pub(crate) awaited: bool,
}

#[derive(Debug)]
struct Group {
    name: Option<Box<[u8]>>,
    hash: u64,
    /// `None` until the first caller that sizes it.
    size: Option<usize>,
    idle: usize,
    /// Connections there are, idle or not.
    open: usize,
    /// So many may wait; `None` until the first caller that says: nobody waits.
    backlog: Option<usize>,
    /// First come, first served.
    waiting: VecDeque<Id>,
    tally: Tally,
    shelves: alloc::vec::Vec<u32>,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Pool {
    hasher: DefaultHashBuilder,
    by_origin: HashTable<u32>,
    by_name: HashTable<u32>,
    /// Shelves that were found last, to be tried before the hash is computed.
    recent: [u32; RECENT],
    shelves: Slab<ShelfData>,
    groups: Slab<Group>,
    default_size: usize,
    parkings: u64,
    /// The origins that are traced.
    traced: alloc::vec::Vec<traced::Origin>,
    /// What groups had counted that are no more.
    forgotten: Tally,
}

/// Most callers ask the same few origins.
const RECENT: usize = 8;

/// So many shelves are kept though nobody uses them: a pool keeps its size for the life of the
/// worker, but the number of origins may be the choice of strangers.
const SHELVES_KEPT: usize = 4096;

impl Pool {
    pub(crate) fn new(default_size: usize) -> Pool {
        Pool {
            hasher: DefaultHashBuilder::default(),
            by_origin: HashTable::new(),
            by_name: HashTable::new(),
            recent: [0; RECENT],
            shelves: Slab::new(),
            groups: Slab::new(),
            default_size,
            parkings: 0,
            traced: alloc::vec::Vec::new(),
            forgotten: Tally::default(),
        }
    }

    /// The shelf for a target, made when there is none. The caller must [`Pool::drop_user`] it.
    ///
    /// A host is checked when its shelf is made; what finds the shelf again is the same host.
    pub(crate) fn acquire(&mut self, target: &Target<'_>) -> Result<Shelf, Misuse> {
        let target = target.normal();
        let recent = recent(&target);
        let index = match self.recent[recent] {
            index if self.matches(index, &target) => index,
            _ => {
                let index = self.find(&target)?;
                self.recent[recent] = index;
                index
            }
        };
        self.hold(Shelf(index));
        Ok(Shelf(index))
    }

    #[inline(never)]
    fn find(&mut self, target: &Target<'_>) -> Result<u32, Misuse> {
        let hash = self.origin_hash(target);
        let found = self.by_origin.find(hash, |&i| self.matches(i, target));
        match found {
            Some(&index) => Ok(index),
            None => {
                target.check()?;
                Ok(self.make_shelf(hash, target))
            }
        }
    }

    /// Counts one more user of a shelf.
    pub(crate) fn hold(&mut self, shelf: Shelf) {
        self.shelves[shelf.0 as usize].users += 1;
    }

    /// Counts one user less.
    pub(crate) fn drop_user(&mut self, shelf: Shelf) {
        let users = &mut self.shelves[shelf.0 as usize].users;
        *users = users.saturating_sub(1);
    }

    /// The most recently used idle connection, taken off its shelf: to be used, or, where it is not
    /// fresh, to be closed.
    pub(crate) fn claim(
        &mut self,
        shelf: Shelf,
        fresh: impl FnOnce(Key) -> bool,
    ) -> Option<Result<Key, Key>> {
        let data = &mut self.shelves[shelf.0 as usize];
        let Idle { key, .. } = data.idle.pop_back()?;
        let group = &mut self.groups[data.group as usize];
        group.idle -= 1;
        if !fresh(key) {
            return Some(Err(key));
        }
        group.tally.reused += 1;
        Some(Ok(key))
    }

    /// Puts an idle connection on its shelf.
    pub(crate) fn park(&mut self, shelf: Shelf, key: Key) -> Parked {
        self.parkings += 1;
        let parked = self.parkings;
        let data = &mut self.shelves[shelf.0 as usize];
        let group = data.group;
        let size = *self.groups[group as usize]
            .size
            .get_or_insert(self.default_size);
        let evicted = if self.groups[group as usize].idle >= size {
            self.evict(group)
        } else {
            None
        };
        self.shelves[shelf.0 as usize]
            .idle
            .push_back(Idle { key, parked });
        let group = &mut self.groups[group as usize];
        group.idle += 1;
        Parked {
            evicted,
            awaited: !group.waiting.is_empty(),
        }
    }

    /// Takes one particular connection off its shelf; `false` when it is not there.
    pub(crate) fn remove(&mut self, shelf: Shelf, key: Key) -> bool {
        let data = &mut self.shelves[shelf.0 as usize];
        // The oldest expire first and the newest are claimed first: both ends are near.
        let Some(at) = data.idle.iter().position(|idle| idle.key == key) else {
            return false;
        };
        data.idle.remove(at);
        self.groups[data.group as usize].idle -= 1;
        true
    }

    /// Takes off the least recently used connection of a group.
    fn evict(&mut self, group: u32) -> Option<Key> {
        let shelves = &self.groups[group as usize].shelves;
        let oldest = *shelves.iter().min_by_key(|&&s| {
            self.shelves[s as usize]
                .idle
                .front()
                .map_or(u64::MAX, |idle| idle.parked)
        })?;
        let idle = self.shelves[oldest as usize].idle.pop_front()?;
        self.groups[group as usize].idle -= 1;
        Some(idle.key)
    }

    /// Whom the shelf's connections talk to: the host to resolve, and its port.
    pub(crate) fn peer(&self, shelf: Shelf) -> (&[u8], u16) {
        let data = &self.shelves[shelf.0 as usize];
        match &data.proxy {
            Some((host, port)) => (host, *port),
            None => (&data.host, data.port),
        }
    }

    /// The end of the request line and the Host line for requests to the shelf's origin.
    pub(crate) fn version_and_host(&self, shelf: Shelf) -> &[u8] {
        &self.shelves[shelf.0 as usize].version_and_host
    }

    /// The target the shelf stands for, without the group's name.
    pub(crate) fn target(&self, shelf: Shelf) -> Target<'_> {
        let data = &self.shelves[shelf.0 as usize];
        let proxy = data.proxy.as_ref();
        Target {
            proxy: proxy.map(|(host, port)| Proxy { host, port: *port }),
            ..Target::new(data.scheme, &data.host, data.port)
        }
    }

    /// How many connections are idle.
    pub(crate) fn idle(&self) -> usize {
        self.groups.iter().map(|(_, g)| g.idle).sum()
    }

    fn origin_hash(&self, target: &Target<'_>) -> u64 {
        let mut h = self.hasher.build_hasher();
        put_name(&mut h, target.host);
        h.write_u32(u32::from(target.port) << 1 | u32::from(target.scheme == Scheme::Https));
        if let Some(proxy) = target.proxy {
            put_name(&mut h, proxy.host);
            h.write_u16(proxy.port);
        }
        if let Some(pool) = target.pool {
            h.write(pool);
        }
        h.finish()
    }

    fn matches(&self, index: u32, target: &Target<'_>) -> bool {
        let Some(data) = self.shelves.get(index as usize) else {
            return false;
        };
        data.port == target.port
            && data.scheme == target.scheme
            && (*data.host == *target.host
                || (!is_unix(target.host) && data.host.eq_ignore_ascii_case(target.host)))
            && self.groups[data.group as usize].name.as_deref() == target.pool
            && match (&data.proxy, &target.proxy) {
                (None, None) => true,
                (Some((host, port)), Some(proxy)) => {
                    *port == proxy.port && host.eq_ignore_ascii_case(proxy.host)
                }
                _ => false,
            }
    }

    fn make_shelf(&mut self, hash: u64, target: &Target<'_>) -> u32 {
        if self.shelves.len() >= SHELVES_KEPT {
            self.forget_unused();
        }
        let group = self.group(target.pool);
        let traced = self.traces(target);
        let index = self.shelves.insert(ShelfData {
            group,
            traced,
            hash,
            scheme: target.scheme,
            host: target.host.into(),
            version_and_host: version_and_host(target.authority()).into(),
            port: target.port,
            proxy: target.proxy.map(|p| (p.host.into(), p.port)),
            idle: VecDeque::new(),
            users: 0,
        }) as u32;
        self.groups[group as usize].shelves.push(index);
        let shelves = &self.shelves;
        self.by_origin
            .insert_unique(hash, index, |&i| shelves[i as usize].hash);
        index
    }

    /// The group of that name, or a fresh one without a name.
    fn group(&mut self, name: Option<&[u8]>) -> u32 {
        let fresh = |name: Option<&[u8]>, hash| Group {
            name: name.map(Into::into),
            hash,
            size: None,
            idle: 0,
            open: 0,
            backlog: None,
            waiting: VecDeque::new(),
            tally: Tally::default(),
            shelves: alloc::vec::Vec::new(),
        };
        let Some(name) = name else {
            return self.groups.insert(fresh(None, 0)) as u32;
        };
        let hash = self.hasher.hash_one(name);
        let groups = &mut self.groups;
        if let Some(&index) = self
            .by_name
            .find(hash, |&i| groups[i as usize].name.as_deref() == Some(name))
        {
            return index;
        }
        let index = groups.insert(fresh(Some(name), hash)) as u32;
        self.by_name
            .insert_unique(hash, index, |&i| groups[i as usize].hash);
        index
    }

    /// Forgets shelves that nobody uses, and the groups left empty by that.
    fn forget_unused(&mut self) {
        let groups = &mut self.groups;
        let by_origin = &mut self.by_origin;
        self.shelves.retain(|index, data| {
            let keep = data.users > 0 || !data.idle.is_empty();
            if !keep {
                groups[data.group as usize]
                    .shelves
                    .retain(|&s| s as usize != index);
                if let Ok(entry) = by_origin.find_entry(data.hash, |&i| i as usize == index) {
                    entry.remove();
                }
            }
            keep
        });
        let by_name = &mut self.by_name;
        let forgotten = &mut self.forgotten;
        groups.retain(|index, group| {
            let keep = !group.shelves.is_empty();
            if !keep {
                forgotten.add(&group.tally);
            }
            if !keep
                && group.name.is_some()
                && let Ok(entry) = by_name.find_entry(group.hash, |&i| i as usize == index)
            {
                entry.remove();
            }
            keep
        });
    }
}

/// The place of a target among the recent ones: a hash of what is at hand.
#[inline]
fn recent(target: &Target<'_>) -> usize {
    let last = target.host.last().map_or(0, |b| usize::from(b | 0x20));
    (usize::from(target.port) ^ target.host.len() ^ last) % RECENT
}

/// Hosts compare without regard to case (RFC 3986 3.2.2), so the bit that tells the cases apart is
/// left out of the hash: eight bytes at once, at the price of a few more collisions.
fn put_name(h: &mut impl Hasher, name: &[u8]) {
    const CASE: u64 = 0x2020_2020_2020_2020;
    let mut put = |bytes: &[u8; 8]| h.write_u64(u64::from_le_bytes(*bytes) | CASE);
    match name.last_chunk() {
        // The last eight bytes may overlap those before.
        Some(last) => {
            name.as_chunks().0.iter().for_each(&mut put);
            put(last);
        }
        None => {
            let mut short = [0; 8];
            short[..name.len()].copy_from_slice(name);
            put(&short);
        }
    }
    h.write_usize(name.len());
}
