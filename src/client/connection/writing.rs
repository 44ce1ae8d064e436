use super::*;

/// Request bytes are owed to the peer and nothing of a response was seen. Ended by the last
/// byte, by a response that comes early, or by the send timeout between two bytes; while the caller
/// supplies, or leave to send the body is awaited, no timeout of its own runs.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) job: Job,
    /// How many bytes of the exchange's request were handed to the socket.
    pub(crate) sent: usize,
    pub(crate) since: Instant,
}

impl On<Sent> for Writing {
    #[inline(always)]
    fn on(self, _: Sent, cx: &mut Cx<'_>) -> Step<Self, Sent> {
        cx.post(self.job.owner, exchange::Uploaded);
        Step::to(self.reading(Upload::Done, cx))
    }
}

impl On<Early> for Writing {
    fn on(self, _: Early, cx: &mut Cx<'_>) -> Step<Self, Early> {
        *cx.why = Some(Reason::Early { sent: self.sent });
        let upload = Upload::Owed { sent: self.sent };
        Step::to(self.reading(upload, cx))
    }
}

impl On<Unsolicited> for Writing {
    /// Bytes before a byte of the request was sent belong to nobody's response.
    fn on(self, _: Unsolicited, cx: &mut Cx<'_>) -> Step<Self, Unsolicited> {
        let seen = Seen {
            sent: false,
            answered: false,
        };
        cx.broken(self.job, Kind::PeerClosed, "Writing", seen);
        Step::to(cx.closed(Cause::Unsolicited))
    }
}

impl On<Eof> for Writing {
    fn on(self, _: Eof, cx: &mut Cx<'_>) -> Step<Self, Eof> {
        let seen = self.seen();
        Step::to(cx.broken(self.job, Kind::PeerClosed, "Writing", seen))
    }
}

impl On<SendFailed> for Writing {
    /// A peer that stops reading may have answered first: what it sent is still to be read.
    fn on(self, event: SendFailed, cx: &mut Cx<'_>) -> Step<Self, SendFailed> {
        *cx.why = Some(Reason::Unsent(event.0));
        cx.drive();
        cx.post(self.job.owner, exchange::Unsent);
        Step::to(ReadingHead {
            any_sent: self.sent > 0,
            ..self.reading(Upload::Lost(event.0), cx)
        })
    }
}

impl Writing {
    /// The first state of a request on a ready connection.
    #[inline(always)]
    pub(crate) fn begin(job: Job, cx: &mut Cx<'_>) -> Writing {
        cx.drive();
        cx.link.requests_left = cx.link.requests_left.saturating_sub(1);
        Writing {
            job,
            sent: 0,
            since: cx.now,
        }
    }

    fn reading(self, upload: Upload, cx: &mut Cx<'_>) -> ReadingHead {
        let parser = cx.out.parser(self.job.allowance);
        ReadingHead {
            job: self.job,
            upload,
            since: cx.now,
            interim: 0,
            any_sent: true,
            parser,
        }
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen {
            sent: self.sent > 0,
            answered: false,
        }
    }

    pub(crate) fn deadline(&self, owner: Owner<'_>) -> Option<(Instant, Due)> {
        let upload = Upload::Owed { sent: self.sent };
        upload.deadline(self.since, owner?).flatten()
    }
}
