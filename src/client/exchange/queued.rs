use super::*;

/// No connection was found or asked for yet: the first moment of an exchange, and the moment
/// before it is sent again. Owes nothing.
#[derive(Debug)]
pub(crate) struct Queued;

impl On<Dial> for Queued {
    fn on(self, _: Dial, cx: &mut Cx<'_>) -> Step<Self, Dial> {
        let first = cx.facts.addresses.pop_front();
        cx.open(first);
        Step::to(Dialing::begin(cx))
    }
}

impl On<Full> for Queued {
    fn on(self, _: Full, cx: &mut Cx<'_>) -> Step<Self, Full> {
        cx.facts.connect_within(cx.now);
        Step::to(Waiting)
    }
}

impl On<Refused> for Queued {
    fn on(self, _: Refused, _: &mut Cx<'_>) -> Step<Self, Refused> {
        Step::to(Done::failed(Error {
            kind: Kind::Limit(Limit::Backlog),
            state: "Queued",
            retry: true,
        }))
    }
}

impl On<Bound> for Queued {
    #[inline(always)]
    fn on(self, event: Bound, cx: &mut Cx<'_>) -> Step<Self, Bound> {
        cx.take_up(&event)
    }
}

impl Facts {
    pub(super) fn bind(&mut self, event: &Bound) {
        self.attempts.retain(|&k| k != event.key);
        self.connection = Some(event.key);
        self.reused = event.reused;
        if self.supply.gate == Gate::Stopped {
            // Another connection took no more; this one is asked anew.
            self.supply.gate = self.first_gate();
        }
    }
}
