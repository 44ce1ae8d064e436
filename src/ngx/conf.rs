//! The directives, and how a timeout or size is found: the caller's option, else our directive in
//! force at the location, else ngx_lua's (`lua_socket_*`), else ngx_lua's documented default.
//!
//! | directive | context | default |
//! |---|---|---|
//! | `nhfc_connect_timeout`, `nhfc_send_timeout`, `nhfc_read_timeout` | http, server, location | `lua_socket_*_timeout` |
//! | `nhfc_deadline` | http, server, location | `0`: none |
//! | `nhfc_expect_timeout` | http, server, location | `1s` |
//! | `nhfc_keepalive_timeout` | http, server, location | `lua_socket_keepalive_timeout` |
//! | `nhfc_pool_size` | http, server, location | `lua_socket_pool_size` |
//! | `nhfc_keepalive_requests` | http | `1000` |
//! | `nhfc_keepalive_time` | http | `1h` |
//! | `nhfc_max_header_size` | http | `64k` |
//! | `nhfc_max_header_lines` | http | `256` |
//! | `nhfc_max_interim_responses` | http | `16` |
//! | `nhfc_max_chunk_extension_size` | http | `16k` |
//! | `nhfc_max_trailer_size` | http | `16k` |
//! | `nhfc_max_body_size` | http | `128m` |
//! | `nhfc_system_resolver` | http | `on` |
//! | `nhfc_trace` | http | `off` |
//! | `nhfc_trace_bytes` | http | `off` |
//!
//! A timeout of 0 means no limit, and so do `nhfc_keepalive_requests` and `nhfc_keepalive_time` of 0.
//! What is `http` only is the worker's, because a connection may serve several locations in its
//! life. The trace goes to the error log at level `notice`.

use core::ffi::{CStr, c_char, c_void};
use core::mem::offset_of;
use core::ptr::{self, NonNull};

use ngx::ffi::{
    NGX_CONF_1MORE, NGX_CONF_FLAG, NGX_CONF_TAKE1, NGX_CONF_TAKE12, NGX_CONF_UNSET,
    NGX_HTTP_LOC_CONF, NGX_HTTP_LOC_CONF_OFFSET, NGX_HTTP_MAIN_CONF, NGX_HTTP_MAIN_CONF_OFFSET,
    NGX_HTTP_SRV_CONF, ngx_array_t, ngx_command_t, ngx_conf_check_num_bounds,
    ngx_conf_num_bounds_t, ngx_conf_set_flag_slot, ngx_conf_set_msec_slot, ngx_conf_set_num_slot,
    ngx_conf_set_off_slot, ngx_conf_set_size_slot, ngx_conf_t, ngx_http_request_t, ngx_int_t,
    ngx_msec_t, ngx_palloc, ngx_str_t, ngx_uint_t, off_t,
};
use ngx_http_ffi_client::{Config, Duration, Limits, Timeouts};

use crate::lua::{Directives, Lua};
use crate::module::{self, Shared};
use crate::system::{self, Files, System};
use crate::tracing::{self, Tracing};

const UNSET: ngx_int_t = NGX_CONF_UNSET as ngx_int_t;
const UNSET_MSEC: ngx_msec_t = ngx_msec_t::MAX;
const UNSET_SIZE: usize = usize::MAX;
const UNSET_OFF: off_t = NGX_CONF_UNSET as off_t;

/// What ngx_lua documents as its defaults.
const LUA_TIMEOUT_MS: u32 = 60_000;
const LUA_POOL_SIZE: usize = 30;

/// Per worker: the bounds of a response, and ngx_lua as it was found.
#[repr(C)]
pub(crate) struct MainConf {
    keepalive_requests: ngx_int_t,
    keepalive_time: ngx_msec_t,
    header_size: usize,
    header_lines: ngx_int_t,
    interim: ngx_int_t,
    extension_size: usize,
    trailer_size: usize,
    body_size: off_t,
    pub(crate) files: Option<Files>,
    pub(crate) system: Option<NonNull<System>>,
    pub(crate) tracing: Tracing,
    pub(crate) lua: Option<Lua>,
}

/// Per location.
#[repr(C)]
pub(crate) struct LocationConf {
    connect_timeout: ngx_msec_t,
    send_timeout: ngx_msec_t,
    read_timeout: ngx_msec_t,
    deadline: ngx_msec_t,
    expect_timeout: ngx_msec_t,
    keepalive_timeout: ngx_msec_t,
    pool_size: ngx_int_t,
}

type Setter = unsafe extern "C" fn(*mut ngx_conf_t, *mut ngx_command_t, *mut c_void) -> *mut c_char;

