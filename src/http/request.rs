//! A request is validated and written into one buffer: head and body, ready for one send.

use alloc::vec::Vec;

use super::authority::{Authority, VERSION, put_authority, put_number};
use super::content::{Content, Framed, Rest, frame};
use super::fault::leaves;
use super::framing::Asked;
use super::limits::Limits;
use super::syntax::{is_target, is_token, is_value, list};

/// A request as the caller gives it. Nothing is kept: what is needed is copied.
#[derive(Debug, Clone, Default)]
pub struct Request<'a, F> {
    /// A token (RFC 9110 9.1), matched case-sensitively.
    pub method: &'a [u8],
    /// The path, beginning with `/`; empty means `/`. Also `*`, or an absolute URI for a proxy.
    pub path: &'a [u8],
    /// The query without its `?`; empty means none.
    pub query: &'a [u8],
    /// Header lines in order. Host, Connection and Content-Length replace what would be written;
    /// Transfer-Encoding is dropped unless the body comes in pieces.
    pub fields: F,
    /// What follows the head.
    pub body: Content<'a>,
    /// What the response may cost, where that is less than the engine's own limits say.
    pub limits: Option<&'a Limits>,
}

leaves! {
    /// The caller asked for something that must not, or cannot, go on the wire.
    Misuse {
        /// The method is no token.
        Method => "invalid method",
        /// The path has a blank, a control character or `#`, or does not begin with `/`.
        Path => "invalid path",
        /// The query has a blank, a control character or `#`.
        Query => "invalid query",
        /// The host is empty or has characters no host has.
        Host => "invalid host",
        /// The port is zero or above 65535.
        Port => "invalid port",
        /// A field name is no token.
        HeaderName => "invalid header name",
        /// A field value has a control character.
        HeaderValue => "invalid header value",
        /// Host, Connection or Content-Length more than once.
        HeaderRepeated => "header given more than once",
        /// The body comes in pieces and nothing says where it ends.
        NoLength => "a body in pieces needs Content-Length or Transfer-Encoding: chunked",
        /// Content-Length differs from the length of the body.
        ContentLength => "Content-Length does not match the body",
        /// The object has no connection.
        NotConnected => "closed",
        /// Something is running on it already.
        Busy => "socket busy",
        /// The previous response was not read to its end.
        BodyUnread => "previous response body not read",
    }
}

/// What the encoder learned about the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Encoded {
    pub(crate) asked: Asked,
    /// Sending it twice does what sending it once does (RFC 9110 9.2.2).
    pub(crate) idempotent: bool,
    /// A body follows, and the peer is asked for leave to send it (RFC 9110 10.1.1).
    pub(crate) expects: bool,
    /// Where the body begins.
    pub(crate) head: usize,
    /// What the caller has yet to supply.
    pub(crate) rest: Rest,
}

/// The fields that we would write, when the caller gave them.
#[derive(Default)]
struct Given<'a> {
    host: Option<&'a [u8]>,
    connection: Option<&'a [u8]>,
    length: Option<&'a [u8]>,
    encoding: Option<&'a [u8]>,
    /// `Expect: 100-continue`.
    expects: bool,
}

/// Writes `request` behind what is in `wire`. On `Err` nothing is left of it there.
///
/// `version_and_host` is [`version_and_host`]'s; `close` says that the connection will not be kept.
pub(crate) fn encode<'a, F>(
    wire: &mut Vec<u8>,
    version_and_host: &[u8],
    request: &Request<'a, F>,
    close: bool,
) -> Result<Encoded, Misuse>
where
    F: Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
{
    let given = validate(request)?;
    let close = match given.connection {
        Some(value) => list(value).any(|o| o.eq_ignore_ascii_case(b"close")),
        None => close,
    };
    let framed = frame(request.method, request.body, given.length, given.encoding)?;
    put_target(wire, request);
    match given.host {
        Some(value) => {
            wire.extend_from_slice(VERSION);
            put_field(wire, b"Host", value);
        }
        None => wire.extend_from_slice(version_and_host),
    }
    for (name, value) in request
        .fields
        .clone()
        .filter(|(name, _)| own_field(name).is_none_or(|own| matches!(own, Own::Expect)))
    {
        put_field(wire, name, value);
    }
    match framed {
        Framed::Unsaid => {}
        Framed::Length(length) => {
            wire.extend_from_slice(b"Content-Length: ");
            put_number(wire, length);
            wire.extend_from_slice(b"\r\n");
        }
        Framed::Encoding(value) => put_field(wire, b"Transfer-Encoding", value),
    }
    match given.connection {
        Some(value) => {
            put_field(wire, b"Connection", value);
            wire.extend_from_slice(b"\r\n");
        }
        None if close => wire.extend_from_slice(b"Connection: close\r\n\r\n"),
        None => wire.extend_from_slice(b"Connection: keep-alive\r\n\r\n"),
    }
    let head = wire.len();
    let rest = match (request.body, framed) {
        (Content::Pieces, Framed::Length(n)) => Rest::Bytes(n),
        (Content::Pieces, Framed::Encoding(_)) => Rest::Chunks,
        (Content::Pieces | Content::None, _) => Rest::Nothing,
        (Content::Whole(body), _) => {
            wire.extend_from_slice(body);
            Rest::Nothing
        }
    };
    let body = wire.len() > head || !matches!(rest, Rest::Nothing | Rest::Bytes(0));
    Ok(Encoded {
        asked: Asked {
            head: request.method == b"HEAD",
            close,
        },
        idempotent: matches!(
            request.method,
            b"GET" | b"HEAD" | b"PUT" | b"DELETE" | b"OPTIONS" | b"TRACE"
        ),
        expects: given.expects && body,
        head,
        rest,
    })
}

