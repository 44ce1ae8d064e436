//! Bytes are what everybody in a simulated world decides by; the world checks itself.

#![no_main]

use ngx_http_ffi_client::sim::bytes;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let run = bytes(input);
    if let Some(failure) = run.failure.clone() {
        let small = run.shrunk();
        panic!(
            "{failure}\nreads cut {:?}\n```script\n{}\n```\n{}",
            small.cut,
            small.script(),
            small.trace
        );
    }
});
