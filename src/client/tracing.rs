//! Who is traced, and the lines about them. While nobody is, none of this runs.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use core::fmt;

use super::connection::{self, After, Reason};
use super::event::Effect;
use super::exchange;
use super::target::{Host, Origin};
use super::{Collect, Content, Engine, Id, Key, Limits, Request, Target, Timeouts};
use crate::machine::Description;
use crate::time::Instant;
use crate::trace::Subject;

mod facts;

/// Who is traced, beside the origins that the pool knows.
#[derive(Debug, Default)]
pub(super) struct Watched {
    everything: bool,
    origins: bool,
    /// The exchange that begins next.
    next: bool,
    facts: bool,
    exchanges: BTreeSet<Id>,
    /// Connections, as long as an exchange that is traced has them.
    connections: BTreeSet<Key>,
}

impl Engine {
    /// Writes trace lines about everything from now on, or no more.
    pub fn set_trace(&mut self, on: bool) {
        self.watched.everything = on;
        self.trace_who();
    }

    /// Writes trace lines about all that goes to this origin, whatever its pool and proxy.
    pub fn trace_origin(&mut self, origin: &Target<'_>) {
        self.pool.trace(origin);
        self.watched.origins = true;
        self.trace_who();
    }

    /// Whether the exchange that begins next is traced, and the connections while they are its.
    pub fn trace_next(&mut self, on: bool) {
        self.watched.next = on;
        self.trace_who();
    }

    /// Writes what comes in, too, with every byte received and sent: what a replay needs.
    pub fn trace_facts(&mut self, on: bool) {
        self.watched.facts = on;
        self.trace_who();
    }

    /// The next trace line.
    #[inline]
    pub fn poll_trace(&mut self) -> Option<String> {
        match self.trace.has_lines() {
            true => self.next_line(),
            false => None,
        }
    }

    #[cold]
    fn next_line(&mut self) -> Option<String> {
        let line = self.trace.poll();
        if line.is_none() {
            // The time to forget those that are gone.
            let Engine {
                watched,
                exchanges,
                connections,
                ..
            } = self;
            watched.exchanges.retain(|&id| exchanges.get(id).is_some());
            watched
                .connections
                .retain(|&key| connections.get(key).is_some());
            self.trace_who();
        }
        line
    }

    /// Whether any line may have to be written follows from who is watched.
    fn trace_who(&mut self) {
        let Watched {
            everything,
            origins,
            next,
            facts,
            exchanges,
            connections,
        } = &self.watched;
        let some = !exchanges.is_empty() || !connections.is_empty();
        self.trace
            .set(*everything || *origins || *next || some, *facts);
    }

    fn watches_exchange(&self, id: Id) -> bool {
        self.watched.everything
            || self.watched.exchanges.contains(&id)
            || self
                .exchanges
                .get(id)
                .is_some_and(|slot| self.pool.is_traced(slot.shelf))
    }

    /// Whether a connection is traced, which it also is in the step that takes it from its exchange.
    fn watches_connection(&mut self, key: Key) -> bool {
        let Some(slot) = self.connections.get(key) else {
            return false;
        };
        if self.watched.everything || self.pool.is_traced(slot.link.shelf) {
            return true;
        }
        let Watched {
            exchanges,
            connections,
            ..
        } = &mut self.watched;
        match slot.state.owner() {
            Some(id) if exchanges.contains(&id) => {
                connections.insert(key);
                true
            }
            // Another's now, and what that asked for is not traced, either.
            Some(_) => {
                connections.remove(&key);
                false
            }
            None => connections.remove(&key),
        }
    }

    /// Traces what a caller asks for, as a script says it: no query, no field, no body in it.
    pub(super) fn trace_call<F>(
        &mut self,
        id: Id,
        now: Instant,
        what: &str,
        request: Option<&Request<'_, F>>,
    ) {
        if self.trace.is_on() {
            let parts = request.map(|r| (r.method, r.path, r.body));
            self.trace_ask(id, now, what, parts);
        }
    }

