use super::*;

/// The response is awaited or arriving. The body is gathered here, whole or in a window that the
/// caller empties. Ended by the end of the message or of the connection.
#[derive(Debug)]
pub(crate) struct Receiving;

impl On<Uploaded> for Receiving {
    fn on(self, _: Uploaded, _: &mut Cx<'_>) -> Step<Self, Uploaded> {
        Step::to(self)
    }
}

impl On<Head> for Receiving {
    fn on(self, event: Head, cx: &mut Cx<'_>) -> Step<Self, Head> {
        cx.facts.answered(event);
        Step::to(self)
    }
}

impl On<Data> for Receiving {
    fn on(self, event: Data, cx: &mut Cx<'_>) -> Step<Self, Data> {
        if let connection::Data::Input { start, end } = event.0 {
            cx.facts
                .body
                .append(cx.input.get(start..end).unwrap_or_default());
        }
        if cx.facts.gathers() && cx.facts.unread().len() as u64 > cx.facts.whole_max {
            cx.drop_connections(error::Aborted::Caller);
            let kind = Kind::Limit(Limit::Whole);
            return Step::to(Done::failed(Error {
                kind,
                state: "Receiving",
                retry: false,
            }));
        }
        Step::to(self)
    }
}

impl On<End> for Receiving {
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
    pub(super) fn answered(&mut self, event: Head) {
        self.has_body = !matches!(event.framing, Framing::None | Framing::Length(0));
        self.head = Some(event.head);
    }
}
