//! Generated worlds: `SEEDS=n` of them from `FROM` on (0), or the world of one `SEED`, with its trace.

use ngx_http_ffi_client::sim::{Run, again, seed};

/// As many as there is time for without optimisation; `make sim` plays many more.
const SEEDS: u64 = 60;

fn variable(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok().filter(|v| !v.is_empty())?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name}={value} is no number")),
    )
}

/// What somebody needs who is to mend it.
fn report(number: u64, run: Run) -> String {
    let (failure, length) = (run.failure.clone().unwrap_or_default(), run.commands.len());
    let small = run.shrunk();
    format!(
        "seed {number}: {failure}\n{} of {length} commands, reads cut {:?}: {}\n```script\n{}\n```\n{}",
        small.commands.len(),
        small.cut,
        small.failure.clone().unwrap_or_default(),
        small.script(),
        small.trace
    )
}

#[test]
fn generated_worlds_keep_what_was_promised() {
    if let Some(number) = variable("SEED") {
        let run = seed(number);
        println!("{}\n\n{}\n", run.script(), run.trace);
        println!("seed {number}: hash {:016x}", run.hash());
        assert!(run.failure.is_none(), "{}", report(number, run));
        return;
    }
    let (from, seeds) = (
        variable("FROM").unwrap_or(0),
        variable("SEEDS").unwrap_or(SEEDS),
    );
    let mut commands = 0;
    for number in from..from + seeds {
        let run = seed(number);
        commands += run.commands.len();
        assert!(run.failure.is_none(), "{}", report(number, run));
        if number % 50 == 0 {
            assert_eq!(
                seed(number).hash(),
                run.hash(),
                "seed {number} differs when run again"
            );
            let replayed = again(&run.commands, run.cut);
            assert_eq!(
                replayed.hash(),
                run.hash(),
                "seed {number} differs as a script"
            );
        }
    }
    println!("{seeds} seeds from {from} on, {commands} commands");
}
