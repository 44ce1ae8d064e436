//! Plays a trace from nginx's error log again: `cargo run --features sim --example replay FILE`.
//!
//! Without a file it reads what is pasted. Shows what the engine makes of the facts in it, and fails
//! where that differs from the trace. `docs/tracing.md` says how to get one.

use std::io::Read;
use std::process::ExitCode;

use ngx_http_ffi_client::sim::Pasted;

fn read() -> std::io::Result<String> {
    match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file),
        None => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            Ok(text)
        }
    }
}

fn replay() -> Result<bool, String> {
    let text = read().map_err(|e| e.to_string())?;
    let pasted = Pasted::parse(&text)?;
    let (logged, played) = (pasted.text(), pasted.replay()?);
    print!("{played}");
    let (mut logged, mut played) = (logged.lines(), played.lines());
    loop {
        match (logged.next(), played.next()) {
            (None, None) => return Ok(true),
            (logged, played) if logged == played => {}
            (logged, played) => {
                let none = "nothing more";
                eprintln!("logged was: {}", logged.unwrap_or(none));
                eprintln!("played was: {}", played.unwrap_or(none));
                return Ok(false);
            }
        }
    }
}

fn main() -> ExitCode {
    match replay() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("replay: {e}");
            ExitCode::FAILURE
        }
    }
}
