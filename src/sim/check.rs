//! What must hold after every step, whoever made it.

use std::format;
use std::net::IpAddr;
use std::string::String;
use std::vec::Vec;

use super::answer::{Asked, requests};
use super::callers::Caller;
use super::coverage;
use super::peer::Peer;
use super::world::World;
use crate::{Key, Status, Until};

impl World {
    /// What must hold after every step.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&mut self) -> Result<(), String> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        self.alert()?;
        // What was touched is looked at when the deadline is asked for.
        self.engine.deadline();
        self.engine.audit()?;
        let sockets = self.peers.len() + self.resolving.len();
        if sockets != self.engine.connections() {
            return Err(format!(
                "{sockets} sockets but {} connections",
                self.engine.connections()
            ));
        }
        let pooled =
            |(&number, (key, _)): (&u32, &(Key, Peer))| self.engine.pooled(*key).then_some(number);
        self.pooled.extend(self.peers.iter().filter_map(pooled));
        let mut judged = Vec::new();
        for (number, (key, peer)) in &self.peers {
            self.check_socket(*number, *key, peer)?;
            judged.push(self.check_requests(*number, peer)?);
        }
        for ((_, peer), judged) in self.peers.values_mut().zip(judged) {
            peer.judged = judged;
        }
        for number in 0..self.callers.len() {
            self.check_caller(number)?;
        }
        Ok(())
    }

    /// What the engine wants of a socket and could have, it has had.
    fn check_socket(&self, number: u32, key: Key, peer: &Peer) -> Result<(), String> {
        let interest = self.engine.interest(key);
        let reads = peer.connected && interest.read && peer.readable();
        let owes = !self.engine.output(key).is_empty();
        match peer.connected && interest.write && owes && peer.writable() {
            true => Err(format!("c{number} wants to write, could, and does not")),
            false if reads => Err(format!("c{number} wants to read, could, and does not")),
            false => Ok(()),
        }
    }

    /// No pipelining, no reuse of a connection that may not be, no request sent again that may not
    /// be. Returns how many requests were looked at.
    fn check_requests(&self, number: u32, peer: &Peer) -> Result<usize, String> {
        let asked = requests(&peer.outbox)?;
        if self.raw || asked.len() == peer.judged {
            return Ok(asked.len());
        }
        if asked.len() > peer.answered + 1 {
            return Err(format!("c{number} carries two requests at once"));
        }
        let mut truths = self.truths.iter().filter(|t| t.connection == number);
        let before = truths.next_back().filter(|_| peer.answered > 0);
        if asked.len() > peer.answered
            && let Some(before) = before
            && !before.keeps()
        {
            return Err(format!("c{number} is used again after {before:?}"));
        }
        if let Some(last) = asked.last().filter(|_| asked.len() > peer.answered) {
            self.check_again(number, last, &asked)?;
            self.check_opener(number, peer, &asked)?;
        }
        Ok(asked.len())
    }

    /// Whoever asks asks those for whom the connection was opened, and no more often than its life
    /// allows.
    fn check_opener(&self, number: u32, peer: &Peer, asked: &[Asked]) -> Result<(), String> {
        let asked = || asked.iter().filter(|asked| asked.method != "CONNECT");
        let last = asked().next_back();
        let caller = last.and_then(|last| self.only(&last.path));
        let (Some(caller), Some(opener)) = (caller, peer.opener.map(|n| &self.callers[n])) else {
            return Ok(());
        };
        if caller.whom != opener.whom {
            let (asks, leads) = (&caller.whom, &opener.whom);
            return Err(format!(
                "c{number} leads to {leads:?}, and is used for {asks:?}"
            ));
        }
        let requests = asked().count();
        match opener.life > 0 && requests > opener.life as usize && !caller.held {
            true => Err(format!("c{number} serves {requests} requests")),
            false => Ok(()),
        }
    }

    /// Who asks for this path, if nobody else does.
    fn only(&self, path: &str) -> Option<&Caller> {
        let mut callers = self.callers.iter().filter(|c| c.path == path);
        callers.next().filter(|_| callers.next().is_none())
    }

    /// A connection is opened to an address of whom it is opened for.
    pub(super) fn check_address(&mut self, key: Key, ip: IpAddr) {
        let Some(host) = self.engine.host(key) else {
            return;
        };
        let host = String::from_utf8_lossy(host);
        let right = match host.parse::<IpAddr>() {
            Ok(own) => own == ip,
            Err(_) if host == "localhost" => ip.is_loopback(),
            Err(_) => self.resolved.contains(&ip),
        };
        if !right {
            self.wrong = Some(format!("{ip} is no address of {host}"));
        }
    }

    /// A request that another connection has carried before.
    fn check_again(&self, number: u32, last: &Asked, asked: &[Asked]) -> Result<(), String> {
        let earlier = self
            .buried
            .iter()
            .filter(|(n, list)| *n != number && list.iter().any(|a| a.path == last.path));
        let earlier: Vec<_> = earlier.collect();
        let repeated = asked.iter().filter(|a| a.path == last.path).count() > 1;
        let unique = last.method != "CONNECT" && self.only(&last.path).is_some();
        if !unique || (earlier.is_empty() && !repeated) {
            return Ok(());
        }
        let safe = matches!(&*last.method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS");
        // Kept: it had carried another request, or was given to the pool without one.
        let kept = |(n, list): &&(u32, Vec<Asked>)| list.len() > 1 || self.pooled.contains(n);
        let stale = earlier.iter().all(kept);
        let answered = self
            .truths
            .iter()
            .any(|t| t.connection != number && t.path == last.path && t.delivered > 0);
        match repeated || earlier.len() > 1 || !safe || !stale || answered {
            true => Err(format!("{last:?} is sent again on c{number}: {earlier:?}")),
            false => Ok(()),
        }
    }

    fn check_caller(&mut self, number: usize) -> Result<(), String> {
        let caller = &self.callers[number];
        let (id, gone) = (caller.id, caller.gone);
        let status = self.engine.status(id);
        if gone {
            return match status {
                Status::Gone => Ok(()),
                still => Err(format!("e{number} is gone, and {still:?}")),
            };
        }
        self.check_wait(number, caller, status)?;
        if status == Status::Running && caller.by.is_some_and(|by| by < self.now) {
            return Err(format!("e{number} outlives its deadline"));
        }
        let outcome = match status {
            Status::Running => None,
            Status::Ended => Some(Ok(())),
            Status::Failed(error) => Some(Err(error)),
            Status::Gone => return Err(format!("e{number} is lost")),
        };
        if caller.outcome.is_some() && caller.outcome != outcome && !self.blown {
            let before = caller.outcome;
            return Err(format!("e{number} had {before:?} and has {outcome:?}"));
        }
        let fresh = caller.outcome.is_none() && outcome.is_some();
        self.callers[number].outcome = outcome;
        if self.raw || self.callers[number].path.is_empty() {
            return Ok(());
        }
        let came = self.came(number);
        if came.len() as u64 > self.callers[number].most {
            return Err(format!("e{number} gets {} bytes", came.len()));
        }
        self.check_body(number, &came)?;
        match (fresh, outcome) {
            (true, Some(Ok(()))) => self.check_response(number, &came),
            _ => Ok(()),
        }
    }

    /// A wait that is over has had its wake.
    fn check_wait(&self, number: usize, caller: &Caller, status: Status) -> Result<(), String> {
        let id = caller.id;
        let holds = |until| match until {
            Until::Connected => false,
            Until::Done => self.engine.wants(id),
            // Who has more to supply may have to do that first.
            Until::Head if caller.supplies.is_some() => self.engine.wants(id),
            Until::Head => self.engine.head(id).is_some(),
            Until::Data => !self.engine.body(id).is_empty(),
        };
        match caller.waits {
            Some(until) if status != Status::Running || holds(until) => Err(format!(
                "e{number} waits for {until:?}, which holds, and is not woken"
            )),
            None if status == Status::Running && !caller.paused && !caller.asked => {
                Err(format!("e{number} runs, and nobody waits for it"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Every byte of the body that has come so far, taken or not.
    fn came(&self, number: usize) -> Vec<u8> {
        let caller = &self.callers[number];
        let mut came = caller.body.clone();
        came.extend_from_slice(self.engine.body(caller.id));
        came
    }

    /// No byte of another response, whatever becomes of this one.
    fn check_body(&self, number: usize, came: &[u8]) -> Result<(), String> {
        let path = &self.callers[number].path;
        if came.is_empty() {
            return Ok(());
        }
        let mut truths = self.truths.iter().filter(|t| t.path == *path);
        match truths.any(|truth| truth.may_begin(came)) || self.is_unknown() {
            true => Ok(()),
            false => Err(format!(
                "the body of e{number} is nobody's answer to {path}"
            )),
        }
    }

    fn check_response(&self, number: usize, came: &[u8]) -> Result<(), String> {
        let caller = &self.callers[number];
        if self.is_unknown() {
            return Ok(());
        }
        let status = self.engine.head(caller.id).map_or(0, |head| head.status);
        let trailers = self.engine.trailers(caller.id).map_or(0, |t| t.len());
        let mut truths = self.truths.iter().filter(|t| t.path == caller.path);
        match truths.any(|truth| truth.may_end(status, came, trailers)) {
            true => Ok(()),
            false => Err(format!(
                "e{number} ended with {status} and {} bytes, which is no answer to {}",
                came.len(),
                caller.path
            )),
        }
    }

    /// A changed bit may make one response two.
    fn is_unknown(&self) -> bool {
        self.truths.iter().any(|t| t.shape.flipped > 0)
    }

    /// Takes everything, shuts down, and looks for what is left.
    pub(super) fn leave(&mut self) -> Result<(), String> {
        coverage::light(None);
        for number in 0..self.callers.len() {
            self.take(number as u32)?;
            if !self.callers[number].gone {
                self.abort(number as u32)?;
            }
        }
        self.engine.shutdown(self.now);
        self.settle();
        self.check()?;
        let left = (
            self.engine.connections(),
            self.engine.exchanges(),
            self.engine.in_flight(),
            self.engine.idle(),
        );
        if left != (0, 0, 0, 0) || !self.peers.is_empty() {
            return Err(format!("left over at the end: {left:?}"));
        }
        match self.engine.deadline() {
            // The heap is lazy: what it has may be about nothing, and then goes when looked at.
            Some(_) => {
                self.engine.expire(crate::Instant(u64::MAX));
                self.check()?;
                let left = self.engine.deadline();
                left.map_or(Ok(()), |at| Err(format!("a deadline is left at {at:?}")))
            }
            None => Ok(()),
        }
    }
}
