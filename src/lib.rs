//! An HTTP/1.1 client engine as an explicit typed state machine, sans-io.
//!
//! Facts come in ("TCP is up", "these bytes came", "it is now 12:00"), orders go out ("connect
//! there", "close that"), and between them stand two transition tables that the compiler checks.
//! The engine opens no socket, reads no clock and starts no thread: whoever calls it does, and is
//! called a *driver* here. One driver of this crate is an nginx module, one is a simulator, and
//! one is `examples/get.rs`, which does it in under a hundred lines of blocking `std::net`.
//!
//! # One GET
//!
//! A driver of nothing at all: the bytes are fed by hand.
//!
//! ```
//! use ngx_http_ffi_client::*;
//!
//! let mut engine = Engine::new(Config::default());
//! let target = Target::new(Scheme::Http, b"127.0.0.1", 8080);
//! let request = Request {
//!     method: b"GET",
//!     path: b"/hello",
//!     query: b"",
//!     fields: [(b"Accept".as_slice(), b"text/plain".as_slice())].into_iter(),
//!     body: Content::None,
//!     limits: None,
//! };
//! let timeouts = Timeouts { read: Duration(10_000), ..Timeouts::default() };
//!
//! // The caller asks. All times are the driver's, in milliseconds of any epoch.
//! let id = engine.fetch(&target, &request, timeouts, Collect::Whole, None, Instant(0))?;
//!
//! // The engine orders a connection; the driver makes one and says so.
//! let Some(Effect::Connect { key, address }) = engine.poll() else { panic!() };
//! assert_eq!(address.to_string(), "127.0.0.1:8080");
//! engine.handle(key, Event::Connected, Instant(1));
//!
//! // Now there are bytes to send.
//! assert!(engine.interest(key).write);
//! assert!(engine.output(key).starts_with(b"GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"));
//! engine.sent(key, engine.output(key).len(), Instant(1));
//!
//! // And then bytes to receive, by `deadline` at the latest, however they are cut.
//! assert_eq!(engine.deadline(), Some(Instant(10_001)));
//! for piece in [b"HTTP/1.1 200 OK\r\nContent-Le".as_slice(), b"ngth: 5\r\n\r\nhello"] {
//!     let mut room = engine.input(key).expect("a response is wanted");
//!     room.spare()[..piece.len()].copy_from_slice(piece);
//!     engine.received(key, room, piece.len(), Instant(2));
//! }
//!
//! let response = engine.take(id, Instant(2)).expect("it is over");
//! assert_eq!(response.head.status, 200);
//! assert_eq!(response.head.fields.get(b"content-length"), Some(b"5".as_slice()));
//! assert_eq!(response.body, b"hello");
//!
//! // No keepalive was asked for, so the last order is to close.
//! while let Some(effect) = engine.poll() {
//!     assert!(matches!(effect, Effect::Drive { .. } | Effect::Close { .. }));
//! }
//! assert_eq!((engine.connections(), engine.exchanges()), (0, 0));
//! # Ok::<(), Error>(())
//! ```
//!
//! # The pieces
//!
//! * [`Engine`] is the whole surface. *Callers* use [`fetch`](Engine::fetch) for one request, or
//!   [`connect`](Engine::connect), [`request`](Engine::request) and [`release`](Engine::release)
//!   to hold a connection over several; they [`wait`](Engine::wait), look at
//!   [`status`](Engine::status), [`head`](Engine::head) and [`body`](Engine::body), and
//!   [`take`](Engine::take) the result.
//! * *Drivers* report [`Event`]s, move bytes when [`interest`](Engine::interest) says so
//!   ([`output`](Engine::output) and [`sent`](Engine::sent), [`input`](Engine::input) and
//!   [`received`](Engine::received)), keep one timer for [`deadline`](Engine::deadline) and
//!   [`expire`](Engine::expire), and after each of these calls carry out every [`Effect`] that
//!   [`poll`](Engine::poll) has.
//! * An [`Id`] names an exchange and a [`Key`] a connection. Both stay unique when slots are used
//!   again: news about something that is over is counted and dropped.
//! * Connections that are kept stand in pools inside the engine, by origin and by name
//!   ([`Target::pool`]); the driver only keeps their sockets.
//! * What a peer may cost is bounded by [`Limits`]; how long it may take by [`Timeouts`].
//! * An [`Error`] says what went wrong ([`Kind`]), in which state, and whether trying again is
//!   safe. Its text is what Lua callers see.
//!
//! # How it is built
//!
//! `src/client/connection/table.rs` and `src/client/exchange/table.rs` hold every state, every
//! event, and what becomes of each pair of them; each state has a file with its handlers. A handler
//! that makes a move the table does not list does not compile, and neither does a table that leaves
//! a pair undecided. [`tables`] gives the tables as data and [`pages`] as text: the diagrams, the
//! matrix and the list of errors in `states/` are these texts, and a test proves them fresh.
//!
//! # Features
//!
//! The crate is `no_std` and needs `alloc`; so it is the compiler that proves that the engine knows
//! no clock, socket or thread.
//!
//! | Feature | Default | What it adds                                                            |
//! |---------|---------|-------------------------------------------------------------------------|
//! | `std`   | yes     | Links `std`. Nothing in the core needs it; what comes beside it may.    |
//! | `sim`   | no      | The module `sim`: a deterministic world to test the engine in.          |
//!
//! # Stability
//!
//! Versions follow [Cargo's semantic versioning](https://doc.rust-lang.org/cargo/reference/semver.html);
//! while the version is 0.x, the second number stands for incompatible changes. Of the states only
//! their names are visible, in traces, errors and [`tables`]: states, events and rows may change in
//! any version, and so may the wording of traces. Enums that may grow are `#[non_exhaustive]`;
//! [`Effect`] is not, because a driver has to carry out every order. The Rust version needed
//! (1.88) rises only with the second number.
#![no_std]
#![deny(unsafe_code)]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod client;
mod diagram;
mod http;
mod machine;
pub mod names;
#[cfg(feature = "sim")]
pub mod sim;
mod slots;
mod time;
mod trace;

pub use client::error::{
    Aborted, Again, Error, Kind, Limit, Misbehaviour, Misuse, ProxyError, ResolveError,
    SocketError, TlsError, Why,
};
pub use client::event::{Effect, Event, Interest};
pub use client::stats::{PoolStats, Reason, Tally};
pub use client::{
    Buf, Collect, Config, Content, Counters, Engine, FieldSpan, Finished, Head, Id, Keepalive, Key,
    Life, Limits, NotReused, Piece, Proxy, Request, Scheme, Section, Span, Status, Target,
    Timeouts, Until,
};
pub use diagram::pages;
pub use machine::{Description, Move};
pub use time::{Duration, Instant};

/// The two transition tables as text: what `states/` is made of.
pub fn tables() -> [(&'static str, Description); 2] {
    [
        ("connection", client::connection::table::State::DESCRIPTION),
        ("exchange", client::exchange::table::State::DESCRIPTION),
    ]
}
