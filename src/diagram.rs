//! The two tables and the error list as the pages of `states/`. Pure text from [`Description`] and
//! [`Kind::all`], so the pages cannot say anything that the code does not do.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::client::error::Kind;
use crate::machine::{Description, Move};

/// What stands for any state in a [`Move`].
const ANY: &str = "*";

/// The generated pages: file name in `states/`, and what it has to contain.
pub fn pages() -> [(&'static str, String); 4] {
    let [connection, exchange] = crate::tables();
    [
        ("connection.md", machine_page("Connection", &connection)),
        ("exchange.md", machine_page("Exchange", &exchange)),
        ("matrix.md", matrix_page(&[connection, exchange])),
        ("errors.md", errors_page()),
    ]
}

/// The first lines of every page.
fn header(title: &str, from: &str) -> String {
    format!(
        "<!-- Generated from {from}. Do not edit: `make states` rewrites it, `make test` proves it \
         fresh. -->\n\n# {title}\n\n"
    )
}

fn machine_page(title: &str, (name, table): &(&str, Description)) -> String {
    let mut page = header(title, &source(name));
    page += "```mermaid\n";
    page += &mermaid(table);
    page += "```\n\n";
    let always: Vec<&str> = always(table).map(|(on, _)| on).collect();
    if !always.is_empty() {
        let to = always_target(table);
        let events = always.join(", ");
        page += &format!("From every state, {events} lead to {to}.\n\n");
    }
    page += "## States\n\n";
    page += &states(table);
    page += "\n## Events\n\n";
    let mut rows = alloc::vec![["Event", "Meaning"].map(String::from)];
    rows.extend(
        table
            .events
            .iter()
            .map(|(event, doc)| [(*event).into(), plain(doc)]),
    );
    page += &grid(&rows);
    page
}

fn source(machine: &str) -> String {
    format!("src/client/{machine}/table.rs")
}

/// A state diagram: one edge per move, and what holds in every state as a note.
fn mermaid(table: &Description) -> String {
    let mut text = String::from("stateDiagram-v2\n");
    for start in table.starts {
        line(&mut text, format_args!("    [*] --> {start}"));
    }
    for (from, on, to) in table.moves.iter().filter(|row| row.0 != ANY) {
        line(&mut text, format_args!("    {from} --> {to}: {on}"));
    }
    for (state, _) in table.states {
        if is_terminal(table, state) {
            line(&mut text, format_args!("    {state} --> [*]"));
        }
        let events: Vec<&str> = always(table)
            .filter(|(_, to)| to == state)
            .map(|(on, _)| on)
            .collect();
        if !events.is_empty() {
            let events = events.join(", ");
            line(&mut text, format_args!("    note right of {state}"));
            line(
                &mut text,
                format_args!("        from every state on {events}"),
            );
            line(&mut text, format_args!("    end note"));
        }
    }
    text
}

/// One row per state: what it means, what ends it and what does not.
fn states(table: &Description) -> String {
    let mut rows = alloc::vec![["State", "Meaning", "Ended by", "Goes on after"].map(String::from)];
    for (state, doc) in table.states {
        let mut ended: Vec<String> = Vec::new();
        let mut stays: Vec<&str> = Vec::new();
        for (event, _) in table.events {
            let targets: Vec<&str> = targets(table, state, event).collect();
            if targets.contains(state) {
                stays.push(event);
            }
            let others: Vec<&str> = targets.into_iter().filter(|to| to != state).collect();
            if !others.is_empty() {
                ended.push(format!("{event} → {}", others.join(" or ")));
            }
        }
        let ended = match is_terminal(table, state) {
            true => "nothing; it is the end".into(),
            false => ended.join("; "),
        };
        let start = match table.starts.contains(state) {
            true => " (a start)",
            false => "",
        };
        rows.push([
            format!("{state}{start}"),
            plain(doc),
            ended,
            stays.join(", "),
        ]);
    }
    grid(&rows)
}

/// Every pair of a state and an event, and what was decided about it.
fn matrix_page(machines: &[(&str, Description)]) -> String {
    let sources: Vec<String> = machines.iter().map(|(name, _)| source(name)).collect();
    let mut page = header("State × event", &sources.join(" and "));
    page += "Every pair is decided. A cell names the states the event may lead to.\n\n\
             * `ignored`: late news, without effect.\n\
             * `·`: never; a driver that reports it is wrong, and the connection is given up.\n";
    for (name, table) in machines {
        page += &format!("\n## {name}\n\n");
        let mut head = alloc::vec![String::from("Event")];
        head.extend(table.states.iter().map(|(state, _)| String::from(*state)));
        let mut rows = alloc::vec![head];
        for (event, _) in table.events {
            let mut row = alloc::vec![String::from(*event)];
            row.extend(
                table
                    .states
                    .iter()
                    .map(|(state, _)| cell(table, state, event)),
            );
            rows.push(row);
        }
        page += &grid(&rows);
    }
    page
}

fn cell(table: &Description, state: &str, event: &str) -> String {
    let moves: Vec<&str> = targets(table, state, event).collect();
    let always = always(table).find(|(on, _)| *on == event);
    match always {
        _ if !moves.is_empty() => moves.join(", "),
        Some((_, to)) => String::from(to),
        None if table.ignored.contains(&(state, event)) => "ignored".into(),
        None if table.never.contains(&(state, event)) => "·".into(),
        // The macro's match is exhaustive, so this would be a mistake of this file.
        None => "undecided".into(),
    }
}

/// Every kind of failure with every leaf.
fn errors_page() -> String {
    let mut page = header("Errors", "src/client/error.rs and the `leaves!` it names");
    page += "A failure is a kind and a leaf, with the state it happened in and whether trying again \
             is safe for any method: `if unsent` stands for where no byte of the request was sent. \
             Lua callers get `nil` and the text.\n\n";
    let head = ["Kind", "Leaf", "Text", "Try again", "When"];
    let mut rows = alloc::vec![head.map(String::from)];
    rows.extend(Kind::all().map(|kind| {
        let (name, leaf) = kind.names();
        let text = format!("`{}`", kind.text());
        let again = kind.again().text().into();
        [name.into(), leaf.into(), text, again, plain(kind.meaning())]
    }));
    page += &grid(&rows);
    page
}

/// Where `event` may lead from `state`, by a row of its own.
fn targets<'a>(
    table: &'a Description,
    state: &'a str,
    event: &'a str,
) -> impl Iterator<Item = &'static str> + 'a {
    let fits = move |row: &&Move| row.0 == state && row.1 == event;
    table.moves.iter().filter(fits).map(|row| row.2)
}

