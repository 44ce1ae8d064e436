//! Lines in nginx's error log.

use core::fmt::{self, Write};

use ngx::ffi::{NGX_LOG_ALERT, ngx_cycle, ngx_log_error_core, ngx_log_t, ngx_uint_t};

/// Longest line written; nginx itself cuts at 2048.
const LINE_MAX: usize = 1800;

/// A line being put together on the stack, cut off where it is too long: a panic may be about
/// memory, so its report asks for none.
struct Line {
    bytes: [u8; LINE_MAX],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let n = text.len().min(LINE_MAX - self.len);
        self.bytes[self.len..self.len + n].copy_from_slice(&text.as_bytes()[..n]);
        // A control character in a value must not start a line of its own in the log.
        for byte in &mut self.bytes[self.len..self.len + n] {
            if byte.is_ascii_control() {
                *byte = b' ';
            }
        }
        self.len += n;
        Ok(())
    }
}

/// The log of the running cycle, null before there is one.
pub(crate) fn cycle_log() -> *mut ngx_log_t {
    // SAFETY: `ngx_cycle` is set before any module code runs and only changed between event loop
    // turns of this one thread; a cycle always has a log.
    unsafe { ngx_cycle.as_ref() }.map_or(core::ptr::null_mut(), |cycle| cycle.log)
}

/// Writes one line at `level` (`NGX_LOG_*`).
pub(crate) fn write(level: u32, log: *mut ngx_log_t, text: fmt::Arguments<'_>) {
    // SAFETY: `log` is null or a log of nginx's, which outlives this call.
    let Some(wanted) = (unsafe { log.as_ref() }).map(|log| log.log_level) else {
        return;
    };
    if wanted < level as ngx_uint_t {
        return;
    }
    let mut line = Line {
        bytes: [0; LINE_MAX],
        len: 0,
    };
    let _ = line.write_fmt(text);
    // SAFETY: the format takes a length and a pointer to that many bytes, which live on this stack.
    unsafe {
        ngx_log_error_core(
            level as ngx_uint_t,
            log,
            0,
            c"nhfc: %*s".as_ptr(),
            line.len,
            line.bytes.as_ptr(),
        )
    }
}

/// Writes one `[alert]` line: something is wrong with this module, not with a peer.
pub(crate) fn alert(text: fmt::Arguments<'_>) {
    write(NGX_LOG_ALERT, cycle_log(), text);
}

/// Sends panics to the error log. They are all caught at the edge to nginx, so this line is the
/// only trace one leaves.
pub(crate) fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("unknown panic");
        match panic.location() {
            Some(at) => alert(format_args!("panic at {}:{}: {text}", at.file(), at.line())),
            None => alert(format_args!("panic: {text}")),
        }
    }));
}
