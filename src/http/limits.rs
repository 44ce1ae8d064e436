//! How much of anything a peer may make us hold.

/// Upper bounds on what one response may cost. Exceeding one is an error and drops the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a response head, status line included. Default 64 KiB.
    pub head: u32,
    /// Header lines in a response head, and trailer lines behind its body. Default 256.
    pub lines: u32,
    /// Interim (1xx) responses before the final one. Default 16.
    pub interim: u32,
    /// Bytes of all chunk extensions of one response. Default 16 KiB.
    pub extensions: u32,
    /// Bytes of a trailer section. Default 16 KiB.
    pub trailers: u32,
    /// Bytes of a body gathered whole. Default 128 MiB.
    pub whole: u64,
    /// Bytes of a body, however it is taken. Default none: a body that is pulled has no end.
    pub body: u64,
}

impl Limits {
    /// No bounds at all: what [`Limits::lower`] leaves everything as it is with.
    pub const NONE: Limits = Limits {
        head: u32::MAX,
        lines: u32::MAX,
        interim: u32::MAX,
        extensions: u32::MAX,
        trailers: u32::MAX,
        whole: u64::MAX,
        body: u64::MAX,
    };

    /// Each by the name that scripts and traces use.
    pub(crate) fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("head", self.head.into()),
            ("lines", self.lines.into()),
            ("interim", self.interim.into()),
            ("extensions", self.extensions.into()),
            ("trailers", self.trailers.into()),
            ("whole", self.whole),
            ("most", self.body),
        ]
    }

    /// The lower one of each.
    #[must_use]
    pub fn lower(self, other: Limits) -> Limits {
        Limits {
            head: self.head.min(other.head),
            lines: self.lines.min(other.lines),
            interim: self.interim.min(other.interim),
            extensions: self.extensions.min(other.extensions),
            trailers: self.trailers.min(other.trailers),
            whole: self.whole.min(other.whole),
            body: self.body.min(other.body),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            head: 64 << 10,
            lines: 256,
            interim: 16,
            extensions: 16 << 10,
            trailers: 16 << 10,
            whole: 128 << 20,
            body: u64::MAX,
        }
    }
}
