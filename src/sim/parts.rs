//! The parts of a request: as a script has them, or as a trace shows that they went out.

use std::string::ToString;
use std::vec::Vec;

use super::script::{Ask, Pieces};
use crate::{Content, Limits, Request};

pub(super) type Field<'a> = (&'a [u8], &'a [u8]);

/// What a request consists of.
pub(super) struct Parts {
    method: Vec<u8>,
    path: Vec<u8>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    pieces: bool,
    body: Option<Vec<u8>>,
    limits: Option<Limits>,
}

impl Parts {
    pub(super) fn of(ask: &Ask) -> Parts {
        let body = ask.body.map(|n| std::vec![b'x'; n]);
        let plain = Parts {
            method: ask.method.clone().into_bytes(),
            path: ask.path.clone().into_bytes(),
            fields: fields(ask),
            pieces: ask.pieces.is_some(),
            body,
            limits: ask.limits,
        };
        let Some((head, sent)) = halves(&ask.wire) else {
            return plain;
        };
        let mut lines = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
        let mut words = lines.next().unwrap_or_default().split(|&b| b == b' ');
        let mut word = || words.next().unwrap_or_default().to_vec();
        // What was not sent was not seen, either.
        let body = plain.body.map(|all| {
            let n = sent.len().min(all.len());
            [&sent[..n], &all[n..]].concat()
        });
        let field = |line: &[u8]| {
            let colon = line.iter().position(|&b| b == b':')?;
            Some((
                line[..colon].to_vec(),
                line[colon + 1..].trim_ascii().to_vec(),
            ))
        };
        Parts {
            method: word(),
            path: word(),
            fields: lines.filter_map(field).collect(),
            body,
            ..plain
        }
    }

    pub(super) fn fields(&self) -> Vec<Field<'_>> {
        let fields = self.fields.iter();
        fields.map(|(n, v)| (n.as_slice(), v.as_slice())).collect()
    }

    pub(super) fn request<'a>(
        &'a self,
        fields: &'a [Field<'a>],
    ) -> Request<'a, impl Iterator<Item = Field<'a>> + Clone> {
        Request {
            method: &self.method,
            path: &self.path,
            query: b"",
            fields: fields.iter().copied(),
            body: match &self.body {
                _ if self.pieces => Content::Pieces,
                Some(body) => Content::Whole(body),
                None => Content::None,
            },
            limits: self.limits.as_ref(),
        }
    }
}

/// The fields that a script's options stand for.
fn fields(ask: &Ask) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut fields = Vec::new();
    let mut put = |name: &[u8], value: &str| fields.push((name.to_vec(), value.into()));
    if ask.expect {
        put(b"Expect", "100-Continue");
    }
    match ask.pieces {
        Some(Pieces::Length(n)) => put(b"Content-Length", &n.to_string()),
        Some(Pieces::Chunked) => put(b"Transfer-Encoding", "chunked"),
        None => {}
    }
    fields
}

/// Head and body of what was sent, if the head was sent whole.
fn halves(wire: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = wire.windows(4).position(|w| w == b"\r\n\r\n")?;
    Some((&wire[..end], &wire[end + 4..]))
}

/// What a trace shows of a body that went out in pieces, without the framing of chunks.
pub(super) fn body_sent(ask: &Ask) -> Vec<u8> {
    let Some((head, mut sent)) = halves(&ask.wire).filter(|_| ask.pieces.is_some()) else {
        return Vec::new();
    };
    let encoded = head.split(|&b| b == b'\n').any(|line| {
        line.get(..18)
            .is_some_and(|name| name.eq_ignore_ascii_case(b"transfer-encoding:"))
    });
    if !encoded {
        return sent.to_vec();
    }
    let mut body = Vec::new();
    while let Some(end) = sent.windows(2).position(|w| w == b"\r\n") {
        let size = core::str::from_utf8(&sent[..end]).unwrap_or_default();
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        let chunk = &sent[end + 2..];
        body.extend_from_slice(&chunk[..size.min(chunk.len())]);
        // Each chunk has an end of its own.
        sent = chunk.get(size + 2..).unwrap_or_default();
    }
    body
}
