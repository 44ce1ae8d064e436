//! The engine in one worker process, and the loop that carries out its orders.
//!
//! Everything lives in one cell. It is borrowed only across C calls that run no handler (`send`,
//! `recv`, `close`, posting an event); whatever might call back into this module, which is opening a
//! connection, asking for a name and resuming a coroutine, happens with nothing borrowed, and what
//! is ordered meanwhile waits in the engine.
//!
//! nginx enters by a handler ([`enter`]), Lua by an exported function (`ffi.rs`). Both end with
//! [`run`], and neither lets a panic out: it costs the exchange it happened in.

use core::cell::{Cell, RefCell};
use core::ffi::c_int;
use core::panic::AssertUnwindSafe;
use core::ptr::NonNull;
use std::collections::VecDeque;
use std::panic::catch_unwind;

use ngx::ffi::{NGX_LOG_NOTICE, ngx_event_t};
use ngx_http_ffi_client::{Engine, Id, Key};

use crate::abi::{AGAIN, NAME, Reply, WANTS};
use crate::exchange::Failure;
use crate::lua::{CoCtx, Lua};
use crate::names::Lookups;
use crate::owner::{Origin, OwnerKey, Owners, Ticket};
use crate::result::Answer;
use crate::socket::Sockets;
use crate::stats::Shown;
use crate::timer::{OwnEvent, Timer, now};
use crate::wait::{self, Waiter, Waits};
use crate::{log, module};

mod orders;

use orders::run_from;

struct Worker {
    state: RefCell<Option<State>>,
    /// The process is leaving: nothing is begun any more.
    over: Cell<bool>,
}

// SAFETY: nginx runs its event loop, and Lua in it, on the process's first thread only.
unsafe impl Sync for Worker {}

static WORKER: Worker = Worker {
    state: RefCell::new(None),
    over: Cell::new(false),
};

/// Everything of this module that lives as long as the worker.
pub(crate) struct State {
    pub(crate) engine: Engine,
    pub(crate) sockets: Sockets,
    pub(crate) owners: Owners,
    pub(crate) waits: Waits,
    pub(crate) lua: Lua,
    pub(crate) answer: Answer,
    pub(crate) stats: Shown,
    /// Bytes that Lua was shown and the engine must be told of before anything else.
    pub(crate) shown: Option<(Id, usize)>,
    /// Connections to be driven, with the bytes they may move in this turn.
    pub(crate) drives: VecDeque<(Key, usize)>,
    /// The exchange whose caller has just been told to wait, until Lua calls again or nginx does: a
    /// waiter that is not there yet must not be taken for one that was killed.
    pub(crate) begun: Option<Id>,
    /// Exchanges whose semaphore was posted and whose coroutine has not called yet.
    posted: Vec<Id>,
    /// Exchanges whose owner has had its share of this turn.
    next_turn: Vec<Id>,
    /// Names being looked up.
    pub(crate) lookups: Lookups,
    /// Lookups whose next name is to be asked for.
    pub(crate) asks: VecDeque<Key>,
    /// Whence the exchange comes that was begun last. Until that has a ticket nothing else begins.
    pub(crate) calling: Option<Origin>,
    /// A connection is being opened, or a name asked for: orders wait.
    opening: bool,
    /// The engine is not to be called any more.
    pub(crate) broken: bool,
    timer: Timer,
    later_event: OwnEvent,
    turn_event: OwnEvent,
}

/// Runs `f` with everything borrowed, if this worker has an engine.
pub(crate) fn with<R>(f: impl FnOnce(&mut State) -> R) -> Option<R> {
    match WORKER.state.try_borrow_mut() {
        Ok(mut state) => state.as_mut().map(f),
        Err(_) => {
            in_use();
            None
        }
    }
}

/// As [`with`], and makes the engine where there is none yet.
pub(crate) fn with_engine<R>(f: impl FnOnce(&mut State) -> R) -> Result<R, Failure> {
    if WORKER.over.get() {
        return Err("closed");
    }
    let Ok(mut place) = WORKER.state.try_borrow_mut() else {
        in_use();
        return Err("internal error");
    };
    let state = match &mut *place {
        Some(state) => state,
        None => place.insert(State::new().ok_or("nhfc is not configured in this process")?),
    };
    match state.broken {
        true => Err("internal error"),
        false => Ok(f(state)),
    }
}

#[cold]
fn in_use() {
    log::alert(format_args!("called while in use"));
}

/// A handler of nginx's begins. Nothing of ours is on the stack below it.
pub(crate) fn enter(f: impl FnOnce(&mut State)) {
    let handler = || {
        let order = with(|state| {
            state.begun = None;
            if !state.broken {
                state.sweep();
                f(state);
            }
            state.settle(true)
        });
        run_from(order.flatten());
    };
    if catch_unwind(AssertUnwindSafe(handler)).is_err() {
        recover();
    }
}

