//! A second machine, a small server's: `machine!` is not tied to the client. `refused.rs` breaks
//! this text in every way that the macro has to notice.

use crate::machine::machine;

machine! {
    context Cx;
    start { Reading }
    states {
        /// A request is awaited.
        Reading,
        /// The response is owed.
        Writing,
        /// Over.
        Closed,
    }
    events {
        /// A request came.
        Asked,
        /// The response was sent.
        Sent,
        /// The socket is of no use any more.
        Failed,
    }
    table {
        Reading + Asked => Writing;
        Writing + Sent  => Reading | Closed;
    }
    always { Failed => Closed; }
    ignore { Closed: Asked | Sent; }
    never {
        Reading: Sent;
        Writing: Asked;
    }
}

#[derive(Debug)]
pub(crate) struct Reading;
#[derive(Debug)]
pub(crate) struct Writing {
    keep: bool,
}
#[derive(Debug)]
pub(crate) struct Closed;
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) keep: bool,
}
#[derive(Debug)]
pub(crate) struct Sent;
#[derive(Debug)]
pub(crate) struct Failed;

pub(crate) struct Cx<'a> {
    pub(crate) log: &'a mut Vec<&'static str>,
    pub(crate) impossible: bool,
}

impl On<Asked> for Reading {
    fn on(self, event: Asked, cx: &mut Cx<'_>) -> Step<Self, Asked> {
        cx.log.push("asked");
        Step::to(Writing { keep: event.keep })
    }
}

impl On<Sent> for Writing {
    fn on(self, _: Sent, cx: &mut Cx<'_>) -> Step<Self, Sent> {
        cx.log.push("sent");
        match self.keep {
            true => Step::to(Reading),
            false => Step::to(Closed),
        }
    }
}

impl Always<Failed> for State {
    type To = Closed;
    fn always(self, _: Failed, cx: &mut Cx<'_>) -> Closed {
        cx.log.push("failed");
        Closed
    }
}
