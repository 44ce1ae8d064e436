//! The end of every generated world: all faults are over, peers answer, callers read. Then every
//! exchange has to come to its end.

use std::format;
use std::string::String;

use super::answer::{Answer, Delimited, requests};
use super::peer::Peer;
use super::script::{Command, Handshake, Pieces};
use super::world::World;

/// No world needs more steps than that to come to rest.
const STEPS: usize = 10_000;

impl World {
    /// Lets everything come to its end, and checks it on the way.
    ///
    /// # Errors
    /// What does not hold, or what never ends.
    pub(super) fn calm(&mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            let Some(command) = self.calmer() else {
                return self.rests();
            };
            self.play(&command)
                .map_err(|e| format!("calm: {command}: {e}"))?;
            self.check()
                .map_err(|e| format!("calm: after {command}: {e}"))?;
        }
        Err("the world does not come to rest".into())
    }

    fn rests(&self) -> Result<(), String> {
        let mut callers = self.callers.iter().enumerate();
        match callers.find(|(_, c)| !c.gone && !c.told) {
            Some((number, caller)) => Err(format!("e{number} never ends: {caller:?}")),
            None => Ok(()),
        }
    }

    /// The next thing that somebody has left undone.
    fn calmer(&self) -> Option<Command> {
        if let Some(&number) = self.resolving.keys().next() {
            return Some(Command::Resolve(number, [[10, 0, 0, 99].into()].into()));
        }
        let mut peers = self.peers.iter();
        if let Some(command) = peers.find_map(|(&n, (_, peer))| self.calm_peer(n, peer)) {
            return Some(command);
        }
        let mut callers = self.callers.iter().enumerate();
        let asked = callers.find(|(_, c)| c.asked && !c.gone && !c.told);
        if let Some((number, caller)) = asked {
            let left = match caller.supplies {
                Some(Pieces::Length(left)) if left > 0 => Some(left),
                Some(Pieces::Length(_) | Pieces::Chunked) | None => None,
            };
            return Some(Command::Supply(number as u32, left));
        }
        let mut callers = self.callers.iter();
        let paused = callers.position(|c| c.paused && !c.gone && !c.told);
        if let Some(number) = paused {
            return Some(Command::Resume(number as u32));
        }
        // Others may wait for a connection that somebody holds.
        let mut callers = self.callers.iter();
        let over = callers.position(|c| c.told && !c.gone);
        over.map(|number| Command::Take(number as u32))
    }

    fn calm_peer(&self, number: u32, peer: &Peer) -> Option<Command> {
        if peer.held {
            return Some(Command::Edge(number));
        }
        if !peer.connected {
            return Some(Command::Accept(number));
        }
        if peer.shaking {
            return Some(Command::Handshake(number, Handshake::Ok));
        }
        if peer.room.is_some_and(|room| room < 1_000_000) {
            return Some(Command::Room(number, 10_000_000));
        }
        if peer.end.is_some() {
            return None;
        }
        if !peer.pending.is_empty() {
            return Some(Command::Deliver(number, peer.pending.len()));
        }
        let asked = requests(&peer.outbox).ok()?;
        if asked.get(peer.answered).is_some_and(|asked| asked.head) {
            let simple = Answer {
                status: 200,
                length: 7,
                ..Answer::default()
            };
            return Some(Command::Answer(number, simple));
        }
        // Nothing more will come of a peer that cannot be asked, or whose answer has no end.
        let mut truths = self.truths.iter().filter(|t| t.connection == number);
        let endless = truths.any(|t| {
            let shape = &t.shape;
            shape.delimited == Delimited::Close || shape.broken > 0 || shape.flipped > 0
        });
        (endless || peer.send_error.is_some()).then_some(Command::Fin(number))
    }
}
