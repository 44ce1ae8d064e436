/*
 * Proves that the llhttp.h found by build.rs declares what src/lib.rs declares.
 *
 * The lists below repeat the Rust declarations, field by field. A header that disagrees does not compile, so a
 * library of another version is refused when it is built, not when it corrupts memory. The tests compare the
 * table at the end with Rust's own offset_of!, which closes the circle.
 */

#include <stddef.h>
#include <stdint.h>

#include "llhttp.h"

#define PARSER_FIELDS(FIELD)              \
    FIELD(int32_t, _index)                \
    FIELD(void *, _span_pos0)             \
    FIELD(void *, _span_cb0)              \
    FIELD(int32_t, error)                 \
    FIELD(const char *, reason)           \
    FIELD(const char *, error_pos)        \
    FIELD(void *, data)                   \
    FIELD(void *, _current)               \
    FIELD(uint64_t, content_length)       \
    FIELD(uint8_t, type)                  \
    FIELD(uint8_t, method)                \
    FIELD(uint8_t, http_major)            \
    FIELD(uint8_t, http_minor)            \
    FIELD(uint8_t, header_state)          \
    FIELD(uint16_t, lenient_flags)        \
    FIELD(uint8_t, upgrade)               \
    FIELD(uint8_t, finish)                \
    FIELD(uint16_t, flags)                \
    FIELD(uint16_t, status_code)          \
    FIELD(uint8_t, initial_message_completed) \
    FIELD(void *, settings)

#define SETTINGS_FIELDS(FIELD)                        \
    FIELD(llhttp_cb, on_message_begin)                \
    FIELD(llhttp_data_cb, on_protocol)                \
    FIELD(llhttp_data_cb, on_url)                     \
    FIELD(llhttp_data_cb, on_status)                  \
    FIELD(llhttp_data_cb, on_method)                  \
    FIELD(llhttp_data_cb, on_version)                 \
    FIELD(llhttp_data_cb, on_header_field)            \
    FIELD(llhttp_data_cb, on_header_value)            \
    FIELD(llhttp_data_cb, on_chunk_extension_name)    \
    FIELD(llhttp_data_cb, on_chunk_extension_value)   \
    FIELD(llhttp_cb, on_headers_complete)             \
    FIELD(llhttp_data_cb, on_body)                    \
    FIELD(llhttp_cb, on_message_complete)             \
    FIELD(llhttp_cb, on_protocol_complete)            \
    FIELD(llhttp_cb, on_url_complete)                 \
    FIELD(llhttp_cb, on_status_complete)              \
    FIELD(llhttp_cb, on_method_complete)              \
    FIELD(llhttp_cb, on_version_complete)             \
    FIELD(llhttp_cb, on_header_field_complete)        \
    FIELD(llhttp_cb, on_header_value_complete)        \
    FIELD(llhttp_cb, on_chunk_extension_name_complete) \
    FIELD(llhttp_cb, on_chunk_extension_value_complete) \
    FIELD(llhttp_cb, on_chunk_header)                 \
    FIELD(llhttp_cb, on_chunk_complete)               \
    FIELD(llhttp_cb, on_reset)

#define DECLARE(type, name) type name;
struct parser { PARSER_FIELDS(DECLARE) };
struct settings { SETTINGS_FIELDS(DECLARE) };

#define SAME(ours, theirs, name)                                                            \
    _Static_assert(offsetof(struct ours, name) == offsetof(theirs, name), #name " moved");  \
    _Static_assert(sizeof(((struct ours *) 0)->name) == sizeof(((theirs *) 0)->name),       \
                   #name " has another size");
#define SAME_IN_PARSER(type, name) SAME(parser, llhttp_t, name)
#define SAME_IN_SETTINGS(type, name) SAME(settings, llhttp_settings_t, name)
PARSER_FIELDS(SAME_IN_PARSER)
SETTINGS_FIELDS(SAME_IN_SETTINGS)
_Static_assert(sizeof(struct parser) == sizeof(llhttp_t), "llhttp_t has another size");
_Static_assert(sizeof(struct settings) == sizeof(llhttp_settings_t), "llhttp_settings_t has another size");

/* A name that Rust looks up, and what the C compiler says about it. */
struct fact {
    const char *name;
    size_t value;
};

#define CONSTANT(name) { #name, (size_t) (name) },
#define ERRNO(code, name, text) CONSTANT(HPE_##name)
#define OFFSET_IN_PARSER(type, name) { "llhttp_t." #name, offsetof(llhttp_t, name) },
#define OFFSET_IN_SETTINGS(type, name) { "llhttp_settings_t." #name, offsetof(llhttp_settings_t, name) },

const struct fact llhttp_sys_layout[] = {
    { "llhttp_t", sizeof(llhttp_t) },
    { "llhttp_settings_t", sizeof(llhttp_settings_t) },
    PARSER_FIELDS(OFFSET_IN_PARSER)
    SETTINGS_FIELDS(OFFSET_IN_SETTINGS)
    HTTP_ERRNO_MAP(ERRNO)
    CONSTANT(F_CONNECTION_KEEP_ALIVE)
    CONSTANT(F_CONNECTION_CLOSE)
    CONSTANT(F_CONNECTION_UPGRADE)
    CONSTANT(F_CHUNKED)
    CONSTANT(F_UPGRADE)
    CONSTANT(F_CONTENT_LENGTH)
    CONSTANT(F_SKIPBODY)
    CONSTANT(F_TRAILING)
    CONSTANT(F_TRANSFER_ENCODING)
    CONSTANT(LENIENT_HEADERS)
    CONSTANT(LENIENT_CHUNKED_LENGTH)
    CONSTANT(LENIENT_KEEP_ALIVE)
    CONSTANT(LENIENT_TRANSFER_ENCODING)
    CONSTANT(LENIENT_VERSION)
    CONSTANT(LENIENT_DATA_AFTER_CLOSE)
    CONSTANT(LENIENT_OPTIONAL_LF_AFTER_CR)
    CONSTANT(LENIENT_OPTIONAL_CRLF_AFTER_CHUNK)
    CONSTANT(LENIENT_OPTIONAL_CR_BEFORE_LF)
    CONSTANT(LENIENT_SPACES_AFTER_CHUNK_SIZE)
    CONSTANT(HTTP_BOTH)
    CONSTANT(HTTP_REQUEST)
    CONSTANT(HTTP_RESPONSE)
    CONSTANT(HTTP_FINISH_SAFE)
    CONSTANT(HTTP_FINISH_SAFE_WITH_CB)
    CONSTANT(HTTP_FINISH_UNSAFE)
    { NULL, 0 },
};
