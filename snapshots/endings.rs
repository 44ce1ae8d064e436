//! Every case is cut short in every way, see `sim::endings`.

mod cases;

use cases::cases;
use ngx_http_ffi_client::sim::endings;

/// Longer sends are cut short in so many places only. `make sim` takes every byte of all but a few.
const DENSE: usize = 3;

#[test]
fn no_case_ends_with_another_response_wherever_it_is_cut_short() {
    let dense = std::env::var("DENSE").map_or(DENSE, |n| n.parse().expect("a number"));
    let mut played = 0;
    for (name, script) in cases() {
        played += endings(&script, dense).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    println!("{played} endings");
    assert!(played > 10_000, "only {played} endings");
}