    #[cold]
    #[inline(never)]
    fn trace_ask(
        &mut self,
        id: Id,
        now: Instant,
        what: &str,
        request: Option<(&[u8], &[u8], Content<'_>)>,
    ) {
        if core::mem::take(&mut self.watched.next) {
            self.watched.exchanges.insert(id);
        }
        let Some(slot) = self.exchanges.get(id).filter(|_| self.watches_exchange(id)) else {
            return;
        };
        let target = self.pool.target(slot.shelf);
        let origin = Origin(&target);
        let (who, facts) = (slot.subject(), self.trace.has_facts());
        let mut text = match request {
            Some((method, path, body)) => {
                let method = String::from_utf8_lossy(method);
                let path = String::from_utf8_lossy(path);
                let path = path.split('?').next().unwrap_or_default();
                let mut text = alloc::format!("{what:<9} {method} {origin}{path}");
                match body {
                    // A script tells no body from an empty one, and how pieces are framed.
                    Content::None if facts => {}
                    Content::Pieces if facts => text += " pieces=chunked",
                    Content::None => text += " body=0",
                    Content::Pieces => text += " body=pieces",
                    Content::Whole(body) => text += &alloc::format!(" body={}", body.len()),
                }
                text
            }
            None => alloc::format!("{what:<9} {origin}"),
        };
        if facts {
            self.put_options(&mut text, slot);
        }
        self.trace.line(now, who, '>', format_args!("{text}"));
    }

    /// How it is asked for, as far as it is not what a script says by saying nothing.
    fn put_options(&self, text: &mut String, slot: &exchange::Slot) {
        if let After::Park { idle } = slot.after {
            *text += &alloc::format!(" keepalive={}", idle.0);
        }
        if slot.request && slot.facts.collect == Collect::Stream {
            *text += " stream";
        }
        if let Some(name) = self.pool.name(slot.shelf) {
            let name: String = name.iter().map(|&b| graphic(b)).collect();
            *text += &alloc::format!(" pool={name}");
        }
        let (size, backlog) = (
            self.pool.size_of(slot.shelf),
            self.pool.backlog_of(slot.shelf),
        );
        for (name, n) in [("size", size), ("backlog", backlog)] {
            if let Some(n) = n {
                *text += &alloc::format!(" {name}={n}");
            }
        }
        if let Some(proxy) = self.pool.target(slot.shelf).proxy {
            let host = Host(proxy.host);
            *text += &alloc::format!(" proxy={host}:{}", proxy.port);
        }
        let life = slot.facts.life;
        for (name, n) in [("requests", life.requests), ("life", life.time.0)] {
            if n > 0 {
                *text += &alloc::format!(" {name}={n}");
            }
        }
        let limits = self.out.allowances.of(slot.facts.allowance).named();
        for ((name, n), (_, usual)) in limits.into_iter().zip(Limits::default().named()) {
            if n != usual && slot.request {
                *text += &alloc::format!(" {name}={n}");
            }
        }
        *text += &alloc::format!("{}", Times(slot.facts.timeouts));
    }

    /// Traces a connection's move and the orders given with it.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_connection(
        &mut self,
        key: Key,
        who: Subject,
        (from, to): (u8, u8),
        why: Option<Reason>,
        mark: usize,
        now: Instant,
    ) {
        if !self.watches_connection(key) {
            return;
        }
        if from != to {
            let table = &connection::State::DESCRIPTION;
            let (from, to) = (table.state(from), table.state(to));
            match why {
                Some(why) => self
                    .trace
                    .line(now, who, '=', format_args!("{from} -> {to}   {why}")),
                None => self
                    .trace
                    .line(now, who, '=', format_args!("{from} -> {to}")),
            }
        }
        self.trace_orders(mark, who, now);
    }

    /// Traces that a connection was begun.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_open(&mut self, key: Key, who: Subject, mark: usize, now: Instant) {
        if self.watches_connection(key) {
            self.trace_orders(mark, who, now);
        }
    }

    /// Traces the orders given since `mark`. Drives and wakes depend on how bytes were cut.
    fn trace_orders(&mut self, mark: usize, who: Subject, now: Instant) {
        let Engine {
            out,
            trace,
            connections,
            pool,
            ..
        } = self;
        let host = |key: Key| {
            let slot = connections.get(key);
            slot.map_or(Cow::Borrowed(""), |slot| {
                String::from_utf8_lossy(pool.peer(slot.link.shelf).0)
            })
        };
        for effect in out.effects.iter().skip(mark) {
            match effect {
                Effect::Resolve { key } => {
                    trace.line(now, who, '<', format_args!("resolve   {}", host(*key)));
                }
                Effect::ConnectUnix { key } => {
                    trace.line(now, who, '<', format_args!("connect   {}", host(*key)));
                }
                Effect::Connect { address, .. } => {
                    trace.line(now, who, '<', format_args!("connect   {address}"));
                }
                Effect::Handshake { .. } => trace.line(now, who, '<', format_args!("handshake")),
                Effect::Drive { .. } | Effect::Close { .. } | Effect::Wake { .. } => {}
            }
        }
    }

    /// Traces an exchange's move and what the caller will see of it.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_exchange(
        &mut self,
        id: Id,
        who: Subject,
        (from, on, to): (u8, u8, u8),
        now: Instant,
    ) {
        if !self.watches_exchange(id) {
            return;
        }
        let table: &Description = &exchange::State::DESCRIPTION;
        let (from, on, to) = (table.state(from), table.event(on), table.state(to));
        if from != to {
            self.trace
                .line(now, who, '=', format_args!("{from} -> {to}"));
        }
        let Engine {
            exchanges, trace, ..
        } = self;
        let Some(slot) = exchanges.get(id) else {
            return;
        };
        if on == "Head"
            && let Some(head) = &slot.facts.head
        {
            let (status, minor, lines) = (head.status, head.minor, head.fields.len());
            trace.line(
                now,
                who,
                '<',
                format_args!("head      {status} HTTP/1.{minor} {lines} lines"),
            );
        }
        let exchange::State::Done(done) = &slot.state else {
            return;
        };
        if from == to {
            return;
        }
        match done.result {
            Err(error) => trace.line(
                now,
                who,
                '<',
                format_args!("failed    {error} in {}", error.state),
            ),
            Ok(()) if slot.request => {
                let trailers = slot.facts.trailers.as_ref().map_or(0, |t| t.len());
                trace.line(now, who, '<', format_args!("end       {trailers} trailers"));
            }
            Ok(()) => trace.line(now, who, '<', format_args!("connected")),
        }
    }
}

/// Timeouts as a script has them: none is not said.
struct Times(Timeouts);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timeouts {
            connect,
            send,
            read,
            total,
            expect,
        } = self.0;
        let named = [
            ("connect", connect),
            ("sending", send),
            ("read", read),
            ("total", total),
        ];
        for (name, time) in named.into_iter().filter(|(_, time)| time.0 > 0) {
            write!(f, " {name}={}", time.0)?;
        }
        match expect == Timeouts::default().expect {
            true => Ok(()),
            false => write!(f, " leave={}", expect.0),
        }
    }
}

/// A byte of a name that must stay one word.
fn graphic(byte: u8) -> char {
    match byte {
        b'!'..=b'~' => char::from(byte),
        _ => '?',
    }
}
