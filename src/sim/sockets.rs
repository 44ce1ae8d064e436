//! What lies between peers and the engine: edge-triggered sockets, as nginx drives them.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::answer::{Answer, hand_over, requests};
use super::peer::{End, Peer};
use super::script::{Fact, SEND_ERROR};
use super::world::{Cut, World};
use crate::{Effect, Event, Key, ResolveError, SocketError, TlsError};

impl World {
    pub(super) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Resolve { key } => {
                let number = self.number(key);
                self.resolving.insert(number, key);
            }
            Effect::Connect { key, address } => {
                self.opened(key);
                self.check_address(key, address.ip());
            }
            Effect::ConnectUnix { key } => self.opened(key),
            Effect::Handshake { key } => {
                let number = self.number(key);
                if let Some((_, peer)) = self.peers.get_mut(&number) {
                    peer.shaking = true;
                }
            }
            Effect::Drive { key } => self.drive(key),
            Effect::Close { key } => {
                let number = self.number(key);
                if let Some((_, peer)) = self.peers.remove(&number) {
                    self.bury(number, &peer.outbox);
                }
                self.resolving.remove(&number);
            }
            Effect::Wake { id } => self.woken.push(id),
        }
    }

    fn opened(&mut self, key: Key) {
        let number = self.number(key);
        self.resolving.remove(&number);
        let owner = self.engine.owner(key);
        let peer = Peer {
            opener: self.callers.iter().position(|c| owner == Some(c.id)),
            ..Peer::default()
        };
        self.peers.insert(number, (key, peer));
    }

    /// Remembers what a closed connection was asked.
    fn bury(&mut self, number: u32, outbox: &[u8]) {
        match requests(outbox) {
            Ok(asked) => self.buried.push((number, asked)),
            Err(wrong) => self.wrong = Some(wrong),
        }
    }

    /// Receives and sends until the socket or the engine has had enough. What a kept connection has
    /// for us is read before a request leaves on it.
    pub(super) fn drive(&mut self, key: Key) {
        let number = self.number(key);
        while self.peers.get(&number).is_some_and(|(_, p)| p.connected) {
            let received = self.receive(key, number);
            if !received || !self.engine.begins(key) {
                self.send(key, number);
            }
            if !received {
                break;
            }
        }
    }

    /// One read. `false` when there is nothing to read, or nothing is wanted.
    fn receive(&mut self, key: Key, number: u32) -> bool {
        let Some((_, peer)) = self.peers.get_mut(&number).filter(|(_, p)| p.readable()) else {
            return false;
        };
        if !self.engine.interest(key).read {
            return false;
        }
        let Some(mut buf) = self.engine.input(key) else {
            return false;
        };
        let Some(mut piece) = peer.inbox.pop_front() else {
            self.engine.give_back(key, buf);
            let event = match peer.end {
                Some(End::Rst) => Event::RecvFailed(SocketError::Reset),
                _ => Event::Eof,
            };
            self.engine.handle(key, event, self.now);
            return true;
        };
        let n = buf.spare().len().min(piece.len());
        buf.spare()[..n].copy_from_slice(&piece[..n]);
        let rest = piece.split_off(n);
        if !rest.is_empty() {
            peer.inbox.push_front(rest);
        }
        self.engine.received(key, buf, n, self.now);
        true
    }

    fn send(&mut self, key: Key, number: u32) {
        while self.engine.interest(key).write {
            let Some((_, peer)) = self.peers.get_mut(&number) else {
                return;
            };
            let owed = self.engine.output(key);
            if owed.is_empty() {
                return;
            }
            if let Some(error) = peer.send_error {
                return self.engine.handle(key, Event::SendFailed(error), self.now);
            }
            let n = peer.room.map_or(owed.len(), |room| room.min(owed.len()));
            if n == 0 {
                return;
            }
            peer.outbox.extend_from_slice(&owed[..n]);
            if let Some(room) = &mut peer.room {
                *room -= n;
            }
            self.engine.sent(key, n, self.now);
        }
    }

    /// Bytes reach the socket.
    pub(super) fn arrive(&mut self, number: u32, bytes: &[u8]) -> Result<(), String> {
        self.note(&format!("c{number} peer sends {} bytes", bytes.len()));
        let pieces = self.pieces(bytes);
        let peer = &mut self.peer(number)?.1;
        if peer.end.is_some() {
            return Err(format!("the peer of c{number} has ended"));
        }
        peer.inbox.extend(pieces);
        self.ready(number)
    }

    /// The peer makes an answer.
    pub(super) fn answer(&mut self, number: u32, answer: &Answer) -> Result<(), String> {
        let peer = &mut self.peer(number)?.1;
        let asked = requests(&peer.outbox)?;
        let asked = asked
            .get(peer.answered)
            .filter(|asked| asked.head)
            .ok_or_else(|| format!("nothing was asked of c{number}"))?;
        let (bytes, truth) = answer.make(number, asked);
        peer.answered += 1;
        peer.pending.extend(bytes);
        self.truths.push(truth);
        Ok(())
    }

    /// The peer sends some of its answers.
    pub(super) fn deliver(&mut self, number: u32, n: usize) -> Result<(), String> {
        let Some((_, peer)) = self.peers.get_mut(&number) else {
            return Err(format!("c{number} has no socket"));
        };
        if peer.pending.is_empty() || peer.end.is_some() {
            return Err(format!("c{number} has nothing to send"));
        }
        let bytes = hand_over(&mut self.truths, number, &mut peer.pending, n);
        self.arrive(number, &bytes)
    }

    pub(super) fn ended(&mut self, number: u32, end: End) -> Result<(), String> {
        self.peer(number)?.1.end = Some(end);
        self.ready(number)
    }

    /// The edge: the socket has become ready, if the event loop tells.
    pub(super) fn ready(&mut self, number: u32) -> Result<(), String> {
        let (key, peer) = self.peer(number)?;
        if peer.held {
            return Ok(());
        }
        let (key, end) = (*key, peer.end);
        for truth in self.truths.iter_mut().filter(|t| t.connection == number) {
            truth.ended = truth.ended.or(end);
        }
        self.drive(key);
        Ok(())
    }

    fn pieces(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let number = self.sends;
        self.sends += 1;
        let size = match self.cut {
            Cut::Bytes => 1,
            Cut::Chunks(n) => n.max(1),
            Cut::At(send, at) if send == number && at > 0 && at < bytes.len() => {
                return Vec::from([bytes[..at].to_vec(), bytes[at..].to_vec()]);
            }
            Cut::Whole | Cut::At(..) => bytes.len().max(1),
        };
        bytes.chunks(size).map(<[u8]>::to_vec).collect()
    }

    /// Reports a fact that is late, or a lie.
    pub(super) fn tell_fact(&mut self, key: Key, fact: Fact) {
        let list = [std::net::IpAddr::from([10, 9, 9, 9])];
        let event = match fact {
            Fact::Connected => Event::Connected,
            Fact::Refused => Event::ConnectFailed(SocketError::Refused),
            Fact::Resolved => Event::Resolved(&list),
            Fact::Unresolved => Event::Unresolved(ResolveError::Failed),
            Fact::Handshaken => Event::Handshaken,
            Fact::Unshaken => Event::HandshakeFailed(TlsError::Failed),
            Fact::Eof => Event::Eof,
            Fact::SendFailed => Event::SendFailed(SEND_ERROR),
            Fact::RecvFailed => Event::RecvFailed(SocketError::Reset),
            Fact::Sent => return self.engine.sent(key, 1, self.now),
        };
        self.engine.handle(key, event, self.now);
    }
}
