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

impl On<Leave> for Receiving {
    /// Leave to send what was sent.
    fn on(self, _: Leave, _: &mut Cx<'_>) -> Step<Self, Leave> {
        Step::to(self)
    }
}

impl On<Unsent> for Receiving {
    fn on(self, _: Unsent, cx: &mut Cx<'_>) -> Step<Self, Unsent> {
        cx.facts.stop();
        Step::to(self)
    }
}

impl On<Head> for Receiving {
    #[inline(always)]
    fn on(self, event: Head, cx: &mut Cx<'_>) -> Step<Self, Head> {
        cx.answered(event);
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
    /// Takes a copy of body bytes in. Bytes are no events: what they complete is.
    #[inline]
    pub(crate) fn gather(&mut self, piece: &[u8]) {
        self.body.append(piece);
        self.came += piece.len() as u64;
    }

    /// Whether the body is still as large as it may be. What there is too much of is dropped, so
    /// that the caller sees the same however the bytes came.
    #[inline]
    pub(crate) fn fits(&mut self) -> bool {
        let over = self.came.saturating_sub(self.most);
        if over > 0 {
            self.body
                .shorten(usize::try_from(over).unwrap_or(usize::MAX));
        }
        over == 0
    }

    /// So many bytes more of the body may come and be kept.
    pub(crate) fn left(&self) -> u64 {
        self.most.saturating_sub(self.came)
    }

    /// The rest of a body that was pulled so far is to be gathered. `false` when it is too large,
    /// or says that it will be.
    pub(crate) fn gather_rest(&mut self, whole: u64) -> bool {
        let taken = self.came - self.unread().len() as u64;
        self.most = self.most.min(taken.saturating_add(whole));
        self.fits() && self.announced <= self.most
    }
}

impl Cx<'_> {
    /// The head has come. A body that announces itself as too large is not waited for.
    pub(super) fn answered(&mut self, event: Head) {
        let facts = &mut *self.facts;
        facts.has_body = !matches!(event.framing, Framing::None | Framing::Length(0));
        // An answer instead of leave, or one that is not content with what it got, ends the body
        // (RFC 9110 10.1.1, RFC 9112 9.5). Otherwise it may be made of what is still to come.
        if facts.supply.gate == Gate::Withheld || event.head.status >= 300 {
            facts.stop();
        }
        facts.head = Some(event.head);
        if let Framing::Length(n) = event.framing {
            facts.announced = n;
            if n <= facts.most {
                return;
            }
            self.out
                .posts
                .push(Post::Exchange(self.id, Overflown.into()));
        }
    }
}
