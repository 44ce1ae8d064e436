//! Read this first: every state a connection can be in, every fact that can reach it, and what
//! becomes of each pair. `states/connection.md` is this table as a picture.

use super::*;
use crate::machine::machine;

machine! {
    context Cx;
    start { Resolving, Connecting }
    states {
        /// The name's addresses are being looked up.
        Resolving,
        /// A TCP connect is in flight.
        Connecting,
        /// TCP is up, TLS is being agreed.
        Handshaking,
        /// CONNECT went to a proxy; its answer is awaited (RFC 9110 9.3.6).
        Tunnelling,
        /// Request bytes are owed to the peer and nothing of a response was seen.
        Writing,
        /// A response head is awaited or incomplete.
        ReadingHead,
        /// The head was delivered, the body is arriving.
        ReadingBody,
        /// Idle, in the pool, for anyone with the same origin.
        Pooled,
        /// Idle, owned by a client object.
        Held,
        /// Over; carries why.
        Closed,
    }
    events {
        /// The name has addresses; the first is tried here.
        Resolved,
        /// The name has none.
        Unresolved,
        /// TCP is up.
        Connected,
        /// It will not come up.
        ConnectFailed,
        /// TLS is up.
        Handshaken,
        /// It will not come up.
        HandshakeFailed,
        /// The last owed byte was handed to the socket.
        Sent,
        /// The first byte of a response came while request bytes are owed.
        Early,
        /// A complete interim (1xx) head came.
        Interim,
        /// A complete final head came, and is framed.
        Head,
        /// The message is complete.
        End,
        /// What came is not HTTP/1.1, or too much of it.
        Malformed,
        /// Bytes came that answer nothing.
        Unsolicited,
        /// The peer sends no more.
        Eof,
        /// Nothing more can be sent.
        SendFailed,
        /// An exchange takes this idle connection.
        Claimed,
        /// The owning object gives the connection back.
        Released,
        /// Another address was faster.
        Lost,
        /// The pool needs the room.
        Evicted,
        /// Nothing more can be received.
        RecvFailed,
        /// A budget is over.
        Expired,
        /// The owner is gone, or the worker is leaving.
        Aborted,
    }
    table {
        Resolving   + Resolved        => Connecting;
        Resolving   + Unresolved      => Closed;
        Connecting  + Connected       => Handshaking | Tunnelling | Writing | Held;
        Connecting  + ConnectFailed   => Closed;
        Connecting  + Lost            => Closed;
        Handshaking + Handshaken      => Writing | Held;
        Handshaking + HandshakeFailed => Closed;
        Handshaking + Eof             => Closed;
        Handshaking + SendFailed      => Closed;
        Tunnelling  + Sent            => Tunnelling;
        Tunnelling  + Interim         => Tunnelling;
        Tunnelling  + Head            => Handshaking | Writing | Held | Closed;
        Tunnelling  + Malformed       => Closed;
        Tunnelling  + Eof             => Closed;
        Tunnelling  + SendFailed      => Closed;
        Writing     + Sent            => ReadingHead;
        Writing     + Early           => ReadingHead;
        Writing     + Unsolicited     => Closed;
        Writing     + Eof             => Closed;
        Writing     + SendFailed      => ReadingHead;
        ReadingHead + Sent            => ReadingHead;
        ReadingHead + SendFailed      => ReadingHead;
        ReadingHead + Interim         => ReadingHead;
        ReadingHead + Head            => ReadingBody;
        ReadingHead + Malformed       => Closed;
        ReadingHead + Eof             => Closed;
        ReadingBody + Sent            => ReadingBody;
        ReadingBody + SendFailed      => ReadingBody;
        ReadingBody + End             => Pooled | Held | Closed;
        ReadingBody + Malformed       => Closed;
        ReadingBody + Eof             => Closed;
        Pooled      + Claimed         => Writing | Held;
        Pooled      + Evicted         => Closed;
        Pooled      + Unsolicited     => Closed;
        Pooled      + Eof             => Closed;
        Held        + Claimed         => Writing;
        Held        + Released        => Pooled | Closed;
        Held        + Unsolicited     => Closed;
        Held        + Eof             => Closed;
    }
    always {
        RecvFailed => Closed;
        Expired    => Closed;
        Aborted    => Closed;
    }
    ignore {
        Closed: Resolved | Unresolved | Connected | ConnectFailed | Handshaken | HandshakeFailed | Sent | Early
              | Interim | Head | End | Malformed | Unsolicited | Eof | SendFailed | Released | Lost | Evicted;
    }
    never {
        Resolving:   Connected | ConnectFailed | Handshaken | HandshakeFailed | Sent | Early | Interim | Head
                   | End | Malformed | Unsolicited | Eof | SendFailed | Claimed | Released | Lost | Evicted;
        Connecting:  Resolved | Unresolved | Handshaken | HandshakeFailed | Sent | Early | Interim | Head
                   | End | Malformed | Unsolicited | Eof | SendFailed | Claimed | Released | Evicted;
        Handshaking: Resolved | Unresolved | Connected | ConnectFailed | Sent | Early | Interim | Head
                   | End | Malformed | Unsolicited | Claimed | Released | Lost | Evicted;
        Tunnelling:  Resolved | Unresolved | Connected | ConnectFailed | Handshaken | HandshakeFailed | Early
                   | End | Unsolicited | Claimed | Released | Lost | Evicted;
        Writing:     Resolved | Unresolved | Connected | ConnectFailed | Handshaken | HandshakeFailed | Interim | Head
                   | End | Malformed | Claimed | Released | Lost | Evicted;
        ReadingHead: Resolved | Unresolved | Connected | ConnectFailed | Handshaken | HandshakeFailed | Early
                   | End | Unsolicited | Claimed | Released | Lost | Evicted;
        ReadingBody: Resolved | Unresolved | Connected | ConnectFailed | Handshaken | HandshakeFailed | Early | Interim
                   | Head | Unsolicited | Claimed | Released | Lost | Evicted;
        Pooled:      Resolved | Unresolved | Connected | ConnectFailed | Handshaken | HandshakeFailed | Sent | Early
                   | Interim | Head | End | Malformed | SendFailed | Released | Lost;
        Held:        Resolved | Unresolved | Connected | ConnectFailed | Handshaken | HandshakeFailed | Sent | Early
                   | Interim | Head | End | Malformed | SendFailed | Lost | Evicted;
        Closed:      Claimed;
    }
}

// A state is moved on every event: what is large is boxed.
const _: () = assert!(size_of::<State>() <= 128);
