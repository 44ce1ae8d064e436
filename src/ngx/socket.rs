//! Sockets: nginx connections by connection key.
//!
//! An nginx connection carries its key as data, never a pointer of ours; a handler whose key names
//! no entry is late news about a connection that is gone. Registration with the event loop is
//! made once, when the socket is opened, and is edge-triggered where the platform allows it: a
//! reused connection costs one send and one recv.

use core::ffi::{c_char, c_int, c_void};
use core::net::SocketAddr;
use core::ptr::{self, NonNull};

use ngx::ffi::{
    AF_INET, AF_INET6, AF_UNIX, EACCES, EADDRNOTAVAIL, ECONNREFUSED, ECONNRESET, EHOSTDOWN,
    EHOSTUNREACH, EMFILE, ENETDOWN, ENETUNREACH, ENFILE, ENOENT, EPERM, EPIPE, ETIMEDOUT,
    NGX_AGAIN, NGX_DECLINED, NGX_LOG_ERR, NGX_OK, NGX_USE_CLEAR_EVENT, SO_ERROR, SOL_SOCKET,
    getsockopt, in_addr, in_port_t, in6_addr, in6_addr__bindgen_ty_1, ngx_close_connection,
    ngx_connection_log_error_e_NGX_ERROR_INFO, ngx_connection_t, ngx_cycle, ngx_event_connect_peer,
    ngx_event_flags, ngx_event_get_peer, ngx_event_t, ngx_handle_read_event,
    ngx_handle_write_event, ngx_int_t, ngx_peer_connection_t, ngx_post_event,
    ngx_posted_next_events, ngx_socket_errno, ngx_str_t, ngx_tcp_nodelay, ngx_uint_t, sa_family_t,
    sockaddr, sockaddr_in, sockaddr_in6, sockaddr_un, socklen_t,
};
use ngx_http_ffi_client::{Key, SocketError};

use crate::log;
use crate::timer::Handler;

/// An open or opening socket. A handle: nginx owns the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Socket {
    key: Key,
    c: NonNull<ngx_connection_t>,
    pub(crate) connecting: bool,
}

/// Sockets by the index of their connection's key.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    list: Vec<Option<Socket>>,
}

impl Sockets {
    pub(crate) fn insert(&mut self, socket: Socket) {
        let index = socket.key.index();
        if self.list.len() <= index {
            self.list.resize(index + 1, None);
        }
        self.list[index] = Some(socket);
    }

    pub(crate) fn get(&self, key: Key) -> Option<Socket> {
        (*self.list.get(key.index())?).filter(|s| s.key == key)
    }

    pub(crate) fn connected(&mut self, key: Key) {
        if let Some(Some(socket)) = self
            .list
            .get_mut(key.index())
            .filter(|s| s.is_some_and(|s| s.key == key))
        {
            socket.connecting = false;
        }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Socket> {
        let socket = self.get(key)?;
        self.list[key.index()] = None;
        Some(socket)
    }

    /// Takes every socket out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Socket> + '_ {
        self.list.drain(..).flatten()
    }
}

/// Where to connect to.
pub(crate) enum Place {
    /// TCP.
    Inet(SocketAddr),
    /// The path of a unix domain socket.
    Unix(Box<[u8]>),
}

/// What became of an order to connect.
pub(crate) enum Opened {
    /// Connected at once.
    Now(Socket),
    /// Under way.
    Later(Socket),
    /// It will not come up.
    Failed(SocketError),
}

/// What a send or recv came to.
pub(crate) enum Moved {
    /// So many bytes; none in a recv is the end.
    Bytes(usize),
    /// The socket is not ready.
    Again,
    /// It is broken.
    Failed(SocketError),
}

/// Opens a connection as nginx opens its own, so that it counts and is limited like them. Taking
/// a connection slot may make nginx close idle clients: nothing of ours may be borrowed.
pub(crate) fn open(key: Key, place: &Place, on_ready: Handler) -> Opened {
    let (name, mut address) = match place {
        Place::Inet(inet) => (inet.to_string(), Address::inet(*inet)),
        Place::Unix(path) => (
            String::from_utf8_lossy(path).into_owned(),
            Address::unix(path),
        ),
    };
    let mut name = ngx_str_t {
        len: name.len(),
        data: name.as_ptr().cast_mut(),
    };
    // SAFETY: a plain C structure for which all zeros is a valid value.
    let mut peer = unsafe { core::mem::zeroed::<ngx_peer_connection_t>() };
    (peer.sockaddr, peer.socklen) = address.raw();
    peer.name = &raw mut name;
    peer.get = Some(ngx_event_get_peer);
    peer.log = log::cycle_log();
    // A peer that resets a kept connection is no news.
    peer.set_log_error(ngx_connection_log_error_e_NGX_ERROR_INFO);
    // SAFETY: what the peer points to lives on this stack, and nginx keeps none of it but the log,
    // which is the cycle's.
    let rc = unsafe { ngx_event_connect_peer(&raw mut peer) };
    let errno = ngx_socket_errno();
    let Some(c) = NonNull::new(peer.connection)
        .filter(|_| rc == NGX_OK as ngx_int_t || rc == NGX_AGAIN as ngx_int_t)
    else {
        return Opened::Failed(if rc == NGX_DECLINED as ngx_int_t {
            socket_error(errno)
        } else {
            not_opened(errno)
        });
    };
    let socket = Socket {
        key,
        c,
        connecting: rc == NGX_AGAIN as ngx_int_t,
    };
    // SAFETY: a fresh connection that nginx gave us; both its events live as long as it does.
    unsafe {
        (*c.as_ptr()).data = ptr::without_provenance_mut(key.to_bits() as usize);
        // nginx offers such connections to us for closing when the worker leaves; the handler
        // decides by the engine's state, so the mark need not follow each request.
        (*c.as_ptr()).set_idle(1);
        (*(*c.as_ptr()).read).handler = Some(on_ready);
        (*(*c.as_ptr()).write).handler = Some(on_ready);
    }
    if socket.connecting {
        Opened::Later(socket)
    } else {
        Opened::Now(socket)
    }
}

