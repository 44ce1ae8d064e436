//! An upstream that misbehaves in every way it knows: `hostile SEED` prints its port and serves.
//!
//! What becomes of a request follows from the seed and the number in its path, so a run can be
//! repeated. A body that is whole begins with that number and its length and goes on with what
//! follows from both: whoever gets it can tell that it is his and that nothing is missing.
//! `/counts` says how often each kind was served. `benchmark/soak --hostile` runs it.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

/// (kind, of a thousand requests so many). The first four are answered as they should be.
const KINDS: &[(&str, u64)] = &[
    ("good-length", 440),
    ("good-chunked", 200),
    ("good-close", 40),
    ("good-interim", 60),
    ("reset-before", 20),
    ("reset-head", 20),
    ("reset-body", 20),
    ("fin-before", 20),
    ("fin-head", 15),
    ("fin-body", 20),
    ("fin-chunk", 15),
    ("stall-head", 3),
    ("stall-body", 2),
    ("garbage-head", 20),
    ("garbage-chunk", 15),
    ("two-framings", 10),
    ("bad-length", 10),
    ("surplus", 20),
    ("noise-later", 10),
    ("fin-later", 20),
    ("reset-later", 10),
    ("early", 10),
];

static SERVED: [AtomicU64; 32] = [const { AtomicU64::new(0) }; 32];

/// Longer than anybody waits.
const STALL: Duration = Duration::from_secs(5);

/// What follows from a number, by the finaliser of MurmurHash3's successors.
fn mixed(mut n: u64) -> u64 {
    n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

struct Asked {
    id: u64,
    /// Bytes of the head.
    head: usize,
    /// Bytes of the body.
    body: usize,
    counts: bool,
}

/// Looks at the next request without taking it, so that what is closed then is reset.
fn look(stream: &TcpStream) -> Option<Asked> {
    let mut buf = [0; 4096];
    loop {
        let n = stream.peek(&mut buf).ok().filter(|n| *n > 0)?;
        let text = String::from_utf8_lossy(&buf[..n]);
        let Some(head) = text.find("\r\n\r\n") else {
            sleep(Duration::from_millis(1));
            continue;
        };
        let path = text.split(' ').nth(1)?;
        let length = text[..head]
            .split("\r\n")
            .find_map(|line| line.strip_prefix("Content-Length: "));
        return Some(Asked {
            id: path.trim_start_matches('/').parse().unwrap_or(0),
            head: head + 4,
            body: length.map_or(0, |n| n.parse().unwrap_or(0)),
            counts: path == "/counts",
        });
    }
}

/// Takes so many bytes of what was asked.
fn take(stream: &mut TcpStream, mut n: usize) -> Option<()> {
    let mut buf = [0; 16384];
    while n > 0 {
        let room = n.min(buf.len());
        n -= stream.read(&mut buf[..room]).ok().filter(|n| *n > 0)?;
    }
    Some(())
}

fn body(id: u64, dice: u64) -> Vec<u8> {
    let length = match dice % 20 {
        0 => 100_000 + dice % 100_000,
        1..=4 => 10_000 + dice % 20_000,
        _ => 20 + dice % 2000,
    };
    let mut body = format!("{id}:{length}:").into_bytes();
    let unit = format!("{id}/").into_bytes();
    while (body.len() as u64) < length {
        body.extend_from_slice(&unit);
    }
    body.truncate(usize::try_from(length).unwrap_or(0));
    body
}

fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in body.chunks(size) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out
}

/// Sends bytes, sometimes in pieces.
fn send(stream: &mut TcpStream, bytes: &[u8], dice: u64) -> Option<()> {
    let pieces = 1 + (dice >> 20) as usize % 3;
    for piece in bytes.chunks(bytes.len().div_ceil(pieces).max(1)) {
        stream.write_all(piece).ok()?;
        if pieces > 1 {
            sleep(Duration::from_micros((dice >> 24) % 300));
        }
    }
    Some(())
}

