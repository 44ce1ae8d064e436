//! The safe wrapper around llhttp: feed bytes, it stops after a head, after each piece of a
//! chunked body, and after the message. Every lenient flag stays off.
//!
//! llhttp's callbacks run inside C: they store offsets, return a code, never allocate beyond a
//! capacity reserved before the call, and never panic. The head's bytes are copied once, in one
//! piece, and the spans point into that copy, so a head cut over many reads needs no other buffer.

#![allow(unsafe_code, reason = "llhttp is C; this file is its safe wrapper")]

use alloc::boxed::Box;
use core::ffi::{c_char, c_int, c_void};

use llhttp_sys as sys;

use super::fault::{Fault, Limit, Misbehaviour};
use super::head::{FieldSpan, Head, Section, Span};
use super::limits::Limits;
use super::lines::{finish_field, is_status_line};

/// Where [`Parser::feed`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All input was taken and the message goes on.
    More,
    /// A complete head: see [`Parser::finish_head`].
    Head,
    /// A piece of a chunked body, a range of the input.
    Body { start: usize, end: usize },
    /// The last chunk and its trailers.
    End,
}

/// Which part of the message the parser is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Head,
    Chunk,
    Trailer,
}

/// What the callbacks note.
#[derive(Debug)]
struct Notes {
    /// Address of the input being executed; callbacks turn pointers into offsets with it.
    origin: usize,
    /// What turns an address in the input into an offset in the section, once the input is appended.
    shift: usize,
    section: Section,
    reason: Span,
    part: Part,
    /// In a chunked body: where in the input the trailer section began.
    trailers_from: Option<usize>,
    stop: Stop,
    extensions: u32,
    limits: Limits,
    fault: Option<Fault>,
}

/// One response being parsed. Boxed and recycled by the engine.
#[derive(Debug)]
pub(crate) struct Parser {
    raw: sys::llhttp_t,
    notes: Notes,
}

static SETTINGS: sys::llhttp_settings_t = sys::llhttp_settings_t {
    on_status: Some(on_status),
    on_header_field: Some(on_header_field),
    on_header_value: Some(on_header_value),
    on_chunk_header: Some(on_chunk_header),
    on_headers_complete: Some(on_headers_complete),
    on_chunk_extension_name: Some(on_extension),
    on_chunk_extension_value: Some(on_extension),
    on_body: Some(on_body),
    on_message_complete: Some(on_message_complete),
    ..sys::llhttp_settings_t::EMPTY
};

impl Parser {
    pub(crate) fn new(limits: Limits) -> Box<Parser> {
        let mut parser = Box::new(Parser {
            // Overwritten by `reset` below; llhttp_init demands no earlier value.
            raw: BLANK,
            notes: Notes {
                origin: 0,
                shift: 0,
                section: Section::default(),
                reason: Span::default(),
                part: Part::Head,
                trailers_from: None,
                stop: Stop::More,
                extensions: 0,
                limits,
                fault: None,
            },
        });
        parser.reset();
        parser
    }

    /// Makes ready for a response within other limits; buffers keep their capacity.
    pub(crate) fn begin(&mut self, limits: &Limits) {
        self.notes.limits = *limits;
        self.reset();
    }

    /// What the response may cost.
    pub(crate) fn limits(&self) -> &Limits {
        &self.notes.limits
    }

    /// Makes ready for the next message; buffers keep their capacity.
    pub(crate) fn reset(&mut self) {
        // SAFETY: `raw` is a valid llhttp_t and SETTINGS is 'static, as llhttp keeps the pointer.
        unsafe { sys::llhttp_init(&mut self.raw, sys::HTTP_RESPONSE, &SETTINGS) };
        let notes = &mut self.notes;
        notes.section.clear();
        let lines = notes.limits.lines as usize;
        // Callbacks must not allocate: room for every line we would accept, kept across messages.
        notes.section.fields.reserve_exact(lines);
        notes.reason = Span::default();
        notes.part = Part::Head;
        notes.trailers_from = None;
        notes.extensions = 0;
        notes.fault = None;
    }

    /// Whether no byte of this message was fed.
    pub(crate) fn is_fresh(&self) -> bool {
        self.notes.section.bytes.is_empty() && self.notes.part == Part::Head
    }

