//! Bytes in quotes.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::script;

/// A quoted text with `\r \n \t \0 \\ \" \xHH`, perhaps followed by `*N` for N of it.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let mut chars = text.strip_prefix('"').ok_or("not quoted")?.bytes();
    let mut out = Vec::new();
    loop {
        let b = match chars.next().ok_or("no end of the quotes")? {
            b'"' => break,
            b'\\' => chars.next().ok_or("ends in \\")?,
            plain => {
                out.push(plain);
                continue;
            }
        };
        out.push(match b {
            b'r' => b'\r',
            b'n' => b'\n',
            b't' => b'\t',
            b'0' => 0,
            b'x' => {
                let hex: Vec<u8> = chars.by_ref().take(2).collect();
                let hex = String::from_utf8(hex).map_err(|e| e.to_string())?;
                u8::from_str_radix(&hex, 16).map_err(|e| e.to_string())?
            }
            other => other,
        });
    }
    let rest = String::from_utf8(chars.collect()).map_err(|e| e.to_string())?;
    match rest.strip_prefix('*') {
        Some(times) => Ok(out.repeat(script::int(times)? as usize)),
        None if rest.is_empty() => Ok(out),
        None => Err(format!("behind the quotes: {rest}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_bytes_are_read() {
        let read = |text: &str| bytes(text).unwrap();
        assert_eq!(read(r#""a\r\n\x00\"*2 \\""#), b"a\r\n\0\"*2 \\");
        for bad in ["", "a", "\"a", "\"a\\", "\"a\"b", "\"a\"*x", "\"\\xg0\""] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
    }
}
