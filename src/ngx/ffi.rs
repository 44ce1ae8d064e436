//! The functions Lua calls, and nothing else that is exported for it.
//!
//! Each checks what it is given, starts or continues something (`exchange.rs`), has the orders
//! that came of it carried out (`worker::ask`), and answers. What can be done at once is done
//! before the call returns; only otherwise does Lua wait.

use core::ffi::c_int;
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use ngx::ffi::ngx_http_request_t;
use ngx_http_ffi_client::Id;

use crate::abi::{self, ABI, AGAIN, Call, Checked, ERROR, OK, Reply, Text};
use crate::exchange::{BAD_CALL, Caller, FOREIGN, Failure};
use crate::owner::Started;
use crate::worker::{self, State, ask};

/// Answers with what `body` says, whatever happens in it.
///
/// # Safety
/// `r` is null or the request whose Lua code calls; `out` is null or points to a reply.
unsafe fn answer(
    r: *mut ngx_http_request_t,
    out: *mut Reply,
    body: impl FnOnce(Caller, &mut Reply) -> Result<c_int, Failure>,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(reply) = (unsafe { out.as_mut() }) else {
        return ERROR;
    };
    *reply = Reply::EMPTY;
    let body = || {
        // SAFETY: the caller's promise.
        let r = unsafe { Caller::new(r)? };
        body(r, reply)
    };
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(rc)) => return rc,
        Ok(Err(failure)) => failure,
        Err(_) => {
            worker::recover();
            *reply = Reply::EMPTY;
            "internal error"
        }
    };
    reply.error = Text::of(failure.as_bytes());
    ERROR
}

/// The caller's exchange. Where it exists and cannot be used, the reply keeps its handle.
fn mine(state: &mut State, r: Caller, id: f64, reply: &mut Reply) -> Result<Id, Failure> {
    let found = state.mine(r, id);
    if found.is_ok() || found == Err(FOREIGN) {
        reply.id = id;
    }
    found
}

/// The caller's exchange, which it may have waited for.
fn woken(state: &mut State, r: Caller, id: f64, reply: &mut Reply) -> Result<Id, Failure> {
    let id = mine(state, r, id, reply)?;
    state.woken(id, reply)?;
    Ok(id)
}

/// For calls that have nothing to answer with.
fn done(_: &mut State, rc: c_int, _: &mut Reply) -> Result<c_int, Failure> {
    Ok(rc)
}

/// The number of this interface.
#[unsafe(no_mangle)]
pub extern "C" fn nhfc_abi() -> u32 {
    ABI
}

/// The Lua half can wait by a plain yield where no semaphore is given. Returns 1 when that will
/// happen: ngx_lua must be able to tell us of killed coroutines, and to resume one by name.
#[unsafe(no_mangle)]
pub extern "C" fn nhfc_plain_yield() -> c_int {
    let allow = || worker::with_engine(|state| state.waits.allow_plain());
    matches!(catch_unwind(AssertUnwindSafe(allow)), Ok(Ok(true))).into()
}

