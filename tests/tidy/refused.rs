//! What the rules refuse, and what they let pass.

use crate::{File, cases, rules};

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

#[test]
fn cases_in_titles() {
    for (title, wanted) in [
        ("TEST 1: case 34, 200 lines", &[34][..]),
        (
            "cases 2 to 5, 7, 8 and 16: told at once",
            &[2, 3, 4, 5, 7, 8, 16],
        ),
        ("Case 58: idle", &[58]),
        ("Limits (case 6), and case 87", &[6, 87]),
        ("cases 38 and 40, the parts of 2 URIs", &[38, 40]),
        ("in another case, 3 tries", &[]),
        ("staircase 5 and showcases 6", &[]),
    ] {
        assert_eq!(cases::numbers(title), wanted, "{title}");
    }
}

#[test]
fn pages_that_do_not_say_which_test() {
    let tests = [
        file(
            "t/1.t",
            "=== TEST 1: case 1, a|b\n=== TEST 2: cases 1 and 2\n",
        ),
        file(
            "t/scripts/2.t",
            "ok(1, 'case 1, left');\nis(2, \"case 2\");",
        ),
        file("snapshots/cases/3.md", "# A (case 1)\n\nAnd case 9.\n"),
        file("src/a.rs", "    fn case_1_is_right() {"),
    ];
    let named = cases::named(&tests);
    let column = "`t/1.t`: TEST 1: case 1, a\\|b<br>`t/1.t`: TEST 2: cases 1 and 2<br>`t/scripts/2.t`: case 1, left\
                  <br>`snapshots/cases/3.md`: A (case 1)<br>`src/a.rs`: case 1 is right";
    let read = cases::page(
        "# Cases\n| 1 | so | `t/1.t`: old | |\n| 2 | so | | no TLS |\n",
        &named,
    );
    let rows: Vec<&str> = read.fresh.lines().collect();
    assert_eq!(rows[1], format!("| 1 | so | {column} |  |"));
    assert!(
        rows[2].ends_with("`t/scripts/2.t`: case 2 | no TLS |"),
        "{rows:?}"
    );
    assert!(read.wrong.is_empty(), "{read:?}");
    assert_eq!(
        read.stale,
        ["case 1 has no test `t/1.t`: old", "case 2 has tests by now"]
    );
    let again = cases::page(&read.fresh, &named);
    assert_eq!((again.fresh, again.stale), (read.fresh, Vec::new()));
    let fewer = cases::page("| 1 | so | `src/a.rs`: case 1 is right | |", &named);
    assert!(fewer.stale.is_empty(), "{fewer:?}");
    for (text, what) in [
        ("| 1 | so | | |", "case 2 is not on the page"),
        ("| 1 | so | | |\n| 2 | so | | |\n| 3 | so | | |", "neither"),
        ("| 1 |\n| 2 | so | | |", "too few"),
    ] {
        let wrong = cases::page(text, &named).wrong;
        assert!(wrong.iter().any(|w| w.contains(what)), "{what}: {wrong:?}");
    }
}
