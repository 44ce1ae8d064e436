//! Bytes to meaning and back: no states, no sockets.
//!
//! [`parser`] is the only place that calls llhttp; [`framing`] decides by RFC 9112 where a body
//! ends and whether the connection may be used again; [`request`] validates and encodes.

pub(crate) mod authority;
pub(crate) mod body;
pub(crate) mod content;
pub(crate) mod fault;
pub(crate) mod framing;
pub(crate) mod head;
pub(crate) mod limits;
mod lines;
pub(crate) mod parser;
pub(crate) mod request;
pub(crate) mod syntax;
