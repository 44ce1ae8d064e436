//! docs/cases.md lists what a client has to get right, case by case, and the tests that show it. A test says in its
//! title which cases it is about (`case 34`, `cases 2 to 5 and 16`); the column of tests is made from the titles.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::File;

/// The page.
pub(crate) const PAGE: &str = "docs/cases.md";

/// What stands between two tests in a cell.
const BETWEEN: &str = "<br>";

/// Case to the tests that name it, each as `file: title`.
pub(crate) type Named = BTreeMap<u32, Vec<String>>;

/// What the tests of these files say they are about.
pub(crate) fn named(files: &[File]) -> Named {
    let mut named = Named::new();
    for file in files {
        for title in titles(file) {
            for number in numbers(&title) {
                let test = format!("`{}`: {}", file.path, cell(&title));
                named.entry(number).or_default().push(test);
            }
        }
    }
    named
}

/// The titles of the tests in a file: blocks of t/, names in its scripts, cases of the simulator, Rust functions.
fn titles(file: &File) -> Vec<String> {
    let lines = file.text.lines();
    if file.is_in(&["snapshots/cases/"]) {
        let first = lines.take(1).filter_map(|line| line.strip_prefix("# "));
        return first.map(str::to_owned).collect();
    }
    if file.is_in(&["t/scripts/"]) {
        return lines.filter_map(quoted).map(str::to_owned).collect();
    }
    if file.is_in(&["t/"]) && file.has_extension(&["t"]) {
        let blocks = lines.filter_map(|line| line.strip_prefix("=== "));
        return blocks.map(str::to_owned).collect();
    }
    if file.is_in(&["src/"]) && file.has_extension(&["rs"]) {
        let functions = lines.filter_map(|line| line.trim_start().strip_prefix("fn case_"));
        let name = |rest: &str| rest.split('(').next().map(|n| format!("case {n}"));
        return functions
            .filter_map(name)
            .map(|name| name.replace('_', " "))
            .collect();
    }
    Vec::new()
}

/// A literal that begins with its cases.
fn quoted(line: &str) -> Option<&str> {
    let (at, mark) = ["'case", "\"case"]
        .iter()
        .find_map(|start| Some((line.find(start)? + 1, &start[..1])))?;
    line[at..].split(mark).next()
}

/// The numbers behind each `case` or `cases` of a title, in any letter case.
pub(crate) fn numbers(title: &str) -> Vec<u32> {
    let title = title.to_ascii_lowercase();
    let mut found = Vec::new();
    for (at, word) in title.match_indices("case") {
        let rest = &title[at + word.len()..];
        let begins = !title[..at].ends_with(|c: char| c.is_alphanumeric());
        match (begins, rest.strip_prefix(' '), rest.strip_prefix("s ")) {
            (true, Some(one), _) => found.extend(number(one).map(|(n, _)| n)),
            (true, _, Some(several)) => found.extend(list(several)),
            _ => {}
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}

/// `2 to 5, 7 and 16`.
fn list(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    let (mut rest, mut from) = (text, None);
    while let Some((n, behind)) = number(rest) {
        found.extend(from.unwrap_or(n)..=n);
        let joint = [" to ", ", and ", " and ", ", "];
        let Some(joint) = joint.iter().find(|joint| behind.starts_with(**joint)) else {
            break;
        };
        from = (*joint == " to ").then_some(n + 1);
        rest = &behind[joint.len()..];
    }
    found
}

fn cell(title: &str) -> String {
    title.replace('|', "\\|").replace('<', "&lt;")
}

/// The cells of a table row; none of any other line.
fn columns(line: &str) -> Vec<String> {
    let row = line.strip_prefix('|').and_then(|l| l.strip_suffix('|'));
    let Some(row) = row else { return Vec::new() };
    let hidden = row.replace("\\|", "\0");
    let cells = hidden.split('|');
    cells.map(|cell| cell.trim().replace('\0', "\\|")).collect()
}

/// A page that was read.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// It, with its column of tests made anew.
    pub(crate) fresh: String,
    /// What making it anew mends. More tests than are shown are not stale: who adds one need not touch the page.
    pub(crate) stale: Vec<String>,
    /// What somebody has to write.
    pub(crate) wrong: Vec<String>,
}

/// Reads the page.
pub(crate) fn page(text: &str, named: &Named) -> Page {
    let mut named = named.clone();
    let Page {
        mut fresh,
        mut stale,
        mut wrong,
    } = Page::default();
    for line in text.lines() {
        let cells = columns(line);
        let Some(n) = cells.first().and_then(|n| n.parse::<u32>().ok()) else {
            fresh.extend([line, "\n"]);
            continue;
        };
        let [_, right, shown, open] = &cells[..] else {
            wrong.push(format!("case {n} has too few columns"));
            continue;
        };
        let tests = named.remove(&n).unwrap_or_default();
        match (tests.is_empty(), shown.is_empty()) {
            (true, _) if open.is_empty() => {
                wrong.push(format!("case {n} has neither a test nor a reason"));
            }
            (false, true) => stale.push(format!("case {n} has tests by now")),
            _ => {}
        }
        let gone = shown.split(BETWEEN).filter(|test| !test.is_empty());
        let gone = gone.filter(|test| tests.iter().all(|t| t != test));
        stale.extend(gone.map(|test| format!("case {n} has no test {test}")));
        let tests = tests.join(BETWEEN);
        // Writing to a string cannot fail.
        let _ = writeln!(fresh, "| {n} | {right} | {tests} | {open} |");
    }
    let strangers = named.iter();
    wrong.extend(strangers.map(|(n, tests)| format!("case {n} is not on the page: {tests:?}")));
    Page {
        fresh,
        stale,
        wrong,
    }
}
