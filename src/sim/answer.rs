//! What a peer answers: a function of the request, so that every byte of it can be checked.

use std::collections::VecDeque;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::choices::hash;
use super::peer::End;
use crate::Limits;

/// Where the body of an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delimited {
    /// Content-Length.
    #[default]
    Length,
    /// Chunks of so many bytes.
    Chunked(u32),
    /// The end of the connection.
    Close,
}

/// The shape of an answer. Its bytes depend on the request as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// The status of the final response.
    pub status: u16,
    /// Where the body ends.
    pub delimited: Delimited,
    /// Bytes of the body.
    pub length: u32,
    /// Interim responses before the final one.
    pub interim: u32,
    /// Trailer lines.
    pub trailers: u32,
    /// The peer speaks HTTP/1.0.
    pub old: bool,
    /// `Connection: close`.
    pub close: bool,
    /// `Connection: keep-alive`.
    pub keep: bool,
    /// Bytes behind the message.
    pub surplus: u32,
    /// Which of the `BROKEN` ways it is malformed in, counted from 1.
    pub broken: u32,
    /// Which bit of it was changed on its way, counted from 1.
    pub flipped: u32,
}

/// What an answer should come to at the caller's.
#[derive(Debug)]
pub(super) struct Truth {
    /// Who was asked.
    pub(super) connection: u32,
    pub(super) path: String,
    pub(super) shape: Answer,
    pub(super) body: Vec<u8>,
    /// The caller asked with HEAD, or the status has no body.
    pub(super) bodyless: bool,
    /// Where the body begins when it is not chunked.
    pub(super) head: usize,
    /// Where the message ends; what follows is surplus.
    pub(super) message: usize,
    /// All of it.
    pub(super) total: usize,
    /// How much of it has left the peer.
    pub(super) delivered: usize,
    pub(super) ended: Option<End>,
}

/// What stands behind a message, over and over: were it taken for the next answer, it would be one.
pub(super) const SURPLUS: &[u8] = b"HTTP/1.1 299 Surplus\r\nContent-Length: 0\r\n\r\n";

