use super::*;

/// The pool has as many connections as it may have: the next that is given back or closed is this
/// one's, if nobody came before. Ended by a connection, by room for one, or by the connect budget,
/// which covers the wait.
#[derive(Debug)]
pub(crate) struct Waiting;

impl On<Dial> for Waiting {
    fn on(self, _: Dial, cx: &mut Cx<'_>) -> Step<Self, Dial> {
        let first = cx.facts.addresses.pop_front();
        cx.open(first);
        Step::to(Dialing::begin(cx))
    }
}

impl On<Bound> for Waiting {
    fn on(self, event: Bound, cx: &mut Cx<'_>) -> Step<Self, Bound> {
        cx.take_up(&event)
    }
}
