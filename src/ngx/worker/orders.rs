//! Carrying out the engine's orders. Two kinds cannot be while the state is borrowed, because nginx
//! may call us back from within: opening a connection, and asking for a name.

use ngx_http_ffi_client::{Effect, Event, Key, TlsError};

use super::{State, with};
use crate::drive::{self, FAIR_BYTES};
use crate::names;
use crate::socket::{self, Place};
use crate::timer::now;

/// What cannot be carried out while the state is borrowed.
pub(super) enum Order {
    Open(Key, Place),
    Ask(Key),
}

/// As [`super::run`], beginning with an order that cannot be carried out while the state is borrowed.
/// Should carrying it out lead back here, what is ordered there waits until it is done.
#[inline]
pub(super) fn run_from(order: Option<Order>) {
    if order.is_some() {
        open_from(order);
    }
}

#[inline(never)]
fn open_from(mut order: Option<Order>) {
    while let Some(outside) = order {
        with(|state| state.opening = true);
        let opened = match outside {
            Order::Open(key, place) => Some((key, socket::open(key, &place, drive::on_ready))),
            Order::Ask(key) => {
                names::ask(key);
                None
            }
        };
        order = with(|state| {
            state.opening = false;
            if let Some((key, opened)) = opened {
                state.opened(key, opened);
            }
            state.settle(true)
        })
        .flatten();
    }
}

impl State {
    /// Carries out orders, up to one that cannot be while the state is borrowed. With `drive`,
    /// moves bytes, too. Mostly there is nothing to do.
    #[inline]
    pub(super) fn work(&mut self, drive: bool) -> Option<Order> {
        let due = self.engine.has_orders() || (drive && !self.drives.is_empty());
        if due || !self.asks.is_empty() {
            self.carry_on(drive)
        } else {
            None
        }
    }

    /// As [`Self::work`], and rests when nothing is left.
    pub(super) fn settle(&mut self, drive: bool) -> Option<Order> {
        let order = self.work(drive);
        if order.is_none() {
            self.rest();
        }
        order
    }

    #[inline(never)]
    fn carry_on(&mut self, drive: bool) -> Option<Order> {
        while !self.broken && !self.opening {
            if let Some(effect) = self.engine.poll() {
                match effect {
                    Effect::Connect { key, address } => {
                        return Some(Order::Open(key, Place::Inet(address)));
                    }
                    Effect::ConnectUnix { key } => {
                        return Some(Order::Open(key, self.path_of(key)));
                    }
                    Effect::Resolve { key } => {
                        if self.look_up(key) {
                            return Some(Order::Ask(key));
                        }
                    }
                    // The next to be driven, and no order comes before it.
                    Effect::Drive { key } if drive && self.is_next() => {
                        self.drive(key, FAIR_BYTES);
                    }
                    Effect::Drive { key } => self.queue(key),
                    Effect::Handshake { key } => {
                        let not_built = Event::HandshakeFailed(TlsError::NotBuilt);
                        self.engine.handle(key, not_built, now());
                    }
                    Effect::Close { key } => {
                        self.lookups.cancel(key);
                        if let Some(socket) = self.sockets.remove(key) {
                            socket.close();
                        }
                    }
                    Effect::Wake { id } => self.wake(id),
                }
            } else if let Some(key) = self.asks.pop_front() {
                return Some(Order::Ask(key));
            } else if drive && let Some((key, budget)) = self.drives.pop_front() {
                self.drive(key, budget);
            } else {
                break;
            }
        }
        None
    }

    /// Whether nothing else is to be done before what comes now.
    fn is_next(&self) -> bool {
        self.drives.is_empty() && self.asks.is_empty() && !self.engine.has_orders()
    }

    /// Where the unix domain socket of a connection is.
    fn path_of(&self, key: Key) -> Place {
        let host = self.engine.host(key).unwrap_or_default();
        let path = host.strip_prefix(b"unix:".as_slice()).unwrap_or_default();
        Place::Unix(path.into())
    }
}
