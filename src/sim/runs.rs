//! Generated worlds: played, judged, and cut down to what is needed to see them fail.

use std::format;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::{String, ToString};
use std::vec::Vec;

use super::choices::{Choices, hash};
use super::coverage;
use super::crowd::Crowd;
use super::script::Command;
use super::swarm::Fault;
use super::world::{Cut, World};

/// A world that was played to its end.
#[derive(Debug)]
pub struct Run {
    /// How reads were cut.
    pub cut: Cut,
    /// What was done.
    pub commands: Vec<Command>,
    /// What came of it.
    pub trace: String,
    /// What should not have been.
    pub failure: Option<String>,
}

/// Commands in a world, at most.
const STEPS: u32 = 400;
/// Thoughts that come to nothing, in a row.
const IDLE: u32 = 50;

/// Plays the world of a seed.
pub fn seed(seed: u64) -> Run {
    generated(Crowd::new(Choices::seed(seed)))
}

/// Plays the world that a fuzzer's bytes decide. Handlers do not panic in it: a fuzzer takes any
/// panic for a finding.
pub fn bytes(bytes: &[u8]) -> Run {
    let mut crowd = Crowd::new(Choices::bytes(bytes));
    crowd.spare(Fault::Panics);
    generated(crowd)
}

/// Plays commands that a world has brought forth. Those that make no sense are passed over.
pub fn again(commands: &[Command], cut: Cut) -> Run {
    let mut given = commands.iter().cloned();
    played(cut, |_| Next::of(given.next()))
}

/// What a source of commands has to say.
#[expect(clippy::large_enum_variant, reason = "it is on its way to a list")]
enum Next {
    Command(Command),
    Nothing,
    Over,
}

impl Next {
    fn of(command: Option<Command>) -> Next {
        command.map_or(Next::Over, Next::Command)
    }
}

fn generated(mut crowd: Crowd) -> Run {
    let cuts = [
        Cut::Whole,
        Cut::Bytes,
        Cut::Chunks(3),
        Cut::Chunks(50),
        Cut::Whole,
    ];
    let cut = crowd.choices().pick(&cuts).unwrap_or(Cut::Whole);
    if cut == Cut::Bytes {
        // A hundred thousand reads show no more than a thousand.
        crowd.spare(Fault::Large);
    }
    let mut left = 1 + crowd.choices().below(STEPS);
    let mut idle = 0;
    played(cut, |world| {
        if left == 0 || idle > IDLE || crowd.is_over() {
            return Next::Over;
        }
        match crowd.next(world) {
            Some(command) => {
                (left, idle) = (left - 1, 0);
                Next::Command(command)
            }
            None => {
                idle += 1;
                Next::Nothing
            }
        }
    })
}

fn played(cut: Cut, mut next: impl FnMut(&World) -> Next) -> Run {
    let mut commands = Vec::new();
    let mut trace = String::new();
    coverage::light(None);
    let judged = catch_unwind(AssertUnwindSafe(|| -> Result<(), String> {
        let mut world = World::new(cut);
        let result = play(&mut world, &mut commands, &mut next).and_then(|()| world.calm());
        coverage::light(None);
        trace = world.lines.join("\n");
        result?;
        world.finish().map(|_| ())
    }));
    let failure = match judged {
        Ok(result) => result.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
            Some(format!("panicked: {}", text.unwrap_or_default()))
        }
    };
    coverage::light(None);
    Run {
        cut,
        commands,
        trace,
        failure,
    }
}

fn play(
    world: &mut World,
    commands: &mut Vec<Command>,
    next: &mut impl FnMut(&World) -> Next,
) -> Result<(), String> {
    loop {
        let command = match next(world) {
            Next::Command(command) => command,
            Next::Nothing => continue,
            Next::Over => return Ok(()),
        };
        commands.push(command);
        let Some(command) = commands.last() else {
            continue;
        };
        match world.play(command) {
            Ok(()) => world.check().map_err(|e| format!("after {command}: {e}"))?,
            // Passed over when something it needs was cut away.
            Err(nonsense) => {
                world.note(&format!("no sense: {nonsense}"));
                world.check().map_err(|e| format!("after {command}: {e}"))?;
                commands.pop();
            }
        }
    }
}

impl Run {
    /// One number for all that was done and came of it.
    pub fn hash(&self) -> u64 {
        let (commands, trace, failure) = (&self.commands, &self.trace, &self.failure);
        hash(&format!("{commands:?}{trace}{failure:?}"))
    }

    /// The commands as a script, one a line.
    pub fn script(&self) -> String {
        let lines: Vec<String> = self.commands.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }
}
