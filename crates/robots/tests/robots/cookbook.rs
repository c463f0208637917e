//! What guides for site owners tell them to write, each as a test of what it does.

use crate::{allowed, judge, robots};

#[test]
fn allow_everything() {
    for file in ["", "# nothing\n", "User-agent: *\nDisallow:\n", "User-agent: *\nAllow: /\n"] {
        assert_eq!(allowed(file, &["/", "/a?b"]), ["/", "/a?b"], "{file:?}");
    }
}

#[test]
fn disallow_everything() {
    for file in
        ["User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /*\n", "User-agent: *\nDisallow: *\n"]
    {
        assert!(allowed(file, &["/", "/a?b"]).is_empty(), "{file:?}");
    }
}

#[test]
fn a_subtree_with_a_carve_out() {
    let file = "User-agent: *\nDisallow: /private/\nAllow: /private/press/\n";
    let targets = ["/private", "/private/", "/private/x", "/private/press/", "/private/press/2025"];
    assert_eq!(allowed(file, &targets), ["/private", "/private/press/", "/private/press/2025"]);
}

#[test]
fn only_one_subtree() {
    let file = "User-agent: *\nDisallow: /\nAllow: /public/\nAllow: /$\n";
    assert_eq!(allowed(file, &["/", "/public/x", "/other", "/?x"]), ["/", "/public/x"]);
}

#[test]
fn a_kind_of_file() {
    let file = "User-agent: *\nDisallow: /*.pdf$\n";
    assert_eq!(allowed(file, &["/a.pdf", "/a/b.pdf", "/a.pdf?x", "/a.pdfx"]), ["/a.pdf?x", "/a.pdfx"]);
}

#[test]
fn everything_with_a_query() {
    let file = "User-agent: *\nDisallow: /*?\nAllow: /*?page=\n";
    assert_eq!(allowed(file, &["/a", "/a?x=1", "/a?page=2", "/a?x=1&page=2"]), ["/a", "/a?page=2"]);
}

#[test]
fn one_parameter_wherever_it_stands() {
    let file = "User-agent: *\nDisallow: /*?session=\nDisallow: /*&session=\n";
    assert_eq!(
        allowed(file, &["/a?session=1", "/a?b=1&session=1", "/a?b=1", "/session=1"]),
        ["/a?b=1", "/session=1"]
    );
}

#[test]
fn a_folder_at_any_depth() {
    let file = "User-agent: *\nDisallow: */feed/\n";
    assert_eq!(allowed(file, &["/feed/", "/a/b/feed/x", "/feeds/"]), ["/feeds/"]);
}

#[test]
fn one_crawler_only() {
    let robots = robots("User-agent: GoodBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n");
    assert!(judge(&robots, "GoodBot", "/x").allow && !judge(&robots, "BadBot", "/x").allow);
}

#[test]
fn all_but_one_crawler() {
    let robots = robots("User-agent: BadBot\nDisallow: /\n\nUser-agent: *\nAllow: /\n");
    assert!(judge(&robots, "GoodBot", "/x").allow && !judge(&robots, "BadBot", "/x").allow);
}

#[test]
fn several_crawlers_in_one_group() {
    let robots = robots("User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: ClaudeBot\nDisallow: /\n");
    for token in ["GPTBot", "CCBot", "ClaudeBot"] {
        assert!(!judge(&robots, token, "/").allow, "{token}");
    }
    assert!(judge(&robots, "Googlebot", "/").allow);
}

/// Often misunderstood: a crawler with a group of its own does not read the `*` group.
#[test]
fn groups_are_not_inherited() {
    let robots = robots("User-agent: *\nDisallow: /private/\n\nUser-agent: FooBot\nDisallow: /foo/\n");
    assert!(judge(&robots, "FooBot", "/private/").allow);
}

/// Often misunderstood: without the slash at the end, everything that starts so is meant.
#[test]
fn prefixes_need_no_star() {
    let file = "User-agent: *\nDisallow: /shop\n";
    assert!(allowed(file, &["/shop", "/shop/", "/shopping", "/shop.html"]).is_empty());
}

#[test]
fn crawl_delay() {
    let robots = robots("User-agent: *\nCrawl-delay: 10\nAllow: /\n");
    let group = robots.group(&["FooBot"], true).unwrap();
    assert_eq!(group.crawl_delay(), Some(10.0));
    assert_eq!(group.matched(), "*");
}
