//! The rules. A violation is `line: what is wrong`.

use crate::File;
use crate::lexer::{Token, code, tokens};

/// The only Rust files that may have `unsafe` in them.
const UNSAFE: &[&str] = &["src/ngx/", "src/epoll/", "src/http/parser", "llhttp-sys/"];

/// The core: everything below `src/` but the drivers.
fn is_core(file: &File) -> bool {
    is_rust(file) && file.is_in(&["src/"]) && !file.is_in(&["src/ngx/", "src/epoll/"])
}

fn is_rust(file: &File) -> bool {
    file.has_extension(&["rs"])
}

/// At most so many lines.
pub(crate) fn length(file: &File) -> Vec<String> {
    let most = match file {
        _ if file.is_in(&["examples/"]) => 99,
        _ if file.has_extension(&["rs", "lua", "pm", "pl", "t"]) => 500,
        _ => return Vec::new(),
    };
    let lines = file.text.lines().count();
    match lines > most {
        true => vec![format!("{lines}: more than {most} lines")],
        false => Vec::new(),
    }
}

/// No `unsafe`, and no leave for it, but where [`UNSAFE`] says.
pub(crate) fn unsafe_code(file: &File) -> Vec<String> {
    if !is_rust(file) || file.is_in(UNSAFE) {
        return Vec::new();
    }
    let code = code(&file.text);
    let tokens = tokens(&code);
    let leave = |at: usize| {
        matches!(text(&tokens, at), "unsafe_code")
            && at >= 2
            && matches!(text(&tokens, at - 2), "allow" | "expect" | "warn")
    };
    (0..tokens.len())
        .filter(|&at| text(&tokens, at) == "unsafe" || leave(at))
        .map(|at| say(&tokens, at, "unsafe code has no place here"))
        .collect()
}

/// Every unsafe block and impl has a comment right before its statement that says why it is sound.
pub(crate) fn safety(file: &File) -> Vec<String> {
    if !is_rust(file) {
        return Vec::new();
    }
    let code = code(&file.text);
    let tokens = tokens(&code);
    let raw: Vec<&str> = file.text.lines().collect();
    let bare: Vec<&str> = code.lines().collect();
    (0..tokens.len())
        .filter(|&at| {
            text(&tokens, at) == "unsafe" && matches!(text(&tokens, at + 1), "{" | "impl")
        })
        .filter(|&at| !is_argued(&raw, &bare, tokens[at].line - 1))
        .map(|at| say(&tokens, at, "no SAFETY comment before it"))
        .collect()
}

/// Walks up from a line: over the rest of its statement, then over the comment before that.
fn is_argued(raw: &[&str], bare: &[&str], line: usize) -> bool {
    let is_comment = |at: usize| raw[at].trim_start().starts_with("//");
    let ends = |at: usize| bare[at].trim_end().ends_with([';', '{', '}']);
    let mut at = line;
    while at > 0 && !is_comment(at - 1) && !ends(at - 1) {
        at -= 1;
    }
    while at > 0 && is_comment(at - 1) {
        at -= 1;
        if raw[at].contains("SAFETY:") {
            return true;
        }
    }
    false
}

/// What may be done with a hash table: nothing that shows the order of its entries.
const LOOK_UPS: &[&str] = &[
    "find",
    "find_mut",
    "find_entry",
    "entry",
    "insert_unique",
    "len",
    "is_empty",
    "reserve",
];

/// The names of the fields and variables of the core that are hash tables.
pub(crate) fn hash_tables(file: &File) -> Vec<String> {
    if !is_core(file) {
        return Vec::new();
    }
    let code = code(&file.text);
    let tokens = tokens(&code);
    (0..tokens.len())
        .filter(|&at| names_table(&tokens, at))
        .map(|at| tokens[at].text.to_owned())
        .collect()
}

/// `name: HashTable`.
fn names_table(tokens: &[Token<'_>], at: usize) -> bool {
    follows(tokens, at + 1, &[":", "HashTable"])
        && tokens[at].text.starts_with(|c: char| c.is_lowercase())
}

/// Hash tables are only looked things up in; maps and sets, which are made to be walked, are not
/// used. An allow list: what it does not know it refuses.
pub(crate) fn hash_order(file: &File, tables: &[String]) -> Vec<String> {
    if !is_core(file) {
        return Vec::new();
    }
    let code = code(&file.text);
    let tokens = tokens(&code);
    let mut broken = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let fine = match token.text {
            "HashMap" | "HashSet" => false,
            "HashTable" => {
                is_imported(&tokens, at)
                    || follows(&tokens, at + 1, &[":", ":", "new"])
                    || at >= 2 && names_table(&tokens, at - 2)
            }
            name if tables.iter().any(|table| table == name) => {
                is_looked_up(&tokens, at)
                    || names_table(&tokens, at)
                    || follows(&tokens, at + 1, &[":", "HashTable"])
                    || is_borrowed(&tokens, at, name)
            }
            _ => true,
        };
        if !fine {
            let what = format!("`{}` is used for more than a look-up", token.text);
            broken.push(format!("{}:{}", file.path, say(&tokens, at, &what)));
        }
    }
    broken
}

