//! A reader of the pages' HTML that takes nothing for granted: what it does not know by name, or what is not closed,
//! is a fault. Text of strangers that became markup cannot pass.

use std::collections::BTreeSet;

/// Elements that the templates use.
const ELEMENTS: [&str; 52] = [
    "form",
    "label",
    "input",
    "textarea",
    "button",
    "a",
    "b",
    "bdi",
    "body",
    "code",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "g",
    "h1",
    "h2",
    "h3",
    "head",
    "header",
    "html",
    "li",
    "link",
    "main",
    "meta",
    "nav",
    "p",
    "path",
    "pre",
    "rect",
    "section",
    "span",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
    "ol",
    "i",
    "em",
    "strong",
    "time",
];

/// Elements without content.
const VOID: [&str; 3] = ["link", "meta", "input"];

/// Attributes that the templates use. None of them runs anything.
const ATTRIBUTES: [&str; 34] = [
    "action",
    "for",
    "method",
    "rows",
    "type",
    "value",
    "aria-current",
    "aria-hidden",
    "aria-label",
    "aria-labelledby",
    "charset",
    "class",
    "content",
    "d",
    "data-label",
    "dir",
    "height",
    "href",
    "http-equiv",
    "id",
    "lang",
    "name",
    "preserveAspectRatio",
    "rel",
    "role",
    "scope",
    "tabindex",
    "viewBox",
    "width",
    "x",
    "y",
    "open",
    "datetime",
    "colspan",
];

/// A page, taken apart.
#[derive(Debug, Default)]
pub(crate) struct ParsedPage {
    /// Elements in their order, with their attributes.
    pub(crate) elements: Vec<(String, Vec<(String, String)>)>,
    /// All text, with a line feed where an element begins or ends.
    pub(crate) text: String,
    pub(crate) style: String,
}

impl ParsedPage {
    /// Reads a page, or says where it is not one.
    pub(crate) fn parse(html: &str) -> Result<Self, String> {
        let mut page = Self::default();
        let mut open: Vec<String> = Vec::new();
        let mut rest = html.trim().strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
        while !rest.is_empty() {
            let Some(at) = rest.find('<') else { return Err(format!("text after the end: {rest:.60}")) };
            let (text, tag) = rest.split_at(at);
            page.text.push_str(&unescaped(text)?);
            page.text.push('\n');
            rest = if let Some(end) = tag.strip_prefix("</") {
                let (name, after) = end.split_once('>').ok_or("an end tag without an end")?;
                if open.pop().as_deref() != Some(name) {
                    return Err(format!("</{name}> closes what is not open: {tag:.200}"));
                }
                after
            } else {
                page.start(tag.get(1..).unwrap_or_default(), &mut open)?
            };
        }
        if open.is_empty() { Ok(page) } else { Err(format!("not closed: {open:?}")) }
    }

