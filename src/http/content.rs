//! What follows the head of a request, and how the head says where it ends.

use super::request::Misuse;
use super::syntax::{list, number};

/// What follows the head of a request (RFC 9110 6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content<'a> {
    /// Nothing. Differs from an empty body in that no Content-Length is written unless the method
    /// usually has a body.
    #[default]
    None,
    /// All of it.
    Whole(&'a [u8]),
    /// Pieces that come later, through [`Engine::supply`](crate::Engine::supply): as many bytes as
    /// the caller's Content-Length says, or in chunks that are framed here where the caller's
    /// Transfer-Encoding ends in `chunked`.
    Pieces,
}

/// What of a request is still to come from its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Rest {
    /// Nothing.
    #[default]
    Nothing,
    /// So many bytes, and the word that this is all.
    Bytes(u64),
    /// Chunks, up to the last one.
    Chunks,
}

/// How the head says where the body ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Framed<'a> {
    /// There is none, and nothing need be said.
    Unsaid,
    /// By its length.
    Length(u64),
    /// In chunks; the field's value.
    Encoding(&'a [u8]),
}

/// Decides it. `length` and `encoding` are the caller's fields.
pub(crate) fn frame<'a>(
    method: &[u8],
    body: Content<'_>,
    length: Option<&'a [u8]>,
    encoding: Option<&'a [u8]>,
) -> Result<Framed<'a>, Misuse> {
    let actual = match body {
        // RFC 9110 8.6: a method that usually has content says so even when there is none.
        Content::None => match length {
            None if matches!(method, b"POST" | b"PUT" | b"PATCH") => 0,
            None => return Ok(Framed::Unsaid),
            Some(_) => 0,
        },
        Content::Whole(body) => body.len() as u64,
        Content::Pieces => return pieces(length, encoding),
    };
    match length {
        Some(value) if number(value) != Some(actual) => Err(Misuse::ContentLength),
        _ => Ok(Framed::Length(actual)),
    }
}

/// Chunks go before a length (RFC 9112 6.2), and are framed by us: they have to be the last coding.
fn pieces<'a>(length: Option<&'a [u8]>, encoding: Option<&'a [u8]>) -> Result<Framed<'a>, Misuse> {
    if let Some(value) = encoding {
        return match list(value).last() {
            Some(last) if last.eq_ignore_ascii_case(b"chunked") => Ok(Framed::Encoding(value)),
            _ => Err(Misuse::NoLength),
        };
    }
    let value = length.ok_or(Misuse::NoLength)?;
    number(value)
        .map(Framed::Length)
        .ok_or(Misuse::ContentLength)
}
