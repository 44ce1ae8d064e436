//! The callers of the world: they ask, wait, take what comes and say what they saw.

use std::collections::VecDeque;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::parts::{self, Parts};
use super::script::{Ask, Pieces};
use super::world::World;
use crate::client::Target;
use crate::{
    Collect, Duration, Error, Id, Instant, Keepalive, Life, Piece, Proxy, Scheme, Status, Timeouts,
    Until,
};

/// What a caller wants of its exchange, and what it has seen of it.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) id: Id,
    /// What was asked; empty for `connect`.
    pub(super) path: String,
    pub(super) stream: bool,
    /// Whom it asks: who asks another may not use its connections.
    pub(super) whom: Whom,
    /// It asks on a connection that it had already.
    pub(super) held: bool,
    /// How many requests a connection that is opened for it may serve, if it says so.
    pub(super) life: u32,
    /// So much of a body it takes.
    pub(super) most: u64,
    /// When it has to be over.
    pub(super) by: Option<Instant>,
    /// Has more of its request's body: how it is framed, and how much is left.
    pub(super) supplies: Option<Pieces>,
    /// What that is, as far as it is known from a trace.
    pub(super) known: VecDeque<u8>,
    /// Was asked for a piece of it, which it owes.
    pub(super) asked: bool,
    /// Does not read on its own.
    pub(super) paused: bool,
    /// What it waits for: one wake is to come.
    pub(super) waits: Option<Until>,
    /// Bytes taken so far.
    pub(super) body: Vec<u8>,
    /// The status of the head, once it was there.
    pub(super) status: u16,
    pub(super) told: bool,
    /// Its name names nothing any more.
    pub(super) gone: bool,
    /// How it ended, once it has.
    pub(super) outcome: Option<Result<(), Error>>,
}

/// Scheme, host, port, proxy and pool.
pub(super) type Whom = (Scheme, String, u16, Option<(String, u16)>, Option<String>);

impl Caller {
    /// The next bytes of its request's body.
    fn piece(&mut self, n: usize) -> Vec<u8> {
        let known = self.known.len().min(n);
        let mut piece: Vec<u8> = self.known.drain(..known).collect();
        piece.resize(n, b'x');
        piece
    }
}

impl World {
    pub(super) fn fetch(&mut self, ask: &Ask) {
        let parts = Parts::of(ask);
        let fields = parts.fields();
        let request = parts.request(&fields);
        let keepalive = ask.keepalive.map(|idle| Keepalive {
            idle: Duration(idle),
            pool_size: ask.size,
        });
        let collect = collect(ask);
        let result = self.engine.fetch(
            &target(ask),
            &request,
            timeouts(ask),
            collect,
            keepalive,
            self.now,
        );
        self.begun(result, ask, None);
    }

    pub(super) fn connect(&mut self, ask: &Ask) {
        let timeouts = timeouts(ask);
        let result = self.engine.connect(&target(ask), timeouts, self.now);
        self.begun(result, ask, None);
    }

    pub(super) fn request(&mut self, number: u32, ask: &Ask) -> Result<(), String> {
        let held = self.caller(number)?.id;
        let parts = Parts::of(ask);
        self.engine.set_timeouts(held, timeouts(ask), self.now);
        let fields = parts.fields();
        let request = parts.request(&fields);
        let result = self.engine.request(held, &request, collect(ask), self.now);
        if result.is_ok() {
            self.caller(number)?.gone = true;
        }
        let whom = self.caller(number)?.whom.clone();
        self.begun(result, ask, Some(whom));
        Ok(())
    }

    fn begun(&mut self, result: Result<Id, Error>, ask: &Ask, whom: Option<Whom>) {
        let id = match result {
            Ok(id) => id,
            Err(error) => return self.note(&format!("refused: {error}")),
        };
        let held = whom.is_some();
        let [connect, _, _, total] = ask.timeouts;
        // All that a connection without a request does is within the time to connect.
        let connect = if ask.method.is_empty() { connect } else { 0 };
        let by = |ms| self.now.plus(Duration(ms));
        self.callers.push(Caller {
            id,
            path: ask.path.clone(),
            stream: ask.stream,
            held,
            whom: whom.unwrap_or_else(|| named(ask)),
            life: if held { 0 } else { ask.life[0] },
            most: ask.limits.map_or(u64::MAX, |limits| limits.body),
            by: by(total).into_iter().chain(by(connect)).min(),
            supplies: ask.pieces,
            known: parts::body_sent(ask).into(),
            asked: false,
            paused: false,
            waits: None,
            body: Vec::new(),
            status: 0,
            told: false,
            gone: false,
            outcome: None,
        });
        let until = if ask.stream { Until::Head } else { Until::Done };
        self.wait(self.callers.len() - 1, until);
    }

