//! The engine over blocking `std::net`: `cargo run --example get -- http://127.0.0.1:8080/path`.
//! A driver for many connections differs in one thing: it waits in a poller, not in `read`.
use ngx_http_ffi_client::*;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let response = get(&std::env::args().nth(1).ok_or("usage: get URL")?)?;
    println!("{}", response.head.status);
    Ok(io::stdout().write_all(&response.body)?)
}

pub(crate) fn get(url: &str) -> Result<Finished, Box<dyn std::error::Error>> {
    let url = url.strip_prefix("http://").ok_or("not an http URL")?;
    let (authority, path) = url.split_at(url.find('/').unwrap_or(url.len()));
    let named = authority.rsplit_once(':').filter(|p| !p.1.ends_with(']'));
    let (host, port) = named.unwrap_or((authority, "80"));
    let target = Target::new(Scheme::Http, host.as_bytes(), port.parse()?);
    let request = Request {
        method: b"GET",
        path: path.as_bytes(),
        fields: std::iter::empty(),
        ..Request::default()
    };
    let timeouts = Timeouts {
        read: Duration(10_000),
        ..Default::default()
    };
    let start = std::time::Instant::now();
    let now = || Instant(start.elapsed().as_millis() as u64);
    let (mut engine, mut socket) = (Engine::new(Config::default()), None);
    let id = engine.fetch(&target, &request, timeouts, Collect::Whole, None, now())?;
    loop {
        while let Some(order) = engine.poll() {
            obey(&mut engine, &mut socket, order, now());
        }
        match (engine.status(id), &mut socket) {
            (Status::Failed(error), _) => return Err(error.into()),
            (Status::Running, Some((key, open))) => transfer(&mut engine, *key, open, now),
            _ => return engine.take(id, now()).ok_or("nothing to wait for".into()),
        }
    }
}

/// Only the connect waits, so there is one socket at a time.
fn obey(engine: &mut Engine, socket: &mut Option<(Key, TcpStream)>, order: Effect, now: Instant) {
    let (key, event) = match order {
        Effect::Resolve { key } => {
            let host = String::from_utf8_lossy(engine.host(key).unwrap_or_default());
            let found = (&*host, 0).to_socket_addrs().into_iter().flatten();
            let ips: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            return engine.handle(key, Event::Resolved(&ips), now);
        }
        Effect::Connect { key, address } => match TcpStream::connect(address) {
            Ok(open) => (socket.insert((key, open)).0, Event::Connected),
            Err(e) => (key, Event::ConnectFailed(reason(e))),
        },
        Effect::ConnectUnix { key } => (key, Event::ConnectFailed(SocketError::Other)),
        Effect::Handshake { key } => (key, Event::HandshakeFailed(TlsError::NotBuilt)),
        Effect::Close { key } => return drop(socket.take_if(|open| open.0 == key)),
        Effect::Drive { .. } | Effect::Wake { .. } => return, // The loop asks anyway.
    };
    engine.handle(key, event, now);
}

/// Sends what is owed, else waits for what comes.
fn transfer(engine: &mut Engine, key: Key, socket: &mut TcpStream, now: impl Fn() -> Instant) {
    if engine.interest(key).write {
        return match socket.write(engine.output(key)) {
            Ok(n) => engine.sent(key, n, now()),
            Err(e) => engine.handle(key, Event::SendFailed(reason(e)), now()),
        };
    }
    let wait = |at: Instant| std::time::Duration::from_millis(at.since(now()).max(1));
    let timeout = socket.set_read_timeout(engine.deadline().map(wait));
    let mut room = engine.input(key).expect("a GET wants its response");
    let read = timeout.and_then(|()| socket.read(room.spare()));
    engine.received(key, room, *read.as_ref().unwrap_or(&0), now());
    match read {
        Ok(0) => engine.handle(key, Event::Eof, now()),
        Ok(_) => {}
        Err(e) if e.kind() == ErrorKind::WouldBlock => engine.expire(now()),
        Err(e) => engine.handle(key, Event::RecvFailed(reason(e)), now()),
    }
}

fn reason(e: io::Error) -> SocketError {
    match e.kind() {
        ErrorKind::ConnectionRefused => SocketError::Refused,
        _ => SocketError::Other,
    }
}
