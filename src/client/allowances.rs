//! What each response may cost: the engine's limits, or lower ones that its caller asked for.

use slab::Slab;

use super::Collect;
use super::exchange::Facts;
use crate::http::limits::Limits;

/// Which limits an exchange has. Small, because it travels with every order to a connection; the
/// default stands for the engine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Allowance(u32);

/// The limits in use. Exchanges without limits of their own cost nothing here.
#[derive(Debug)]
pub(crate) struct Allowances {
    standard: Limits,
    own: Slab<Limits>,
}

impl Allowances {
    pub(crate) fn new(standard: Limits) -> Allowances {
        Allowances {
            standard,
            own: Slab::new(),
        }
    }

    #[inline]
    pub(crate) fn of(&self, allowance: Allowance) -> &Limits {
        match allowance {
            Allowance(0) => &self.standard,
            Allowance(n) => self.own.get(n as usize - 1).unwrap_or(&self.standard),
        }
    }

    /// Gives an exchange that has begun its limits: those of the engine, or lower ones.
    #[inline]
    pub(crate) fn set(&mut self, facts: &mut Facts, asked: Option<&Limits>) {
        if let Some(asked) = asked {
            self.lower(facts, asked);
        }
        let limits = self.of(facts.allowance);
        facts.most = match facts.collect {
            Collect::Whole => limits.whole.min(limits.body),
            Collect::Stream => limits.body,
        };
    }

    #[cold]
    fn lower(&mut self, facts: &mut Facts, asked: &Limits) {
        let limits = self.standard.lower(*asked);
        // There are no more exchanges than keys, which is far below the range.
        facts.allowance = Allowance(self.own.insert(limits) as u32 + 1);
    }

    /// The exchange is over.
    #[inline]
    pub(crate) fn free(&mut self, allowance: Allowance) {
        if let Allowance(n @ 1..) = allowance {
            self.own.try_remove(n as usize - 1);
        }
    }

    /// How many exchanges have limits of their own.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn len(&self) -> usize {
        self.own.len()
    }
}
