//! The functions of `llhttp.h`, apart from those that exist for WebAssembly only.

use core::ffi::{c_char, c_int};

use crate::{
    llhttp_errno_t, llhttp_method_t, llhttp_settings_t, llhttp_status_t, llhttp_t, llhttp_type_t,
};

// SAFETY: these are the prototypes of llhttp.h. Where a parser is asked for, it must have been filled by
// `llhttp_init` and its settings must still live. llhttp never unwinds, blocks, allocates or keeps global state.
unsafe extern "C" {
    /// Fills `parser` for messages of `type`. The settings are kept by address.
    pub fn llhttp_init(
        parser: *mut llhttp_t,
        r#type: llhttp_type_t,
        settings: *const llhttp_settings_t,
    );

    /// Takes the parser back to the start of a connection. Type, settings, `data` and lenient flags stay.
    pub fn llhttp_reset(parser: *mut llhttp_t);

    /// Fills `settings` with no callbacks.
    pub fn llhttp_settings_init(settings: *mut llhttp_settings_t);

    /// Parses `len` bytes at `data`, calling back on the way.
    ///
    /// An error other than a pause is final: further calls return it again.
    pub fn llhttp_execute(parser: *mut llhttp_t, data: *const c_char, len: usize)
    -> llhttp_errno_t;

    /// Says that no more input comes. Completes a message that ends with its connection.
    pub fn llhttp_finish(parser: *mut llhttp_t) -> llhttp_errno_t;

    /// Whether the message ends only with its connection. To be asked from `on_headers_complete` on, and up to
    /// `on_message_complete`.
    pub fn llhttp_message_needs_eof(parser: *const llhttp_t) -> c_int;

    /// Whether another message may follow on this connection. To be asked up to `on_message_complete`: the
    /// parser forgets the header after it.
    pub fn llhttp_should_keep_alive(parser: *const llhttp_t) -> c_int;

    /// Makes [`llhttp_execute`] return [`HPE_PAUSED`](crate::HPE_PAUSED). Callbacks return that code instead.
    pub fn llhttp_pause(parser: *mut llhttp_t);

    /// Ends a pause: the next [`llhttp_execute`] goes on. It must be given the input after
    /// [`llhttp_get_error_pos`].
    pub fn llhttp_resume(parser: *mut llhttp_t);

    /// Ends a pause with [`HPE_PAUSED_UPGRADE`](crate::HPE_PAUSED_UPGRADE).
    pub fn llhttp_resume_after_upgrade(parser: *mut llhttp_t);

    /// What is parsed.
    pub fn llhttp_get_type(parser: *mut llhttp_t) -> u8;

    /// The major version of the message.
    pub fn llhttp_get_http_major(parser: *mut llhttp_t) -> u8;

    /// The minor version of the message.
    pub fn llhttp_get_http_minor(parser: *mut llhttp_t) -> u8;

    /// The method of a request.
    pub fn llhttp_get_method(parser: *mut llhttp_t) -> u8;

    /// The status code of a response.
    pub fn llhttp_get_status_code(parser: *mut llhttp_t) -> c_int;

    /// Whether the connection becomes something else after this message.
    pub fn llhttp_get_upgrade(parser: *mut llhttp_t) -> u8;

    /// The error the parser stopped with.
    pub fn llhttp_get_errno(parser: *const llhttp_t) -> llhttp_errno_t;

    /// The same in words; may be null.
    pub fn llhttp_get_error_reason(parser: *const llhttp_t) -> *const c_char;

    /// Gives the words for an error that a callback is about to return. They are kept by address.
    pub fn llhttp_set_error_reason(parser: *mut llhttp_t, reason: *const c_char);

    /// Where parsing stopped, in the input of the [`llhttp_execute`] that failed or was paused.
    pub fn llhttp_get_error_pos(parser: *const llhttp_t) -> *const c_char;

    /// The name of an error code. Aborts the process for a number that is none.
    pub fn llhttp_errno_name(err: llhttp_errno_t) -> *const c_char;

    /// The name of a method. Aborts the process for a number that is none.
    pub fn llhttp_method_name(method: llhttp_method_t) -> *const c_char;

    /// The usual phrase for a status. Aborts the process for a number it does not know.
    pub fn llhttp_status_name(status: llhttp_status_t) -> *const c_char;

    /// Switches [`LENIENT_HEADERS`](crate::LENIENT_HEADERS).
    pub fn llhttp_set_lenient_headers(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_CHUNKED_LENGTH`](crate::LENIENT_CHUNKED_LENGTH).
    pub fn llhttp_set_lenient_chunked_length(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_KEEP_ALIVE`](crate::LENIENT_KEEP_ALIVE).
    pub fn llhttp_set_lenient_keep_alive(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_TRANSFER_ENCODING`](crate::LENIENT_TRANSFER_ENCODING).
    pub fn llhttp_set_lenient_transfer_encoding(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_VERSION`](crate::LENIENT_VERSION).
    pub fn llhttp_set_lenient_version(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_DATA_AFTER_CLOSE`](crate::LENIENT_DATA_AFTER_CLOSE).
    pub fn llhttp_set_lenient_data_after_close(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_OPTIONAL_LF_AFTER_CR`](crate::LENIENT_OPTIONAL_LF_AFTER_CR).
    pub fn llhttp_set_lenient_optional_lf_after_cr(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_OPTIONAL_CR_BEFORE_LF`](crate::LENIENT_OPTIONAL_CR_BEFORE_LF).
    pub fn llhttp_set_lenient_optional_cr_before_lf(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_OPTIONAL_CRLF_AFTER_CHUNK`](crate::LENIENT_OPTIONAL_CRLF_AFTER_CHUNK).
    pub fn llhttp_set_lenient_optional_crlf_after_chunk(parser: *mut llhttp_t, enabled: c_int);

    /// Switches [`LENIENT_SPACES_AFTER_CHUNK_SIZE`](crate::LENIENT_SPACES_AFTER_CHUNK_SIZE).
    pub fn llhttp_set_lenient_spaces_after_chunk_size(parser: *mut llhttp_t, enabled: c_int);
}
