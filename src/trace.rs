//! The one line format, for snapshots, for nginx's log, and for what the simulator reports.
//!
//! ```text
//!    0ms e0 > fetch     POST http://a.test/up body=10000
//!    2ms c0 = Resolving -> Connecting
//!    9ms e0 < head      413 length=0
//! ```
//!
//! `>` a fact in, `<` an order or a result out, `=` a move and its reason. Milliseconds count from
//! the first line. No pointers, no header values, no bodies: these are only in the facts that are
//! asked for separately, with which a trace can be replayed (`docs/tracing.md`).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write as _};

use crate::time::Instant;

/// Whom a line is about: c for connections, e for exchanges, each counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) kind: char,
    pub(crate) serial: u32,
}

/// What a line begins with that says how many are missing before it.
pub(crate) const LOST: &str = "lines lost:";

/// Bytes as a script writes them, in quotes.
pub(crate) struct Quoted<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for &byte in self.0 {
            match byte {
                b'\r' => f.write_str("\\r"),
                b'\n' => f.write_str("\\n"),
                b'\t' => f.write_str("\\t"),
                b'"' | b'\\' => write!(f, "\\{}", char::from(byte)),
                b' '..=b'~' => f.write_char(char::from(byte)),
                _ => write!(f, "\\x{byte:02x}"),
            }?;
        }
        f.write_char('"')
    }
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
    facts: bool,
    base: Option<Instant>,
    lines: VecDeque<String>,
    /// Lines that waited too long.
    lost: usize,
    /// A ring: `next`, counted from the first move, is the oldest.
    recent: Box<[Option<Record>; RECENT]>,
    next: usize,
}

/// So many moves are remembered.
const RECENT: usize = 256;
/// So many lines wait for a driver that does not fetch them.
const LINES: usize = 16384;
/// So many bytes stand in one line at most: escaped, they fit a line of nginx's log.
const BYTES: usize = 400;

impl Trace {
    pub(crate) fn new() -> Trace {
        Trace {
            on: false,
            facts: false,
            base: None,
            lines: VecDeque::new(),
            lost: 0,
            recent: Box::new([None; RECENT]),
            next: 0,
        }
    }

    /// `facts`: with every fact that comes in, bytes among them.
    pub(crate) fn set(&mut self, on: bool, facts: bool) {
        self.on = on;
        self.facts = on && facts;
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    #[inline]
    pub(crate) fn has_facts(&self) -> bool {
        self.facts
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
            self.lost += 1;
        }
        let Subject { kind, serial } = who;
        self.lines.push_back(format!(
            "{:>6}ms {kind}{serial} {mark} {text}",
            at.since(base)
        ));
    }

    /// Writes a fact made of bytes. A `+` behind its name says that the next line continues it.
    pub(crate) fn bytes(&mut self, at: Instant, who: Subject, what: &str, bytes: &[u8]) {
        let mut pieces = bytes.chunks(BYTES).peekable();
        while let Some(piece) = pieces.next() {
            let more = if pieces.peek().is_some() { "+" } else { "" };
            let piece = Quoted(piece);
            self.line(at, who, '>', format_args!("{what}{more} {piece}"));
        }
    }

    /// Whether there may be something for [`Trace::poll`] to give.
    #[inline]
    pub(crate) fn has_lines(&self) -> bool {
        self.on || !self.lines.is_empty()
    }

    pub(crate) fn poll(&mut self) -> Option<String> {
        match core::mem::take(&mut self.lost) {
            0 => self.lines.pop_front(),
            lost => Some(format!("{LOST} {lost}")),
        }
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