const fn directive(
    name: &'static CStr,
    contexts: u32,
    set: Setter,
    conf: usize,
    offset: usize,
) -> ngx_command_t {
    ngx_command_t {
        name: ngx_str_t {
            len: name.to_bytes().len(),
            data: name.as_ptr().cast_mut().cast(),
        },
        type_: contexts as ngx_uint_t,
        set: Some(set),
        conf,
        offset,
        post: ptr::null_mut(),
    }
}

const fn anywhere(name: &'static CStr, set: Setter, offset: usize) -> ngx_command_t {
    let contexts = NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1;
    directive(name, contexts, set, NGX_HTTP_LOC_CONF_OFFSET, offset)
}

const fn http_only(name: &'static CStr, set: Setter, offset: usize) -> ngx_command_t {
    directive(
        name,
        NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1,
        set,
        NGX_HTTP_MAIN_CONF_OFFSET,
        offset,
    )
}

/// There is room for every line that would be taken, whether it comes or not: 16 bytes each.
static LINES: Shared<ngx_conf_num_bounds_t> = Shared::new(ngx_conf_num_bounds_t {
    post_handler: Some(ngx_conf_check_num_bounds),
    low: 0,
    high: 65535,
});

/// The command table.
pub(crate) static COMMANDS: Shared<[ngx_command_t; 19]> = Shared::new([
    anywhere(
        c"nhfc_connect_timeout",
        ngx_conf_set_msec_slot,
        offset_of!(LocationConf, connect_timeout),
    ),
    anywhere(
        c"nhfc_send_timeout",
        ngx_conf_set_msec_slot,
        offset_of!(LocationConf, send_timeout),
    ),
    anywhere(
        c"nhfc_read_timeout",
        ngx_conf_set_msec_slot,
        offset_of!(LocationConf, read_timeout),
    ),
    anywhere(
        c"nhfc_deadline",
        ngx_conf_set_msec_slot,
        offset_of!(LocationConf, deadline),
    ),
    anywhere(
        c"nhfc_expect_timeout",
        ngx_conf_set_msec_slot,
        offset_of!(LocationConf, expect_timeout),
    ),
    anywhere(
        c"nhfc_keepalive_timeout",
        ngx_conf_set_msec_slot,
        offset_of!(LocationConf, keepalive_timeout),
    ),
    anywhere(
        c"nhfc_pool_size",
        ngx_conf_set_num_slot,
        offset_of!(LocationConf, pool_size),
    ),
    http_only(
        c"nhfc_keepalive_requests",
        ngx_conf_set_num_slot,
        offset_of!(MainConf, keepalive_requests),
    ),
    http_only(
        c"nhfc_keepalive_time",
        ngx_conf_set_msec_slot,
        offset_of!(MainConf, keepalive_time),
    ),
    http_only(
        c"nhfc_max_header_size",
        ngx_conf_set_size_slot,
        offset_of!(MainConf, header_size),
    ),
    ngx_command_t {
        post: LINES.get().cast(),
        ..http_only(
            c"nhfc_max_header_lines",
            ngx_conf_set_num_slot,
            offset_of!(MainConf, header_lines),
        )
    },
    http_only(
        c"nhfc_max_interim_responses",
        ngx_conf_set_num_slot,
        offset_of!(MainConf, interim),
    ),
    http_only(
        c"nhfc_max_chunk_extension_size",
        ngx_conf_set_size_slot,
        offset_of!(MainConf, extension_size),
    ),
    http_only(
        c"nhfc_max_trailer_size",
        ngx_conf_set_size_slot,
        offset_of!(MainConf, trailer_size),
    ),
    http_only(
        c"nhfc_max_body_size",
        ngx_conf_set_off_slot,
        offset_of!(MainConf, body_size),
    ),
    directive(
        c"nhfc_system_resolver",
        NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE12,
        system::set_files,
        NGX_HTTP_MAIN_CONF_OFFSET,
        offset_of!(MainConf, files),
    ),
    directive(
        c"nhfc_trace",
        NGX_HTTP_MAIN_CONF | NGX_CONF_1MORE,
        tracing::set_trace,
        NGX_HTTP_MAIN_CONF_OFFSET,
        0,
    ),
    directive(
        c"nhfc_trace_bytes",
        NGX_HTTP_MAIN_CONF | NGX_CONF_FLAG,
        ngx_conf_set_flag_slot,
        NGX_HTTP_MAIN_CONF_OFFSET,
        offset_of!(MainConf, tracing.bytes),
    ),
    ngx_command_t::empty(),
]);

