//! As much of Rust's lexical grammar as the rules need.

/// `text` without its comments and without what is in its literals; lines stay lines.
pub(crate) fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = skipped(rest, out.chars().next_back());
        let (gone, left) = rest.split_at(skipped.max(c.len_utf8()));
        if skipped == 0 {
            out.push(c);
        } else {
            // A literal leaves a trace, so that what stood around it does not become one.
            out.push_str(if gone.starts_with('/') { " " } else { "\"\"" });
            out.extend(gone.chars().filter(|&c| c == '\n'));
        }
        rest = left;
    }
    out
}

/// How many bytes of `rest` are one comment or literal; 0 when it begins with neither.
fn skipped(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if !before.is_some_and(is_word) {
        let prefix = rest.find(|c| !matches!(c, 'b' | 'c' | 'r')).unwrap_or(0);
        let (prefix, literal) = rest.split_at(prefix.min(2));
        if prefix.ends_with('r') {
            let n = raw_string(literal);
            return if n == 0 { 0 } else { prefix.len() + n };
        }
        if !prefix.is_empty() && literal.starts_with(['"', '\'']) {
            return prefix.len() + quoted(literal);
        }
    }
    match rest.as_bytes() {
        [b'"', ..] => quoted(rest),
        [b'\'', b'\\', ..] => quoted(rest),
        // Otherwise it is a lifetime.
        [b'\'', ..] if rest.chars().nth(2) == Some('\'') => quoted(rest),
        _ => 0,
    }
}

/// Up to the quote that ends what the first one began.
fn quoted(rest: &str) -> usize {
    let quote = rest.as_bytes()[0];
    let mut escaped = false;
    for (at, &byte) in rest.as_bytes().iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b if b == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> usize {
    let hashes = rest.find(|c| c != '#').unwrap_or(0);
    let Some(inner) = rest[hashes..].strip_prefix('"') else {
        return 0;
    };
    let end = format!("\"{}", &rest[..hashes]);
    inner
        .find(&end)
        .map_or(rest.len(), |at| hashes + 1 + at + end.len())
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    for (at, pair) in rest.as_bytes().windows(2).enumerate() {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 2;
        }
    }
    rest.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A word or one other character, with the number of its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

/// The tokens of [`code`].
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (index, mut rest) in code.lines().enumerate() {
        while let Some(c) = rest.chars().next() {
            let n = match is_word(c) {
                true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                false => c.len_utf8(),
            };
            let (text, left) = rest.split_at(n);
            if !c.is_whitespace() {
                let line = index + 1;
                tokens.push(Token { line, text });
            }
            rest = left;
        }
    }
    tokens
}

#[test]
fn code_has_no_comments_and_no_literals() {
    let text = r##"
a /* unsafe /* nested */ unsafe */ b // unsafe
"unsafe \" unsafe" c 'u' '\'' b'"' d<'e> r"unsafe\" f r#"unsafe"unsafe"# g
br"unsafe" "two
unsafe lines" h r#type
"##;
    let code = code(text);
    assert_eq!(code.lines().count(), text.lines().count());
    let tokens = tokens(&code);
    let words: Vec<&str> = tokens
        .iter()
        .map(|t| t.text)
        .filter(|t| t.chars().all(is_word))
        .collect();
    assert_eq!(words, ["a", "b", "c", "d", "e", "f", "g", "h", "r", "type"]);
    assert_eq!(tokens.last().unwrap().line, 5);
}
