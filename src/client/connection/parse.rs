//! What received bytes mean in a state. No transition happens here: the state's parser moves on,
//! and what is complete becomes an event. So one read and many reads walk the same rows.

use core::ops::Range;

use super::*;
use crate::http::fault::{Limit, Misbehaviour};
use crate::http::framing::{Framing, verdict};
use crate::http::parser::Stop;

/// What received bytes came to.
pub(crate) enum Found {
    /// Body bytes: a range of the input. No event, as bytes are none.
    Body { owner: Id, piece: Range<usize> },
    /// Something is complete.
    Event(Event),
}

impl State {
    /// Takes what it can off `input`, from `at` on, and moves `at` behind it. Returns what it was;
    /// without anything the state wants more bytes.
    #[inline]
    pub(crate) fn parse(
        &mut self,
        input: &[u8],
        at: &mut usize,
        out: &mut Out,
        now: Instant,
    ) -> Option<Found> {
        let event = match self {
            State::ReadingBody(s) => return s.parse(input, at, out, now),
            _ if *at == input.len() => None,
            State::Writing(s) if s.sent == 0 => unsolicited(input, at),
            State::Writing(_) => Some(Early.into()),
            State::ReadingHead(s) => {
                parse_head(&mut s.parser, s.job.asked, s.interim, input, at, out)
            }
            State::Tunnelling(s) => parse_tunnel(s, input, at, out),
            State::Pooled(_) | State::Held(_) => unsolicited(input, at),
            // These read nothing (see `interest`): the driver reported what cannot be.
            State::Resolving(_)
            | State::Connecting(_)
            | State::Handshaking(_)
            | State::Closed(_) => unsolicited(input, at),
        };
        event.map(Found::Event)
    }
}

/// Bytes that answer nothing: none of them means anything.
fn unsolicited(input: &[u8], at: &mut usize) -> Option<Event> {
    *at = input.len();
    Some(Unsolicited.into())
}

/// Behind bytes that are no HTTP/1.1, none means anything.
#[cold]
fn malformed(fault: Fault, input: &[u8], at: &mut usize) -> Option<Event> {
    *at = input.len();
    Some(Malformed(fault).into())
}

impl ReadingBody {
    fn parse(
        &mut self,
        input: &[u8],
        at: &mut usize,
        out: &mut Out,
        now: Instant,
    ) -> Option<Found> {
        let offset = *at;
        let event = match self.body.next(&mut self.parser, &input[offset..]) {
            Ok((taken, stop)) => {
                *at += taken;
                match stop {
                    Stop::Body { start, end } => {
                        self.since = now;
                        let (owner, piece) = (self.job.owner, offset + start..offset + end);
                        return Some(Found::Body { owner, piece });
                    }
                    Stop::End => match self.trailers(out) {
                        Ok(trailers) => Some(End { trailers }.into()),
                        Err(fault) => Some(Malformed(fault).into()),
                    },
                    Stop::More | Stop::Head => None,
                }
            }
            Err(fault) => malformed(fault, input, at),
        };
        event.map(Found::Event)
    }

    fn trailers(&mut self, out: &mut Out) -> Result<Option<Box<Section>>, Fault> {
        if !matches!(self.body, Body::Chunked) || !self.parser.has_fields() {
            return Ok(None);
        }
        let mut section = out.section();
        self.parser.take_section(&mut section)?;
        Ok(Some(section))
    }
}

/// A head that answers a request, or an interim one before it.
fn parse_head(
    parser: &mut Parser,
    asked: Asked,
    interim: u32,
    input: &[u8],
    at: &mut usize,
    out: &mut Out,
) -> Option<Event> {
    let (taken, stop) = match parser.feed_head(&input[*at..]) {
        Ok(fed) => fed,
        Err(fault) => return malformed(fault, input, at),
    };
    *at += taken;
    if stop != Stop::Head {
        return None;
    }
    let mut head = out.head();
    match judge(parser, &mut head, asked, interim) {
        Ok(Judged::Interim) => {
            let status = head.status;
            parser.reset();
            out.recycle_head(head);
            Some(Interim { status }.into())
        }
        Ok(Judged::Final(verdict)) => Some(Head { head, verdict }.into()),
        Err(fault) => {
            out.recycle_head(head);
            Some(Malformed(fault).into())
        }
    }
}

enum Judged {
    Interim,
    Final(Verdict),
}

fn judge(
    parser: &mut Parser,
    head: &mut ResponseHead,
    asked: Asked,
    interim: u32,
) -> Result<Judged, Fault> {
    parser.finish_head(head)?;
    match head.status {
        // We never ask for an upgrade, and could not hand the connection over (RFC 9110 7.8).
        101 => Err(Misbehaviour::Upgrade.into()),
        100..=199 if interim >= parser.limits().interim => Err(Limit::Interim.into()),
        100..=199 => Ok(Judged::Interim),
        _ => {
            let verdict = verdict(head, asked)?;
            // The parser takes the chunks apart, so it has to read the head as we do.
            if verdict.framing == Framing::Chunked && !parser.is_chunked() {
                return Err(Misbehaviour::TransferEncoding.into());
            }
            Ok(Judged::Final(verdict))
        }
    }
}

/// The head that answers CONNECT. Its framing fields mean nothing (RFC 9110 9.3.6).
fn parse_tunnel(s: &mut Tunnelling, input: &[u8], at: &mut usize, out: &mut Out) -> Option<Event> {
    let asked = Asked {
        head: true,
        close: false,
    };
    match parse_head(&mut s.parser, asked, s.interim, input, at, out) {
        // Bytes behind the head would be the peer's TLS speaking first, which it never does.
        Some(Event::Head(_)) if *at < input.len() => {
            malformed(Misbehaviour::StatusLine.into(), input, at)
        }
        event => event,
    }
}
