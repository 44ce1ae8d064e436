use super::*;

/// The head was delivered and the body is arriving (RFC 9112 section 6). A caller that does not
/// read stops the reading, not the connection. Ended by the message's end, by the peer, or by
/// the read timeout while a caller waits.
#[derive(Debug)]
pub(crate) struct ReadingBody {
    pub(crate) job: Job,
    pub(crate) upload: Upload,
    pub(crate) since: Instant,
    pub(crate) body: Body,
    pub(crate) reuse: Result<(), NotReused>,
    pub(crate) notice: Option<Notice>,
    pub(crate) parser: Box<Parser>,
}

impl On<Sent> for ReadingBody {
    #[inline(always)]
    fn on(self, _: Sent, cx: &mut Cx<'_>) -> Step<Self, Sent> {
        cx.post(self.job.owner, exchange::Uploaded);
        Step::to(ReadingBody {
            upload: Upload::Done,
            ..self
        })
    }
}

impl On<SendFailed> for ReadingBody {
    fn on(self, event: SendFailed, cx: &mut Cx<'_>) -> Step<Self, SendFailed> {
        cx.drive();
        cx.post(self.job.owner, exchange::Unsent);
        Step::to(ReadingBody {
            upload: Upload::Lost(event.0),
            ..self
        })
    }
}

impl On<End> for ReadingBody {
    #[inline(always)]
    fn on(self, event: End, cx: &mut Cx<'_>) -> Step<Self, End> {
        let ReadingBody {
            job,
            upload,
            reuse,
            notice,
            parser,
            ..
        } = self;
        cx.out.recycle_parser(parser);
        let clean = match (reuse, upload, job.after) {
            (Err(why), _, _) => Err(why),
            (Ok(()), Upload::Owed { .. } | Upload::Lost(_), _) => Err(NotReused::UploadUnfinished),
            (Ok(()), Upload::Done, After::Close) => Err(NotReused::CallerCloses),
            (Ok(()), Upload::Done, After::Hold | After::Park { .. }) => Ok(()),
        };
        let term = cx.link.term(cx.now, notice);
        let reuse = clean.and_then(|()| within(term, cx.now));
        let held = clean.is_ok() && job.after == After::Hold;
        cx.post(
            job.owner,
            exchange::End {
                trailers: event.trailers,
                reuse,
                held,
            },
        );
        let why = match (clean, reuse, job.after) {
            (Ok(()), _, After::Hold) => {
                let owner = job.owner;
                return Step::to(Held { owner, term });
            }
            (Ok(()), Ok(()), After::Park { idle }) => {
                let idle_by = cx.now.plus(idle);
                return Step::to(Pooled { idle_by, term });
            }
            (Ok(()), Ok(()), After::Close) => NotReused::CallerCloses,
            (Ok(()), Err(why), After::Park { .. } | After::Close) | (Err(why), _, _) => why,
        };
        Step::to(cx.closed(Cause::NotReused(why)))
    }
}

impl On<Malformed> for ReadingBody {
    fn on(self, event: Malformed, cx: &mut Cx<'_>) -> Step<Self, Malformed> {
        Step::to(self.failed(event.0.into(), cx))
    }
}

impl On<Eof> for ReadingBody {
    fn on(self, _: Eof, cx: &mut Cx<'_>) -> Step<Self, Eof> {
        if self.body.ends_with_connection() {
            cx.out.recycle_parser(self.parser);
            let reuse = Err(NotReused::ClosedByBody);
            cx.post(
                self.job.owner,
                exchange::End {
                    trailers: None,
                    reuse,
                    held: false,
                },
            );
            return Step::to(cx.closed(Cause::NotReused(NotReused::ClosedByBody)));
        }
        Step::to(self.failed(Kind::PeerClosed, cx))
    }
}

impl ReadingBody {
    fn failed(self, kind: Kind, cx: &mut Cx<'_>) -> Closed {
        cx.out.recycle_parser(self.parser);
        cx.broken(
            self.job,
            kind,
            "ReadingBody",
            Seen {
                sent: true,
                answered: true,
            },
        )
    }

    /// Counts `n` bytes that the driver received straight into the body's own buffer.
    pub(crate) fn received_in_place(&mut self, n: usize, now: Instant) {
        self.body.received_in_place(n);
        self.since = now;
    }

    /// Backpressure: a caller that pulls gets a window, a gathered body comes at full speed.
    pub(crate) fn wants_more(&self, owner: Owner<'_>) -> bool {
        owner.is_some_and(Facts::has_room)
    }

    /// The read timeout runs only while somebody waits for these bytes, as a cosocket's does.
    pub(crate) fn deadline(&self, owner: Owner<'_>) -> Option<(Instant, Due)> {
        let owner = owner?;
        let from = self.since.max(owner.waiting_since()?);
        if owner.is_supplied()
            && let Some(deadline) = self.upload.deadline(from, owner)
        {
            return deadline;
        }
        from.plus(owner.timeouts.read)
            .map(|at| (at, Due::Budget(error::Why::Read)))
    }
}
