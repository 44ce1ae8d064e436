use super::*;
use crate::machine::Place;

/// Over. The outcome stays until the caller has taken it; a held connection stays with it until
/// the caller uses it again, gives it back or goes away.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) result: Result<(), Error>,
    /// Whether the connection could be kept.
    pub(crate) reuse: Result<(), NotReused>,
}

impl Done {
    /// A connection is open and nothing was asked of it yet.
    pub(crate) fn opened() -> Done {
        Done {
            result: Ok(()),
            reuse: Ok(()),
        }
    }

    pub(crate) fn failed(error: Error) -> Done {
        Done {
            result: Err(error),
            reuse: Err(NotReused::Gone),
        }
    }
}

/// While a handler runs, its slot says that it did not come back.
impl Place<State> for State {
    #[inline(always)]
    fn state(&self) -> &State {
        self
    }

    #[inline(always)]
    fn take(&mut self) -> State {
        let panicked = Error {
            kind: Kind::Aborted(error::Aborted::Panicked),
            state: "Done",
            retry: false,
        };
        core::mem::replace(self, Done::failed(panicked).into())
    }

    #[inline(always)]
    fn put(&mut self, next: State) {
        *self = next;
    }
}
