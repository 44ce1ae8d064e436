//! Names without a wire: what `/etc/hosts` and `/etc/resolv.conf` say, and in which order the
//! addresses of a name are tried. Text in, values out; who reads the files is the driver.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

/// The order in which to try the addresses of a name (RFC 8305 section 4): the families take
/// turns, IPv6 first; within a family as they came. Each address once.
pub fn in_order(list: &[IpAddr]) -> Vec<IpAddr> {
    let mut families = [Vec::new(), Vec::new()];
    for address in list {
        let family = &mut families[usize::from(address.is_ipv4())];
        if !family.contains(address) {
            family.push(*address);
        }
    }
    let [six, four] = families;
    let longer = six.len().max(four.len());
    (0..longer)
        .flat_map(|i| six.get(i).into_iter().chain(four.get(i)))
        .copied()
        .collect()
}

/// What a hosts file says (hosts(5)).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts {
    /// In lower case, sorted; the order of the file among equals.
    entries: Vec<(String, IpAddr)>,
}

impl Hosts {
    /// Reads a hosts file. A line that is none is passed over, as every reader of such files does.
    pub fn parse(text: &str) -> Hosts {
        let mut entries = Vec::new();
        for line in text.lines() {
            let mut words = words(line);
            let Some(address) = words.next().and_then(|word| word.parse().ok()) else {
                continue;
            };
            entries.extend(words.map(|name| (name.to_ascii_lowercase(), address)));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Hosts { entries }
    }

    /// The addresses of a name, in the order of the file; empty when it has none.
    pub fn find(&self, name: &str) -> Vec<IpAddr> {
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let from = self.entries.partition_point(|(entry, _)| *entry < name);
        self.entries[from..]
            .iter()
            .take_while(|(entry, _)| *entry == name)
            .map(|(_, address)| *address)
            .collect()
    }
}

/// What a resolver's configuration says (resolv.conf(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolv {
    /// Whom to ask; port 53 unless written `[address]:port`, as some systems allow.
    pub servers: Vec<SocketAddr>,
    /// Servers that are no address, or one with a zone, which nginx cannot ask.
    pub unusable: Vec<String>,
    /// Domains to try short names in.
    pub search: Vec<String>,
    /// So many dots make a name that is tried as it is first.
    pub ndots: usize,
}

/// As many dots as the C library counts at most, and search domains it takes.
const NDOTS_MAX: usize = 15;
const SEARCH_MAX: usize = 6;

impl Resolv {
    /// Reads a resolver's configuration. A line that means nothing here is passed over.
    pub fn parse(text: &str) -> Resolv {
        let mut resolv = Resolv {
            servers: Vec::new(),
            unusable: Vec::new(),
            search: Vec::new(),
            ndots: 1,
        };
        for line in text.lines() {
            let mut words = words(line);
            match words.next() {
                Some("nameserver") => match words.next().map(|word| (word, server(word))) {
                    Some((_, Some(address))) => resolv.servers.push(address),
                    Some((word, None)) => resolv.unusable.push(word.to_string()),
                    None => {}
                },
                // The last of either counts.
                Some("search") => {
                    resolv.search = words.take(SEARCH_MAX).map(ToString::to_string).collect();
                }
                Some("domain") => {
                    resolv.search = words.take(1).map(ToString::to_string).collect();
                }
                Some("options") => {
                    let ndots = words.filter_map(|word| word.strip_prefix("ndots:")?.parse().ok());
                    resolv.ndots = ndots.last().unwrap_or(resolv.ndots).min(NDOTS_MAX);
                }
                _ => {}
            }
        }
        resolv
    }

    /// The names to ask for in turn, until one is known, when `name` is meant.
    pub fn candidates(&self, name: &str) -> Vec<String> {
        if name.ends_with('.') {
            return Vec::from([name.to_string()]);
        }
        let longer = self.search.iter().map(|domain| {
            let domain = domain.trim_matches('.');
            match domain {
                "" => name.to_string(),
                domain => [name, domain].join("."),
            }
        });
        let dots = name.bytes().filter(|&b| b == b'.').count();
        let mut candidates: Vec<String> = longer.collect();
        let at = if dots >= self.ndots {
            0
        } else {
            candidates.len()
        };
        candidates.insert(at, name.to_string());
        candidates
    }
}

/// `address` or `[address]:port`.
fn server(word: &str) -> Option<SocketAddr> {
    let (address, port) = match word.strip_prefix('[') {
        Some(rest) => rest.split_once("]:")?,
        None => (word, "53"),
    };
    Some(SocketAddr::new(address.parse().ok()?, port.parse().ok()?))
}

/// The words of a line, up to a comment.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let text = line.split(['#', ';']).next().unwrap_or_default();
    text.split_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(list: &[&str]) -> Vec<IpAddr> {
        list.iter().map(|ip| ip.parse().unwrap()).collect()
    }

    #[test]
    fn case_74_families_take_turns() {
        // nginx hands a rotated list out: the families may be torn apart.
        let list = ips(&["10.0.0.2", "::1", "::2", "::1", "10.0.0.1", "::3"]);
        let expected = ips(&["::1", "10.0.0.2", "::2", "10.0.0.1", "::3"]);
        assert_eq!(in_order(&list), expected);
        assert_eq!(
            in_order(&ips(&["10.0.0.2", "10.0.0.1"])),
            ips(&["10.0.0.2", "10.0.0.1"])
        );
        assert!(in_order(&[]).is_empty());
    }

    #[test]
    fn case_76_hosts() {
        let hosts = Hosts::parse(
            "127.0.0.1 localhost\n# 1.2.3.4 no\n::1\tLocalhost ip6-localhost # x\nnonsense a\n\n\
             10.0.0.1 a.test A\r\n10.0.0.2 a.test\n10.0.0.3",
        );
        assert_eq!(hosts.find("LOCALHOST"), ips(&["127.0.0.1", "::1"]));
        assert_eq!(hosts.find("a.test."), ips(&["10.0.0.1", "10.0.0.2"]));
        assert_eq!(hosts.find("a"), ips(&["10.0.0.1"]));
        for unknown in ["", "no", "nonsense", "b", "test"] {
            assert!(hosts.find(unknown).is_empty(), "{unknown}");
        }
    }

    #[test]
    fn case_76_resolver_configuration() {
        let resolv = Resolv::parse(
            "# comment\nnameserver 10.0.0.53 ; x\nnameserver fe80::1%eth0\nnameserver ::1\nnameserver\nnameserver [127.0.0.1]:5353\nnameserver [::1]\n\
             domain one.test\nsearch two.test three.test.\noptions rotate ndots:2 timeout:1\n",
        );
        let servers: Vec<String> = resolv.servers.iter().map(ToString::to_string).collect();
        assert_eq!(servers, ["10.0.0.53:53", "[::1]:53", "127.0.0.1:5353"]);
        assert_eq!(resolv.unusable, ["fe80::1%eth0", "[::1]"]);
        assert_eq!(
            resolv.candidates("a.b"),
            ["a.b.two.test", "a.b.three.test", "a.b"]
        );
        assert_eq!(
            resolv.candidates("a.b.c"),
            ["a.b.c", "a.b.c.two.test", "a.b.c.three.test"]
        );
        assert_eq!(resolv.candidates("a."), ["a."]);
        let plain = Resolv::parse("options ndots:99 ndots:x");
        assert_eq!(
            (plain.ndots, plain.candidates("a")),
            (15, Vec::from(["a".to_string()]))
        );
    }
}
