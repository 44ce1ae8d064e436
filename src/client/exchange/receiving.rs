use super::*;

/// The response is awaited or arriving. The body is gathered meanwhile (see [`Facts::gather`]),
/// whole or in a window that the caller empties. Ended by the end of the message or of the connection.
#[derive(Debug)]
pub(crate) struct Receiving;

impl On<Uploaded> for Receiving {
    #[inline(always)]
    fn on(self, _: Uploaded, _: &mut Cx<'_>) -> Step<Self, Uploaded> {
        Step::to(self)
    }
}

impl On<Head> for Receiving {
    #[inline(always)]
    fn on(self, event: Head, cx: &mut Cx<'_>) -> Step<Self, Head> {
        cx.facts.answered(event);
        Step::to(self)
    }
}

impl On<Overflown> for Receiving {
    fn on(self, _: Overflown, cx: &mut Cx<'_>) -> Step<Self, Overflown> {
        cx.drop_connections(error::Aborted::Caller);
        let kind = Kind::Limit(Limit::Whole);
        Step::to(Done::failed(Error {
            kind,
            state: "Receiving",
            retry: false,
        }))
    }
}

impl On<End> for Receiving {
    #[inline(always)]
    fn on(self, event: End, cx: &mut Cx<'_>) -> Step<Self, End> {
        cx.facts.trailers = event.trailers;
        if !event.held {
            cx.facts.connection = None;
        }
        Step::to(Done {
            result: Ok(()),
            reuse: event.reuse,
        })
    }
}

impl On<Broken> for Receiving {
    fn on(self, event: Broken, cx: &mut Cx<'_>) -> Step<Self, Broken> {
        match cx.again(&event) {
            true => Step::to(Queued),
            false => Step::to(Done::failed(event.error)),
        }
    }
}

impl Facts {
    /// Takes body bytes in: those of `piece`, or those that lie in its buffer already. `false` when
    /// a body that is gathered whole has become too large. Bytes are no events: what they complete is.
    pub(crate) fn gather(&mut self, piece: &[u8]) -> bool {
        self.body.append(piece);
        !self.gathers() || self.unread().len() as u64 <= self.whole_max
    }

    pub(super) fn answered(&mut self, event: Head) {
        self.has_body = !matches!(event.framing, Framing::None | Framing::Length(0));
        self.head = Some(event.head);
    }
}
