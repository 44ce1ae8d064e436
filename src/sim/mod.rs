//! The deterministic world: a virtual clock, scripted peers, and the engine between them.
//!
//! A [`Script`] says what callers ask and what peers do; [`replay`] plays it and returns the trace.
//! How the bytes of each `send` are cut into reads is the caller's choice ([`Cut`]) and must not
//! change the trace. The sockets are edge-triggered, as nginx's are: the world reads until nothing
//! is left or wanted, and after that only when the engine says [`Effect::Drive`](crate::Effect).
//!
//! A [`Pasted`] is a trace with its bytes, out of nginx's log, that is played again.

mod answer;
mod before;
mod callers;
mod calm;
mod check;
mod choices;
pub mod coverage;
mod crowd;
mod endings;
mod names;
mod parts;
mod pasted;
mod peer;
mod playing;
mod quoted;
mod runs;
mod script;
mod shrink;
mod sockets;
mod swarm;
mod words;
mod world;

pub use answer::{Answer, Delimited};
pub use endings::endings;
pub use pasted::Pasted;
pub use runs::{Run, again, bytes, seed};
pub use script::{Ask, Command, Fact, Handshake, Script};
pub use world::{Cut, World};

/// Plays a script and returns its trace, one line each.
///
/// # Errors
/// A command that makes no sense where it stands, with its line number.
pub fn replay(script: &Script, cut: Cut) -> Result<std::string::String, std::string::String> {
    played(script, World::new(cut))
}

/// Plays a script and returns its trace with all facts: what a [`Pasted`] is made of.
///
/// # Errors
/// As for [`replay`].
pub fn facts(script: &Script) -> Result<std::string::String, std::string::String> {
    played(script, World::of_facts(crate::Limits::default()))
}

fn played(script: &Script, mut world: World) -> Result<std::string::String, std::string::String> {
    for (line, command) in script.commands() {
        world
            .play(command)
            .map_err(|e| std::format!("line {line}: {e}"))?;
        world
            .check()
            .map_err(|e| std::format!("line {line}: after {command:?}: {e}"))?;
    }
    world.finish()
}
