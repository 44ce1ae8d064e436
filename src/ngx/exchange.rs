//! What each call from Lua means to the engine. These run with everything borrowed; `ffi.rs`
//! carries out the orders they leave in between.

use core::ffi::{c_int, c_void};
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ngx::ffi::ngx_http_request_t;
use ngx_http_ffi_client::{
    Collect, Duration, Engine, Error, Finished, Id, Kind, Limit, NotReused, Status, Timeouts, Until,
};

use crate::abi::{self, AGAIN, CLOSED, Checked, ENDED, ERROR, HAS_BODY, OK, REUSABLE, Reply, Text};
use crate::conf::InForce;
use crate::lua::CoCtx;
use crate::message::{keepalive, request, target, timeouts};
use crate::owner::{self, Origin, OwnerKey, Started};
use crate::result;
use crate::timer::now;
use crate::wait::Waiter;
use crate::worker::{self, State};

/// A refusal or failure, as the text Lua sees.
pub(crate) type Failure = &'static str;

/// A live request, as long as the call from Lua lasts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller(NonNull<ngx_http_request_t>);

impl Caller {
    /// # Safety
    /// `r` is null or the request in whose Lua code this call was made.
    pub(crate) unsafe fn new(r: *mut ngx_http_request_t) -> Result<Caller, Failure> {
        NonNull::new(r).map(Caller).ok_or("no request")
    }

    fn owner(self) -> Option<OwnerKey> {
        // SAFETY: live, by the promise made to `new`.
        unsafe { owner::find(self.0.as_ptr(), Some(on_request_end)) }
    }
}

/// What is wrong with a call that no Lua half of ours makes.
pub(crate) const BAD_CALL: Failure = "bad argument";
pub(crate) const GONE: Failure = "closed";
const BUSY: Failure = "socket busy";
pub(crate) const FOREIGN: Failure = "object belongs to another request";

/// The piece that is read when the caller does not say.
const PIECE: usize = 65536;

