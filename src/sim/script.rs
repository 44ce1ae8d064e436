//! Scripts: one command a line.
//!
//! ```text
//! fetch GET http://10.0.0.1/ keepalive read=500
//! accept c0
//! send c0 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
//! fin c0
//! wait 100
//! ```

use std::format;
use std::net::IpAddr;
use std::string::{String, ToString};
use std::vec::Vec;

use super::answer::Answer;
use super::quoted::bytes;
use super::words;
use crate::{Event, Limits, Scheme, SocketError};

/// What is asked for, whom, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The method; empty for `connect`.
    pub method: String,
    /// The scheme.
    pub scheme: Scheme,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path.
    pub path: String,
    /// The bytes of the body, all the same.
    pub body: Option<usize>,
    /// The body comes in pieces: of so many bytes together, or in chunks.
    pub pieces: Option<Pieces>,
    /// Leave to send the body is asked for.
    pub expect: bool,
    /// `Some(idle)`: to the pool afterwards.
    pub keepalive: Option<u32>,
    /// The body is pulled.
    pub stream: bool,
    /// The pool's name.
    pub pool: Option<String>,
    /// The pool's size.
    pub size: Option<usize>,
    /// How many may wait for a connection of the pool.
    pub backlog: Option<usize>,
    /// How many requests a connection opened for this may serve, and for how long; 0: as ever.
    pub life: [u32; 2],
    /// The proxy's host and port.
    pub proxy: Option<(String, u16)>,
    /// connect, send, read, total in milliseconds.
    pub timeouts: [u32; 4],
    /// How long leave to send the body is waited for; 0: as ever.
    pub leave: u32,
    /// What the response may cost, where the caller says it.
    pub limits: Option<Limits>,
    /// The request as it went out, when it is known from a trace; empty otherwise.
    pub wire: Vec<u8>,
}

/// How a body in pieces is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pieces {
    /// By its length.
    Length(usize),
    /// In chunks.
    Chunked,
}

/// What becomes of a TLS handshake, which the driver carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// It is done.
    Ok,
    /// It failed.
    Failed,
    /// The peer left in it.
    Eof,
    /// The peer reads no more.
    SendFails,
}

/// A fact that a driver may report when it should not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the fact of that name")]
pub enum Fact {
    Connected,
    Refused,
    Resolved,
    Unresolved,
    Handshaken,
    Unshaken,
    Eof,
    SendFailed,
    RecvFailed,
    Sent,
}

/// One line of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A caller's request of its own.
    Fetch(Ask),
    /// A caller opens a connection to hold.
    Connect(Ask),
    /// A request on the connection of an exchange.
    Request(u32, Ask),
    /// The held connection goes to the pool, with an idle time.
    Release(u32, u32),
    /// The caller gives up.
    Abort(u32),
    /// The caller takes what there is of an exchange that is over.
    Take(u32),
    /// The caller supplies so many bytes of its request's body; `None`: that was all.
    Supply(u32, Option<usize>),
    /// The caller takes so many bytes of the body.
    Consume(u32, usize),
    /// The caller wants the rest of the body gathered.
    Gather(u32),
    /// The caller reads no more on its own.
    Pause(u32),
    /// It does again.
    Resume(u32),
    /// Other timeouts: connect, send, read, total.
    Timeouts(u32, [u32; 4]),
    /// The name server answers; no address: it does not know.
    Resolve(u32, Vec<IpAddr>),
    /// The connect is over.
    Accept(u32),
    /// The connect failed.
    Refuse(u32),
    /// What becomes of TLS.
    Handshake(u32, Handshake),
    /// The peer sends these bytes.
    Send(u32, Vec<u8>),
    /// The peer makes an answer to the oldest request that has none; [`Command::Deliver`] sends it.
    Answer(u32, Answer),
    /// The peer sends so many bytes of its answers.
    Deliver(u32, usize),
    /// The peer closes its side.
    Fin(u32),
    /// The peer resets.
    Rst(u32),
    /// The socket takes so many more bytes.
    Room(u32, usize),
    /// Sending fails from now on.
    SendFails(u32),
    /// The event loop is busy: it does not tell of this socket until the edge comes.
    Hold(u32),
    /// It tells.
    Edge(u32),
    /// A fact about a connection that is closed.
    Late(u32, Fact),
    /// Something about a connection fails, and how.
    Fails(u32, Event<'static>),
    /// A fact that cannot be.
    Lie(u32, Fact),
    /// A handler panics, after so many others.
    Fuse(u32),
    /// The worker closes the connection.
    Shut(u32),
    /// Time passes, and what becomes due is carried out.
    Wait(u32),
    /// Time passes, nothing else.
    Clock(u32),
    /// What is due is carried out.
    Expire,
    /// The worker leaves.
    Shutdown,
}

