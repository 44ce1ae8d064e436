//! What the pools count.

use alloc::string::String;
use alloc::vec::Vec;
use std::collections::BTreeSet;

use super::*;
use crate::client::connection::Cause;
use crate::client::stats::{PoolStats, Reason};

fn pools(engine: &Engine) -> Vec<(String, [u64; 5], String)> {
    let mut place = 0;
    let mut rows = Vec::new();
    while let Some((stats, next)) = engine.pool_stats(place) {
        rows.push(row(&stats));
        place = next;
    }
    rows
}

fn row(stats: &PoolStats) -> (String, [u64; 5], String) {
    let (idle, busy, waiting) = (stats.idle as u64, stats.busy as u64, stats.waiting as u64);
    let closed: Vec<String> = stats
        .tally
        .closed()
        .map(|(reason, n)| alloc::format!("{} {n}", reason.text()))
        .collect();
    let numbers = [idle, busy, waiting, stats.tally.opened, stats.tally.reused];
    let name = String::from_utf8(stats.name.clone()).unwrap();
    (name, numbers, closed.join(", "))
}

fn expect(row: (String, [u64; 5], String), name: &str, numbers: [u64; 5], closed: &str) {
    assert_eq!(row, (name.into(), numbers, closed.into()));
}

#[test]
fn pools_are_counted_by_name() {
    let mut engine = engine();
    assert!(pools(&engine).is_empty());
    let (_, key) = dialled(&mut engine, KEEP);
    expect(
        pools(&engine).remove(0),
        "http://127.0.0.1:80",
        [0, 1, 0, 1, 0],
        "",
    );
    let n = engine.output(key).len();
    engine.sent(key, n, Instant(1));
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    receive(&mut engine, key, response, Instant(2));
    expect(
        pools(&engine).remove(0),
        "http://127.0.0.1:80",
        [1, 0, 0, 1, 0],
        "",
    );

    let again = engine.connect(&target("127.0.0.1"), Timeouts::default(), Instant(3));
    let again = again.unwrap();
    expect(
        pools(&engine).remove(0),
        "http://127.0.0.1:80",
        [0, 1, 0, 1, 1],
        "",
    );
    engine.abort(again, Instant(3));
    expect(
        pools(&engine).remove(0),
        "http://127.0.0.1:80",
        [0, 0, 0, 1, 1],
        "aborted 1",
    );

    let bounded = Target {
        scheme: Scheme::Https,
        proxy: Some(Proxy {
            host: b"10.0.0.1",
            port: 3128,
        }),
        ..target("::1")
    };
    engine
        .connect(&bounded, Timeouts::default(), Instant(4))
        .unwrap();
    let named = Target {
        pool: Some(b"p"),
        pool_size: Some(1),
        backlog: Some(1),
        ..target("10.0.0.2")
    };
    for _ in 0..3 {
        engine
            .connect(&named, Timeouts::default(), Instant(5))
            .unwrap();
    }
    let socket = target("unix:/run/a.sock");
    engine
        .connect(&socket, Timeouts::default(), Instant(6))
        .unwrap();
    let mut rows = pools(&engine);
    expect(
        rows.remove(3),
        "http://unix:/run/a.sock:",
        [0, 1, 0, 1, 0],
        "",
    );
    expect(
        rows.remove(1),
        "https://[::1]:80 via 10.0.0.1:3128",
        [0, 1, 0, 1, 0],
        "",
    );
    expect(rows.remove(1), "p", [0, 1, 1, 1, 0], "");
    expect(row(&engine.total_stats()), "", [0, 3, 1, 4, 1], "aborted 1");
}

#[test]
fn what_was_counted_stays_when_a_pool_is_forgotten() {
    let mut engine = engine();
    for i in 0..10_000 {
        let host = alloc::format!("10.0.{}.{}", i / 250, i % 250);
        let id = engine.connect(&target(&host), Timeouts::default(), Instant(0));
        engine.abort(id.unwrap(), Instant(0));
        orders(&mut engine);
    }
    assert!(pools(&engine).len() < 5000, "{}", pools(&engine).len());
    expect(
        row(&engine.total_stats()),
        "",
        [0, 0, 0, 10_000, 0],
        "aborted 10000",
    );
}

#[test]
fn every_reason_has_a_cause() {
    let kinds = error::Kind::all().map(Cause::Failed);
    let kept = NotReused::ALL.iter().copied().map(Cause::NotReused);
    let others = [
        Cause::Lost,
        Cause::Evicted,
        Cause::Idle,
        Cause::PeerClosed,
        Cause::Unsolicited,
        Cause::Panicked,
    ];
    let reached: BTreeSet<&str> = kinds
        .chain(kept)
        .chain(others)
        .map(|cause| Reason::from(cause).text())
        .collect();
    let all: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.text()).collect();
    assert_eq!(reached, all);
    assert_eq!(all.len(), Reason::ALL.len(), "no two have one name");
}
