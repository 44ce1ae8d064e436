//! A script cut short in every way: after each byte that a peer sends, and after each that it is sent, the
//! peer leaves, resets or falls silent, or the callers give up. No outcome may be another response.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::callers::Caller;
use super::peer::End;
use super::script::{Command, Script};
use super::world::{Cut, World};
use crate::{Error, Head};

/// How it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Peer(End),
    /// Only the timeout of this number is set, and passes.
    Silence(usize),
    Abort,
    SendFails,
}

const ENDINGS: &[Ending] = &[
    Ending::Peer(End::Fin),
    Ending::Peer(End::Rst),
    Ending::Silence(0),
    Ending::Silence(1),
    Ending::Silence(2),
    Ending::Silence(3),
    Ending::Abort,
    Ending::SendFails,
];

/// Longer than any script waits.
const TIMEOUT: u32 = 50_000;

/// What a caller has got.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Got {
    outcome: Option<Result<(), Error>>,
    status: u16,
    body: Vec<u8>,
    /// Nothing but the end of the connection ends the body.
    until_close: bool,
}

/// What comes of a script that is not cut short: for each caller, and how much each peer is sent.
type Whole = (Vec<Got>, Vec<(u32, usize)>);

/// Plays the script with every ending, `dense` of them at most for each send. Returns how many.
///
/// # Errors
/// What does not hold, and where.
pub fn endings(script: &Script, dense: usize) -> Result<usize, String> {
    let commands: Vec<Command> = script.commands().map(|(_, c)| c.clone()).collect();
    if commands.iter().any(|c| matches!(c, Command::Fuse(_))) {
        return Ok(0);
    }
    let mut played = 0;
    for &ending in ENDINGS {
        let commands = with_timeouts(&commands, ending);
        let (whole, sent) = to_the_end(&commands)?;
        for (at, command) in commands.iter().enumerate() {
            let Some((number, length)) = sends(command) else {
                continue;
            };
            for n in (0..=length).step_by(length.div_ceil(dense).max(1)) {
                let mut world = World::new(Cut::Whole);
                for command in &commands[..at] {
                    step(&mut world, command)?;
                }
                if n > 0 {
                    step(&mut world, &part(command, n))?;
                }
                end(world, number, ending, &whole)
                    .map_err(|e| format!("{ending:?} after {n} of {command}: {e}"))?;
                played += 1;
            }
        }
        for &(number, length) in &sent {
            for n in (0..length).step_by(length.div_ceil(dense).max(1)) {
                let world = until_sent(&commands, number, n)?;
                end(world, number, ending, &whole)
                    .map_err(|e| format!("{ending:?} after {n} bytes sent to c{number}: {e}"))?;
                played += 1;
            }
        }
    }
    Ok(played)
}

/// The script as it is without an ending: what callers get, and how much each peer is sent.
fn to_the_end(commands: &[Command]) -> Result<Whole, String> {
    let mut world = World::new(Cut::Whole);
    let mut sent = Vec::new();
    for command in commands {
        step(&mut world, command)?;
        for (&number, (_, peer)) in &world.peers {
            sent.resize(sent.len().max(number as usize + 1), 0);
            sent[number as usize] = peer.outbox.len();
        }
    }
    let got = got(&world);
    world.finish()?;
    Ok((got, (0..).zip(sent).collect()))
}

/// The script up to the moment when a peer takes no more than `n` bytes.
fn until_sent(commands: &[Command], number: u32, n: usize) -> Result<World, String> {
    let mut world = World::new(Cut::Whole);
    let mut limited = false;
    for command in commands {
        if !matches!(command, Command::Room(c, _) if *c == number) {
            step(&mut world, command)?;
        }
        if !limited && world.peers.contains_key(&number) {
            limited = true;
            step(&mut world, &Command::Room(number, n))?;
        }
        let peer = world.peers.get(&number).map(|(_, peer)| peer);
        if peer.is_some_and(|peer| peer.connected && peer.outbox.len() == n) {
            break;
        }
    }
    Ok(world)
}

