//! The caller's side of a request body in pieces.

use super::deadlines::Who;
use super::error::Error;
use super::event::Effect;
use super::exchange::{Piece, State};
use super::{Engine, Id};
use crate::time::Instant;

impl Engine {
    /// Whether the exchange wants the next piece of its request's body now: a connection is bound,
    /// the peer has given leave where it was asked, there is room, and the answer has not come first.
    pub fn wants(&self, id: Id) -> bool {
        self.exchanges
            .get(id)
            .is_some_and(|slot| slot.state.wants_piece(&slot.facts))
    }

    /// A piece of the request's body, or its end. It is taken whenever it comes, but without room
    /// (see [`Engine::wants`]) the bytes pile up here. What is not to be sent any more is dropped.
    ///
    /// # Errors
    /// More or less than was announced. The request cannot be completed then: abort it.
    pub fn supply(&mut self, id: Id, piece: Piece<'_>, now: Instant) -> Result<(), Error> {
        if self.trace.is_on() {
            self.trace_piece(id, piece, now);
        }
        let Some(slot) = self
            .exchanges
            .get_mut(id)
            .filter(|slot| !slot.state.is_done())
        else {
            return Ok(());
        };
        let state = slot.state.name();
        slot.facts.take_piece(piece, now).map_err(|misuse| Error {
            retry: false,
            ..Error::misuse(misuse, state)
        })?;
        if let Some(key) = slot.facts.connection {
            self.out.effects.push_back(Effect::Drive { key });
            // The send timeout runs from here.
            self.arm(Who::Connection(key));
        }
        Ok(())
    }
}

impl State {
    /// Whether the next piece of the request's body should come now.
    pub(super) fn wants_piece(&self, facts: &super::exchange::Facts) -> bool {
        match self {
            State::Sending(_) | State::Receiving(_) => facts.wants_piece(),
            State::Queued(_) | State::Waiting(_) | State::Dialing(_) | State::Done(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::client::error::SocketError;
    use crate::client::event::{Effect, Event};
    use crate::client::{
        Collect, Config, Content, Engine, Id, Keepalive, Key, Piece, Request, Scheme, Target,
        Timeouts,
    };
    use crate::time::{Duration, Instant};

    use std::string::String;
    use std::vec::Vec;

    const T0: Instant = Instant(0);

    fn fetch(engine: &mut Engine, method: &str, fields: &[(&str, &str)]) -> Id {
        let target = Target::new(Scheme::Http, b"127.0.0.1", 80);
        let request = Request {
            method: method.as_bytes(),
            path: b"/",
            query: b"",
            fields: fields.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())),
            body: Content::Pieces,
            limits: None,
        };
        let keepalive = Some(Keepalive {
            idle: Duration(1000),
            pool_size: None,
        });
        let (timeouts, collect) = (Timeouts::default(), Collect::Whole);
        engine
            .fetch(&target, &request, timeouts, collect, keepalive, T0)
            .unwrap()
    }

    /// The next connection that is ordered, made.
    fn connected(engine: &mut Engine) -> Key {
        loop {
            match engine.poll().expect("no connection is made") {
                Effect::Connect { key, .. } => {
                    engine.handle(key, Event::Connected, T0);
                    return key;
                }
                Effect::Close { .. } | Effect::Drive { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn started(engine: &mut Engine, method: &str, fields: &[(&str, &str)]) -> (Id, Key) {
        let id = fetch(engine, method, fields);
        assert!(!engine.wants(id), "not before there is a connection");
        let key = connected(engine);
        assert!(engine.wants(id));
        (id, key)
    }

    /// Hands up to `n` bytes at a time to the socket.
    fn flush(engine: &mut Engine, key: Key, n: usize) -> Vec<u8> {
        let mut sent = Vec::new();
        while engine.interest(key).write {
            let owed = engine.output(key);
            let n = n.min(owed.len());
            sent.extend_from_slice(&owed[..n]);
            engine.sent(key, n, T0);
        }
        sent
    }

    #[test]
    fn chunks_are_framed_however_they_are_sent() {
        for step in [1, 3, 7, usize::MAX] {
            let mut engine = Engine::new(Config::default());
            let (id, key) = started(&mut engine, "POST", &[("transfer-encoding", "chunked")]);
            let mut sent = flush(&mut engine, key, step);
            for piece in [b"hello".as_slice(), b"", &[b'x'; 26]] {
                engine.supply(id, Piece::Bytes(piece), T0).unwrap();
                sent.extend(flush(&mut engine, key, step));
            }
            engine.supply(id, Piece::End, T0).unwrap();
            sent.extend(flush(&mut engine, key, step));
            let text = String::from_utf8(sent).unwrap();
            let body = text.split_once("\r\n\r\n").unwrap().1;
            assert_eq!(
                body,
                "5\r\nhello\r\n1a\r\nxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n0\r\n\r\n"
            );
            assert!(!engine.wants(id), "it is over");
        }
    }

    #[test]
    fn sent_bytes_are_let_go_and_none_is_lost() {
        let mut engine = Engine::new(Config::default());
        let (id, key) = started(&mut engine, "POST", &[("content-length", "3000000")]);
        let mut sent = Vec::new();
        let mut expected = Vec::new();
        let mut unsent = 0;
        while expected.len() < 3_000_000 {
            let piece: Vec<u8> = (0..10_000_u32).map(|i| (i / 7) as u8).collect();
            engine.supply(id, Piece::Bytes(&piece), T0).unwrap();
            expected.extend_from_slice(&piece);
            unsent += piece.len();
            if !engine.wants(id) {
                assert!(unsent <= (64 << 10) + 10_000, "{unsent} bytes pile up");
                sent.extend(flush(&mut engine, key, 4096));
                unsent = 0;
                assert!(engine.wants(id) || expected.len() == 3_000_000);
            }
        }
        sent.extend(flush(&mut engine, key, 4096));
        engine.supply(id, Piece::End, T0).unwrap();
        let head = sent.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
        assert!(sent[head..] == expected, "the body differs");
    }

    /// What is supplied between the failure to send and the end of the connection is sent again, too.
    #[test]
    fn a_dead_connection_loses_no_piece() {
        let mut engine = Engine::new(Config::default());
        let (id, key) = started(&mut engine, "POST", &[("content-length", "0")]);
        engine.supply(id, Piece::End, T0).unwrap();
        flush(&mut engine, key, usize::MAX);
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
        let mut buf = engine.input(key).unwrap();
        buf.spare()[..answer.len()].copy_from_slice(answer);
        engine.received(key, buf, answer.len(), T0);
        engine.take(id, T0).unwrap();
        while engine.poll().is_some() {}

        let id = fetch(&mut engine, "PUT", &[("transfer-encoding", "chunked")]);
        assert!(engine.wants(id), "on the kept connection");
        engine.supply(id, Piece::Bytes(b"one"), T0).unwrap();
        engine.handle(key, Event::SendFailed(SocketError::BrokenPipe), T0);
        assert!(!engine.wants(id), "nothing can be sent");
        // Its caller was at it.
        engine.supply(id, Piece::Bytes(b"two"), T0).unwrap();
        engine.handle(key, Event::Eof, T0);
        let key = connected(&mut engine);
        engine.supply(id, Piece::End, T0).unwrap();
        let sent = String::from_utf8(flush(&mut engine, key, 7)).unwrap();
        let body = sent.split_once("\r\n\r\n").unwrap().1;
        assert_eq!(body, "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    }
}
