//! Commands as words: the other direction of `script.rs`, and the shape of an answer in both.

use std::fmt;
use std::format;
use std::string::{String, ToString};

use super::answer::{Answer, Delimited};
use super::script::{Ask, Command, Fact, Handshake, Pieces};
use crate::{Event, Limits, ResolveError, SocketError, TlsError};

/// Every fact with its word.
pub(super) const FACTS: &[(&str, Fact)] = &[
    ("connected", Fact::Connected),
    ("refused", Fact::Refused),
    ("resolved", Fact::Resolved),
    ("unresolved", Fact::Unresolved),
    ("handshaken", Fact::Handshaken),
    ("unshaken", Fact::Unshaken),
    ("eof", Fact::Eof),
    ("sendfailed", Fact::SendFailed),
    ("recvfailed", Fact::RecvFailed),
    ("sent", Fact::Sent),
];

/// Every outcome of a handshake with its word.
pub(super) const OUTCOMES: &[(&str, Handshake)] = &[
    ("ok", Handshake::Ok),
    ("failed", Handshake::Failed),
    ("eof", Handshake::Eof),
    ("sendfails", Handshake::SendFails),
];

/// What a word stands for.
pub(super) fn meant<T: Copy>(list: &[(&str, T)], word: &str) -> Result<T, String> {
    let found = list.iter().find(|(name, _)| *name == word);
    let found = found.ok_or_else(|| format!("what is {word}?"))?;
    Ok(found.1)
}

