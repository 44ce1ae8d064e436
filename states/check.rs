//! Proves that the pages in this folder are what the code says; with `UPDATE=1` rewrites them.
//! Beside that: what `machine!` refuses to compile, on a table of its own.

use std::fs;
use std::path::{Path, PathBuf};

use ngx_http_ffi_client::{pages, tables};

#[path = "../src/machine.rs"]
mod machine;
mod refused;
mod second;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("states")
}

#[test]
fn pages_are_fresh() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut stale = Vec::new();
    for (name, text) in pages() {
        let path = folder().join(name);
        if update {
            fs::write(&path, &text).unwrap();
        } else if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "states/ differs from the tables: {stale:?}. `make states` rewrites it"
    );
}

#[test]
fn every_page_is_generated() {
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name();
        let name = name.to_string_lossy();
        assert!(
            !name.ends_with(".md") || pages().iter().any(|(page, _)| *page == name),
            "states/{name} is generated from nothing"
        );
    }
}

/// The compiler proves this of the `match`; here it is proven of the text that the pages show.
#[test]
fn every_pair_is_decided_exactly_once() {
    for (machine, table) in tables() {
        for (state, _) in table.states {
            for (event, _) in table.events {
                let moves = table
                    .moves
                    .iter()
                    .any(|m| (m.0, m.1) == (*state, *event) || (m.0, m.1) == ("*", *event));
                let pair = (*state, *event);
                let decided = [
                    moves,
                    table.ignored.contains(&pair),
                    table.never.contains(&pair),
                ];
                let count = decided.into_iter().filter(|&d| d).count();
                assert_eq!(count, 1, "{machine}: {state} + {event}");
            }
        }
    }
    assert!(pages().iter().all(|(_, text)| !text.contains("undecided")));
}

#[test]
fn every_name_is_documented() {
    for (machine, table) in tables() {
        for (name, doc) in table.states.iter().chain(table.events) {
            assert!(doc.trim().ends_with('.'), "{machine}: {name} says {doc:?}");
        }
    }
}

#[test]
fn every_state_can_be_reached() {
    for (machine, table) in tables() {
        let mut reached: Vec<&str> = table.starts.to_vec();
        let mut next = 0;
        while let Some(&state) = reached.get(next) {
            next += 1;
            let rows = table.moves.iter().filter(|m| m.0 == state || m.0 == "*");
            for to in rows.map(|m| m.2) {
                if !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        assert_eq!(reached.len(), table.states.len(), "{machine}: {reached:?}");
    }
}
