//! A pool with a backlog under a long sequence of everything that can happen to it.

use alloc::vec::Vec;

use super::*;

const SIZE: usize = 3;
const BACKLOG: usize = 4;

/// A small generator: the sequences are the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.roll(from.len())])
    }
}

struct Scene {
    engine: Engine,
    now: Instant,
    dice: Dice,
    /// Connections that are being made, and those that are.
    dialled: Vec<Key>,
    up: Vec<Key>,
    ids: Vec<Id>,
    /// Those that wait, as they came.
    queue: Vec<Id>,
    served: usize,
}

impl Scene {
    fn new(seed: u64) -> Scene {
        Scene {
            engine: engine(),
            now: Instant(0),
            dice: Dice(seed),
            dialled: Vec::new(),
            up: Vec::new(),
            ids: Vec::new(),
            queue: Vec::new(),
            served: 0,
        }
    }

    fn connect(&mut self) {
        let host = if self.dice.roll(2) == 0 {
            "10.0.0.1"
        } else {
            "10.0.0.2"
        };
        let target = Target {
            pool: Some(b"p"),
            pool_size: Some(SIZE),
            backlog: Some(BACKLOG),
            ..target(host)
        };
        let timeouts = Timeouts {
            connect: Duration(50),
            ..Timeouts::default()
        };
        let id = self.engine.connect(&target, timeouts, self.now).unwrap();
        let full = self.queue.len() == BACKLOG;
        if self.waits(id) {
            assert!(!full, "no more than {BACKLOG} wait");
            self.queue.push(id);
        } else if let Status::Failed(error) = self.engine.status(id) {
            assert_eq!(error.kind, error::Kind::Limit(error::Limit::Backlog));
            assert!(full, "nobody is refused while there is a place to wait");
        }
        self.ids.push(id);
    }

    fn waits(&self, id: Id) -> bool {
        let slot = self.engine.exchanges.get(id);
        slot.is_some_and(|slot| slot.state.is_waiting())
    }

    fn step(&mut self) {
        match self.dice.roll(8) {
            0..3 => self.connect(),
            3 => {
                if let Some(key) = self.dice.pick(&self.dialled) {
                    self.engine.handle(key, Event::Connected, self.now);
                    self.up.push(key);
                }
            }
            4 => {
                if let Some(key) = self.dice.pick(&self.dialled) {
                    let refused = Event::ConnectFailed(error::SocketError::Refused);
                    self.engine.handle(key, refused, self.now);
                }
            }
            5 => {
                if let Some(id) = self.dice.pick(&self.ids) {
                    let idle = Duration(self.dice.roll(30) as u32);
                    let pool_size = None;
                    let _ = self
                        .engine
                        .release(id, Keepalive { idle, pool_size }, self.now);
                }
            }
            6 => match self.dice.roll(2) {
                0 => {
                    if let Some(key) = self.dice.pick(&self.up) {
                        self.engine.handle(key, Event::Eof, self.now);
                    }
                }
                _ => {
                    if let Some(id) = self.dice.pick(&self.ids) {
                        self.engine.abort(id, self.now);
                    }
                }
            },
            _ => {
                self.now.0 += self.dice.roll(20) as u64;
                self.engine.expire(self.now);
            }
        }
        self.carry_out();
        self.check();
    }

    fn carry_out(&mut self) {
        for effect in orders(&mut self.engine) {
            match effect {
                Effect::Connect { key, .. } => self.dialled.push(key),
                Effect::Close { key } => {
                    self.dialled.retain(|&k| k != key);
                    self.up.retain(|&k| k != key);
                }
                _ => {}
            }
        }
        let up = &self.up;
        self.dialled.retain(|key| !up.contains(key));
    }

    fn check(&mut self) {
        assert!(
            self.engine.connections() <= SIZE,
            "the size bounds all connections"
        );
        let waiting: Vec<bool> = self.queue.iter().map(|&id| self.waits(id)).collect();
        let served = |engine: &Engine, id| {
            engine.status(id) == Status::Running || engine.status(id) == Status::Ended
        };
        let last =
            (0..waiting.len()).rfind(|&at| !waiting[at] && served(&self.engine, self.queue[at]));
        if let Some(last) = last {
            assert!(!waiting[..last].contains(&true), "first come, first served");
            self.served += 1;
        }
        let mut at = 0..;
        self.queue
            .retain(|_| at.next().is_some_and(|at| waiting[at]));
        if !self.queue.is_empty() {
            assert_eq!(
                self.engine.idle(),
                0,
                "nobody waits beside an idle connection"
            );
            assert_eq!(self.engine.connections(), SIZE, "nobody waits beside room");
        }
        let engine = &self.engine;
        self.ids.retain(|&id| engine.status(id) != Status::Gone);
    }
}

#[test]
fn case_60_the_bound_and_the_order_hold_whatever_happens() {
    let mut served = 0;
    for seed in 1..200 {
        let mut scene = Scene::new(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        for _ in 0..400 {
            scene.step();
        }
        served += scene.served;
        for id in core::mem::take(&mut scene.ids) {
            scene.engine.abort(id, scene.now);
            scene.carry_out();
        }
        scene.queue.clear();
        scene.check();
        assert_eq!(scene.engine.connections(), scene.engine.idle());
        // Nothing is left in the queue: all places are to be had.
        for _ in 0..SIZE {
            scene.connect();
        }
        assert!(scene.queue.is_empty());
        for _ in 0..BACKLOG {
            scene.connect();
        }
        assert_eq!(scene.queue.len(), BACKLOG);
    }
    assert!(served > 1000, "only {served} were served after a wait");
}
