//! What the rules refuse, and what they let pass.

use crate::{File, rules};

fn file(path: &str, text: &str) -> File {
    File {
        path: path.into(),
        text: text.into(),
    }
}

/// On which lines `rule` finds something.
fn lines(rule: fn(&File) -> Vec<String>, path: &str, text: &str) -> Vec<usize> {
    let broken = rule(&file(path, text));
    let number = |what: &String| what.split(':').next().unwrap().parse().unwrap();
    broken.iter().map(number).collect()
}

#[test]
fn long_files() {
    let long = "\n".repeat(501);
    assert_eq!(lines(rules::length, "src/a.rs", &long), [501]);
    assert_eq!(lines(rules::length, "lua/a.lua", &long), [501]);
    assert!(lines(rules::length, "src/a.rs", &long[1..]).is_empty());
    assert!(lines(rules::length, "README.md", &long).is_empty());
    assert_eq!(lines(rules::length, "examples/a.rs", &long[401..]), [100]);
}

#[test]
fn unsafe_code_in_the_core() {
    let text = "// unsafe\nfn a() { unsafe { b() } }\n#[allow(unsafe_code)]\n#![deny(unsafe_code)]";
    assert_eq!(lines(rules::unsafe_code, "src/client/a.rs", text), [2, 3]);
    assert_eq!(lines(rules::unsafe_code, "tests/a.rs", text), [2, 3]);
    assert!(lines(rules::unsafe_code, "src/http/parser.rs", text).is_empty());
    assert!(lines(rules::unsafe_code, "src/ngx/a.rs", text).is_empty());
}

#[test]
fn unsafe_code_without_a_reason() {
    let good = "// SAFETY: so.\nlet a = b\n    .c(|| unsafe { d() });\nunsafe fn e() {}";
    assert!(lines(rules::safety, "src/ngx/a.rs", good).is_empty());
    let bad = "// SAFETY: so.\nlet a = unsafe { b() };\nlet c = unsafe { d() };\n\
               // Sound.\nunsafe impl E for F {}";
    assert_eq!(lines(rules::safety, "src/ngx/a.rs", bad), [3, 5]);
}

#[test]
fn walks_over_a_hash_table() {
    let found = |text: &str| {
        let file = file("src/client/a.rs", text);
        rules::hash_order(&file, &["index".into()]).len()
    };
    let field = "use hashbrown::HashTable;\nstruct A { index: HashTable<u32> }";
    assert_eq!(found(field), 0);
    let tables = rules::hash_tables(&file("src/client/a.rs", field));
    assert_eq!(tables, ["index"]);
    assert_eq!(found("A { index: HashTable::new() }"), 0);
    assert_eq!(found("self.index\n    .find(hash, eq)"), 0);
    assert_eq!(found("let index = &mut self.index;"), 0);
    for bad in [
        "for x in &self.index {}",
        "self.index.iter()",
        "self.index\n.retain(f)",
        "index.drain()",
        "let i = &self.index;",
        "walk(&index)",
        "use std::collections::HashMap;",
        "use hashbrown::HashTable as T;",
        "type T = HashTable<u32>;",
        "fn f(t: &HashTable<u32>) {}",
    ] {
        assert!(found(bad) > 0, "{bad}");
    }
}

#[test]
fn places_of_one_machine() {
    let text = ["see /home", "/user and deb.debian", ".org\n"].concat();
    assert_eq!(lines(rules::places, "README.md", &text), [1, 1]);
    assert!(lines(rules::places, "README.md", "workspace /homely crates").is_empty());
}

#[test]
fn nginx_in_the_core() {
    let text =
        "use nginx_sys::x; // nginx\nfn f(r: *mut ngx_http_request_t) {}\nlet s = \"ngx_a\";";
    assert_eq!(lines(rules::nginx, "src/client/a.rs", text), [1, 2]);
    assert!(lines(rules::nginx, "src/ngx/a.rs", text).is_empty());
}

#[test]
fn llhttp_beside_the_parser() {
    let text = "use llhttp_sys as sys;";
    assert_eq!(lines(rules::llhttp, "src/http/framing.rs", text), [1]);
    assert!(lines(rules::llhttp, "src/http/parser.rs", text).is_empty());
}

#[test]
fn modules_that_look_up() {
    let found = |path, text| lines(rules::direction, path, text);
    assert_eq!(found("src/http/head.rs", "use crate::client::Key;"), [1]);
    assert_eq!(found("src/http/mod.rs", "use super::client::Key;"), [1]);
    assert_eq!(found("src/time.rs", "use crate::{client};"), [1]);
    assert_eq!(found("src/client/run.rs", "crate::sim::Script"), [1]);
    assert!(found("src/client/run.rs", "crate::sim::coverage::walked()").is_empty());
    assert!(found("src/client/run.rs", "crate::http::head::Head; super::Key").is_empty());
}
