//! The engine: the whole sans-io surface.
//!
//! Callers ask ([`Engine::fetch`], [`Engine::connect`], …), drivers report facts
//! ([`Engine::handle`], [`Engine::received`], [`Engine::sent`], [`Engine::expire`]) and carry out
//! orders ([`Engine::poll`]). Between them stand two transition tables, one for connections and
//! one for exchanges. Nothing here knows a clock, a socket, nginx or Lua.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

pub use crate::http::content::Content;
pub use crate::http::framing::NotReused;
pub use crate::http::head::{FieldSpan, Head, Section, Span};
pub use crate::http::limits::Limits;
pub use crate::http::request::Request;
use crate::slots::{Slots, key};
use crate::time::Duration;
use crate::trace::Trace;

mod allowances;
#[cfg(feature = "sim")]
mod audit;
mod calls;
pub(crate) mod connection;
mod deadlines;
mod driver;
pub mod error;
pub mod event;
pub(crate) mod exchange;
mod gathered;
mod out;
mod places;
mod pool;
#[cfg(test)]
mod reached;
mod recover;
mod results;
mod run;
pub mod stats;
mod target;
#[cfg(test)]
mod tests;
mod tracing;
mod upload;

use deadlines::Deadlines;
pub use driver::Buf;
use error::Error;
pub use exchange::Piece;
use out::Out;
use pool::Pool;
pub use target::{Proxy, Scheme, Target};

key!(
    /// Names a connection.
    Key
);
key!(
    /// Names an exchange: a request and its response, or an open connection that has none yet.
    Id
);

/// How long each part of an exchange may take. [`Duration::NONE`] is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Resolving, connecting, the tunnel and the handshake together.
    pub connect: Duration,
    /// Between two bytes sent.
    pub send: Duration,
    /// Between two bytes received, while somebody waits for them.
    pub read: Duration,
    /// The whole exchange.
    pub total: Duration,
    /// How long a request with `Expect: 100-continue` waits for leave before its body goes out all
    /// the same. Default 1 s.
    pub expect: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::NONE,
            send: Duration::NONE,
            read: Duration::NONE,
            total: Duration::NONE,
            expect: Duration(1000),
        }
    }
}

/// What is done with a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collect {
    /// Gathered, up to [`Limits::whole`].
    #[default]
    Whole,
    /// Pulled by the caller, through a bounded window.
    Stream,
}

/// For how long a connection is used before another takes its place. Zeros stand for what
/// [`Config::life`] says, and there for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Life {
    /// So many requests.
    pub requests: u32,
    /// So long, counted from the beginning of its making.
    pub time: Duration,
}

impl Life {
    /// With what `default` says where this says nothing.
    pub(crate) fn or(self, default: Life) -> Life {
        let said = |own, other| if own == 0 { other } else { own };
        Life {
            requests: said(self.requests, default.requests),
            time: Duration(said(self.time.0, default.time.0)),
        }
    }

    /// How many requests; without a limit more than anyone asks of one connection.
    pub(crate) fn requests(self) -> u32 {
        match self.requests {
            0 => u32::MAX,
            n => n,
        }
    }
}

/// How a connection is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// How long it may be idle; [`Duration::NONE`] never expires.
    pub idle: Duration,
    /// Sizes the pool if nobody has yet.
    pub pool_size: Option<usize>,
}

/// What a caller waits for. The end of the exchange ends each wait, and [`Engine::wants`] ends those
/// for the head and the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The connection is ready.
    Connected,
    /// The response head has come.
    Head,
    /// There are body bytes to take.
    Data,
    /// The exchange is over. A body that was pulled so far is gathered from here on.
    Done,
}

/// What has become of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// There is none of that name.
    Gone,
    /// It is not over.
    Running,
    /// It is over and succeeded.
    Ended,
    /// It is over and failed.
    Failed(Error),
}

