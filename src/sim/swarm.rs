//! Which faults a world has: a random half of them, so that one does not hide the others.

use super::choices::Choices;

/// What can go wrong, or just be done, in a generated world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Fault {
    /// Connects fail.
    Refused,
    /// Names are not known.
    NoName,
    /// Peers close at any time.
    Fin,
    /// Peers reset at any time.
    Rst,
    /// Sockets take few bytes at once.
    ShortWrites,
    /// Sending fails while a response may be waiting.
    SendFails,
    /// The event loop tells late of what sockets have.
    Held,
    /// The worker closes single connections.
    Shut,
    /// Facts about connections that are gone.
    Late,
    /// Facts that cannot be.
    Lies,
    /// Handlers panic.
    Panics,
    /// Callers give up.
    Aborts,
    /// Callers stop reading.
    Pauses,
    /// Waits are bounded, and sometimes too long.
    Timeouts,
    /// Peers are malformed.
    Broken,
    /// Peers send more than they should.
    Surplus,
    /// Bits change on their way.
    Flipped,
    /// Peers close by saying so, or by speaking HTTP/1.0.
    Closing,
    /// Bodies end with the connection.
    UntilClose,
    /// Bodies are large.
    Large,
    /// Peers take their time.
    Stalls,
    /// The worker leaves.
    Shutdown,
}

/// See the module documentation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swarm(u32);

impl Swarm {
    /// Half of all faults, or none of them in one world of sixteen.
    pub(super) fn new(choices: &mut Choices) -> Swarm {
        let some = choices.below(0x1_0000) | choices.below(0x1_0000) << 16;
        match choices.once_in(16) {
            true => Swarm(0),
            false => Swarm(some),
        }
    }

    pub(super) fn without(self, fault: Fault) -> Swarm {
        Swarm(self.0 & !(1 << fault as u32))
    }

    pub(super) fn has(self, fault: Fault) -> bool {
        self.0 & 1 << fault as u32 != 0
    }
}
