//! The surface in small: one exchange by hand. Whole protocols are in `snapshots/`.

use alloc::vec::Vec;

use super::event::{Effect, Event};
use super::*;
use crate::time::Instant;

mod backlog;
mod stale;
mod stats;

fn target(host: &str) -> Target<'_> {
    Target::new(Scheme::Http, host.as_bytes(), 80)
}

fn get() -> Request<'static, core::iter::Empty<(&'static [u8], &'static [u8])>> {
    Request {
        method: b"GET",
        path: b"/",
        query: b"",
        fields: core::iter::empty(),
        body: Content::None,
        limits: None,
    }
}

fn engine() -> Engine {
    Engine::new(Config {
        strict: true,
        ..Config::default()
    })
}

fn orders(engine: &mut Engine) -> Vec<Effect> {
    core::iter::from_fn(|| engine.poll()).collect()
}

fn receive(engine: &mut Engine, key: Key, mut bytes: &[u8], now: Instant) {
    while !bytes.is_empty() {
        let mut buf = engine.input(key).expect("wants to read");
        let n = buf.spare().len().min(bytes.len());
        buf.spare()[..n].copy_from_slice(&bytes[..n]);
        engine.received(key, buf, n, now);
        bytes = &bytes[n..];
    }
}

fn dialled(engine: &mut Engine, keepalive: Option<Keepalive>) -> (Id, Key) {
    let id = engine
        .fetch(
            &target("127.0.0.1"),
            &get(),
            Timeouts::default(),
            Collect::Whole,
            keepalive,
            Instant(0),
        )
        .unwrap();
    assert!(!engine.wait(id, Until::Done, Instant(0)));
    let [Effect::Connect { key, address }] = orders(engine)[..] else {
        panic!("no connect")
    };
    assert_eq!(address, "127.0.0.1:80".parse().unwrap());
    engine.handle(key, Event::Connected, Instant(1));
    assert_eq!(orders(engine), [Effect::Drive { key }]);
    (id, key)
}

const KEEP: Option<Keepalive> = Some(Keepalive {
    idle: Duration(1000),
    pool_size: None,
});

#[test]
fn one_get_and_a_second_on_the_same_connection() {
    let mut engine = engine();
    let (id, key) = dialled(&mut engine, KEEP);
    let request = engine.output(key).to_vec();
    assert!(request.starts_with(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"));
    engine.sent(key, request.len(), Instant(1));
    assert!(engine.output(key).is_empty());
    receive(
        &mut engine,
        key,
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        Instant(2),
    );
    assert_eq!(orders(&mut engine), [Effect::Wake { id }]);
    assert!(engine.pooled(key));
    let done = engine.take(id, Instant(2)).unwrap();
    assert_eq!(
        (done.head.status, done.body.as_slice()),
        (200, b"hello".as_slice())
    );
    engine.recycle(done);

    let again = engine
        .fetch(
            &target("127.0.0.1"),
            &get(),
            Timeouts::default(),
            Collect::Whole,
            KEEP,
            Instant(3),
        )
        .unwrap();
    assert_eq!(orders(&mut engine), [Effect::Drive { key }]);
    assert_eq!(engine.reused(again), 1);
    engine.abort(again, Instant(3));
    assert_eq!(orders(&mut engine), [Effect::Close { key }]);
    assert_eq!(
        (engine.connections(), engine.exchanges(), engine.in_flight()),
        (0, 0, 0)
    );
}

#[test]
fn the_heap_does_not_grow_with_requests() {
    let mut engine = engine();
    let timeouts = Timeouts {
        connect: Duration(60_000),
        read: Duration(60_000),
        ..Timeouts::default()
    };
    for i in 0..10_000 {
        let now = Instant(i);
        let id = engine
            .fetch(
                &target("127.0.0.1"),
                &get(),
                timeouts,
                Collect::Whole,
                None,
                now,
            )
            .unwrap();
        engine.abort(id, now);
        orders(&mut engine);
    }
    assert!(engine.deadlines.len() < 200, "{}", engine.deadlines.len());
}

#[test]
fn an_impossible_fact_costs_the_connection_and_raises_an_alert() {
    let mut engine = Engine::new(Config::default());
    let (id, key) = dialled(&mut engine, None);
    engine.handle(key, Event::Handshaken, Instant(2));
    let alert = engine.poll_alert().expect("an alert");
    assert!(
        alert.contains("impossible event Handshaken in state Writing of c0"),
        "{alert}"
    );
    assert_eq!(
        orders(&mut engine),
        [Effect::Close { key }, Effect::Wake { id }]
    );
    assert!(
        matches!(engine.status(id), Status::Failed(e) if e.kind == error::Kind::Aborted(error::Aborted::Panicked))
    );
    engine.handle(key, Event::Connected, Instant(3));
    assert_eq!(
        engine.counters().stale,
        1,
        "late news about a closed connection is counted"
    );
}

#[test]
fn a_caught_panic_costs_one_exchange() {
    let mut engine = engine();
    let (healthy, healthy_key) = dialled(&mut engine, None);
    let (hurt, hurt_key) = dialled(&mut engine, None);
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        engine.handle(hurt_key, Event::Connected, Instant(2));
    }));
    assert!(
        panicked.is_err(),
        "strict engines panic on impossible facts"
    );
    // As a handler that did not come back leaves it.
    engine.connections.get_mut(hurt_key).unwrap().state = connection::Closed {
        cause: connection::Cause::Panicked,
    }
    .into();
    engine.recover(Instant(2));
    assert_eq!(
        orders(&mut engine),
        [
            Effect::Close { key: hurt_key },
            Effect::Wake { id: hurt },
            Effect::Drive { key: healthy_key }
        ],
        "what was being moved for the others goes on"
    );
    assert!(matches!(engine.status(hurt), Status::Failed(_)));
    assert_eq!(engine.status(healthy), Status::Running);
    assert!(engine.interest(healthy_key).write);
    engine.recover(Instant(3));
    assert_eq!(
        orders(&mut engine),
        [Effect::Drive { key: healthy_key }],
        "nothing left to mend"
    );
}

