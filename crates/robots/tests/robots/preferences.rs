//! Preferences about use: the examples of the drafts by section, what guides tell owners to write, and files of real
//! sites that state any.

mod drafts;
mod guides;
mod lint;
mod real;

use rfc9309::Robots;

/// The `Content-Usage` of a path for a crawler.
fn usage(robots: &Robots, token: &str, target: &str) -> Option<String> {
    let found = robots.group(&[token], true)?.content_usage(target.as_bytes())?;
    found.is_readable.then(|| found.value.into_owned())
}

/// What a crawler is told of a path, as `line: record`.
fn told(robots: &Robots, token: &str, target: &str) -> Vec<String> {
    let group = robots.group(&[token], true).unwrap();
    let told = group.preferences_for(target.as_bytes());
    told.iter().map(|preference| format!("{:?} {preference}", preference.lines)).collect()
}
