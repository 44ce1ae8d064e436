//! What can be wrong with a response, named by the part that was wrong.

/// Declares a fieldless leaf enum whose variants each have a meaning and a text, and the list of all
/// of them.
macro_rules! leaves {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $($(#[doc = $doc])+ $variant),+ }

        impl $name {
            /// Every leaf, for tables and tests.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The text callers see.
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// When it happens: the documentation of the leaf.
            pub const fn meaning(self) -> &'static str {
                match self { $($name::$variant => concat!($($doc),+)),+ }
            }

            /// The name of the leaf.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => stringify!($variant)),+ }
            }
        }
    };
}
pub(crate) use leaves;

leaves! {
    /// The peer broke HTTP/1.1 (RFC 9112).
    Misbehaviour {
        /// Not `HTTP/1.x NNN reason CRLF` (section 4).
        StatusLine => "invalid response: status line",
        /// A version other than 1.0 and 1.1.
        Version => "invalid response: HTTP version",
        /// A field name that is no token, or a blank before the colon (5.1).
        HeaderName => "invalid response: header name",
        /// A control character, a bare CR or LF, or a fold in a field value (RFC 9110 5.5, RFC 9112 5.2).
        HeaderValue => "invalid response: header value",
        /// Content-Length that is no plain number, repeated, or beside Transfer-Encoding (6.2).
        ContentLength => "invalid response: Content-Length",
        /// Transfer-Encoding that cannot be decoded one way only (6.1).
        TransferEncoding => "invalid response: Transfer-Encoding",
        /// A chunk size line that is not hexadecimal digits within 63 bits (7.1).
        ChunkSize => "invalid response: chunk size",
        /// A trailer line that is no field line (7.1.2).
        Trailer => "invalid response: trailer",
        /// 101 that nobody asked for (RFC 9110 7.8).
        Upgrade => "invalid response: unexpected 101 Switching Protocols",
    }
}

leaves! {
    /// A bound of [`Limits`](crate::Limits), or of the worker, was passed.
    Limit {
        /// The head has more bytes than [`Limits::head`](crate::Limits::head).
        Head => "response header too large",
        /// The head, or the trailers, have more lines than [`Limits::lines`](crate::Limits::lines).
        Lines => "response has too many header lines",
        /// More interim responses came than [`Limits::interim`](crate::Limits::interim).
        Interim => "too many interim responses",
        /// The chunk extensions have more bytes than [`Limits::extensions`](crate::Limits::extensions).
        Extensions => "chunk extensions too large",
        /// The trailers have more bytes than [`Limits::trailers`](crate::Limits::trailers).
        Trailers => "response trailers too large",
        /// The body has more bytes than [`Limits::whole`](crate::Limits::whole), if gathered, or
        /// [`Limits::body`](crate::Limits::body).
        Whole => "response body too large",
        /// As many wait for a connection of the pool as may ([`Target::backlog`](crate::Target::backlog)).
        Backlog => "too many waiting connect operations",
        /// A million exchanges or connections are live.
        Slots => "too many exchanges",
    }
}

/// Why a response cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Misbehaved(Misbehaviour),
    Limit(Limit),
}

impl From<Misbehaviour> for Fault {
    fn from(m: Misbehaviour) -> Self {
        Fault::Misbehaved(m)
    }
}

impl From<Limit> for Fault {
    fn from(l: Limit) -> Self {
        Fault::Limit(l)
    }
}
