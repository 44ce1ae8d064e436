//! `nhfc_trace`, `nhfc_trace_bytes`, and who is traced because of them.

use core::ffi::{c_char, c_void};
use core::ptr;

use ngx::ffi::{
    NGX_CONF_UNSET, ngx_array_create, ngx_array_push, ngx_array_t, ngx_command_t, ngx_conf_t,
    ngx_flag_t, ngx_int_t, ngx_str_t,
};
use ngx_http_ffi_client::{Engine, Target};

use crate::abi;
use crate::conf::{MainConf, texts, words};
use crate::worker::State;

const UNSET: ngx_int_t = NGX_CONF_UNSET as ngx_int_t;

/// Part of the main configuration.
#[repr(C)]
pub(crate) struct Tracing {
    everything: ngx_flag_t,
    /// `ngx_str_t`, each an origin that was understood. Null without any.
    origins: *mut ngx_array_t,
    pub(crate) bytes: ngx_flag_t,
}

impl Tracing {
    pub(crate) const UNSET: Tracing = Tracing {
        everything: UNSET,
        origins: ptr::null_mut(),
        bytes: UNSET,
    };

    /// Tells a new engine whom to trace.
    pub(crate) fn set(&self, engine: &mut Engine) {
        engine.set_trace(self.everything == 1);
        engine.trace_facts(self.bytes == 1);
        // SAFETY: null, or made by `set_trace`, and not written to after configuration.
        for origin in unsafe { texts(self.origins) } {
            if let Some(target) = Target::parse(origin.as_bytes()) {
                engine.trace_origin(&target);
            }
        }
    }
}

/// `nhfc_trace on | off | origin …;`
pub(crate) unsafe extern "C" fn set_trace(
    cf: *mut ngx_conf_t,
    _: *mut ngx_command_t,
    conf: *mut c_void,
) -> *mut c_char {
    // SAFETY: nginx passes the configuration that `create_main` made.
    let tracing = unsafe { &mut (*conf.cast::<MainConf>()).tracing };
    if tracing.everything != UNSET || !tracing.origins.is_null() {
        return c"is duplicate".as_ptr().cast_mut();
    }
    // SAFETY: a setter's configuration.
    let arguments = unsafe { words(cf) }.get(1..).unwrap_or_default();
    if let [only] = arguments {
        match only.as_bytes() {
            b"on" => tracing.everything = 1,
            b"off" => tracing.everything = 0,
            _ => {}
        }
    }
    if tracing.everything != UNSET {
        return ptr::null_mut();
    }
    let is_origin = |argument: &ngx_str_t| Target::parse(argument.as_bytes()).is_some();
    if !arguments.iter().all(is_origin) {
        let text = c"takes \"on\", \"off\", or origins such as http://host:port";
        return text.as_ptr().cast_mut();
    }
    // SAFETY: the pool of the configuration outlives it.
    tracing.origins =
        unsafe { ngx_array_create((*cf).pool, arguments.len(), size_of::<ngx_str_t>()) };
    if tracing.origins.is_null() {
        return c"no memory".as_ptr().cast_mut();
    }
    for &argument in arguments {
        // SAFETY: the array's elements are of this type; null when there is no memory.
        match unsafe { ngx_array_push(tracing.origins).cast::<ngx_str_t>().as_mut() } {
            Some(place) => *place = argument,
            None => return c"no memory".as_ptr().cast_mut(),
        }
    }
    ptr::null_mut()
}

impl State {
    /// Begins something, traced if the call asks for that.
    #[inline]
    pub(crate) fn tracing<T>(
        &mut self,
        call: &abi::Checked<'_>,
        begin: impl FnOnce(&mut State) -> T,
    ) -> T {
        let traced = call.has(abi::TRACE);
        if traced {
            self.engine.trace_next(true);
        }
        let begun = begin(self);
        if traced {
            self.engine.trace_next(false);
        }
        begun
    }
}
