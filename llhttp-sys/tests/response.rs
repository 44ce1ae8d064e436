//! Responses through the C parser: what it reports, how it pauses, and how it fails.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::{mem::MaybeUninit, ptr, slice};

use llhttp_sys::*;

/// What the callbacks saw.
#[derive(Default)]
struct Seen {
    fields: Vec<u8>,
    body: Vec<u8>,
    messages: usize,
    /// The parser's flags at the end of the header: they are gone after the message.
    flags: u16,
    /// Whether another message may follow, asked at the end of the message.
    keep_alive: bool,
    /// What `on_message_complete` returns.
    answer: c_uint,
}

/// The context of a callback.
///
/// # Safety
/// `parser` is one made by [`start`], while its `Seen` is not borrowed elsewhere.
unsafe fn seen<'a>(parser: *mut llhttp_t) -> &'a mut Seen {
    // SAFETY: `start` set `data` to a `Seen` that outlives the parser.
    unsafe { &mut *(*parser).data.cast() }
}

/// The bytes given to a callback.
///
/// # Safety
/// `at` and `len` are the arguments of the running callback.
unsafe fn bytes<'a>(at: *const c_char, len: usize) -> &'a [u8] {
    // SAFETY: llhttp passes a part of the slice it was given.
    unsafe { slice::from_raw_parts(at.cast(), len) }
}

unsafe extern "C" fn on_field(parser: *mut llhttp_t, at: *const c_char, len: usize) -> c_int {
    // SAFETY: called by llhttp, with a parser of `start`.
    unsafe { seen(parser).fields.extend(bytes(at, len)) };
    0
}

unsafe extern "C" fn on_field_complete(parser: *mut llhttp_t) -> c_int {
    // SAFETY: called by llhttp, with a parser of `start`.
    unsafe { seen(parser).fields.push(b'|') };
    0
}

unsafe extern "C" fn on_headers_complete(parser: *mut llhttp_t) -> c_int {
    // SAFETY: called by llhttp, with a parser of `start`.
    unsafe { seen(parser).flags = (*parser).flags };
    0
}

unsafe extern "C" fn on_body(parser: *mut llhttp_t, at: *const c_char, len: usize) -> c_int {
    // SAFETY: called by llhttp, with a parser of `start`.
    unsafe { seen(parser).body.extend(bytes(at, len)) };
    0
}

unsafe extern "C" fn on_message_complete(parser: *mut llhttp_t) -> c_int {
    // SAFETY: called by llhttp, with a parser of `start`.
    let seen = unsafe { seen(parser) };
    // SAFETY: the parser is initialized.
    seen.keep_alive = unsafe { llhttp_should_keep_alive(parser) } != 0;
    seen.messages += 1;
    seen.answer as c_int
}

static SETTINGS: llhttp_settings_t = llhttp_settings_t {
    on_header_field: Some(on_field),
    on_header_field_complete: Some(on_field_complete),
    on_header_value: Some(on_field),
    on_header_value_complete: Some(on_field_complete),
    on_headers_complete: Some(on_headers_complete),
    on_body: Some(on_body),
    on_message_complete: Some(on_message_complete),
    ..llhttp_settings_t::EMPTY
};

fn start(seen: &mut Seen) -> llhttp_t {
    let mut parser = MaybeUninit::uninit();
    // SAFETY: llhttp_init fills the whole structure; the settings are a static.
    let mut parser = unsafe {
        llhttp_init(parser.as_mut_ptr(), HTTP_RESPONSE, &SETTINGS);
        parser.assume_init()
    };
    parser.data = ptr::from_mut(seen).cast();
    parser
}

fn execute(parser: &mut llhttp_t, input: &[u8]) -> llhttp_errno_t {
    // SAFETY: the parser is initialized; pointer and length are those of one slice.
    unsafe { llhttp_execute(parser, input.as_ptr().cast(), input.len()) }
}

fn text(c: *const c_char) -> String {
    assert!(!c.is_null());
    // SAFETY: not null, and every text asked for in these tests is a string literal of C.
    unsafe { CStr::from_ptr(c) }
        .to_str()
        .expect("ASCII")
        .to_owned()
}

#[test]
fn the_library_is_9_3_or_later() {
    const { assert!(LLHTTP_VERSION_MAJOR == 9 && LLHTTP_VERSION_MINOR >= 3) }
}