fn end(mut world: World, number: u32, ending: Ending, whole: &[Got]) -> Result<(), String> {
    let command = match ending {
        Ending::Peer(End::Fin) => Command::Fin(number),
        Ending::Peer(End::Rst) => Command::Rst(number),
        Ending::Silence(_) => Command::Wait(2 * TIMEOUT),
        Ending::SendFails => Command::SendFails(number),
        Ending::Abort => {
            for caller in 0..world.callers.len() as u32 {
                step(&mut world, &Command::Abort(caller))?;
            }
            return world.finish().map(|_| ());
        }
    };
    let bounds: Vec<_> = world.callers.iter().map(|c| bound(&world, c)).collect();
    step(&mut world, &command)?;
    let fin = ending == Ending::Peer(End::Fin);
    for (number, (got, whole)) in got(&world).iter().zip(whole).enumerate() {
        let over = world.callers[number].gone || got.outcome.is_some();
        if let Ending::Silence(which) = ending
            && !over
            && (which == 3
                || [bounds[number], bound(&world, &world.callers[number])] == [Some(which); 2])
        {
            return Err(format!("e{number} outlives its timeout"));
        }
        let prefix = fin && got.until_close && whole.body.starts_with(&got.body);
        let same =
            (got.outcome, got.status, &got.body) == (whole.outcome, whole.status, &whole.body);
        if got.outcome == Some(Ok(())) && !same && !prefix {
            return Err(format!("e{number} got {got:?} instead of {whole:?}"));
        }
    }
    world.finish().map(|_| ())
}

/// Which timeout bounds what the caller waits for now, as far as that is plain.
fn bound(world: &World, caller: &Caller) -> Option<usize> {
    caller.waits?;
    let mut peers = world.peers.values();
    let socket = peers.find(|(key, _)| world.engine.owner(*key) == Some(caller.id));
    let Some((key, _)) = socket.filter(|(_, peer)| peer.connected && !peer.shaking) else {
        return Some(0);
    };
    let proxied = caller.whom.3.is_some();
    match (
        world.engine.interest(*key).write,
        world.engine.head(caller.id),
    ) {
        _ if proxied => None,
        (true, None) => Some(1),
        (true, Some(_)) => None,
        (false, _) => Some(2),
    }
}

/// Plays a command if it makes sense after what came before.
fn step(world: &mut World, command: &Command) -> Result<(), String> {
    // What an ending has changed may leave nothing to be done.
    let _nonsense = world.play(command);
    world.check().map_err(|e| format!("{command}: {e}"))
}

fn got(world: &World) -> Vec<Got> {
    let callers = world.callers.iter();
    let got = callers.map(|caller| {
        let mut body = caller.body.clone();
        body.extend_from_slice(world.engine.body(caller.id));
        let head = world.engine.head(caller.id);
        Got {
            outcome: caller.outcome,
            status: head.map_or(caller.status, |head| head.status),
            body,
            until_close: head.is_some_and(until_close),
        }
    });
    got.collect()
}

fn until_close(head: &Head) -> bool {
    let chunked = head.fields.get(b"transfer-encoding");
    let chunked = chunked.is_some_and(|value| value.ends_with(b"chunked"));
    !chunked && head.fields.get(b"content-length").is_none()
}

fn sends(command: &Command) -> Option<(u32, usize)> {
    match command {
        Command::Send(number, bytes) => Some((*number, bytes.len())),
        Command::Deliver(number, n) => Some((*number, *n)),
        _ => None,
    }
}

/// The first `n` bytes of what is sent.
fn part(command: &Command, n: usize) -> Command {
    match command {
        Command::Send(number, bytes) => Command::Send(*number, bytes[..n].to_vec()),
        Command::Deliver(number, _) => Command::Deliver(*number, n),
        other => other.clone(),
    }
}

/// For a silence, every caller has one timeout and no other.
fn with_timeouts(commands: &[Command], ending: Ending) -> Vec<Command> {
    let mut commands = commands.to_vec();
    let Ending::Silence(which) = ending else {
        return commands;
    };
    for command in &mut commands {
        if let Command::Fetch(ask) | Command::Connect(ask) | Command::Request(_, ask) = command {
            ask.timeouts = [0; 4];
            ask.timeouts[which] = TIMEOUT;
        }
    }
    commands
}
