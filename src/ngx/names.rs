//! Names: nginx's resolver, asked on the engine's behalf.
//!
//! Whom to ask is decided where the request is handled: the `resolver` in force there, else what
//! the system's own files say ([`System`]). nginx may answer on our own stack (from its cache), so
//! it is asked with nothing borrowed; a lookup that is not wanted any more is cancelled.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ptr::{self, NonNull};

use ngx::ffi::{
    AF_INET, AF_INET6, NGX_OK, NGX_RESOLVE_NXDOMAIN, NGX_RESOLVE_TIMEDOUT, ngx_int_t, ngx_msec_t,
    ngx_resolve_name, ngx_resolve_name_done, ngx_resolve_start, ngx_resolver_addr_t,
    ngx_resolver_ctx_t, ngx_resolver_t, ngx_str_t, sockaddr_in, sockaddr_in6,
};
use ngx_http_ffi_client::names::in_order;
use ngx_http_ffi_client::{Event, Id, Key, ResolveError};

use crate::abi::Reply;
use crate::exchange::Failure;
use crate::module;
use crate::owner::Origin;
use crate::system::System;
use crate::timer::now;
use crate::worker::{self, State};

/// Whom to ask, and how long at most.
#[derive(Debug, Clone, Copy)]
struct Resolver {
    raw: NonNull<ngx_resolver_t>,
    timeout: ngx_msec_t,
}

/// A name that nginx is asked for, for a connection.
#[derive(Debug)]
struct Lookup {
    key: Key,
    resolver: Resolver,
    /// To be asked for in turn, the last first. nginx writes to the one it is asked for.
    names: Vec<Box<[u8]>>,
    /// The question that is out.
    asked: Option<NonNull<ngx_resolver_ctx_t>>,
}

/// What is being looked up, and by whom.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    /// By nginx, by the index of the connection's key.
    list: Vec<Option<Lookup>>,
    /// By Lua. Few: each is a coroutine that runs or has been woken.
    by_lua: Vec<Key>,
}

/// How a name is looked up.
enum Plan {
    Nginx(Lookup),
    Lua,
    /// Not at all: these are its addresses.
    Known(Vec<IpAddr>),
}

impl Lookups {
    fn get(&mut self, key: Key) -> Option<&mut Lookup> {
        self.list
            .get_mut(key.index())?
            .as_mut()
            .filter(|l| l.key == key)
    }

    fn insert(&mut self, lookup: Lookup) {
        let index = lookup.key.index();
        if self.list.len() <= index {
            self.list.resize_with(index + 1, || None);
        }
        self.list[index] = Some(lookup);
    }

    /// Forgets a lookup, and cancels the question that is out for it.
    pub(crate) fn cancel(&mut self, key: Key) {
        if self.get(key).is_some()
            && let Some(lookup) = self.list[key.index()].take()
        {
            lookup.cancel();
        }
        self.by_lua.retain(|&other| other != key);
    }

    /// As above, for all of them.
    pub(crate) fn cancel_all(&mut self) {
        self.list.drain(..).flatten().for_each(Lookup::cancel);
        self.by_lua.clear();
    }
}

impl Lookup {
    fn cancel(self) {
        if let Some(ctx) = self.asked {
            // SAFETY: nginx's, asked by us, neither answered nor done yet. Runs no handler of ours.
            unsafe { ngx_resolve_name_done(ctx.as_ptr()) }
        }
    }
}

impl State {
    /// Begins to look up the name that a connection asks for. Returns whether nginx is to be asked,
    /// which has to wait until nothing is borrowed.
    pub(crate) fn look_up(&mut self, key: Key) -> bool {
        let plan = self.plan(key);
        let asks = matches!(plan, Ok(Plan::Nginx(_)));
        match plan {
            Ok(Plan::Nginx(lookup)) => self.lookups.insert(lookup),
            Ok(Plan::Lua) => {
                self.lookups.by_lua.push(key);
                if let Some(id) = self.engine.owner(key) {
                    self.wake(id);
                }
            }
            Ok(Plan::Known(list)) => self.engine.handle(key, Event::Resolved(&list), now()),
            Err(error) => self.engine.handle(key, Event::Unresolved(error), now()),
        }
        asks
    }

