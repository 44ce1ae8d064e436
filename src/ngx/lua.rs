//! What is taken from ngx_lua, looked up by name once the configuration is complete.
//!
//! Nothing of ngx_lua is linked against, so the two modules load in either order, and nothing of
//! its structures is assumed: the values of its directives are found by way of its own command
//! table, which says where in its location configuration each one is stored.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use ngx::ffi::{
    NGX_HTTP_LOC_CONF_OFFSET, dlsym, ngx_command_t, ngx_conf_set_msec_slot, ngx_conf_set_num_slot,
    ngx_conf_t, ngx_http_cleanup_pt, ngx_http_request_t, ngx_int_t, ngx_module_t, ngx_msec_t,
    ngx_uint_t,
};

/// ngx_lua's semaphore. Opaque.
#[repr(C)]
pub(crate) struct Sema {
    _opaque: [u8; 0],
}

/// ngx_lua's record of one coroutine. Opaque.
#[repr(C)]
pub(crate) struct CoCtx {
    _opaque: [u8; 0],
}

type SemaNew = unsafe extern "C" fn(*mut *mut Sema, c_int, *mut *mut c_char) -> c_int;
type SemaPost = unsafe extern "C" fn(*mut Sema, c_int) -> c_int;
type SemaCount = unsafe extern "C" fn(*mut Sema) -> c_int;
type SemaFree = unsafe extern "C" fn(*mut Sema);
type CoCurrent = unsafe extern "C" fn(*mut ngx_http_request_t) -> *mut CoCtx;
type CoOnKill = unsafe extern "C" fn(*mut CoCtx, ngx_http_cleanup_pt, *mut c_void);
type CoData = unsafe extern "C" fn(*mut CoCtx) -> *mut c_void;
type CoResume = unsafe extern "C" fn(*mut CoCtx, c_int);

/// ngx_lua's semaphores, exported by every version.
#[derive(Clone, Copy)]
pub(crate) struct Semaphores {
    pub(crate) new: SemaNew,
    pub(crate) post: SemaPost,
    pub(crate) count: SemaCount,
    pub(crate) free: SemaFree,
}

/// ngx_lua's coroutine interface, complete from 0.10.29 on: a killed coroutine tells us at once.
#[derive(Clone, Copy)]
pub(crate) struct Coroutines {
    pub(crate) current: CoCurrent,
    pub(crate) on_kill: CoOnKill,
    pub(crate) data: CoData,
    pub(crate) resume: CoResume,
}

/// Offsets of ngx_lua's directives in its location configuration.
#[derive(Clone, Copy)]
pub(crate) struct Directives {
    index: ngx_uint_t,
    pub(crate) connect_timeout: Option<usize>,
    pub(crate) send_timeout: Option<usize>,
    pub(crate) read_timeout: Option<usize>,
    pub(crate) keepalive_timeout: Option<usize>,
    pub(crate) pool_size: Option<usize>,
}

/// Everything found.
#[derive(Clone, Copy)]
pub(crate) struct Lua {
    pub(crate) semaphores: Semaphores,
    pub(crate) coroutines: Option<Coroutines>,
    pub(crate) directives: Directives,
}

/// Looks ngx_lua up. The error is the text of the one line a user sees.
///
/// # Safety
/// `cf` is the configuration being read, with every `load_module` behind it.
pub(crate) unsafe fn find(cf: *mut ngx_conf_t) -> Result<Lua, &'static str> {
    // SAFETY: the caller's promise; a configuration has a cycle, whose module array ends with null.
    let module = unsafe { module((*(*cf).cycle).modules, c"ngx_http_lua_module") }
        .ok_or("ngx_http_lua_module is not loaded, and this module is of no use without it")?;
    Ok(Lua {
        semaphores: semaphores()
            .ok_or("ngx_http_lua_module exports no semaphores (ngx_http_lua_ffi_sema_*)")?,
        coroutines: coroutines(),
        // SAFETY: a module of nginx's array, found above.
        directives: unsafe { directives(module) },
    })
}

/// The module called `name`.
///
/// # Safety
/// `modules` is an array of modules that ends with null.
unsafe fn module(modules: *mut *mut ngx_module_t, name: &CStr) -> Option<*const ngx_module_t> {
    (0..)
        // SAFETY: the walk stops at the null that ends the array.
        .map(|i| unsafe { *modules.add(i) })
        .take_while(|m| !m.is_null())
        // SAFETY: nginx has given every module in the array its name before it read any directive.
        .find(|m| unsafe { !(**m).name.is_null() && CStr::from_ptr((**m).name) == name })
        .map(<*mut ngx_module_t>::cast_const)
}

/// The address of a function that some loaded object exports.
fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a null handle means the default search order, and the name ends with a null byte.
    let address = unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Looks one function up and gives it its type.
