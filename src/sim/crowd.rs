//! Callers and peers made up as it goes: the next command, from what the world has just now.

use std::format;
use std::net::IpAddr;
use std::string::{String, ToString};
use std::vec::Vec;

use super::answer::{Answer, BROKEN, Delimited, SURPLUS, requests};
use super::choices::Choices;
use super::peer::Peer;
use super::script::{Ask, Command, Fact, Handshake, Pieces};
use super::swarm::{Fault, Swarm};
use super::words::FACTS;
use super::world::World;
use crate::{Limits, Scheme};

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Crowd {
    choices: Choices,
    swarm: Swarm,
    /// Requests so far: each has a path of its own.
    paths: u32,
    /// How many callers there may be at once.
    crowded: usize,
}

/// What somebody might do.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Caller,
    Asker,
    Peer,
    Trouble,
    Time,
}

/// As often as one has it here.
const TURNS: &[Turn] = &[
    Turn::Peer,
    Turn::Asker,
    Turn::Peer,
    Turn::Caller,
    Turn::Peer,
    Turn::Peer,
    Turn::Trouble,
    Turn::Peer,
    Turn::Asker,
    Turn::Peer,
    Turn::Caller,
    Turn::Peer,
    Turn::Trouble,
    Turn::Peer,
    Turn::Time,
];

impl Crowd {
    pub(super) fn new(mut choices: Choices) -> Crowd {
        let swarm = Swarm::new(&mut choices);
        let crowded = choices.pick(&[2, 4, 8, 12]).unwrap_or(4);
        Crowd {
            choices,
            swarm,
            paths: 0,
            crowded,
        }
    }

    pub(super) fn choices(&mut self) -> &mut Choices {
        &mut self.choices
    }

    /// Leaves a kind of trouble out.
    pub(super) fn spare(&mut self, fault: Fault) {
        self.swarm = self.swarm.without(fault);
    }

    pub(super) fn is_over(&self) -> bool {
        self.choices.is_over()
    }

    /// The next command, if what was thought of can be done.
    pub(super) fn next(&mut self, world: &World) -> Option<Command> {
        match self.choices.pick(TURNS)? {
            Turn::Asker => self.asker(world),
            Turn::Caller => self.caller(world),
            Turn::Peer => self.peer(world),
            Turn::Trouble => self.trouble(world),
            Turn::Time => {
                let ms = self.choices.pick(&[1, 10, 100, 300, 2000])?;
                Some(Command::Wait(ms))
            }
        }
    }

    /// Somebody asks something.
    fn asker(&mut self, world: &World) -> Option<Command> {
        let live = world.callers.iter().filter(|c| !c.gone).count();
        if live >= self.crowded {
            return None;
        }
        let mut ask = self.ask()?;
        if self.choices.once_in(4) {
            ask.limits = None;
            ask.method = String::new();
            ask.path = String::new();
            (ask.body, ask.pieces, ask.expect) = (None, None, false);
            ask.stream = false;
            ask.keepalive = None;
            return Some(Command::Connect(ask));
        }
        Some(Command::Fetch(ask))
    }

    fn ask(&mut self) -> Option<Ask> {
        let hosts = ["10.0.0.1", "10.0.0.1", "a.test", "10.0.0.2", "localhost"];
        let methods = ["GET", "GET", "POST", "HEAD", "PUT", "DELETE"];
        self.paths += 1;
        let method = self.choices.pick(&methods)?;
        let sends = matches!(method, "POST" | "PUT");
        let scheme = match self.choices.once_in(8) {
            true => Scheme::Https,
            false => Scheme::Http,
        };
        let bodies: &[usize] = match self.swarm.has(Fault::Large) {
            true => &[0, 10, 1000, 20_000],
            false => &[0, 1, 10, 300],
        };
        let keeps = !self.choices.once_in(4);
        let ms = |choices: &mut Choices, bounded: bool| match bounded {
            true => choices.pick(&[0, 5, 200, 1500]).unwrap_or(0),
            false => 0,
        };
        let bounded = self.swarm.has(Fault::Timeouts);
        let body = sends.then(|| self.choices.pick(bodies)).flatten();
        let (body, pieces) = match self.choices.below(4) {
            0 => (None, body.map(Pieces::Length)),
            1 if sends => (None, Some(Pieces::Chunked)),
            _ => (body, None),
        };
        let timeouts = [(); 4].map(|()| ms(&mut self.choices, bounded));
        Some(Ask {
            scheme,
            host: self.choices.pick(&hosts)?.to_string(),
            port: scheme.port(),
            body,
            pieces,
            expect: sends && self.choices.once_in(6),
            keepalive: keeps.then(|| self.choices.pick(&[60_000, 0, 50])).flatten(),
            stream: self.choices.once_in(3),
            pool: self.choices.once_in(4).then(|| "p".to_string()),
            backlog: self
                .choices
                .once_in(4)
                .then(|| self.choices.below(4) as usize),
            size: self
                .choices
                .once_in(3)
                .then(|| 1 + self.choices.below(3) as usize),
            proxy: self
                .choices
                .once_in(12)
                .then(|| ("10.0.0.9".to_string(), 3128)),
            timeouts,
            limits: self.limits(),
            life: [self.choices.pick(&[0, 0, 0, 1, 2]).unwrap_or(0), 0],
            ..Ask::new(method, &format!("/{}", self.paths))
        })
    }