/// A request of its own: connects or takes a kept connection, sends, gathers the response.
///
/// # Safety
/// As for every function here: `r` is the request whose Lua code calls, or null; the other
/// pointers are null or point to what their types say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_fetch(
    r: *mut ngx_http_request_t,
    call: *const Call,
    out: *mut Reply,
) -> c_int {
    // SAFETY: the caller's promise.
    let call = unsafe { Checked::new(call) };
    let body = |r: Caller, reply: &mut Reply| {
        let call = call.ok_or(BAD_CALL)?;
        let start = |state: &mut State, _: &mut Reply| state.fetch(r, &call);
        ask(reply, start, |state, id, reply| {
            state.collect(r, id, Started::Fetch, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// A connection for an object to hold.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_connect(
    r: *mut ngx_http_request_t,
    call: *const Call,
    out: *mut Reply,
) -> c_int {
    // SAFETY: the caller's promise.
    let call = unsafe { Checked::new(call) };
    let body = |r: Caller, reply: &mut Reply| {
        let call = call.ok_or(BAD_CALL)?;
        let start = |state: &mut State, _: &mut Reply| state.connect(r, &call);
        ask(reply, start, |state, id, reply| {
            state.collect(r, id, Started::Connect, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// A request on a held connection. The reply carries the new handle; the old one is gone, unless
/// the request was refused.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_request(
    r: *mut ngx_http_request_t,
    id: f64,
    call: *const Call,
    out: *mut Reply,
) -> c_int {
    // SAFETY: the caller's promise.
    let call = unsafe { Checked::new(call) };
    let body = |r: Caller, reply: &mut Reply| {
        let call = call.ok_or(BAD_CALL)?;
        let start = |state: &mut State, reply: &mut Reply| {
            let held = mine(state, r, id, reply)?;
            state.request(r, held, &call, reply)
        };
        ask(reply, start, |state, (id, started), reply| {
            state.collect(r, id, started, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// The next piece of the request's body, which was wanted: `n` bytes, or with `end` its end. Answered
/// like the call that said so.
///
/// # Safety
/// As for [`nhfc_fetch`]; `piece` is null or points to `n` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_supply(
    r: *mut ngx_http_request_t,
    id: f64,
    piece: *const u8,
    n: usize,
    end: c_int,
    out: *mut Reply,
) -> c_int {
    let piece = Text { p: piece, n };
    let body = |r: Caller, reply: &mut Reply| {
        if !piece.is_sane() {
            return Err(BAD_CALL);
        }
        // SAFETY: sane, and the caller's promise.
        let bytes = unsafe { piece.bytes() };
        let start = |state: &mut State, reply: &mut Reply| {
            let id = woken(state, r, id, reply)?;
            state.supply(id, (end == 0).then_some(bytes), reply)?;
            Ok(id)
        };
        ask(reply, start, |state, id, reply| {
            let started = state.started(id);
            state.collect(r, id, started, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// The addresses of the name that was asked for, in the order to try them: `n` texts, none when it
/// has none. Answered like the call that asked.
///
/// # Safety
/// As for [`nhfc_fetch`]; `list` is null or points to `n` texts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_names(
    r: *mut ngx_http_request_t,
    id: f64,
    list: *const Text,
    n: u32,
    out: *mut Reply,
) -> c_int {
    let body = |r: Caller, reply: &mut Reply| {
        // SAFETY: the caller's promise.
        let texts = unsafe { abi::texts(list, n) }.ok_or(BAD_CALL)?;
        let start = |state: &mut State, reply: &mut Reply| {
            let id = woken(state, r, id, reply)?;
            state.names(id, &texts, reply)?;
            Ok(id)
        };
        ask(reply, start, |state, id, reply| {
            let started = state.started(id);
            state.collect(r, id, started, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// After a wait: the answer to whichever of the three above was started.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_collect(
    r: *mut ngx_http_request_t,
    id: f64,
    out: *mut Reply,
) -> c_int {
    let body = |r: Caller, reply: &mut Reply| {
        let start = |state: &mut State, reply: &mut Reply| woken(state, r, id, reply);
        ask(reply, start, |state, id, reply| {
            let started = state.started(id);
            state.collect(r, id, started, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// The next piece of a body, at most `max` bytes (0: 65536), or its end.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_read(
    r: *mut ngx_http_request_t,
    id: f64,
    max: usize,
    out: *mut Reply,
) -> c_int {
    let body = |r: Caller, reply: &mut Reply| {
        let start = |state: &mut State, reply: &mut Reply| woken(state, r, id, reply);
        ask(reply, start, |state, id, reply| {
            state.read(r, id, max, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// The rest of a body in one piece.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_read_all(
    r: *mut ngx_http_request_t,
    id: f64,
    out: *mut Reply,
) -> c_int {
    let body = |r: Caller, reply: &mut Reply| {
        let start = |state: &mut State, reply: &mut Reply| woken(state, r, id, reply);
        ask(reply, start, |state, id, reply| {
            state.read_all(r, id, reply)
        })
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// Gives a held connection to the pool. [`OK`], or [`CLOSED`](crate::abi::CLOSED) when it had to
/// be closed instead.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_keepalive(
    r: *mut ngx_http_request_t,
    id: f64,
    idle_ms: i32,
    pool_size: i32,
    out: *mut Reply,
) -> c_int {
    let body = |r: Caller, reply: &mut Reply| {
        let start = |state: &mut State, reply: &mut Reply| {
            let id = mine(state, r, id, reply)?;
            state.unwaited(id, reply)?;
            let released = state.release(r, id, idle_ms, pool_size)?;
            reply.id = 0.0;
            Ok(released)
        };
        ask(reply, start, done)
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// Closes an exchange in whatever state. Another coroutine of the request that waits for it is
/// woken and finds it closed.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_close(r: *mut ngx_http_request_t, id: f64, out: *mut Reply) -> c_int {
    let body = |r: Caller, reply: &mut Reply| {
        let start = |state: &mut State, reply: &mut Reply| {
            let id = mine(state, r, id, reply)?;
            reply.id = 0.0;
            state.close_exchange(id);
            Ok(OK)
        };
        ask(reply, start, done)
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// Changes the timeouts of an exchange, for the wait that is going on too.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_timeouts(
    r: *mut ngx_http_request_t,
    id: f64,
    connect_ms: i32,
    send_ms: i32,
    read_ms: i32,
    out: *mut Reply,
) -> c_int {
    let body = |r: Caller, reply: &mut Reply| {
        let start = |state: &mut State, reply: &mut Reply| {
            let id = mine(state, r, id, reply)?;
            state.set_timeouts(r, id, [connect_ms, send_ms, read_ms]);
            Ok(OK)
        };
        ask(reply, start, done)
    };
    // SAFETY: the caller's promise.
    unsafe { answer(r, out, body) }
}

/// Waiting was not possible after [`AGAIN`]: drops the exchange.
///
/// # Safety
/// As for [`nhfc_fetch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_cancel(r: *mut ngx_http_request_t, id: f64) -> c_int {
    let mut reply = Reply::EMPTY;
    let body = |r: Caller, reply: &mut Reply| {
        let start = |state: &mut State, _: &mut Reply| {
            let id = state.mine(r, id)?;
            state.drop_exchange(id);
            Ok(OK)
        };
        ask(reply, start, done)
    };
    // SAFETY: the caller's promise, and a reply on this stack.
    unsafe { answer(r, &raw mut reply, body) }
}

// The two that Lua compares with.
const _: () = assert!(OK == 0 && AGAIN == -2);
