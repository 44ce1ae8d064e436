//! What Lua is asked for while an exchange is under way: the next piece of its request's body, the
//! addresses of a name.

use core::ffi::c_int;

use ngx_http_ffi_client::{Id, Key, Piece};

use crate::abi::{NAME, Reply, Text, WANTS};
use crate::exchange::{Caller, Failure, GONE, handle, text};
use crate::owner::Started;
use crate::timer::now;
use crate::worker::State;

impl State {
    /// Asks the caller for the next piece of its request's body, in the next turn if it has had its
    /// share of this one.
    pub(crate) fn ask(
        &mut self,
        r: Caller,
        id: Id,
        started: Started,
        reply: &mut Reply,
    ) -> Result<c_int, Failure> {
        self.own(r, id, started)?;
        let owner = self.owners.ticket(id).map(|t| t.owner()).ok_or(GONE)?;
        if self.owners.share(owner, now().0) == 0 {
            self.wake_next_turn(id);
            return self.wait(r, id, started, reply);
        }
        reply.id = handle(id);
        Ok(WANTS)
    }

    /// Asks Lua for the addresses of a name.
    pub(crate) fn ask_name(
        &mut self,
        r: Caller,
        id: Id,
        key: Key,
        started: Started,
        reply: &mut Reply,
    ) -> Result<c_int, Failure> {
        self.own(r, id, started)?;
        reply.id = handle(id);
        reply.body = Text::of(self.engine.host(key).unwrap_or_default());
        Ok(NAME)
    }

    /// A piece of a request's body; absent for its end.
    pub(crate) fn supply(
        &mut self,
        id: Id,
        piece: Option<&[u8]>,
        reply: &mut Reply,
    ) -> Result<(), Failure> {
        if let Some(owner) = self.owners.ticket(id).map(|t| t.owner()) {
            self.owners.delivered(owner, piece.map_or(0, <[u8]>::len));
        }
        let piece = piece.map_or(Piece::End, Piece::Bytes);
        self.engine.supply(id, piece, now()).map_err(|error| {
            self.drop_exchange(id);
            reply.id = 0.0;
            text(error)
        })
    }
}
