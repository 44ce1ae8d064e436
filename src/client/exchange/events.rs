//! The structs behind the table's events.

use super::*;

#[derive(Debug)]
pub(crate) struct Dial;

#[derive(Debug)]
pub(crate) struct Full;

#[derive(Debug)]
pub(crate) struct Refused;

#[derive(Debug)]
pub(crate) struct Resolved {
    /// All but the one that is being tried.
    pub(crate) rest: Vec<SocketAddr>,
}

#[derive(Debug)]
pub(crate) struct Won {
    pub(crate) key: Key,
}

#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) key: Key,
    pub(crate) reused: u32,
}

#[derive(Debug)]
pub(crate) struct AttemptFailed {
    pub(crate) key: Key,
    pub(crate) error: Error,
}

#[derive(Debug)]
pub(crate) struct Waited;

#[derive(Debug)]
pub(crate) struct Leave;

#[derive(Debug)]
pub(crate) struct Unsent;

#[derive(Debug)]
pub(crate) struct Uploaded;

#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) head: Box<ResponseHead>,
    pub(crate) framing: Framing,
}

#[derive(Debug)]
pub(crate) struct Overflown;

#[derive(Debug)]
pub(crate) struct End {
    pub(crate) trailers: Option<Box<Section>>,
    pub(crate) reuse: Result<(), NotReused>,
    /// The connection stays with the exchange's owner.
    pub(crate) held: bool,
}

#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) error: Error,
    /// A byte of a response came.
    pub(crate) answered: bool,
}

#[derive(Debug)]
pub(crate) struct Expired(pub(crate) Why);

#[derive(Debug)]
pub(crate) struct Aborted(pub(crate) error::Aborted);
