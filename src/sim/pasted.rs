//! A trace out of nginx's log, turned back into what happened, and played again.
//!
//! Only the facts (`>`) are played; what follows from them must be the same.

use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::playing::Play;
use super::quoted;
use super::script::{self, Ask, Script};
use super::world::World;
use crate::Limits;
use crate::trace::LOST;

/// Each exchange has its own below these. Room for lines is made beforehand.
const LIMITS: Limits = Limits {
    lines: 4096,
    ..Limits::NONE
};

/// One line of a trace.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Where it stands in what was pasted.
    pub(super) number: usize,
    pub(super) at: u64,
    /// `c` or `e`, and its number.
    pub(super) who: (char, u32),
    pub(super) mark: char,
    pub(super) text: String,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Pasted {
    lines: Vec<Line>,
}

impl Line {
    /// `  12ms c0 > eof`.
    fn parse(number: usize, text: &str) -> Option<Line> {
        let (at, rest) = text.trim_start().split_once("ms ")?;
        let (who, rest) = rest.split_once(' ')?;
        let (mark, text) = rest.split_once(' ')?;
        let kind = who
            .chars()
            .next()
            .filter(|kind| matches!(kind, 'c' | 'e'))?;
        Some(Line {
            number,
            at: at.parse().ok()?,
            who: (kind, who[1..].parse().ok()?),
            mark: mark
                .chars()
                .next()
                .filter(|_| matches!(mark, ">" | "=" | "<"))?,
            text: text.trim_end().to_string(),
        })
    }

    fn show(&self) -> String {
        let ((kind, n), mark) = (self.who, self.mark);
        format!("{:>6}ms {kind}{n} {mark} {}", self.at, self.text)
    }

    /// The first word, and what follows.
    pub(super) fn words(&self) -> (&str, &str) {
        let (word, rest) = self.text.split_once(' ').unwrap_or((&self.text, ""));
        (word, rest.trim_start())
    }

    /// What a caller asks for here.
    pub(super) fn ask(&self) -> Result<Option<Ask>, String> {
        let (word, rest) = self.words();
        let with_method = match (self.who.0, self.mark, word) {
            ('e', '>', "fetch" | "request") => true,
            ('e', '>', "connect") => false,
            _ => return Ok(None),
        };
        script::ask_within(rest, with_method, Some(Limits::default())).map(Some)
    }

    /// The move it tells: from which state to which.
    pub(super) fn moved(&self) -> Option<(&str, &str)> {
        let (from, to) = self.text.split_once(" -> ").filter(|_| self.mark == '=')?;
        Some((from, to.split(' ').next()?))
    }

    /// Whether it tells of a move into that state.
    pub(super) fn enters(&self, state: &str) -> bool {
        self.moved().is_some_and(|(_, to)| to == state)
    }

    /// The bytes it shows, and whether the next line has more of them.
    pub(super) fn bytes(&self, name: &str) -> Result<Option<(Vec<u8>, bool)>, String> {
        let (word, rest) = self.words();
        let more = match word.strip_prefix(name) {
            Some("") => false,
            Some("+") => true,
            _ => return Ok(None),
        };
        Ok(Some((quoted::bytes(rest)?, more)).filter(|_| self.mark == '>'))
    }
}

impl Pasted {
    /// Finds the lines of a trace in `text`, with or without what nginx writes in front of them.
    ///
    /// # Errors
    /// There is no trace, or not all of it.
    pub fn parse(text: &str) -> Result<Pasted, String> {
        let mut lines = Vec::new();
        let mut logs = BTreeSet::new();
        for (i, raw) in text.lines().enumerate() {
            let (log, rest) = raw.split_once("nhfc: ").unwrap_or(("", raw));
            if rest.starts_with(LOST) {
                return Err(format!("line {}: {rest}: the trace is not whole", i + 1));
            }
            let Some(line) = Line::parse(i + 1, rest) else {
                continue;
            };
            // `2026/01/31 12:00:00 [notice] 4711#4711:`
            logs.extend(log.split_whitespace().last());
            lines.push(line);
        }
        if logs.len() > 1 {
            return Err("lines of more than one worker process".to_string());
        }
        // An idle connection that only ends is nobody's.
        let mut met = BTreeMap::new();
        lines.retain(|line: &Line| {
            *met.entry(line.who).or_insert_with(|| {
                let taken = line.enters("Writing") || line.enters("Held");
                line.who.0 == 'e' || line.mark == '<' || taken
            })
        });
        let told = |line: &Line| line.mark == '>' && line.who.0 == 'c';
        match lines.iter().any(told) {
            true => Ok(Pasted { lines }),
            false => Err("no facts in it: nhfc_trace_bytes was off".to_string()),
        }
    }

    /// The lines, as they are without nginx.
    pub fn text(&self) -> String {
        joined(&self.lines)
    }

