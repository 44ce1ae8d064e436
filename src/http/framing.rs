//! Where a response's body ends and whether its connection may be used again.
//!
//! Both are decided from our own reading of the header fields, never from the parser's flags, so
//! that the version of the parser does not matter. RFC 9112 6.3 and 9.3.

use super::body::Body;
use super::fault::{Fault, Misbehaviour};
use super::head::Head;
use super::syntax::{list, number};

/// How the body of a response is delimited (RFC 9112 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// HEAD, 1xx, 204, 304: no body whatever the header says.
    None,
    /// Content-Length.
    Length(u64),
    /// Transfer-Encoding whose last coding is chunked.
    Chunked,
    /// Ended by the connection.
    UntilClose,
}

impl Framing {
    /// The body to be received.
    pub(crate) fn body(self) -> Body {
        match self {
            Framing::None => Body::Length { left: 0 },
            Framing::Length(left) => Body::Length { left },
            Framing::Chunked => Body::Chunked,
            Framing::UntilClose => Body::UntilClose,
        }
    }
}

/// Why a connection is not used again. Each has a text for traces and statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotReused {
    /// The peer sent `Connection: close`.
    PeerCloses,
    /// The caller sent `Connection: close`, or asked for no keepalive.
    CallerCloses,
    /// HTTP/1.0 without `Connection: keep-alive`.
    Http10,
    /// HTTP/1.0 with Transfer-Encoding: the framing is not to be trusted (RFC 9112 6.1).
    Http10Coding,
    /// The body was ended by the connection.
    ClosedByBody,
    /// The request was not sent to its end.
    UploadUnfinished,
    /// The response was not read to its end.
    BodyUnread,
    /// An exchange is still running on it.
    Busy,
    /// It is gone already.
    Gone,
}

impl NotReused {
    /// Every reason.
    pub const ALL: &'static [NotReused] = &[
        NotReused::PeerCloses,
        NotReused::CallerCloses,
        NotReused::Http10,
        NotReused::Http10Coding,
        NotReused::ClosedByBody,
        NotReused::UploadUnfinished,
        NotReused::BodyUnread,
        NotReused::Busy,
        NotReused::Gone,
    ];

    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            NotReused::PeerCloses => "peer closes",
            NotReused::CallerCloses => "caller closes",
            NotReused::Http10 => "HTTP/1.0",
            NotReused::Http10Coding => "HTTP/1.0 with Transfer-Encoding",
            NotReused::ClosedByBody => "body ended by the connection",
            NotReused::UploadUnfinished => "upload not finished",
            NotReused::BodyUnread => "body not read",
            NotReused::Busy => "exchange running",
            NotReused::Gone => "gone",
        }
    }
}

/// What of the request decides how the response is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Asked {
    /// The method was HEAD, matched case-sensitively (RFC 9110 9.1).
    pub(crate) head: bool,
    /// The request said `Connection: close`.
    pub(crate) close: bool,
}

/// The verdict over one response head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) framing: Framing,
    pub(crate) reuse: Result<(), NotReused>,
}

