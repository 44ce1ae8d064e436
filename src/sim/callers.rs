//! The callers of the world: they ask, wait, take what comes and say what they saw.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::script::Ask;
use super::world::{Caller, World};
use crate::client::Target;
use crate::{Collect, Duration, Id, Keepalive, Life, Proxy, Request, Status, Timeouts, Until};

impl World {
    pub(super) fn fetch(&mut self, ask: &Ask) {
        let body = ask.body.map(|n| std::vec![b'x'; n]);
        let request = request(ask, body.as_deref());
        let keepalive = ask.keepalive.map(|idle| Keepalive {
            idle: Duration(idle),
            pool_size: ask.size,
        });
        let collect = if ask.stream {
            Collect::Stream
        } else {
            Collect::Whole
        };
        let result = self.engine.fetch(
            &target(ask),
            &request,
            timeouts(ask),
            collect,
            keepalive,
            self.now,
        );
        self.begun(result, ask.stream);
    }

    pub(super) fn connect(&mut self, ask: &Ask) {
        let result = self.engine.connect(&target(ask), timeouts(ask), self.now);
        self.begun(result, false);
    }

    pub(super) fn request(&mut self, number: u32, ask: &Ask) -> Result<(), String> {
        let held = self.caller(number)?.id;
        let body = ask.body.map(|n| std::vec![b'x'; n]);
        let collect = if ask.stream {
            Collect::Stream
        } else {
            Collect::Whole
        };
        self.engine.set_timeouts(held, timeouts(ask), self.now);
        let result = self
            .engine
            .request(held, &request(ask, body.as_deref()), collect, self.now);
        self.begun(result, ask.stream);
        Ok(())
    }

    pub(super) fn begun(&mut self, result: Result<Id, crate::Error>, stream: bool) {
        match result {
            Ok(id) => {
                self.callers.push(Caller {
                    id,
                    stream,
                    body: Vec::new(),
                    told: false,
                });
                let until = if stream { Until::Head } else { Until::Done };
                if self.engine.wait(id, until, self.now) {
                    self.woken.push(id);
                }
            }
            Err(error) => self.note(&format!("refused: {error}")),
        }
    }

    /// A woken caller takes what there is.
    pub(super) fn woke(&mut self, id: Id) {
        let Some(number) = self.callers.iter().position(|c| c.id == id) else {
            return;
        };
        if self.callers[number].stream {
            self.consume(number as u32, id, usize::MAX);
        }
        if self.engine.status(id) == Status::Running {
            self.engine.wait(id, Until::Data, self.now);
        } else {
            self.tell(number);
        }
    }

    pub(super) fn consume(&mut self, number: u32, id: Id, n: usize) {
        let body = self.engine.body(id);
        let n = n.min(body.len());
        if let Some(caller) = self.callers.get_mut(number as usize) {
            caller.body.extend_from_slice(&body[..n]);
        }
        self.engine.consume(id, n, self.now);
    }

    /// What a caller sees at the end of its exchange.
    pub(super) fn tell(&mut self, number: usize) {
        while let Some(line) = self.engine.poll_trace() {
            self.lines.push(line);
        }
        let caller = &mut self.callers[number];
        let id = caller.id;
        if core::mem::replace(&mut caller.told, true) {
            return;
        }
        let status = self.engine.head(id).map_or(0, |head| head.status);
        let rest = self.engine.body(id);
        let n = rest.len();
        caller.body.extend_from_slice(rest);
        let shown = shown(&caller.body);
        self.engine.consume(id, n, self.now);
        let reused = self.engine.reused(id);
        let text = match self.engine.status(id) {
            Status::Failed(error) => format!("e{number} sees {error:?} {status} {shown}"),
            _ => format!("e{number} sees {status} {shown} reused={reused}"),
        };
        self.note(&text);
    }
}

fn target(ask: &Ask) -> Target<'_> {
    Target {
        scheme: ask.scheme,
        host: ask.host.as_bytes(),
        port: ask.port,
        proxy: ask.proxy.as_ref().map(|(host, port)| Proxy {
            host: host.as_bytes(),
            port: *port,
        }),
        pool: ask.pool.as_deref().map(str::as_bytes),
        pool_size: ask.size,
        life: Life {
            requests: ask.life[0],
            time: Duration(ask.life[1]),
        },
    }
}

fn timeouts(ask: &Ask) -> Timeouts {
    let [connect, send, read, total] = ask.timeouts.map(Duration);
    Timeouts {
        connect,
        send,
        read,
        total,
    }
}

fn request<'a>(
    ask: &'a Ask,
    body: Option<&'a [u8]>,
) -> Request<'a, core::iter::Empty<(&'a [u8], &'a [u8])>> {
    Request {
        method: ask.method.as_bytes(),
        path: ask.path.as_bytes(),
        query: b"",
        fields: core::iter::empty(),
        body,
        limits: ask.limits.as_ref(),
    }
}

/// A body as the trace shows it: the text when it is short, else its length and a checksum.
fn shown(body: &[u8]) -> String {
    if body.len() <= 64 {
        return format!("{:?}", String::from_utf8_lossy(body));
    }
    let sum = body
        .iter()
        .fold(0_u32, |sum, &b| sum.rotate_left(5) ^ u32::from(b));
    format!("[{} bytes, sum {sum:08x}]", body.len())
}