/// Everything is checked before the first byte is written.
fn validate<'a, F>(request: &Request<'a, F>) -> Result<Given<'a>, Misuse>
where
    F: Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
{
    if !is_token(request.method) {
        return Err(Misuse::Method);
    }
    let formed = matches!(request.path, [] | [b'/', ..] | b"*")
        || request.path.starts_with(b"http://")
        || request.path.starts_with(b"https://");
    if !formed || !is_target(request.path) {
        return Err(Misuse::Path);
    }
    if !is_target(request.query) {
        return Err(Misuse::Query);
    }
    let mut given = Given::default();
    for (name, value) in request.fields.clone() {
        if !is_token(name) {
            return Err(Misuse::HeaderName);
        }
        if !is_value(value) {
            return Err(Misuse::HeaderValue);
        }
        let slot = match own_field(name) {
            Some(Own::Host) => &mut given.host,
            Some(Own::Connection) => &mut given.connection,
            Some(Own::ContentLength) => &mut given.length,
            // Without pieces it is dropped: whether it is there twice does not matter then.
            Some(Own::TransferEncoding) if request.body != Content::Pieces => continue,
            Some(Own::TransferEncoding) => &mut given.encoding,
            Some(Own::Expect) => {
                given.expects |= list(value).any(|o| o.eq_ignore_ascii_case(b"100-continue"));
                continue;
            }
            None => continue,
        };
        if slot.replace(value).is_some() {
            return Err(Misuse::HeaderRepeated);
        }
    }
    Ok(given)
}

/// The fields that are ours to write, and the one that is only read.
enum Own {
    Expect,
    Host,
    Connection,
    ContentLength,
    TransferEncoding,
}

fn own_field(name: &[u8]) -> Option<Own> {
    // The lengths tell them apart.
    let (full, own) = match name.len() {
        4 => (b"host".as_slice(), Own::Host),
        6 => (b"expect".as_slice(), Own::Expect),
        10 => (b"connection".as_slice(), Own::Connection),
        14 => (b"content-length".as_slice(), Own::ContentLength),
        17 => (b"transfer-encoding".as_slice(), Own::TransferEncoding),
        _ => return None,
    };
    name.eq_ignore_ascii_case(full).then_some(own)
}

fn put_target<F>(wire: &mut Vec<u8>, request: &Request<'_, F>) {
    wire.extend_from_slice(request.method);
    wire.push(b' ');
    wire.extend_from_slice(if request.path.is_empty() {
        b"/"
    } else {
        request.path
    });
    if !request.query.is_empty() {
        wire.push(if request.path.contains(&b'?') {
            b'&'
        } else {
            b'?'
        });
        wire.extend_from_slice(request.query);
    }
}

/// CONNECT for a tunnel through a proxy (RFC 9110 9.3.6).
pub(crate) fn encode_connect(wire: &mut Vec<u8>, authority: Authority<'_>) {
    wire.extend_from_slice(b"CONNECT ");
    put_authority(wire, authority);
    wire.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    put_authority(wire, authority);
    wire.extend_from_slice(b"\r\n\r\n");
}

