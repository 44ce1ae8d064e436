//! Bindings to [llhttp](https://llhttp.org) 9.3, the HTTP/1 parser of Node.js.
//!
//! Names, fields and values are those of `llhttp.h`, whose comments are the reference for what each function
//! promises. Nothing here is safe to call without reading them; a safe wrapper belongs to the user of this crate.
//! `build.rs` finds or compiles the C library and refuses one whose header disagrees with these declarations.
//! The tables of methods and of status codes are not repeated: both arrive as plain numbers.
//!
//! ```
//! use core::{ffi::c_int, mem::MaybeUninit, ptr};
//! use llhttp_sys::{HPE_OK, HTTP_RESPONSE, llhttp_execute, llhttp_init, llhttp_settings_t, llhttp_t};
//!
//! unsafe extern "C" fn complete(parser: *mut llhttp_t) -> c_int {
//!     // SAFETY: llhttp passes the parser it was called with, whose `data` was set to a `u32` below.
//!     unsafe { *(*parser).data.cast::<u32>() += 1 };
//!     0
//! }
//! static SETTINGS: llhttp_settings_t =
//!     llhttp_settings_t { on_message_complete: Some(complete), ..llhttp_settings_t::EMPTY };
//!
//! let mut messages = 0_u32;
//! let mut parser = MaybeUninit::<llhttp_t>::uninit();
//! let input = b"HTTP/1.1 204 No Content\r\n\r\n";
//! // SAFETY: llhttp_init fills the whole structure, and the settings, a static, outlive it.
//! let parser = unsafe {
//!     llhttp_init(parser.as_mut_ptr(), HTTP_RESPONSE, &SETTINGS);
//!     parser.assume_init_mut()
//! };
//! parser.data = ptr::from_mut(&mut messages).cast();
//! // SAFETY: the parser is initialized and the pointer and length are those of one slice.
//! let result = unsafe { llhttp_execute(parser, input.as_ptr().cast(), input.len()) };
//! assert_eq!((result, parser.status_code, messages), (HPE_OK, 204, 1));
//! ```
#![no_std]
#![allow(non_camel_case_types, reason = "the names are those of llhttp.h")]

mod constants;
mod functions;
#[cfg(test)]
mod layout;

use core::ffi::{c_char, c_int, c_uint, c_void};

pub use constants::*;
pub use functions::*;

/// An error code: one of the `HPE_*` constants. A plain number, because another llhttp may return others.
pub type llhttp_errno_t = c_uint;

/// What a parser parses: [`HTTP_BOTH`], [`HTTP_REQUEST`] or [`HTTP_RESPONSE`].
pub type llhttp_type_t = c_uint;

/// A method number, as in [`llhttp_t::method`].
pub type llhttp_method_t = c_uint;

/// A status code, as in [`llhttp_t::status_code`].
pub type llhttp_status_t = c_uint;

/// Called at a point of the message. Zero goes on, an `HPE_*` code stops [`llhttp_execute`] with that code.
/// It must not unwind.
pub type llhttp_cb = Option<unsafe extern "C" fn(parser: *mut llhttp_t) -> c_int>;

/// Called with a piece of the input: `at` points into the slice given to [`llhttp_execute`] and is valid during
/// the call only. One element may come in several pieces. It must not unwind.
pub type llhttp_data_cb =
    Option<unsafe extern "C" fn(parser: *mut llhttp_t, at: *const c_char, length: usize) -> c_int>;

