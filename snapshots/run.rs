//! Replays every case in `cases/` and compares its trace with the `.snap` beside it.
//!
//! A case is a Markdown file: prose, then one fenced block: a script, or a trace from nginx's log, of
//! which the facts are the script. What comes of it must be the same whole, byte by byte, in reads of three bytes, and for every way of cutting one `send` in two.

mod cases;

use std::collections::BTreeSet;
use std::fs;

use cases::{cases, folder, stem};
use ngx_http_ffi_client::sim::{Command, Cut, Pasted, Script, coverage, facts, replay};
use ngx_http_ffi_client::tables;

/// Longer sends are cut at their ends and around steps of this many bytes only.
const DENSE: usize = 400;

fn play(name: &str, script: &Script, cut: Cut) -> String {
    let played = std::panic::catch_unwind(|| replay(script, cut));
    match played {
        Ok(Ok(trace)) => trace,
        Ok(Err(e)) => panic!("{name}, {cut:?}: {e}"),
        Err(_) => panic!("{name}, {cut:?}: panicked"),
    }
}

/// Every cut of one `send` in two, byte by byte, and small chunks.
fn cuts(script: &Script) -> Vec<Cut> {
    let mut cuts = vec![Cut::Bytes, Cut::Chunks(3), Cut::Chunks(7)];
    for (send, length) in script.sends().into_iter().enumerate() {
        let step = length.div_ceil(DENSE).max(1);
        cuts.extend((1..length).step_by(step).map(|at| Cut::At(send, at)));
    }
    cuts
}

#[test]
fn every_case_has_one_trace_however_it_is_cut() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut replays = 0;
    for (name, script) in cases() {
        let trace = play(&name, &script, Cut::Whole);
        settings.bind(|| insta::assert_snapshot!(name.clone(), trace));
        for cut in cuts(&script) {
            let other = play(&name, &script, cut);
            assert_eq!(other, trace, "{name} differs when cut {cut:?}");
            replays += 1;
        }
    }
    println!("{replays} replays");
    assert!(replays > 1000, "only {replays} replays");
}

/// The facts alone make the trace: played again, they make it again.
#[test]
fn every_case_is_replayed_from_its_trace() {
    // That a handler panicked is nothing that a driver reports.
    let panics = |script: &Script| {
        script
            .commands()
            .any(|(_, c)| matches!(c, Command::Fuse(_)))
    };
    for (name, script) in cases().into_iter().filter(|(_, script)| !panics(script)) {
        let trace = facts(&script).unwrap_or_else(|e| panic!("{name}: {e}"));
        let pasted = Pasted::parse(&trace).unwrap_or_else(|e| panic!("{name}: {e}\n{trace}"));
        let again = pasted.replay();
        let again = again.unwrap_or_else(|e| panic!("{name}: {e}\n{trace}"));
        assert!(
            again == pasted.text(),
            "{name} is played as\n{again}instead of\n{}",
            pasted.text()
        );
    }
}

#[test]
fn every_script_reads_back_as_it_is_written() {
    for (name, script) in cases() {
        let commands = || script.commands().map(|(_, command)| command);
        let text: Vec<String> = commands().map(ToString::to_string).collect();
        let again = Script::parse(&text.join("\n")).unwrap_or_else(|e| panic!("{name}: {e}"));
        for (command, (_, read)) in commands().zip(again.commands()) {
            assert_eq!(command, read, "{name}");
        }
    }
}

#[test]
fn the_documented_trace_is_played_as_it_was() {
    let path = folder().join("../docs/tracing.md");
    let text = fs::read_to_string(path).unwrap();
    let block = text.split("\n```trace\n").nth(1).unwrap();
    let block = block.split("```").next().unwrap();
    let pasted = Pasted::parse(block).unwrap();
    assert_eq!(pasted.replay().unwrap(), pasted.text());
    assert_eq!(pasted.text().lines().count(), block.lines().count());
}

#[test]
fn what_the_log_shows_otherwise_is_not_played_as_it_was() {
    let path = folder().join("cases/70-pasted-trace.md");
    let text = fs::read_to_string(path).unwrap();
    for (from, to) in [
        ("Content-Length: 11", "Content-Length: 5"),
        ("closed in ReadingBody", "closed in ReadingHead"),
        ("     21ms c0 > eof", "     22ms c0 > eof"),
    ] {
        let pasted = Pasted::parse(&text.replace(from, to)).unwrap();
        assert_ne!(pasted.replay().unwrap(), pasted.text(), "{from}");
    }
}

#[test]
fn every_snapshot_belongs_to_a_case() {
    let names: BTreeSet<String> = cases().into_iter().map(|(name, _)| name).collect();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "snap") {
            assert!(
                names.contains(&stem(&path)),
                "{} belongs to no case",
                path.display()
            );
        }
        assert!(
            path.extension().is_none_or(|e| e != "new"),
            "{} was not reviewed",
            path.display()
        );
    }
}

#[test]
fn every_row_of_the_tables_is_walked() {
    for (name, script) in cases() {
        play(&name, &script, Cut::Whole);
        play(&name, &script, Cut::Bytes);
    }
    let walked = coverage::all();
    let mut missing = Vec::new();
    for (machine, table) in tables() {
        for &(from, on, to) in table.moves {
            let found = walked
                .iter()
                .any(|w| w.0 == machine && (from == "*" || w.1 == from) && w.2 == on && w.3 == to);
            if !found {
                missing.push(format!("{machine}: {from} + {on} => {to}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "rows that no case walks:\n{}",
        missing.join("\n")
    );
}