/// Ways to be malformed: each is refused whatever follows.
pub(super) const BROKEN: &[(&str, &str)] = &[
    ("HTTP/2.0 200 OK\r\n", ""),
    ("HTTP/1.1 2x0 OK\r\n", ""),
    ("HTTQ/1.1 200 OK\r\n", ""),
    ("\0\x01\x02\x03 not a response\r\n", ""),
    ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", ""),
    ("", "X-A : a\r\n"),
    ("", "X-A\r\n"),
    ("", "X-A: a\r\n b\r\n"),
    ("", "X-A: a\0b\r\n"),
    ("", "Content-Length: 0x10\r\n"),
    ("", "Content-Length: 1\r\nContent-Length: 2\r\n"),
    ("", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"),
    ("", "Transfer-Encoding: chunked, chunked\r\n"),
    ("", "Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
    ("", "Transfer-Encoding: chunked\r\n\r\n-1\r\n"),
    ("", "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n"),
    (
        "",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nbad trailer\r\n\r\n",
    ),
    ("HTTP/1.1 101 Switching Protocols\r\n", "Upgrade: x\r\n"),
];

impl Answer {
    /// Whether the caller may end up with anything: a bit was changed on the way.
    fn is_unknown(&self) -> bool {
        self.flipped > 0
    }

    /// What stands in place of the status line, and between it and the other lines.
    fn broken(&self) -> (&'static str, &'static str) {
        match self.broken.checked_sub(1) {
            Some(way) => BROKEN[way as usize % BROKEN.len()],
            None => ("", ""),
        }
    }

    /// The bytes that answer a request, and what they come to.
    pub(super) fn make(&self, connection: u32, asked: &Asked) -> (Vec<u8>, Truth) {
        let none = asked.method == "HEAD" || matches!(self.status, 204 | 304);
        let mut bytes = Vec::new();
        for n in 0..self.interim {
            bytes
                .extend(format!("HTTP/1.1 {} Wait\r\nX-N: {n}\r\n\r\n", 100 + 2 * (n % 2)).bytes());
        }
        let (start, lines) = self.broken();
        if start.is_empty() {
            let minor = u8::from(!self.old);
            bytes.extend(format!("HTTP/1.{minor} {} Is\r\n", self.status).bytes());
        }
        bytes.extend(start.bytes());
        let from = bytes.len();
        bytes.extend(lines.bytes());
        self.fields(&mut bytes, lines.is_empty());
        let head = bytes.len();
        let body = match none {
            true => Vec::new(),
            false => body(&asked.path, self.length as usize),
        };
        if !none {
            self.put(&mut bytes, &body);
        }
        let message = match lines.find("\r\n\r\n") {
            // Behind the head of a response without a body all is surplus.
            Some(at) if none => from + at + 4,
            _ => bytes.len(),
        };
        let surplus = SURPLUS.iter().cycle().take(self.surplus as usize);
        bytes.extend(surplus);
        if let Some(bit) = self.flipped.checked_sub(1) {
            let at = bit as usize / 8 % bytes.len();
            bytes[at] ^= 1 << (bit % 8);
        }
        let truth = Truth {
            connection,
            path: asked.path.clone(),
            shape: *self,
            body,
            bodyless: none,
            head,
            message,
            total: bytes.len(),
            delivered: 0,
            ended: None,
        };
        (bytes, truth)
    }

    fn fields(&self, bytes: &mut Vec<u8>, framed: bool) {
        match self.delimited {
            _ if !framed => {}
            Delimited::Length => {
                bytes.extend(format!("Content-Length: {}\r\n", self.length).bytes());
            }
            Delimited::Chunked(_) => bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Delimited::Close => {}
        }
        for (said, line) in [(self.close, "close"), (self.keep, "keep-alive")] {
            if said {
                bytes.extend(format!("Connection: {line}\r\n").bytes());
            }
        }
        bytes.extend_from_slice(b"X-Pad: ,\r\n\r\n");
    }

    fn put(&self, bytes: &mut Vec<u8>, body: &[u8]) {
        let Delimited::Chunked(size) = self.delimited else {
            return bytes.extend_from_slice(body);
        };
        for (n, chunk) in body.chunks(size.max(1) as usize).enumerate() {
            let extension = if n % 3 == 1 { ";a=\"b\"" } else { "" };
            bytes.extend(format!("{:x}{extension}\r\n", chunk.len()).bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n");
        for n in 0..self.trailers {
            bytes.extend(format!("X-T{n}: t\r\n").bytes());
        }
        bytes.extend_from_slice(b"\r\n");
    }
}

impl Truth {
    /// Whether the connection may carry another request, as far as the peer has a say.
    pub(super) fn keeps(&self) -> bool {
        let shape = &self.shape;
        let whole = self.delivered >= self.message && self.ended.is_none();
        let kept = !shape.close && (!shape.old || shape.keep);
        let clean = shape.broken == 0 && shape.surplus == 0;
        let coded = matches!(shape.delimited, Delimited::Chunked(_)) && shape.old;
        let framed = self.bodyless || shape.delimited != Delimited::Close;
        shape.is_unknown() || (whole && kept && clean && framed && !coded)
    }

    /// Whether nobody may be given it as a response. What is wrong with a body does not matter
    /// where there is none.
    fn is_refused(&self) -> bool {
        let lines = self.shape.broken().1;
        let broken = self.shape.broken > 0 && !(self.bodyless && lines.contains("\r\n\r\n"));
        broken || self.shape.interim > Limits::default().interim
    }

    /// Whether a caller may have seen `body` so far.
    pub(super) fn may_begin(&self, body: &[u8]) -> bool {
        self.shape.is_unknown() || self.shape.broken > 0 || self.body.starts_with(body)
    }

    /// Whether a caller may have this response.
    pub(super) fn may_end(&self, status: u16, body: &[u8], trailers: usize) -> bool {
        let shape = &self.shape;
        if shape.is_unknown() {
            return true;
        }
        if self.is_refused() || status != shape.status || !self.body.starts_with(body) {
            return false;
        }
        let until_close = shape.delimited == Delimited::Close && !self.bodyless;
        if until_close {
            let came = self
                .delivered
                .saturating_sub(self.head)
                .min(self.body.len());
            return self.ended == Some(End::Fin) && shape.surplus == 0 && body.len() == came;
        }
        let chunked = matches!(shape.delimited, Delimited::Chunked(_)) && !self.bodyless;
        let expected = if chunked { shape.trailers as usize } else { 0 };
        self.delivered >= self.message && body.len() == self.body.len() && trailers == expected
    }
}

/// The first `n` bytes of the body that belongs to a path.
pub(super) fn body(path: &str, n: usize) -> Vec<u8> {
    let mut state = hash(path);
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        b'0' + (state >> 58) as u8
    };
    (0..n).map(|_| next()).collect()
}

/// A request as a peer reads it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    /// Its head is complete.
    pub(super) head: bool,
}

/// The requests in what a peer has read; the last may be incomplete, but not in its first line.
///
/// # Errors
/// What was sent is no request, or its body is not what callers send.
pub(super) fn requests(mut bytes: &[u8]) -> Result<Vec<Asked>, String> {
    let mut found = Vec::new();
    while bytes.windows(2).any(|w| w == b"\r\n") {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n");
        let (head, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        let head = std::str::from_utf8(head).map_err(|e| e.to_string())?;
        bytes = rest.get(4..).unwrap_or_default();
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default();
        let [method, path, "HTTP/1.1"] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("a peer was sent {line:?} as a request line"));
        };
        let chunked = lines
            .clone()
            .any(|line| line == "Transfer-Encoding: chunked");
        let length = lines
            .filter_map(|line| line.strip_prefix("Content-Length: "))
            .find_map(|value| value.parse().ok())
            .unwrap_or(0_usize);
        bytes = match chunked {
            true => after_chunks(bytes, path)?,
            false => after_body(bytes, length, path)?,
        };
        found.push(Asked {
            method: method.to_string(),
            path: path.to_string(),
            head: end.is_some(),
        });
    }
    Ok(found)
}

/// What follows a body of this length, which is all x.
fn after_body<'a>(bytes: &'a [u8], length: usize, path: &str) -> Result<&'a [u8], String> {
    let (body, rest) = bytes.split_at(length.min(bytes.len()));
    match body.iter().position(|&b| b != b'x') {
        None => Ok(rest),
        Some(odd) => Err(format!(
            "byte {odd} of the body of {path} is not the caller's"
        )),
    }
}

