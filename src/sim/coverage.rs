//! Which rows of the tables were walked on this thread, and the fuse that breaks a handler.

use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// One walk: machine, state, event, next state.
pub type Walk = (&'static str, &'static str, &'static str, &'static str);

std::thread_local! {
    static WALKED: RefCell<BTreeSet<Walk>> = const { RefCell::new(BTreeSet::new()) };
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Notes a step, so that a row nothing walks can be found.
pub(crate) fn walked(
    machine: &'static str,
    from: &'static str,
    on: &'static str,
    to: &'static str,
) {
    WALKED.with_borrow_mut(|walked| {
        walked.insert((machine, from, on, to));
    });
}

/// Every step made on this thread so far.
pub fn all() -> BTreeSet<Walk> {
    WALKED.with_borrow(Clone::clone)
}

/// What a handler panics with when the fuse blows.
#[derive(Debug)]
pub(super) struct Blown;

/// Has the handler that passes [`burn`] after `n` others panic; `None` puts the fuse out.
pub(super) fn light(n: Option<u32>) {
    FUSE.set(n);
}

/// Whether the fuse has neither blown nor been put out.
pub(super) fn is_lit() -> bool {
    FUSE.get().is_some()
}

/// Called while a handler is at work; `leave` leaves what a panic leaves.
pub(crate) fn burn(leave: impl FnOnce()) {
    match FUSE.get() {
        None => {}
        Some(0) => {
            FUSE.set(None);
            leave();
            // Without the panic hook: nobody needs to read about it.
            std::panic::resume_unwind(Box::new(Blown));
        }
        Some(n) => FUSE.set(Some(n - 1)),
    }
}
