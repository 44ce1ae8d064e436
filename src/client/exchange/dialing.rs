use super::*;
use crate::time::Duration;

/// Connections are being made, one address after the other with a delay between them (RFC 8305
/// section 5); the first to be ready is taken. The connections carry the connect budget.
#[derive(Debug)]
pub(crate) struct Dialing {
    /// When the next address is tried beside the ones in flight.
    pub(crate) next: Option<Instant>,
    /// What the first attempt that failed failed with: later addresses are the less likely ones,
    /// and so are their errors.
    pub(crate) failed: Option<Error>,
}

/// The Connection Attempt Delay recommended by RFC 8305 section 5.
const ATTEMPT_DELAY: Duration = Duration(250);

impl On<Resolved> for Dialing {
    fn on(self, event: Resolved, cx: &mut Cx<'_>) -> Step<Self, Resolved> {
        cx.facts.addresses.extend(event.rest);
        Step::to(Dialing::begin(cx))
    }
}

impl On<Won> for Dialing {
    fn on(self, event: Won, cx: &mut Cx<'_>) -> Step<Self, Won> {
        let lost = core::mem::take(&mut cx.facts.attempts);
        for &key in lost.iter().filter(|&&k| k != event.key) {
            cx.tell(key, connection::Lost);
        }
        cx.facts.attempts = lost;
        cx.facts.attempts.retain(|&k| k == event.key);
        // The race is over; what still fails is no reason to try another address.
        cx.facts.addresses.clear();
        Step::to(Dialing { next: None, ..self })
    }
}

impl On<Bound> for Dialing {
    fn on(self, event: Bound, cx: &mut Cx<'_>) -> Step<Self, Bound> {
        cx.take_up(&event)
    }
}

impl On<AttemptFailed> for Dialing {
    fn on(self, event: AttemptFailed, cx: &mut Cx<'_>) -> Step<Self, AttemptFailed> {
        cx.facts.attempts.retain(|&k| k != event.key);
        let error = self.failed.unwrap_or(event.error);
        let in_time = cx.facts.connect_by.is_none_or(|by| cx.now < by);
        if in_time && let Some(address) = cx.facts.addresses.pop_front() {
            cx.open(Some(address));
            return Step::to(Dialing {
                failed: Some(error),
                ..Dialing::begin(cx)
            });
        }
        if !cx.facts.attempts.is_empty() {
            return Step::to(Dialing {
                failed: Some(error),
                ..self
            });
        }
        Step::to(Done::failed(error))
    }
}

impl On<Waited> for Dialing {
    fn on(self, _: Waited, cx: &mut Cx<'_>) -> Step<Self, Waited> {
        if let Some(address) = cx.facts.addresses.pop_front() {
            cx.open(Some(address));
        }
        Step::to(Dialing {
            failed: self.failed,
            ..Dialing::begin(cx)
        })
    }
}

impl Dialing {
    /// With an attempt just begun, and the next one planned if there is an address for it.
    pub(super) fn begin(cx: &Cx<'_>) -> Dialing {
        let next = (!cx.facts.addresses.is_empty())
            .then(|| cx.now.plus(ATTEMPT_DELAY))
            .flatten();
        Dialing { next, failed: None }
    }
}
