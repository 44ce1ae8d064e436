//! nginx events of our own, and the one timer.
//!
//! The timer does two jobs. It fires at the engine's next deadline; and while it is armed and not
//! cancelable, an exiting worker stays. So it is not cancelable exactly while an exchange is in
//! flight, with a far deadline where the exchange has none, and an idle connection never holds a
//! worker back.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::{self, NonNull};

use ngx::ffi::{
    ngx_add_timer, ngx_connection_t, ngx_current_msec, ngx_del_timer, ngx_delete_posted_event,
    ngx_event_t, ngx_msec_t, ngx_post_event, ngx_posted_events, ngx_posted_next_events,
    ngx_socket_t,
};
use ngx_http_ffi_client::Instant;

use crate::log;

/// Longer than any exchange, and short enough for nginx's signed comparison of times.
const FAR_MS: u64 = 1 << 30;

/// The time of this turn of the event loop.
pub(crate) fn now() -> Instant {
    // SAFETY: a plain read of a word that only this thread's event loop writes.
    Instant(unsafe { ngx_current_msec } as u64)
}

/// An nginx event that belongs to no connection.
pub(crate) struct OwnEvent {
    event: NonNull<ngx_event_t>,
    /// nginx's debug log takes the data of every event for a connection and prints its socket.
    connection: NonNull<ngx_connection_t>,
}

pub(crate) type Handler = unsafe extern "C" fn(*mut ngx_event_t);

impl OwnEvent {
    pub(crate) fn new(handler: Handler) -> OwnEvent {
        // SAFETY: both are plain C structures for which all zeros is a valid value.
        let (mut event, mut connection) = unsafe {
            (
                core::mem::zeroed::<ngx_event_t>(),
                core::mem::zeroed::<ngx_connection_t>(),
            )
        };
        connection.fd = -1 as ngx_socket_t;
        let connection = NonNull::from(Box::leak(Box::new(connection)));
        event.data = connection.as_ptr().cast::<c_void>();
        event.handler = Some(handler);
        event.log = log::cycle_log();
        OwnEvent {
            event: NonNull::from(Box::leak(Box::new(event))),
            connection,
        }
    }

    /// Runs the handler later in this turn of the loop.
    pub(crate) fn post(&self) {
        // SAFETY: the event lives until this value is dropped, which takes it off the queue.
        unsafe { ngx_post_event(self.event.as_ptr(), ptr::addr_of_mut!(ngx_posted_events)) }
    }

    /// Runs the handler in the next turn of the loop.
    pub(crate) fn post_next(&self) {
        // SAFETY: as in `post`.
        unsafe {
            ngx_post_event(
                self.event.as_ptr(),
                ptr::addr_of_mut!(ngx_posted_next_events),
            )
        }
    }

    fn armed(&self) -> Option<ngx_msec_t> {
        // SAFETY: the event is alive, and no reference to it is held while nginx may write to it.
        let event = unsafe { self.event.as_ref() };
        (event.timer_set() != 0).then_some(event.timer.key)
    }

    fn disarm(&self) {
        if self.armed().is_some() {
            // SAFETY: the event is in the timer tree.
            unsafe { ngx_del_timer(self.event.as_ptr()) }
        }
    }

    fn arm(&self, delay: u64) {
        self.disarm();
        // SAFETY: the event is alive and not in the timer tree; dropping it takes it out.
        unsafe { ngx_add_timer(self.event.as_ptr(), delay as ngx_msec_t) }
    }

    fn set_cancelable(&self, cancelable: bool) {
        // SAFETY: the event is alive, and nothing else refers to it during this store.
        unsafe { (*self.event.as_ptr()).set_cancelable(u32::from(cancelable)) }
    }
}

impl Drop for OwnEvent {
    fn drop(&mut self) {
        self.disarm();
        // SAFETY: both came from boxes and nothing else owns them. Once the event is in neither
        // the tree nor a queue, nginx does not know it.
        unsafe {
            if self.event.as_ref().posted() != 0 {
                ngx_delete_posted_event(self.event.as_ptr());
            }
            drop(Box::from_raw(self.event.as_ptr()));
            drop(Box::from_raw(self.connection.as_ptr()));
        }
    }
}

/// The one timer.
pub(crate) struct Timer {
    event: OwnEvent,
    holds: Cell<bool>,
}

impl Timer {
    pub(crate) fn new(handler: Handler) -> Timer {
        let event = OwnEvent::new(handler);
        event.set_cancelable(true);
        Timer {
            event,
            holds: Cell::new(false),
        }
    }

    /// Arms the timer for `deadline`. It is left alone where it is armed for an earlier time: it
    /// then fires for nothing and is armed anew, which is cheaper than moving it for each request.
    pub(crate) fn set(&self, deadline: Option<Instant>, in_flight: bool) {
        if self.holds.replace(in_flight) != in_flight {
            self.event.set_cancelable(!in_flight);
        }
        let at = match deadline {
            Some(at) => at,
            None if in_flight => Instant(u64::MAX),
            None => return,
        };
        if self.event.armed().is_none_or(|armed| armed as u64 > at.0) {
            self.arm(at);
        }
    }

    #[inline(never)]
    fn arm(&self, at: Instant) {
        self.event.arm(at.since(now()).min(FAR_MS));
    }
}