    /// The facts as a script, to be played like any other.
    ///
    /// # Errors
    /// A fact that cannot be played.
    pub fn script(&self) -> Result<Script, String> {
        let steps = self.play()?.steps.into_iter();
        Ok(Script::of(steps.map(|s| (s.number, s.command)).collect()))
    }

    /// What the engine makes of the facts: the same lines, if it does what it did.
    ///
    /// # Errors
    /// A fact that cannot be, with the number of its line.
    pub fn replay(&self) -> Result<String, String> {
        let play = self.play()?;
        let mut world = World::of_facts(LIMITS);
        for step in &play.steps {
            let shown = world.lines.len();
            let told = world.play(&step.command);
            told.map_err(|e| format!("line {}: {e}", step.number))?;
            if step.hidden {
                world.lines.truncate(shown);
            }
        }
        let lines = core::mem::take(&mut world.lines);
        world.finish()?;
        let mut lines: Vec<Line> = lines.iter().filter_map(|l| Line::parse(0, l)).collect();
        let start = self.lines.first().map_or(0, |line| line.at);
        let first = lines.first().map_or(0, |line| line.at);
        lines.retain_mut(|line| {
            line.at = line.at - first + start;
            play.rename(line)
        });
        Ok(joined(&lines))
    }

    fn play(&self) -> Result<Play, String> {
        Play::of(&self.lines, self.wires()?)
    }

    /// What was sent of each exchange's request.
    fn wires(&self) -> Result<BTreeMap<u32, Vec<u8>>, String> {
        let mut wires: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let mut running = BTreeMap::new();
        for (i, line) in self.lines.iter().enumerate() {
            let c = line.who.1;
            if line.who.0 != 'c' {
                continue;
            }
            if line.enters("Writing") {
                let rest = &self.lines[i..];
                let owner = rest.iter().find(|l| l.who.0 == 'e' && l.enters("Sending"));
                running.insert(c, (owner.map(|l| l.who.1), Vec::new()));
            }
            if let Some((bytes, _)) = line.bytes("sent")?
                && let Some((Some(owner), sent)) = running.get_mut(&c)
            {
                sent.extend(bytes);
                let wire = wires.entry(*owner).or_default();
                // Of two attempts, the one that got further.
                if sent.len() > wire.len() {
                    wire.clone_from(sent);
                }
            }
        }
        Ok(wires)
    }
}

fn joined(lines: &[Line]) -> String {
    lines.iter().map(|line| line.show() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let told = Pasted::parse(text).and_then(|pasted| pasted.replay());
        told.expect_err(text)
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        assert!(refused("nothing of the kind").starts_with("no facts"));
        assert!(refused("0ms e0 > fetch     GET http://10.0.0.1:80/\n").starts_with("no facts"));
        let lost = "0ms c0 > connected\nnhfc: lines lost: 12\n";
        assert!(refused(lost).contains("line 2: lines lost: 12"));
        let two = "[notice] 1#1: nhfc:   0ms c0 > eof\n[notice] 2#2: nhfc:   0ms c0 > eof\n";
        assert!(refused(two).contains("more than one worker"));
        let late = "0ms e4 > abort\n0ms c0 < connect   10.0.0.1:80\n0ms c0 > connected\n";
        assert!(refused(late).contains("line 1: e4 begins before the trace"));
    }

    #[test]
    fn connections_that_were_there_are_made_up() {
        let traces = [
            // From the pool, and back to it.
            "7ms e5 > fetch     GET http://a.test:80/ keepalive=60000 pool=p size=2\n\
             7ms c3 = Pooled -> Writing\n\
             7ms e5 = Queued -> Sending\n\
             8ms c3 > eof\n\
             8ms c3 = Writing -> Closed   closed\n\
             8ms e5 = Sending -> Queued\n\
             8ms e5 = Queued -> Dialing\n\
             8ms c9 < resolve   a.test\n\
             9ms c9 > unresolved UNKNOWN\n\
             9ms c9 = Resolving -> Closed   UNKNOWN\n\
             9ms e5 = Dialing -> Done\n\
             9ms e5 < failed    UNKNOWN in Resolving\n",
            // In a caller's hands.
            "7ms e5 > request   GET http://10.0.0.1:80/\n\
             7ms c3 = Held -> Writing\n\
             7ms e5 = Queued -> Sending\n\
             8ms c3 > recvfailed connection reset by peer\n\
             8ms c3 = Writing -> Closed   connection reset by peer\n\
             8ms e5 = Sending -> Done\n\
             8ms e5 < failed    connection reset by peer in Writing\n",
        ];
        for trace in traces {
            let unknown = crate::ResolveError::NotFound.text();
            let pasted = Pasted::parse(&trace.replace("UNKNOWN", unknown)).unwrap();
            assert_eq!(pasted.replay().unwrap(), pasted.text());
        }
    }
}
