//! Every error there is, reached. The matches name each leaf: one that nothing reaches does not compile.

use alloc::vec::Vec;

use super::error::*;
use super::event::{Effect, Event};
use super::*;
use crate::time::Instant;

type Fields<'a> = Vec<(&'a [u8], &'a [u8])>;

/// One exchange in its engine.
struct Scene {
    engine: Engine,
    id: Id,
    key: Key,
}

/// What is asked for, where it differs from a plain GET.
#[derive(Default)]
struct Ask<'a> {
    method: Option<&'a [u8]>,
    path: &'a [u8],
    query: &'a [u8],
    fields: Fields<'a>,
    body: Content<'a>,
    limits: Option<Limits>,
    timeouts: Timeouts,
}

const HTTP: Target<'static> = Target::new(Scheme::Http, b"10.0.0.1", 80);
const NOW: Instant = Instant(0);
const SOON: Duration = Duration(10);
const THEN: Instant = Instant(10);

fn engine(strict: bool) -> Engine {
    Engine::new(Config {
        strict,
        ..Config::default()
    })
}

fn fetch(engine: &mut Engine, target: &Target<'_>, ask: &Ask<'_>) -> Result<Id, Error> {
    let request = Request {
        method: ask.method.unwrap_or(b"GET"),
        path: ask.path,
        query: ask.query,
        fields: ask.fields.iter().copied(),
        body: ask.body,
        limits: ask.limits.as_ref(),
    };
    engine.fetch(target, &request, ask.timeouts, Collect::Whole, None, NOW)
}

impl Scene {
    /// Begun; the first connection's fate is open.
    fn begun(target: &Target<'_>, ask: &Ask<'_>) -> Scene {
        let mut engine = engine(false);
        let id = fetch(&mut engine, target, ask).unwrap();
        let Some(Effect::Connect { key, .. } | Effect::Resolve { key }) = engine.poll() else {
            panic!("nothing is asked for");
        };
        Scene { engine, id, key }
    }

    /// Connected, and nothing sent.
    fn connected(ask: &Ask<'_>) -> Scene {
        let mut scene = Scene::begun(&HTTP, ask);
        scene.fact(Event::Connected);
        scene
    }

    /// The request is sent.
    fn sent(ask: &Ask<'_>) -> Scene {
        let mut scene = Scene::connected(ask);
        scene.send();
        scene
    }

    fn send(&mut self) {
        let n = self.engine.output(self.key).len();
        assert!(n > 0);
        self.engine.sent(self.key, n, NOW);
    }

    fn fact(&mut self, event: Event<'_>) {
        self.engine.handle(self.key, event, NOW);
    }

    fn receive(&mut self, bytes: &[u8]) {
        let mut buf = self.engine.input(self.key).expect("wants to read");
        buf.spare()[..bytes.len()].copy_from_slice(bytes);
        self.engine.received(self.key, buf, bytes.len(), NOW);
    }

    fn error(self) -> Error {
        match self.engine.status(self.id) {
            Status::Failed(error) => error,
            other => panic!("{other:?}"),
        }
    }

    fn after(mut self, event: Event<'_>) -> Error {
        self.fact(event);
        self.error()
    }

    fn answered(mut self, bytes: &str) -> Error {
        self.receive(bytes.as_bytes());
        self.error()
    }

    fn expired(mut self) -> Error {
        self.engine.expire(THEN);
        self.error()
    }
}

/// Reaches an error, and says whether a byte of the request was sent before.
fn reach(kind: Kind) -> (Error, bool) {
    let ask = Ask::default();
    let error = match kind {
        Kind::Resolve(e) => unresolved(e),
        Kind::Connect(e) => Scene::begun(&HTTP, &ask).after(Event::ConnectFailed(e)),
        Kind::Tls(e) => {
            let mut scene = Scene::begun(&Target::new(Scheme::Https, b"10.0.0.1", 443), &ask);
            scene.fact(Event::Connected);
            scene.after(Event::HandshakeFailed(e))
        }
        Kind::Proxy(ProxyError::Refused) => tunnel("HTTP/1.1 407 No\r\n\r\n"),
        Kind::Send(e) => {
            let mut scene = Scene::connected(&ask);
            scene.fact(Event::SendFailed(e));
            scene.after(Event::Eof)
        }
        Kind::Receive(e) => return (Scene::sent(&ask).after(Event::RecvFailed(e)), true),
        Kind::Expired(why) => return expired(why),
        Kind::PeerClosed => return (Scene::sent(&ask).after(Event::Eof), true),
        Kind::Misbehaved(what) => {
            return (Scene::sent(&ask).answered(misbehaviour(what)), true);
        }
        Kind::Limit(Limit::Slots) => crowded(),
        Kind::Limit(Limit::Backlog) => queued(),
        Kind::Limit(limit) => return (beyond(limit), true),
        Kind::Misuse(misuse) => misused(misuse),
        Kind::Aborted(why) => return (aborted(why), true),
    };
    (error, false)
}