    /// What a response may cost, lower than usual for some callers.
    fn limits(&mut self) -> Option<Limits> {
        if !self.choices.once_in(6) {
            return None;
        }
        let bytes = [0, 4, 3000, 100_000, u64::MAX];
        Some(Limits {
            lines: self.choices.pick(&[u32::MAX, 2])?,
            interim: self.choices.pick(&[u32::MAX, 0, 1])?,
            whole: self.choices.pick(&bytes)?,
            body: self.choices.pick(&bytes)?,
            ..Limits::NONE
        })
    }

    /// A caller goes on.
    fn caller(&mut self, world: &World) -> Option<Command> {
        let live = world.callers.iter().enumerate().filter(|(_, c)| !c.gone);
        let live: Vec<_> = live.collect();
        let (number, caller) = self.choices.pick(&live)?;
        let number = number as u32;
        if caller.told {
            let held = world.engine.reusable(caller.id, world.now).is_ok();
            return match self.choices.below(4) {
                0 | 1 if held => {
                    let mut ask = self.ask()?;
                    (ask.keepalive, ask.pool, ask.size, ask.proxy) = (None, None, None, None);
                    ask.life = [0; 2];
                    (ask.host, ask.scheme, ask.port) = ("held".to_string(), Scheme::Http, 80);
                    Some(Command::Request(number, ask))
                }
                2 => Some(Command::Release(
                    number,
                    self.choices.pick(&[60_000, 0, 50])?,
                )),
                _ => Some(Command::Take(number)),
            };
        }
        if caller.asked && self.choices.once_in(2) {
            return Some(Command::Supply(number, self.piece(caller.supplies)));
        }
        match self.choices.below(8) {
            0 if self.swarm.has(Fault::Aborts) => Some(Command::Abort(number)),
            1 if self.swarm.has(Fault::Aborts) => Some(Command::Release(number, 1000)),
            2 | 3 if caller.paused => Some(Command::Resume(number)),
            2 if self.swarm.has(Fault::Pauses) => Some(Command::Pause(number)),
            4 if caller.stream => Some(Command::Gather(number)),
            5 => Some(Command::Consume(
                number,
                self.choices.pick(&[0, 1, 100, 1 << 20])?,
            )),
            6 if self.swarm.has(Fault::Timeouts) => {
                let ms = [(); 4].map(|()| self.choices.pick(&[0, 5, 500]).unwrap_or(0));
                Some(Command::Timeouts(number, ms))
            }
            7 => Some(Command::Take(number)),
            _ => None,
        }
    }

    /// More of a body, or its end; sometimes more or less than was announced.
    fn piece(&mut self, left: Option<Pieces>) -> Option<usize> {
        let n = self.choices.pick(&[1, 10, 1000, 70_000]);
        match left {
            _ if self.swarm.has(Fault::Aborts) && self.choices.once_in(20) => n,
            Some(Pieces::Length(left)) if left > 0 => n.map(|n| n.min(left)),
            Some(Pieces::Chunked) if !self.choices.once_in(3) => n,
            Some(Pieces::Length(_) | Pieces::Chunked) | None => None,
        }
    }

    /// A peer, or what lies before it, does what it should.
    fn peer(&mut self, world: &World) -> Option<Command> {
        let resolving: Vec<u32> = world.resolving.keys().copied().collect();
        if !resolving.is_empty() && self.choices.once_in(2) {
            let number = self.choices.pick(&resolving)?;
            return Some(Command::Resolve(number, self.addresses()));
        }
        let peers: Vec<_> = world
            .peers
            .iter()
            .map(|(&n, (_, peer))| (n, peer))
            .collect();
        let (number, peer) = self.choices.pick(&peers)?;
        if !peer.connected {
            return match self.swarm.has(Fault::Refused) && self.choices.once_in(4) {
                true => Some(Command::Refuse(number)),
                false => Some(Command::Accept(number)),
            };
        }
        if peer.shaking {
            let outcomes = [
                Handshake::Ok,
                Handshake::Failed,
                Handshake::Eof,
                Handshake::SendFails,
            ];
            let fails = self.swarm.has(Fault::Refused) && self.choices.once_in(4);
            let outcome = match fails {
                true => self.choices.pick(&outcomes)?,
                false => Handshake::Ok,
            };
            return Some(Command::Handshake(number, outcome));
        }
        self.talk(number, peer)
    }

