//! The C types of ABI 2, as the Lua half declares them to LuaJIT's FFI.
//!
//! Nothing that comes from Lua is trusted: a pointer may be null where a length is not zero, a
//! number may be anything. Only what C itself cannot check is believed, namely that a pointer that
//! is not null points to as many bytes as its length says.

use core::ffi::{c_int, c_void};
use core::ptr;

use ngx_http_ffi_client::Limits;

/// The number both halves must agree on.
pub const ABI: u32 = 2;

/// Done; the result is filled in.
pub const OK: c_int = 0;
/// Failed; `error` says why.
pub const ERROR: c_int = -1;
/// Not yet; wait on `sema` and ask again.
pub const AGAIN: c_int = -2;
/// Of [`nhfc_keepalive`](crate::ffi::nhfc_keepalive): closed, because it had to be.
pub const CLOSED: c_int = 1;

/// A piece of the request's body is wanted: hand it to [`nhfc_supply`](crate::ffi::nhfc_supply).
pub const WANTS: c_int = 2;

/// The addresses of the name in `body` are wanted: hand them to [`nhfc_names`](crate::ffi::nhfc_names).
pub const NAME: c_int = 3;

/// [`Call::flags`]: gather the whole body.
pub const WHOLE: u32 = 1;
/// [`Call::flags`]: keep the connection afterwards.
pub const KEEPALIVE: u32 = 2;

/// [`Call::flags`]: the limits of the call count; without it they are not looked at.
pub const LIMITED: u32 = 4;
/// [`Call::flags`]: the request's body comes in pieces.
pub const PIECES: u32 = 8;
/// [`Call::flags`]: write what happens to the error log.
pub const TRACE: u32 = 16;

/// [`Reply::flags`]: a body follows the head.
pub const HAS_BODY: u32 = 1;
/// [`Reply::flags`]: nothing more will come.
pub const ENDED: u32 = 2;
/// [`Reply::flags`]: the connection may be kept.
pub const REUSABLE: u32 = 4;

/// Header lines a request may have. Far beyond what any server takes.
const FIELDS_MAX: u32 = 1 << 16;

/// `nhfc_str`: bytes and how many.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Text {
    /// Null when absent.
    pub p: *const u8,
    /// How many.
    pub n: usize,
}

/// `nhfc_field`: one header line.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Field {
    /// As sent.
    pub name: Text,
    /// Without blanks around it.
    pub value: Text,
}

/// `nhfc_call`: what Lua asks for.
#[derive(Debug)]
#[repr(C)]
pub struct Call {
    /// `http` or `https`.
    pub scheme: Text,
    /// A name or an address literal.
    pub host: Text,
    /// The pool's name; absent for the origin's own pool.
    pub pool: Text,
    /// The method.
    pub method: Text,
    /// From the slash on.
    pub path: Text,
    /// Without the question mark; may be empty.
    pub query: Text,
    /// Absent for a request without a body.
    pub body: Text,
    /// Header lines.
    pub fields: *const Field,
    /// How many.
    pub nfields: u32,
    /// [`WHOLE`], [`KEEPALIVE`], [`LIMITED`], [`PIECES`], [`TRACE`].
    pub flags: u32,
    /// Never zero.
    pub port: u32,
    /// Not zero: Lua looks names up.
    pub hook: u32,
    /// Milliseconds; zero and below for the directive in force.
    pub connect_ms: i32,
    /// As above.
    pub send_ms: i32,
    /// As above.
    pub read_ms: i32,
    /// Milliseconds to wait for leave to send the body; zero and below for the directive in force.
    pub expect_ms: i32,
    /// Milliseconds for everything; zero and below for no limit.
    pub total_ms: i32,
    /// Milliseconds in the pool; zero for ever, below zero for the directive in force.
    pub idle_ms: i32,
    /// Zero and below for the directive in force.
    pub pool_size: i32,
    /// How many may wait for a connection; below zero when the caller does not say.
    pub backlog: i32,
    /// Requests a connection may serve; zero and below for the directive.
    pub life_requests: i32,
    /// Milliseconds a connection may live; zero and below for the directive.
    pub life_ms: i32,
    /// With [`LIMITED`]: bytes of the response head.
    pub max_head: u32,
    /// Lines of it, and of the trailers.
    pub max_lines: u32,
    /// Interim responses.
    pub max_interim: u32,
    /// Bytes of chunk extensions.
    pub max_extensions: u32,
    /// Bytes of trailers.
    pub max_trailers: u32,
    /// Bytes of the body, in one piece or many.
    pub max_body: u64,
}

/// `nhfc_result`: what Lua gets. Its pointers are good until the next `nhfc_` call or yield.
#[derive(Debug)]
#[repr(C)]
pub struct Reply {
    /// The handle, 0 when there is none (any more).
    pub id: f64,
    /// With [`AGAIN`]: the semaphore to wait on. Null when a plain yield is meant, which only
    /// happens after [`nhfc_plain_yield`](crate::ffi::nhfc_plain_yield) said so.
    pub sema: *mut c_void,
    /// With [`ERROR`]: why.
    pub error: Text,
    /// Body bytes.
    pub body: Text,
    /// The head's bytes, from the status line on. Each line is `name:value` and its end: what else
    /// a peer may send was refused.
    pub head: Text,
    /// The trailer section's bytes; empty when it has no line.
    pub tail: Text,
    /// The status code.
    pub status: i32,
    /// [`HAS_BODY`], [`ENDED`], [`REUSABLE`].
    pub flags: u32,
    /// How often the connection had been used before.
    pub reused: u32,
}