#[test]
fn what_is_over_is_not_taken_though_nobody_has_looked_yet() {
    let mut engine = engine();
    let (_, key) = dialled(&mut engine, KEEP);
    let n = engine.output(key).len();
    engine.sent(key, n, Instant(1));
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    receive(&mut engine, key, response, Instant(2));
    assert!(engine.pooled(key));
    orders(&mut engine);

    // The driver's timer is late: it fires behind whatever else this turn brings.
    let late = Instant(1002);
    let id = engine
        .fetch(
            &target("127.0.0.1"),
            &get(),
            Timeouts::default(),
            Collect::Whole,
            KEEP,
            late,
        )
        .unwrap();
    let orders = orders(&mut engine);
    assert!(
        matches!(orders[..], [Effect::Close { key: old }, Effect::Connect { key: new, .. }] if old == key && new != key),
        "{orders:?}"
    );
    assert_eq!((engine.reused(id), engine.counters().reused), (0, 0));
}

#[test]
fn a_connection_lives_an_hour_where_nobody_says_how_long() {
    let mut engine = engine();
    let idle = Duration::NONE;
    let keep = Some(Keepalive {
        idle,
        ..KEEP.unwrap()
    });
    let (_, key) = dialled(&mut engine, keep);
    let n = engine.output(key).len();
    engine.sent(key, n, Instant(1));
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    receive(&mut engine, key, response, Instant(2));
    orders(&mut engine);
    engine.expire(Instant(3_599_999));
    assert!(engine.pooled(key));
    engine.expire(Instant(3_600_000));
    assert_eq!(orders(&mut engine), [Effect::Close { key }]);
}

#[test]
fn limits_of_their_own_are_forgotten_with_their_exchanges() {
    let mut engine = engine();
    let limits = Limits {
        head: 10,
        ..Limits::NONE
    };
    let mut begin = |path: &'static [u8]| {
        let request = Request {
            path,
            limits: Some(&limits),
            ..get()
        };
        let target = target("127.0.0.1");
        let times = Timeouts::default();
        let begun = engine.fetch(&target, &request, times, Collect::Whole, None, Instant(0));
        begun.map(|id| (id, engine.out.allowances.len()))
    };
    let (first, one) = begin(b"/").unwrap();
    let (second, two) = begin(b"/").unwrap();
    assert!(begin(b"no path").is_err());
    assert_eq!((one, two), (1, 2));
    for (id, left) in [(first, 1), (second, 0)] {
        engine.abort(id, Instant(0));
        assert_eq!(engine.out.allowances.len(), left);
    }
}