/// A call of Lua's: `start` begins something, `finish` answers once the orders that came of it
/// have been carried out. Mostly none of them has to leave the borrow, and all is done in one.
pub(crate) fn ask<T>(
    reply: &mut Reply,
    start: impl FnOnce(&mut State, &mut Reply) -> Result<T, Failure>,
    finish: impl Fn(&mut State, T, &mut Reply) -> Result<c_int, Failure>,
) -> Result<c_int, Failure> {
    let conclude = |state: &mut State, started: Result<T, Failure>, reply: &mut Reply| {
        let answer = started.and_then(|started| finish(state, started, reply));
        // What Lua is shown stays where it is until Lua has taken it: nothing is received now.
        let order = state.settle(matches!(answer, Ok(AGAIN | WANTS | NAME)));
        (answer, order)
    };
    let begun = with_engine(|state| {
        state.begun = None;
        state.settle_shown();
        let started = start(state, reply);
        match state.work(true) {
            None => Ok(conclude(state, started, reply)),
            order => Err((started, order)),
        }
    })?;
    let (answer, order) = match begun {
        Ok(concluded) => concluded,
        Err((started, order)) => {
            run_from(order);
            with_engine(|state| conclude(state, started, reply))?
        }
    };
    run_from(order);
    answer
}

/// Carries out orders until there are none.
pub(crate) fn run() {
    run_from(with(|state| state.settle(true)).flatten());
}

/// nginx answers a question of ours: from its event loop, or at once, while it is being asked.
pub(crate) fn answer(f: impl FnOnce(&mut State)) {
    if with(|state| state.opening) != Some(true) {
        return enter(f);
    }
    let answer = || with(|state| (!state.broken).then(|| f(state)));
    if catch_unwind(AssertUnwindSafe(answer)).is_err() {
        recover();
    }
}

/// After a panic, which has been logged: the engine ends what it happened in. Should that panic
/// too, the engine is never called again: everybody is woken and told.
pub(crate) fn recover() {
    let mend = || {
        with(|state| {
            state.opening = false;
            state.engine.recover(now());
        });
        run();
    };
    if catch_unwind(AssertUnwindSafe(mend)).is_err() {
        log::alert(format_args!(
            "the engine is broken, no more requests can be made in this worker"
        ));
        with(State::break_off);
    }
}