macro_rules! function {
    ($name:literal as $type:ty) => {
        // SAFETY: ngx_lua has exported this name with this signature in every version that has it;
        // a function's address and a data pointer are of one size on all of nginx's platforms.
        unsafe { core::mem::transmute::<*mut c_void, $type>(symbol($name)?) }
    };
}

fn semaphores() -> Option<Semaphores> {
    Some(Semaphores {
        new: function!(c"ngx_http_lua_ffi_sema_new" as SemaNew),
        post: function!(c"ngx_http_lua_ffi_sema_post" as SemaPost),
        count: function!(c"ngx_http_lua_ffi_sema_count" as SemaCount),
        free: function!(c"ngx_http_lua_ffi_sema_gc" as SemaFree),
    })
}

fn coroutines() -> Option<Coroutines> {
    Some(Coroutines {
        current: function!(c"ngx_http_lua_get_cur_co_ctx" as CoCurrent),
        on_kill: function!(c"ngx_http_lua_set_co_ctx_cleanup" as CoOnKill),
        data: function!(c"ngx_http_lua_get_co_ctx_data" as CoData),
        resume: function!(c"ngx_http_lua_co_ctx_resume_helper" as CoResume),
    })
}

/// # Safety
/// `module` is ngx_lua's.
unsafe fn directives(module: *const ngx_module_t) -> Directives {
    // SAFETY: the caller's promise; a command table ends with an empty name.
    let (index, commands) = unsafe { ((*module).ctx_index, (*module).commands.cast_const()) };
    let msec: Setter = ngx_conf_set_msec_slot;
    let number: Setter = ngx_conf_set_num_slot;
    // SAFETY: as above, for each of them.
    let find = |name, setter| unsafe { offset(commands, name, setter) };
    Directives {
        index,
        connect_timeout: find(b"lua_socket_connect_timeout", msec),
        send_timeout: find(b"lua_socket_send_timeout", msec),
        read_timeout: find(b"lua_socket_read_timeout", msec),
        keepalive_timeout: find(b"lua_socket_keepalive_timeout", msec),
        pool_size: find(b"lua_socket_pool_size", number),
    }
}

type Setter = unsafe extern "C" fn(*mut ngx_conf_t, *mut ngx_command_t, *mut c_void) -> *mut c_char;

/// Where the directive stores its value, if it is still a location's and of the type we read.
///
/// # Safety
/// `commands` is a command table, which ends with an empty name.
unsafe fn offset(commands: *const ngx_command_t, name: &[u8], setter: Setter) -> Option<usize> {
    if commands.is_null() {
        return None;
    }
    (0..)
        // SAFETY: the walk stops at the empty name that ends the table.
        .map(|i| unsafe { &*commands.add(i) })
        .take_while(|c| c.name.len != 0)
        // SAFETY: a directive's name is `len` bytes of static memory.
        .find(|c| unsafe { core::slice::from_raw_parts(c.name.data, c.name.len) } == name)
        .filter(|c| c.conf == NGX_HTTP_LOC_CONF_OFFSET)
        .filter(|c| c.set.is_some_and(|set| ptr::fn_addr_eq(set, setter)))
        .map(|c| c.offset)
}

impl Directives {
    /// A duration in force at the location that handles `r`.
    ///
    /// # Safety
    /// `r` is a live request.
    pub(crate) unsafe fn msec(
        &self,
        r: *const ngx_http_request_t,
        offset: Option<usize>,
    ) -> Option<ngx_msec_t> {
        // SAFETY: the caller's promise, and the offset was found under this type's setter.
        unsafe { self.read::<ngx_msec_t>(r, offset?) }
    }

    /// A number in force at the location that handles `r`.
    ///
    /// # Safety
    /// `r` is a live request.
    pub(crate) unsafe fn number(
        &self,
        r: *const ngx_http_request_t,
        offset: Option<usize>,
    ) -> Option<ngx_int_t> {
        // SAFETY: the caller's promise, and the offset was found under this type's setter.
        unsafe { self.read::<ngx_int_t>(r, offset?) }
    }

    /// # Safety
    /// `r` is a live request and `offset` that of a `T` in ngx_lua's location configuration.
    unsafe fn read<T: Copy>(&self, r: *const ngx_http_request_t, offset: usize) -> Option<T> {
        // SAFETY: a request carries the location configuration of every http module, ngx_lua's
        // fake requests included.
        let conf = unsafe { *(*r).loc_conf.add(self.index) };
        // SAFETY: the caller's promise; ngx_lua allocates its configuration aligned.
        (!conf.is_null()).then(|| unsafe { *conf.byte_add(offset).cast::<T>() })
    }
}
