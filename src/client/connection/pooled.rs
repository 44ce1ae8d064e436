use super::*;

/// Idle in the pool, owned by nobody. Ended by an exchange that takes it, by anything the peer
/// does, by the pool's size, or by its idle time.
#[derive(Debug)]
pub(crate) struct Pooled {
    /// `None`: never expires on its own.
    pub(crate) idle_by: Option<Instant>,
    pub(crate) term: Term,
}

impl On<Claimed> for Pooled {
    #[inline(always)]
    fn on(self, event: Claimed, cx: &mut Cx<'_>) -> Step<Self, Claimed> {
        cx.link.reused += 1;
        cx.bound(event.job);
        match event.job.request {
            true => Step::to(Writing::begin(event.job, cx)),
            false => Step::to(Held {
                owner: event.job.owner,
                term: self.term,
            }),
        }
    }
}

impl On<Evicted> for Pooled {
    fn on(self, _: Evicted, cx: &mut Cx<'_>) -> Step<Self, Evicted> {
        Step::to(cx.closed(Cause::Evicted))
    }
}

impl On<Unsolicited> for Pooled {
    fn on(self, _: Unsolicited, cx: &mut Cx<'_>) -> Step<Self, Unsolicited> {
        Step::to(cx.closed(Cause::Unsolicited))
    }
}

impl On<Eof> for Pooled {
    fn on(self, _: Eof, cx: &mut Cx<'_>) -> Step<Self, Eof> {
        Step::to(cx.closed(Cause::PeerClosed))
    }
}

impl Pooled {
    pub(crate) fn deadline(&self) -> Option<(Instant, Due)> {
        let idle = self.idle_by.map(|at| (at, Due::Idle));
        earlier(idle, self.term.map(|(at, why)| (at, Due::Over(why))))
    }

    /// Whether it may still be taken: what is due may not have been looked at yet.
    #[inline]
    pub(crate) fn is_fresh(&self, now: Instant) -> bool {
        self.idle_by.is_none_or(|by| now < by) && within(self.term, now).is_ok()
    }
}