impl Text {
    /// Nothing.
    pub const ABSENT: Text = Text {
        p: ptr::null(),
        n: 0,
    };

    /// A view of `bytes`, which the caller keeps alive as the type's users are promised.
    pub(crate) const fn of(bytes: &[u8]) -> Text {
        Text {
            p: bytes.as_ptr(),
            n: bytes.len(),
        }
    }

    /// A length that memory can have. Where the pointer is null, it means nothing.
    pub(crate) const fn is_sane(&self) -> bool {
        self.n <= isize::MAX as usize
    }

    /// The bytes; empty when absent.
    ///
    /// # Safety
    /// The text is sane, and points to as many bytes as it says for all of `'a`.
    pub(crate) unsafe fn bytes<'a>(&self) -> &'a [u8] {
        if self.p.is_null() {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { core::slice::from_raw_parts(self.p, self.n) }
    }
}

impl Reply {
    /// A reply without anything in it.
    pub(crate) const EMPTY: Reply = Reply {
        id: 0.0,
        sema: ptr::null_mut(),
        error: Text::ABSENT,
        body: Text::ABSENT,
        head: Text::ABSENT,
        tail: Text::ABSENT,
        status: 0,
        flags: 0,
        reused: 0,
    };
}

/// A call whose pointers and lengths are consistent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked<'a> {
    call: &'a Call,
    fields: &'a [Field],
}

impl<'a> Checked<'a> {
    /// Checks a call. `None` when it cannot be one.
    ///
    /// # Safety
    /// `call` is null or points to a call, whose pointers each are null or point to as many bytes,
    /// or fields, as stand beside them; all of it for `'a`.
    pub(crate) unsafe fn new(call: *const Call) -> Option<Checked<'a>> {
        // SAFETY: the caller's promise.
        let call = unsafe { call.as_ref() }?;
        let texts = [
            &call.scheme,
            &call.host,
            &call.pool,
            &call.method,
            &call.path,
            &call.query,
            &call.body,
        ];
        // One comparison for all: a length above the largest sets the bit above it.
        let all = texts.into_iter().fold(Text::ABSENT, |all, text| Text {
            n: all.n | text.n,
            ..all
        });
        if !all.is_sane() || call.nfields > FIELDS_MAX || !call.fields.is_aligned() {
            return None;
        }
        let fields = match call.nfields {
            0 => &[],
            _ if call.fields.is_null() => return None,
            // SAFETY: the caller's promise.
            n => unsafe { core::slice::from_raw_parts(call.fields, n as usize) },
        };
        fields
            .iter()
            .all(|f| f.name.is_sane() && f.value.is_sane())
            .then_some(Checked { call, fields })
    }

    /// The numbers of the call.
    pub(crate) fn numbers(&self) -> &'a Call {
        self.call
    }

    /// One of the call's texts; empty when absent.
    pub(crate) fn text(&self, which: impl Fn(&Call) -> &Text) -> &'a [u8] {
        // SAFETY: sane by construction, and alive by the promise made there.
        unsafe { which(self.call).bytes() }
    }

    /// One of the call's texts, told apart from an empty one when absent.
    pub(crate) fn optional(&self, which: impl Fn(&Call) -> &Text) -> Option<&'a [u8]> {
        (!which(self.call).p.is_null()).then(|| self.text(which))
    }

    /// (name, value) of the header lines.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a> {
        // SAFETY: sane by construction, and alive by the promise made there.
        self.fields
            .iter()
            .map(|f| unsafe { (f.name.bytes(), f.value.bytes()) })
    }

    /// What the response may cost, where the caller says so.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let call = self.call;
        self.has(LIMITED).then_some(Limits {
            head: call.max_head,
            lines: call.max_lines,
            interim: call.max_interim,
            extensions: call.max_extensions,
            trailers: call.max_trailers,
            whole: call.max_body,
            body: call.max_body,
        })
    }

    pub(crate) fn has(&self, flag: u32) -> bool {
        self.call.flags & flag != 0
    }
}

/// Addresses that a name may have. More are of no use: they are tried one after the other.
const TEXTS_MAX: u32 = 64;

/// A list of texts; `None` when it cannot be one.
///
/// # Safety
/// `list` is null or points to `n` texts, each null or pointing to as many bytes as it says; all of
/// it for `'a`.
pub(crate) unsafe fn texts<'a>(list: *const Text, n: u32) -> Option<Vec<&'a [u8]>> {
    if n == 0 {
        return Some(Vec::new());
    }
    if list.is_null() || !list.is_aligned() || n > TEXTS_MAX {
        return None;
    }
    // SAFETY: the caller's promise.
    let list = unsafe { core::slice::from_raw_parts(list, n as usize) };
    list.iter()
        // SAFETY: sane, and the caller's promise.
        .map(|text| text.is_sane().then(|| unsafe { text.bytes() }))
        .collect()
}