impl Ask {
    /// Of nobody, and nothing beside it.
    pub fn new(method: &str, path: &str) -> Ask {
        Ask {
            method: method.to_string(),
            scheme: Scheme::Http,
            host: String::new(),
            port: 80,
            path: path.to_string(),
            body: None,
            pieces: None,
            expect: false,
            keepalive: None,
            stream: false,
            pool: None,
            size: None,
            backlog: None,
            life: [0; 2],
            proxy: None,
            timeouts: [0; 4],
            leave: 0,
            limits: None,
            wire: Vec::new(),
        }
    }
}

/// A parsed script.
#[derive(Debug, Clone)]
pub struct Script {
    commands: Vec<(usize, Command)>,
}

impl Script {
    /// A script of commands, one a line.
    pub fn new(commands: Vec<Command>) -> Script {
        let commands = commands.into_iter().enumerate();
        Script {
            commands: commands.map(|(i, command)| (i + 1, command)).collect(),
        }
    }

    /// Parses a script; blank lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// The first line that is no command, with its number.
    pub fn parse(text: &str) -> Result<Script, String> {
        let mut commands = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let command = parse(line).map_err(|e| format!("line {}: {e}: {line}", i + 1))?;
            commands.push((i + 1, command));
        }
        Ok(Script { commands })
    }

    /// A script of these commands, each with the line it comes from.
    pub(super) fn of(commands: Vec<(usize, Command)>) -> Script {
        Script { commands }
    }

    /// (line number, command) in order.
    pub fn commands(&self) -> impl Iterator<Item = (usize, &Command)> {
        self.commands.iter().map(|(line, command)| (*line, command))
    }

    /// The lengths of the `send` and `deliver` commands, in order: what there is to cut.
    pub fn sends(&self) -> Vec<usize> {
        let length = |(_, c): &(usize, Command)| match c {
            Command::Send(_, bytes) => Some(bytes.len()),
            Command::Deliver(_, n) => Some(*n),
            _ => None,
        };
        self.commands.iter().filter_map(length).collect()
    }
}

fn parse(line: &str) -> Result<Command, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let mut words = rest.split_whitespace();
    let mut next = || words.next().ok_or_else(|| "a word is missing".to_string());
    Ok(match word {
        "fetch" => Command::Fetch(ask(rest, true)?),
        "connect" => Command::Connect(ask(rest, false)?),
        "request" => {
            let (id, rest) = rest.split_once(' ').ok_or("what?")?;
            // The connection knows its origin; only the path of this one counts.
            let (method, rest) = rest.split_once(' ').ok_or("method and path")?;
            Command::Request(
                number(id, 'e')?,
                ask(&format!("{method} http://held{rest}"), true)?,
            )
        }
        "release" => Command::Release(number(next()?, 'e')?, int(next()?)?),
        "abort" => Command::Abort(number(next()?, 'e')?),
        "supply" => {
            let id = number(next()?, 'e')?;
            let piece = match next()? {
                "end" => None,
                n => Some(int(n)? as usize),
            };
            Command::Supply(id, piece)
        }
        "consume" => Command::Consume(number(next()?, 'e')?, int(next()?)? as usize),
        "gather" => Command::Gather(number(next()?, 'e')?),
        "take" => Command::Take(number(next()?, 'e')?),
        "pause" => Command::Pause(number(next()?, 'e')?),
        "resume" => Command::Resume(number(next()?, 'e')?),
        "timeouts" => {
            let id = number(next()?, 'e')?;
            let mut ms = || int(next()?);
            Command::Timeouts(id, [ms()?, ms()?, ms()?, ms()?])
        }
        "resolve" => {
            let key = number(next()?, 'c')?;
            let list: Result<Vec<IpAddr>, _> = words.map(str::parse).collect();
            Command::Resolve(key, list.map_err(|e| e.to_string())?)
        }
        "accept" => Command::Accept(number(next()?, 'c')?),
        "refuse" => Command::Refuse(number(next()?, 'c')?),
        "handshake" => {
            let key = number(next()?, 'c')?;
            Command::Handshake(key, words::meant(words::OUTCOMES, next()?)?)
        }
        _ => return peers(word, rest),
    })
}

/// The commands of peers, and of what is between them and the engine.
fn peers(word: &str, rest: &str) -> Result<Command, String> {
    let mut words = rest.split_whitespace();
    let mut next = || words.next().ok_or_else(|| "a word is missing".to_string());
    let tail = || rest.split_once(' ').ok_or_else(|| "what?".to_string());
    Ok(match word {
        "send" => {
            let (key, text) = tail()?;
            Command::Send(number(key, 'c')?, bytes(text)?)
        }
        "answer" => {
            let (key, text) = tail()?;
            Command::Answer(number(key, 'c')?, words::answer(text)?)
        }
        "deliver" => Command::Deliver(number(next()?, 'c')?, int(next()?)? as usize),
        "late" => Command::Late(number(next()?, 'c')?, words::meant(words::FACTS, next()?)?),
        "lie" => Command::Lie(number(next()?, 'c')?, words::meant(words::FACTS, next()?)?),
        "fuse" => Command::Fuse(int(next()?)?),
        "hold" => Command::Hold(number(next()?, 'c')?),
        "edge" => Command::Edge(number(next()?, 'c')?),
        "fails" => {
            let (key, rest) = tail()?;
            let (what, why) = rest.split_once(' ').ok_or("what, and why?")?;
            Command::Fails(number(key, 'c')?, words::failure(what, why)?)
        }
        "fin" => Command::Fin(number(next()?, 'c')?),
        "rst" => Command::Rst(number(next()?, 'c')?),
        "room" => Command::Room(number(next()?, 'c')?, int(next()?)? as usize),
        "sendfails" => Command::SendFails(number(next()?, 'c')?),
        "shut" => Command::Shut(number(next()?, 'c')?),
        "wait" => Command::Wait(int(next()?)?),
        "clock" => Command::Clock(int(next()?)?),
        "expire" => Command::Expire,
        "shutdown" => Command::Shutdown,
        _ => return Err("unknown command".to_string()),
    })
}