/// The process is leaving. Calls that come later, from finalisers of the Lua state, find nothing.
pub(crate) fn exit() {
    WORKER.over.set(true);
    let Ok(state) = WORKER.state.try_borrow_mut().map(|mut state| state.take()) else {
        return;
    };
    let leave = || {
        if let Some(mut state) = state {
            state.engine.shutdown(now());
            state.report();
            state.close_all();
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(leave));
}

impl State {
    fn new() -> Option<State> {
        let conf = module::main_conf()?;
        let lua = conf.lua?;
        let mut engine = Engine::new(conf.engine());
        conf.tracing.set(&mut engine);
        Some(State {
            engine,
            sockets: Sockets::default(),
            owners: Owners::default(),
            waits: Waits::new(&lua),
            lua,
            answer: Answer::default(),
            stats: Shown::default(),
            shown: None,
            drives: VecDeque::new(),
            begun: None,
            posted: Vec::new(),
            next_turn: Vec::new(),
            lookups: Lookups::default(),
            asks: VecDeque::new(),
            calling: None,
            opening: false,
            broken: false,
            timer: Timer::new(on_timer),
            later_event: OwnEvent::new(on_later),
            turn_event: OwnEvent::new(on_turn),
        })
    }

    /// Wakes whoever waits for the exchange; where the coroutine was killed, drops the exchange.
    pub(crate) fn wake(&mut self, id: Id) {
        let Some(ticket) = self
            .owners
            .ticket(id)
            .filter(|t| t.waiter != Waiter::Nobody)
        else {
            return;
        };
        if self.waits.wake(&mut ticket.waiter, self.begun == Some(id)) {
            self.posted.push(id);
        } else {
            self.drop_exchange(id);
        }
    }

    /// Lets the owner go on in the next turn of the event loop.
    pub(crate) fn wake_next_turn(&mut self, id: Id) {
        self.next_turn.push(id);
        self.turn_event.post_next();
    }

    /// Ends an exchange in whatever state, and its socket with it. Who waits will not run.
    pub(crate) fn drop_exchange(&mut self, id: Id) {
        if self.shown.is_some_and(|(shown, _)| shown == id) {
            self.shown = None;
        }
        if let Some(ticket) = self.owners.withdraw(id) {
            self.waits.retire(ticket.waiter);
        }
        if !self.broken {
            self.engine.abort(id, now());
        }
    }

    /// Ends an exchange as above. Who waits is woken and finds it gone.
    pub(crate) fn close_exchange(&mut self, id: Id) {
        if let Some(ticket) = self.owners.ticket(id) {
            let waiter = core::mem::take(&mut ticket.waiter);
            self.waits.dismiss(waiter, self.begun == Some(id));
            self.turn_event.post_next();
        }
        self.drop_exchange(id);
    }

    /// ngx_lua ends a coroutine that waits for one of the owner's exchanges.
    pub(crate) fn end_waiter(&mut self, owner: Option<OwnerKey>, co: NonNull<CoCtx>) {
        self.waits.forget(co);
        let waits_for =
            |t: &Ticket| matches!(t.waiter, Waiter::Coroutine { co: waiting, .. } if waiting == co);
        let Some(id) = owner.and_then(|owner| self.owners.find(owner, waits_for)) else {
            return;
        };
        if let Some(ticket) = self.owners.ticket(id) {
            // It ends by itself and must not be touched.
            ticket.waiter = Waiter::Nobody;
        }
        self.drop_exchange(id);
    }

    /// The end of a request: the end of all its exchanges. Returns whether there were any.
    pub(crate) fn end_owner(&mut self, owner: OwnerKey) -> bool {
        let mut any = false;
        while let Some(id) = self.owners.first(owner) {
            self.drop_exchange(id);
            any = true;
        }
        self.owners.bury(owner);
        any
    }

    /// Tells the engine which bytes Lua has taken.
    pub(crate) fn settle_shown(&mut self) {
        if let Some((id, n)) = self.shown.take() {
            self.engine.consume(id, n, now());
        }
    }

    /// Housekeeping between two handlers.
    fn sweep(&mut self) {
        self.settle_shown();
        self.waits.sweep();
        let mut i = 0;
        while let Some(&id) = self.posted.get(i) {
            let waiter = self
                .owners
                .ticket(id)
                .map(|t| t.waiter)
                .filter(|w| w.is_posted());
            match waiter {
                Some(waiter) if self.waits.present(waiter) => {
                    i += 1;
                    continue;
                }
                // Killed after it was posted.
                Some(_) => self.drop_exchange(id),
                None => {}
            }
            self.posted.swap_remove(i);
        }
    }

    /// Nothing is left to do in this turn.
    fn rest(&mut self) {
        if self.waits.resumes() || !self.drives.is_empty() {
            self.later_event.post();
        }
        if self.broken {
            return;
        }
        if self.engine.has_reports() {
            self.report();
        }
        let deadline = self.engine.deadline();
        self.timer.set(deadline, self.engine.in_flight() > 0);
    }

    #[cold]
    fn report(&mut self) {
        while let Some(line) = self.engine.poll_trace() {
            log::write(NGX_LOG_NOTICE, log::cycle_log(), format_args!("{line}"));
        }
        while let Some(line) = self.engine.poll_alert() {
            log::alert(format_args!("{line}"));
        }
    }

    /// Closes every socket and ends every wait. The engine is not asked.
    fn close_all(&mut self) {
        self.lookups.cancel_all();
        for socket in self.sockets.drain() {
            socket.close();
        }
        let all: Vec<Id> = self.owners.exchanges().collect();
        for id in all {
            if let Some(ticket) = self.owners.withdraw(id) {
                self.waits.retire(ticket.waiter);
            }
        }
    }

    /// Ends everything without the engine. Who waits is woken and finds `broken`.
    fn break_off(&mut self) {
        self.broken = true;
        self.drives.clear();
        self.lookups.cancel_all();
        for socket in self.sockets.drain() {
            socket.close();
        }
        let all: Vec<Id> = self.owners.exchanges().collect();
        for id in all {
            self.close_exchange(id);
        }
        self.timer.set(None, false);
    }
}

unsafe extern "C" fn on_timer(_: *mut ngx_event_t) {
    enter(|state| state.engine.expire(now()));
}

/// The next turn has begun for those who had had their share of the last.
unsafe extern "C" fn on_turn(_: *mut ngx_event_t) {
    enter(|state| {
        state.waits.next_turn();
        for id in core::mem::take(&mut state.next_turn) {
            if let Some(owner) = state.owners.ticket(id).map(|t| t.owner()) {
                state.owners.new_turn(owner);
                state.wake(id);
            }
        }
    });
}

/// Later in the turn: drives what could not be driven while Lua looked at a buffer, and resumes
/// coroutines by name, each with nothing borrowed.
unsafe extern "C" fn on_later(_: *mut ngx_event_t) {
    enter(|_| ());
    while let Some((api, co)) = with(|state| state.waits.next_resume()).flatten() {
        // SAFETY: had the coroutine ended, `forget` would have taken it off the queue.
        unsafe { wait::resume(api, co) };
    }
}