/// The words of the directive being read, its name first.
///
/// # Safety
/// `cf` is what nginx passes to the setter of a directive.
pub(crate) unsafe fn words<'a>(cf: *const ngx_conf_t) -> &'a [ngx_str_t] {
    // SAFETY: the caller's promise; the words live as long as the configuration is being read, and
    // what they point to as long as it is in force.
    unsafe { texts((*cf).args) }
}

/// The texts of an array; none where there is no array.
///
/// # Safety
/// `array` is null or holds texts, and lives as long as they are used.
pub(crate) unsafe fn texts<'a>(array: *const ngx_array_t) -> &'a [ngx_str_t] {
    // SAFETY: the caller's promise.
    match unsafe { array.as_ref() } {
        None => &[],
        Some(array) if array.nelts == 0 => &[],
        // SAFETY: as above.
        Some(array) => unsafe { core::slice::from_raw_parts(array.elts.cast(), array.nelts) },
    }
}

/// Moves `value` into the pool of `cf`. Null when there is no memory.
///
/// # Safety
/// `cf` is a configuration with a pool.
unsafe fn place<T>(cf: *mut ngx_conf_t, value: T) -> *mut c_void {
    // SAFETY: the caller's promise.
    let memory = unsafe { ngx_palloc((*cf).pool, size_of::<T>()) }.cast::<T>();
    if !memory.is_null() {
        // SAFETY: fresh memory of this size, aligned for any of nginx's types; ours need no more.
        unsafe { memory.write(value) };
    }
    memory.cast()
}

pub(crate) unsafe extern "C" fn create_main(cf: *mut ngx_conf_t) -> *mut c_void {
    let unset = MainConf {
        keepalive_requests: UNSET,
        keepalive_time: UNSET_MSEC,
        header_size: UNSET_SIZE,
        header_lines: UNSET,
        interim: UNSET,
        extension_size: UNSET_SIZE,
        trailer_size: UNSET_SIZE,
        body_size: UNSET_OFF,
        files: None,
        system: None,
        tracing: Tracing::UNSET,
        lua: None,
    };
    // SAFETY: nginx passes the configuration being read.
    unsafe { place(cf, unset) }
}

/// Nothing to do: an unset limit falls back when the worker asks for it.
pub(crate) unsafe extern "C" fn init_main(_: *mut ngx_conf_t, _: *mut c_void) -> *mut c_char {
    ptr::null_mut()
}

pub(crate) unsafe extern "C" fn create_location(cf: *mut ngx_conf_t) -> *mut c_void {
    let unset = LocationConf {
        connect_timeout: UNSET_MSEC,
        send_timeout: UNSET_MSEC,
        read_timeout: UNSET_MSEC,
        deadline: UNSET_MSEC,
        expect_timeout: UNSET_MSEC,
        keepalive_timeout: UNSET_MSEC,
        pool_size: UNSET,
    };
    // SAFETY: nginx passes the configuration being read.
    unsafe { place(cf, unset) }
}

pub(crate) unsafe extern "C" fn merge_location(
    _: *mut ngx_conf_t,
    outer: *mut c_void,
    inner: *mut c_void,
) -> *mut c_char {
    fn inherit<T: Copy + PartialEq>(inner: &mut T, outer: T, unset: T) {
        if *inner == unset {
            *inner = outer;
        }
    }
    // SAFETY: both were made by `create_location`, and are two.
    let (outer, inner) = unsafe {
        (
            &*outer.cast::<LocationConf>(),
            &mut *inner.cast::<LocationConf>(),
        )
    };
    inherit(
        &mut inner.connect_timeout,
        outer.connect_timeout,
        UNSET_MSEC,
    );
    inherit(&mut inner.send_timeout, outer.send_timeout, UNSET_MSEC);
    inherit(&mut inner.read_timeout, outer.read_timeout, UNSET_MSEC);
    inherit(&mut inner.deadline, outer.deadline, UNSET_MSEC);
    inherit(&mut inner.expect_timeout, outer.expect_timeout, UNSET_MSEC);
    inherit(
        &mut inner.keepalive_timeout,
        outer.keepalive_timeout,
        UNSET_MSEC,
    );
    inherit(&mut inner.pool_size, outer.pool_size, UNSET);
    ptr::null_mut()
}

impl MainConf {
    /// What the engine is made with.
    pub(crate) fn engine(&self) -> Config {
        let mut config = Config::default();
        config.limits = self.limits();
        if let Ok(requests) = u32::try_from(self.keepalive_requests) {
            config.life.requests = requests;
        }
        if self.keepalive_time != UNSET_MSEC {
            config.life.time = span(self.keepalive_time);
        }
        config
    }