/// The parser. [`llhttp_init`] fills it; the fields below may then be read at any time.
///
/// It holds no pointer to itself, and none to the input once [`llhttp_execute`] has returned other than
/// `error_pos`, so it may be moved and copied between calls.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct llhttp_t {
    /// Used by the parser.
    pub _index: i32,
    /// Used by the parser: where the element being reported began.
    pub _span_pos0: *mut c_void,
    /// Used by the parser: how that element is reported.
    pub _span_cb0: *mut c_void,
    /// The error the parser stopped with: an `HPE_*` code.
    pub error: i32,
    /// What went wrong, in words; null or a static string (unless a callback set it).
    pub reason: *const c_char,
    /// Where parsing stopped, in the last input.
    pub error_pos: *const c_char,
    /// Free for the user: the callbacks find their context here.
    pub data: *mut c_void,
    /// Used by the parser: the state it goes on in.
    pub _current: *mut c_void,
    /// Bytes of the body, or of the current chunk, still to come.
    pub content_length: u64,
    /// What is parsed, as given to [`llhttp_init`].
    pub r#type: u8,
    /// The method of a request, as a number.
    pub method: u8,
    /// The major version of the message.
    pub http_major: u8,
    /// The minor version of the message.
    pub http_minor: u8,
    /// Used by the parser: which special header it is in.
    pub header_state: u8,
    /// The `LENIENT_*` bits in force; zero after [`llhttp_init`].
    pub lenient_flags: u16,
    /// Whether the connection becomes something else after this message.
    pub upgrade: u8,
    /// What the end of the input means here: an `HTTP_FINISH_*` value.
    pub finish: u8,
    /// What the header said: `F_*` bits. Complete in `on_headers_complete`, cleared after the message.
    pub flags: u16,
    /// The status code of a response.
    pub status_code: u16,
    /// Whether a message was completed before.
    pub initial_message_completed: u8,
    /// The [`llhttp_settings_t`] given to [`llhttp_init`].
    pub settings: *mut c_void,
}

/// The callbacks of a parser, all optional. It must outlive every parser initialized with it: a `static` does.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct llhttp_settings_t {
    /// A message begins.
    pub on_message_begin: llhttp_cb,
    /// A piece of the protocol name, `HTTP`.
    pub on_protocol: llhttp_data_cb,
    /// A piece of the request target.
    pub on_url: llhttp_data_cb,
    /// A piece of the reason phrase.
    pub on_status: llhttp_data_cb,
    /// A piece of the method.
    pub on_method: llhttp_data_cb,
    /// A piece of the version, as in `1.1`.
    pub on_version: llhttp_data_cb,
    /// A piece of a field name, in the header or the trailer.
    pub on_header_field: llhttp_data_cb,
    /// A piece of a field value, in the header or the trailer.
    pub on_header_value: llhttp_data_cb,
    /// A piece of the name of a chunk extension.
    pub on_chunk_extension_name: llhttp_data_cb,
    /// A piece of the value of a chunk extension.
    pub on_chunk_extension_value: llhttp_data_cb,
    /// The header is complete. Returning 1 says that no body follows, 2 that neither body nor message follows.
    pub on_headers_complete: llhttp_cb,
    /// A piece of the body, without its chunk framing.
    pub on_body: llhttp_data_cb,
    /// The message is complete.
    pub on_message_complete: llhttp_cb,
    /// The protocol name is complete.
    pub on_protocol_complete: llhttp_cb,
    /// The request target is complete.
    pub on_url_complete: llhttp_cb,
    /// The reason phrase is complete.
    pub on_status_complete: llhttp_cb,
    /// The method is complete.
    pub on_method_complete: llhttp_cb,
    /// The version is complete.
    pub on_version_complete: llhttp_cb,
    /// A field name is complete.
    pub on_header_field_complete: llhttp_cb,
    /// A field value is complete.
    pub on_header_value_complete: llhttp_cb,
    /// The name of a chunk extension is complete.
    pub on_chunk_extension_name_complete: llhttp_cb,
    /// The value of a chunk extension is complete.
    pub on_chunk_extension_value_complete: llhttp_cb,
    /// A chunk begins; its size is in [`llhttp_t::content_length`].
    pub on_chunk_header: llhttp_cb,
    /// A chunk is complete.
    pub on_chunk_complete: llhttp_cb,
    /// Another message begins on the same connection; the parser forgot the previous one.
    pub on_reset: llhttp_cb,
}

impl llhttp_settings_t {
    /// No callbacks: what [`llhttp_settings_init`] makes, as a constant to build a `static` from.
    pub const EMPTY: Self = Self {
        on_message_begin: None,
        on_protocol: None,
        on_url: None,
        on_status: None,
        on_method: None,
        on_version: None,
        on_header_field: None,
        on_header_value: None,
        on_chunk_extension_name: None,
        on_chunk_extension_value: None,
        on_headers_complete: None,
        on_body: None,
        on_message_complete: None,
        on_protocol_complete: None,
        on_url_complete: None,
        on_status_complete: None,
        on_method_complete: None,
        on_version_complete: None,
        on_header_field_complete: None,
        on_header_value_complete: None,
        on_chunk_extension_name_complete: None,
        on_chunk_extension_value_complete: None,
        on_chunk_header: None,
        on_chunk_complete: None,
        on_reset: None,
    };
}
