//! The engine over blocking `std::net`: `cargo run --example get -- http://127.0.0.1:8080/path`.
//! A driver for many connections differs in one thing: it waits in a poller, not in `read`.
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::time;

use ngx_http_ffi_client::*;

const LIMIT: Duration = Duration(10_000);

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: get URL")?;
    let response = get(&url)?;
    println!("{}", response.head.status);
    Ok(io::stdout().write_all(&response.body)?)
}

pub fn get(url: &str) -> Result<Finished, Box<dyn std::error::Error>> {
    let url = url.strip_prefix("http://").ok_or("not an http URL")?;
    let (authority, path) = url.split_at(url.find('/').unwrap_or(url.len()));
    let named = authority.rsplit_once(':').filter(|p| !p.1.ends_with(']'));
    let (host, port) = named.unwrap_or((authority, "80"));
    let target = Target {
        scheme: Scheme::Http,
        host: host.as_bytes(),
        port: port.parse()?,
        proxy: None,
        pool: None,
        pool_size: None,
    };
    let request = Request {
        method: b"GET",
        path: path.as_bytes(),
        query: b"",
        fields: std::iter::empty(),
        body: None,
    };
    let timeouts = Timeouts {
        read: LIMIT,
        ..Timeouts::default()
    };
    let (mut engine, start) = (Engine::new(Config::default()), time::Instant::now());
    let now = || Instant(start.elapsed().as_millis() as u64);
    let mut socket = None;
    let id = engine.fetch(&target, &request, timeouts, Collect::Whole, None, now())?;
    loop {
        while let Some(effect) = engine.poll() {
            obey(&mut engine, &mut socket, effect, now());
        }
        if let Status::Failed(error) = engine.status(id) {
            return Err(error.into());
        } else if let Some(finished) = engine.take(id, now()) {
            return Ok(finished);
        } else if let Some((key, socket)) = &mut socket {
            transfer(&mut engine, *key, socket, now);
        }
    }
}

/// Carries out an order. Only the connect waits for the network, so there is one socket at a time.
fn obey(engine: &mut Engine, socket: &mut Option<(Key, TcpStream)>, order: Effect, now: Instant) {
    match order {
        Effect::Resolve { key } => {
            let host = String::from_utf8_lossy(engine.host(key).unwrap_or_default());
            let found = (&*host, 0).to_socket_addrs().into_iter().flatten();
            let ips: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            engine.handle(key, Event::Resolved(&ips), now);
        }
        Effect::Connect { key, address } => match TcpStream::connect(address) {
            Ok(open) => {
                *socket = Some((key, open));
                engine.handle(key, Event::Connected, now);
            }
            Err(e) => engine.handle(key, Event::ConnectFailed(reason(&e)), now),
        },
        Effect::Handshake { key } => {
            engine.handle(key, Event::HandshakeFailed(TlsError::NotBuilt), now)
        }
        Effect::Close { key } => drop(socket.take_if(|(of, _)| *of == key)),
        Effect::Drive { .. } | Effect::Wake { .. } => {} // The loop asks anyway.
    }
}

/// Sends what is owed, else waits for what comes.
fn transfer(engine: &mut Engine, key: Key, socket: &mut TcpStream, now: impl Fn() -> Instant) {
    let event = if engine.interest(key).write {
        match socket.write(engine.output(key)) {
            Ok(n) => return engine.sent(key, n, now()),
            Err(e) => Event::SendFailed(reason(&e)),
        }
    } else if let Some(mut buf) = engine.input(key) {
        let ms = engine.deadline().map(|at| at.since(now()).max(1));
        let patience = ms.map(time::Duration::from_millis);
        let read = socket
            .set_read_timeout(patience)
            .and_then(|()| socket.read(buf.spare()));
        match read {
            Ok(n @ 1..) => return engine.received(key, buf, n, now()),
        }
    };
}
