//! What handlers write to: posts to other slots, orders to the driver, and recycled buffers.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::allowances::{Allowance, Allowances};
use super::event::Effect;
use super::{Id, Key, connection, exchange};
use crate::http::head::{Head, Section};
use crate::http::limits::Limits;
use crate::http::parser::Parser;

/// News for another slot. Carried out before the engine returns to its driver.
#[derive(Debug)]
pub(crate) enum Post {
    Connection(Key, connection::Event),
    Exchange(Id, exchange::Event),
    /// Make a connection to `address`, or to the name's addresses.
    Open {
        owner: Id,
        address: Option<SocketAddr>,
    },
    /// Begin an exchange again, on a fresh connection.
    Redial {
        owner: Id,
    },
}

/// Posts in the order they were made. One is nearly always all there is, so the last has a place of
/// its own, where it is made and taken without a detour.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    earlier: VecDeque<Post>,
    last: Option<Post>,
}

impl Posts {
    #[inline]
    pub(crate) fn push(&mut self, post: Post) {
        self.push_with(|| post);
    }

    /// Makes the post when there is room for it: where it lies, not to be moved there.
    #[inline(always)]
    pub(crate) fn push_with(&mut self, make: impl FnOnce() -> Post) {
        if self.last.is_some() {
            self.make_room();
        }
        // The place is empty by now: there is nothing to be dropped.
        core::mem::forget(self.last.replace(make()));
    }

    #[cold]
    fn make_room(&mut self) {
        self.earlier.extend(self.last.take());
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Post> {
        if self.earlier.is_empty() {
            self.last.take()
        } else {
            self.pop_earlier()
        }
    }

    #[cold]
    #[inline(never)]
    fn pop_earlier(&mut self) -> Option<Post> {
        self.earlier.pop_front()
    }

    /// Keeps the posts that `keep` wants.
    #[cold]
    pub(crate) fn retain(&mut self, keep: impl FnMut(&Post) -> bool) {
        self.make_room();
        self.earlier.retain(keep);
        self.last = self.earlier.pop_back();
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }
}

/// See the module documentation.
#[derive(Debug)]
#[expect(
    clippy::vec_box,
    reason = "the boxes move between slots and here, their contents do not"
)]
pub(crate) struct Out {
    pub(crate) posts: Posts,
    pub(crate) effects: VecDeque<Effect>,
    pub(crate) allowances: Allowances,
    parsers: Vec<Box<Parser>>,
    heads: Vec<Box<Head>>,
    sections: Vec<Box<Section>>,
}

/// So many spare buffers of a kind are kept.
const SPARE: usize = 64;

impl Out {
    pub(crate) fn new(limits: Limits) -> Out {
        Out {
            posts: Posts::default(),
            effects: VecDeque::new(),
            allowances: Allowances::new(limits),
            parsers: Vec::new(),
            heads: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Tells the driver when what the exchange's caller waits for has come.
    #[inline(always)]
    pub(crate) fn wake(&mut self, slot: &mut exchange::Slot) {
        if let Some((until, _)) = slot.facts.waiting
            && slot.state.satisfies(until, &slot.facts)
        {
            slot.facts.waiting = None;
            self.effects.push_back(Effect::Wake { id: slot.id });
        }
    }

    /// A parser at the start of a message.
    #[inline(always)]
    pub(crate) fn parser(&mut self, allowance: Allowance) -> Box<Parser> {
        let limits = self.allowances.of(allowance);
        match self.parsers.pop() {
            Some(mut parser) => {
                parser.begin(limits);
                parser
            }
            None => Parser::new(*limits),
        }
    }

    pub(crate) fn head(&mut self) -> Box<Head> {
        self.heads.pop().unwrap_or_default()
    }

    pub(crate) fn section(&mut self) -> Box<Section> {
        self.sections.pop().unwrap_or_default()
    }

    #[inline(always)]
    pub(crate) fn recycle_parser(&mut self, parser: Box<Parser>) {
        if self.parsers.len() < SPARE {
            self.parsers.push(parser);
        }
    }

    pub(crate) fn recycle_head(&mut self, head: Box<Head>) {
        if self.heads.len() < SPARE {
            self.heads.push(head);
        }
    }

    pub(crate) fn recycle_section(&mut self, section: Box<Section>) {
        if self.sections.len() < SPARE {
            self.sections.push(section);
        }
    }
}
