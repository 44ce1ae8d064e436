//! Whom to talk to: origins, hosts, and the addresses that need no resolver.

use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Life;
use super::error::Misuse;
use crate::http::authority::Authority;
use crate::time::Duration;

/// The scheme of the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain TCP; default port 80.
    Http,
    /// TLS; default port 443.
    Https,
}

impl Scheme {
    /// The port that need not be named.
    pub const fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    /// As in a URI.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// A proxy that opens tunnels with CONNECT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proxy<'a> {
    /// A name or an address literal.
    pub host: &'a [u8],
    /// Never zero.
    pub port: u16,
}

/// Whom to talk to, and which pool the connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    /// http or https.
    pub scheme: Scheme,
    /// A name or an address literal; an IPv6 address with or without brackets; or `unix:` and the
    /// path of a unix domain socket.
    pub host: &'a [u8],
    /// Never zero, and without meaning for a unix domain socket.
    pub port: u16,
    /// Where to connect instead, asking for a tunnel to `host:port`.
    pub proxy: Option<Proxy<'a>>,
    /// A name that groups and sizes connections. Within it, as without it, a connection is only
    /// used again for the same scheme, host, port and proxy.
    pub pool: Option<&'a [u8]>,
    /// How many idle connections the pool may hold. Counts when the pool is created.
    pub pool_size: Option<usize>,
    /// So many exchanges may wait for a connection of the pool, which has no more connections than
    /// its size then, idle or not. The first to say so decides; without it nobody waits.
    pub backlog: Option<usize>,
    /// For the connection, should one have to be opened.
    pub life: Life,
}

impl<'a> Target<'a> {
    /// Without a proxy, in the pool of its origin, with everything else as the engine has it.
    pub const fn new(scheme: Scheme, host: &'a [u8], port: u16) -> Target<'a> {
        Target {
            scheme,
            host,
            port,
            proxy: None,
            pool: None,
            pool_size: None,
            backlog: None,
            life: Life {
                requests: 0,
                time: Duration::NONE,
            },
        }
    }

    /// An origin as people write it: `http://host` or `http://host:port`, perhaps with a slash
    /// behind it.
    pub fn parse(origin: &'a [u8]) -> Option<Target<'a>> {
        let (scheme, rest) = match origin.split_first_chunk::<7>() {
            Some((b"http://", rest)) => (Scheme::Http, rest),
            _ => (Scheme::Https, origin.strip_prefix(b"https://")?),
        };
        let rest = rest.strip_suffix(b"/").unwrap_or(rest);
        // The colons of an IPv6 address are within its brackets.
        let bracket = rest.iter().rposition(|&b| b == b']').unwrap_or(0);
        let colon = rest[bracket..].iter().position(|&b| b == b':');
        let (host, port) = match colon.map(|at| rest.split_at(bracket + at)) {
            Some((host, port)) => (host, digits(&port[1..])?),
            None => (rest, scheme.port()),
        };
        let target = Target::new(scheme, host, port);
        target.normal().check().is_ok().then_some(target)
    }

    /// As the pool tells targets apart: IPv6 addresses out of their brackets, unix domain sockets
    /// without a port.
    pub(crate) fn normal(self) -> Target<'a> {
        let proxy = self.proxy.map(|p| Proxy {
            host: unbracketed(p.host),
            ..p
        });
        Target {
            host: unbracketed(self.host),
            port: if is_unix(self.host) { 0 } else { self.port },
            proxy,
            ..self
        }
    }

    /// What is wrong with a [normal](Target::normal) target.
    pub(crate) fn check(&self) -> Result<(), Misuse> {
        check_host(self.host)?;
        if let Some(proxy) = self.proxy {
            check_host(proxy.host)?;
        }
        if (self.port == 0 && !is_unix(self.host)) || self.proxy.is_some_and(|p| p.port == 0) {
            return Err(Misuse::Port);
        }
        Ok(())
    }

    /// What the Host field says unless the caller does.
    pub(crate) fn authority(&self) -> Authority<'a> {
        if is_unix(self.host) {
            // A path is no host, and HTTP/1.1 wants one (RFC 9110 7.2): a peer on this machine.
            return Authority {
                host: b"localhost",
                port: None,
            };
        }
        Authority {
            host: self.host,
            port: (self.port != self.scheme.port()).then_some(self.port),
        }
    }
}

/// A port, without a sign.
fn digits(text: &[u8]) -> Option<u16> {
    let plain = text.iter().all(u8::is_ascii_digit);
    core::str::from_utf8(text)
        .ok()
        .filter(|_| plain)?
        .parse()
        .ok()
}

/// `http://a.test:80`; a unix domain socket as nginx writes it, `http://unix:/path:`.
pub(crate) struct Origin<'a>(pub(crate) &'a Target<'a>);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target {
            scheme, host, port, ..
        } = self.0;
        match is_unix(host) {
            true => write!(f, "{}://{}:", scheme.name(), String::from_utf8_lossy(host)),
            false => write!(f, "{}://{}:{port}", scheme.name(), Host(host)),
        }
    }
}

