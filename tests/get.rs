//! Runs the example against a server of its own: the engine works over plain blocking sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ngx_http_ffi_client::Finished;

#[path = "../examples/get.rs"]
#[allow(dead_code, reason = "its `main` is not run here")]
mod example;

/// Answers one request with `pieces`, a moment apart, and closes. Gives back what was asked.
struct Upstream {
    port: u16,
    asked: JoinHandle<String>,
}

fn upstream(pieces: &'static [&'static [u8]]) -> Upstream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut asked = String::new();
        let mut lines = BufReader::new(socket.try_clone().unwrap());
        while !asked.ends_with("\r\n\r\n") {
            assert_ne!(lines.read_line(&mut asked).unwrap(), 0, "a whole request");
        }
        for piece in pieces {
            socket.write_all(piece).unwrap();
            thread::sleep(Duration::from_millis(2));
        }
        // Whoever got the end of the response closes; whoever waits for the close gets it.
        socket.shutdown(Shutdown::Write).unwrap();
        lines.read_to_string(&mut asked).unwrap();
        asked
    });
    Upstream { port, asked }
}

/// The response to `GET /a?b=c` and what it was asked with.
fn get(host: &str, pieces: &'static [&'static [u8]]) -> (Result<Finished, String>, String) {
    let Upstream { port, asked } = upstream(pieces);
    let response = example::get(&format!("http://{host}:{port}/a?b=c"));
    let host_line = format!("\r\nHost: {host}:{port}\r\n");
    let asked = asked.join().unwrap();
    assert!(asked.contains(&host_line), "no {host_line:?} in {asked:?}");
    (response.map_err(|e| e.to_string()), asked)
}

fn whole(pieces: &'static [&'static [u8]]) -> Finished {
    get("127.0.0.1", pieces).0.unwrap()
}

#[test]
fn a_body_with_a_length() {
    let (response, asked) = get(
        "127.0.0.1",
        &[
            b"HTTP/1.1 200 OK\r\nContent-Le",
            b"ngth: 11\r\nX-A: 1\r\n\r\nhello",
            b" world",
        ],
    );
    let response = response.unwrap();
    assert!(asked.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("\r\nConnection: close\r\n"), "{asked}");
    assert_eq!(response.head.status, 200);
    assert_eq!(response.head.reason(), b"OK");
    assert_eq!(response.head.fields.get(b"x-a"), Some(b"1".as_slice()));
    assert_eq!(response.body, b"hello world");
}

#[test]
fn a_body_larger_than_any_buffer() {
    const BODY: &[u8] = &[b'x'; 1 << 20];
    let response = whole(&[b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n", BODY]);
    assert_eq!(response.body, BODY);
}

#[test]
fn a_body_in_chunks_with_a_trailer() {
    let response = whole(&[
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"lo\r\n6;ext=1\r\n world\r",
        b"\n0\r\nX-Sum: 7\r\n\r\n",
    ]);
    assert_eq!(response.body, b"hello world");
    assert_eq!(
        response.trailers.as_ref().and_then(|t| t.get(b"x-sum")),
        Some(b"7".as_slice())
    );
}

#[test]
fn a_body_that_ends_with_the_connection() {
    let response = whole(&[b"HTTP/1.0 200 OK\r\n\r\nhello", b" world"]);
    assert_eq!((response.head.minor, response.head.status), (0, 200));
    assert_eq!(response.body, b"hello world");
}

#[test]
fn no_body() {
    let response = whole(&[
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ]);
    assert_eq!(response.head.status, 204);
    assert!(response.body.is_empty());
}

#[test]
fn a_name_that_only_the_resolver_knows() {
    // Not an address by RFC 6943 3.1.1, so the engine asks; the system takes it for 127.0.0.1.
    let (response, _) = get("127.1", &[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]);
    assert_eq!(response.unwrap().head.status, 200);
}

#[test]
fn failures_are_told() {
    let failure = |pieces| get("127.0.0.1", pieces).0.unwrap_err();
    assert_eq!(
        failure(&[b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"]),
        "closed"
    );
    assert_eq!(
        failure(&[b"SSH-2.0-OpenSSH\r\n"]),
        "invalid response: status line"
    );
    // A port that was free a moment ago, on an address where nobody else takes it.
    let free = TcpListener::bind("127.0.0.77:0").unwrap();
    let url = format!("http://{}/", free.local_addr().unwrap());
    drop(free);
    let refused = example::get(&url).unwrap_err();
    assert_eq!(refused.to_string(), "connection refused");
    for url in [
        "https://127.0.0.1/",
        "http://",
        "http://a b/",
        "http://127.0.0.1:x/",
    ] {
        assert!(example::get(url).is_err(), "{url}");
    }
}
