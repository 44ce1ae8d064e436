//! What a pasted trace takes for granted: connections that somebody else had made, in the pool or in
//! a caller's hands. They are made up.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::string::{String, ToString};
use std::vec::Vec;

use super::pasted::Line;
use super::script::{Ask, Command, Handshake};
use crate::Scheme;

/// How a made-up proxy opens a tunnel.
const TUNNEL: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

/// A connection that is made up. All are held at first, each by the exchange that opened it.
#[derive(Debug)]
pub(super) struct Made {
    /// Its number in the trace.
    pub(super) connection: u32,
    /// The line in which it is asked for.
    pub(super) asked: usize,
    /// It is in a caller's hands then; otherwise in the pool.
    pub(super) held: bool,
    /// Whom it leads to.
    ask: Ask,
}

/// The connections to be made up, as a script numbers them and their exchanges.
pub(super) fn made(lines: &[Line]) -> Result<Vec<Made>, String> {
    let mut made = Vec::new();
    let mut asked = None;
    let mut states = BTreeMap::new();
    for line in lines {
        if let Some(ask) = line.ask()? {
            asked = Some((line.number, ask));
        }
        let Some((from, to)) = line.moved().filter(|_| line.who.0 == 'c') else {
            continue;
        };
        let connection = line.who.1;
        let before = states.insert(connection, to);
        // Taken from where the trace did not bring it: others have had it meanwhile.
        let held = from == "Held" && to == "Writing";
        let pooled = from == "Pooled" && matches!(to, "Writing" | "Held");
        if (held || pooled) && before != Some(from) {
            let (asked, ask) = asked
                .as_ref()
                .ok_or("a connection is used, and nobody asked")?;
            made.push(Made {
                connection,
                asked: *asked,
                held,
                ask: plain(ask),
            });
        }
    }
    Ok(made)
}

/// What makes them.
pub(super) fn commands(made: &[Made]) -> Vec<Command> {
    let asks = made.iter().map(|made| Command::Connect(made.ask.clone()));
    let mut commands: Vec<Command> = asks.collect();
    for (made, c) in made.iter().zip(0..) {
        let peer = made.ask.proxy.as_ref().map_or(&made.ask.host, |p| &p.0);
        let known = peer.trim_end_matches('.') == "localhost" || peer.starts_with("unix:");
        if !known && peer.parse::<IpAddr>().is_err() {
            commands.push(Command::Resolve(c, [Ipv4Addr::LOCALHOST.into()].to_vec()));
        }
        commands.push(Command::Accept(c));
        if made.ask.proxy.is_some() {
            commands.push(Command::Send(c, TUNNEL.to_vec()));
        }
        if made.ask.scheme == Scheme::Https {
            commands.push(Command::Handshake(c, Handshake::Ok));
        }
        // From here on the socket takes what the trace says.
        commands.push(Command::Room(c, 0));
    }
    commands
}

/// A connection to the same target, with nothing else asked.
fn plain(ask: &Ask) -> Ask {
    Ask {
        method: String::new(),
        path: "/".to_string(),
        body: None,
        keepalive: None,
        stream: false,
        pieces: None,
        expect: false,
        timeouts: [0; 4],
        leave: 0,
        limits: None,
        wire: Vec::new(),
        ..ask.clone()
    }
}