/// What is left of an exchange when it is over.
#[derive(Debug, Default)]
pub struct Finished {
    /// The response head; empty, with status 0, when none came.
    pub head: Box<Head>,
    /// The body bytes that were not taken before.
    pub body: Vec<u8>,
    /// The trailer section; nearly always there is none.
    pub trailers: Option<Box<Section>>,
    /// What [`Engine::reused`] said.
    pub reused: u32,
    /// What [`Engine::has_body`] said.
    pub has_body: bool,
}

/// How an engine is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Bounds on what a peer may cost.
    pub limits: Limits,
    /// The size of a pool that nobody sizes. Default 30.
    pub pool_size: usize,
    /// The life of connections whose caller does not say. Default 1000 requests, one hour.
    pub life: Life,
    /// Panic when a driver reports a fact that cannot be, instead of an alert. For tests.
    pub strict: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            limits: Limits::default(),
            pool_size: 30,
            life: Life {
                requests: 1000,
                time: Duration(3_600_000),
            },
            strict: false,
        }
    }
}

/// Numbers an operator may want to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Facts about keys that name nothing any more.
    pub stale: u64,
    /// Facts that cannot be.
    pub impossible: u64,
    /// Connections opened.
    pub opened: u64,
    /// Connections taken from the pool.
    pub reused: u64,
    /// Requests sent again on a fresh connection.
    pub retried: u64,
}

/// All connections and exchanges of one driver. See the module documentation.
#[derive(Debug)]
#[expect(
    clippy::vec_box,
    reason = "the boxes move between slots and here, their contents do not"
)]
pub struct Engine {
    connections: Slots<Key, connection::Slot>,
    exchanges: Slots<Id, exchange::Slot>,
    pool: Pool,
    deadlines: Deadlines,
    out: Out,
    trace: Trace,
    watched: tracing::Watched,
    alerts: VecDeque<String>,
    counters: Counters,
    config: Config,
    /// Receives what does not go straight into a body.
    scratch: Vec<u8>,
    spare_facts: Vec<Box<exchange::Facts>>,
    running: usize,
    /// Pools in which exchanges wait and that have got a connection, or room for one. Looked at when
    /// nothing else is left to do, because what goes on may need the room.
    vacant: Vec<pool::Shelf>,
    /// Slots whose deadline may have moved since it was last looked at.
    touched: (Option<Key>, Option<Id>),
    /// The exchange of a call that did not come back.
    nameless: Option<Id>,
    serials: (u32, u32),
}

impl Engine {
    /// An engine with nothing going on.
    pub fn new(config: Config) -> Engine {
        Engine {
            connections: Slots::new(),
            exchanges: Slots::new(),
            pool: Pool::new(config.pool_size.max(1)),
            deadlines: Deadlines::default(),
            out: Out::new(config.limits),
            trace: Trace::new(),
            watched: tracing::Watched::default(),
            alerts: VecDeque::new(),
            counters: Counters::default(),
            config,
            scratch: Vec::new(),
            spare_facts: Vec::new(),
            running: 0,
            vacant: Vec::new(),
            touched: (None, None),
            nameless: None,
            serials: (0, 0),
        }
    }

    /// Whether there is a trace line or an alert to be polled.
    #[inline]
    pub fn has_reports(&self) -> bool {
        self.trace.has_lines() || !self.alerts.is_empty()
    }

    /// The next thing that cannot be but was reported, in words, with the last moves.
    pub fn poll_alert(&mut self) -> Option<String> {
        self.alerts.pop_front()
    }

    /// Numbers an operator may want to see.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The bounds it was set up with.
    pub fn limits(&self) -> Limits {
        self.config.limits
    }

    /// How many exchanges have no outcome yet.
    pub fn in_flight(&self) -> usize {
        self.running
    }

    /// How many connections are idle in the pool.
    pub fn idle(&self) -> usize {
        self.pool.idle()
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// How many exchanges there are, with those that are over and not taken.
    pub fn exchanges(&self) -> usize {
        self.exchanges.len()
    }
}
