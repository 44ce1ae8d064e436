//! What `machine!` refuses to compile, and that the compiler's message names the row. The table of
//! `second.rs` is compiled as it is, which has to succeed, and with one mistake at a time.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::second::{Asked, Cx, Event, Failed, Reading, Sent, State};

/// The compiler beside the cargo that built this test: it may be the only one there is.
fn rustc() -> PathBuf {
    let beside = Path::new(env!("CARGO")).with_file_name("rustc");
    match beside.exists() {
        true => beside,
        false => "rustc".into(),
    }
}

/// Compiles the second machine's text with `change` made in it. `Err` is what the compiler says.
fn compile(name: &str, change: (&str, &str)) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = include_str!("second.rs").replacen(change.0, change.1, 1);
    let macros = root.join("src/machine.rs");
    let text = format!(
        "#![allow(dead_code)]\n#[path = {macros:?}]\nmod machine;\nmod second {{\n{}\n}}\n",
        // Inner doc comments may only open a file.
        table.replace("//!", "//"),
    );
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.rs"));
    std::fs::write(&source, text).unwrap();
    let out = Command::new(rustc())
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
            "-o",
        ])
        .arg(source.with_extension("rmeta"))
        .arg(&source)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", rustc().display()));
    match out.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&out.stderr).into_owned()),
    }
}

/// The mistake is made, and the compiler's answer names each of `names`.
fn refused(name: &str, change: (&str, &str), names: &[&str]) {
    assert!(
        include_str!("second.rs").contains(change.0),
        "{name}: there is no {:?} to change",
        change.0
    );
    let answer = compile(name, change).expect_err(name);
    for part in names {
        assert!(answer.contains(part), "{name}: no {part:?} in\n{answer}");
    }
}

#[test]
fn the_table_as_it_is_compiles() {
    compile("as_it_is", ("", "")).unwrap();
}

#[test]
fn a_move_to_an_unlisted_state_is_refused() {
    refused(
        "unlisted",
        (
            "Writing + Sent  => Reading | Closed;",
            "Writing + Sent  => Closed;",
        ),
        &[
            "`Writing` may not move to `Reading` on `Sent`",
            "no such row",
        ],
    );
}

#[test]
fn a_row_without_a_handler_is_refused() {
    refused(
        "no_handler",
        ("impl On<Asked> for Reading", "impl Reading"),
        &["the table says `Reading` handles `Asked`, but there is no handler"],
    );
}

#[test]
fn a_handler_without_a_row_is_refused() {
    refused(
        "no_row",
        ("Reading + Asked => Writing;", ""),
        &["`Reading` may not move to `Writing` on `Asked`"],
    );
}

#[test]
fn an_undecided_pair_is_refused() {
    refused(
        "undecided",
        ("Writing: Asked;", ""),
        &["non-exhaustive", "State::Writing(_)", "Event::Asked(_)"],
    );
}

#[test]
fn a_pair_decided_twice_is_refused() {
    refused(
        "twice",
        (
            "Closed: Asked | Sent;",
            "Closed: Asked | Sent; Reading: Asked;",
        ),
        &["Decided<", "Asked>` for type", "Reading`"],
    );
}

#[test]
fn a_pair_that_always_decides_is_refused() {
    refused(
        "always",
        ("Writing: Asked;", "Writing: Asked | Failed;"),
        &["Decided<", "Failed>` for type", "Writing`"],
    );
}

#[test]
fn a_start_that_is_no_state_is_refused() {
    refused(
        "start",
        ("start { Reading }", "start { Waiting }"),
        &["Waiting"],
    );
}

#[test]
fn the_second_machine_runs() {
    let mut log = Vec::new();
    let mut cx = Cx {
        log: &mut log,
        impossible: false,
    };
    let mut state: State = Reading.into();
    let events: [Event; 6] = [
        Asked { keep: true }.into(),
        Sent.into(),
        Asked { keep: false }.into(),
        Sent.into(),
        Sent.into(),
        Failed.into(),
    ];
    let mut path = Vec::new();
    for event in events {
        let on = event.name();
        state = state.step(event, &mut cx);
        path.push((on, state.name(), state.index()));
    }
    assert_eq!(
        path,
        [
            ("Asked", "Writing", 1),
            ("Sent", "Reading", 0),
            ("Asked", "Writing", 1),
            ("Sent", "Closed", 2),
            ("Sent", "Closed", 2),
            ("Failed", "Closed", 2),
        ]
    );
    assert!(!cx.impossible);
    let state = State::from(Reading).step(Sent.into(), &mut cx);
    assert!(cx.impossible, "what never happens is told");
    assert_eq!(state.name(), "Reading", "and changes nothing");
    assert_eq!(log, ["asked", "sent", "asked", "sent", "failed"]);
}

#[test]
fn the_second_machine_describes_itself() {
    let table = State::DESCRIPTION;
    assert_eq!(table.starts, ["Reading"]);
    assert_eq!(table.states[0], ("Reading", " A request is awaited."));
    assert_eq!(table.events[2].0, "Failed");
    assert_eq!(
        table.moves,
        [
            ("Reading", "Asked", "Writing"),
            ("Writing", "Sent", "Reading"),
            ("Writing", "Sent", "Closed"),
            ("*", "Failed", "Closed"),
        ]
    );
    assert_eq!(table.ignored, [("Closed", "Asked"), ("Closed", "Sent")]);
    assert_eq!(table.never, [("Reading", "Sent"), ("Writing", "Asked")]);
}