/// The other direction.
fn word<T: PartialEq>(list: &[(&'static str, T)], meant: T) -> &'static str {
    let found = list.iter().find(|(_, other)| *other == meant);
    found.map_or("?", |(word, _)| word)
}

/// The shape of an answer: `200 length=5 chunked=3 interim=1 close`.
pub(super) fn answer(text: &str) -> Result<Answer, String> {
    let mut answer = Answer::default();
    for word in text.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let number = || {
            value
                .parse::<u32>()
                .map_err(|_| format!("not a number: {word}"))
        };
        match name {
            "length" => answer.length = number()?,
            "chunked" => answer.delimited = Delimited::Chunked(number()?),
            "untilclose" => answer.delimited = Delimited::Close,
            "interim" => answer.interim = number()?,
            "trailers" => answer.trailers = number()?,
            "old" => answer.old = true,
            "close" => answer.close = true,
            "keep" => answer.keep = true,
            "surplus" => answer.surplus = number()?,
            "broken" => answer.broken = number()?,
            "flipped" => answer.flipped = number()?,
            status => answer.status = status.parse().map_err(|_| format!("what is {word}?"))?,
        }
    }
    if (200..=599).contains(&answer.status) {
        Ok(answer)
    } else {
        Err("a final status is missing".to_string())
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} length={}", self.status, self.length)?;
        match self.delimited {
            Delimited::Length => {}
            Delimited::Chunked(n) => write!(f, " chunked={n}")?,
            Delimited::Close => f.write_str(" untilclose")?,
        }
        let flags = [
            (self.old, "old"),
            (self.close, "close"),
            (self.keep, "keep"),
        ];
        for (_, name) in flags.iter().filter(|(on, _)| *on) {
            write!(f, " {name}")?;
        }
        let numbers = [
            (self.interim, "interim"),
            (self.trailers, "trailers"),
            (self.surplus, "surplus"),
            (self.broken, "broken"),
            (self.flipped, "flipped"),
        ];
        for (n, name) in numbers.iter().filter(|(n, _)| *n > 0) {
            write!(f, " {name}={n}")?;
        }
        Ok(())
    }
}

impl Ask {
    fn options(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = |n: u32| (n > 0).then_some(n as usize);
        let [connect, sending, read, total] = self.timeouts;
        let numbers = [
            ("body", self.body),
            ("keepalive", self.keepalive.map(|n| n as usize)),
            ("size", self.size),
            ("backlog", self.backlog),
            ("requests", some(self.life[0])),
            ("life", some(self.life[1])),
            ("connect", some(connect)),
            ("sending", some(sending)),
            ("read", some(read)),
            ("total", some(total)),
            ("leave", some(self.leave)),
        ];
        for (name, n) in numbers {
            if let Some(n) = n {
                write!(f, " {name}={n}")?;
            }
        }
        let limits = self.limits.unwrap_or(Limits::NONE).named();
        for ((name, n), (_, none)) in limits.into_iter().zip(Limits::NONE.named()) {
            if n != none {
                write!(f, " {name}={n}")?;
            }
        }
        match self.pieces {
            Some(Pieces::Length(n)) => write!(f, " pieces={n}")?,
            Some(Pieces::Chunked) => f.write_str(" pieces=chunked")?,
            None => {}
        }
        for (on, word) in [(self.expect, "expect"), (self.stream, "stream")] {
            if on {
                write!(f, " {word}")?;
            }
        }
        if let Some(pool) = &self.pool {
            write!(f, " pool={pool}")?;
        }
        if let Some((host, port)) = &self.proxy {
            write!(f, " proxy={host}:{port}")?;
        }
        if !self.wire.is_empty() {
            // As one word.
            let wire = self.wire.escape_ascii().to_string();
            write!(f, " wire={}", wire.replace(' ', "\\x20"))?;
        }
        Ok(())
    }

    fn origin(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.starts_with("unix:") {
            true => write!(f, "{}://{}:", self.scheme.name(), self.host),
            false => write!(f, "{}://{}:{}", self.scheme.name(), self.host, self.port),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Fetch(ask) => {
                write!(f, "fetch {} ", ask.method)?;
                ask.origin(f)?;
                f.write_str(&ask.path)?;
                ask.options(f)
            }
            Command::Connect(ask) => {
                f.write_str("connect ")?;
                ask.origin(f)?;
                ask.options(f)
            }
            Command::Request(e, ask) => {
                write!(f, "request e{e} {} {}", ask.method, ask.path)?;
                ask.options(f)
            }
            Command::Release(e, idle) => write!(f, "release e{e} {idle}"),
            Command::Abort(e) => write!(f, "abort e{e}"),
            Command::Supply(e, Some(n)) => write!(f, "supply e{e} {n}"),
            Command::Supply(e, None) => write!(f, "supply e{e} end"),
            Command::Take(e) => write!(f, "take e{e}"),
            Command::Consume(e, n) => write!(f, "consume e{e} {n}"),
            Command::Gather(e) => write!(f, "gather e{e}"),
            Command::Pause(e) => write!(f, "pause e{e}"),
            Command::Resume(e) => write!(f, "resume e{e}"),
            Command::Timeouts(e, [a, b, c, d]) => write!(f, "timeouts e{e} {a} {b} {c} {d}"),
            Command::Resolve(c, list) => {
                write!(f, "resolve c{c}")?;
                list.iter().try_for_each(|ip| write!(f, " {ip}"))
            }
            Command::Accept(c) => write!(f, "accept c{c}"),
            Command::Refuse(c) => write!(f, "refuse c{c}"),
            Command::Handshake(c, outcome) => {
                write!(f, "handshake c{c} {}", word(OUTCOMES, *outcome))
            }
            Command::Send(c, bytes) => write!(f, "send c{c} \"{}\"", bytes.escape_ascii()),
            Command::Answer(c, answer) => write!(f, "answer c{c} {answer}"),
            Command::Deliver(c, n) => write!(f, "deliver c{c} {n}"),
            Command::Fin(c) => write!(f, "fin c{c}"),
            Command::Rst(c) => write!(f, "rst c{c}"),
            Command::Room(c, n) => write!(f, "room c{c} {n}"),
            Command::SendFails(c) => write!(f, "sendfails c{c}"),
            Command::Hold(c) => write!(f, "hold c{c}"),
            Command::Edge(c) => write!(f, "edge c{c}"),
            Command::Shut(c) => write!(f, "shut c{c}"),
            Command::Fails(c, event) => {
                let (what, why) = failed(*event);
                write!(f, "fails c{c} {what} {why}")
            }
            Command::Late(c, fact) => write!(f, "late c{c} {}", word(FACTS, *fact)),
            Command::Lie(c, fact) => write!(f, "lie c{c} {}", word(FACTS, *fact)),
            Command::Fuse(n) => write!(f, "fuse {n}"),
            Command::Wait(ms) => write!(f, "wait {ms}"),
            Command::Clock(ms) => write!(f, "clock {ms}"),
            Command::Expire => f.write_str("expire"),
            Command::Shutdown => f.write_str("shutdown"),
        }
    }
}

/// A failure by what failed and the error's text: `sendfailed` `broken pipe`.
pub(super) fn failure(what: &str, why: &str) -> Result<Event<'static>, String> {
    let found = match what {
        "unresolved" => find(ResolveError::ALL, |e| e.text() == why).map(Event::Unresolved),
        "handshakefailed" => find(TlsError::ALL, |e| e.text() == why).map(Event::HandshakeFailed),
        "connectfailed" => find(SocketError::ALL, |e| e.text() == why).map(Event::ConnectFailed),
        "sendfailed" => find(SocketError::ALL, |e| e.text() == why).map(Event::SendFailed),
        "recvfailed" => find(SocketError::ALL, |e| e.text() == why).map(Event::RecvFailed),
        _ => None,
    };
    found.ok_or_else(|| format!("unknown failure: {what} {why}"))
}

fn find<E: Copy>(all: &[E], wanted: impl Fn(&E) -> bool) -> Option<E> {
    all.iter().copied().find(wanted)
}

/// The other direction; empty where nothing failed.
fn failed(event: Event<'_>) -> (&'static str, &'static str) {
    match event {
        Event::Unresolved(e) => ("unresolved", e.text()),
        Event::HandshakeFailed(e) => ("handshakefailed", e.text()),
        Event::ConnectFailed(e) => ("connectfailed", e.text()),
        Event::SendFailed(e) => ("sendfailed", e.text()),
        Event::RecvFailed(e) => ("recvfailed", e.text()),
        Event::Resolved(_) | Event::Connected | Event::Handshaken | Event::Eof => ("", ""),
    }
}