/// Serves one request; `None` ends the connection.
fn serve(stream: &mut TcpStream, seed: u64) -> Option<()> {
    let asked = look(stream)?;
    if asked.counts {
        take(stream, asked.head)?;
        return counts(stream);
    }
    let dice = mixed(seed ^ mixed(asked.id));
    let mut left = dice % KINDS.iter().map(|(_, weight)| weight).sum::<u64>();
    let number = KINDS.iter().position(|(_, weight)| {
        let here = left < *weight;
        left = left.wrapping_sub(*weight);
        here
    })?;
    let kind = KINDS[number].0;
    SERVED[number].fetch_add(1, Ordering::Relaxed);

    let dice = mixed(dice);
    let body = body(asked.id, dice);
    let head = format!("HTTP/1.1 200 OK\r\nX-Kind: {kind}\r\n");
    let with_length = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    let whole = [&with_length, body.as_slice()].concat();
    // Where to stop, within the head and within the body.
    let in_head = 1 + (dice >> 8) as usize % (with_length.len() - 1);
    let in_body = with_length.len() + (dice >> 8) as usize % body.len();
    let all = asked.head + asked.body;
    // Left unread, the last byte makes a reset of what would be an orderly end.
    match kind {
        "reset-before" => return None,
        "reset-head" => return send(stream, &whole[..in_head], dice).and(None),
        "reset-body" => return send(stream, &whole[..in_body], dice).and(None),
        "reset-later" => take(stream, all - 1)?,
        "early" => {}
        _ => take(stream, all)?,
    }
    if kind.contains("chunk") {
        let size = 1 + (dice >> 16) as usize % 5000;
        let coded = chunked(&body, size);
        let head = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        let (kept, tail): (_, &[u8]) = match kind {
            "good-chunked" => (coded.len(), b"0;last=1\r\nX-Trailer: t\r\n\r\n"),
            "garbage-chunk" => (coded.len(), b"zz\r\n\r\n"),
            _ => ((dice >> 8) as usize % coded.len(), b""),
        };
        send(stream, &[&head, &coded[..kept], tail].concat(), dice)?;
        return (kind == "good-chunked").then_some(());
    }
    let later = Duration::from_micros(dice >> 32 & 0x3fff);
    match kind {
        "good-length" => send(stream, &whole, dice),
        "good-interim" => {
            send(
                stream,
                b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n",
                dice,
            )?;
            send(stream, &whole, dice)
        }
        "good-close" => {
            let head = format!("{head}Connection: close\r\n\r\n").into_bytes();
            send(stream, &[&head, body.as_slice()].concat(), dice).and(None)
        }
        "fin-before" => None,
        "fin-head" => send(stream, &whole[..in_head], dice).and(None),
        "fin-body" => send(stream, &whole[..in_body], dice).and(None),
        "stall-head" | "stall-body" => {
            let stop = if kind == "stall-head" {
                in_head
            } else {
                in_body
            };
            send(stream, &whole[..stop], dice)?;
            sleep(STALL);
            None
        }
        "garbage-head" => {
            let noise: Vec<u8> = (0..200).map(|i| mixed(dice ^ i) as u8).collect();
            send(stream, &noise, dice).and(None)
        }
        "two-framings" => {
            let head = format!("{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
            let coded = chunked(&body, 1000);
            let all = [head.as_bytes(), &coded, b"0\r\n\r\n"].concat();
            send(stream, &all, dice).and(None)
        }
        "bad-length" => {
            let head = format!(
                "{head}Content-Length: {0}, {1}\r\n\r\n",
                body.len(),
                body.len() + 1
            );
            let all = [head.as_bytes(), &body].concat();
            send(stream, &all, dice).and(None)
        }
        // In one piece with the answer: later it could be taken for the answer to the next request,
        // which nobody can tell from it.
        "surplus" => {
            let short = &body[..body.len().min(1000)];
            let length = short.len();
            let head = format!("{head}X-Short: 1\r\nContent-Length: {length}\r\n\r\n");
            let stolen = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen";
            let all = [head.as_bytes(), short, stolen].concat();
            stream.write_all(&all).ok()
        }
        "noise-later" => {
            send(stream, &whole, dice)?;
            sleep(later);
            stream.write_all(b"\0noise").ok().and(None)
        }
        "fin-later" | "reset-later" => {
            send(stream, &whole, dice)?;
            sleep(later);
            None
        }
        "early" => send(stream, &whole, dice).and(None),
        other => unreachable!("{other}"),
    }
}

fn counts(stream: &mut TcpStream) -> Option<()> {
    let lines: String = KINDS
        .iter()
        .zip(&SERVED)
        .map(|((kind, _), n)| format!("{kind} {}\n", n.load(Ordering::Relaxed)))
        .collect();
    let length = lines.len();
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{lines}");
    stream.write_all(text.as_bytes()).ok()
}

fn main() {
    let seed = std::env::args().nth(1).and_then(|a| a.parse().ok());
    let seed = seed.unwrap_or(1);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("{}", listener.local_addr().expect("an address").port());
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            if stream.is_err_and(|e| e.kind() == ErrorKind::Interrupted) {
                continue;
            }
            // Out of descriptors: those that are stalled go soon.
            sleep(Duration::from_millis(10));
            continue;
        };
        let serving = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            let _ = stream.set_nodelay(true);
            while serve(&mut stream, seed).is_some() {}
        });
        serving.expect("a thread");
    }
}
