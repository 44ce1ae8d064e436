//! What nginx sees: one http module, its contexts and its life in each process.
//!
//! The module's name inside nginx has a prefix of its own, so that it loads beside a C module
//! that carries the name of the shared object.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};
use core::ptr::{self, NonNull};

use ngx::ffi::{
    NGX_HTTP_MODULE, NGX_LOG_EMERG, NGX_OK, ngx_conf_log_error, ngx_conf_t, ngx_cycle, ngx_cycle_t,
    ngx_http_conf_ctx_t, ngx_http_core_loc_conf_t, ngx_http_core_module, ngx_http_module,
    ngx_http_module_t, ngx_http_request_t, ngx_int_t, ngx_module_t, ngx_msec_t, ngx_resolver_t,
    ngx_uint_t,
};

use crate::conf::{self, LocationConf, MainConf};
use crate::system::{Files, System};
use crate::{log, lua, worker};

/// A value that C code reads and writes through a pointer.
#[repr(transparent)]
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: nginx's configuration and event loop run on the process's first thread, the only one
// that ever touches a module's tables.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) const fn new(value: T) -> Self {
        Shared(UnsafeCell::new(value))
    }

    pub(crate) const fn get(&self) -> *mut T {
        self.0.get()
    }
}

static CONTEXT: Shared<ngx_http_module_t> = Shared::new(ngx_http_module_t {
    preconfiguration: None,
    postconfiguration: Some(postconfiguration),
    create_main_conf: Some(conf::create_main),
    init_main_conf: Some(conf::init_main),
    create_srv_conf: None,
    merge_srv_conf: None,
    create_loc_conf: Some(conf::create_location),
    merge_loc_conf: Some(conf::merge_location),
});

/// The module. nginx fills in its indexes.
#[unsafe(no_mangle)]
pub static ngx_http_nhfc_module: Shared<ngx_module_t> = Shared::new(ngx_module_t {
    ctx: CONTEXT.get().cast::<c_void>(),
    commands: conf::COMMANDS.get().cast(),
    type_: NGX_HTTP_MODULE as ngx_uint_t,
    init_process: Some(init_process),
    exit_process: Some(exit_process),
    ..ngx_module_t::default()
});

/// The modules of this shared object, as `load_module` looks them up.
#[unsafe(no_mangle)]
pub static ngx_modules: Shared<[*const ngx_module_t; 2]> =
    Shared::new([ngx_http_nhfc_module.get().cast_const(), ptr::null()]);

/// Their names.
#[unsafe(no_mangle)]
pub static ngx_module_names: Shared<[*const c_char; 2]> =
    Shared::new([c"ngx_http_nhfc_module".as_ptr(), ptr::null()]);

/// The place among other modules they ask for: none.
#[unsafe(no_mangle)]
pub static ngx_module_order: Shared<[*const c_char; 1]> = Shared::new([ptr::null()]);

/// Runs when every directive has been read and every module loaded, in whichever order.
unsafe extern "C" fn postconfiguration(cf: *mut ngx_conf_t) -> ngx_int_t {
    // SAFETY: nginx passes the configuration it has just read.
    match unsafe { lua::find(cf) } {
        Ok(found) => {
            // SAFETY: as above; the main configuration was created before any directive was read.
            let main = unsafe { main_conf_in((*cf).ctx.cast()) };
            // SAFETY: the configuration is ours alone until workers start.
            unsafe {
                (*main).lua = Some(found);
                (*main).system = Files::load((*main).files, cf);
            }
            NGX_OK as ngx_int_t
        }
        Err(text) => {
            // SAFETY: the format takes a length and a pointer to that many bytes.
            unsafe {
                let format = c"ngx_http_ffi_client_module: %*s".as_ptr();
                ngx_conf_log_error(
                    NGX_LOG_EMERG as ngx_uint_t,
                    cf,
                    0,
                    format,
                    text.len(),
                    text.as_ptr(),
                );
            }
            ngx::ffi::NGX_ERROR as ngx_int_t
        }
    }
}

/// Runs in every process that has an event loop. The engine itself is made by the first request
/// that uses it, so a cache manager or an idle worker holds none.
unsafe extern "C" fn init_process(_: *mut ngx_cycle_t) -> ngx_int_t {
    log::log_panics();
    NGX_OK as ngx_int_t
}

/// Runs before Lua's state is closed: whatever its finalisers call afterwards finds no worker.
unsafe extern "C" fn exit_process(_: *mut ngx_cycle_t) {
    worker::exit();
}

/// # Safety
/// `ctx` is the http block's.
unsafe fn main_conf_in(ctx: *const ngx_http_conf_ctx_t) -> *mut MainConf {
    // SAFETY: nginx gave the module its index before it created configurations.
    unsafe {
        (*(*ctx)
            .main_conf
            .add((*ngx_http_nhfc_module.get()).ctx_index))
        .cast()
    }
}

/// The http block's own contexts in the running cycle; null in a configuration without one.
fn http_block() -> *const ngx_http_conf_ctx_t {
    // SAFETY: the running cycle's contexts live as long as the cycle, which outlives its requests.
    unsafe {
        (*(*ngx_cycle)
            .conf_ctx
            .add((*ptr::addr_of!(ngx_http_module)).index))
        .cast_const()
        .cast()
    }
}

/// The main configuration in force.
pub(crate) fn main_conf() -> Option<&'static MainConf> {
    let ctx = http_block();
    // SAFETY: not null, so the http block's; nothing writes to it after configuration.
    (!ctx.is_null()).then(|| unsafe { &*main_conf_in(ctx) })
}

/// The resolver in force for `r`, if one is configured, and how long it may take.
///
/// # Safety
/// `r` is a live request, possibly one of ngx_lua's fakes.
pub(crate) unsafe fn resolver(
    r: NonNull<ngx_http_request_t>,
) -> (Option<NonNull<ngx_resolver_t>>, ngx_msec_t) {
    // SAFETY: the caller's promise; each request carries the core module's configuration.
    unsafe {
        let index = (*ptr::addr_of!(ngx_http_core_module)).ctx_index;
        let core = (*r.as_ref().loc_conf.add(index)).cast::<ngx_http_core_loc_conf_t>();
        let resolver = NonNull::new((*core).resolver);
        // nginx has one without servers where there is no directive.
        let resolver = resolver.filter(|r| r.as_ref().connections.nelts > 0);
        (resolver, (*core).resolver_timeout)
    }
}

/// What there is where no resolver is configured.
pub(crate) fn system() -> Option<&'static System> {
    // SAFETY: made with the running configuration, and lives as long.
    main_conf()?.system.map(|system| unsafe { system.as_ref() })
}

/// The location configuration in force for `r`, and the http block's own.
///
/// # Safety
/// `r` is a live request, possibly one of ngx_lua's fakes.
pub(crate) unsafe fn location_confs<'a>(
    r: *const ngx_http_request_t,
) -> (&'a LocationConf, &'a LocationConf) {
    // SAFETY: nginx gave the module its index before it created configurations; each request
    // carries every http module's, and nothing writes to them after configuration.
    unsafe {
        let index = (*ngx_http_nhfc_module.get()).ctx_index;
        let own = &*(*(*r).loc_conf.add(index)).cast::<LocationConf>();
        let top = http_block();
        let top = if top.is_null() {
            own
        } else {
            &*(*(*top).loc_conf.add(index)).cast::<LocationConf>()
        };
        (own, top)
    }
}