fn unresolved(e: ResolveError) -> Error {
    let scene = Scene::begun(&Target::new(Scheme::Http, b"a.test", 80), &Ask::default());
    match e {
        ResolveError::NotFound => scene.after(Event::Resolved(&[])),
        ResolveError::NoResolver | ResolveError::TimedOut | ResolveError::Failed => {
            scene.after(Event::Unresolved(e))
        }
    }
}

/// What a proxy's answer to CONNECT leads to.
fn tunnel(answer: &str) -> Error {
    let proxy = Proxy {
        host: b"10.0.0.9",
        port: 3128,
    };
    let target = Target {
        proxy: Some(proxy),
        ..HTTP
    };
    let mut scene = Scene::begun(&target, &Ask::default());
    scene.fact(Event::Connected);
    scene.send();
    scene.answered(answer)
}

fn expired(why: Why) -> (Error, bool) {
    let mut ask = Ask::default();
    let budget = match why {
        Why::Connect => &mut ask.timeouts.connect,
        Why::Send => &mut ask.timeouts.send,
        Why::Read => &mut ask.timeouts.read,
        Why::Total => &mut ask.timeouts.total,
    };
    *budget = SOON;
    match why {
        Why::Connect => (Scene::begun(&HTTP, &ask).expired(), false),
        Why::Send => (Scene::connected(&ask).expired(), false),
        Why::Read | Why::Total => (Scene::sent(&ask).expired(), true),
    }
}

/// The shortest response that is wrong so.
fn misbehaviour(what: Misbehaviour) -> &'static str {
    match what {
        Misbehaviour::StatusLine => "X",
        Misbehaviour::Version => "HTTP/2.0 ",
        Misbehaviour::HeaderName => "HTTP/1.1 200 OK\r\nA B",
        Misbehaviour::HeaderValue => "HTTP/1.1 200 OK\r\nA: \0",
        Misbehaviour::ContentLength => "HTTP/1.1 200 OK\r\nContent-Length: x",
        Misbehaviour::TransferEncoding => {
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n"
        }
        Misbehaviour::ChunkSize => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",
        Misbehaviour::Trailer => {
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA B: c\r\n\r\n"
        }
        Misbehaviour::Upgrade => "HTTP/1.1 101 Yes\r\n\r\n",
    }
}

/// A response of which a little is too much.
fn beyond(limit: Limit) -> Error {
    let mut limits = Limits::NONE;
    let response = match limit {
        Limit::Head => {
            limits.head = 16;
            "HTTP/1.1 200 OK\r\n"
        }
        Limit::Lines => {
            limits.lines = 0;
            "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
        }
        Limit::Interim => {
            limits.interim = 0;
            "HTTP/1.1 103 Wait\r\n\r\n"
        }
        Limit::Extensions => {
            limits.extensions = 0;
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a\r\n"
        }
        Limit::Trailers => {
            limits.trailers = 0;
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n"
        }
        Limit::Whole => {
            limits.whole = 0;
            "HTTP/1.1 200 OK\r\n\r\na"
        }
        Limit::Backlog | Limit::Slots => unreachable!("of the engine, not of a response"),
    };
    Scene::sent(&Ask {
        limits: Some(limits),
        ..Ask::default()
    })
    .answered(response)
}

/// A pool of one connection, which is taken, and nobody may wait.
fn queued() -> Error {
    let mut engine = engine(false);
    let target = Target {
        pool_size: Some(1),
        backlog: Some(0),
        ..HTTP
    };
    let mut last = None;
    for _ in 0..2 {
        last = fetch(&mut engine, &target, &Ask::default()).ok();
    }
    match last.map(|id| engine.status(id)) {
        Some(Status::Failed(error)) => error,
        status => panic!("{status:?}"),
    }
}

/// One exchange more than there can be.
fn crowded() -> Error {
    let mut engine = engine(true);
    loop {
        match fetch(&mut engine, &HTTP, &Ask::default()) {
            Ok(_) => while engine.poll().is_some() {},
            Err(error) => {
                assert_eq!(engine.exchanges(), crate::slots::MOST);
                return error;
            }
        }
    }
}

fn misused(misuse: Misuse) -> Error {
    let (mut target, mut ask) = (HTTP, Ask::default());
    match misuse {
        Misuse::Method => ask.method = Some(b"G T"),
        Misuse::Path => ask.path = b"a",
        Misuse::Query => ask.query = b"a b",
        Misuse::Host => target.host = b"a b",
        Misuse::Port => target.port = 0,
        Misuse::HeaderName => ask.fields.push((b"A B", b"c")),
        Misuse::HeaderValue => ask.fields.push((b"A", b"\n")),
        Misuse::HeaderRepeated => ask.fields = Vec::from([(&b"host"[..], &b"a"[..]); 2]),
        Misuse::NoLength => ask.body = Content::Pieces,
        Misuse::ContentLength => ask.fields.push((b"Content-Length", b"1")),
        Misuse::NotConnected | Misuse::Busy | Misuse::BodyUnread => return misused_object(misuse),
    }
    fetch(&mut engine(true), &target, &ask).unwrap_err()
}