fn is_looked_up(tokens: &[Token<'_>], at: usize) -> bool {
    text(tokens, at + 1) == "."
        && LOOK_UPS.contains(&text(tokens, at + 2))
        && text(tokens, at + 3) == "("
}

/// Either name in `let name = &mut self.name;`: the variable keeps the name, and so the rule.
fn is_borrowed(tokens: &[Token<'_>], at: usize, name: &str) -> bool {
    let whole = ["let", name, "=", "&", "mut", "self", ".", name, ";"];
    [1, 7]
        .iter()
        .any(|&place| at >= place && follows(tokens, at - place, &whole))
}

fn is_imported(tokens: &[Token<'_>], at: usize) -> bool {
    let statement = tokens[..at].iter().rev().take_while(|t| t.text != ";");
    statement.last().is_some_and(|first| first.text == "use") && text(tokens, at + 1) != "as"
}

/// Folders of the machine this was written on, and hosts that a mirror would have to replace. In
/// two parts each, so that this file keeps the rule.
const PLACES: &[(&str, &str)] = &[
    ("/wo", "rk/"),
    ("/ro", "ot/"),
    ("/ho", "me/"),
    ("/tm", "p/"),
    ("crates", ".io"),
    ("npm", "js."),
    ("pypi", ".org"),
    ("debian", ".org"),
    ("luarocks", ".org"),
    ("golang", ".org"),
];

/// No file names a folder of one machine, or a registry: which one is asked is the user's choice.
pub(crate) fn places(file: &File) -> Vec<String> {
    // Cargo writes the lock files.
    if file.path.ends_with("Cargo.lock") {
        return Vec::new();
    }
    let mut broken = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for (a, b) in PLACES {
            let place = format!("{a}{b}");
            if line.contains(&place) {
                broken.push(format!("{}: names {place}", index + 1));
            }
        }
    }
    broken
}

/// The core names nothing of nginx, Lua or the C library.
pub(crate) fn nginx(file: &File) -> Vec<String> {
    if !is_core(file) {
        return Vec::new();
    }
    let foreign = |word: &str| {
        word == "libc"
            || word.starts_with("ngx")
            || word.starts_with("nginx")
            || word == "lua_State"
    };
    let code = code(&file.text);
    let tokens = tokens(&code);
    (0..tokens.len())
        .filter(|&at| foreign(text(&tokens, at)))
        .map(|at| say(&tokens, at, "the core does not know what it is driven by"))
        .collect()
}

/// llhttp is behind one safe wrapper.
pub(crate) fn llhttp(file: &File) -> Vec<String> {
    if !is_rust(file) || file.is_in(&["src/http/parser", "llhttp-sys/"]) {
        return Vec::new();
    }
    let code = code(&file.text);
    let tokens = tokens(&code);
    (0..tokens.len())
        .filter(|&at| text(&tokens, at) == "llhttp_sys")
        .map(|at| say(&tokens, at, "only the parser calls llhttp"))
        .collect()
}

/// What each part of the core may use of the others.
const DIRECTION: &[(&str, &[&str])] = &[
    ("src/machine.rs", &["machine"]),
    ("src/slots.rs", &["slots"]),
    ("src/time.rs", &["time"]),
    ("src/trace.rs", &["trace", "time"]),
    ("src/http/", &["http"]),
    (
        "src/client/",
        &["client", "http", "machine", "slots", "time", "trace"],
    ),
    ("src/diagram.rs", &["client", "machine", "tables"]),
];

/// Modules use what is below them.
pub(crate) fn direction(file: &File) -> Vec<String> {
    let Some((_, below)) = DIRECTION.iter().find(|(part, _)| file.is_in(&[part])) else {
        return Vec::new();
    };
    let code = code(&file.text);
    let tokens = tokens(&code);
    let modules = DIRECTION.iter().flat_map(|(_, below)| below.iter());
    let above: Vec<&&str> = modules
        .chain(&["sim", "diagram"])
        .filter(|module| !below.contains(module))
        .collect();
    let mut broken = Vec::new();
    for at in 0..tokens.len() {
        if !follows(&tokens, at + 1, &[":", ":"]) {
            continue;
        }
        let module = text(&tokens, at + 3);
        let wrong = match text(&tokens, at) {
            // The simulator is told which rows are walked, and only when it is built.
            "crate" if follows(&tokens, at + 3, &["sim", ":", ":", "coverage"]) => false,
            "crate" => !below.contains(&module),
            "super" => above.iter().any(|m| **m == module),
            _ => false,
        };
        if wrong {
            broken.push(say(&tokens, at, &format!("may not use `{module}`")));
        }
    }
    broken
}

fn text<'a>(tokens: &[Token<'a>], at: usize) -> &'a str {
    tokens.get(at).map_or("", |token| token.text)
}

fn follows(tokens: &[Token<'_>], at: usize, wanted: &[&str]) -> bool {
    wanted
        .iter()
        .enumerate()
        .all(|(n, wanted)| text(tokens, at + n) == *wanted)
}

fn say(tokens: &[Token<'_>], at: usize, what: &str) -> String {
    format!("{}: {what}", tokens[at].line)
}
