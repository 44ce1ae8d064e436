//! The character classes of RFC 9110 and the few list rules we need ourselves.

/// `tchar` of RFC 9110 5.6.2.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        table[b] = c.is_ascii_alphanumeric()
            || matches!(
                c,
                b'!' | b'#'
                    | b'$'
                    | b'%'
                    | b'&'
                    | b'\''
                    | b'*'
                    | b'+'
                    | b'-'
                    | b'.'
                    | b'^'
                    | b'_'
                    | b'`'
                    | b'|'
                    | b'~'
            );
        b += 1;
    }
    table
};

/// A nonempty token (RFC 9110 5.6.2): methods and field names.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&b| TOKEN[usize::from(b)])
}

/// A field value without control characters other than tab (RFC 9110 5.5).
pub(crate) fn is_value(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|&b| (b >= 0x20 && b != 0x7f) || b == b'\t')
}

/// No blank, no control character, no `#`: what a request target may be made of.
pub(crate) fn is_target(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b > 0x20 && b != 0x7f && b != b'#')
}

/// Without the blanks (space, tab) around it.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = bytes {
        bytes = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

/// The elements of a comma-separated list (RFC 9110 5.6.1), trimmed, empty ones left out.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&b| b == b',')
        .map(trim)
        .filter(|e| !e.is_empty())
}

/// A number of plain digits that fits 63 bits; no sign, no blank, no hexadecimal.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut n: u64 = 0;
    for &d in digits {
        if !d.is_ascii_digit() {
            return None;
        }
        n = n.checked_mul(10)?.checked_add(u64::from(d - b'0'))?;
    }
    (n <= i64::MAX as u64).then_some(n)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn numbers_are_plain_digits_within_63_bits() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"9223372036854775807"), Some(i64::MAX as u64));
        for bad in [
            "",
            "0x10",
            "1e1",
            "+5",
            "-1",
            "5.0",
            "5 5",
            "5a",
            "9223372036854775808",
            "18446744073709551621",
        ] {
            assert_eq!(number(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn lists_are_trimmed() {
        let tokens: Vec<&[u8]> = list(b" close ,\tx ,, ").collect();
        assert_eq!(tokens, [b"close".as_slice(), b"x"]);
    }

    #[test]
    fn classes() {
        assert!(
            is_token(b"X-A_b~")
                && !is_token(b"")
                && !is_token(b"X A")
                && !is_token(b"X:")
                && !is_token(b"\xc3")
        );
        assert!(
            is_value(b"a\tb \xff") && !is_value(b"a\rb") && !is_value(b"\0") && !is_value(b"\x7f")
        );
        assert!(
            is_target(b"/a%20b\xc3?")
                && !is_target(b"/a b")
                && !is_target(b"/a#b")
                && !is_target(b"/\n")
        );
    }
}
