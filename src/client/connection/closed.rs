use super::*;
use crate::machine::Place;

/// Over. The engine closes the socket and frees the slot as soon as a connection gets here, so
/// what still arrives for its key is late news.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Closed {
    pub(crate) cause: Cause,
}

/// Why a connection was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its exchange failed.
    Failed(Kind),
    /// Its exchange succeeded and the connection is not kept.
    NotReused(NotReused),
    /// Another address was faster.
    Lost,
    /// The pool needed the room.
    Evicted,
    /// It was idle for its idle time.
    Idle,
    /// The peer closed it while it was idle.
    PeerClosed,
    /// The peer sent something while nothing was asked.
    Unsolicited,
    /// A handler is running, or did not come back.
    Panicked,
}

impl Cause {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Cause::Failed(kind) => kind.text(),
            Cause::NotReused(why) => why.text(),
            Cause::Lost => "another address was faster",
            Cause::Evicted => "evicted",
            Cause::Idle => "idle timeout",
            Cause::PeerClosed => "closed by peer while idle",
            Cause::Unsolicited => "unsolicited bytes",
            Cause::Panicked => "internal error",
        }
    }
}

/// While a handler runs, its slot says that it did not come back.
impl Place<State> for State {
    #[inline(always)]
    fn state(&self) -> &State {
        self
    }

    #[inline(always)]
    fn take(&mut self) -> State {
        let cause = Cause::Panicked;
        core::mem::replace(self, State::Closed(Closed { cause }))
    }

    #[inline(always)]
    fn put(&mut self, next: State) {
        // What stood in owns nothing, so nothing is lost by not dropping it.
        core::mem::forget(core::mem::replace(self, next));
    }
}

impl Always<RecvFailed> for State {
    type To = Closed;
    fn always(self, event: RecvFailed, cx: &mut Cx<'_>) -> Closed {
        self.fail(Kind::Receive(event.0), cx)
    }
}

impl Always<Expired> for State {
    type To = Closed;
    fn always(self, event: Expired, cx: &mut Cx<'_>) -> Closed {
        match event.0 {
            Due::Budget(why) => self.fail(Kind::Expired(why), cx),
            Due::Over(why) => cx.closed(Cause::NotReused(why)),
            Due::Idle | Due::NextAddress | Due::Leave => cx.closed(Cause::Idle),
        }
    }
}

impl Always<Aborted> for State {
    type To = Closed;
    fn always(self, event: Aborted, cx: &mut Cx<'_>) -> Closed {
        self.fail(Kind::Aborted(event.0), cx)
    }
}

impl State {
    /// Why the connection is over.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            State::Closed(closed) => closed.cause,
            State::Resolving(_)
            | State::Connecting(_)
            | State::Handshaking(_)
            | State::Tunnelling(_)
            | State::Writing(_)
            | State::ReadingHead(_)
            | State::ReadingBody(_)
            | State::Pooled(_)
            | State::Held(_) => Cause::Panicked,
        }
    }

    /// Ends any state, telling the owner what that means for its request.
    fn fail(self, kind: Kind, cx: &mut Cx<'_>) -> Closed {
        let name = self.name();
        let (job, seen, parser) = match self {
            State::Resolving(Resolving { job, .. })
            | State::Connecting(Connecting { job, .. })
            | State::Handshaking(Handshaking { job, .. }) => {
                return cx.attempt_failed(job, kind, name);
            }
            State::Tunnelling(s) => {
                cx.out.recycle_parser(s.parser);
                return cx.attempt_failed(s.job, kind, name);
            }
            State::Writing(s) => (s.job, s.seen(), None),
            State::ReadingHead(s) => (s.job, s.seen(), Some(s.parser)),
            State::ReadingBody(s) => (
                s.job,
                Seen {
                    sent: true,
                    answered: true,
                },
                Some(s.parser),
            ),
            State::Pooled(_) | State::Held(_) | State::Closed(_) => {
                return cx.closed(Cause::Failed(kind));
            }
        };
        if let Some(parser) = parser {
            cx.out.recycle_parser(parser);
        }
        cx.broken(job, kind, name, seen)
    }
}