    /// Feeds head bytes. Returns how many were taken, and [`Stop::More`] or [`Stop::Head`].
    pub(crate) fn feed_head(&mut self, input: &[u8]) -> Result<(usize, Stop), Fault> {
        // llhttp skips line ends before a status line; a response begins with its version.
        if self.is_fresh() && input.first().is_some_and(|&b| b != b'H') {
            return Err(Misbehaviour::StatusLine.into());
        }
        let gathered = self.notes.section.bytes.len();
        // Never more than the limit is looked at, so a head just as long still passes.
        let room = (self.notes.limits.head as usize).saturating_sub(gathered);
        let (input, cut) = (&input[..input.len().min(room)], input.len() > room);
        let (taken, stop) = self.execute(input, gathered)?;
        self.notes.section.bytes.extend_from_slice(&input[..taken]);
        match stop {
            Stop::More if cut || room == 0 => Err(Limit::Head.into()),
            // Zeros stand for what has not come yet.
            Stop::More if self.raw.http_major > 1 || self.raw.http_minor > 1 => {
                Err(Misbehaviour::Version.into())
            }
            stop => Ok((taken, stop)),
        }
    }

    /// Feeds bytes of a chunked body, from behind the head on.
    pub(crate) fn feed_chunked(&mut self, input: &[u8]) -> Result<(usize, Stop), Fault> {
        let gathered = self.notes.section.bytes.len();
        // The section begins with its first line: the line end of an empty one is none of it.
        self.notes.trailers_from =
            (self.notes.part == Part::Trailer && self.has_fields()).then_some(0);
        let (taken, stop) = self.execute(input, gathered)?;
        if self.raw.content_length > CHUNK_MAX {
            return Err(Misbehaviour::ChunkSize.into());
        }
        if let Some(from) = self.notes.trailers_from {
            let section = &mut self.notes.section;
            section
                .bytes
                .extend_from_slice(&input[from.min(taken)..taken]);
            if section.bytes.len() > self.notes.limits.trailers as usize {
                return Err(Limit::Trailers.into());
            }
        }
        Ok((taken, stop))
    }

    /// Runs llhttp over `input`, with `gathered` bytes of the section before it.
    #[inline(always)]
    fn execute(&mut self, input: &[u8], gathered: usize) -> Result<(usize, Stop), Fault> {
        self.notes.origin = input.as_ptr() as usize;
        self.notes.shift = gathered.wrapping_sub(self.notes.origin);
        self.notes.stop = Stop::More;
        if self.raw.error == sys::HPE_PAUSED as i32 {
            // SAFETY: `raw` was initialised by llhttp_init and is paused, which resume demands.
            unsafe { sys::llhttp_resume(&mut self.raw) };
        }
        self.raw.data = (&raw mut self.notes).cast::<c_void>();
        // SAFETY: `input` is valid for its length; the callbacks get `data`, which points to our
        // notes, and nothing else refers to them until the call returns.
        let errno = unsafe {
            sys::llhttp_execute(&mut self.raw, input.as_ptr().cast::<c_char>(), input.len())
        };
        self.raw.data = core::ptr::null_mut();
        match errno {
            sys::HPE_OK => Ok((input.len(), Stop::More)),
            sys::HPE_PAUSED | sys::HPE_PAUSED_UPGRADE if self.notes.stop != Stop::More => {
                // SAFETY: `raw` was initialised; the result points into `input` or one past it.
                let at = unsafe { sys::llhttp_get_error_pos(&self.raw) } as usize;
                Ok((
                    at.saturating_sub(self.notes.origin).min(input.len()),
                    self.notes.stop,
                ))
            }
            errno => Err(self.notes.fault.unwrap_or_else(|| {
                // SAFETY: `raw` was initialised; the result points into `input` or one past it.
                let at = unsafe { sys::llhttp_get_error_pos(&self.raw) } as usize;
                let before = at.saturating_sub(self.notes.origin).min(input.len());
                self.blame(errno, input.split_at(before))
            })),
        }
    }

    /// Names the part that llhttp stumbled over, in the input before and from there on.
    fn blame(&self, errno: sys::llhttp_errno_t, input: (&[u8], &[u8])) -> Fault {
        let part = match errno {
            sys::HPE_INVALID_CONTENT_LENGTH | sys::HPE_UNEXPECTED_CONTENT_LENGTH => {
                Misbehaviour::ContentLength
            }
            sys::HPE_INVALID_TRANSFER_ENCODING => Misbehaviour::TransferEncoding,
            sys::HPE_INVALID_CHUNK_SIZE => Misbehaviour::ChunkSize,
            sys::HPE_INVALID_VERSION => Misbehaviour::Version,
            _ => match self.notes.part {
                Part::Head => self.blame_line(input),
                Part::Chunk => Misbehaviour::ChunkSize,
                Part::Trailer => Misbehaviour::Trailer,
            },
        };
        part.into()
    }

