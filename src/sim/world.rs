//! The engine's surroundings, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::string::{String, ToString};
use std::vec::Vec;

use super::answer::{Asked, Truth};
use super::callers::Caller;
use super::coverage::{self, Blown};
use super::peer::{End, Peer};
use super::script::{Command, Fact, Handshake, SEND_ERROR};
use crate::{Config, Engine, Event, Id, Instant, Key, Limits, ResolveError, SocketError, TlsError};

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

/// Small, so that a script can pass it.
const WHOLE: u64 = 150_000;

/// Nobody has more to do than that at one time.
const RESTLESS: usize = 100_000;

/// See [`replay`](super::replay).
#[derive(Debug)]
pub struct World {
    pub(super) engine: Engine,
    pub(super) now: Instant,
    pub(super) cut: Cut,
    pub(super) sends: usize,
    /// Open sockets by the number of their connection.
    pub(super) peers: BTreeMap<u32, (Key, Peer)>,
    /// Every connection there was.
    pub(super) keys: Vec<Key>,
    numbers: BTreeMap<Key, u32>,
    pub(super) callers: Vec<Caller>,
    pub(super) resolving: BTreeMap<u32, Key>,
    /// Every address that the name server has given.
    pub(super) resolved: BTreeSet<IpAddr>,
    pub(super) truths: Vec<Truth>,
    /// Connections that were in the pool at some time.
    pub(super) pooled: BTreeSet<u32>,
    /// What closed connections were asked.
    pub(super) buried: Vec<(u32, Vec<Asked>)>,
    /// A script has spelled out what a peer sends: only it knows what that means.
    pub(super) raw: bool,
    pub(super) lines: Vec<String>,
    /// Nothing is noted beside the engine's own lines.
    quiet: bool,
    pub(super) woken: Vec<Id>,
    /// A fact that cannot be was reported: an alert is in order.
    lied: bool,
    /// A handler has panicked: what it had in its hands is lost, an outcome too.
    pub(super) blown: bool,
    /// What went wrong where nothing can be returned.
    pub(super) wrong: Option<String>,
}

impl World {
    /// An empty world at time zero.
    pub fn new(cut: Cut) -> World {
        let limits = Limits {
            whole: WHOLE,
            ..Limits::default()
        };
        World::with(cut, limits)
    }

    /// An empty world that says what comes in and nothing of its own: what it plays is a trace, and
    /// what it returns the same trace.
    pub(super) fn of_facts(limits: Limits) -> World {
        let mut world = World::with(Cut::Whole, limits);
        world.engine.trace_facts(true);
        world.quiet = true;
        world
    }

    fn with(cut: Cut, limits: Limits) -> World {
        let mut engine = Engine::new(Config {
            limits,
            ..Config::default()
        });
        engine.set_trace(true);
        World {
            engine,
            now: Instant(0),
            cut,
            sends: 0,
            peers: BTreeMap::new(),
            keys: Vec::new(),
            numbers: BTreeMap::new(),
            callers: Vec::new(),
            resolving: BTreeMap::new(),
            resolved: BTreeSet::new(),
            truths: Vec::new(),
            pooled: BTreeSet::new(),
            buried: Vec::new(),
            raw: false,
            lines: Vec::new(),
            quiet: false,
            woken: Vec::new(),
            lied: false,
            blown: false,
            wrong: None,
        }
    }

    /// Plays one command, and everything it sets in motion.
    ///
    /// # Errors
    /// The command makes no sense here.
    pub fn play(&mut self, command: &Command) -> Result<(), String> {
        if !self.guarded(|world| world.step(command))?
            && let Some(number) = command.caller()
        {
            // Whose call failed gives up.
            self.abort(number)?;
        }
        let settled = self.guarded(|world| {
            world.settle();
            Ok(())
        })?;
        if !settled {
            self.settle();
        }
        Ok(())
    }