/// The connection an nginx event is about.
///
/// # Safety
/// `event` is the read or write event of a connection that [`open`] made.
pub(crate) unsafe fn key_of(event: *mut ngx_event_t) -> Option<Key> {
    // SAFETY: the caller's promise; such an event's data is its connection.
    let c = unsafe { (*event).data.cast::<ngx_connection_t>() };
    // SAFETY: as above; a closed connection's data is nginx's free list, but its events are off
    // every queue by then.
    Key::from_bits(unsafe { (*c).data }.addr() as u64)
}

impl Socket {
    fn raw(&self) -> *mut ngx_connection_t {
        self.c.as_ptr()
    }

    /// Why nginx wants the connection closed, if it does.
    pub(crate) fn told_to_close(&self) -> Option<Told> {
        // SAFETY: alive as long as the table holds it.
        let c = unsafe { self.c.as_ref() };
        (c.close() != 0).then(|| {
            if c.error() != 0 {
                Told::Now
            } else {
                Told::IfIdle
            }
        })
    }

    /// The connection goes on, though nginx asked.
    pub(crate) fn keep(&self) {
        // SAFETY: alive as long as the table holds it, and nothing else refers to it here.
        unsafe { (*self.raw()).set_close(0) }
    }

    /// How the connect went.
    pub(crate) fn outcome(&self) -> Result<(), SocketError> {
        let mut errno: c_int = 0;
        let mut len = size_of::<c_int>() as socklen_t;
        // SAFETY: an out-parameter of the size that is passed along with it.
        let rc = unsafe {
            let out = (&raw mut errno).cast::<c_void>();
            getsockopt(
                (*self.raw()).fd,
                SOL_SOCKET as c_int,
                SO_ERROR as c_int,
                out,
                &raw mut len,
            )
        };
        match if rc == -1 { ngx_socket_errno() } else { errno } {
            0 => Ok(()),
            errno => Err(socket_error(errno)),
        }
    }

    /// Small segments go out at once. Logs and goes on where that cannot be had.
    pub(crate) fn no_delay(&self) {
        // SAFETY: alive as long as the table holds it.
        unsafe { ngx_tcp_nodelay(self.raw()) };
    }

    /// Whether it is of any interest that the socket can be written to. An edge-triggered loop
    /// reports it along with every byte that arrives.
    pub(crate) fn watch_writes(&self, watch: bool) {
        // SAFETY: the events live as long as their connection, and both have a handler.
        unsafe {
            let c = self.raw();
            (*(*c).write).handler = if watch {
                (*(*c).read).handler
            } else {
                Some(ignore)
            };
        }
    }

    pub(crate) fn can_read(&self) -> bool {
        // SAFETY: the event lives as long as its connection.
        unsafe { (*(*self.raw()).read).ready() != 0 }
    }

    pub(crate) fn can_write(&self) -> bool {
        // SAFETY: the event lives as long as its connection.
        unsafe { (*(*self.raw()).write).ready() != 0 }
    }

    /// Sends once. Runs no handler.
    pub(crate) fn send(&self, bytes: &[u8]) -> Moved {
        // SAFETY: the bytes outlive the call, which does not write to them.
        let n = unsafe {
            (*self.raw())
                .send
                .map(|send| send(self.raw(), bytes.as_ptr().cast_mut(), bytes.len()))
        };
        moved(n.unwrap_or(-1))
    }

    /// Receives once. Runs no handler.
    pub(crate) fn recv(&self, room: &mut [u8]) -> Moved {
        // SAFETY: the room is ours to write to for the whole call, and no longer than it says.
        let n = unsafe {
            (*self.raw())
                .recv
                .map(|recv| recv(self.raw(), room.as_mut_ptr(), room.len()))
        };
        moved(n.unwrap_or(-1))
    }

