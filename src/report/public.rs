//! What a site shows to everybody about its crawlers: a page of weeks, each with an address that stays, a feed of them
//! (Atom, RFC 4287) and a badge. No addresses, no targets, no headers and no names of gateways are in it.

use super::{Conduct, NamedEntries, Report, ReportQuestion, Summary, grouped};
use crate::identify::Catalogue;
use crate::record::StoreReader;
use askama::Template;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use std::error::Error;
use std::time::SystemTime;

/// How many weeks are looked back: as long as counts are kept unless somebody says otherwise.
const WEEKS: i64 = 13;

/// The files of the page of what `stores` hold, each with its name; `site` is the name by which the site is known.
///
/// # Errors
/// When a store cannot be read.
pub fn public_page(
    stores: &[StoreReader],
    known: &Catalogue,
    site: &str,
    now: SystemTime,
) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let today = Timestamp::try_from(now).unwrap_or_default().to_zoned(TimeZone::UTC).date();
    let monday = today - i64::from(today.weekday().to_monday_zero_offset()).days();
    let mut weeks = Vec::new();
    for back in 0..WEEKS {
        let first = monday - (back * 7).days();
        let week = (begin(first), begin(first + 7.days()));
        let question = ReportQuestion::of_all(week, Some(now), None, known.clone());
        let report = Report::of(stores, &question)?.public();
        if report.named().next().is_some() {
            weeks.push(PublicWeek { first, is_running: back == 0, report });
        }
    }
    let mut files = Vec::new();
    for week in &weeks {
        let (title, weeks) = (format!("Crawlers in week {}", week.id()), std::slice::from_ref(week));
        let page = WeeksPage { site, title, weeks, is_one: true }.render()?;
        files.push((format!("{}.html", week.id()), page));
    }
    let title = format!("Crawlers at {site}");
    let page = WeeksPage { site, title, weeks: &weeks, is_one: false }.render()?;
    files.push(("index.html".to_owned(), page));
    let finished: Vec<&PublicWeek> = weeks.iter().filter(|week| !week.is_running).collect();
    let updated = finished.first().map_or_else(|| moment(begin(monday)), |week| week.end());
    files.push(("feed.atom".to_owned(), Feed { site, updated, weeks: &finished }.render()?));
    let badge = Badge::of(finished.first().copied().or_else(|| weeks.first()));
    files.push(("badge.svg".to_owned(), badge.render()?));
    Ok(files)
}

/// One week, Monday to Sunday in UTC (ISO 8601).
#[derive(Debug)]
struct PublicWeek {
    first: Date,
    is_running: bool,
    report: Report,
}

impl PublicWeek {
    /// `2026-W48`: the anchor, and the name of its file.
    fn id(&self) -> String {
        let week = self.first.iso_week_date();
        format!("{}-W{:02}", week.year(), week.week())
    }

    fn last(&self) -> Date {
        self.first + 6.days()
    }

    /// The moment after it.
    fn end(&self) -> String {
        moment(begin(self.first + 7.days()))
    }

    fn crawlers(&self) -> Vec<NamedEntries<'_>> {
        NamedEntries::all(self.report.named())
    }
}

fn purpose(crawler: &NamedEntries<'_>) -> String {
    let purpose = crawler.entries.iter().find_map(|entry| entry.subject.purpose);
    purpose.map(|purpose| purpose.to_string()).unwrap_or_default()
}

/// Requests, violations, and how many were refused.
fn numbers(crawler: &NamedEntries<'_>) -> [String; 3] {
    let counts = [
        crawler.sum(|entry| entry.requests),
        crawler.sum(|entry| entry.violations),
        crawler.sum(|entry| entry.refused),
    ];
    counts.map(grouped)
}

/// Midnight before a day.
fn begin(day: Date) -> SystemTime {
    let midnight = day.to_datetime(Time::midnight()).to_zoned(TimeZone::UTC);
    midnight.map_or(SystemTime::UNIX_EPOCH, |at| at.timestamp().into())
}

/// A moment as RFC 3339 writes it.
fn moment(at: SystemTime) -> String {
    Timestamp::try_from(at).unwrap_or_default().to_string()
}

#[derive(Template)]
#[template(path = "weeks.html", config = "src/report/public/askama.toml")]
struct WeeksPage<'a> {
    site: &'a str,
    title: String,
    weeks: &'a [PublicWeek],
    /// Whether it is the page of one week.
    is_one: bool,
}

#[derive(Template)]
#[template(path = "feed.xml", config = "src/report/public/askama.toml")]
struct Feed<'a> {
    site: &'a str,
    updated: String,
    weeks: &'a [&'a PublicWeek],
}

/// What is said beside the word robots.txt, and in which colour. Widths are those of Verdana at 11 px.
#[derive(Template)]
#[template(path = "badge.svg", config = "src/report/public/askama.toml")]
struct Badge {
    text: String,
    colour: &'static str,
    width: usize,
}

impl Badge {
    fn of(week: Option<&PublicWeek>) -> Self {
        let (text, colour) = match week.map(|week| &week.report.summary) {
            None => ("no crawlers".to_owned(), "#6b7280"),
            Some(Summary { crawlers, ignoring: 0, .. }) => (format!("ignored by 0 of {crawlers}"), "#176b34"),
            Some(Summary { crawlers, ignoring, .. }) => {
                (format!("ignored by {ignoring} of {crawlers}"), "#b3261e")
            }
        };
        let width = text.len() * 6 + 12;
        Self { text, colour, width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::Weekday;

    #[test]
    fn weeks_begin_on_mondays_and_have_the_number_of_iso_8601() {
        let day = jiff::civil::date(2027, 1, 3);
        let monday = day - i64::from(day.weekday().to_monday_zero_offset()).days();
        assert_eq!((monday, monday.weekday()), (jiff::civil::date(2026, 12, 28), Weekday::Monday));
        assert_eq!((monday.iso_week_date().year(), monday.iso_week_date().week()), (2026, 53));
        assert_eq!(moment(begin(monday)), "2026-12-28T00:00:00Z");
    }

    #[test]
    fn a_badge_is_as_wide_as_its_text() {
        let badge = Badge::of(None).render().unwrap();
        assert!(badge.contains("no crawlers") && badge.contains("width=\"144\""), "{badge}");
    }
}