    fn plan(&mut self, key: Key) -> Result<Plan, ResolveError> {
        let Origin { r, hook } = self.origin_of(key).ok_or(ResolveError::NoResolver)?;
        if hook {
            return Ok(Plan::Lua);
        }
        // SAFETY: the request that the exchange belongs to is live.
        let (in_force, timeout) = unsafe { module::resolver(r) };
        let host = self.engine.host(key).unwrap_or_default();
        let (raw, names) = match (in_force, module::system()) {
            (Some(raw), _) => (raw, Vec::from([Box::from(host)])),
            (None, Some(system)) => {
                let name = core::str::from_utf8(host).map_err(|_| ResolveError::NotFound)?;
                let known = in_order(&system.hosts.find(name));
                if !known.is_empty() {
                    return Ok(Plan::Known(known));
                }
                let raw = system.resolver().ok_or(ResolveError::NoResolver)?;
                (raw, candidates(system, name))
            }
            (None, None) => return Err(ResolveError::NoResolver),
        };
        Ok(Plan::Nginx(Lookup {
            key,
            resolver: Resolver { raw, timeout },
            names,
            asked: None,
        }))
    }

    /// Whence the connection's exchange comes.
    fn origin_of(&mut self, key: Key) -> Option<Origin> {
        let id = self.engine.owner(key)?;
        // Without a ticket the exchange was begun by the call that is going on.
        self.owners.ticket(id).map(|t| t.origin).or(self.calling)
    }

    /// The connection for which Lua has to say what the addresses of its name are.
    pub(crate) fn name_for(&self, id: Id) -> Option<Key> {
        let mut keys = self.lookups.by_lua.iter().copied();
        keys.find(|&key| self.engine.owner(key) == Some(id))
    }

    /// Lua's answer, in the order to try the addresses; empty when there are none.
    pub(crate) fn names(
        &mut self,
        id: Id,
        texts: &[&[u8]],
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        let Some(key) = self.name_for(id) else {
            // Too late: what it was for has failed meanwhile.
            return Ok(());
        };
        let parse = |text: &&[u8]| core::str::from_utf8(text).ok()?.parse().ok();
        let Some(list) = texts.iter().map(parse).collect::<Option<Vec<IpAddr>>>() else {
            self.drop_exchange(id);
            reply.id = 0.0;
            return Err("the resolver function gave something that is no address");
        };
        self.lookups.cancel(key);
        match list.is_empty() {
            true => self
                .engine
                .handle(key, Event::Unresolved(ResolveError::NotFound), now()),
            false => self.engine.handle(key, Event::Resolved(&list), now()),
        }
        Ok(())
    }

    /// An answer of nginx's, or that there will be none.
    fn answered(&mut self, key: Key, answer: Result<Vec<IpAddr>, ResolveError>) {
        let Some(lookup) = self.lookups.get(key) else {
            return;
        };
        lookup.asked = None;
        lookup.names.pop();
        if answer == Err(ResolveError::NotFound) && !lookup.names.is_empty() {
            return self.asks.push_back(key);
        }
        self.lookups.cancel(key);
        match answer {
            Ok(list) => self
                .engine
                .handle(key, Event::Resolved(&in_order(&list)), now()),
            Err(error) => self.engine.handle(key, Event::Unresolved(error), now()),
        }
    }
}

/// A name as the system's configuration completes it, the first to be tried last.
fn candidates(system: &System, name: &str) -> Vec<Box<[u8]>> {
    let names = system.resolv.candidates(name).into_iter().rev();
    names.map(|n| n.into_bytes().into_boxed_slice()).collect()
}

