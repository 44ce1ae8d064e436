//! Whose an exchange is. An owner is a request, named by a generational key that comes with
//! the request's one cleanup: an address would not do, nginx uses them again.
//!
//! Every exchange has a [`Ticket`] with what the driver knows about it, and the tickets of one
//! owner form a list, so that the end of the request ends them all.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use ngx::ffi::{ngx_http_cleanup_add, ngx_http_cleanup_pt, ngx_http_request_t};
use ngx_http_ffi_client::Id;

use crate::wait::Waiter;

/// A request, as long as it lives. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnerKey {
    index: u32,
    generation: u32,
}

impl OwnerKey {
    fn to_data(self) -> *mut c_void {
        ptr::without_provenance_mut(((self.generation as usize) << 32) | self.index as usize)
    }

    pub(crate) fn from_data(data: *mut c_void) -> OwnerKey {
        let bits = data.addr();
        OwnerKey {
            index: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }
}

// The key travels as nginx's cleanup data.
const _: () = assert!(size_of::<*mut c_void>() == 8);

/// The owner that `r` already is, found by its cleanup. The main request's is searched:
/// subrequests share it, and it survives internal redirects, unlike a module context.
///
/// # Safety
/// `r` is a live request.
pub(crate) unsafe fn find(
    r: *const ngx_http_request_t,
    handler: ngx_http_cleanup_pt,
) -> Option<OwnerKey> {
    // SAFETY: the caller's promise; a live request has a main request with a list of cleanups.
    let mut cleanup = unsafe { (*(*r).main).cleanup };
    // SAFETY: as above, for each node up to the null that ends the list.
    while let Some(node) = unsafe { cleanup.as_ref() } {
        if same(node.handler, handler) {
            return Some(OwnerKey::from_data(node.data));
        }
        cleanup = node.next;
    }
    None
}

fn same(a: ngx_http_cleanup_pt, b: ngx_http_cleanup_pt) -> bool {
    matches!((a, b), (Some(a), Some(b)) if ptr::fn_addr_eq(a, b))
}

const NONE: u32 = u32::MAX;

/// What the driver has started for an exchange and not yet answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Started {
    /// Nothing.
    #[default]
    Nothing,
    /// `nhfc_fetch`.
    Fetch,
    /// `nhfc_connect`.
    Connect,
    /// `nhfc_request`, with or without the whole body.
    Request { whole: bool },
    /// `nhfc_read` or `nhfc_read_all`, which are called again rather than collected.
    Read,
}

/// Where an exchange comes from, for when a name has to be looked up for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    /// The request, perhaps a subrequest, in whose location it was begun. Lives as long as the owner.
    pub(crate) r: NonNull<ngx_http_request_t>,
    /// Lua code is asked instead of nginx.
    pub(crate) hook: bool,
}

/// What the driver knows about one exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    id: Id,
    owner: OwnerKey,
    previous: u32,
    next: u32,
    pub(crate) origin: Origin,
    pub(crate) started: Started,
    pub(crate) waiter: Waiter,
}

#[derive(Debug, Clone, Copy)]
struct Owner {
    generation: u32,
    live: bool,
    first: u32,
    fairness: Fairness,
}

/// Bytes that one request may be handed in one turn of the event loop before others get theirs.
const FAIR_BYTES: usize = 256 << 10;

/// As what a call for fewer bytes counts: 4096 of them are a share.
const CALL_COST: usize = 64;

#[derive(Debug, Clone, Copy, Default)]
struct Fairness {
    turn_ms: u64,
    delivered: usize,
}

/// Owners and tickets.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    owners: Vec<Owner>,
    vacant: Vec<u32>,
    /// By the exchange's index.
    tickets: Vec<Option<Ticket>>,
}

