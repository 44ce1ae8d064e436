//! From socket readiness to facts for the engine.
//!
//! Readiness is edge-triggered: a socket is driven until it is not ready any more, or until the
//! engine wants nothing of it; when the engine begins to want something, it says so.

use ngx::ffi::ngx_event_t;
use ngx_http_ffi_client::{Event, Key, SocketError};

use crate::socket::{self, Moved, Opened, Socket, Told};
use crate::timer::now;
use crate::worker::{State, enter};

/// Bytes moved for one connection before others in the same turn of the loop get their share.
pub(crate) const FAIR_BYTES: usize = 256 << 10;

impl State {
    pub(crate) fn queue(&mut self, key: Key) {
        if self.drives.iter().all(|(queued, _)| *queued != key) {
            self.drives.push_back((key, FAIR_BYTES));
        }
    }

    pub(crate) fn opened(&mut self, key: Key, opened: Opened) {
        match opened {
            Opened::Now(socket) => {
                self.sockets.insert(socket);
                socket.no_delay();
                self.engine.handle(key, Event::Connected, now());
            }
            Opened::Later(socket) => self.sockets.insert(socket),
            Opened::Failed(error) => self.engine.handle(key, Event::ConnectFailed(error), now()),
        }
    }

    /// Receives once and sends what is owed. A socket that stays ready is queued again, behind the
    /// orders that what it received has caused, or in the next turn once its share is used up.
    ///
    /// In this order, because what a kept connection has for us before a request leaves on it is
    /// no answer to that request. One that the end of a response has given to the next exchange
    /// receives once more, too.
    #[inline]
    pub(crate) fn drive(&mut self, key: Key, budget: usize) {
        let Some(socket) = self.sockets.get(key).filter(|s| !s.connecting) else {
            return;
        };
        // Eof and failures have ended what there was to drive.
        let Some(received) = self.receive(key, socket) else {
            return;
        };
        let (sent, owing) = match self.send(key, socket, budget, received) {
            Ok(sent) => sent,
            Err(error) => {
                self.engine.handle(key, Event::SendFailed(error), now());
                (0, false)
            }
        };
        socket.watch_writes(owing);
        let left = budget.saturating_sub(sent + received);
        let reading = received > 0 && socket.can_read();
        let writing = owing && socket.can_write();
        match (reading || writing, left > 0) {
            (false, _) => socket.settle_events(),
            (true, true) => self.drives.push_back((key, left)),
            (true, false) if reading => socket.continue_reading(),
            (true, false) => socket.continue_writing(),
        }
    }

    /// Sends until nothing is owed, the socket is full or the share is used up, of which receiving
    /// has had its part. Returns how much, and whether anything is still owed.
    fn send(
        &mut self,
        key: Key,
        socket: Socket,
        budget: usize,
        received: usize,
    ) -> Result<(usize, bool), SocketError> {
        let budget = budget.saturating_sub(received);
        let mut sent = 0;
        loop {
            let owed = self.engine.output(key);
            if owed.is_empty() {
                return Ok((sent, false));
            }
            let early = received > 0 && self.engine.begins(key);
            if early || sent >= budget || !socket.can_write() {
                return Ok((sent, true));
            }
            let piece = &owed[..owed.len().min(budget - sent)];
            let last = piece.len() == owed.len();
            match socket.send(piece) {
                Moved::Bytes(n) => {
                    let all = last && n == piece.len();
                    sent += n;
                    self.engine.sent(key, n, now());
                    if all {
                        return Ok((sent, false));
                    }
                }
                Moved::Again => return Ok((sent, true)),
                Moved::Failed(error) => return Err(error),
            }
        }
    }

    /// Receives once, if that is wanted and the socket is ready. `None` when nothing more will come.
    fn receive(&mut self, key: Key, socket: Socket) -> Option<usize> {
        if !socket.can_read() {
            return Some(0);
        }
        let Some(mut buf) = self.engine.input(key) else {
            return Some(0);
        };
        match socket.recv(buf.spare()) {
            Moved::Bytes(0) => {
                self.engine.give_back(key, buf);
                self.engine.handle(key, Event::Eof, now());
                None
            }
            Moved::Bytes(n) => {
                self.engine.received(key, buf, n, now());
                Some(n)
            }
            Moved::Again => {
                self.engine.give_back(key, buf);
                Some(0)
            }
            Moved::Failed(error) => {
                self.engine.give_back(key, buf);
                self.engine.handle(key, Event::RecvFailed(error), now());
                None
            }
        }
    }

    /// A socket event: the connect is over, the socket is ready, or nginx wants it closed.
    fn socket_event(&mut self, key: Key) {
        let Some(socket) = self.sockets.get(key) else {
            return;
        };
        match socket.told_to_close() {
            Some(Told::Now) => return self.engine.shut(key, now()),
            Some(Told::IfIdle) if self.engine.pooled(key) => {
                return self.engine.handle(key, Event::Eof, now());
            }
            Some(Told::IfIdle) => return socket.keep(),
            None => {}
        }
        if !socket.connecting {
            return self.queue(key);
        }
        self.sockets.connected(key);
        match socket.outcome() {
            Ok(()) => {
                socket.no_delay();
                self.engine.handle(key, Event::Connected, now());
            }
            Err(error) => self.engine.handle(key, Event::ConnectFailed(error), now()),
        }
    }
}

/// The handler of a connection's events: whichever it was, there is something to do.
pub(crate) unsafe extern "C" fn on_ready(event: *mut ngx_event_t) {
    // SAFETY: nginx calls this for connections that `open` made.
    let key = unsafe { socket::key_of(event) };
    enter(|state| {
        if let Some(key) = key {
            state.socket_event(key);
        }
    });
}
