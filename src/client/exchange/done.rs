use super::*;

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