/// What follows a body in chunks; nothing where it is incomplete.
fn after_chunks<'a>(mut bytes: &'a [u8], path: &str) -> Result<&'a [u8], String> {
    while let Some(at) = bytes.windows(2).position(|w| w == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..at]).map_err(|e| e.to_string())?;
        let size = usize::from_str_radix(size, 16).map_err(|e| format!("{path}: {e}: {size:?}"))?;
        let rest = after_body(&bytes[at + 2..], size, path)?;
        if rest.len() < 2 {
            break;
        }
        bytes = rest
            .strip_prefix(b"\r\n")
            .ok_or_else(|| format!("a chunk of {path} does not end"))?;
        if size == 0 {
            return Ok(bytes);
        }
    }
    Ok(&[])
}

/// Hands `n` bytes of a peer's answers over; every truth learns how much of it went.
pub(super) fn hand_over(
    truths: &mut [Truth],
    connection: u32,
    pending: &mut VecDeque<u8>,
    n: usize,
) -> Vec<u8> {
    let n = n.min(pending.len());
    let (mut left, mut taken) = (n, 0);
    for truth in truths.iter_mut().filter(|t| t.connection == connection) {
        let mut more = left.min(truth.total - truth.delivered);
        if truth.delivered + more >= truth.message {
            // Surplus comes with its message: behind the next request nobody could tell it apart.
            more = truth.total - truth.delivered;
        }
        truth.delivered += more;
        taken += more;
        left = left.saturating_sub(more);
    }
    pending.drain(..taken).collect()
}
