use super::*;

/// Idle, owned by a client object between its requests. Its owner says when it is used or given
/// back; the peer may end it. The owner learns of that when it next asks.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) owner: Id,
}

impl On<Claimed> for Held {
    fn on(self, event: Claimed, cx: &mut Cx<'_>) -> Step<Self, Claimed> {
        cx.bound(event.job);
        Step::to(Writing::begin(event.job, cx))
    }
}

impl On<Released> for Held {
    fn on(self, event: Released, cx: &mut Cx<'_>) -> Step<Self, Released> {
        Step::to(Pooled {
            until: cx.now.plus(event.idle),
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
