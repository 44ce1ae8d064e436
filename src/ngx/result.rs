//! Answers to Lua. What they point to stays as it is until Lua calls again: the engine's own
//! buffers where an exchange lives on, and a finished exchange's, which are kept here.
//!
//! Head and trailers are told as their bytes. Lua copies them and takes the lines apart when
//! somebody looks, which most callers never do.

use core::net::SocketAddr;

use ngx_http_ffi_client::{Finished, Head, Section};

use crate::abi::{Reply, Text};

/// The memory behind the last answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    finished: Option<Finished>,
    failure: String,
}

impl Answer {
    /// Answers with a whole response and keeps it until the next one. Gives back the one before.
    pub(crate) fn whole(&mut self, finished: Finished, reply: &mut Reply) -> Option<Finished> {
        let spent = self.finished.replace(finished);
        if let Some(finished) = &self.finished {
            head(&finished.head, reply);
            reply.body = Text::of(&finished.body);
            if let Some(section) = &finished.trailers {
                trailers(section, reply);
            }
        }
        spent
    }
}

impl Answer {
    /// Answers with a failure to connect to any of several addresses.
    pub(crate) fn failure(&mut self, text: &str, tried: &[SocketAddr], reply: &mut Reply) {
        let tried: Vec<String> = tried.iter().map(ToString::to_string).collect();
        self.failure = format!("{text} (tried {})", tried.join(", "));
        reply.error = Text::of(self.failure.as_bytes());
    }
}

/// Answers with a head.
pub(crate) fn head(head: &Head, reply: &mut Reply) {
    reply.head = Text::of(head.fields.bytes());
    reply.status = i32::from(head.status);
}

/// Answers with a trailer section.
pub(crate) fn trailers(section: &Section, reply: &mut Reply) {
    if !section.is_empty() {
        reply.tail = Text::of(section.bytes());
    }
}
