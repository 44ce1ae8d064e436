//! Which requests go again when a kept connection turns out to be dead, and which do not.

use super::*;
use crate::client::error::{Kind, SocketError};

const METHODS: [(&[u8], bool); 10] = [
    (b"GET", true),
    (b"HEAD", true),
    (b"OPTIONS", true),
    (b"TRACE", true),
    (b"PUT", true),
    (b"DELETE", true),
    (b"POST", false),
    (b"PATCH", false),
    (b"get", false),
    (b"PROPFIND", false),
];

/// How far the exchange on the kept connection comes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    NothingSent,
    SentInPart,
    Sent,
    Interim,
    Answered,
}

/// A request on a kept connection.
fn reused(method: &[u8]) -> (Engine, Id, Key) {
    let mut engine = engine();
    let (_, key) = dialled(&mut engine, KEEP);
    let n = engine.output(key).len();
    engine.sent(key, n, Instant(1));
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    receive(&mut engine, key, response, Instant(2));
    let request = Request { method, ..get() };
    let id = engine
        .fetch(
            &target("127.0.0.1"),
            &request,
            Timeouts::default(),
            Collect::Whole,
            KEEP,
            Instant(3),
        )
        .unwrap();
    assert_eq!(engine.reused(id), 1);
    orders(&mut engine);
    (engine, id, key)
}

fn advance(engine: &mut Engine, key: Key, when: When) {
    let owed = engine.output(key).len();
    let sent = match when {
        When::NothingSent => 0,
        When::SentInPart => 1,
        When::Sent | When::Interim | When::Answered => owed,
    };
    if sent > 0 {
        engine.sent(key, sent, Instant(4));
    }
    match when {
        When::Interim => receive(engine, key, b"HTTP/1.1 103 Early Hints\r\n\r\n", Instant(5)),
        When::Answered => receive(engine, key, b"H", Instant(5)),
        When::NothingSent | When::SentInPart | When::Sent => {}
    }
}

fn went_again(engine: &mut Engine, id: Id, key: Key) -> bool {
    let again = orders(engine)
        .iter()
        .any(|order| matches!(order, Effect::Connect { key: fresh, .. } if *fresh != key));
    match engine.status(id) {
        Status::Running => assert!(again, "it waits for nothing"),
        Status::Failed(_) => assert!(!again, "it failed and goes on"),
        Status::Ended | Status::Gone => panic!("there was no answer"),
    }
    again
}

#[test]
fn case_52_what_may_be_sent_twice_is_and_nothing_else() {
    let ways = [
        Event::Eof,
        Event::RecvFailed(SocketError::Reset),
        Event::RecvFailed(SocketError::BrokenPipe),
    ];
    for (method, idempotent) in METHODS {
        for way in ways {
            for when in [
                When::NothingSent,
                When::SentInPart,
                When::Sent,
                When::Interim,
                When::Answered,
            ] {
                let (mut engine, id, key) = reused(method);
                advance(&mut engine, key, when);
                engine.handle(key, way, Instant(6));
                let expected = match when {
                    When::NothingSent => true,
                    When::SentInPart | When::Sent => idempotent,
                    When::Interim | When::Answered => false,
                };
                let method = core::str::from_utf8(method).unwrap();
                let again = went_again(&mut engine, id, key);
                assert_eq!(again, expected, "{method} {way:?} {when:?}");
            }
        }
    }
}

#[test]
fn case_52_other_failures_of_a_kept_connection_are_told() {
    for (event, kind) in [
        (
            Event::RecvFailed(SocketError::TimedOut),
            Kind::Receive(SocketError::TimedOut),
        ),
        (
            Event::RecvFailed(SocketError::NoRoute),
            Kind::Receive(SocketError::NoRoute),
        ),
    ] {
        let (mut engine, id, key) = reused(b"GET");
        advance(&mut engine, key, When::Sent);
        engine.handle(key, event, Instant(6));
        assert!(!went_again(&mut engine, id, key));
        assert!(matches!(engine.status(id), Status::Failed(e) if e.kind == kind));
    }
}

#[test]
fn case_52_a_request_goes_again_once_and_only_from_a_kept_connection() {
    let (mut engine, id, key) = reused(b"GET");
    engine.handle(key, Event::Eof, Instant(6));
    let orders = orders(&mut engine);
    let Some(Effect::Connect { key: fresh, .. }) = orders
        .into_iter()
        .find(|order| matches!(order, Effect::Connect { .. }))
    else {
        panic!("it does not go again")
    };
    engine.handle(fresh, Event::Connected, Instant(7));
    let n = engine.output(fresh).len();
    engine.sent(fresh, n, Instant(7));
    engine.handle(fresh, Event::Eof, Instant(8));
    assert!(!went_again(&mut engine, id, fresh), "once is enough");
    assert_eq!(engine.counters().retried, 1);
}