fn put_field(wire: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    wire.extend_from_slice(name);
    wire.extend_from_slice(b": ");
    wire.extend_from_slice(value);
    wire.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::authority::version_and_host;

    use std::string::String;

    type Fields<'a> = &'a [(&'a str, &'a str)];

    fn request<'a>(
        method: &'a str,
        path: &'a str,
        fields: Fields<'a>,
        body: Option<&'a str>,
    ) -> Request<'a, impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone> {
        Request {
            method: method.as_bytes(),
            path: path.as_bytes(),
            query: b"",
            fields: fields.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())),
            body: body.map_or(Content::None, |b| Content::Whole(b.as_bytes())),
            limits: None,
        }
    }

    fn written(
        method: &str,
        path: &str,
        fields: Fields<'_>,
        body: Option<&str>,
    ) -> Result<String, Misuse> {
        let mut wire = Vec::new();
        let line = version_and_host(Authority {
            host: b"a.test",
            port: Some(8080),
        });
        let result = encode(
            &mut wire,
            &line,
            &request(method, path, fields, body),
            false,
        );
        assert!(
            result.is_ok() || wire.is_empty(),
            "nothing is left of a refused request"
        );
        result.map(|_| String::from_utf8(wire).unwrap())
    }

    #[test]
    fn a_request_is_written_once_and_in_order() {
        let fields: Fields<'_> = &[
            ("x-a", "1"),
            ("HOST", "other"),
            ("x-a", "2"),
            ("Transfer-Encoding", "chunked"),
        ];
        assert_eq!(
            written("POST", "/p?q", fields, Some("hello")).unwrap(),
            "POST /p?q HTTP/1.1\r\nHost: other\r\nx-a: 1\r\nx-a: 2\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello"
        );
    }

    #[test]
    fn case_46_methods_with_content_say_that_there_is_none() {
        for (method, line) in [
            ("POST", true),
            ("PUT", true),
            ("PATCH", true),
            ("GET", false),
            ("DELETE", false),
        ] {
            let text = written(method, "", &[], None).unwrap();
            assert_eq!(text.contains("Content-Length: 0\r\n"), line, "{method}");
            assert!(text.starts_with(&std::format!(
                "{method} / HTTP/1.1\r\nHost: a.test:8080\r\n"
            )));
        }
    }

    #[test]
    fn case_35_nothing_unvalidated_is_written() {
        for bad in ["\r\nX: y", "\n", "\r", "\0"] {
            let with = |s: &str| std::format!("{s}{bad}");
            assert_eq!(written(&with("GET"), "/", &[], None), Err(Misuse::Method));
            assert_eq!(written("GET", &with("/a"), &[], None), Err(Misuse::Path));
            assert_eq!(
                written("GET", "/", &[(&with("X"), "v")], None),
                Err(Misuse::HeaderName)
            );
            assert_eq!(
                written("GET", "/", &[("X", &with("v"))], None),
                Err(Misuse::HeaderValue)
            );
            assert_eq!(
                written("GET", "/", &[("Host", &with("h"))], None),
                Err(Misuse::HeaderValue)
            );
        }
        assert_eq!(written("GET /evil", "/", &[], None), Err(Misuse::Method));
        assert_eq!(written("GET", "/a b", &[], None), Err(Misuse::Path));
        assert_eq!(written("GET", "/a#b", &[], None), Err(Misuse::Path));
        assert_eq!(written("GET", "a", &[], None), Err(Misuse::Path));
    }

    fn in_pieces(fields: Fields<'_>) -> Result<(String, Encoded), Misuse> {
        let mut wire = Vec::new();
        let request = Request {
            body: Content::Pieces,
            ..request("PUT", "/", fields, None)
        };
        let encoded = encode(&mut wire, b" HTTP/1.1\r\nHost: h\r\n", &request, false)?;
        Ok((String::from_utf8(wire).unwrap(), encoded))
    }

    #[test]
    fn case_47_pieces_need_an_end() {
        let (text, encoded) = in_pieces(&[("content-length", "5")]).unwrap();
        assert!(text.contains("\r\nContent-Length: 5\r\n"), "{text}");
        assert_eq!(encoded.rest, Rest::Bytes(5));
        let both: Fields<'_> = &[
            ("content-length", "5"),
            ("transfer-encoding", "gzip, Chunked"),
        ];
        let (text, encoded) = in_pieces(both).unwrap();
        assert!(
            text.contains("\r\nTransfer-Encoding: gzip, Chunked\r\n"),
            "{text}"
        );
        assert!(!text.contains("ength:"), "{text}");
        assert_eq!(encoded.rest, Rest::Chunks);
        for (fields, misuse) in [
            (&[][..], Misuse::NoLength),
            (&[("Transfer-Encoding", "chunked, gzip")], Misuse::NoLength),
            (&[("Transfer-Encoding", "")], Misuse::NoLength),
            (&[("Content-Length", "+5")], Misuse::ContentLength),
        ] {
            assert_eq!(in_pieces(fields).map(|_| ()), Err(misuse), "{fields:?}");
        }
    }

    #[test]
    fn case_28_only_a_body_waits_for_leave() {
        for (value, expects) in [
            ("100-continue", true),
            ("100-Continue", true),
            ("a, 100-CONTINUE", true),
            ("100", false),
        ] {
            for (length, body) in [("5", true), ("0", false)] {
                let (text, encoded) =
                    in_pieces(&[("eXpect", value), ("Content-Length", length)]).unwrap();
                assert_eq!(encoded.expects, expects && body, "{value} {length}");
                assert!(text.contains(&std::format!("eXpect: {value}\r\n")));
            }
        }
    }

    #[test]
    fn own_fields_are_overridden_once() {
        assert_eq!(
            written("GET", "/", &[("host", "a"), ("Host", "b")], None),
            Err(Misuse::HeaderRepeated)
        );
        assert_eq!(
            written("POST", "/", &[("content-length", "4")], Some("hello")),
            Err(Misuse::ContentLength)
        );
        assert_eq!(
            written("GET", "/", &[("Content-Length", "5")], None),
            Err(Misuse::ContentLength)
        );
        let text = written(
            "POST",
            "/",
            &[("content-length", "5"), ("connection", "close")],
            Some("hello"),
        )
        .unwrap();
        assert_eq!(text.matches("ontent-").count(), 1);
        assert!(text.contains("Connection: close\r\n"));
    }
}