    pub(super) fn release(&mut self, number: u32, idle: u32) -> Result<(), String> {
        let caller = self.caller(number)?;
        let id = caller.id;
        caller.gone = true;
        caller.waits = None;
        let keepalive = Keepalive {
            idle: Duration(idle),
            pool_size: None,
        };
        // It may be in the pool for no longer than it takes to give it to who waits.
        let mut peers = self.peers.iter();
        let held =
            peers.find_map(|(&n, (key, _))| (self.engine.owner(*key) == Some(id)).then_some(n));
        let reusable = self.engine.reusable(id, self.now);
        self.pooled.extend(held.filter(|_| reusable.is_ok()));
        let released = self.engine.release(id, keepalive, self.now);
        if reusable != released {
            return Err(format!("e{number}: {reusable:?} announced, {released:?}"));
        }
        let text = released.map_or_else(|why| why.text().to_string(), |()| "pooled".to_string());
        self.note(&format!("e{number} release: {text}"));
        Ok(())
    }

    pub(super) fn abort(&mut self, number: u32) -> Result<(), String> {
        let caller = self.caller(number)?;
        let id = caller.id;
        caller.gone = true;
        caller.waits = None;
        self.engine.abort(id, self.now);
        Ok(())
    }

    /// A piece of a request's body, or its end.
    pub(super) fn supply(&mut self, number: u32, n: Option<usize>) -> Result<(), String> {
        let caller = self.caller(number)?;
        let (id, stream, told) = (caller.id, caller.stream, caller.told);
        caller.asked = false;
        caller.supplies = match (caller.supplies, n) {
            (Some(Pieces::Length(left)), Some(n)) => Some(Pieces::Length(left.saturating_sub(n))),
            (Some(Pieces::Chunked), Some(_)) => Some(Pieces::Chunked),
            (None, _) | (_, None) => None,
        };
        let bytes = n.map(|n| caller.piece(n));
        let piece = bytes.as_deref().map_or(Piece::End, Piece::Bytes);
        if let Err(error) = self.engine.supply(id, piece, self.now) {
            self.note(&format!("e{number} supply: {error}"));
            return self.abort(number);
        }
        if !told {
            self.wait(
                number as usize,
                if stream { Until::Head } else { Until::Done },
            );
        }
        Ok(())
    }

    pub(super) fn take(&mut self, number: u32) -> Result<(), String> {
        let id = self.caller(number)?.id;
        let (status, left) = (self.engine.status(id), self.engine.body(id).len());
        match self.engine.take(id, self.now) {
            None if matches!(status, Status::Running | Status::Gone) => {}
            Some(finished) if finished.body.len() == left => {
                self.caller(number)?.gone = true;
                self.engine.recycle(finished);
            }
            taken => return Err(format!("e{number} is {status:?} but yields {taken:?}")),
        }
        Ok(())
    }

    pub(super) fn gather(&mut self, number: u32) -> Result<(), String> {
        self.caller(number)?.stream = false;
        self.wait(number as usize, Until::Done);
        Ok(())
    }

    pub(super) fn resume(&mut self, number: u32) -> Result<(), String> {
        let caller = self.caller(number)?;
        if !core::mem::take(&mut caller.paused) || caller.gone {
            return Err(format!("e{number} is not paused"));
        }
        let id = caller.id;
        if caller.waits.is_none() && !caller.told {
            self.read(number as usize, id);
        }
        Ok(())
    }

    pub(super) fn set_timeouts(&mut self, number: u32, ms: [u32; 4]) -> Result<(), String> {
        let id = self.caller(number)?.id;
        self.engine.set_timeouts(id, plain_timeouts(ms), self.now);
        Ok(())
    }

    fn wait(&mut self, number: usize, until: Until) {
        let id = self.callers[number].id;
        self.callers[number].waits = Some(until);
        if self.engine.wait(id, until, self.now) {
            self.woken.push(id);
        }
    }

