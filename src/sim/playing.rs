//! The facts of a trace, line by line, as commands for the world.

use std::collections::BTreeMap;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::before::{self, Made};
use super::pasted::Line;
use super::script::{self, Ask, Command, Handshake};
use super::words;

/// One command of the script that a trace is turned into.
#[derive(Debug)]
pub(super) struct Step {
    /// The line it comes from.
    pub(super) number: usize,
    pub(super) command: Command,
    /// It stands for what others did, who were not traced: what comes of it was not, either.
    pub(super) hidden: bool,
}

/// The script, and which numbers in it are whose.
#[derive(Debug, Default)]
pub(super) struct Play {
    pub(super) steps: Vec<Step>,
    made: Vec<Made>,
    /// The trace's number of each connection of the script.
    connections: Vec<u32>,
    /// The same of each exchange; those that are made up have none.
    exchanges: Vec<Option<u32>>,
    /// The script's number of each connection of the trace.
    current: BTreeMap<u32, u32>,
    /// The script's exchange that has a connection of the trace in its hands.
    holders: BTreeMap<u32, u32>,
    /// Idle connections of the script that others than the traced will use.
    abandoned: Vec<u32>,
    clock: u64,
}

impl Play {
    /// Turns a trace into a script; `wires` is what was sent of each exchange's request.
    pub(super) fn of(lines: &[Line], mut wires: BTreeMap<u32, Vec<u8>>) -> Result<Play, String> {
        let made = before::made(lines)?;
        let mut play = Play {
            connections: made.iter().map(|made| made.connection).collect(),
            exchanges: made.iter().map(|_| None).collect(),
            clock: lines.first().map_or(0, |line| line.at),
            ..Play::default()
        };
        for command in before::commands(&made) {
            play.hide(0, command);
        }
        play.made = made;
        let mut pieces = Vec::new();
        for (i, line) in lines.iter().enumerate() {
            let rest = &lines[i..];
            let told = match line.ask() {
                Ok(Some(mut ask)) => {
                    ask.wire = wires.remove(&line.who.1).unwrap_or_default();
                    play.ask(line, ask, rest)
                }
                Ok(None) => play.line(line, rest, &mut pieces),
                Err(e) => Err(e),
            };
            told.map_err(|e| format!("line {}: {e}: {}", line.number, line.text))?;
        }
        Ok(play)
    }

    fn push(&mut self, line: &Line, command: Command) {
        if line.at > self.clock {
            let passed = u32::try_from(line.at - self.clock).unwrap_or(u32::MAX);
            self.clock = line.at;
            self.step(line.number, Command::Clock(passed), false);
        }
        self.step(line.number, command, false);
    }

    fn hide(&mut self, number: usize, command: Command) {
        self.step(number, command, true);
    }

    fn step(&mut self, number: usize, command: Command, hidden: bool) {
        self.steps.push(Step {
            number,
            command,
            hidden,
        });
    }

    fn ask(&mut self, line: &Line, ask: Ask, rest: &[Line]) -> Result<(), String> {
        for c in core::mem::take(&mut self.abandoned) {
            self.hide(line.number, Command::Fin(c));
        }
        for (made, n) in core::mem::take(&mut self.made).into_iter().zip(0..) {
            if made.asked == line.number {
                self.current.insert(made.connection, n);
                match made.held {
                    true => _ = self.holders.insert(made.connection, n),
                    false => self.hide(line.number, Command::Release(n, 0)),
                }
            }
            self.made.push(made);
        }
        let command = match line.words().0 {
            "fetch" => Command::Fetch(ask),
            "connect" => Command::Connect(ask),
            _ => {
                let held = self.held(line, rest)?;
                // Only what is traced says so itself.
                self.hide(line.number, Command::Timeouts(held, ask.timeouts));
                Command::Request(held, ask)
            }
        };
        self.exchanges.push(Some(line.who.1));
        self.push(line, command);
        Ok(())
    }

    /// The script's exchange that has the connection which is asked in this line.
    fn held(&self, line: &Line, rest: &[Line]) -> Result<u32, String> {
        let mut made = self.made.iter().zip(0..);
        if let Some((_, n)) = made.find(|(made, _)| made.held && made.asked == line.number) {
            return Ok(n);
        }
        let taken = rest.iter().find(|l| l.moved() == Some(("Held", "Writing")));
        let c = taken.map(|l| l.who.1).ok_or("on no connection")?;
        let holder = self.holders.get(&c).copied();
        holder.ok_or_else(|| format!("nobody has c{c}"))
    }

