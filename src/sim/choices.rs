//! Where decisions come from: a seed, or the bytes of a fuzzer.

use std::vec::Vec;

/// A stream of small numbers. The same source gives the same numbers on every machine.
#[derive(Debug)]
pub(super) enum Choices {
    /// Without end.
    Seed(u64),
    /// Two bytes each, and zeros when they are used up.
    Bytes(Vec<u8>, usize),
}

/// FNV-1a: one number for a text, the same on every machine.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    })
}

impl Choices {
    pub(super) fn seed(seed: u64) -> Choices {
        // Neighbouring seeds begin far apart.
        Choices::Seed(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(super) fn bytes(bytes: &[u8]) -> Choices {
        Choices::Bytes(bytes.to_vec(), 0)
    }

    /// Whether the bytes are used up.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Choices::Seed(_) => false,
            Choices::Bytes(bytes, at) => *at >= bytes.len(),
        }
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        let n = n.max(1);
        match self {
            // SplitMix64: every bit of the state counts in every bit of the result.
            Choices::Seed(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((z >> 32) % u64::from(n)) as u32
            }
            Choices::Bytes(bytes, at) => {
                let width = if n > 256 { 2 } else { 1 };
                let taken = bytes.iter().skip(*at).take(width);
                let value = taken.fold(0, |value, &b| value << 8 | u32::from(b));
                *at += width;
                value % n
            }
        }
    }

    /// True once in `n`.
    pub(super) fn once_in(&mut self, n: u32) -> bool {
        // Zeros, which come when bytes are used up, say no.
        n <= 1 || self.below(n) == n - 1
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(from.len() as u32) as usize;
        from.get(at).copied()
    }
}