/// The framing fields, as found.
#[derive(Debug, Default)]
struct Fields {
    length: Option<u64>,
    /// Transfer-Encoding: whether the last coding is chunked.
    coded: Option<bool>,
    /// Whether chunked was among the codings.
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

/// Reads the head of a final response to a request.
pub(crate) fn verdict(head: &Head, asked: Asked) -> Result<Verdict, Fault> {
    let fields = read(head)?;
    if fields.coded.is_some() && fields.length.is_some() {
        return Err(Misbehaviour::ContentLength.into());
    }
    let framing = match (fields.coded, fields.length) {
        _ if asked.head || matches!(head.status, 100..=199 | 204 | 304) => Framing::None,
        (Some(true), _) => Framing::Chunked,
        (Some(false), _) => Framing::UntilClose,
        (None, Some(n)) => Framing::Length(n),
        (None, None) => Framing::UntilClose,
    };
    let reuse = if fields.close {
        Err(NotReused::PeerCloses)
    } else if head.minor == 0 && fields.coded.is_some() {
        Err(NotReused::Http10Coding)
    } else if head.minor == 0 && !fields.keep_alive {
        Err(NotReused::Http10)
    } else if framing == Framing::UntilClose {
        Err(NotReused::ClosedByBody)
    } else if asked.close {
        Err(NotReused::CallerCloses)
    } else {
        Ok(())
    };
    Ok(Verdict { framing, reuse })
}

/// Whether `name` is `usual` in any case; nearly always it is in the usual one.
#[inline]
fn is(name: &[u8], usual: &[u8]) -> bool {
    name == usual || name.eq_ignore_ascii_case(usual)
}

fn read(head: &Head) -> Result<Fields, Fault> {
    let mut found = Fields::default();
    for (name, value) in head.fields.iter() {
        // The lengths tell the three apart, so most fields cost one comparison of integers.
        match name.len() {
            10 if is(name, b"Connection") => {
                if value == b"keep-alive" {
                    found.keep_alive = true;
                    continue;
                }
                for option in list(value) {
                    found.close |= option.eq_ignore_ascii_case(b"close");
                    found.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if is(name, b"Content-Length") => {
                let n = number(value).ok_or(Misbehaviour::ContentLength)?;
                if found.length.replace(n).is_some() {
                    return Err(Misbehaviour::ContentLength.into());
                }
            }
            17 if is(name, b"Transfer-Encoding") => {
                for coding in list(value) {
                    let chunked = coding.eq_ignore_ascii_case(b"chunked");
                    if chunked && core::mem::replace(&mut found.chunked, true) {
                        // Two layers of chunks: readers differ in how many they take off.
                        return Err(Misbehaviour::TransferEncoding.into());
                    }
                    found.coded = Some(chunked);
                }
                found.coded.get_or_insert(false);
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::limits::Limits;
    use crate::http::parser::{Parser, Stop};

    fn head(lines: &str) -> Result<Head, Fault> {
        let mut parser = Parser::new(Limits::default());
        let raw = std::format!("{lines}\r\n\r\n").replace('|', "\r\n");
        let (taken, stop) = parser.feed_head(raw.as_bytes())?;
        assert_eq!((taken, stop), (raw.len(), Stop::Head));
        let mut head = Head::default();
        parser.finish_head(&mut head)?;
        Ok(head)
    }

    fn judged(lines: &str, asked: Asked) -> Result<Verdict, Fault> {
        verdict(&head(lines)?, asked)
    }

    #[track_caller]
    fn framed(lines: &str, framing: Framing) {
        assert_eq!(
            judged(lines, Asked::default()).unwrap().framing,
            framing,
            "{lines}"
        );
    }

    #[test]
    fn bodies_are_framed_by_rfc_9112() {
        framed("HTTP/1.1 200 OK|Content-Length: 5", Framing::Length(5));
        framed(
            "HTTP/1.1 200 OK|Transfer-Encoding: chunked",
            Framing::Chunked,
        );
        framed(
            "HTTP/1.1 200 OK|Transfer-Encoding: gzip, Chunked",
            Framing::Chunked,
        );
        framed(
            "HTTP/1.1 200 OK|Transfer-Encoding: chunked, gzip",
            Framing::UntilClose,
        );
        framed(
            "HTTP/1.1 200 OK|Transfer-Encoding: xchunked",
            Framing::UntilClose,
        );
        framed("HTTP/1.1 200 OK", Framing::UntilClose);
        framed("HTTP/1.1 204 No Content|Content-Length: 5", Framing::None);
        framed("HTTP/1.1 304 Not Modified|Content-Length: 5", Framing::None);
        let asked = Asked {
            head: true,
            close: false,
        };
        assert_eq!(
            judged("HTTP/1.1 200 OK|Content-Length: 5", asked)
                .unwrap()
                .framing,
            Framing::None
        );
    }

    #[test]
    fn ambiguous_framing_is_refused() {
        let length = Fault::from(Misbehaviour::ContentLength);
        let coding = Fault::from(Misbehaviour::TransferEncoding);
        for value in [
            "0x10",
            "1e1",
            "+5",
            "-1",
            "5.0",
            "5 5",
            "5a",
            "5, 5",
            "9223372036854775808",
        ] {
            let lines = std::format!("HTTP/1.1 200 OK|Content-Length: {value}");
            assert_eq!(judged(&lines, Asked::default()), Err(length), "{value}");
        }
        for lines in [
            "HTTP/1.1 200 OK|Content-Length: 5|Content-Length: 5",
            "HTTP/1.1 200 OK|Content-Length: 3|Transfer-Encoding: chunked",
        ] {
            assert!(judged(lines, Asked::default()).is_err(), "{lines}");
        }
        assert!(
            judged(
                "HTTP/1.1 200 OK|Transfer-Encoding: chunked|Content-Length: 3",
                Asked::default()
            )
            .is_err()
        );
        assert_eq!(
            judged(
                "HTTP/1.1 200 OK|Transfer-Encoding: chunked, chunked",
                Asked::default()
            ),
            Err(coding)
        );
    }

    #[test]
    fn reuse_is_judged_with_a_reason() {
        let reuse = |lines: &str, close| judged(lines, Asked { head: false, close }).unwrap().reuse;
        let len = "Content-Length: 0";
        assert_eq!(reuse(&std::format!("HTTP/1.1 200 OK|{len}"), false), Ok(()));
        assert_eq!(
            reuse(
                &std::format!("HTTP/1.1 200 OK|{len}|Connection: x,\tClose"),
                false
            ),
            Err(NotReused::PeerCloses)
        );
        assert_eq!(
            reuse(&std::format!("HTTP/1.1 200 OK|{len}"), true),
            Err(NotReused::CallerCloses)
        );
        assert_eq!(
            reuse("HTTP/1.1 200 OK", false),
            Err(NotReused::ClosedByBody)
        );
        assert_eq!(
            reuse(&std::format!("HTTP/1.0 200 OK|{len}"), false),
            Err(NotReused::Http10)
        );
        assert_eq!(
            reuse(
                &std::format!("HTTP/1.0 200 OK|{len}|Connection: Keep-Alive"),
                false
            ),
            Ok(())
        );
        let coded = "HTTP/1.0 200 OK|Transfer-Encoding: chunked|Connection: keep-alive";
        assert_eq!(reuse(coded, false), Err(NotReused::Http10Coding));
    }
}
