//! The system's own idea of names, for where no `resolver` is configured: its hosts file and the
//! name servers of its resolver configuration. Read when nginx reads its configuration, because
//! only then can a resolver be made; a change takes effect with a reload.

use core::ffi::{c_char, c_void};
use core::fmt;
use core::ptr::{self, NonNull};
use std::fs;

use ngx::ffi::{
    NGX_LOG_WARN, NGX_OK, ngx_command_t, ngx_conf_full_name, ngx_conf_log_error, ngx_conf_t,
    ngx_int_t, ngx_pool_cleanup_add, ngx_resolver_create, ngx_resolver_t, ngx_str_t, ngx_uint_t,
};
use ngx_http_ffi_client::names::{Hosts, Resolv};

use crate::conf::words;

/// Which files `nhfc_system_resolver` names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Files {
    /// None: only configured resolvers are asked.
    Off,
    /// These; an absent one is the system's own.
    On {
        resolv: Option<ngx_str_t>,
        hosts: Option<ngx_str_t>,
    },
}

impl Files {
    /// Reads the files that a directive named, or those of the system.
    /// `None` where there are to be none, or when there is no memory.
    ///
    /// # Safety
    /// `cf` is the configuration being read, and the names are in it.
    pub(crate) unsafe fn load(
        named: Option<Files>,
        cf: *mut ngx_conf_t,
    ) -> Option<NonNull<System>> {
        let (resolv, hosts) = match named {
            Some(Files::Off) => return None,
            Some(Files::On { resolv, hosts }) => (resolv, hosts),
            None => (None, None),
        };
        let path = |given: Option<ngx_str_t>, standard: &str| match given {
            // SAFETY: the caller's promise.
            Some(given) => unsafe { full(cf, given) },
            None => Some(standard.to_string()),
        };
        let resolv = path(resolv, "/etc/resolv.conf")?;
        let hosts = path(hosts, "/etc/hosts")?;
        // SAFETY: the caller's promise.
        unsafe { System::load(cf, &resolv, &hosts) }
    }
}

/// A path as a configuration has it: a relative one is in the directory of nginx.conf. `None` when
/// there is no memory.
///
/// # Safety
/// `cf` is the configuration being read, and the path is in it.
unsafe fn full(cf: *mut ngx_conf_t, mut path: ngx_str_t) -> Option<String> {
    // SAFETY: the caller's promise; nginx makes another path in its pool and leaves this one's text.
    let rc = unsafe { ngx_conf_full_name((*cf).cycle, &raw mut path, 1) };
    (rc == NGX_OK as ngx_int_t).then(|| String::from_utf8_lossy(path.as_bytes()).into_owned())
}

/// The directive: `on`, `off`, or a resolver configuration and perhaps a hosts file.
pub(crate) unsafe extern "C" fn set_files(
    cf: *mut ngx_conf_t,
    command: *mut ngx_command_t,
    conf: *mut c_void,
) -> *mut c_char {
    // SAFETY: nginx passes the configuration that the command's offset is about.
    let files = unsafe { &mut *conf.byte_add((*command).offset).cast::<Option<Files>>() };
    if files.is_some() {
        return c"is duplicate".as_ptr().cast_mut();
    }
    let named = |resolv, hosts| Files::On { resolv, hosts };
    // SAFETY: a setter's configuration.
    *files = Some(match unsafe { words(cf) } {
        [_, only] if only.as_bytes() == b"off" => Files::Off,
        [_, only] if only.as_bytes() == b"on" => named(None, None),
        [_, resolv] => named(Some(*resolv), None),
        [_, resolv, hosts] => named(Some(*resolv), Some(*hosts)),
        _ => return c"has a wrong number of arguments".as_ptr().cast_mut(),
    });
    ptr::null_mut()
}

/// What the files say, and a resolver that asks whom they name.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) hosts: Hosts,
    pub(crate) resolv: Resolv,
    resolver: Option<NonNull<ngx_resolver_t>>,
}

impl System {
    /// Asks the name servers of the system; `None` when it has none that can be asked.
    pub(crate) fn resolver(&self) -> Option<NonNull<ngx_resolver_t>> {
        self.resolver
    }

    /// Reads the files and makes the resolver. Lives as long as the configuration. `None` when
    /// there is no memory.
    ///
    /// # Safety
    /// `cf` is the configuration being read.
    unsafe fn load(cf: *mut ngx_conf_t, resolv: &str, hosts: &str) -> Option<NonNull<System>> {
        // SAFETY: the caller's promise.
        let read = |path: &str| unsafe { read(cf, path) };
        let resolv = Resolv::parse(&read(resolv));
        for server in &resolv.unusable {
            // SAFETY: the caller's promise.
            unsafe {
                warn(
                    cf,
                    format_args!("name server {server} cannot be used, skipped"),
                )
            };
        }
        // SAFETY: the caller's promise.
        let resolver = unsafe { resolver(cf, &resolv) };
        let system = Box::new(System {
            hosts: Hosts::parse(&read(hosts)),
            resolv,
            resolver,
        });
        // SAFETY: the caller's promise: the configuration has a pool.
        let cleanup = unsafe { ngx_pool_cleanup_add((*cf).pool, 0).as_mut() }?;
        let system = NonNull::from(Box::leak(system));
        cleanup.handler = Some(forget);
        cleanup.data = system.as_ptr().cast();
        Some(system)
    }
}

/// The configuration goes, and with it what was read for it.
unsafe extern "C" fn forget(data: *mut c_void) {
    // SAFETY: the box that `load` leaked; a cleanup runs once, and nothing of its configuration
    // is used any more.
    drop(unsafe { Box::from_raw(data.cast::<System>()) });
}

/// A file's text; empty, with a warning, where it cannot be read.
///
/// # Safety
/// `cf` is the configuration being read.
unsafe fn read(cf: *mut ngx_conf_t, path: &str) -> String {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            // SAFETY: the caller's promise.
            unsafe { warn(cf, format_args!("{path} cannot be read: {error}")) };
            String::new()
        }
    }
}

/// # Safety
/// `cf` is the configuration being read.
unsafe fn resolver(cf: *mut ngx_conf_t, resolv: &Resolv) -> Option<NonNull<ngx_resolver_t>> {
    let servers: Vec<String> = resolv.servers.iter().map(ToString::to_string).collect();
    if servers.is_empty() {
        return None;
    }
    let mut names: Vec<ngx_str_t> = servers
        .iter()
        .map(|s| ngx_str_t {
            len: s.len(),
            data: s.as_ptr().cast_mut(),
        })
        .collect();
    // SAFETY: the caller's promise; nginx reads the names, which live through the call, and keeps
    // copies of what it needs.
    let made = unsafe { ngx_resolver_create(cf, names.as_mut_ptr(), names.len()) };
    NonNull::new(made)
}

/// # Safety
/// `cf` is the configuration being read.
unsafe fn warn(cf: *mut ngx_conf_t, text: fmt::Arguments<'_>) {
    let text = text.to_string();
    // SAFETY: the caller's promise; the format takes a length and a pointer to that many bytes.
    unsafe {
        let format = c"ngx_http_ffi_client_module: %*s".as_ptr();
        ngx_conf_log_error(
            NGX_LOG_WARN as ngx_uint_t,
            cf,
            0,
            format,
            text.len(),
            text.as_ptr(),
        );
    }
}
