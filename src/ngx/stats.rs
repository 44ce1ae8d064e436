//! The statistics of the pools for Lua: one pool a call, then all of them together.

use core::ffi::c_int;
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::catch_unwind;

use ngx_http_ffi_client::PoolStats;

use crate::abi::{ERROR, OK, Text};
use crate::worker;

/// Of [`nhfc_stats`]: there is no further pool; these are all together.
const TOTAL: c_int = 1;

/// `nhfc_count`: how often something happened.
#[derive(Debug)]
#[repr(C)]
pub struct Count {
    /// What.
    pub name: Text,
    /// How often.
    pub n: f64,
}

/// `nhfc_pool`: what one pool has, and what was counted. Good until the next call.
#[derive(Debug)]
#[repr(C)]
pub struct Row {
    /// The pool's name; absent for the total.
    pub name: Text,
    /// The place to ask for next.
    pub next: f64,
    /// Connections opened.
    pub opened: f64,
    /// Idle connections taken.
    pub reused: f64,
    /// Connections closed, by reason.
    pub closed: *const Count,
    /// How many reasons there were.
    pub nclosed: u32,
    /// Idle connections.
    pub idle: u32,
    /// Connections in use.
    pub busy: u32,
    /// Who waits for one.
    pub waiting: u32,
}

/// The memory behind the last row.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    stats: PoolStats,
    closed: Vec<Count>,
}

impl Shown {
    fn row(&mut self, stats: PoolStats, next: usize) -> Row {
        self.stats = stats;
        let stats = &self.stats;
        // Numbers of Lua: exact up to 2^53.
        self.closed = stats
            .tally
            .closed()
            .map(|(reason, n)| Count {
                name: Text::of(reason.text().as_bytes()),
                n: n as f64,
            })
            .collect();
        Row {
            name: Text::of(&stats.name),
            next: next as f64,
            opened: stats.tally.opened as f64,
            reused: stats.tally.reused as f64,
            closed: self.closed.as_ptr(),
            nclosed: self.closed.len() as u32,
            idle: stats.idle as u32,
            busy: stats.busy as u32,
            waiting: stats.waiting as u32,
        }
    }
}

/// A worker that has made no request yet.
const NOTHING: Row = Row {
    name: Text::ABSENT,
    next: 0.0,
    opened: 0.0,
    reused: 0.0,
    closed: ptr::null(),
    nclosed: 0,
    idle: 0,
    busy: 0,
    waiting: 0,
};

/// The first pool from `place` on, counted from 0. [`OK`], or [`TOTAL`] behind the last one.
///
/// # Safety
/// `out` is null or points to a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nhfc_stats(place: f64, out: *mut Row) -> c_int {
    // SAFETY: the caller's promise.
    let Some(out) = (unsafe { out.as_mut() }) else {
        return ERROR;
    };
    let look = || {
        worker::with(|state| match state.engine.pool_stats(place as usize) {
            Some((stats, next)) => (OK, state.stats.row(stats, next)),
            None => (TOTAL, state.stats.row(state.engine.total_stats(), 0)),
        })
    };
    let (rc, row) = match catch_unwind(AssertUnwindSafe(look)) {
        Ok(looked) => looked.unwrap_or((TOTAL, NOTHING)),
        Err(_) => (ERROR, NOTHING),
    };
    *out = row;
    rc
}
