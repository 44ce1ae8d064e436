//! HTTP/1.1 client engine: an explicit typed state machine, sans-io.
#![no_std]
#![deny(unsafe_code)]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod client;
mod diagram;
mod http;
mod machine;
#[cfg(feature = "sim")]
pub mod sim;
mod slots;
mod time;
mod trace;

pub use client::error::{
    Aborted, Error, Kind, Limit, Misbehaviour, Misuse, ProxyError, ResolveError, SocketError,
    TlsError, Why,
};
pub use client::event::{Effect, Event, Interest};
pub use client::{
    Buf, Collect, Config, Counters, Engine, Finished, Head, Id, Keepalive, Key, Limits, NotReused,
    Proxy, Request, Scheme, Section, Status, Target, Timeouts, Until,
};
pub use diagram::pages;
pub use machine::{Description, Move};

/// The two transition tables as text: what `states/` is made of.
pub fn tables() -> [(&'static str, Description); 2] {
    [
        ("connection", client::connection::table::State::DESCRIPTION),
        ("exchange", client::exchange::table::State::DESCRIPTION),
    ]
}

pub use time::{Duration, Instant};