    /// A peer that is connected answers.
    fn talk(&mut self, number: u32, peer: &Peer) -> Option<Command> {
        if peer.held && self.choices.once_in(2) {
            return Some(Command::Edge(number));
        }
        if peer.room.is_some() && self.choices.once_in(2) {
            return Some(Command::Room(
                number,
                self.choices.pick(&[1, 30, 1000, 100_000])?,
            ));
        }
        if peer.end.is_some() {
            return None;
        }
        if self.swarm.has(Fault::Stalls) && self.choices.once_in(3) {
            return None;
        }
        if !peer.pending.is_empty() {
            let n = self.choices.pick(&[1 << 20, 1, 7, 60, 3000])?;
            return Some(Command::Deliver(number, n));
        }
        let asked = requests(&peer.outbox).ok()?;
        let asked = asked.get(peer.answered).filter(|asked| asked.head)?;
        match &*asked.method {
            "CONNECT" => Some(Command::Answer(number, self.tunnel())),
            _ => Some(Command::Answer(number, self.answer())),
        }
    }

    fn addresses(&mut self) -> Vec<IpAddr> {
        if self.swarm.has(Fault::NoName) && self.choices.once_in(3) {
            return Vec::new();
        }
        let n = 1 + self.choices.below(3) as u8;
        (0..n).map(|i| IpAddr::from([10, 0, 1, i])).collect()
    }

    fn tunnel(&mut self) -> Answer {
        let refuses = self.swarm.has(Fault::Refused) && self.choices.once_in(4);
        Answer {
            status: if refuses { 502 } else { 200 },
            ..Answer::default()
        }
    }

    fn answer(&mut self) -> Answer {
        let statuses = [200, 200, 404, 204, 304, 200, 500, 206];
        let lengths: &[u32] = match self.swarm.has(Fault::Large) {
            true => &[0, 5, 3000, 70_000, 140_000, 200_000],
            false => &[0, 1, 5, 100, 1000],
        };
        let sizes = [1000, 1, 7, 100_000];
        let closing = self.swarm.has(Fault::Closing);
        let mut answer = Answer {
            status: self.choices.pick(&statuses).unwrap_or(200),
            length: self.choices.pick(lengths).unwrap_or(0),
            old: closing && self.choices.once_in(4),
            close: closing && self.choices.once_in(4),
            keep: closing && self.choices.once_in(2),
            ..Answer::default()
        };
        if self.choices.once_in(3) {
            let size = self.choices.pick(&sizes).unwrap_or(1);
            answer.delimited = Delimited::Chunked(size.max(answer.length / 500));
            answer.trailers = self.choices.pick(&[0, 0, 1, 3]).unwrap_or(0);
        }
        if self.swarm.has(Fault::UntilClose) && self.choices.once_in(4) {
            answer.delimited = Delimited::Close;
            answer.trailers = 0;
        }
        if self.choices.once_in(6) {
            answer.interim = self.choices.pick(&[1, 2, 16, 17]).unwrap_or(1);
        }
        if self.swarm.has(Fault::Broken) && self.choices.once_in(6) {
            answer.broken = 1 + self.choices.below(BROKEN.len() as u32);
        }
        let until_close = answer.delimited == Delimited::Close;
        if self.swarm.has(Fault::Surplus) && self.choices.once_in(6) && !until_close {
            let whole = SURPLUS.len() as u32;
            answer.surplus = self.choices.pick(&[whole, 1, 20, 3 * whole]).unwrap_or(1);
        }
        if self.swarm.has(Fault::Flipped) && self.choices.once_in(6) {
            answer.flipped = 1 + self.choices.below(4000);
        }
        answer
    }

    /// Something goes wrong.
    fn trouble(&mut self, world: &World) -> Option<Command> {
        let kind = self.choices.below(10);
        let numbers: Vec<u32> = world.peers.keys().copied().collect();
        let (has, choices) = (|fault| self.swarm.has(fault), &mut self.choices);
        match kind {
            0 if has(Fault::Panics) => return Some(Command::Fuse(choices.below(6))),
            1 if has(Fault::Shutdown) && choices.once_in(20) => return Some(Command::Shutdown),
            2 if has(Fault::Late) => {
                let number = choices.below(world.keys.len() as u32);
                let (_, fact) = choices.pick(FACTS)?;
                let open =
                    world.peers.contains_key(&number) || world.resolving.contains_key(&number);
                return (!open && !world.keys.is_empty()).then_some(Command::Late(number, fact));
            }
            _ => {}
        }
        let number = choices.pick(&numbers)?;
        let peer = &world.peers.get(&number)?.1;
        let open = peer.connected && peer.end.is_none();
        match kind {
            3 if has(Fault::Fin) && open => Some(Command::Fin(number)),
            4 if has(Fault::Rst) && open => Some(Command::Rst(number)),
            5 if has(Fault::ShortWrites) => Some(Command::Room(number, choices.pick(&[0, 1, 40])?)),
            6 if has(Fault::SendFails) => Some(Command::SendFails(number)),
            7 if has(Fault::Held) => Some(Command::Hold(number)),
            8 if has(Fault::Shut) => Some(Command::Shut(number)),
            9 if has(Fault::Lies) && peer.connected && !peer.shaking => {
                let lies = [
                    Fact::Connected,
                    Fact::Refused,
                    Fact::Resolved,
                    Fact::Handshaken,
                ];
                Some(Command::Lie(number, choices.pick(&lies)?))
            }
            _ => None,
        }
    }
}
