//! Body bytes on their way to the caller.

use alloc::vec::Vec;

/// Bytes gathered and not yet taken. Room behind them is initialised once and used again, so that
/// a driver can receive straight into it without `unsafe` and without clearing it each time.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// All of it initialised.
    bytes: Vec<u8>,
    taken: usize,
    end: usize,
}

impl Gathered {
    #[inline]
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.taken..self.end]
    }

    /// Takes the first `n` unread bytes.
    pub(crate) fn consume(&mut self, n: usize) {
        self.taken = (self.taken + n).min(self.end);
    }

    /// Appends a copy.
    pub(crate) fn append(&mut self, more: &[u8]) {
        self.compact();
        let end = self.end + more.len();
        if end <= self.bytes.len() {
            self.bytes[self.end..end].copy_from_slice(more);
        } else {
            self.bytes.truncate(self.end);
            self.bytes.extend_from_slice(more);
        }
        self.end = end;
    }

    /// Lends the buffer out, with `room` bytes behind the gathered ones. Returns it and where the
    /// room begins.
    pub(crate) fn lend(&mut self, room: usize) -> (Vec<u8>, usize) {
        self.compact();
        let need = self.end + room;
        if self.bytes.len() < need {
            self.bytes.resize(need, 0);
        }
        (core::mem::take(&mut self.bytes), self.end)
    }

    /// Takes the lent buffer back, with `n` more bytes gathered.
    pub(crate) fn give_back(&mut self, bytes: Vec<u8>, n: usize) {
        self.bytes = bytes;
        self.end = (self.end + n).min(self.bytes.len());
    }

    /// The unread bytes as a buffer of their own.
    pub(crate) fn take_unread(&mut self) -> Vec<u8> {
        let mut bytes = core::mem::take(&mut self.bytes);
        bytes.truncate(self.end);
        if self.taken > 0 {
            bytes.drain(..self.taken);
        }
        (self.taken, self.end) = (0, 0);
        bytes
    }

    /// Drops the last `n` unread bytes.
    pub(crate) fn shorten(&mut self, n: usize) {
        self.end = self.end.saturating_sub(n).max(self.taken);
    }

    /// Empties it, keeping a buffer of at most `kept` bytes.
    pub(crate) fn clear(&mut self, kept: usize) {
        (self.taken, self.end) = (0, 0);
        if self.bytes.capacity() > kept {
            self.bytes = Vec::new();
        }
    }

    /// Goes on with a larger buffer that somebody has left.
    pub(crate) fn adopt(&mut self, bytes: Vec<u8>) {
        if self.end == 0 && bytes.capacity() > self.bytes.capacity() {
            self.bytes = bytes;
        }
    }

    /// Moves the unread bytes to the front when that costs less than it frees.
    fn compact(&mut self) {
        if self.taken > 0 && self.taken >= self.end - self.taken {
            self.bytes.copy_within(self.taken..self.end, 0);
            (self.taken, self.end) = (0, self.end - self.taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in() {
        let mut body = Gathered::default();
        let mut expected = Vec::new();
        let mut seen = Vec::new();
        for i in 0..200_usize {
            let piece: Vec<u8> = (0..i % 37).map(|j| (i + j) as u8).collect();
            expected.extend_from_slice(&piece);
            if i % 3 == 0 {
                let (mut bytes, start) = body.lend(piece.len());
                bytes[start..start + piece.len()].copy_from_slice(&piece);
                body.give_back(bytes, piece.len());
            } else {
                body.append(&piece);
            }
            let n = body.unread().len().min(i % 23);
            seen.extend_from_slice(&body.unread()[..n]);
            body.consume(n);
        }
        seen.extend(body.take_unread());
        assert_eq!(seen, expected);
        assert!(body.unread().is_empty());
    }

    #[test]
    fn taken_bytes_make_room() {
        let mut body = Gathered::default();
        for _ in 0..10_000 {
            body.append(&[7; 100]);
            body.consume(100);
        }
        assert!(body.bytes.capacity() < 1000, "{}", body.bytes.capacity());
    }
}