    /// The part of a head that ends between the two: told from its last line, so that a head that
    /// is well costs nothing for it.
    fn blame_line(&self, (before, from): (&[u8], &[u8])) -> Misbehaviour {
        let gathered = &self.notes.section.bytes;
        let head = || gathered.iter().chain(before);
        let mut last = head().rev();
        let ended = (last.next(), last.next()) == (Some(&b'\n'), Some(&b'\r'));
        if ended && last.next() != Some(&b'\r') {
            // The line before is well ended: the first byte of this one begins no name, or a fold.
            return match from {
                [b' ' | b'\t', ..] => Misbehaviour::HeaderValue,
                _ => Misbehaviour::HeaderName,
            };
        }
        // A line that was ended wrongly is the one to blame, not the one behind it.
        let line = head().rev().skip(1).take_while(|&&b| b != b'\n').count() + 1;
        if line >= head().count() {
            Misbehaviour::StatusLine
        } else if head().rev().take(line).any(|&b| b == b':') {
            Misbehaviour::HeaderValue
        } else {
            Misbehaviour::HeaderName
        }
    }

    /// The head that [`Stop::Head`] announced, checked where llhttp is too kind, swapped into
    /// `head`. The parser goes on with the body.
    pub(crate) fn finish_head(&mut self, head: &mut Head) -> Result<(), Fault> {
        head.clear();
        head.status = self.raw.status_code;
        head.minor = self.raw.http_minor;
        head.reason = self.notes.reason;
        self.take_section(&mut head.fields)?;
        self.notes.part = Part::Chunk;
        if self.raw.http_major != 1 || head.minor > 1 {
            return Err(Misbehaviour::Version.into());
        }
        if head.status < 100 || !is_status_line(head) {
            return Err(Misbehaviour::StatusLine.into());
        }
        Ok(())
    }

    /// Swaps the gathered section into `into`, whose buffers the parser goes on with.
    pub(crate) fn take_section(&mut self, into: &mut Section) -> Result<(), Fault> {
        let gathered = &mut self.notes.section;
        for field in &mut gathered.fields {
            finish_field(&gathered.bytes, field)?;
        }
        into.clear();
        core::mem::swap(gathered, into);
        // The callbacks push without allocating, so the swapped-in buffer needs the same room.
        gathered
            .fields
            .reserve_exact(self.notes.limits.lines as usize);
        Ok(())
    }

    /// Whether the section being gathered has field lines.
    pub(crate) fn has_fields(&self) -> bool {
        !self.notes.section.fields.is_empty()
    }

    /// Whether llhttp, too, reads the body as chunked.
    pub(crate) fn is_chunked(&self) -> bool {
        self.raw.flags & sys::F_CHUNKED != 0
    }
}

/// A chunk is as long as a body may say it is: 63 bits.
const CHUNK_MAX: u64 = i64::MAX as u64;

/// A parser before llhttp_init.
const BLANK: sys::llhttp_t = sys::llhttp_t {
    _index: 0,
    _span_pos0: core::ptr::null_mut(),
    _span_cb0: core::ptr::null_mut(),
    error: 0,
    reason: core::ptr::null(),
    error_pos: core::ptr::null(),
    data: core::ptr::null_mut(),
    _current: core::ptr::null_mut(),
    content_length: 0,
    r#type: 0,
    method: 0,
    http_major: 0,
    http_minor: 0,
    header_state: 0,
    lenient_flags: 0,
    upgrade: 0,
    finish: 0,
    flags: 0,
    status_code: 0,
    initial_message_completed: 0,
    settings: core::ptr::null_mut(),
};

const GO_ON: c_int = 0;
const PAUSE: c_int = sys::HPE_PAUSED as c_int;
/// Makes llhttp stop with HPE_USER or HPE_CB_*; the reason is in `Notes::fault`.
const REFUSE: c_int = -1;

/// The notes of the parser a callback was called for.
///
/// # Safety
/// Only from a callback, with the pointer it was given.
unsafe fn notes<'a>(raw: *mut sys::llhttp_t) -> &'a mut Notes {
    // SAFETY: `execute` set `data` to the notes and holds no reference to them during the call.
    unsafe { &mut *(*raw).data.cast::<Notes>() }
}

