//! x
pub mod coverage;