impl Owners {
    /// Makes `r` an owner.
    ///
    /// # Safety
    /// `r` is a live request whose cleanups have not been run.
    pub(crate) unsafe fn adopt(
        &mut self,
        r: *mut ngx_http_request_t,
        handler: ngx_http_cleanup_pt,
    ) -> Option<OwnerKey> {
        // SAFETY: the caller's promise.
        let cleanup = unsafe { ngx_http_cleanup_add((*r).main, 0).as_mut() }?;
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.owners.push(Owner {
                generation: 0,
                live: false,
                first: NONE,
                fairness: Fairness::default(),
            });
            (self.owners.len() - 1) as u32
        });
        let owner = self.owners.get_mut(index as usize)?;
        let generation = owner.generation.wrapping_add(1).max(1);
        *owner = Owner {
            generation,
            live: true,
            first: NONE,
            fairness: Fairness::default(),
        };
        let key = OwnerKey { index, generation };
        cleanup.handler = handler;
        cleanup.data = key.to_data();
        Some(key)
    }

    fn owner(&mut self, key: OwnerKey) -> Option<&mut Owner> {
        self.owners
            .get_mut(key.index as usize)
            .filter(|o| o.live && o.generation == key.generation)
    }

    /// The owner's next exchange, if it has one.
    pub(crate) fn first(&mut self, key: OwnerKey) -> Option<Id> {
        let first = self.owner(key)?.first;
        Some(self.tickets.get(first as usize)?.as_ref()?.id)
    }

    /// The owner is gone. Its tickets must be gone already.
    pub(crate) fn bury(&mut self, key: OwnerKey) {
        if let Some(owner) = self.owner(key) {
            owner.live = false;
            self.vacant.push(key.index);
        }
    }

    /// Gives a new exchange its ticket.
    pub(crate) fn assign(&mut self, key: OwnerKey, id: Id, origin: Origin, started: Started) {
        let Some(owner) = self.owner(key) else { return };
        let next = core::mem::replace(&mut owner.first, id.index() as u32);
        if let Some(Some(ticket)) = self.tickets.get_mut(next as usize) {
            ticket.previous = id.index() as u32;
        }
        let ticket = Ticket {
            id,
            owner: key,
            previous: NONE,
            next,
            origin,
            started,
            waiter: Waiter::Nobody,
        };
        if self.tickets.len() <= id.index() {
            self.tickets.resize(id.index() + 1, None);
        }
        self.tickets[id.index()] = Some(ticket);
    }

    /// The exchange's ticket, if it has one and is this owner's. `Err` when it is another's.
    pub(crate) fn ticket(&mut self, id: Id) -> Option<&mut Ticket> {
        self.tickets
            .get_mut(id.index())?
            .as_mut()
            .filter(|t| t.id == id)
    }

    /// Takes an exchange's ticket back.
    pub(crate) fn withdraw(&mut self, id: Id) -> Option<Ticket> {
        let ticket = *self.ticket(id)?;
        self.tickets[id.index()] = None;
        match self.tickets.get_mut(ticket.previous as usize) {
            Some(Some(previous)) => previous.next = ticket.next,
            _ => {
                if let Some(owner) = self.owner(ticket.owner) {
                    owner.first = ticket.next;
                }
            }
        }
        if let Some(Some(next)) = self.tickets.get_mut(ticket.next as usize) {
            next.previous = ticket.previous;
        }
        Some(ticket)
    }

    /// The exchange of this owner for which `wanted` holds.
    pub(crate) fn find(&self, key: OwnerKey, wanted: impl Fn(&Ticket) -> bool) -> Option<Id> {
        let owner = self
            .owners
            .get(key.index as usize)
            .filter(|o| o.generation == key.generation)?;
        let mut at = owner.first;
        while let Some(Some(ticket)) = self.tickets.get(at as usize) {
            if wanted(ticket) {
                return Some(ticket.id);
            }
            at = ticket.next;
        }
        None
    }

    /// Every exchange with a ticket.
    pub(crate) fn exchanges(&self) -> impl Iterator<Item = Id> + '_ {
        self.tickets.iter().flatten().map(|t| t.id)
    }

    /// How many bytes the owner may still be handed in this turn. The clock names the turn: it
    /// stands still within one, and a turn that is mistaken for the one before only waits once
    /// more.
    pub(crate) fn share(&mut self, key: OwnerKey, turn_ms: u64) -> usize {
        let Some(owner) = self.owner(key) else {
            return FAIR_BYTES;
        };
        if owner.fairness.turn_ms != turn_ms {
            owner.fairness = Fairness {
                turn_ms,
                delivered: 0,
            };
        }
        FAIR_BYTES.saturating_sub(owner.fairness.delivered)
    }

    /// Counts bytes handed to the owner, or by it. Few of them, or none, cost a call all the same.
    pub(crate) fn delivered(&mut self, key: OwnerKey, n: usize) {
        if let Some(owner) = self.owner(key) {
            let cost = n.max(CALL_COST);
            owner.fairness.delivered = owner.fairness.delivered.saturating_add(cost);
        }
    }

    /// A new turn has certainly begun for this owner.
    pub(crate) fn new_turn(&mut self, key: OwnerKey) {
        if let Some(owner) = self.owner(key) {
            owner.fairness.delivered = 0;
        }
    }
}

impl Ticket {
    pub(crate) fn owner(&self) -> OwnerKey {
        self.owner
    }
}
