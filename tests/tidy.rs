//! What the compiler cannot enforce about this project's files. Each rule takes a file and says
//! what is wrong with it; `tidy/rules.rs` has them, with an example of what each one refuses.

use std::fs;
use std::path::Path;

#[path = "tidy/cases.rs"]
mod cases;
#[path = "tidy/lexer.rs"]
mod lexer;
#[path = "tidy/refused.rs"]
mod refused;
#[path = "tidy/rules.rs"]
mod rules;

/// A text file of the project: its path below the root, and what is in it.
struct File {
    path: String,
    text: String,
}

impl File {
    fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }

    fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = Path::new(&self.path).extension();
        extension.is_some_and(|e| extensions.iter().any(|wanted| e == *wanted))
    }
}

/// What is made by building and testing, and what git keeps.
fn is_made(name: &str) -> bool {
    matches!(name, ".git" | "target" | "build") || name.starts_with("servroot")
}

fn collect(folder: &Path, below: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{below}{name}");
        // Anything else is no part of the project: a link, or a file that went away meanwhile.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && !is_made(&name) {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
}

fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Every file keeps the rule.
fn kept(rule: fn(&File) -> Vec<String>) {
    let broken: Vec<String> = files()
        .iter()
        .flat_map(|file| {
            let what = rule(file);
            what.into_iter()
                .map(|what| format!("{}:{what}", file.path))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn the_files_are_found() {
    let files = files();
    for wanted in [
        "src/lib.rs",
        "src/client/pool.rs",
        "tests/tidy.rs",
        "Makefile",
    ] {
        assert!(files.iter().any(|file| file.path == wanted), "{wanted}");
    }
}

#[test]
fn files_are_short() {
    kept(rules::length);
}

#[test]
fn unsafe_code_is_where_it_has_to_be() {
    kept(rules::unsafe_code);
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    kept(rules::safety);
}

#[test]
fn no_order_depends_on_a_hash() {
    let files = files();
    let tables: Vec<String> = files.iter().flat_map(rules::hash_tables).collect();
    assert!(!tables.is_empty(), "the pool has some");
    let broken: Vec<String> = files
        .iter()
        .flat_map(|file| rules::hash_order(file, &tables))
        .collect();
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn nothing_depends_on_one_machine() {
    kept(rules::places);
}

#[test]
fn the_core_knows_no_nginx() {
    kept(rules::nginx);
}

#[test]
fn one_file_knows_llhttp() {
    kept(rules::llhttp);
}

#[test]
fn modules_point_one_way() {
    kept(rules::direction);
}

/// With `UPDATE=1` the column of tests is made anew.
#[test]
fn every_case_says_which_tests_it_has() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(cases::PAGE);
    let text = fs::read_to_string(&path).unwrap();
    let page = cases::page(&text, &cases::named(&files()));
    assert!(page.wrong.is_empty(), "\n{}\n", page.wrong.join("\n"));
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, page.fresh).unwrap();
    } else {
        let stale = page.stale.join("\n");
        assert!(
            page.stale.is_empty(),
            "\n{stale}\n`make cases` mends {}",
            cases::PAGE
        );
    }
}
