//! Where a response's body ends and whether its connection may be used again.
//!
//! Both are decided from our own reading of the header fields, never from the parser's flags, so
//! that the version of the parser does not matter. RFC 9112 6.3 and 9.3.

use super::body::Body;
use super::fault::{Fault, Misbehaviour};
use super::head::Head;
use super::syntax::{list, number, trim};

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
    /// The peer closes idle connections within a second (`Keep-Alive: timeout`).
    PeerTimeout,
    /// The peer takes no more requests (`Keep-Alive: max=0`).
    PeerMax,
    /// It has served as many requests as one connection may ([`Life`](crate::Life)).
    Requests,
    /// It has lived as long as a connection may ([`Life`](crate::Life)).
    Age,
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
        NotReused::PeerTimeout,
        NotReused::PeerMax,
        NotReused::Requests,
        NotReused::Age,
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
            NotReused::PeerTimeout => "peer's keep-alive timeout",
            NotReused::PeerMax => "peer's keep-alive max",
            NotReused::Requests => "all requests served",
            NotReused::Age => "lifetime over",
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
    pub(crate) notice: Option<Notice>,
}

/// What the peer says in its Keep-Alive field about a connection that both sides keep. Whoever
/// holds the connection may go on; others must not find it later than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Notice {
    /// For so many milliseconds from the end of the response it may be found idle.
    pub(crate) idle_ms: u32,
    /// Why no longer.
    pub(crate) why: NotReused,
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
    notice: Option<Notice>,
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
    Ok(Verdict {
        framing,
        reuse,
        notice: fields.notice,
    })
}

/// Whether `name` is `usual` in any case; nearly always it is in the usual one.
#[inline]
fn is(name: &[u8], usual: &[u8]) -> bool {
    name == usual || name.eq_ignore_ascii_case(usual)
}

fn read(head: &Head) -> Result<Fields, Fault> {
    let mut found = Fields::default();
    for field in head.fields.spans() {
        // The lengths tell the three apart, so most fields cost a comparison of integers.
        let length = field.name.len();
        if !matches!(length, 10 | 14 | 17) {
            continue;
        }
        let (name, value) = head.fields.line(field);
        match length {
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
            10 if is(name, b"Keep-Alive") => found.notice = noticed(value, found.notice),
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

/// Reads one Keep-Alive field: `timeout=5, max=100`. The strictest of what was said holds; what is no
/// plain number says nothing.
#[cold]
fn noticed(value: &[u8], before: Option<Notice>) -> Option<Notice> {
    let parameter = |text: &[u8]| {
        let at = text.iter().position(|&b| b == b'=')?;
        let (name, number) = (trim(&text[..at]), number(trim(&text[at + 1..]))?);
        if name.eq_ignore_ascii_case(b"timeout") {
            // One second for the peer's clock and the way to it.
            let ms = number.saturating_sub(1).saturating_mul(1000);
            return Some(Notice {
                idle_ms: u32::try_from(ms).unwrap_or(u32::MAX),
                why: NotReused::PeerTimeout,
            });
        }
        // How many more it takes, as Apache httpd counts; only zero is the same to all who send it.
        (name.eq_ignore_ascii_case(b"max") && number == 0).then_some(Notice {
            idle_ms: 0,
            why: NotReused::PeerMax,
        })
    };
    let said = list(value).filter_map(parameter);
    before.into_iter().chain(said).min_by_key(|n| n.idle_ms)
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

    #[test]
    fn case_58_what_a_peer_says_about_keeping_is_read() {
        let timeout = |idle_ms| {
            Some(Notice {
                idle_ms,
                why: NotReused::PeerTimeout,
            })
        };
        let max = Some(Notice {
            idle_ms: 0,
            why: NotReused::PeerMax,
        });
        for (fields, notice) in [
            ("X: 1", None),
            ("Keep-Alive: timeout=5", timeout(4000)),
            ("keep-alive:timeout = 5\t,max=100", timeout(4000)),
            ("KEEP-ALIVE: Max=7, TIMEOUT=2", timeout(1000)),
            ("Keep-Alive: timeout=1", timeout(0)),
            ("Keep-Alive: timeout=0", timeout(0)),
            ("Keep-Alive: timeout=9, timeout=3", timeout(2000)),
            ("Keep-Alive: timeout=3|Keep-Alive: timeout=9", timeout(2000)),
            ("Keep-Alive: timeout=9223372036854775807", timeout(u32::MAX)),
            ("Keep-Alive: timeout=9, max=0", max),
            ("Keep-Alive: max=1", None),
            ("Keep-Alive: timeout=abc, timeout=4", timeout(3000)),
        ] {
            let lines = std::format!("HTTP/1.1 200 OK|Content-Length: 0|{fields}");
            let verdict = judged(&lines, Asked::default()).unwrap();
            assert_eq!(verdict.notice, notice, "{fields}");
            assert_eq!(
                verdict.reuse,
                Ok(()),
                "whoever holds it may go on: {fields}"
            );
        }
        for odd in [
            "",
            "timeout",
            "timeout=",
            "timeout=-1",
            "timeout=+5",
            "timeout=5s",
            "timeout=\"5\"",
            "timeout=1.5",
            "=5",
            "timeout:5",
            "timeouts=5",
            "max=-0",
            "max=",
            "5",
            "timeout=99999999999999999999",
            "timeout=5;max=0",
        ] {
            let lines = std::format!("HTTP/1.1 200 OK|Content-Length: 0|Keep-Alive: {odd}");
            let verdict = judged(&lines, Asked::default()).unwrap();
            assert_eq!(verdict.notice, None, "{odd}");
        }
    }
}
