//! A failing run with fewer commands: what can be left out is not what makes it fail.

use std::string::String;
use std::vec::Vec;

use super::runs::{Run, again};
use super::script::Command;

impl Run {
    /// The same failure with fewer commands: parts are left out as long as it stays.
    #[must_use]
    pub fn shrunk(self) -> Run {
        let Some(wanted) = kind(&self) else {
            return self;
        };
        let mut best = self;
        loop {
            let before = best.commands.len();
            best = in_parts(best, &wanted);
            best = one_by_one(best, &wanted);
            if best.commands.len() == before {
                return best;
            }
        }
    }
}

/// Leaves whole parts out, smaller and smaller ones.
fn in_parts(mut best: Run, wanted: &str) -> Run {
    let mut part = best.commands.len().div_ceil(2);
    while part > 0 {
        let mut at = 0;
        while at < best.commands.len() {
            let mut fewer = best.commands.clone();
            fewer.drain(at..(at + part).min(best.commands.len()));
            match failing(&fewer, &best, wanted) {
                Some(run) => best = run,
                None => at += part,
            }
        }
        part = if part == 1 { 0 } else { part.div_ceil(2) };
    }
    best
}

/// Leaves out one caller after the other; those behind it, and their connections, move up.
fn one_by_one(mut best: Run, wanted: &str) -> Run {
    let mut at = best.commands.len();
    while at > 0 {
        at -= 1;
        if !best.commands[at].begins() {
            continue;
        }
        let before = best.commands[..at].iter().filter(|c| c.begins()).count() as u32;
        let mut rest = best.commands.clone();
        rest.remove(at);
        let highest = rest.iter().filter_map(Command::connection).max();
        let shifted = (0..=highest.unwrap_or(0)).find_map(|gone| {
            let fewer = rest.iter().map(|command| {
                let mut command = command.clone();
                command.rename(|e| e - u32::from(e > before), |c| c - u32::from(c > gone));
                command
            });
            failing(&fewer.collect::<Vec<_>>(), &best, wanted)
        });
        best = shifted.unwrap_or(best);
        at = at.min(best.commands.len());
    }
    best
}

/// What becomes of fewer commands, if it is the same.
fn failing(fewer: &[Command], best: &Run, wanted: &str) -> Option<Run> {
    let run = again(fewer, best.cut);
    (run.commands.len() < best.commands.len() && kind(&run).as_deref() == Some(wanted))
        .then_some(run)
}

/// A failure without its names and numbers.
fn kind(run: &Run) -> Option<String> {
    let failure = run.failure.as_deref()?;
    let text = failure.rsplit_once(": ").map_or(failure, |(_, text)| text);
    Some(
        text.chars()
            .filter(|c| c.is_alphabetic())
            .take(24)
            .collect(),
    )
}
