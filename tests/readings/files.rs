//! The pages that every origin serves, and the rules that disallow some of them.

use std::fs;
use std::path::Path;

/// The pages; each has its own path as its content.
pub(crate) const PAGES: [&str; 16] = [
    "/index.html",
    "/open/index.html",
    "/open/x.html",
    "/open/deep/y.html",
    "/private/index.html",
    "/private/x.html",
    "/private/deep/y.html",
    "/private/a/b/c/z.html",
    "/docs/secret.pdf",
    "/docs/old/secret.pdf",
    "/docs/public.txt",
    "/r=d/x.html",
    "/a&b/x.html",
    "/x/open/x.html",
    "/a/private/x.html",
    "/a b/caf\u{e9}.html",
];

/// Pages that a target made to get around a rule is after.
pub(crate) const WANTED: [&str; 8] = [
    "/private/x.html",
    "/private/deep/y.html",
    "/private/a/b/c/z.html",
    "/docs/secret.pdf",
    "/docs/old/secret.pdf",
    "/r=d/x.html",
    "/a&b/x.html",
    "/a b/caf\u{e9}.html",
];

/// Each is tried with every target.
pub(crate) const RULES: [&str; 8] = [
    "Disallow: /private/",
    "Disallow: /*.pdf$",
    "Disallow: /r=d/\nDisallow: /a&b/",
    "Disallow: /\nAllow: /open/\nAllow: /.well-known/",
    "Disallow: /private/deep/\nDisallow: /docs/secret.pdf$",
    "Disallow: /*/deep/\nDisallow: /*caf",
    "Disallow: /private/\nDisallow: /docs/old/\nAllow: /private/x",
    "Disallow: /",
];

/// Writes the pages below `root`, for every server to read.
pub(crate) fn write(root: &Path) {
    for page in PAGES {
        let path = root.join(&page[1..]);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, format!("page {page}\n")).expect("a page");
    }
}
