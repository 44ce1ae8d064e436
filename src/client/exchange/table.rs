//! Read this first: a request's own life, from the call to its outcome. Connections come and go
//! beside it; `states/exchange.md` is this table as a picture.

use super::*;
use crate::machine::machine;

machine! {
    context Cx;
    start { Queued }
    states {
        /// No connection was found or asked for yet.
        Queued,
        /// The pool is full: one of its connections is waited for.
        Waiting,
        /// Connections are being made; the first to be ready is taken.
        Dialing,
        /// A connection is bound; request bytes are owed.
        Sending,
        /// The response is awaited or arriving.
        Receiving,
        /// Over; carries the outcome.
        Done,
    }
    events {
        /// No idle connection fits: make one.
        Dial,
        /// No idle connection fits, and the pool has all the connections it may have.
        Full,
        /// The same, and no more may wait.
        Refused,
        /// The name has addresses.
        Resolved,
        /// One attempt's TCP connection is up; the others are of no use.
        Won,
        /// A connection is ready and ours.
        Bound,
        /// An attempt ended without a connection.
        AttemptFailed,
        /// A bounded wait is over: the delay before the next address, or the wait for leave.
        Waited,
        /// The peer wants the body (100 Continue).
        Leave,
        /// The rest of the request cannot be sent; an answer may still come.
        Unsent,
        /// The last byte of the request was sent.
        Uploaded,
        /// The final head came.
        Head,
        /// The body that was gathered is larger than it may be.
        Overflown,
        /// The response is complete.
        End,
        /// The connection ended before the response did.
        Broken,
        /// The deadline over everything passed.
        Expired,
        /// The caller is gone, or gave up.
        Aborted,
    }
    table {
        Queued    + Dial          => Dialing;
        Queued    + Full          => Waiting;
        Queued    + Refused       => Done;
        Queued    + Bound         => Sending | Done;
        Waiting   + Dial          => Dialing;
        Waiting   + Bound         => Sending | Done;
        Dialing   + Resolved      => Dialing;
        Dialing   + Won           => Dialing;
        Dialing   + Bound         => Sending | Done;
        Dialing   + AttemptFailed => Dialing | Done;
        Dialing   + Waited        => Dialing;
        Sending   + Leave         => Sending;
        Sending   + Waited        => Sending;
        Sending   + Uploaded      => Receiving;
        Sending   + Unsent        => Receiving;
        Sending   + Head          => Receiving;
        Sending   + Broken        => Queued | Done;
        Receiving + Leave         => Receiving;
        Receiving + Uploaded      => Receiving;
        Receiving + Unsent        => Receiving;
        Receiving + Head          => Receiving;
        Receiving + Overflown     => Done;
        Receiving + End           => Done;
        Receiving + Broken        => Queued | Done;
    }
    always {
        Expired => Done;
        Aborted => Done;
    }
    ignore {
        Done: Resolved | Won | AttemptFailed | Leave | Unsent | Uploaded | Overflown | End | Broken;
    }
    never {
        Queued:    Resolved | Won | AttemptFailed | Waited | Leave | Unsent | Uploaded | Head | Overflown | End | Broken;
        Waiting:   Full | Refused | Resolved | Won | AttemptFailed | Waited | Leave | Unsent | Uploaded | Head | Overflown
                 | End | Broken;
        Dialing:   Dial | Full | Refused | Leave | Unsent | Uploaded | Head | Overflown | End | Broken;
        Sending:   Dial | Full | Refused | Resolved | Won | Bound | AttemptFailed | Overflown | End;
        Receiving: Dial | Full | Refused | Resolved | Won | Bound | AttemptFailed | Waited;
        Done:      Dial | Full | Refused | Bound | Waited | Head;
    }
}

const _: () = assert!(size_of::<State>() <= 128);
