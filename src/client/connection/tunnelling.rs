use super::resolving::connect_budget;
use super::*;
use crate::client::error::ProxyError;

/// CONNECT is on its way to a proxy or its answer is awaited. A 2xx head opens the tunnel and
/// has no body whatever it says (RFC 9110 9.3.6); any other final head ends the attempt.
#[derive(Debug)]
pub(crate) struct Tunnelling {
    pub(crate) job: Job,
    pub(crate) by: Option<Instant>,
    pub(crate) upload: Upload,
    pub(crate) interim: u32,
    pub(crate) parser: Box<Parser>,
}

impl On<Sent> for Tunnelling {
    fn on(self, _: Sent, _: &mut Cx<'_>) -> Step<Self, Sent> {
        Step::to(Tunnelling {
            upload: Upload::Done,
            ..self
        })
    }
}

impl On<Interim> for Tunnelling {
    fn on(self, _: Interim, _: &mut Cx<'_>) -> Step<Self, Interim> {
        Step::to(Tunnelling {
            interim: self.interim + 1,
            ..self
        })
    }
}

impl On<Head> for Tunnelling {
    fn on(self, event: Head, cx: &mut Cx<'_>) -> Step<Self, Head> {
        let Tunnelling {
            job,
            by,
            upload,
            parser,
            ..
        } = self;
        let opened = matches!(event.head.status, 200..=299) && upload == Upload::Done;
        cx.out.recycle_parser(parser);
        cx.out.recycle_head(event.head);
        if !opened {
            return Step::to(cx.attempt_failed(
                job,
                Kind::Proxy(ProxyError::Refused),
                "Tunnelling",
            ));
        }
        if cx.link.tls {
            cx.order(Effect::Handshake { key: cx.link.key });
            return Step::to(Handshaking { job, by });
        }
        cx.take_up(job)
    }
}

impl On<Malformed> for Tunnelling {
    fn on(self, event: Malformed, cx: &mut Cx<'_>) -> Step<Self, Malformed> {
        Step::to(self.failed(event.0.into(), cx))
    }
}

impl On<Eof> for Tunnelling {
    fn on(self, _: Eof, cx: &mut Cx<'_>) -> Step<Self, Eof> {
        Step::to(self.failed(Kind::PeerClosed, cx))
    }
}

impl On<SendFailed> for Tunnelling {
    fn on(self, event: SendFailed, cx: &mut Cx<'_>) -> Step<Self, SendFailed> {
        Step::to(self.failed(Kind::Send(event.0), cx))
    }
}

impl Tunnelling {
    fn failed(self, kind: Kind, cx: &mut Cx<'_>) -> Closed {
        cx.out.recycle_parser(self.parser);
        cx.attempt_failed(self.job, kind, "Tunnelling")
    }

    pub(crate) fn deadline(&self) -> Option<(Instant, Due)> {
        connect_budget(self.by)
    }
}
