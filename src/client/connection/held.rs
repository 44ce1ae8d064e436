use super::*;

/// Idle, owned by a client object between its requests. Its owner says when it is used or given
/// back; the peer may end it. The owner learns of that when it next asks.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) owner: Id,
    /// Its owner may use it beyond that, but not give it to others.
    pub(crate) term: Term,
}

impl On<Claimed> for Held {
    fn on(self, event: Claimed, cx: &mut Cx<'_>) -> Step<Self, Claimed> {
        cx.bound(event.job);
        Step::to(Writing::begin(event.job, cx))
    }
}

impl On<Released> for Held {
    fn on(self, event: Released, cx: &mut Cx<'_>) -> Step<Self, Released> {
        if let Err(why) = event.verdict {
            return Step::to(cx.closed(Cause::NotReused(why)));
        }
        Step::to(Pooled {
            idle_by: cx.now.plus(event.idle),
            term: self.term,
        })
    }
}

impl On<Unsolicited> for Held {
    fn on(self, _: Unsolicited, cx: &mut Cx<'_>) -> Step<Self, Unsolicited> {
        Step::to(cx.closed(Cause::Unsolicited))
    }
}

impl On<Eof> for Held {
    fn on(self, _: Eof, cx: &mut Cx<'_>) -> Step<Self, Eof> {
        Step::to(cx.closed(Cause::PeerClosed))
    }
}

impl Held {
    /// A fresh connection for its owner. What its peer has sent already says that it is of no use.
    pub(crate) fn begin(job: Job, cx: &mut Cx<'_>) -> Held {
        cx.drive();
        Held {
            owner: job.owner,
            term: cx.link.term(cx.now, None),
        }
    }
}