    /// A woken caller takes what there is.
    pub(super) fn woke(&mut self, id: Id) {
        let Some(number) = self.callers.iter().position(|c| c.id == id) else {
            self.wrong = Some(format!("{id:?} is woken, and nobody has it"));
            return;
        };
        let caller = &mut self.callers[number];
        if caller.waits.take().is_none() && !caller.gone {
            self.wrong = Some(format!("e{number} is woken, and does not wait"));
        }
        if !self.callers[number].gone {
            self.read(number, id);
        }
    }

    /// Takes what there is, unless the caller has other things to do, and waits for more.
    fn read(&mut self, number: usize, id: Id) {
        if let Some(head) = self.engine.head(id) {
            self.callers[number].status = head.status;
        }
        if self.engine.status(id) != Status::Running {
            return self.tell(number);
        }
        if self.engine.wants(id) {
            self.callers[number].asked = true;
            return self.note(&format!("e{number} is asked for a piece"));
        }
        if self.callers[number].paused {
            return;
        }
        if self.callers[number].stream {
            self.eat(number, usize::MAX);
            return self.wait(number, Until::Data);
        }
        self.wait(number, Until::Done);
    }

    pub(super) fn consume(&mut self, number: u32, n: usize) -> Result<(), String> {
        if self.caller(number)?.gone {
            return Err(format!("e{number} is gone"));
        }
        self.eat(number as usize, n);
        Ok(())
    }

    fn eat(&mut self, number: usize, n: usize) {
        let caller = &mut self.callers[number];
        let body = self.engine.body(caller.id);
        let n = n.min(body.len());
        caller.body.extend_from_slice(&body[..n]);
        self.engine.consume(caller.id, n, self.now);
    }

    /// What a caller sees at the end of its exchange.
    fn tell(&mut self, number: usize) {
        self.gather_trace();
        if core::mem::replace(&mut self.callers[number].told, true) {
            return;
        }
        self.eat(number, usize::MAX);
        let caller = &self.callers[number];
        let (id, status, shown) = (caller.id, caller.status, shown(&caller.body));
        let reused = self.engine.reused(id);
        let text = match self.engine.status(id) {
            Status::Failed(error) => format!("e{number} sees {error:?} {status} {shown}"),
            _ => format!("e{number} sees {status} {shown} reused={reused}"),
        };
        self.note(&text);
    }
}

fn named(ask: &Ask) -> Whom {
    let (host, proxy, pool) = (ask.host.clone(), ask.proxy.clone(), ask.pool.clone());
    (ask.scheme, host, ask.port, proxy, pool)
}

fn collect(ask: &Ask) -> Collect {
    if ask.stream {
        Collect::Stream
    } else {
        Collect::Whole
    }
}

fn target(ask: &Ask) -> Target<'_> {
    Target {
        scheme: ask.scheme,
        host: ask.host.as_bytes(),
        port: ask.port,
        proxy: ask.proxy.as_ref().map(|(host, port)| Proxy {
            host: host.as_bytes(),
            port: *port,
        }),
        pool: ask.pool.as_deref().map(str::as_bytes),
        pool_size: ask.size,
        backlog: ask.backlog,
        life: Life {
            requests: ask.life[0],
            time: Duration(ask.life[1]),
        },
    }
}

fn timeouts(ask: &Ask) -> Timeouts {
    let times = plain_timeouts(ask.timeouts);
    match ask.leave {
        0 => times,
        leave => Timeouts {
            expect: Duration(leave),
            ..times
        },
    }
}

fn plain_timeouts(ms: [u32; 4]) -> Timeouts {
    let [connect, send, read, total] = ms.map(Duration);
    Timeouts {
        connect,
        send,
        read,
        total,
        ..Timeouts::default()
    }
}

/// A body as the trace shows it: the text when it is short, else its length and a checksum.
fn shown(body: &[u8]) -> String {
    if body.len() <= 64 {
        return format!("{:?}", String::from_utf8_lossy(body));
    }
    let sum = body
        .iter()
        .fold(0_u32, |sum, &b| sum.rotate_left(5) ^ u32::from(b));
    format!("[{} bytes, sum {sum:08x}]", body.len())
}
