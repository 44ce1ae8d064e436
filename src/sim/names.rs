//! Whom a command is about.

use super::script::Command;

impl Command {
    /// Whether a caller with a number of its own comes of it.
    pub(super) fn begins(&self) -> bool {
        matches!(
            self,
            Command::Fetch(_) | Command::Connect(_) | Command::Request(..)
        )
    }

    /// The number of the caller who gives it, where that has one already.
    pub(super) fn caller(&self) -> Option<u32> {
        self.clone().exchange().copied()
    }

    /// The number of the connection it names.
    pub(super) fn connection(&self) -> Option<u32> {
        self.clone().place().copied()
    }

    /// Other numbers for the exchange and the connection it names.
    pub(super) fn rename(&mut self, e: impl Fn(u32) -> u32, c: impl Fn(u32) -> u32) {
        if let Some(number) = self.exchange() {
            *number = e(*number);
        }
        if let Some(number) = self.place() {
            *number = c(*number);
        }
    }

    fn exchange(&mut self) -> Option<&mut u32> {
        match self {
            Command::Request(e, _)
            | Command::Release(e, _)
            | Command::Abort(e)
            | Command::Supply(e, _)
            | Command::Take(e)
            | Command::Consume(e, _)
            | Command::Gather(e)
            | Command::Pause(e)
            | Command::Resume(e)
            | Command::Timeouts(e, _) => Some(e),
            _ => None,
        }
    }

    fn place(&mut self) -> Option<&mut u32> {
        match self {
            Command::Resolve(c, _)
            | Command::Accept(c)
            | Command::Refuse(c)
            | Command::Handshake(c, _)
            | Command::Send(c, _)
            | Command::Answer(c, _)
            | Command::Deliver(c, _)
            | Command::Fin(c)
            | Command::Rst(c)
            | Command::Room(c, _)
            | Command::SendFails(c)
            | Command::Hold(c)
            | Command::Edge(c)
            | Command::Shut(c)
            | Command::Fails(c, _)
            | Command::Late(c, _)
            | Command::Lie(c, _) => Some(c),
            _ => None,
        }
    }
}