/// (event, next state) of what holds in every state.
fn always(table: &Description) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
    let rows = table.moves.iter().filter(|row| row.0 == ANY);
    rows.map(|row| (row.1, row.2))
}

fn always_target(table: &Description) -> String {
    let mut states: Vec<&str> = always(table).map(|(_, to)| to).collect();
    states.dedup();
    states.join(" or ")
}

/// No row of its own leads out of it.
fn is_terminal(table: &Description, state: &str) -> bool {
    !table.moves.iter().any(|row| row.0 == state)
}

/// A doc comment as one table cell: links lead nowhere from here.
fn plain(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc.trim();
    while let Some((before, after)) = rest.split_once("](") {
        text += &before.replacen('[', "", 1);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text += rest;
    text.replace('|', "\\|")
}

fn line(text: &mut String, what: core::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{what}");
}

/// A Markdown table with its columns lined up, so that it can be read as plain text too. The first
/// row is the head.
fn grid<R: AsRef<[String]>>(rows: &[R]) -> String {
    let length = |cell: &String| cell.chars().count();
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
        cells.map(length).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let padded = row.as_ref().iter().zip(&widths);
        let cells: Vec<String> = padded.map(|(c, &w)| format!("{c:<w$}")).collect();
        line(&mut text, format_args!("| {} |", cells.join(" | ")));
        if index == 0 {
            let rules: Vec<String> = widths.iter().map(|&w| "-".repeat(w)).collect();
            line(&mut text, format_args!("| {} |", rules.join(" | ")));
        }
    }
    text
}
