//! How a Lua coroutine waits for an exchange and is woken.
//!
//! *By semaphore*, with every ngx_lua. The semaphore is ours: ngx_lua would free one that Lua
//! collects while we still post to it. Posting only posts an nginx event; Lua runs later in the
//! same turn of the loop. The count says whether anybody waits: -1 yes, 0 nobody, 1 it was posted
//! and the waiter had gone. That is how a killed light thread is noticed, since ngx_lua does not
//! tell us.
//!
//! *By coroutine*, with ngx_lua from 0.10.29 on and a Lua half that asked for it: the coroutine
//! just yields, is resumed by name, and ngx_lua calls us when it is killed.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use std::collections::VecDeque;

use ngx::ffi::{ngx_http_cleanup_pt, ngx_http_request_t};

use crate::lua::{CoCtx, Coroutines, Lua, Sema, Semaphores};

/// Who waits for an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Waiter {
    /// Nobody.
    #[default]
    Nobody,
    /// A coroutine that waits on this semaphore.
    Sema { sema: NonNull<Sema>, posted: bool },
    /// This coroutine.
    Coroutine { co: NonNull<CoCtx>, posted: bool },
}

impl Waiter {
    /// Woken, but the coroutine has not run yet as far as we know.
    pub(crate) fn is_posted(self) -> bool {
        matches!(
            self,
            Waiter::Sema { posted: true, .. } | Waiter::Coroutine { posted: true, .. }
        )
    }
}

/// The semaphores, and the way to wait.
pub(crate) struct Waits {
    semaphores: Semaphores,
    coroutines: Option<Coroutines>,
    /// The Lua half knows how to wait without a semaphore.
    plain: bool,
    /// Nobody waits on these and their count is zero.
    free: Vec<NonNull<Sema>>,
    /// Their exchange is gone, but a coroutine that will soon be torn down may still queue on
    /// them.
    limbo: Vec<NonNull<Sema>>,
    /// Posted to a waiter that will run in this turn of the loop. Until it has, the count is zero
    /// as if nobody queued.
    dismissed: Vec<NonNull<Sema>>,
    /// Coroutines to be resumed by name.
    resumes: VecDeque<NonNull<CoCtx>>,
}

impl Waits {
    pub(crate) fn new(lua: &Lua) -> Waits {
        Waits {
            semaphores: lua.semaphores,
            coroutines: lua.coroutines,
            plain: false,
            free: Vec::new(),
            limbo: Vec::new(),
            dismissed: Vec::new(),
            resumes: VecDeque::new(),
        }
    }

    /// The Lua half can wait without a semaphore. Returns whether ngx_lua can, too.
    pub(crate) fn allow_plain(&mut self) -> bool {
        self.plain = self.coroutines.is_some();
        self.plain
    }

