//! A slab whose keys carry a generation, so that a key outlives its slot harmlessly.

use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU64;

use slab::Slab;

/// Index bits of a key: about a million live slots; fewer in tests, which use them up.
const INDEX_BITS: u32 = if cfg!(test) { 10 } else { 20 };
/// All bits of a key. 53, so that a key survives as a Lua number.
const KEY_BITS: u32 = 53;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
/// How many slots there can be.
#[cfg(test)]
pub(crate) const MOST: usize = 1 << INDEX_BITS;
const GENERATION_MAX: u64 = (1 << (KEY_BITS - INDEX_BITS)) - 1;

/// What [`Slots`] needs from a key type. Implemented by [`key!`] only.
pub(crate) trait SlotKey: Copy {
    fn new(bits: NonZeroU64) -> Self;
    fn bits(self) -> NonZeroU64;
}

/// Declares a key type of its own, so that a connection's key is never taken for an exchange's.
macro_rules! key {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(core::num::NonZeroU64);

        impl $name {
            /// The key as an integer below 2^53, never zero.
            #[inline]
            pub fn to_bits(self) -> u64 {
                self.0.get()
            }

            /// The key with these bits. Any nonzero number is a key; a wrong one names no slot.
            #[inline]
            pub fn from_bits(bits: u64) -> Option<Self> {
                core::num::NonZeroU64::new(bits).map(Self)
            }

            /// The slot's place in a dense table; reused by later keys.
            #[inline]
            pub fn index(self) -> usize {
                crate::slots::index(self.0)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                crate::slots::debug(stringify!($name), self.0, f)
            }
        }

        impl crate::slots::SlotKey for $name {
            #[inline]
            fn new(bits: core::num::NonZeroU64) -> Self {
                Self(bits)
            }
            #[inline]
            fn bits(self) -> core::num::NonZeroU64 {
                self.0
            }
        }
    };
}
pub(crate) use key;

#[inline]
pub(crate) fn index(bits: NonZeroU64) -> usize {
    // The mask keeps 20 bits, which fit any usize.
    (bits.get() & INDEX_MASK) as usize
}

pub(crate) fn debug(name: &str, bits: NonZeroU64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{name}({}.{})", index(bits), bits.get() >> INDEX_BITS)
}

#[derive(Debug)]
struct Entry<T> {
    bits: NonZeroU64,
    value: T,
}

/// Values by generational key. A stale key finds nothing.
#[derive(Debug)]
pub(crate) struct Slots<K, T> {
    slab: Slab<Entry<T>>,
    generation: u64,
    key: PhantomData<K>,
}

impl<K: SlotKey, T> Slots<K, T> {
    pub(crate) fn new() -> Self {
        Slots {
            slab: Slab::new(),
            generation: 0,
            key: PhantomData,
        }
    }

    /// Stores what `make` returns for its own key. `None` when a million slots are live.
    #[inline]
    pub(crate) fn insert_with(&mut self, make: impl FnOnce(K) -> T) -> Option<K> {
        let vacant = self.slab.vacant_entry();
        let index = vacant.key() as u64;
        if index > INDEX_MASK {
            return None;
        }
        // Zero is skipped, so a key is never zero.
        self.generation = if self.generation >= GENERATION_MAX {
            1
        } else {
            self.generation + 1
        };
        let bits = NonZeroU64::new(self.generation << INDEX_BITS | index)?;
        vacant.insert(Entry {
            bits,
            value: make(K::new(bits)),
        });
        Some(K::new(bits))
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<&T> {
        self.slab
            .get(index(key.bits()))
            .filter(|e| e.bits == key.bits())
            .map(|e| &e.value)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        self.slab
            .get_mut(index(key.bits()))
            .filter(|e| e.bits == key.bits())
            .map(|e| &mut e.value)
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: K) -> Option<T> {
        self.get(key)?;
        Some(self.slab.remove(index(key.bits())).value)
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Every live key, by index.
    pub(crate) fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.slab.iter().map(|(_, e)| K::new(e.bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    key!(
        /// A key for the tests.
        TestKey
    );

    #[test]
    fn a_stale_key_finds_nothing() {
        let mut slots = Slots::<TestKey, u32>::new();
        let a = slots.insert_with(|_| 1).unwrap();
        assert_eq!(slots.remove(a), Some(1));
        let b = slots.insert_with(|_| 2).unwrap();
        assert_eq!(a.index(), b.index(), "the place is reused");
        assert_ne!(a, b, "the key is not");
        assert_eq!(slots.get(a), None);
        assert_eq!(slots.remove(a), None);
        assert_eq!(slots.get(b), Some(&2));
    }

    #[test]
    fn keys_fit_a_lua_number() {
        let mut slots = Slots::<TestKey, ()>::new();
        slots.generation = GENERATION_MAX - 1;
        let last = slots.insert_with(|_| ()).unwrap();
        assert!(last.to_bits() < 1 << KEY_BITS);
        let wrapped = slots.insert_with(|_| ()).unwrap();
        assert_eq!(
            wrapped.to_bits() >> INDEX_BITS,
            1,
            "generation zero is skipped"
        );
        assert_eq!(TestKey::from_bits(wrapped.to_bits()), Some(wrapped));
        assert_eq!(TestKey::from_bits(0), None);
    }
}