/// Asks nginx for the next name of a lookup. Nothing may be borrowed.
pub(crate) fn ask(key: Key) {
    let question = worker::with(|state| {
        let lookup = state.lookups.get(key)?;
        let resolver = lookup.resolver;
        let name = lookup.names.last_mut()?;
        let (data, len) = (name.as_mut_ptr(), name.len());
        Some((resolver, ngx_str_t { len, data }))
    });
    let Some((resolver, name)) = question.flatten() else {
        return;
    };
    // SAFETY: a resolver of the running configuration.
    let ctx = unsafe { ngx_resolve_start(resolver.raw.as_ptr(), ptr::null_mut()) };
    // nginx says "no resolver" by an address that is none.
    let refused = match ctx.addr() {
        0 => Some(ResolveError::Failed),
        usize::MAX => Some(ResolveError::NoResolver),
        _ => None,
    };
    if let Some(error) = refused {
        worker::with(|state| state.answered(key, Err(error)));
        return;
    }
    // SAFETY: a fresh context of nginx's, ours to fill in. The name stays where it is until the
    // lookup is forgotten, and that ends the question first.
    unsafe {
        (*ctx).name = name;
        (*ctx).handler = Some(on_answer);
        (*ctx).data = ptr::without_provenance_mut(key.to_bits() as usize);
        (*ctx).timeout = resolver.timeout;
    }
    worker::with(|state| {
        if let Some(lookup) = state.lookups.get(key) {
            lookup.asked = NonNull::new(ctx);
        }
    });
    // SAFETY: filled in. On failure nginx has freed the context, and no handler runs.
    if unsafe { ngx_resolve_name(ctx) } != NGX_OK as ngx_int_t {
        worker::with(|state| state.answered(key, Err(ResolveError::Failed)));
    }
}

/// nginx has an answer, perhaps while it is being asked.
unsafe extern "C" fn on_answer(ctx: *mut ngx_resolver_ctx_t) {
    // SAFETY: a context that `ask` filled in.
    let key = Key::from_bits(unsafe { (*ctx).data }.addr() as u64);
    // SAFETY: as above.
    let answer = unsafe { read(ctx) };
    // SAFETY: answered and not done: a lookup that was forgotten before ended its question.
    unsafe { ngx_resolve_name_done(ctx) };
    let Some(key) = key else { return };
    worker::answer(|state| state.answered(key, answer));
}

/// # Safety
/// `ctx` is answered.
unsafe fn read(ctx: *const ngx_resolver_ctx_t) -> Result<Vec<IpAddr>, ResolveError> {
    // SAFETY: the caller's promise.
    let (state, n, addrs) = unsafe { ((*ctx).state, (*ctx).naddrs, (*ctx).addrs) };
    match u32::try_from(state) {
        Ok(0) => {}
        Ok(NGX_RESOLVE_NXDOMAIN) => return Err(ResolveError::NotFound),
        Ok(NGX_RESOLVE_TIMEDOUT) => return Err(ResolveError::TimedOut),
        Ok(_) | Err(_) => return Err(ResolveError::Failed),
    }
    // SAFETY: nginx gives as many addresses as it says.
    let list: Vec<IpAddr> = (0..n)
        .filter_map(|i| unsafe { address(addrs.add(i)) })
        .collect();
    match list.is_empty() {
        true => Err(ResolveError::NotFound),
        false => Ok(list),
    }
}

/// # Safety
/// `addr` is an address of an answer.
unsafe fn address(addr: *const ngx_resolver_addr_t) -> Option<IpAddr> {
    // SAFETY: the caller's promise; the family says which structure it is, and nginx aligns them.
    unsafe {
        let raw = (*addr).sockaddr;
        match u32::from((*raw).sa_family) {
            AF_INET => {
                let bytes = (*raw.cast::<sockaddr_in>()).sin_addr.s_addr.to_ne_bytes();
                Some(Ipv4Addr::from(bytes).into())
            }
            AF_INET6 => {
                let bytes = (*raw.cast::<sockaddr_in6>()).sin6_addr.__in6_u.__u6_addr8;
                Some(Ipv6Addr::from(bytes).into())
            }
            _ => None,
        }
    }
}
