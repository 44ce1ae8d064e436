use super::*;

/// A connection is bound and request bytes are owed to it. Ended by the last byte, by an early
/// response, or by the end of the connection.
#[derive(Debug)]
pub(crate) struct Sending;

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
    /// and the request had no effect or may have it twice (RFC 9110 9.2.2).
    pub(super) fn again(&mut self, event: &Broken) -> bool {
        self.facts.connection = None;
        let stale = self.facts.reused > 0 && event.error.kind.peer_left() && !event.answered;
        let again =
            stale && !self.facts.retried && (event.error.retry || self.facts.encoded.idempotent);
        if again {
            self.facts.retried = true;
            self.out.posts.push(Post::Redial { owner: self.id });
        }
        again
    }
}