    /// Runs the read handler in the next turn of the event loop: the socket is still ready, but
    /// others come first.
    pub(crate) fn continue_reading(&self) {
        // SAFETY: the event lives as long as its connection, which takes it off the queue.
        unsafe {
            ngx_post_event(
                (*self.raw()).read,
                ptr::addr_of_mut!(ngx_posted_next_events),
            )
        }
    }

    /// As above, for sending.
    pub(crate) fn continue_writing(&self) {
        // SAFETY: the event lives as long as its connection, which takes it off the queue.
        unsafe {
            ngx_post_event(
                (*self.raw()).write,
                ptr::addr_of_mut!(ngx_posted_next_events),
            )
        }
    }

    /// With a level-triggered method, stops the events that would come again and again, and asks
    /// for those that are awaited. With an edge-triggered one there is nothing to do.
    pub(crate) fn settle_events(&self) {
        // SAFETY: a plain read of a word that is constant once the worker runs.
        if unsafe { ngx_event_flags } & NGX_USE_CLEAR_EVENT as ngx_uint_t != 0 {
            return;
        }
        // SAFETY: the events live as long as their connection. A failure has been logged, and the
        // exchange's deadline covers it.
        unsafe {
            let c = self.raw();
            ngx_handle_read_event((*c).read, 0);
            ngx_handle_write_event((*c).write, 0);
        }
    }

    /// Closes the connection and takes its events off every queue. Runs no handler.
    pub(crate) fn close(self) {
        // SAFETY: taken out of the table, so this happens once.
        unsafe { ngx_close_connection(self.raw()) }
    }
}

/// How nginx asked for a connection to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// The worker leaves gracefully.
    IfIdle,
    /// `worker_shutdown_timeout` is over.
    Now,
}

/// The write handler while nothing is owed.
unsafe extern "C" fn ignore(_: *mut ngx_event_t) {}

fn moved(n: isize) -> Moved {
    match usize::try_from(n) {
        Ok(n) => Moved::Bytes(n),
        Err(_) if n == NGX_AGAIN as isize => Moved::Again,
        Err(_) => Moved::Failed(socket_error(ngx_socket_errno())),
    }
}

/// No connection was opened at all: nginx has logged why.
fn not_opened(errno: c_int) -> SocketError {
    // SAFETY: a plain read; the running cycle outlives its event loop.
    let full = unsafe { (*ngx_cycle).free_connection_n } == 0;
    if full || errno == EMFILE as c_int || errno == ENFILE as c_int {
        SocketError::NoConnections
    } else {
        socket_error(errno)
    }
}

fn socket_error(errno: c_int) -> SocketError {
    match errno as u32 {
        ECONNREFUSED => SocketError::Refused,
        ECONNRESET => SocketError::Reset,
        EPIPE => SocketError::BrokenPipe,
        ENOENT => SocketError::NoSocket,
        EACCES | EPERM => SocketError::Denied,
        EHOSTUNREACH | EHOSTDOWN => SocketError::NoRoute,
        ENETUNREACH | ENETDOWN => SocketError::NetworkUnreachable,
        ETIMEDOUT => SocketError::TimedOut,
        EADDRNOTAVAIL => SocketError::AddressNotAvailable,
        errno => {
            log::write(
                NGX_LOG_ERR,
                log::cycle_log(),
                format_args!("socket error {errno}"),
            );
            SocketError::Other
        }
    }
}

/// An address as C has it.
enum Address {
    V4(sockaddr_in),
    V6(sockaddr_in6),
    Unix(sockaddr_un),
}

impl Address {
    /// The engine has checked that the path fits, with a zero behind it.
    fn unix(path: &[u8]) -> Address {
        let mut un = sockaddr_un {
            sun_family: AF_UNIX as sa_family_t,
            sun_path: [0; 108],
        };
        for (to, from) in un.sun_path.iter_mut().zip(path).take(107) {
            *to = from.cast_signed() as c_char;
        }
        Address::Unix(un)
    }

    fn inet(address: SocketAddr) -> Address {
        match address {
            SocketAddr::V4(v4) => Address::V4(sockaddr_in {
                sin_family: AF_INET as sa_family_t,
                sin_port: v4.port().to_be() as in_port_t,
                sin_addr: in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Address::V6(sockaddr_in6 {
                sin6_family: AF_INET6 as sa_family_t,
                sin6_port: v6.port().to_be() as in_port_t,
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: in6_addr {
                    __in6_u: in6_addr__bindgen_ty_1 {
                        __u6_addr8: v6.ip().octets(),
                    },
                },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    fn raw(&mut self) -> (*mut sockaddr, socklen_t) {
        match self {
            Address::V4(v4) => (
                (v4 as *mut sockaddr_in).cast(),
                size_of::<sockaddr_in>() as socklen_t,
            ),
            Address::V6(v6) => (
                (v6 as *mut sockaddr_in6).cast(),
                size_of::<sockaddr_in6>() as socklen_t,
            ),
            Address::Unix(un) => (
                (un as *mut sockaddr_un).cast(),
                size_of::<sockaddr_un>() as socklen_t,
            ),
        }
    }
}