impl State {
    fn in_force(&self, r: Caller) -> InForce<'_> {
        // SAFETY: live, and the value does not outlive the call from Lua.
        unsafe { InForce::at(r.0.as_ptr(), &self.lua) }
    }

    /// Starts a request of its own.
    pub(crate) fn fetch(&mut self, r: Caller, call: &Checked<'_>) -> Result<Id, Failure> {
        self.call_from(r, call);
        let (numbers, in_force, limits) = (call.numbers(), self.in_force(r), call.limits());
        let timeouts = timeouts(&in_force, numbers);
        let keepalive = call
            .has(abi::KEEPALIVE)
            .then(|| keepalive(&in_force, numbers.idle_ms, numbers.pool_size));
        let (target, request) = (target(call)?, request(call, limits.as_ref()));
        let collect = Collect::Whole;
        self.tracing(call, |state| {
            let engine = &mut state.engine;
            engine.fetch(&target, &request, timeouts, collect, keepalive, now())
        })
        .map_err(text)
    }

    /// Notes whence the exchange comes that is about to be begun.
    fn call_from(&mut self, r: Caller, call: &Checked<'_>) {
        let hook = call.numbers().hook != 0;
        self.calling = Some(Origin { r: r.0, hook });
    }

    /// Starts to connect. The exchange is the caller's from now on.
    pub(crate) fn connect(&mut self, r: Caller, call: &Checked<'_>) -> Result<Id, Failure> {
        self.call_from(r, call);
        let in_force = self.in_force(r);
        let timeouts = timeouts(&in_force, call.numbers());
        let mut target = target(call)?;
        if target.backlog.is_some() {
            target
                .pool_size
                .get_or_insert_with(|| in_force.pool_size(0));
        }
        let id = self
            .tracing(call, |state| state.engine.connect(&target, timeouts, now()))
            .map_err(text)?;
        self.assign(r, id, Started::Connect)?;
        Ok(id)
    }

    /// Starts a request on a connection the caller holds. The exchange changes its name.
    pub(crate) fn request(
        &mut self,
        r: Caller,
        held: Id,
        call: &Checked<'_>,
        reply: &mut Reply,
    ) -> Result<(Id, Started), Failure> {
        self.unwaited(held, reply)?;
        let whole = call.has(abi::WHOLE);
        let collect = if whole {
            Collect::Whole
        } else {
            Collect::Stream
        };
        self.call_from(r, call);
        let (timeouts, limits) = (timeouts(&self.in_force(r), call.numbers()), call.limits());
        self.engine.set_timeouts(held, timeouts, now());
        let request = request(call, limits.as_ref());
        let begin = |state: &mut State| state.engine.request(held, &request, collect, now());
        let id = self.tracing(call, begin).map_err(text)?;
        reply.id = 0.0;
        self.owners.withdraw(held);
        let started = Started::Request { whole };
        self.assign(r, id, started)?;
        Ok((id, started))
    }

    /// What is going on for an exchange that Lua has waited for.
    pub(crate) fn started(&mut self, id: Id) -> Started {
        self.owners
            .ticket(id)
            .map_or(Started::Nothing, |t| t.started)
    }

    /// Makes an exchange its caller's, unless it is already.
    pub(crate) fn own(&mut self, r: Caller, id: Id, started: Started) -> Result<(), Failure> {
        match self.owners.ticket(id) {
            Some(_) => Ok(()),
            None => self.assign(r, id, started),
        }
    }

    fn assign(&mut self, r: Caller, id: Id, started: Started) -> Result<(), Failure> {
        // SAFETY: live, and still running Lua code.
        let owner = r
            .owner()
            .or_else(|| unsafe { self.owners.adopt(r.0.as_ptr(), Some(on_request_end)) });
        // Whoever has no ticket yet was begun by the call that is going on.
        let (Some(owner), Some(origin)) = (owner, self.calling) else {
            self.engine.abort(id, now());
            return Err("no memory");
        };
        self.owners.assign(owner, id, origin, started);
        Ok(())
    }

    /// The exchange with this handle, if it is the caller's.
    pub(crate) fn mine(&mut self, r: Caller, handle: f64) -> Result<Id, Failure> {
        // Handles are integers below 2^53; anything else names nothing.
        let bits = handle as u64;
        let id = Id::from_bits(bits)
            .filter(|_| bits as f64 == handle)
            .ok_or(GONE)?;
        let owner = self.owners.ticket(id).map(|t| t.owner()).ok_or(GONE)?;
        if r.owner() == Some(owner) {
            Ok(id)
        } else {
            Err(FOREIGN)
        }
    }

    /// That nobody waits for the exchange. One whose waiter was killed ends here.
    pub(crate) fn unwaited(&mut self, id: Id, reply: &mut Reply) -> Result<(), Failure> {
        let waiter = self.owners.ticket(id).map_or(Waiter::Nobody, |t| t.waiter);
        if waiter == Waiter::Nobody {
            return Ok(());
        }
        if self.waits.present(waiter) {
            return Err(BUSY);
        }
        self.drop_exchange(id);
        reply.id = 0.0;
        Err(GONE)
    }

    /// That the caller is the one who waited, if anybody did, and has been woken.
    pub(crate) fn woken(&mut self, id: Id, reply: &mut Reply) -> Result<(), Failure> {
        match self.owners.ticket(id) {
            Some(ticket) if ticket.waiter.is_posted() => {
                self.waits.finish(core::mem::take(&mut ticket.waiter));
                Ok(())
            }
            _ => self.unwaited(id, reply),
        }
    }

    /// Has the caller wait until the engine wakes the exchange.
    pub(crate) fn wait(
        &mut self,
        r: Caller,
        id: Id,
        started: Started,
        reply: &mut Reply,
    ) -> Result<c_int, Failure> {
        self.own(r, id, started)?;
        // SAFETY: live, and running the Lua code that called us.
        let (waiter, sema) = match unsafe { self.waits.begin(r.0.as_ptr(), Some(on_kill)) } {
            Ok(begun) => begun,
            Err(text) => {
                self.drop_exchange(id);
                return Err(text);
            }
        };
        if let Some(ticket) = self.owners.ticket(id) {
            ticket.waiter = waiter;
        }
        self.begun = Some(id);
        reply.id = handle(id);
        reply.sema = sema;
        Ok(AGAIN)
    }

    /// The answer to `nhfc_fetch`, `nhfc_connect` and `nhfc_request`, or a wait for it.
    pub(crate) fn collect(
        &mut self,
        r: Caller,
        id: Id,
        started: Started,
        reply: &mut Reply,
    ) -> Result<c_int, Failure> {
        let until = match started {
            Started::Connect => Until::Connected,
            Started::Request { whole: false } => Until::Head,
            Started::Fetch | Started::Request { whole: true } => Until::Done,
            Started::Nothing | Started::Read => return Err(BAD_CALL),
        };
        if !self.engine.wait(id, until, now()) {
            return match self.name_for(id) {
                Some(key) => self.ask_name(r, id, key, started, reply),
                None => self.wait(r, id, started, reply),
            };
        }
        // A head that has come is told though the connection broke behind it: the reader finds out.
        let told = |engine: &Engine| {
            started == (Started::Request { whole: false }) && engine.head(id).is_some()
        };
        match self.engine.status(id) {
            Status::Running if self.engine.wants(id) => return self.ask(r, id, started, reply),
            Status::Failed(error) if !told(&self.engine) => {
                return self.not_answered(id, error, reply);
            }
            Status::Ended if started == Started::Fetch => return self.finished(id, reply),
            Status::Gone => return Err(GONE),
            Status::Running | Status::Failed(_) | Status::Ended => {}
        }
        if let Some(ticket) = self.owners.ticket(id) {
            ticket.started = Started::Nothing;
        }
        self.response(id, started, reply)
    }

    /// The exchange failed before there was anything to tell. Where several addresses were tried and
    /// none would have it, the text says which.
    fn not_answered(&mut self, id: Id, error: Error, reply: &mut Reply) -> Result<c_int, Failure> {
        let tried = match error.kind {
            Kind::Connect(_) => self.engine.tried(id),
            _ => &[],
        };
        let said = tried.len() > 1;
        if said {
            self.answer.failure(text(error), tried, reply);
        }
        self.drop_exchange(id);
        if said { Ok(ERROR) } else { Err(text(error)) }
    }

    /// A whole response whose exchange is over.
    fn finished(&mut self, id: Id, reply: &mut Reply) -> Result<c_int, Failure> {
        self.owners.withdraw(id);
        let Some(finished) = self.engine.take(id, now()) else {
            return Err(GONE);
        };
        reply.reused = finished.reused;
        reply.flags |= ENDED;
        if finished.has_body {
            reply.flags |= HAS_BODY;
        }
        self.keep(finished, reply);
        Ok(OK)
    }

    /// What there is of a response whose exchange lives on.
    fn response(&mut self, id: Id, started: Started, reply: &mut Reply) -> Result<c_int, Failure> {
        reply.id = handle(id);
        reply.reused = self.engine.reused(id);
        if let Some(head) = self.engine.head(id) {
            result::head(head, reply);
        }
        if self.engine.has_body(id) {
            reply.flags |= HAS_BODY;
        }
        if self.engine.reusable(id, now()).is_ok() {
            reply.flags |= REUSABLE;
        }
        if started == (Started::Request { whole: true }) {
            let n = self.engine.body(id).len();
            self.show(id, n, reply);
            return Ok(self.end(id, reply));
        }
        Ok(OK)
    }

    /// The next piece of the body, its end, or a wait for either.
    pub(crate) fn read(
        &mut self,
        r: Caller,
        id: Id,
        max: usize,
        reply: &mut Reply,
    ) -> Result<c_int, Failure> {
        let n = self
            .engine
            .body(id)
            .len()
            .min(if max == 0 { PIECE } else { max });
        if n > 0 {
            let owner = self.owners.ticket(id).map(|t| t.owner()).ok_or(GONE)?;
            let share = self.owners.share(owner, now().0);
            if share == 0 {
                self.wake_next_turn(id);
                return self.wait(r, id, Started::Read, reply);
            }
            let n = n.min(share);
            self.owners.delivered(owner, n);
            return Ok(self.show(id, n, reply));
        }
        match self.engine.status(id) {
            Status::Ended => Ok(self.end(id, reply)),
            Status::Failed(error) => Err(self.failed(id, text(error), usize::MAX, reply)),
            Status::Gone => Err(self.gone(id, reply)),
            Status::Running if self.engine.wait(id, Until::Data, now()) => Err(BUSY),
            Status::Running => self.wait(r, id, Started::Read, reply),
        }
    }

    /// The rest of the body in one piece, or a wait for it.
    pub(crate) fn read_all(
        &mut self,
        r: Caller,
        id: Id,
        reply: &mut Reply,
    ) -> Result<c_int, Failure> {
        if !self.engine.wait(id, Until::Done, now()) {
            return self.wait(r, id, Started::Read, reply);
        }
        match self.engine.status(id) {
            Status::Failed(error) => Err(self.failed(id, text(error), usize::MAX, reply)),
            Status::Gone => Err(self.gone(id, reply)),
            Status::Ended | Status::Running => {
                let n = self.engine.body(id).len();
                let most = usize::try_from(self.engine.whole_max(id)).unwrap_or(usize::MAX);
                if n > most {
                    // It came while it was being pulled, within the window; gathered it is too large.
                    return Err(self.failed(id, Limit::Whole.text(), most, reply));
                }
                self.show(id, n, reply);
                Ok(self.end(id, reply))
            }
        }
    }

    fn show(&mut self, id: Id, n: usize, reply: &mut Reply) -> c_int {
        reply.body = Text::of(self.engine.body(id).get(..n).unwrap_or_default());
        self.shown = Some((id, n));
        OK
    }

    fn end(&mut self, id: Id, reply: &mut Reply) -> c_int {
        if let Some(trailers) = self.engine.trailers(id) {
            result::trailers(trailers, reply);
        }
        reply.flags |= ENDED;
        OK
    }

    /// The exchange failed; what had arrived of its body goes along, up to `most` bytes.
    fn failed(&mut self, id: Id, why: Failure, most: usize, reply: &mut Reply) -> Failure {
        self.owners.withdraw(id);
        reply.id = 0.0;
        if let Some(mut finished) = self.engine.take(id, now()) {
            finished.body.truncate(most);
            self.keep(finished, reply);
        }
        why
    }

    fn gone(&mut self, id: Id, reply: &mut Reply) -> Failure {
        self.drop_exchange(id);
        reply.id = 0.0;
        GONE
    }

    fn keep(&mut self, finished: Finished, reply: &mut Reply) {
        if let Some(spent) = self.answer.whole(finished, reply) {
            self.engine.recycle(spent);
        }
    }

    /// Gives a held connection to the pool, or closes it.
    pub(crate) fn release(
        &mut self,
        r: Caller,
        id: Id,
        idle_ms: i32,
        pool_size: i32,
    ) -> Result<c_int, Failure> {
        if self.engine.reusable(id, now()) == Err(NotReused::Busy) {
            // Nobody waits: the caller's iterator runs.
            return Err(BUSY);
        }
        let keepalive = keepalive(&self.in_force(r), idle_ms, pool_size);
        self.owners.withdraw(id);
        Ok(match self.engine.release(id, keepalive, now()) {
            Ok(()) => OK,
            Err(_) => CLOSED,
        })
    }

    /// Other timeouts from now on.
    pub(crate) fn set_timeouts(&mut self, r: Caller, id: Id, [connect, send, read]: [i32; 3]) {
        let in_force = self.in_force(r);
        let timeouts = Timeouts {
            connect: in_force.connect(connect),
            send: in_force.send(send),
            read: in_force.read(read),
            total: Duration::NONE,
            ..Timeouts::default()
        };
        self.engine.set_timeouts(id, timeouts, now());
    }
}