    /// One line that is not a caller's asking; of most, nothing comes.
    fn line(&mut self, line: &Line, rest: &[Line], pieces: &mut Vec<u8>) -> Result<(), String> {
        let (word, detail) = line.words();
        let n = line.who.1;
        match (line.who.0, line.mark) {
            ('c', '<') if matches!(word, "connect" | "resolve") => {
                let fresh = self.current.keys().all(|&c| c != n);
                if fresh {
                    let number = u32::try_from(self.connections.len());
                    self.current.insert(n, number.map_err(|e| e.to_string())?);
                    self.connections.push(n);
                }
            }
            ('c', '=') if line.enters("Held") => {
                let owner = rest.iter().find(|l| l.who.0 == 'e' && l.enters("Done"));
                if let Some(e) = owner.and_then(|l| self.exchange(l.who.1).ok()) {
                    self.holders.insert(n, e);
                }
            }
            ('c', '=') if line.enters("Pooled") => {
                let mut after = rest.iter().skip(1).filter(|l| l.who == line.who);
                let next = after.find_map(Line::moved);
                if next.is_none_or(|(from, _)| from != "Pooled") {
                    self.abandoned.push(self.connection(n)?);
                }
            }
            ('e', '>') => self.exchange_fact(line, word, detail)?,
            ('c', '>') => {
                let c = self.connection(n)?;
                if let Some((bytes, more)) = line.bytes("bytes")? {
                    pieces.extend(bytes);
                    if !more {
                        let whole = core::mem::take(pieces);
                        self.push(line, Command::Send(c, whole));
                    }
                } else if let Some((bytes, more)) = line.bytes("sent")? {
                    pieces.extend(bytes);
                    if !more {
                        let whole = core::mem::take(pieces).len();
                        self.push(line, Command::Room(c, whole));
                    }
                } else {
                    self.connection_fact(line, rest, c)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn exchange_fact(&mut self, line: &Line, word: &str, detail: &str) -> Result<(), String> {
        let e = self.exchange(line.who.1)?;
        let command = match word {
            "release" => Command::Release(e, script::int(detail)?),
            "abort" => Command::Abort(e),
            "supply" if detail == "end" => Command::Supply(e, None),
            "supply" => Command::Supply(e, Some(script::int(detail)? as usize)),
            "expired" => Command::Expire,
            "timeouts" => {
                let ask = script::ask(&format!("http://held {detail}"), false)?;
                Command::Timeouts(e, ask.timeouts)
            }
            "shutdown" if self.is_over() => return Ok(()),
            "shutdown" => Command::Shutdown,
            _ => return Err("unknown fact".to_string()),
        };
        self.push(line, command);
        Ok(())
    }

    fn connection_fact(&mut self, line: &Line, rest: &[Line], c: u32) -> Result<(), String> {
        let (word, detail) = line.words();
        // In a handshake the socket is the driver's.
        let shaking = rest.get(1).and_then(Line::moved);
        let shaking = shaking.is_some_and(|(from, _)| from == "Handshaking");
        let command = match word {
            "resolved" => {
                let list: Result<_, _> = detail.split_whitespace().map(str::parse).collect();
                Command::Resolve(c, list.map_err(|_| "not an address")?)
            }
            "connected" => {
                // What the socket takes, the trace says.
                self.push(line, Command::Room(c, 0));
                Command::Accept(c)
            }
            "handshaken" => Command::Handshake(c, Handshake::Ok),
            "eof" if shaking => Command::Handshake(c, Handshake::Eof),
            "eof" => Command::Fin(c),
            "expired" => Command::Expire,
            "shut" if self.is_over() => return Ok(()),
            "shut" => Command::Shut(c),
            _ => Command::Fails(c, words::failure(word, detail)?),
        };
        self.push(line, command);
        Ok(())
    }

    /// Whether everything has been ended at once.
    fn is_over(&self) -> bool {
        let mut commands = self.steps.iter().map(|step| &step.command);
        commands.any(|command| *command == Command::Shutdown)
    }

    fn connection(&self, n: u32) -> Result<u32, String> {
        let found = self.current.get(&n).copied();
        found.ok_or_else(|| format!("c{n} begins before the trace"))
    }

    fn exchange(&self, n: u32) -> Result<u32, String> {
        let found = self.exchanges.iter().position(|&e| e == Some(n));
        let found = found.ok_or_else(|| format!("e{n} begins before the trace"))?;
        u32::try_from(found).map_err(|e| e.to_string())
    }

    /// Gives a line of the script's the trace's numbers; `false` when it is about what is made up.
    pub(super) fn rename(&self, line: &mut Line) -> bool {
        let (kind, n) = line.who;
        let known = match kind {
            'c' => self.connections.get(n as usize).copied(),
            _ => self.exchanges.get(n as usize).copied().flatten(),
        };
        line.who.1 = known.unwrap_or(n);
        known.is_some()
    }
}