    /// A waiter for the coroutine that is running for `r`, and the semaphore Lua is to wait on,
    /// null for none. `on_kill` is called when ngx_lua ends the coroutine first.
    ///
    /// # Safety
    /// `r` is a live request in whose Lua code we were called.
    pub(crate) unsafe fn begin(
        &mut self,
        r: *mut ngx_http_request_t,
        on_kill: ngx_http_cleanup_pt,
    ) -> Result<(Waiter, *mut c_void), &'static str> {
        if let Some(api) = self.coroutines.filter(|_| self.plain) {
            // SAFETY: the caller's promise. The coroutine lives until it ends, and before ngx_lua
            // ends it while it waits it calls `on_kill`. Resuming needs the request as data.
            let co = unsafe { (api.current)(r) };
            let co = NonNull::new(co).ok_or("no coroutine to wait in")?;
            // SAFETY: as above.
            unsafe { (api.on_kill)(co.as_ptr(), on_kill, r.cast()) };
            return Ok((Waiter::Coroutine { co, posted: false }, ptr::null_mut()));
        }
        let sema = match self.free.pop() {
            Some(sema) => sema,
            None => self.make()?,
        };
        Ok((
            Waiter::Sema {
                sema,
                posted: false,
            },
            sema.as_ptr().cast(),
        ))
    }

    fn make(&self) -> Result<NonNull<Sema>, &'static str> {
        let mut sema = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: two out-parameters on this stack; ngx_lua is configured in a process whose Lua
        // code has called us.
        unsafe { (self.semaphores.new)(&raw mut sema, 0, &raw mut message) };
        NonNull::new(sema).ok_or("no memory")
    }

    fn count(&self, sema: NonNull<Sema>) -> i32 {
        // SAFETY: ours until we free it.
        unsafe { (self.semaphores.count)(sema.as_ptr()) }
    }

    /// Whether a coroutine is still there to be woken, or was woken and has yet to run.
    pub(crate) fn present(&self, waiter: Waiter) -> bool {
        match waiter {
            Waiter::Nobody => false,
            Waiter::Sema {
                sema,
                posted: false,
            } => self.count(sema) < 0,
            Waiter::Sema { sema, posted: true } => self.count(sema) <= 0,
            // Its death would have been told to us.
            Waiter::Coroutine { .. } => true,
        }
    }

    /// Wakes the waiter. `false` when it is gone. One that has `begun` and does not queue yet will
    /// find the semaphore posted, and not wait at all.
    pub(crate) fn wake(&mut self, waiter: &mut Waiter, begun: bool) -> bool {
        if !begun && !self.present(*waiter) {
            return false;
        }
        match waiter {
            Waiter::Nobody => return false,
            Waiter::Sema { posted: true, .. } | Waiter::Coroutine { posted: true, .. } => {}
            Waiter::Sema { sema, posted } => {
                *posted = true;
                // SAFETY: ours; at most this posts nginx's event, and it runs nothing.
                unsafe { (self.semaphores.post)(sema.as_ptr(), 1) };
            }
            Waiter::Coroutine { co, posted } => {
                *posted = true;
                self.resumes.push_back(*co);
            }
        }
        true
    }

    /// Wakes the waiter of an exchange that is over: it will run, ask, and find nothing. The
    /// caller sees to it that [`Waits::next_turn`] is called.
    pub(crate) fn dismiss(&mut self, mut waiter: Waiter, begun: bool) {
        self.wake(&mut waiter, begun);
        match waiter {
            Waiter::Sema { sema, posted: true } => self.dismissed.push(sema),
            Waiter::Sema { sema, posted } => self.release(sema, posted),
            Waiter::Nobody | Waiter::Coroutine { .. } => {}
        }
    }

    /// Another turn of the loop: whoever was dismissed in the last has run, or is gone.
    pub(crate) fn next_turn(&mut self) {
        self.limbo.append(&mut self.dismissed);
    }

    /// Ends a wait whose coroutine is the one that is calling us: it has run.
    pub(crate) fn finish(&mut self, waiter: Waiter) {
        if let Waiter::Sema { sema, .. } = waiter {
            self.release(sema, false);
        }
    }

    /// Ends a wait whose exchange is over before its coroutine ran. It will never run: either it
    /// is gone already, or its request is being torn down around us.
    pub(crate) fn retire(&mut self, waiter: Waiter) {
        match waiter {
            Waiter::Nobody => {}
            Waiter::Sema { sema, posted } => self.release(sema, posted),
            Waiter::Coroutine { co, .. } => {
                self.forget(co);
                if let Some(api) = self.coroutines {
                    // SAFETY: it waits, so it is alive, or we would have been told.
                    unsafe { (api.on_kill)(co.as_ptr(), None, ptr::null_mut()) }
                }
            }
        }
    }

    /// `posted`: a post may be under way to a waiter that still queues, and then the count of
    /// zero does not mean that nobody does.
    fn release(&mut self, sema: NonNull<Sema>, posted: bool) {
        if !posted && self.count(sema) == 0 {
            self.free.push(sema);
        } else {
            self.limbo.push(sema);
        }
    }

    /// Takes back the semaphores nobody waits on any more. Only between two handlers of nginx's:
    /// then no request is half torn down, and every posted semaphore has been handled or counts 1.
    pub(crate) fn sweep(&mut self) {
        let mut i = 0;
        while let Some(&sema) = self.limbo.get(i) {
            let count = self.count(sema);
            if count < 0 {
                i += 1;
                continue;
            }
            if count > 0 {
                // SAFETY: ours; nobody waits, so this only takes the unused post back.
                unsafe { (self.semaphores.post)(sema.as_ptr(), -count) };
            }
            self.limbo.swap_remove(i);
            self.free.push(sema);
        }
    }

    /// ngx_lua ends this coroutine: it will not be resumed.
    pub(crate) fn forget(&mut self, co: NonNull<CoCtx>) {
        self.resumes.retain(|resume| *resume != co);
    }

    /// The request of a coroutine that is waiting.
    ///
    /// # Safety
    /// `co` is what ngx_lua passed to `on_kill`.
    pub(crate) unsafe fn request_of(&self, co: NonNull<CoCtx>) -> *mut ngx_http_request_t {
        let Some(api) = self.coroutines else {
            return ptr::null_mut();
        };
        // SAFETY: the caller's promise; the data is what `begin` gave.
        unsafe { (api.data)(co.as_ptr()) }.cast()
    }

    /// Whether a coroutine is to be resumed by name.
    pub(crate) fn resumes(&self) -> bool {
        !self.resumes.is_empty()
    }

    /// The next coroutine to be resumed with [`resume`].
    pub(crate) fn next_resume(&mut self) -> Option<(Coroutines, NonNull<CoCtx>)> {
        self.coroutines.zip(self.resumes.pop_front())
    }
}

impl Drop for Waits {
    /// ngx_lua counts its semaphores when it leaves.
    fn drop(&mut self) {
        let unused = self.free.drain(..).chain(self.limbo.drain(..));
        for sema in unused.chain(self.dismissed.drain(..)) {
            // SAFETY: ours, and not used afterwards.
            unsafe { (self.semaphores.free)(sema.as_ptr()) }
        }
    }
}

/// Runs a coroutine on. Lua code runs before this returns, and may end the request.
///
/// # Safety
/// Both come from [`Waits::next_resume`] just now, and nothing of ours is borrowed.
pub(crate) unsafe fn resume(api: Coroutines, co: NonNull<CoCtx>) {
    // SAFETY: the caller's promise.
    unsafe { (api.resume)(co.as_ptr(), 0) }
}
