use super::resolving::connect_budget;
use super::*;

/// TCP (or a tunnel) is up and TLS is being agreed by the driver; the engine sees plain bytes
/// only. Ended by the driver's answer or by the connect budget.
#[derive(Debug)]
pub(crate) struct Handshaking {
    pub(crate) job: Job,
    pub(crate) by: Option<Instant>,
}

impl On<Handshaken> for Handshaking {
    fn on(self, _: Handshaken, cx: &mut Cx<'_>) -> Step<Self, Handshaken> {
        cx.take_up(self.job)
    }
}

impl On<HandshakeFailed> for Handshaking {
    fn on(self, event: HandshakeFailed, cx: &mut Cx<'_>) -> Step<Self, HandshakeFailed> {
        Step::to(cx.attempt_failed(self.job, Kind::Tls(event.0), "Handshaking"))
    }
}

impl On<Eof> for Handshaking {
    fn on(self, _: Eof, cx: &mut Cx<'_>) -> Step<Self, Eof> {
        Step::to(cx.attempt_failed(self.job, Kind::PeerClosed, "Handshaking"))
    }
}

impl On<SendFailed> for Handshaking {
    fn on(self, event: SendFailed, cx: &mut Cx<'_>) -> Step<Self, SendFailed> {
        Step::to(cx.attempt_failed(self.job, Kind::Send(event.0), "Handshaking"))
    }
}

impl Handshaking {
    pub(crate) fn deadline(&self) -> Option<(Instant, Due)> {
        connect_budget(self.by)
    }
}
