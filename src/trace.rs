//! The one line format, for snapshots, for nginx's log, and for what the simulator reports.
//!
//! ```text
//!    0ms e0 > fetch     POST http://a.test/up body=10000
//!    2ms c0 = Resolving -> Connecting
//!    9ms e0 < head      413 length=0
//! ```
//!
//! `>` a fact in, `<` an order or a result out, `=` a move and its reason. Milliseconds count from
//! the first line. No pointers, no header values, no bodies.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use core::fmt;

use crate::time::Instant;

/// Whom a line is about: c for connections, e for exchanges, each counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) kind: char,
    pub(crate) serial: u32,
}

/// One move, as kept for the moment something impossible happens: states by their places in the
/// table, so that remembering costs little.
#[derive(Debug, Clone, Copy)]
struct Record {
    at: Instant,
    who: Subject,
    from: u8,
    to: u8,
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct Trace {
    on: bool,
    base: Option<Instant>,
    lines: VecDeque<String>,
    /// A ring: `next`, counted from the first move, is the oldest.
    recent: Box<[Option<Record>; RECENT]>,
    next: usize,
}

/// So many moves are remembered.
const RECENT: usize = 256;
/// So many lines wait for a driver that does not fetch them.
const LINES: usize = 4096;

impl Trace {
    pub(crate) fn new() -> Trace {
        Trace {
            on: false,
            base: None,
            lines: VecDeque::new(),
            recent: Box::new([None; RECENT]),
            next: 0,
        }
    }

    pub(crate) fn set(&mut self, on: bool) {
        self.on = on;
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Remembers a move.
    #[inline]
    pub(crate) fn remember(&mut self, at: Instant, who: Subject, from: u8, to: u8) {
        self.recent[self.next % RECENT] = Some(Record { at, who, from, to });
        self.next += 1;
    }

    /// Writes a line, when tracing.
    pub(crate) fn line(&mut self, at: Instant, who: Subject, mark: char, text: fmt::Arguments<'_>) {
        if !self.on {
            return;
        }
        let base = *self.base.get_or_insert(at);
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        let Subject { kind, serial } = who;
        self.lines.push_back(format!(
            "{:>6}ms {kind}{serial} {mark} {text}",
            at.since(base)
        ));
    }

    #[inline]
    pub(crate) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(crate) fn poll(&mut self) -> Option<String> {
        self.lines.pop_front()
    }

    /// The last moves of `who`, oldest first, in one line; `states` are the table's.
    pub(crate) fn tail(&self, who: Subject, states: &[(&'static str, &'static str)]) -> String {
        let name = |place: u8| states.get(usize::from(place)).map_or("?", |state| state.0);
        let mut text = String::new();
        let (newer, older) = self.recent.split_at(self.next % RECENT);
        for record in older.iter().chain(newer).flatten().filter(|r| r.who == who) {
            if text.is_empty() {
                text.push_str(name(record.from));
            }
            text += &format!(" -{}-> {}", record.at.0, name(record.to));
        }
        text
    }
}
