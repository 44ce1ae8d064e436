//! Which rows of the tables were walked on this thread.

use std::cell::RefCell;
use std::collections::BTreeSet;

/// One walk: machine, state, event, next state.
pub type Walk = (&'static str, &'static str, &'static str, &'static str);

std::thread_local! {
    static WALKED: RefCell<BTreeSet<Walk>> = const { RefCell::new(BTreeSet::new()) };
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
