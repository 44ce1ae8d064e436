use super::*;

/// The name's addresses are being looked up by the driver. Owes nothing; ended by the answer or
/// by the connect budget, which covers the look-up.
#[derive(Debug)]
pub(crate) struct Resolving {
    pub(crate) job: Job,
    pub(crate) by: Option<Instant>,
}

impl On<Resolved> for Resolving {
    fn on(self, event: Resolved, cx: &mut Cx<'_>) -> Step<Self, Resolved> {
        let Resolving { job, by } = self;
        cx.order(Effect::Connect {
            key: cx.link.key,
            address: event.first,
        });
        Step::to(Connecting { job, by })
    }
}

impl On<Unresolved> for Resolving {
    fn on(self, event: Unresolved, cx: &mut Cx<'_>) -> Step<Self, Unresolved> {
        Step::to(cx.attempt_failed(self.job, Kind::Resolve(event.0), "Resolving"))
    }
}

impl Resolving {
    pub(crate) fn deadline(&self) -> Option<(Instant, Due)> {
        connect_budget(self.by)
    }
}

/// The budget that resolving, connecting, the tunnel and the handshake share.
pub(crate) fn connect_budget(by: Option<Instant>) -> Option<(Instant, Due)> {
    by.map(|at| (at, Due::Budget(error::Why::Connect)))
}