/// What sending on a connection whose peer is gone fails with.
pub(super) const SEND_ERROR: SocketError = SocketError::BrokenPipe;

/// Method, URI and options of a request, or URI and options of a connection.
pub(super) fn ask(text: &str, with_method: bool) -> Result<Ask, String> {
    ask_within(text, with_method, None)
}

/// The same, where the limits that are not named are these.
pub(super) fn ask_within(
    text: &str,
    with_method: bool,
    limits: Option<Limits>,
) -> Result<Ask, String> {
    let mut words = text.split_whitespace();
    let method = if with_method {
        words.next().ok_or("method")?
    } else {
        ""
    };
    let uri = words.next().ok_or("uri")?;
    let (scheme, rest) = uri.split_once("://").ok_or("a uri has a scheme")?;
    let scheme = if scheme == "https" {
        Scheme::Https
    } else {
        Scheme::Http
    };
    // A unix domain socket is written as nginx writes it: unix:/path:/uri.
    let (host, port, path) = match rest.rsplit_once(':') {
        Some((host, path)) if rest.starts_with("unix:") => (host.to_string(), 0, path),
        _ => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |i| rest.split_at(i));
            let (host, port) = host_port(authority, scheme.port())?;
            (host, port, path)
        }
    };
    let path = if with_method { path } else { "" };
    let mut ask = Ask {
        scheme,
        host,
        port,
        limits,
        ..Ask::new(method, path)
    };
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "body" => ask.body = Some(int(value)? as usize),
            "pieces" => {
                ask.pieces = Some(match value {
                    "chunked" => Pieces::Chunked,
                    n => Pieces::Length(int(n)? as usize),
                })
            }
            "expect" => ask.expect = true,
            "keepalive" => {
                ask.keepalive = Some(if value.is_empty() {
                    60_000
                } else {
                    int(value)?
                })
            }
            "stream" => ask.stream = true,
            "pool" => ask.pool = Some(value.to_string()),
            "size" => ask.size = Some(int(value)? as usize),
            "backlog" => ask.backlog = Some(int(value)? as usize),
            "requests" => ask.life[0] = int(value)?,
            "life" => ask.life[1] = int(value)?,
            "proxy" => ask.proxy = Some(host_port(value, 3128)?),
            "connect" => ask.timeouts[0] = int(value)?,
            "sending" => ask.timeouts[1] = int(value)?,
            "read" => ask.timeouts[2] = int(value)?,
            "total" => ask.timeouts[3] = int(value)?,
            "leave" => ask.leave = int(value)?,
            "wire" => ask.wire = bytes(&format!("\"{value}\""))?,
            _ => bound(ask.limits.get_or_insert(Limits::NONE), name, value)?
                .ok_or_else(|| format!("unknown option {name}"))?,
        }
    }
    Ok(ask)
}

/// `head=1000` and the like: the limits of one response, by the names of [`Limits`].
fn bound(limits: &mut Limits, name: &str, value: &str) -> Result<Option<()>, String> {
    let large = || value.parse().map_err(|_| format!("not a number: {value}"));
    match name {
        "head" => limits.head = int(value)?,
        "lines" => limits.lines = int(value)?,
        "interim" => limits.interim = int(value)?,
        "extensions" => limits.extensions = int(value)?,
        "trailers" => limits.trailers = int(value)?,
        "whole" => limits.whole = large()?,
        "most" => limits.body = large()?,
        _ => return Ok(None),
    }
    Ok(Some(()))
}

fn host_port(text: &str, default: u16) -> Result<(String, u16), String> {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && !port.ends_with(']') => {
            Ok((host.to_string(), port.parse().map_err(|_| "port")?))
        }
        _ => Ok((text.to_string(), default)),
    }
}

fn number(word: &str, kind: char) -> Result<u32, String> {
    word.strip_prefix(kind)
        .and_then(|n| n.parse().ok())
        .ok_or_else(|| format!("not a {kind}-number"))
}

pub(super) fn int(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("not a number: {word}"))
}
