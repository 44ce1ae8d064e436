//! Rust's view of the structures and constants against the C compiler's (`layout.c`).

use core::ffi::{CStr, c_char};
use core::mem::{offset_of, size_of};
use core::slice;

use crate::{constants, llhttp_settings_t, llhttp_t};

/// One row of the table in `layout.c`.
#[repr(C)]
struct Fact {
    name: *const c_char,
    value: usize,
}

// SAFETY: layout.c defines the table as an array of this structure that ends with a null name.
unsafe extern "C" {
    #[link_name = "llhttp_sys_layout"]
    static FIRST: Fact;
}

/// What the C compiler says about `name`.
fn in_c(name: &str) -> usize {
    // SAFETY: the table is constant, and its last row is the one with the null name.
    let table = unsafe {
        let first = &raw const FIRST;
        let rows = (0..)
            .find(|&i| (*first.add(i)).name.is_null())
            .expect("the table ends");
        slice::from_raw_parts(first, rows)
    };
    let row = table.iter().find(|row| {
        // SAFETY: a name in the table is a string literal of C.
        let c = unsafe { CStr::from_ptr(row.name) };
        c.to_bytes() == name.as_bytes()
    });
    row.unwrap_or_else(|| panic!("llhttp.h has no {name}"))
        .value
}

/// Checks the offset of every listed field, and that the fields listed are all there are.
macro_rules! assert_fields {
    ($structure:ident { $($name:tt: $field:ident),* $(,)? }) => {
        $(assert_eq!(
            offset_of!($structure, $field),
            in_c(concat!(stringify!($structure), ".", $name)),
            "{}",
            $name
        );)*
        // Destructuring without `..` makes a field that is not listed a compile error.
        let _ = |all: $structure| {
            let $structure { $($field: _),* } = all;
        };
        assert_eq!(size_of::<$structure>(), in_c(stringify!($structure)));
    };
}

#[test]
fn the_parser_is_laid_out_as_in_c() {
    assert_fields!(llhttp_t {
        "_index": _index,
        "_span_pos0": _span_pos0,
        "_span_cb0": _span_cb0,
        "error": error,
        "reason": reason,
        "error_pos": error_pos,
        "data": data,
        "_current": _current,
        "content_length": content_length,
        "type": r#type,
        "method": method,
        "http_major": http_major,
        "http_minor": http_minor,
        "header_state": header_state,
        "lenient_flags": lenient_flags,
        "upgrade": upgrade,
        "finish": finish,
        "flags": flags,
        "status_code": status_code,
        "initial_message_completed": initial_message_completed,
        "settings": settings,
    });
}

#[test]
fn the_settings_are_laid_out_as_in_c() {
    assert_fields!(llhttp_settings_t {
        "on_message_begin": on_message_begin,
        "on_protocol": on_protocol,
        "on_url": on_url,
        "on_status": on_status,
        "on_method": on_method,
        "on_version": on_version,
        "on_header_field": on_header_field,
        "on_header_value": on_header_value,
        "on_chunk_extension_name": on_chunk_extension_name,
        "on_chunk_extension_value": on_chunk_extension_value,
        "on_headers_complete": on_headers_complete,
        "on_body": on_body,
        "on_message_complete": on_message_complete,
        "on_protocol_complete": on_protocol_complete,
        "on_url_complete": on_url_complete,
        "on_status_complete": on_status_complete,
        "on_method_complete": on_method_complete,
        "on_version_complete": on_version_complete,
        "on_header_field_complete": on_header_field_complete,
        "on_header_value_complete": on_header_value_complete,
        "on_chunk_extension_name_complete": on_chunk_extension_name_complete,
        "on_chunk_extension_value_complete": on_chunk_extension_value_complete,
        "on_chunk_header": on_chunk_header,
        "on_chunk_complete": on_chunk_complete,
        "on_reset": on_reset,
    });
}

#[test]
fn the_constants_have_the_values_of_c() {
    for &(name, value) in constants::ALL {
        assert_eq!(value, in_c(name), "{name}");
    }
}