    /// As the nginx driver: what panics is caught, and the engine goes on without it. `false` when
    /// something did.
    fn guarded(
        &mut self,
        f: impl FnOnce(&mut World) -> Result<(), String>,
    ) -> Result<bool, String> {
        if !coverage::is_lit() {
            return f(self).map(|()| true);
        }
        match catch_unwind(AssertUnwindSafe(|| f(self))) {
            Ok(done) => done.map(|()| true),
            Err(panic) if panic.is::<Blown>() => {
                self.blown = true;
                self.engine.recover(self.now);
                Ok(false)
            }
            Err(panic) => resume_unwind(panic),
        }
    }

    fn step(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Fetch(ask) => self.fetch(ask),
            Command::Connect(ask) => self.connect(ask),
            Command::Request(number, ask) => self.request(*number, ask)?,
            Command::Release(number, idle) => self.release(*number, *idle)?,
            Command::Abort(number) => self.abort(*number)?,
            Command::Supply(number, n) => self.supply(*number, *n)?,
            Command::Take(number) => self.take(*number)?,
            Command::Consume(number, n) => self.consume(*number, *n)?,
            Command::Gather(number) => self.gather(*number)?,
            Command::Pause(number) => self.caller(*number)?.paused = true,
            Command::Resume(number) => self.resume(*number)?,
            Command::Timeouts(number, ms) => self.set_timeouts(*number, *ms)?,
            Command::Wait(ms) => self.pass(*ms),
            Command::Clock(ms) => self.now = Instant(self.now.0 + u64::from(*ms)),
            Command::Expire => self.engine.expire(self.now),
            Command::Shutdown => self.engine.shutdown(self.now),
            Command::Fuse(n) => coverage::light(Some(*n)),
            peers => self.step_peer(peers)?,
        }
        Ok(())
    }

    fn step_peer(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::Resolve(number, list) => {
                let key = self
                    .resolving
                    .remove(number)
                    .ok_or("nothing is being resolved there")?;
                self.resolved.extend(list);
                let event = if list.is_empty() {
                    Event::Unresolved(ResolveError::NotFound)
                } else {
                    Event::Resolved(list)
                };
                self.engine.handle(key, event, self.now);
            }
            Command::Accept(number) => {
                let (key, peer) = self.peer(*number)?;
                if core::mem::replace(&mut peer.connected, true) {
                    return Err(format!("c{number} is connected"));
                }
                let key = *key;
                self.engine.handle(key, Event::Connected, self.now);
            }
            Command::Refuse(number) => {
                let (key, peer) = self.peer(*number)?;
                if peer.connected {
                    return Err(format!("c{number} is connected"));
                }
                let key = *key;
                let event = Event::ConnectFailed(SocketError::Refused);
                self.engine.handle(key, event, self.now);
            }
            Command::Handshake(number, outcome) => self.handshake(*number, *outcome)?,
            Command::Send(number, bytes) => {
                self.raw = true;
                self.arrive(*number, bytes)?;
            }
            Command::Answer(number, answer) => self.answer(*number, answer)?,
            Command::Deliver(number, n) => self.deliver(*number, *n)?,
            Command::Fin(number) => self.ended(*number, End::Fin)?,
            Command::Rst(number) => self.ended(*number, End::Rst)?,
            Command::Room(number, n) => {
                self.peer(*number)?.1.room = Some(*n);
                self.ready(*number)?;
            }
            Command::SendFails(number) => {
                self.peer(*number)?.1.send_error = Some(SEND_ERROR);
                self.ready(*number)?;
            }
            Command::Hold(number) => self.peer(*number)?.1.held = true,
            Command::Edge(number) => {
                self.peer(*number)?.1.held = false;
                self.ready(*number)?;
            }
            Command::Shut(number) => {
                let key = self.peer(*number)?.0;
                self.engine.shut(key, self.now);
            }
            Command::Fails(number, event) => {
                let key = match self.resolving.get(number) {
                    Some(key) => *key,
                    None => self.peer(*number)?.0,
                };
                self.engine.handle(key, *event, self.now);
            }
            Command::Late(number, fact) => self.late(*number, *fact)?,
            Command::Lie(number, fact) => {
                let key = self.peer(*number)?.0;
                self.lied = true;
                self.tell_fact(key, *fact);
            }
            _ => return Err("not a peer's".to_string()),
        }
        Ok(())
    }

    fn handshake(&mut self, number: u32, outcome: Handshake) -> Result<(), String> {
        let (key, peer) = self.peer(number)?;
        if !core::mem::take(&mut peer.shaking) {
            return Err(format!("c{number} agrees on nothing"));
        }
        let event = match outcome {
            Handshake::Ok => Event::Handshaken,
            Handshake::Failed => Event::HandshakeFailed(TlsError::Failed),
            Handshake::Eof => Event::Eof,
            Handshake::SendFails => Event::SendFailed(SEND_ERROR),
        };
        let key = *key;
        self.engine.handle(key, event, self.now);
        Ok(())
    }

    /// News about a connection that is gone, which are counted and nothing else.
    fn late(&mut self, number: u32, fact: Fact) -> Result<(), String> {
        let key = *self
            .keys
            .get(number as usize)
            .filter(|_| !self.peers.contains_key(&number) && !self.resolving.contains_key(&number))
            .ok_or("no connection is closed there")?;
        let before = self.engine.counters().stale;
        self.tell_fact(key, fact);
        if self.engine.counters().stale != before + 1 {
            return Err(format!("late news about c{number} was not counted"));
        }
        Ok(())
    }

    fn pass(&mut self, ms: u32) {
        let end = Instant(self.now.0 + u64::from(ms));
        let mut again = 0;
        while let Some(due) = self.engine.deadline().filter(|&due| due <= end) {
            // Who is served late may be due at once.
            again = if due <= self.now { again + 1 } else { 0 };
            if again > RESTLESS {
                self.wrong = Some(format!("what is due at {}ms stays due", due.0));
                break;
            }
            self.now = due.max(self.now);
            self.engine.expire(self.now);
            self.settle();
        }
        self.now = end;
    }

    /// Carries out orders until there are none, and lets callers do what they do when woken.
    pub(super) fn settle(&mut self) {
        for steps in 0.. {
            if steps > RESTLESS {
                self.wrong = Some("the world does not come to rest".to_string());
                break;
            }
            if let Some(effect) = self.engine.poll() {
                self.carry_out(effect);
            } else if let Some(id) = self.woken.pop() {
                self.woke(id);
            } else {
                break;
            }
        }
        self.gather_trace();
    }

    pub(super) fn gather_trace(&mut self) {
        while let Some(line) = self.engine.poll_trace() {
            self.lines.push(line);
        }
    }

    pub(super) fn note(&mut self, text: &str) {
        self.gather_trace();
        if !self.quiet {
            self.lines.push(format!("{:>6}ms {text}", self.now.0));
        }
    }

    pub(super) fn number(&mut self, key: Key) -> u32 {
        let next = self.keys.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.keys.push(key);
        }
        number
    }

    pub(super) fn peer(&mut self, number: u32) -> Result<&mut (Key, Peer), String> {
        self.peers
            .get_mut(&number)
            .ok_or_else(|| format!("c{number} has no socket"))
    }

    pub(super) fn caller(&mut self, number: u32) -> Result<&mut Caller, String> {
        self.callers
            .get_mut(number as usize)
            .ok_or_else(|| format!("there is no e{number}"))
    }

    /// An alert that nothing accounts for.
    pub(super) fn alert(&mut self) -> Result<(), String> {
        match self.engine.poll_alert() {
            Some(alert) if !self.lied => Err(alert),
            Some(_) | None => Ok(()),
        }
    }

    /// Ends everything and returns the trace.
    ///
    /// # Errors
    /// Something is left over that should not be.
    pub fn finish(mut self) -> Result<String, String> {
        self.settle();
        let lines = core::mem::take(&mut self.lines).join("\n");
        self.leave()?;
        Ok(lines)
    }
}