    fn limits(&self) -> Limits {
        let size = |size: usize, default: u32| match size {
            UNSET_SIZE => default,
            size => u32::try_from(size).unwrap_or(u32::MAX),
        };
        let mut limits = Limits::default();
        limits.head = size(self.header_size, limits.head);
        limits.extensions = size(self.extension_size, limits.extensions);
        limits.trailers = size(self.trailer_size, limits.trailers);
        if let Ok(lines) = u32::try_from(self.header_lines) {
            limits.lines = lines;
        }
        if let Ok(interim) = u32::try_from(self.interim) {
            limits.interim = interim;
        }
        if let Ok(whole) = u64::try_from(self.body_size) {
            limits.whole = whole;
        }
        limits
    }
}

/// Times beyond 49 days are all the same to us.
fn span(ms: ngx_msec_t) -> Duration {
    Duration(u32::try_from(ms).unwrap_or(u32::MAX))
}

/// What is in force where one request is handled.
pub(crate) struct InForce<'a> {
    r: *const ngx_http_request_t,
    own: &'a LocationConf,
    top: &'a LocationConf,
    lua: &'a Lua,
}

impl<'a> InForce<'a> {
    /// # Safety
    /// `r` is a live request, and stays so as long as this value is used.
    pub(crate) unsafe fn at(r: *const ngx_http_request_t, lua: &'a Lua) -> Self {
        // SAFETY: the caller's promise.
        let (own, top) = unsafe { module::location_confs(r) };
        InForce { r, own, top, lua }
    }

    /// `option` in milliseconds when it is above zero, else the directive, else ngx_lua's.
    fn timeout(
        &self,
        option: i32,
        ours: impl Fn(&LocationConf) -> ngx_msec_t,
        theirs: Option<usize>,
    ) -> Duration {
        self.own_only(option, ours)
            // SAFETY: the promise made to `at`.
            .or_else(|| unsafe { self.lua.directives.msec(self.r, theirs) }.map(span))
            .unwrap_or(Duration(LUA_TIMEOUT_MS))
    }

    /// Time to connect.
    pub(crate) fn connect(&self, option: i32) -> Duration {
        self.timeout(
            option,
            |c| c.connect_timeout,
            self.lua.directives.connect_timeout,
        )
    }

    /// Time between two writes.
    pub(crate) fn send(&self, option: i32) -> Duration {
        self.timeout(option, |c| c.send_timeout, self.lua.directives.send_timeout)
    }

    /// Time between two reads.
    pub(crate) fn read(&self, option: i32) -> Duration {
        self.timeout(option, |c| c.read_timeout, self.lua.directives.read_timeout)
    }

    /// Time for everything: the option, else the directive, else without end.
    pub(crate) fn total(&self, option: i32) -> Duration {
        self.own_only(option, |c| c.deadline)
            .unwrap_or(Duration::NONE)
    }

    /// Time to wait for leave to send a body: the option, else the directive, else the engine's.
    pub(crate) fn expect(&self, option: i32) -> Duration {
        self.own_only(option, |c| c.expect_timeout)
            .unwrap_or(Timeouts::default().expect)
    }

    /// `option` in milliseconds when it is above zero, else the directive, if it is set.
    #[inline]
    fn own_only(
        &self,
        option: i32,
        ours: impl Fn(&LocationConf) -> ngx_msec_t,
    ) -> Option<Duration> {
        if let Some(ms) = u32::try_from(option).ok().filter(|ms| *ms > 0) {
            return Some(Duration(ms));
        }
        [ours(self.own), ours(self.top)]
            .into_iter()
            .find(|ms| *ms != UNSET_MSEC)
            .map(span)
    }

    /// Time in the pool; here an option of zero is a value of its own, "never expires".
    pub(crate) fn idle(&self, option: i32) -> Duration {
        match option {
            0 => Duration::NONE,
            _ => self.timeout(
                option,
                |c| c.keepalive_timeout,
                self.lua.directives.keepalive_timeout,
            ),
        }
    }

    /// Connections in a pool.
    pub(crate) fn pool_size(&self, option: i32) -> usize {
        let positive = |n: ngx_int_t| usize::try_from(n).ok().filter(|n| *n > 0);
        let theirs = || {
            let Directives { pool_size, .. } = self.lua.directives;
            // SAFETY: the promise made to `at`.
            unsafe { self.lua.directives.number(self.r, pool_size) }
        };
        positive(option as ngx_int_t)
            .or_else(|| positive(self.own.pool_size))
            .or_else(|| positive(self.top.pool_size))
            .or_else(|| positive(theirs()?))
            .unwrap_or(LUA_POOL_SIZE)
    }
}
