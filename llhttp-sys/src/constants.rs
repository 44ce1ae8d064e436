//! The numbers of `llhttp.h`.

use crate::{llhttp_errno_t, llhttp_type_t};

/// The version of the header that the library was checked against: its major number.
pub const LLHTTP_VERSION_MAJOR: u32 = decimal(env!("LLHTTP_VERSION_MAJOR"));

/// The version of the header that the library was checked against: its minor number.
pub const LLHTTP_VERSION_MINOR: u32 = decimal(env!("LLHTTP_VERSION_MINOR"));

/// The version of the header that the library was checked against: its patch number.
pub const LLHTTP_VERSION_PATCH: u32 = decimal(env!("LLHTTP_VERSION_PATCH"));

/// The number that build.rs read from the header; anything else fails the build.
const fn decimal(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("llhttp.h defines its version in a way this crate does not know"),
    }
}

/// Declares the constants, and for the tests a list of them.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $type = $value;)*

        /// Every constant under its name in C.
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, usize)] = &[$((stringify!($name), $name as usize)),*];
    };
}

constants! {
    /// No error.
    HPE_OK: llhttp_errno_t = 0;
    /// The parser contradicts itself.
    HPE_INTERNAL: llhttp_errno_t = 1;
    /// Something that only a lenient flag allows.
    HPE_STRICT: llhttp_errno_t = 2;
    /// A line feed was expected.
    HPE_LF_EXPECTED: llhttp_errno_t = 3;
    /// `Content-Length` where it must not be.
    HPE_UNEXPECTED_CONTENT_LENGTH: llhttp_errno_t = 4;
    /// Data after a message that closes the connection.
    HPE_CLOSED_CONNECTION: llhttp_errno_t = 5;
    /// The method is none.
    HPE_INVALID_METHOD: llhttp_errno_t = 6;
    /// The request target is malformed.
    HPE_INVALID_URL: llhttp_errno_t = 7;
    /// A fixed text, such as `HTTP/`, was expected.
    HPE_INVALID_CONSTANT: llhttp_errno_t = 8;
    /// The version is malformed or not supported.
    HPE_INVALID_VERSION: llhttp_errno_t = 9;
    /// A byte that a field must not contain.
    HPE_INVALID_HEADER_TOKEN: llhttp_errno_t = 10;
    /// `Content-Length` is not one number.
    HPE_INVALID_CONTENT_LENGTH: llhttp_errno_t = 11;
    /// A chunk size is malformed or too large.
    HPE_INVALID_CHUNK_SIZE: llhttp_errno_t = 12;
    /// The status code is malformed.
    HPE_INVALID_STATUS: llhttp_errno_t = 13;
    /// The input ended inside a message.
    HPE_INVALID_EOF_STATE: llhttp_errno_t = 14;
    /// `Transfer-Encoding` does not end with `chunked` where it must, or contradicts `Content-Length`.
    HPE_INVALID_TRANSFER_ENCODING: llhttp_errno_t = 15;
    /// `on_message_begin` failed.
    HPE_CB_MESSAGE_BEGIN: llhttp_errno_t = 16;
    /// `on_headers_complete` failed.
    HPE_CB_HEADERS_COMPLETE: llhttp_errno_t = 17;
    /// `on_message_complete` failed.
    HPE_CB_MESSAGE_COMPLETE: llhttp_errno_t = 18;
    /// `on_chunk_header` failed.
    HPE_CB_CHUNK_HEADER: llhttp_errno_t = 19;
    /// `on_chunk_complete` failed.
    HPE_CB_CHUNK_COMPLETE: llhttp_errno_t = 20;
    /// A callback or [`llhttp_pause`](crate::llhttp_pause) asked to stop here for now.
    HPE_PAUSED: llhttp_errno_t = 21;
    /// The connection becomes something else here.
    HPE_PAUSED_UPGRADE: llhttp_errno_t = 22;
    /// The preface of HTTP/2 came.
    HPE_PAUSED_H2_UPGRADE: llhttp_errno_t = 23;
    /// A callback for data failed.
    HPE_USER: llhttp_errno_t = 24;
    /// A carriage return was expected.
    HPE_CR_EXPECTED: llhttp_errno_t = 25;
    /// `on_url_complete` failed.
    HPE_CB_URL_COMPLETE: llhttp_errno_t = 26;
    /// `on_status_complete` failed.
    HPE_CB_STATUS_COMPLETE: llhttp_errno_t = 27;
    /// `on_header_field_complete` failed.
    HPE_CB_HEADER_FIELD_COMPLETE: llhttp_errno_t = 28;
    /// `on_header_value_complete` failed.
    HPE_CB_HEADER_VALUE_COMPLETE: llhttp_errno_t = 29;
    /// A space where none may be.
    HPE_UNEXPECTED_SPACE: llhttp_errno_t = 30;
    /// `on_reset` failed.
    HPE_CB_RESET: llhttp_errno_t = 31;
    /// `on_method_complete` failed.
    HPE_CB_METHOD_COMPLETE: llhttp_errno_t = 32;
    /// `on_version_complete` failed.
    HPE_CB_VERSION_COMPLETE: llhttp_errno_t = 33;
    /// `on_chunk_extension_name_complete` failed.
    HPE_CB_CHUNK_EXTENSION_NAME_COMPLETE: llhttp_errno_t = 34;
    /// `on_chunk_extension_value_complete` failed.
    HPE_CB_CHUNK_EXTENSION_VALUE_COMPLETE: llhttp_errno_t = 35;
    /// `on_protocol_complete` failed.
    HPE_CB_PROTOCOL_COMPLETE: llhttp_errno_t = 38;

    /// `Connection` holds `keep-alive`.
    F_CONNECTION_KEEP_ALIVE: u16 = 0x1;
    /// `Connection` holds `close`.
    F_CONNECTION_CLOSE: u16 = 0x2;
    /// `Connection` holds `upgrade`.
    F_CONNECTION_UPGRADE: u16 = 0x4;
    /// The last transfer coding is `chunked`.
    F_CHUNKED: u16 = 0x8;
    /// There is an `Upgrade`.
    F_UPGRADE: u16 = 0x10;
    /// There is a `Content-Length`.
    F_CONTENT_LENGTH: u16 = 0x20;
    /// No body follows: a callback said so.
    F_SKIPBODY: u16 = 0x40;
    /// The parser is in the trailer.
    F_TRAILING: u16 = 0x80;
    /// There is a `Transfer-Encoding`.
    F_TRANSFER_ENCODING: u16 = 0x200;

    /// Bytes in field values are not checked.
    LENIENT_HEADERS: u16 = 0x1;
    /// `Transfer-Encoding` and `Content-Length` may come together.
    LENIENT_CHUNKED_LENGTH: u16 = 0x2;
    /// A message may follow one that closes the connection.
    LENIENT_KEEP_ALIVE: u16 = 0x4;
    /// A coding may follow `chunked`.
    LENIENT_TRANSFER_ENCODING: u16 = 0x8;
    /// Any version is accepted.
    LENIENT_VERSION: u16 = 0x10;
    /// Data after a message that closes the connection is dropped.
    LENIENT_DATA_AFTER_CLOSE: u16 = 0x20;
    /// A carriage return alone ends a line.
    LENIENT_OPTIONAL_LF_AFTER_CR: u16 = 0x40;
    /// A chunk may end without its line end.
    LENIENT_OPTIONAL_CRLF_AFTER_CHUNK: u16 = 0x80;
    /// A line feed alone ends a line.
    LENIENT_OPTIONAL_CR_BEFORE_LF: u16 = 0x100;
    /// Spaces may follow a chunk size.
    LENIENT_SPACES_AFTER_CHUNK_SIZE: u16 = 0x200;

    /// Requests or responses: the first message decides.
    HTTP_BOTH: llhttp_type_t = 0;
    /// Requests.
    HTTP_REQUEST: llhttp_type_t = 1;
    /// Responses.
    HTTP_RESPONSE: llhttp_type_t = 2;

    /// [`llhttp_t::finish`](crate::llhttp_t::finish): the input may end here, between messages.
    HTTP_FINISH_SAFE: u8 = 0;
    /// The input may end here, and its end completes the message.
    HTTP_FINISH_SAFE_WITH_CB: u8 = 1;
    /// The input ends inside a message.
    HTTP_FINISH_UNSAFE: u8 = 2;
}