#[test]
fn a_new_parser_is_strict() {
    let parser = start(&mut Seen::default());
    assert_eq!(parser.lenient_flags, 0);
    assert_eq!(u32::from(parser.r#type), HTTP_RESPONSE);
}

#[test]
fn a_response_is_reported_whole() {
    let mut seen = Seen::default();
    let mut parser = start(&mut seen);
    let input = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(execute(&mut parser, input), HPE_OK);
    assert_eq!(
        (parser.http_major, parser.http_minor, parser.status_code),
        (1, 1, 200)
    );
    assert_eq!(seen.flags, F_CONTENT_LENGTH);
    assert!(seen.keep_alive);
    assert_eq!(seen.fields, b"Server|x|Content-Length|5|");
    assert_eq!(seen.body, b"hello");
    assert_eq!(seen.messages, 1);
}

#[test]
fn a_parser_may_be_moved_between_any_two_bytes() {
    let input =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nT: v\r\n\r\n";
    let mut seen = Seen::default();
    let mut parser = start(&mut seen);
    for byte in input {
        // A copy of the byte as well: the parser must not look back into an input that is gone.
        let byte = vec![*byte];
        assert_eq!(execute(&mut parser, &byte), HPE_OK);
        let moved = Box::new(parser);
        parser = *moved;
    }
    assert_eq!(seen.fields, b"Transfer-Encoding|chunked|T|v|");
    assert_eq!(seen.body, b"abc");
    assert_eq!(seen.messages, 1);
}

#[test]
fn a_pause_stops_after_the_message_and_can_be_resumed() {
    let one = b"HTTP/1.1 204 No Content\r\n\r\n";
    let input = [&one[..], &one[..]].concat();
    let mut seen = Seen {
        answer: HPE_PAUSED,
        ..Seen::default()
    };
    let mut parser = start(&mut seen);
    assert_eq!(execute(&mut parser, &input), HPE_PAUSED);
    // SAFETY: the parser is initialized and paused.
    let position = unsafe {
        assert_eq!(llhttp_get_errno(&parser), HPE_PAUSED);
        let position = llhttp_get_error_pos(&parser);
        llhttp_resume(&mut parser);
        assert_eq!(llhttp_get_errno(&parser), HPE_OK);
        position
    };
    assert_eq!(position as usize - input.as_ptr() as usize, one.len());
    assert_eq!(execute(&mut parser, &input[one.len()..]), HPE_PAUSED);
    assert_eq!(seen.messages, 2);
}

#[test]
fn the_end_of_the_input_completes_a_body_without_length() {
    let mut seen = Seen::default();
    let mut parser = start(&mut seen);
    assert_eq!(
        execute(&mut parser, b"HTTP/1.1 200 OK\r\n\r\nall of it"),
        HPE_OK
    );
    // SAFETY: the parser is initialized.
    unsafe {
        assert_eq!(llhttp_message_needs_eof(&parser), 1);
        assert_eq!(llhttp_finish(&mut parser), HPE_OK);
    }
    assert_eq!(seen.body, b"all of it");
    assert_eq!(seen.messages, 1);
}

#[test]
fn the_end_of_the_input_inside_a_message_is_an_error() {
    let mut seen = Seen::default();
    let mut parser = start(&mut seen);
    assert_eq!(
        execute(
            &mut parser,
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
        ),
        HPE_OK
    );
    // SAFETY: the parser is initialized.
    unsafe {
        assert_eq!(llhttp_finish(&mut parser), HPE_INVALID_EOF_STATE);
        assert_eq!(
            text(llhttp_errno_name(HPE_INVALID_EOF_STATE)),
            "HPE_INVALID_EOF_STATE"
        );
    }
    assert_eq!(seen.messages, 0);
}

#[test]
fn an_error_stays_until_the_parser_is_reset() {
    let mut seen = Seen::default();
    let mut parser = start(&mut seen);
    assert_eq!(
        execute(&mut parser, b"HTTP/1.1 2x0 OK\r\n"),
        HPE_INVALID_STATUS
    );
    // SAFETY: the parser is initialized.
    let reason = text(unsafe { llhttp_get_error_reason(&parser) });
    assert!(reason.contains("status"), "{reason}");
    assert_eq!(
        execute(&mut parser, b"HTTP/1.1 204 No Content\r\n\r\n"),
        HPE_INVALID_STATUS
    );
    // SAFETY: as above.
    unsafe { llhttp_reset(&mut parser) };
    assert_eq!(
        execute(&mut parser, b"HTTP/1.1 204 No Content\r\n\r\n"),
        HPE_OK
    );
    assert_eq!(seen.messages, 1);
}