/// A host as in a URI.
pub(crate) struct Host<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(self.0);
        match text.contains(':') {
            true => write!(f, "[{text}]"),
            false => f.write_str(&text),
        }
    }
}

/// An IPv6 address out of its brackets; anything else as it is.
fn unbracketed(host: &[u8]) -> &[u8] {
    match host {
        [b'[', inner @ .., b']'] if inner.contains(&b':') => inner,
        host => host,
    }
}

/// Whether a host is the path of a unix domain socket, as nginx writes it.
#[inline]
pub(crate) fn is_unix(host: &[u8]) -> bool {
    host.starts_with(UNIX)
}

const UNIX: &[u8] = b"unix:";

/// The longest path that fits a `sockaddr_un` with its terminator.
const PATH_MAX: usize = 107;

/// The path of a unix domain socket.
fn check_path(path: &[u8]) -> Result<(), Misuse> {
    match path {
        [b'/', ..] if path.len() <= PATH_MAX && !path.contains(&0) => Ok(()),
        _ => Err(Misuse::Host),
    }
}

/// Refuses an empty host, and characters that would change what is written.
fn check_host(host: &[u8]) -> Result<(), Misuse> {
    if let Some(path) = host.strip_prefix(UNIX) {
        return check_path(path);
    }
    let sane = |b: u8| {
        b > 0x20 && b != 0x7f && !matches!(b, b'/' | b'?' | b'#' | b'@' | b'[' | b']' | b'\\')
    };
    let address = !host.contains(&b':') || literal(host).is_some();
    match !host.is_empty() && host.iter().all(|&b| sane(b)) && address {
        true => Ok(()),
        false => Err(Misuse::Host),
    }
}

/// The address that `host` spells out. A zone is dropped: it is of no use without its interface.
fn literal(host: &[u8]) -> Option<IpAddr> {
    let text = core::str::from_utf8(host).ok()?;
    let text = text.split_once('%').map_or(text, |(address, _)| address);
    text.parse().ok()
}

/// The addresses of a host that no resolver needs to be asked for: literals, and `localhost`,
/// which is the loopback by definition (RFC 6761 6.3).
pub(crate) fn known(host: &[u8]) -> Option<(IpAddr, Option<IpAddr>)> {
    if let Some(address) = literal(host) {
        return Some((address, None));
    }
    let host = host.strip_suffix(b".").unwrap_or(host);
    host.eq_ignore_ascii_case(b"localhost").then_some((
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(host: &str) -> Result<&[u8], Misuse> {
        let target = Target::new(Scheme::Http, host.as_bytes(), 80);
        let target = target.normal();
        target.check().map(|()| target.host)
    }

    #[test]
    fn hosts_are_checked() {
        assert_eq!(target("a.test"), Ok(b"a.test".as_slice()));
        assert_eq!(target("[::1]"), Ok(b"::1".as_slice()));
        for bad in [
            "", "a b", "a\r\nb", "a/b", "a@b", "a#b", "[]", "[a]", "a:80", "\0",
        ] {
            assert_eq!(target(bad), Err(Misuse::Host), "{bad:?}");
        }
    }

    #[test]
    fn case_42_paths_are_hosts() {
        assert_eq!(
            target("unix:/run/A b.sock"),
            Ok(b"unix:/run/A b.sock".as_slice())
        );
        let (longest, longer) = ("/x".repeat(53) + "x", "/x".repeat(54));
        assert!(target(&std::format!("unix:{longest}")).is_ok());
        for bad in [
            "unix:",
            "unix:a",
            "unix:/a\0b",
            &std::format!("unix:{longer}"),
        ] {
            assert_eq!(target(bad), Err(Misuse::Host), "{bad:?}");
        }
        assert_eq!(known(b"unix:/run/a.sock"), None);
    }

    #[test]
    fn origins_are_read() {
        for (text, scheme, host, port) in [
            ("http://a.test", Scheme::Http, "a.test", 80),
            ("https://a.test/", Scheme::Https, "a.test", 443),
            ("http://10.0.0.1:8080", Scheme::Http, "10.0.0.1", 8080),
            ("http://[::1]:81", Scheme::Http, "[::1]", 81),
            ("https://[::1]", Scheme::Https, "[::1]", 443),
        ] {
            let found = Target::parse(text.as_bytes());
            assert_eq!(
                found,
                Some(Target::new(scheme, host.as_bytes(), port)),
                "{text}"
            );
        }
        for bad in [
            "",
            "a.test",
            "http:/a",
            "ftp://a",
            "http://",
            "http://a:",
            "http://a:0",
            "http://a:65536",
            "http://a:+1",
            "http://a:b",
            "http://a/b",
            "http://a@b",
            "http://::1",
            "http://[::1]1",
        ] {
            assert_eq!(Target::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn known_hosts_need_no_resolver() {
        let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!(known(b"127.0.0.1"), Some((v4, None)));
        assert_eq!(known(b"::1"), Some((v6, None)));
        assert_eq!(known(b"LocalHost."), Some((v4, Some(v6))));
        assert_eq!(known(b"a.test"), None);
    }
}