pub(crate) fn text(error: Error) -> Failure {
    error.kind.text()
}

pub(crate) fn handle(id: Id) -> f64 {
    id.to_bits() as f64
}

/// nginx runs a request's cleanups: it is over, and with it its exchanges.
unsafe extern "C" fn on_request_end(data: *mut c_void) {
    let owner = OwnerKey::from_data(data);
    let end = || {
        // Mostly every exchange has ended before.
        if worker::with(|state| state.end_owner(owner)) == Some(true) {
            worker::run();
        }
    };
    if catch_unwind(AssertUnwindSafe(end)).is_err() {
        worker::recover();
    }
}

/// ngx_lua ends a coroutine that waits by name.
unsafe extern "C" fn on_kill(co: *mut c_void) {
    let Some(co) = NonNull::new(co.cast::<CoCtx>()) else {
        return;
    };
    let end = || {
        worker::with(|state| {
            // SAFETY: ngx_lua passes the coroutine that `begin` named.
            let r = unsafe { state.waits.request_of(co) };
            // SAFETY: the request outlives its coroutines.
            let owner = NonNull::new(r).and_then(|r| Caller(r).owner());
            state.end_waiter(owner, co);
        });
        worker::run();
    };
    if catch_unwind(AssertUnwindSafe(end)).is_err() {
        worker::recover();
    }
}
