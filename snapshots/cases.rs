//! The cases as they lie in `cases/`.

use std::fs;
use std::path::{Path, PathBuf};

use ngx_http_ffi_client::sim::{Pasted, Script};

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots")
}

pub fn cases() -> Vec<(String, Script)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder().join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| (stem(&path), script(&path)))
        .collect()
}

pub fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// The language and the text of a file's first fenced block.
pub fn fenced(path: &Path) -> (String, String) {
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("\n```").nth(1);
    let block = blocks.unwrap_or_else(|| panic!("{}: no fenced block", path.display()));
    let (language, body) = block.split_once('\n').unwrap_or((block, ""));
    (language.to_string(), body.to_string())
}

fn script(path: &Path) -> Script {
    let (language, body) = fenced(path);
    let parsed = match language.as_str() {
        "trace" => Pasted::parse(&body).and_then(|pasted| pasted.script()),
        _ => Script::parse(&body),
    };
    parsed.unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
