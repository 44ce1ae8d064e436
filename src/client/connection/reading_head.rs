use super::*;

/// A response head is awaited or incomplete. The upload may still be running beside it (RFC 9112
/// 9.5). Ended by the head, by the peer, or by the read timeout, within which a head has to be complete.
#[derive(Debug)]
pub(crate) struct ReadingHead {
    pub(crate) job: Job,
    pub(crate) upload: Upload,
    pub(crate) since: Instant,
    /// Interim responses so far.
    pub(crate) interim: u32,
    /// A byte of the request left before the upload was lost.
    pub(crate) any_sent: bool,
    pub(crate) parser: Box<Parser>,
}

impl On<Sent> for ReadingHead {
    #[inline(always)]
    fn on(self, _: Sent, cx: &mut Cx<'_>) -> Step<Self, Sent> {
        cx.post(self.job.owner, exchange::Uploaded);
        Step::to(ReadingHead {
            upload: Upload::Done,
            ..self
        })
    }
}

impl On<SendFailed> for ReadingHead {
    fn on(self, event: SendFailed, cx: &mut Cx<'_>) -> Step<Self, SendFailed> {
        cx.drive();
        cx.post(self.job.owner, exchange::Unsent);
        Step::to(ReadingHead {
            upload: Upload::Lost(event.0),
            ..self
        })
    }
}

impl On<Interim> for ReadingHead {
    fn on(self, event: Interim, cx: &mut Cx<'_>) -> Step<Self, Interim> {
        if event.status == 100 {
            cx.post(self.job.owner, exchange::Leave);
        }
        Step::to(ReadingHead {
            interim: self.interim + 1,
            since: cx.now,
            ..self
        })
    }
}

impl On<Head> for ReadingHead {
    #[inline(always)]
    fn on(self, event: Head, cx: &mut Cx<'_>) -> Step<Self, Head> {
        let ReadingHead {
            job,
            upload,
            parser,
            ..
        } = self;
        let Head { head, verdict } = event;
        // The verdict's framing agreed with the parser when the head was read.
        let body = verdict.framing.body();
        cx.post(
            job.owner,
            exchange::Head {
                head,
                framing: verdict.framing,
            },
        );
        Step::to(ReadingBody {
            job,
            upload,
            since: cx.now,
            body,
            reuse: verdict.reuse,
            notice: verdict.notice,
            parser,
        })
    }
}

impl On<Malformed> for ReadingHead {
    fn on(self, event: Malformed, cx: &mut Cx<'_>) -> Step<Self, Malformed> {
        let seen = Seen {
            sent: self.any_sent,
            answered: true,
        };
        Step::to(self.failed(event.0.into(), seen, cx))
    }
}

impl On<Eof> for ReadingHead {
    fn on(self, _: Eof, cx: &mut Cx<'_>) -> Step<Self, Eof> {
        let seen = self.seen();
        let kind = match self.upload {
            // That the request could not be sent says more than that nothing came back.
            Upload::Lost(e) => Kind::Send(e),
            Upload::Done | Upload::Owed { .. } => Kind::PeerClosed,
        };
        Step::to(self.failed(kind, seen, cx))
    }
}

impl ReadingHead {
    fn failed(self, kind: Kind, seen: Seen, cx: &mut Cx<'_>) -> Closed {
        cx.out.recycle_parser(self.parser);
        cx.broken(self.job, kind, "ReadingHead", seen)
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen {
            sent: self.any_sent,
            answered: self.interim > 0 || !self.parser.is_fresh(),
        }
    }

    pub(crate) fn deadline(&self, owner: Owner<'_>) -> Option<(Instant, Due)> {
        let owner = owner?;
        if let Some(deadline) = self.upload.deadline(self.since, owner) {
            return deadline;
        }
        self.since
            .plus(owner.timeouts.read)
            .map(|at| (at, Due::Budget(error::Why::Read)))
    }
}
