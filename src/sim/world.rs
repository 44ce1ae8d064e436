//! The engine's surroundings, in memory.

use std::collections::BTreeMap;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::peer::{End, Peer};
use super::script::{Command, Handshake, SEND_ERROR};
use crate::client::Finished;
use crate::{
    Config, Duration, Effect, Engine, Event, Id, Instant, Keepalive, Key, Limits, ResolveError,
    SocketError, TlsError, Until,
};

/// How the bytes of `send` commands are cut into reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Each `send` is one read.
    Whole,
    /// Each `send` is one read for each byte.
    Bytes,
    /// Each `send` comes in reads of so many bytes.
    Chunks(usize),
    /// The `send` of this number is cut in two at this byte.
    At(usize, usize),
}

/// What a caller still wants of its exchange.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) id: Id,
    pub(super) stream: bool,
    /// Bytes taken so far.
    pub(super) body: Vec<u8>,
    pub(super) told: bool,
}

/// Small, so that a script can pass it.
const WHOLE: u64 = 150_000;

/// See [`replay`](super::replay).
#[derive(Debug)]
pub struct World {
    pub(super) engine: Engine,
    pub(super) now: Instant,
    cut: Cut,
    sends: usize,
    peers: BTreeMap<u32, (Key, Peer)>,
    numbers: BTreeMap<Key, u32>,
    pub(super) callers: Vec<Caller>,
    resolving: BTreeMap<u32, Key>,
    pub(super) lines: Vec<String>,
    pub(super) woken: Vec<Id>,
}

impl World {
    /// An empty world at time zero.
    pub fn new(cut: Cut) -> World {
        let limits = Limits {
            whole: WHOLE,
            ..Limits::default()
        };
        let config = Config {
            strict: true,
            limits,
            ..Config::default()
        };
        let mut engine = Engine::new(config);
        engine.set_trace(true);
        World {
            engine,
            now: Instant(0),
            cut,
            sends: 0,
            peers: BTreeMap::new(),
            numbers: BTreeMap::new(),
            callers: Vec::new(),
            resolving: BTreeMap::new(),
            lines: Vec::new(),
            woken: Vec::new(),
        }
    }

