//! The engine alone: keepalive exchanges over memory, for counting instructions.
//!
//! `core N` plays N exchanges after the first. Run it under callgrind with two values of N: the
//! difference is what the exchanges cost, without start-up. `benchmark/core/run` does that.

use ngx_http_ffi_client::{
    Collect, Config, Content, Duration, Effect, Engine, Event, Id, Instant, Keepalive, Key, Life,
    Request, Scheme, Target, Timeouts, Until,
};

/// What nginx answers to the requests of the end-to-end benchmark, byte for byte in length.
const RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 30 Nov 2026 12:00:00 GMT\r\n\
Content-Type: text/plain\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello";

fn main() {
    let n: u64 = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(1000);
    let mut config = Config::default();
    // One connection for all of them.
    config.life = Life::default();
    let mut engine = Engine::new(config);
    let mut bytes = 0;
    for i in 0..=n {
        bytes += exchange(&mut engine, Instant(i));
    }
    assert_eq!(bytes, 5 * (n as usize + 1));
    assert_eq!(engine.counters().reused, n);
    println!("{} exchanges", n + 1);
}

fn exchange(engine: &mut Engine, now: Instant) -> usize {
    let id = fetch(engine, now);
    assert!(!engine.wait(id, Until::Done, now));
    while let Some(effect) = engine.poll() {
        match effect {
            Effect::Connect { key, .. } | Effect::ConnectUnix { key } => {
                engine.handle(key, Event::Connected, now);
            }
            Effect::Drive { key } => drive(engine, key, now),
            Effect::Resolve { .. } | Effect::Handshake { .. } | Effect::Close { .. } => {
                unreachable!("{effect:?}")
            }
            Effect::Wake { .. } => {}
        }
    }
    let finished = engine.take(id, now).expect("done");
    let bytes = finished.body.len();
    assert_eq!(finished.head.status, 200);
    engine.recycle(finished);
    bytes
}

fn fetch(engine: &mut Engine, now: Instant) -> Id {
    let minute = Duration(60_000);
    let target = Target::new(Scheme::Http, b"127.0.0.1", 80);
    let request = Request {
        method: b"GET",
        path: b"/",
        query: b"",
        fields: core::iter::empty(),
        body: Content::None,
        limits: None,
    };
    let timeouts = Timeouts {
        connect: minute,
        send: minute,
        read: minute,
        total: Duration::NONE,
        expect: Duration::NONE,
    };
    let keepalive = Keepalive {
        idle: minute,
        pool_size: Some(30),
    };
    engine
        .fetch(
            &target,
            &request,
            timeouts,
            Collect::Whole,
            Some(keepalive),
            now,
        )
        .expect("a valid request")
}

fn drive(engine: &mut Engine, key: Key, now: Instant) {
    let owed = engine.output(key).len();
    engine.sent(key, owed, now);
    let Some(mut buf) = engine.input(key) else {
        unreachable!("a response is awaited")
    };
    buf.spare()[..RESPONSE.len()].copy_from_slice(RESPONSE);
    engine.received(key, buf, RESPONSE.len(), now);
}
