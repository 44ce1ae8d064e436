//! The facts that come in, written only when they are asked for.

use alloc::string::String;

use super::Times;
use crate::client::event::Event;
use crate::client::exchange::{self, Piece};
use crate::client::{Engine, Id, Key, Timeouts};
use crate::time::Instant;
use crate::trace::Subject;

impl Engine {
    #[cold]
    #[inline(never)]
    pub(in crate::client) fn trace_event(&mut self, key: Key, event: &Event<'_>, now: Instant) {
        let mut list = String::new();
        let (what, detail) = match event {
            Event::Resolved(addresses) => {
                for address in *addresses {
                    list += &alloc::format!(" {address}");
                }
                ("resolved", list.trim_start())
            }
            Event::Unresolved(e) => ("unresolved", e.text()),
            Event::Connected => ("connected", ""),
            Event::ConnectFailed(e) => ("connectfailed", e.text()),
            Event::Handshaken => ("handshaken", ""),
            Event::HandshakeFailed(e) => ("handshakefailed", e.text()),
            Event::Eof => ("eof", ""),
            Event::SendFailed(e) => ("sendfailed", e.text()),
            Event::RecvFailed(e) => ("recvfailed", e.text()),
        };
        self.trace_fact(key, now, what, detail);
    }

    /// Traces that something happened to a connection.
    #[cold]
    #[inline(never)]
    pub(in crate::client) fn trace_fact(
        &mut self,
        key: Key,
        now: Instant,
        what: &str,
        detail: &str,
    ) {
        if let Some(who) = self.connection_in_view(key) {
            self.fact(now, who, what, detail);
        }
    }

    /// Traces that something happened to an exchange.
    #[cold]
    #[inline(never)]
    pub(in crate::client) fn trace_exchange_fact(
        &mut self,
        id: Id,
        now: Instant,
        what: &str,
        detail: &str,
    ) {
        if let Some(slot) = self.exchanges.get(id)
            && self.watches_exchange(id)
        {
            let who = slot.subject();
            self.fact(now, who, what, detail);
        }
    }

    /// Traces that an exchange gets other timeouts, if they are others.
    #[cold]
    #[inline(never)]
    pub(in crate::client) fn trace_timeouts(&mut self, id: Id, timeouts: Timeouts, now: Instant) {
        let known = self.exchanges.get(id).map(|slot| slot.facts.timeouts);
        if known == Some(timeouts) {
            return;
        }
        let times = alloc::format!("{}", Times(timeouts));
        self.trace_exchange_fact(id, now, "timeouts", times.trim_start());
    }

    /// Traces that a caller hands over a piece of its request's body.
    #[cold]
    #[inline(never)]
    pub(in crate::client) fn trace_piece(&mut self, id: Id, piece: Piece<'_>, now: Instant) {
        let over = |slot: &exchange::Slot| slot.state.is_done();
        if self.exchanges.get(id).is_none_or(over) {
            return;
        }
        match piece {
            Piece::Bytes(bytes) => {
                let n = alloc::format!("{}", bytes.len());
                self.trace_exchange_fact(id, now, "supply", &n);
            }
            Piece::End => self.trace_exchange_fact(id, now, "supply", "end"),
        }
    }

    /// Traces bytes that came out of a socket.
    #[cold]
    #[inline(never)]
    pub(in crate::client) fn trace_bytes(&mut self, key: Key, now: Instant, bytes: &[u8]) {
        if let Some(who) = self.connection_in_view(key) {
            self.trace.bytes(now, who, "bytes", bytes);
        }
    }

    /// Traces the first `n` of the owed bytes, which a socket has taken.
    #[cold]
    #[inline(never)]
    pub(in crate::client) fn trace_sent(&mut self, key: Key, now: Instant, n: usize) {
        if let Some(who) = self.connection_in_view(key) {
            let owed = self.output(key);
            let sent = owed[..n.min(owed.len())].to_vec();
            self.trace.bytes(now, who, "sent", &sent);
        }
    }

    fn connection_in_view(&mut self, key: Key) -> Option<Subject> {
        let watched = self.watches_connection(key);
        let slot = self.connections.get(key).filter(|_| watched)?;
        Some(slot.link.subject())
    }

    fn fact(&mut self, now: Instant, who: Subject, what: &str, detail: &str) {
        match detail {
            "" => self.trace.line(now, who, '>', format_args!("{what}")),
            _ => self
                .trace
                .line(now, who, '>', format_args!("{what:<9} {detail}")),
        }
    }
}