    /// Plays one command, and everything it sets in motion.
    ///
    /// # Errors
    /// The command makes no sense here.
    pub fn play(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Fetch(ask) => self.fetch(ask),
            Command::Connect(ask) => self.connect(ask),
            Command::Request(number, ask) => self.request(*number, ask)?,
            Command::Release(number, idle) => {
                let id = self.caller(*number)?.id;
                let keepalive = Keepalive {
                    idle: Duration(*idle),
                    pool_size: None,
                };
                let released = self.engine.release(id, keepalive, self.now);
                let text =
                    released.map_or_else(|why| why.text().to_string(), |()| "pooled".to_string());
                self.note(&format!("e{number} release: {text}"));
            }
            Command::Abort(number) => {
                let id = self.caller(*number)?.id;
                self.engine.abort(id, self.now);
            }
            Command::Consume(number, n) => {
                let caller = self.caller(*number)?;
                caller.stream = false;
                let id = caller.id;
                self.consume(*number, id, *n);
                if let Ok(caller) = self.caller(*number) {
                    caller.stream = true;
                }
            }
            Command::Gather(number) => {
                let id = self.caller(*number)?.id;
                self.caller(*number)?.stream = false;
                self.engine.wait(id, Until::Done, self.now);
            }
            Command::Wait(ms) => self.pass(*ms),
            Command::Shutdown => self.engine.shutdown(self.now),
            peers => self.play_peer(peers)?,
        }
        self.settle();
        Ok(())
    }

    fn play_peer(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Resolve(number, list) => {
                let key = self
                    .resolving
                    .remove(number)
                    .ok_or("nothing is being resolved there")?;
                let event = if list.is_empty() {
                    Event::Unresolved(ResolveError::NotFound)
                } else {
                    Event::Resolved(list)
                };
                self.engine.handle(key, event, self.now);
            }
            Command::Accept(number) => {
                let key = self.peer(*number)?.0;
                self.peer(*number)?.1.connected = true;
                self.engine.handle(key, Event::Connected, self.now);
            }
            Command::Refuse(number) => {
                let key = self.peer(*number)?.0;
                self.engine
                    .handle(key, Event::ConnectFailed(SocketError::Refused), self.now);
            }
            Command::Handshake(number, outcome) => {
                let key = self.peer(*number)?.0;
                let event = match outcome {
                    Handshake::Ok => Event::Handshaken,
                    Handshake::Failed => Event::HandshakeFailed(TlsError::Failed),
                    Handshake::Eof => Event::Eof,
                    Handshake::SendFails => Event::SendFailed(SEND_ERROR),
                };
                self.engine.handle(key, event, self.now);
            }
            Command::Send(number, bytes) => {
                self.note(&format!("c{number} peer sends {} bytes", bytes.len()));
                let pieces = self.pieces(bytes);
                self.peer(*number)?.1.inbox.extend(pieces);
                self.readable(*number)?;
            }
            Command::Fin(number) => {
                self.peer(*number)?.1.end = Some(End::Fin);
                self.readable(*number)?;
            }
            Command::Rst(number) => {
                self.peer(*number)?.1.end = Some(End::Rst);
                self.readable(*number)?;
            }
            Command::Room(number, n) => {
                self.peer(*number)?.1.room = Some(*n);
                self.readable(*number)?;
            }
            Command::SendFails(number) => {
                self.peer(*number)?.1.send_error = Some(SEND_ERROR);
                self.readable(*number)?;
            }
            Command::Shut(number) => {
                let key = self.peer(*number)?.0;
                self.engine.shut(key, self.now);
            }
            _ => return Err("not a peer's".to_string()),
        }
        Ok(())
    }

    fn pass(&mut self, ms: u32) {
        let end = Instant(self.now.0 + u64::from(ms));
        while let Some(due) = self.engine.deadline().filter(|&due| due <= end) {
            self.now = due.max(self.now);
            self.engine.expire(self.now);
            self.settle();
        }
        self.now = end;
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

    /// The edge: the socket has become ready.
    fn readable(&mut self, number: u32) -> Result<(), String> {
        let key = self.peer(number)?.0;
        self.drive(key);
        Ok(())
    }

    /// Carries out orders until there are none, and lets callers do what they do when woken.
    fn settle(&mut self) {
        loop {
            if let Some(effect) = self.engine.poll() {
                self.carry_out(effect);
            } else if let Some(id) = self.woken.pop() {
                self.woke(id);
            } else {
                break;
            }
        }
        while let Some(line) = self.engine.poll_trace() {
            self.lines.push(line);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Resolve { key } => {
                let number = self.number(key);
                self.resolving.insert(number, key);
            }
            Effect::Connect { key, .. } => {
                let number = self.number(key);
                self.peers.insert(number, (key, Peer::default()));
            }
            Effect::Handshake { .. } => {}
            Effect::Drive { key } => self.drive(key),
            Effect::Close { key } => {
                let number = self.number(key);
                self.peers.remove(&number);
                self.resolving.remove(&number);
            }
            Effect::Wake { id } => self.woken.push(id),
        }
    }

    /// Sends and receives until the socket or the engine has had enough.
    fn drive(&mut self, key: Key) {
        let number = self.number(key);
        if !self
            .peers
            .get(&number)
            .is_some_and(|(_, peer)| peer.connected)
        {
            return;
        }
        self.send(key, number);
        while self.engine.interest(key).read {
            let Some((_, peer)) = self
                .peers
                .get_mut(&number)
                .filter(|(_, peer)| peer.readable())
            else {
                return;
            };
            let Some(mut buf) = self.engine.input(key) else {
                return;
            };
            let Some(mut piece) = peer.inbox.pop_front() else {
                self.engine.give_back(key, buf);
                let event = match peer.end {
                    Some(End::Rst) => Event::RecvFailed(SocketError::Reset),
                    _ => Event::Eof,
                };
                return self.engine.handle(key, event, self.now);
            };
            let n = buf.spare().len().min(piece.len());
            buf.spare()[..n].copy_from_slice(&piece[..n]);
            let rest = piece.split_off(n);
            if !rest.is_empty() {
                peer.inbox.push_front(rest);
            }
            self.engine.received(key, buf, n, self.now);
            self.send(key, number);
        }
    }

    fn send(&mut self, key: Key, number: u32) {
        while self.engine.interest(key).write {
            let Some((_, peer)) = self.peers.get_mut(&number) else {
                return;
            };
            if let Some(error) = peer.send_error {
                return self.engine.handle(key, Event::SendFailed(error), self.now);
            }
            let owed = self.engine.output(key);
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

    pub(super) fn note(&mut self, text: &str) {
        while let Some(line) = self.engine.poll_trace() {
            self.lines.push(line);
        }
        self.lines.push(format!("{:>6}ms {text}", self.now.0));
    }

    fn number(&mut self, key: Key) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(key).or_insert(next)
    }

    fn peer(&mut self, number: u32) -> Result<&mut (Key, Peer), String> {
        self.peers
            .get_mut(&number)
            .ok_or_else(|| format!("c{number} has no socket"))
    }

    pub(super) fn caller(&mut self, number: u32) -> Result<&mut Caller, String> {
        self.callers
            .get_mut(number as usize)
            .ok_or_else(|| format!("there is no e{number}"))
    }

    /// What must hold after every step.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), String> {
        let sockets = self.peers.len() + self.resolving.len();
        if sockets != self.engine.connections() {
            return Err(format!(
                "{sockets} sockets but {} connections",
                self.engine.connections()
            ));
        }
        for (number, (key, peer)) in &self.peers {
            let interest = self.engine.interest(*key);
            if peer.connected && interest.read && peer.readable() {
                return Err(format!("c{number} wants to read, could, and does not"));
            }
        }
        Ok(())
    }

    /// Ends everything and returns the trace.
    ///
    /// # Errors
    /// Something is left over that should not be.
    pub fn finish(mut self) -> Result<String, String> {
        self.settle();
        let lines = self.lines.join("\n");
        for caller in core::mem::take(&mut self.callers) {
            let _: Option<Finished> = self.engine.take(caller.id, self.now);
            self.engine.abort(caller.id, self.now);
        }
        self.engine.shutdown(self.now);
        self.settle();
        let left = (
            self.engine.connections(),
            self.engine.exchanges(),
            self.engine.in_flight(),
            self.engine.idle(),
        );
        if left != (0, 0, 0, 0) || !self.peers.is_empty() {
            return Err(format!("left over at the end: {left:?}"));
        }
        if let Some(alert) = self.engine.poll_alert() {
            return Err(alert);
        }
        Ok(lines)
    }
}
