//! What received bytes mean in a state. No transition happens here: the state's parser moves on,
//! and what is complete becomes an event. So one read and many reads walk the same rows.

use super::*;
use crate::http::fault::{Limit, Misbehaviour};
use crate::http::framing::{Framing, verdict};
use crate::http::parser::Stop;

impl State {
    /// Takes what it can off `input`, which begins `offset` bytes into the read. Returns how much
    /// that was, and the event it completes; without one the state wants more bytes.
    pub(crate) fn parse(
        &mut self,
        input: &[u8],
        offset: usize,
        out: &mut Out,
    ) -> (usize, Option<Event>) {
        match self {
            State::ReadingBody(s) => s.parse(input, offset, out),
            _ if input.is_empty() => (0, None),
            State::Writing(s) if s.sent == 0 => (input.len(), Some(Unsolicited.into())),
            State::Writing(_) => (0, Some(Early.into())),
            State::ReadingHead(s) => parse_head(&mut s.parser, s.job.asked, s.interim, input, out),
            State::Tunnelling(s) => parse_tunnel(s, input, out),
            State::Pooled(_) | State::Held(_) => (input.len(), Some(Unsolicited.into())),
            // These read nothing (see `interest`): the driver reported what cannot be.
            State::Resolving(_)
            | State::Connecting(_)
            | State::Handshaking(_)
            | State::Closed(_) => (input.len(), Some(Unsolicited.into())),
        }
    }
}

impl ReadingBody {
    fn parse(&mut self, input: &[u8], offset: usize, out: &mut Out) -> (usize, Option<Event>) {
        match self.body.next(&mut self.parser, input) {
            Ok((taken, Stop::Body { start, end })) => (
                taken,
                Some(
                    Data {
                        start: offset + start,
                        end: offset + end,
                    }
                    .into(),
                ),
            ),
            Ok((taken, Stop::End)) => match self.trailers(out) {
                Ok(trailers) => (taken, Some(End { trailers }.into())),
                Err(fault) => (taken, Some(Malformed(fault).into())),
            },
            Ok((taken, Stop::More | Stop::Head)) => (taken, None),
            Err(fault) => (input.len(), Some(Malformed(fault).into())),
        }
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
    out: &mut Out,
) -> (usize, Option<Event>) {
    let taken = match parser.feed_head(input) {
        Ok((taken, Stop::Head)) => taken,
        Ok((taken, _)) => return (taken, None),
        Err(fault) => return (input.len(), Some(Malformed(fault).into())),
    };
    let mut head = out.head();
    match judge(parser, &mut head, asked, interim, out) {
        Ok(Judged::Interim) => {
            parser.reset();
            out.recycle_head(head);
            (taken, Some(Interim.into()))
        }
        Ok(Judged::Final(verdict)) => (taken, Some(Head { head, verdict }.into())),
        Err(fault) => {
            out.recycle_head(head);
            (taken, Some(Malformed(fault).into()))
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
    out: &Out,
) -> Result<Judged, Fault> {
    parser.finish_head(head)?;
    match head.status {
        // We never ask for an upgrade, and could not hand the connection over (RFC 9110 7.8).
        101 => Err(Misbehaviour::Upgrade.into()),
        100..=199 if interim >= out.limits.interim => Err(Limit::Interim.into()),
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
fn parse_tunnel(s: &mut Tunnelling, input: &[u8], out: &mut Out) -> (usize, Option<Event>) {
    let asked = Asked {
        head: true,
        close: false,
    };
    let (taken, event) = parse_head(&mut s.parser, asked, s.interim, input, out);
    match event {
        // Bytes behind the head would be the peer's TLS speaking first, which it never does.
        Some(Event::Head(_)) if taken < input.len() => (
            input.len(),
            Some(Malformed(Misbehaviour::StatusLine.into()).into()),
        ),
        event => (taken, event),
    }
}
