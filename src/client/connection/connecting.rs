use super::resolving::connect_budget;
use super::*;

/// A TCP connect is in flight, perhaps one of several that race (RFC 8305 section 5). Owes
/// nothing; ended by the socket, by a faster address, or by the connect budget.
#[derive(Debug)]
pub(crate) struct Connecting {
    pub(crate) job: Job,
    pub(crate) by: Option<Instant>,
}

impl On<Connected> for Connecting {
    fn on(self, _: Connected, cx: &mut Cx<'_>) -> Step<Self, Connected> {
        let Connecting { job, by } = self;
        // The first address to answer wins, whatever still stands between it and the request.
        let key = cx.link.key;
        cx.post(job.owner, exchange::Won { key });
        if cx.link.tunnel {
            cx.drive();
            let parser = cx.out.parser(Allowance::default());
            return Step::to(Tunnelling {
                job,
                by,
                upload: Upload::Owed { sent: 0 },
                interim: 0,
                parser,
            });
        }
        if cx.link.tls {
            cx.order(Effect::Handshake { key });
            return Step::to(Handshaking { job, by });
        }
        cx.take_up(job)
    }
}

impl On<ConnectFailed> for Connecting {
    fn on(self, event: ConnectFailed, cx: &mut Cx<'_>) -> Step<Self, ConnectFailed> {
        Step::to(cx.attempt_failed(self.job, Kind::Connect(event.0), "Connecting"))
    }
}

impl On<Lost> for Connecting {
    fn on(self, _: Lost, cx: &mut Cx<'_>) -> Step<Self, Lost> {
        Step::to(cx.closed(Cause::Lost))
    }
}

impl Connecting {
    pub(crate) fn deadline(&self) -> Option<(Instant, Due)> {
        connect_budget(self.by)
    }
}
