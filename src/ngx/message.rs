//! A call from Lua in the engine's terms.

use ngx_http_ffi_client::{
    Content, Duration, Keepalive, Life, Limits, Request, Scheme, Target, Timeouts,
};

use crate::abi::{self, Call, Checked};
use crate::conf::InForce;
use crate::exchange::Failure;

/// How long each part may take.
pub(crate) fn timeouts(in_force: &InForce<'_>, call: &Call) -> Timeouts {
    Timeouts {
        connect: in_force.connect(call.connect_ms),
        send: in_force.send(call.send_ms),
        read: in_force.read(call.read_ms),
        total: in_force.total(call.total_ms),
        expect: in_force.expect(call.expect_ms),
    }
}

/// How a connection is kept.
pub(crate) fn keepalive(in_force: &InForce<'_>, idle_ms: i32, pool_size: i32) -> Keepalive {
    Keepalive {
        idle: in_force.idle(idle_ms),
        pool_size: Some(in_force.pool_size(pool_size)),
    }
}

/// Whom the call is about.
pub(crate) fn target<'a>(call: &Checked<'a>) -> Result<Target<'a>, Failure> {
    let numbers = call.numbers();
    let scheme = match call.text(|c| &c.scheme) {
        b"http" => Scheme::Http,
        b"https" => Scheme::Https,
        _ => return Err("unsupported scheme"),
    };
    Ok(Target {
        scheme,
        host: call.text(|c| &c.host),
        port: u16::try_from(numbers.port).unwrap_or(0),
        proxy: None,
        pool: call.optional(|c| &c.pool),
        pool_size: usize::try_from(numbers.pool_size).ok().filter(|n| *n > 0),
        backlog: usize::try_from(numbers.backlog).ok(),
        life: Life {
            requests: u32::try_from(numbers.life_requests).unwrap_or(0),
            time: Duration(u32::try_from(numbers.life_ms).unwrap_or(0)),
        },
    })
}

/// What is to be sent.
pub(crate) fn request<'a>(
    call: &Checked<'a>,
    limits: Option<&'a Limits>,
) -> Request<'a, impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone + use<'a>> {
    Request {
        method: call.text(|c| &c.method),
        path: call.text(|c| &c.path),
        query: call.text(|c| &c.query),
        fields: call.fields(),
        body: match call.optional(|c| &c.body) {
            _ if call.has(abi::PIECES) => Content::Pieces,
            Some(body) => Content::Whole(body),
            None => Content::None,
        },
        limits,
    }
}
