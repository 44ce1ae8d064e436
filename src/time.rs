//! Points in time and spans of it, in milliseconds. No clock: the driver says what time it is.

/// A point in time in milliseconds since an epoch of the driver's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Instant(pub u64);

/// A span of time in milliseconds. As a timeout, zero means "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Duration(pub u32);

impl Duration {
    /// No limit.
    pub const NONE: Duration = Duration(0);
}

impl Instant {
    /// The point `timeout` from here, or `None` when the timeout is "no limit".
    #[inline]
    pub fn plus(self, timeout: Duration) -> Option<Instant> {
        (timeout.0 != 0).then(|| Instant(self.0.saturating_add(u64::from(timeout.0))))
    }

    /// Milliseconds from `earlier` to here; zero when `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Instant) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The earlier of two deadlines, either of which may be absent.
#[inline]
pub(crate) fn earlier<T: Copy>(
    a: Option<(Instant, T)>,
    b: Option<(Instant, T)>,
) -> Option<(Instant, T)> {
    match (a, b) {
        (Some(x), Some(y)) => Some(if y.0 < x.0 { y } else { x }),
        (x, y) => x.or(y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(Instant(5).plus(Duration(0)), None);
        assert_eq!(Instant(5).plus(Duration(7)), Some(Instant(12)));
        assert_eq!(Instant(u64::MAX).plus(Duration(1)), Some(Instant(u64::MAX)));
    }

    #[test]
    fn the_earlier_deadline_wins() {
        let (a, b) = (Some((Instant(1), 'a')), Some((Instant(2), 'b')));
        assert_eq!(earlier(a, b), a);
        assert_eq!(earlier(b, a), a);
        assert_eq!(earlier(None, b), b);
        assert_eq!(earlier::<char>(None, None), None);
    }
}
