//! Shelves and groups by themselves.

use super::*;

fn acquire(pool: &mut Pool, target: &Target<'_>) -> Shelf {
    pool.acquire(target).unwrap()
}

fn target<'a>(host: &'a str, pool: Option<&'a str>) -> Target<'a> {
    Target {
        pool: pool.map(str::as_bytes),
        ..Target::new(Scheme::Http, host.as_bytes(), 80)
    }
}

fn key(n: u64) -> Key {
    Key::from_bits(n).unwrap()
}

#[test]
fn the_first_size_stays_and_counts_the_whole_name() {
    let mut pool = Pool::new(30);
    let a = acquire(&mut pool, &target("a", Some("p")));
    pool.plan(a, Some(2), None);
    let b = acquire(&mut pool, &target("b", Some("p")));
    pool.plan(b, Some(99), None);
    assert_ne!(a, b, "origins are kept apart within a name");
    assert_eq!(pool.park(a, key(1)).evicted, None);
    assert_eq!(pool.park(b, key(2)).evicted, None);
    assert_eq!(
        pool.park(b, key(3)).evicted,
        Some(key(1)),
        "the least recently used of the name makes room"
    );
    assert_eq!(pool.claim(a, |_| true), None);
    assert_eq!(
        pool.claim(b, |_| true),
        Some(Ok(key(3))),
        "the most recently used is claimed"
    );
    assert_eq!(pool.idle(), 1);
}

#[test]
fn origins_match_without_regard_to_case_and_by_every_part() {
    let mut pool = Pool::new(30);
    let a = acquire(&mut pool, &target("A.test", None));
    assert_eq!(acquire(&mut pool, &target("a.TEST", None)), a);
    assert_ne!(acquire(&mut pool, &target("a.test", Some("a.test"))), a);
    assert_ne!(
        acquire(
            &mut pool,
            &Target {
                port: 81,
                ..target("a.test", None)
            }
        ),
        a
    );
    assert_ne!(
        acquire(
            &mut pool,
            &Target {
                scheme: Scheme::Https,
                ..target("a.test", None)
            }
        ),
        a
    );
    let proxied = Target {
        proxy: Some(Proxy {
            host: b"p",
            port: 1,
        }),
        ..target("a.test", None)
    };
    assert_ne!(acquire(&mut pool, &proxied), a);
}

#[test]
fn strangers_cannot_grow_the_pool_without_bound() {
    let mut pool = Pool::new(30);
    let kept = acquire(&mut pool, &target("kept", Some("n")));
    for i in 0..3 * SHELVES_KEPT {
        let host = std::format!("h{i}");
        let shelf = acquire(&mut pool, &target(&host, None));
        pool.drop_user(shelf);
    }
    assert!(
        pool.shelves.len() <= SHELVES_KEPT + 1,
        "{}",
        pool.shelves.len()
    );
    assert_eq!(
        acquire(&mut pool, &target("kept", Some("n"))),
        kept,
        "a used one is kept"
    );
    assert!(pool.groups.len() <= SHELVES_KEPT + 1);
}