/// A second request where there cannot be one.
fn misused_object(misuse: Misuse) -> Error {
    let mut engine = engine(true);
    let request: Request<'_, core::iter::Empty<_>> = Request {
        method: b"GET",
        ..Request::default()
    };
    let id = engine.connect(&HTTP, Timeouts::default(), NOW).unwrap();
    let Some(Effect::Connect { key, .. }) = engine.poll() else {
        panic!("no connect");
    };
    let mut scene = Scene { engine, id, key };
    let ask = |scene: &mut Scene| {
        scene
            .engine
            .request(scene.id, &request, Collect::Stream, NOW)
    };
    match misuse {
        Misuse::NotConnected => scene.engine.abort(id, NOW),
        Misuse::BodyUnread => {
            scene.fact(Event::Connected);
            scene.id = ask(&mut scene).unwrap();
            scene.send();
            scene.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na");
        }
        // It still connects.
        _ => {}
    }
    ask(&mut scene).unwrap_err()
}

fn aborted(why: Aborted) -> Error {
    let mut scene = Scene::sent(&Ask::default());
    match why {
        Aborted::Shutdown => scene.engine.shutdown(NOW),
        Aborted::Panicked => scene.fact(Event::Handshaken),
        Aborted::Caller => unreachable!("nobody is told"),
    }
    scene.error()
}

#[test]
fn every_error_is_reached_and_says_whether_to_try_again() {
    // Whoever gives up is not told that it did.
    let told = |kind: &Kind| *kind != Kind::Aborted(Aborted::Caller);
    for kind in Kind::all().filter(told) {
        let (error, sent) = reach(kind);
        assert_eq!(error.kind, kind);
        let again = match kind.again() {
            Again::Always => true,
            Again::Unsent => !sent,
            Again::Never => false,
        };
        assert_eq!(error.retry, again, "{error:?}");
    }
}

#[test]
fn what_its_caller_gives_up_is_for_the_trace_alone() {
    let mut scene = Scene::sent(&Ask::default());
    scene.engine.set_trace(true);
    scene.engine.abort(scene.id, NOW);
    assert_eq!(scene.engine.status(scene.id), Status::Gone);
    let lines: Vec<_> = core::iter::from_fn(|| scene.engine.poll_trace()).collect();
    let told = |line: &alloc::string::String| line.ends_with("failed    aborted in Receiving");
    assert!(lines.iter().any(told), "{lines:?}");
}

#[test]
fn a_proxy_that_misbehaves_has_seen_nothing_of_the_request() {
    for what in [Misbehaviour::StatusLine, Misbehaviour::HeaderName] {
        let error = tunnel(misbehaviour(what));
        assert_eq!((error.kind, error.retry), (Kind::Misbehaved(what), true));
    }
}

#[test]
fn without_a_slot_for_a_connection_there_is_none() {
    let config = Config {
        pool_size: usize::MAX,
        ..Config::default()
    };
    let mut scene = Scene {
        engine: Engine::new(config),
        ..Scene::begun(&HTTP, &Ask::default())
    };
    // Connections to as many ports, kept; their exchanges are over.
    for port in 1..=crate::slots::MOST as u16 {
        let target = Target::new(Scheme::Http, b"10.0.0.1", port);
        let request: Request<'_, core::iter::Empty<_>> = Request {
            method: b"GET",
            ..Request::default()
        };
        let keep = Some(Keepalive {
            idle: Duration::NONE,
            pool_size: None,
        });
        let times = Timeouts::default();
        scene.id = scene
            .engine
            .fetch(&target, &request, times, Collect::Whole, keep, NOW)
            .unwrap();
        let Some(Effect::Connect { key, .. }) = scene.engine.poll() else {
            panic!("no connect");
        };
        scene.key = key;
        scene.fact(Event::Connected);
        scene.send();
        scene.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        assert!(scene.engine.take(scene.id, NOW).is_some());
        while scene.engine.poll().is_some() {}
    }
    assert_eq!(scene.engine.idle(), crate::slots::MOST);
    scene.id = fetch(
        &mut scene.engine,
        &Target::new(Scheme::Http, b"10.0.0.2", 80),
        &Ask::default(),
    )
    .unwrap();
    let error = scene.error();
    assert_eq!(error.kind, Kind::Connect(SocketError::NoConnections));
    assert!(error.retry);
}
