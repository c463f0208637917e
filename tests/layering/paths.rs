//! The paths that a source file names, in imports and in code, each made whole: groups opened, `super` resolved.
//!
//! Macros that glue names together are not seen through; the lint set and the reader are there for those.

use crate::tokens::{Token, tokens};

/// A path that a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedPath {
    /// Line of the file, counted from 1.
    pub(crate) line: usize,
    /// What it leads to.
    pub(crate) place: PathPlace,
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathPlace {
    /// Into this project: the segments from the root of the crate, none for the root itself.
    Inside(Vec<String>),
    /// Elsewhere, or to something in scope: the segments as written.
    Outside(Vec<String>),
}

/// Every path of two or more segments, and every import, in a file whose own module is `module`.
pub(crate) fn paths(module: &[String], text: &str) -> Vec<NamedPath> {
    let tokens = tokens(text);
    let mut walk =
        Walk { tokens: &tokens, at: 0, module: module.to_vec(), open: Vec::new(), found: Vec::new() };
    walk.file();
    walk.found
}

struct Walk<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    /// The module at this place, inline modules included.
    module: Vec<String>,
    /// For each open brace whether it opened an inline module.
    open: Vec<bool>,
    found: Vec<NamedPath>,
}

impl<'a> Walk<'a> {
    fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// The sign `back` places before this one.
    fn before(&self, back: usize) -> &'a str {
        self.at.checked_sub(back).map_or("", |at| self.text(at))
    }

    fn file(&mut self) {
        let mut import = false;
        while let Some(token) = self.tokens.get(self.at) {
            match token.text {
                "use" => import = self.text(self.at + 1) != "<",
                ";" => import = false,
                "as" if import => self.at += 1,
                "{" => self.open.push(false),
                "}" if self.open.pop() == Some(true) => {
                    self.module.pop();
                }
                "mod" if self.text(self.at + 2) == "{" => {
                    self.module.push(self.text(self.at + 1).to_owned());
                    self.open.push(true);
                    self.at += 2;
                }
                _ if token.is_name() && self.starts_path() => {
                    let whole = import || (self.before(1) == "crate" && self.before(2) == "extern");
                    self.tree(&[], whole);
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// A field or method is no start of a path, nor is the rest of a longer one. `use ::x` and `a < ::x` are starts.
    fn starts_path(&self) -> bool {
        let apart =
            self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).is_some_and(|token| !token.joined);
        match self.before(1) {
            "." => self.before(2) == ".",
            "::" => apart || !self.ends_segment(2),
            _ => true,
        }
    }

    fn ends_segment(&self, back: usize) -> bool {
        let token = self.at.checked_sub(back).and_then(|at| self.tokens.get(at));
        token.is_some_and(|token| token.is_name() || token.text == ">")
    }

    /// Reads one path and, where it ends in a group, every path of the group.
    fn tree(&mut self, prefix: &[String], whole: bool) {
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let mut path = prefix.to_vec();
        loop {
            path.push(self.text(self.at).to_owned());
            self.at += 1;
            if self.text(self.at) != "::" {
                break;
            }
            match self.tokens.get(self.at + 1) {
                Some(next) if next.text == "{" => {
                    self.at += 2;
                    self.group(&path, whole);
                    return;
                }
                Some(next) if next.is_name() || next.text == "*" => self.at += 1,
                _ => {
                    self.at += 1;
                    break;
                }
            }
        }
        if whole || path.len() > 1 {
            let place = self.resolve(&path);
            self.found.push(NamedPath { line, place });
        }
    }

    /// The members of `{…}` up to its closing brace.
    fn group(&mut self, prefix: &[String], whole: bool) {
        while self.at < self.tokens.len() {
            match self.text(self.at) {
                "}" => {
                    self.at += 1;
                    return;
                }
                "{" | "," => self.at += 1,
                "as" => self.at += 2,
                "*" => self.tree(prefix, whole),
                _ if self.tokens.get(self.at).is_some_and(Token::is_name) => self.tree(prefix, whole),
                _ => self.at += 1,
            }
        }
    }

    fn resolve(&self, path: &[String]) -> PathPlace {
        let Some(first) = path.first().map(String::as_str) else { return PathPlace::Inside(Vec::new()) };
        let mut inside = match first {
            "crate" | "robots_gateway" => Vec::new(),
            "self" | "super" => self.module.clone(),
            _ => return PathPlace::Outside(path.to_vec()),
        };
        for segment in path {
            match segment.as_str() {
                "crate" | "robots_gateway" | "self" => {}
                "super" => {
                    inside.pop();
                }
                _ => inside.push(segment.clone()),
            }
        }
        PathPlace::Inside(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let module = ["config".to_owned(), "build".to_owned()];
        let show = |named: NamedPath| match named.place {
            PathPlace::Inside(path) => format!("{} crate/{}", named.line, path.join("/")),
            PathPlace::Outside(path) => format!("{} {}", named.line, path.join("/")),
        };
        paths(&module, text).into_iter().map(show).collect()
    }

    #[test]
    fn groups_are_opened_and_renames_seen_through() {
        assert_eq!(
            shown("use crate::{policy as p, record::{self, event::Event}};\nuse {notify, a::b as c};"),
            ["1 crate/policy", "1 crate/record", "1 crate/record/event/Event", "2 notify", "2 a/b"]
        );
        assert_eq!(
            shown("use crate::*; use crate::{self as top}; extern crate woothee;"),
            ["1 crate/*", "1 crate/", "1 woothee"]
        );
    }

    #[test]
    fn super_is_resolved_from_the_module_and_its_inline_modules() {
        assert_eq!(shown("use super::super::policy::Policy;"), ["1 crate/policy/Policy"]);
        assert_eq!(
            shown("mod tests { use super::*; fn f() { super::super::super::ctl::run() } }\nuse self::x;"),
            ["1 crate/config/build/*", "1 crate/ctl/run", "2 crate/config/build/x"]
        );
    }

    #[test]
    fn paths_in_code_count_and_fields_do_not() {
        assert_eq!(
            shown("fn f(a: &crate::ctl::A) { a.notify::<B>(); x..crate::proxy::MAX; ::toml::from_str(a) }"),
            ["1 crate/ctl/A", "1 crate/proxy/MAX", "1 toml/from_str"]
        );
        assert_eq!(shown("impl<'a> X<'a> for Vec<crate::admin::Y> {}"), ["1 crate/admin/Y"]);
        assert_eq!(shown("pub(crate) fn f() {} // crate::ctl::x"), Vec::<String>::new());
    }
}
