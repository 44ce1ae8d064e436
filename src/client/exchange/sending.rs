use super::*;

/// A connection is bound and request bytes are owed to it, perhaps some that wait for leave or are
/// still to be supplied. Ended by the last byte, by an early response, or by the end of the connection.
#[derive(Debug)]
pub(crate) struct Sending {
    /// When the body goes out without leave (RFC 9110 10.1.1: not to be waited for indefinitely).
    pub(crate) until: Option<Instant>,
}

impl Sending {
    #[inline(always)]
    pub(super) fn begin(cx: &Cx<'_>) -> Sending {
        let until = match cx.facts.supply.gate {
            Gate::Withheld => cx.now.plus(cx.facts.timeouts.expect),
            Gate::Open | Gate::Stopped => None,
        };
        Sending { until }
    }
}

impl On<Leave> for Sending {
    fn on(self, _: Leave, cx: &mut Cx<'_>) -> Step<Self, Leave> {
        cx.leave();
        Step::to(Sending { until: None })
    }
}

impl On<Waited> for Sending {
    fn on(self, _: Waited, cx: &mut Cx<'_>) -> Step<Self, Waited> {
        cx.leave();
        Step::to(Sending { until: None })
    }
}

impl On<Unsent> for Sending {
    fn on(self, _: Unsent, cx: &mut Cx<'_>) -> Step<Self, Unsent> {
        cx.facts.stop();
        Step::to(Receiving)
    }
}

impl On<Uploaded> for Sending {
    #[inline(always)]
    fn on(self, _: Uploaded, _: &mut Cx<'_>) -> Step<Self, Uploaded> {
        Step::to(Receiving)
    }
}

impl On<Head> for Sending {
    #[inline(always)]
    fn on(self, event: Head, cx: &mut Cx<'_>) -> Step<Self, Head> {
        cx.answered(event);
        Step::to(Receiving)
    }
}

impl On<Broken> for Sending {
    fn on(self, event: Broken, cx: &mut Cx<'_>) -> Step<Self, Broken> {
        match cx.again(&event) {
            true => Step::to(Queued),
            false => Step::to(Done::failed(event.error)),
        }
    }
}

impl Cx<'_> {
    /// Whether the request is sent once more, on a fresh connection: the kept one was found dead,
    /// and the request had no effect or may have it twice (RFC 9110 9.2.2). Once, because only a
    /// kept connection is found dead.
    pub(super) fn again(&mut self, event: &Broken) -> bool {
        self.facts.connection = None;
        let stale = self.facts.reused > 0 && event.error.kind.peer_left() && !event.answered;
        let harmless = event.error.retry || self.facts.encoded.idempotent;
        // What was let go cannot be sent again.
        let again = stale && harmless && self.facts.dropped == 0;
        if again {
            self.facts.connect_by = None;
            self.out.posts.push(Post::Redial { owner: self.id });
        }
        again
    }
}