    /// Reads a start tag, and returns what follows it.
    fn start<'h>(&mut self, tag: &'h str, open: &mut Vec<String>) -> Result<&'h str, String> {
        let name = until(tag, |letter| !letter.is_ascii_alphanumeric());
        if !ELEMENTS.contains(&name) {
            return Err(format!("element <{name}>: {tag:.100}"));
        }
        let mut rest = &tag[name.len()..];
        let mut attributes = Vec::new();
        while let Some(inside) = rest.strip_prefix(' ') {
            let attribute = until(inside, |letter| letter != '-' && !letter.is_ascii_alphanumeric());
            let value = inside[attribute.len()..]
                .strip_prefix("=\"")
                .ok_or_else(|| format!("{attribute} has no value: {tag:.100}"))?;
            let (value, after) = value.split_once('"').ok_or("a value without an end")?;
            if !ATTRIBUTES.contains(&attribute) {
                return Err(format!("attribute {attribute}: {tag:.100}"));
            }
            attributes.push((attribute.to_owned(), unescaped(value)?));
            rest = after;
        }
        let mut rest = rest.strip_prefix('>').ok_or_else(|| format!("a tag without an end: {tag:.100}"))?;
        if name == "style" {
            let (style, after) = rest.split_once("</style>").ok_or("a style without an end")?;
            style.clone_into(&mut self.style);
            rest = after;
        } else if !VOID.contains(&name) {
            open.push(name.to_owned());
        }
        self.elements.push((name.to_owned(), attributes));
        Ok(rest)
    }

    pub(crate) fn of<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p [(String, String)]> {
        self.elements
            .iter()
            .filter(move |(element, _)| element == name)
            .map(|(_, attributes)| &attributes[..])
    }

    /// All values of an attribute.
    pub(crate) fn values<'p>(&'p self, attribute: &'p str) -> impl Iterator<Item = &'p str> {
        let all = self.elements.iter().flat_map(|(_, attributes)| attributes);
        all.filter(move |(name, _)| name == attribute).map(|(_, value)| value.as_str())
    }

    /// Faults in what assistive technology relies on.
    pub(crate) fn inaccessible(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut ids = BTreeSet::new();
        for id in self.values("id") {
            if !ids.insert(id) {
                faults.push(format!("id {id} twice"));
            }
        }
        let named = self
            .values("aria-labelledby")
            .chain(self.values("href").filter_map(|href| href.strip_prefix('#')));
        for id in named {
            if !ids.contains(id) {
                faults.push(format!("#{id} is nowhere"));
            }
        }
        let mut labels = BTreeSet::new();
        for label in self.values("aria-label") {
            if !labels.insert(label) {
                faults.push(format!("label {label} twice"));
            }
        }
        for svg in self.of("svg") {
            let has = |name: &str| svg.iter().any(|(attribute, _)| attribute == name);
            if !has("aria-hidden") && !has("role") {
                faults.push(format!("a drawing that is neither named nor hidden: {svg:?}"));
            }
        }
        for heading in self.of("th") {
            if !heading.iter().any(|(attribute, _)| attribute == "scope") {
                faults.push("a heading of nothing".to_owned());
            }
        }
        if self.of("h1").count() != 1 {
            faults.push("not one first heading".to_owned());
        }
        if self.of("main").count() != 1 || self.of("html").next().is_none_or(<[_]>::is_empty) {
            faults.push("no main, or no language".to_owned());
        }
        faults
    }
}

fn until(text: &str, ends: impl Fn(char) -> bool) -> &str {
    &text[..text.find(ends).unwrap_or(text.len())]
}

/// Text without its character references; a lone `&` or `>` is a fault.
fn unescaped(text: &str) -> Result<String, String> {
    if text.contains('>') {
        return Err(format!("a loose > in {text:.100}"));
    }
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        let (name, after) =
            rest[at + 1..].split_once(';').ok_or_else(|| format!("a loose & in {text:.100}"))?;
        plain.push(match name {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            _ => {
                let code = name.strip_prefix('#').and_then(|code| code.parse().ok()).and_then(char::from_u32);
                code.ok_or_else(|| format!("&{name};"))?
            }
        });
        rest = after;
    }
    plain.push_str(rest);
    Ok(plain)
}

#[test]
fn the_reader_lets_no_foreign_markup_pass() {
    let good = "<!DOCTYPE html><html lang=\"en\"><body><p class=\"a\">1 &#60; &lt;2</p></body></html>";
    assert!(ParsedPage::parse(good).expect("a page").text.contains("1 < <2"));
    for (old, new) in [
        ("<p class=\"a\">", "<script>"),
        ("class", "onclick"),
        ("class", "style"),
        ("\"a\"", "a"),
        ("</p>", ""),
        ("</p>", "</p><p>"),
        ("</p>", "</b>"),
        ("&lt;", "& "),
        ("&lt;", "<!-- x -->"),
        ("1 ", "1 > "),
        ("<!DOCTYPE html>", ""),
    ] {
        let text = good.replacen(old, new, 1);
        assert!(ParsedPage::parse(&text).is_err(), "{text}");
    }
}
