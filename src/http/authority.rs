//! Who is asked, as it is written on the wire.

use alloc::vec::Vec;

/// Who is asked: what becomes of the Host field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Authority<'a> {
    /// Without brackets, without a trailing dot's removal: as the caller wrote it.
    pub(crate) host: &'a [u8],
    /// `None` when it is the scheme's own.
    pub(crate) port: Option<u16>,
}

/// Behind the target of a request line.
pub(crate) const VERSION: &[u8] = b" HTTP/1.1\r\n";

/// The end of the request line and the Host line of requests to `authority`, written once for all
/// of them.
pub(crate) fn version_and_host(authority: Authority<'_>) -> Vec<u8> {
    let mut lines = VERSION.to_vec();
    lines.extend_from_slice(b"Host: ");
    put_authority(&mut lines, authority);
    lines.extend_from_slice(b"\r\n");
    lines
}

/// `host[:port]` as a Host field or a CONNECT target has it: an IPv6 address in brackets and
/// without its zone, which means nothing to the peer (RFC 6874 4).
pub(crate) fn put_authority(wire: &mut Vec<u8>, authority: Authority<'_>) {
    if authority.host.contains(&b':') {
        let zone = authority
            .host
            .iter()
            .position(|&b| b == b'%')
            .unwrap_or(authority.host.len());
        wire.push(b'[');
        wire.extend_from_slice(&authority.host[..zone]);
        wire.push(b']');
    } else {
        wire.extend_from_slice(authority.host);
    }
    if let Some(port) = authority.port {
        wire.push(b':');
        put_number(wire, u64::from(port));
    }
}

/// A number in digits.
pub(crate) fn put_number(wire: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    wire.extend_from_slice(&digits[at..]);
}

/// A number as the size of a chunk (RFC 9112 7.1).
pub(crate) fn put_hex(wire: &mut Vec<u8>, n: u64) {
    let digits = (64 - n.leading_zeros()).div_ceil(4).max(1);
    for at in (0..digits).rev() {
        wire.push(b"0123456789abcdef"[(n >> (4 * at)) as usize & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::string::String;

    #[test]
    fn chunk_sizes() {
        for n in [0, 1, 9, 10, 15, 16, 255, 65_536, u64::MAX] {
            let mut wire = Vec::new();
            put_hex(&mut wire, n);
            assert_eq!(String::from_utf8(wire).unwrap(), std::format!("{n:x}"));
        }
    }

    #[test]
    fn authorities() {
        let shown = |host: &str, port| {
            let mut wire = Vec::new();
            put_authority(
                &mut wire,
                Authority {
                    host: host.as_bytes(),
                    port,
                },
            );
            String::from_utf8(wire).unwrap()
        };
        assert_eq!(shown("a.test", None), "a.test");
        assert_eq!(shown("::1", Some(8080)), "[::1]:8080");
        assert_eq!(shown("fe80::1%eth0", None), "[fe80::1]");
    }
}
