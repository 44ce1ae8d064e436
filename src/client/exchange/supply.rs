//! A request body that its caller supplies in pieces, or that waits for the peer's leave.

use super::{Cx, Effect, Facts, Instant, WINDOW};
use crate::http::authority::put_hex;
use crate::http::content::Rest;
use crate::http::request::Misuse;

/// What of the request is still to come, and whether it may be sent. See [`Facts::wire`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Supply {
    pub(crate) rest: Rest,
    pub(crate) gate: Gate,
}

/// Whether body bytes may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Gate {
    /// They may.
    #[default]
    Open,
    /// The peer was asked for leave (RFC 9110 10.1.1) and has not answered.
    Withheld,
    /// The rest will not be sent: the answer came first, or the peer takes no more.
    Stopped,
}

/// A piece of a request body, or the word that there is none any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// More of it; empty means nothing.
    Bytes(&'a [u8]),
    /// That was all.
    End,
}

impl Facts {
    /// Whether request bytes behind the first `sent` are there to be sent.
    #[inline]
    pub(crate) fn owes(&self, sent: usize) -> bool {
        self.dropped + self.wire.len() > sent
    }

    /// The request bytes behind the first `sent`.
    #[inline]
    pub(crate) fn owed(&self, sent: usize) -> &[u8] {
        self.wire
            .get(sent.wrapping_sub(self.dropped)..)
            .unwrap_or_default()
    }

    /// Whether all of the request is there to be sent, or was.
    #[inline]
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.supply.rest, Rest::Nothing | Rest::Bytes(0))
            && self.supply.gate != Gate::Withheld
    }

    /// Whether the caller may have more to supply.
    pub(crate) fn is_supplied(&self) -> bool {
        self.supply.rest != Rest::Nothing && self.supply.gate != Gate::Stopped
    }

    /// Whether the next piece should come now.
    pub(crate) fn wants_piece(&self) -> bool {
        self.supply.rest != Rest::Nothing
            && self.supply.gate == Gate::Open
            && self.wire.len() < WINDOW
    }

    /// Whether there may be more to send though nothing is owed now: the caller supplies it, or the
    /// peer is to give leave.
    pub(crate) fn goes_on(&self) -> bool {
        self.supply.gate != Gate::Stopped && !self.is_complete()
    }

    /// What a connection begins with: a body of which no byte was free to be sent waits for leave.
    pub(super) fn first_gate(&self) -> Gate {
        let untouched = self.dropped == 0 && self.wire.len() == self.encoded.head;
        match self.encoded.expects && untouched {
            true => Gate::Withheld,
            false => Gate::Open,
        }
    }

    /// Takes in what the encoder learned about the body that is to come.
    #[inline]
    pub(crate) fn plan_body(&mut self) {
        self.supply.rest = self.encoded.rest;
        if self.encoded.expects {
            self.supply.gate = Gate::Withheld;
            self.withheld.extend(self.wire.drain(self.encoded.head..));
        }
    }

    /// Takes a piece in, framed.
    pub(crate) fn take_piece(&mut self, piece: Piece<'_>, now: Instant) -> Result<(), Misuse> {
        let wire = match self.supply.gate {
            Gate::Open => &mut self.wire,
            Gate::Withheld => &mut self.withheld,
            Gate::Stopped if self.head.is_some() => return Ok(()),
            // The peer takes no more. Should the request be sent again, this belongs to it.
            Gate::Stopped => match self.first_gate() {
                Gate::Withheld => &mut self.withheld,
                Gate::Open | Gate::Stopped => &mut self.wire,
            },
        };
        match (&mut self.supply.rest, piece) {
            (_, Piece::Bytes([])) => return Ok(()),
            (Rest::Nothing, Piece::End) => {}
            (Rest::Nothing, Piece::Bytes(_)) => return Err(Misuse::ContentLength),
            (Rest::Bytes(left), Piece::Bytes(bytes)) => {
                *left = left
                    .checked_sub(bytes.len() as u64)
                    .ok_or(Misuse::ContentLength)?;
                wire.extend_from_slice(bytes);
            }
            (Rest::Bytes(0), Piece::End) => self.supply.rest = Rest::Nothing,
            (Rest::Bytes(_), Piece::End) => return Err(Misuse::ContentLength),
            // RFC 9112 7.1.
            (Rest::Chunks, Piece::Bytes(bytes)) => {
                put_hex(wire, bytes.len() as u64);
                wire.extend_from_slice(b"\r\n");
                wire.extend_from_slice(bytes);
                wire.extend_from_slice(b"\r\n");
            }
            (Rest::Chunks, Piece::End) => {
                wire.extend_from_slice(b"0\r\n\r\n");
                self.supply.rest = Rest::Nothing;
            }
        }
        self.supplied = now;
        Ok(())
    }

    /// Everything so far was handed to the socket. Sent bytes are kept, so that the request can be
    /// sent again, until there would be no room for more of them.
    pub(crate) fn let_go(&mut self) {
        if self.wire.len() >= WINDOW && self.is_supplied() {
            self.dropped += self.wire.len();
            self.wire.clear();
        }
    }

    /// The rest of the body will not be sent on this connection.
    pub(super) fn stop(&mut self) {
        self.supply.gate = Gate::Stopped;
    }
}

impl Cx<'_> {
    /// The peer wants the body, or was silent for long enough.
    pub(super) fn leave(&mut self) {
        if self.facts.supply.gate != Gate::Withheld {
            return;
        }
        self.facts.supply.gate = Gate::Open;
        self.facts.supplied = self.now;
        let withheld = core::mem::take(&mut self.facts.withheld);
        self.facts.wire.extend_from_slice(&withheld);
        if let Some(key) = self.facts.connection {
            self.out.effects.push_back(Effect::Drive { key });
        }
    }
}