impl Notes {
    fn refuse(&mut self, fault: impl Into<Fault>) -> c_int {
        self.fault = Some(fault.into());
        REFUSE
    }

    /// Offset of a pointer into the input, in the input.
    fn offset(&self, at: *const c_char) -> usize {
        (at as usize).wrapping_sub(self.origin)
    }

    /// The range of the section that `len` bytes at `at` will take once the input is appended.
    #[inline]
    fn span(&self, at: *const c_char, len: usize) -> Span {
        let start = (at as usize).wrapping_add(self.shift);
        Span {
            start: start as u32,
            end: (start + len) as u32,
        }
    }
}

unsafe extern "C" fn on_status(raw: *mut sys::llhttp_t, at: *const c_char, len: usize) -> c_int {
    // SAFETY: called by llhttp during `execute`.
    let n = unsafe { notes(raw) };
    let span = n.span(at, len);
    match n.reason.end {
        0 => n.reason = span,
        _ => n.reason.end = span.end,
    }
    GO_ON
}

unsafe extern "C" fn on_header_field(
    raw: *mut sys::llhttp_t,
    at: *const c_char,
    len: usize,
) -> c_int {
    // SAFETY: called by llhttp during `execute`.
    let n = unsafe { notes(raw) };
    if n.part == Part::Trailer && n.trailers_from.is_none() {
        // The first bytes of the input were chunk data: the section begins here.
        n.trailers_from = Some(n.offset(at));
        n.shift = n.shift.wrapping_sub(n.offset(at));
    }
    let span = n.span(at, len);
    // llhttp reports a value for every line: until then the name goes on.
    if let Some(line) = n
        .section
        .fields
        .last_mut()
        .filter(|line| line.value.end == 0)
    {
        line.name.end = span.end;
        return GO_ON;
    }
    if n.section.fields.len() >= n.limits.lines as usize {
        return n.refuse(Limit::Lines);
    }
    let value = Span::default();
    // Within the capacity reserved by `reset` and `take_section`: does not allocate.
    n.section.fields.push(FieldSpan { name: span, value });
    GO_ON
}

unsafe extern "C" fn on_header_value(
    raw: *mut sys::llhttp_t,
    at: *const c_char,
    len: usize,
) -> c_int {
    // SAFETY: called by llhttp during `execute`.
    let n = unsafe { notes(raw) };
    let span = n.span(at, len);
    match n.section.fields.last_mut() {
        Some(line) if line.value.end == 0 => line.value = span,
        Some(line) if line.value.end == span.start => line.value.end = span.end,
        // A second stretch of one value that does not continue the first is a folded line.
        _ => return n.refuse(Misbehaviour::HeaderValue),
    }
    GO_ON
}

unsafe extern "C" fn on_headers_complete(raw: *mut sys::llhttp_t) -> c_int {
    // SAFETY: called by llhttp during `execute`.
    let n = unsafe { notes(raw) };
    n.stop = Stop::Head;
    PAUSE
}

unsafe extern "C" fn on_chunk_header(raw: *mut sys::llhttp_t) -> c_int {
    // SAFETY: called by llhttp during `execute`, with a parser it has initialised.
    let (n, size) = unsafe { (notes(raw), (*raw).content_length) };
    match size {
        // Behind the last chunk come the trailers.
        0 => n.part = Part::Trailer,
        1..=CHUNK_MAX => {}
        _ => return n.refuse(Misbehaviour::ChunkSize),
    }
    GO_ON
}

unsafe extern "C" fn on_extension(
    raw: *mut sys::llhttp_t,
    _at: *const c_char,
    len: usize,
) -> c_int {
    // SAFETY: called by llhttp during `execute`.
    let n = unsafe { notes(raw) };
    n.extensions = n
        .extensions
        .saturating_add(len.min(u32::MAX as usize) as u32);
    if n.extensions > n.limits.extensions {
        n.refuse(Limit::Extensions)
    } else {
        GO_ON
    }
}

unsafe extern "C" fn on_body(raw: *mut sys::llhttp_t, at: *const c_char, len: usize) -> c_int {
    // SAFETY: called by llhttp during `execute`.
    let n = unsafe { notes(raw) };
    let start = n.offset(at);
    n.stop = Stop::Body {
        start,
        end: start + len,
    };
    PAUSE
}

unsafe extern "C" fn on_message_complete(raw: *mut sys::llhttp_t) -> c_int {
    // SAFETY: called by llhttp during `execute`.
    let n = unsafe { notes(raw) };
    n.stop = Stop::End;
    PAUSE
}
