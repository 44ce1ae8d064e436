//! Where a body ends, piece by piece.

use super::fault::Fault;
use super::parser::{Parser, Stop};

/// A body being received. The three ways a message can end (RFC 9112 6.3); no body is length 0.
#[derive(Debug)]
pub(crate) enum Body {
    Length { left: u64 },
    Chunked,
    UntilClose,
}

impl Body {
    /// Takes the next piece off `input`: how many bytes, and what they were.
    pub(crate) fn next(
        &mut self,
        parser: &mut Parser,
        input: &[u8],
    ) -> Result<(usize, Stop), Fault> {
        match self {
            Body::Length { left: 0 } => Ok((0, Stop::End)),
            _ if input.is_empty() => Ok((0, Stop::More)),
            Body::Length { left } => {
                let n = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(input.len());
                *left -= n as u64;
                Ok((n, Stop::Body { start: 0, end: n }))
            }
            Body::Chunked => parser.feed_chunked(input),
            Body::UntilClose => Ok((
                input.len(),
                Stop::Body {
                    start: 0,
                    end: input.len(),
                },
            )),
        }
    }

    /// Counts `n` bytes that the driver received straight into the body's own buffer.
    pub(crate) fn received_in_place(&mut self, n: usize) {
        match self {
            Body::Length { left } => *left = left.saturating_sub(n as u64),
            Body::Chunked | Body::UntilClose => {}
        }
    }

    /// How many bytes may be received straight into the body's buffer: all of them are body.
    pub(crate) fn room_in_place(&self) -> u64 {
        match self {
            Body::Length { left } => *left,
            Body::Chunked => 0,
            Body::UntilClose => u64::MAX,
        }
    }

    /// Whether the end of the connection is the end of this body.
    pub(crate) fn ends_with_connection(&self) -> bool {
        matches!(self, Body::UntilClose)
    }
}
