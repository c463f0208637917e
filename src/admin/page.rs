//! The live page: the report of the last hours or days, read from the store while the gateway writes it.
//!
//! It runs on a thread that may block. One page is made at a time, in a limited time; who comes while too many wait is asked to
//! come again. Nothing that is wrong with the store is
//! wrong with the page: it says what it is.

use super::{Admin, query, response};
use crate::config::{DurationValue, FleetConfig};
use crate::fleet::counts;
use crate::policy::Policy;
use crate::record::{StoreError, StoreErrorKind, StoreReader};
use crate::report::html::{self, Frame, Link};
use crate::report::{FleetPart, Report, ReportQuestion};
use http::{HeaderValue, Response, StatusCode, header};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// What is shown unless something else is asked for.
const DAY: Duration = Duration::from_secs(86_400);

/// Times that are offered, as they are asked for, and in words.
const OFFERED: [(&str, &str); 5] =
    [("1h", "Last hour"), ("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"), ("90d", "90 days")];

/// Nothing is kept for longer: ten years.
const LONGEST: Duration = Duration::from_secs(3_650 * 86_400);

/// How many targets of each crawler are told by name.
const TOP: usize = 1_000;

/// In how many seconds who cannot be answered now is to ask again.
const ASK_AGAIN: u64 = 3;

/// How long reading the store for one page may take, and how long the database of the fleet is waited for.
const LIMIT: Duration = Duration::from_secs(5);

/// Links to the report and to the tester, of which one `is_report` or the other.
pub(super) fn pages(is_report: bool) -> (&'static str, Vec<Link>) {
    let link = |href: &str, label: &str, is_current| Link {
        href: href.to_owned(),
        label: label.to_owned(),
        is_current,
    };
    ("Pages", vec![link("/", "Report", is_report), link("/test", "Try a request", !is_report)])
}

/// Makes the page.
#[derive(Debug)]
pub struct LivePage {
    pub(super) store: PathBuf,
    fleet: Option<FleetConfig>,
    /// Held while a page of this gateway alone is made, and of the fleet: for the one nobody waits for the other.
    turns: [Mutex<()>; 2],
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PageRequest {
    /// As it was asked for, and how long that is.
    since: (String, Duration),
    site: Option<String>,
    /// Of all gateways of the fleet.
    is_of_fleet: bool,
}

/// What goes wrong: a title, and what is the matter and to be done, in words for who reads the page.
type PageFailure = (StatusCode, &'static str, String);

impl LivePage {
    /// The page of the store in the file `store`, and of the fleet that it is in.
    pub fn new(store: PathBuf, fleet: Option<FleetConfig>) -> Self {
        Self { store, fleet, turns: Default::default() }
    }

    /// The page of `view`.
    fn of(&self, view: &PageRequest, policy: &Policy) -> (StatusCode, String) {
        let [own, whole] = &self.turns;
        let turn = if view.is_of_fleet { whole } else { own };
        let frame = self.frame(view, policy);
        let _turn = turn.lock();
        let made = self.make(view, policy, &frame);
        made.map_or_else(|trouble| render_failure(&trouble, &frame), |page| (StatusCode::OK, page))
    }

    fn make(&self, view: &PageRequest, policy: &Policy, frame: &Frame) -> Result<String, PageFailure> {
        let now = SystemTime::now();
        let from = now.checked_sub(view.since.1).unwrap_or(SystemTime::UNIX_EPOCH);
        let known = policy.identifier.catalogue().clone();
        let all = ReportQuestion::of_all((from, ReportQuestion::open_end()), Some(now), Some(TOP), known);
        let question = ReportQuestion { site: view.site.clone(), ..all };
        let (store, part) = match self.fleet.as_ref().filter(|_| view.is_of_fleet) {
            Some(fleet) => Self::ask(fleet, &question)?,
            None => (StoreReader::open(&self.store).map_err(|error| unreadable(&error))?, None),
        };
        store.give_up_after(LIMIT).map_err(|error| unreadable(&error))?;
        let mut report = Report::of(&[store], &question).map_err(|error| unreadable(&error))?;
        if let Some(part) = part {
            report = report.of_fleet(part);
        }
        html::page(&question, &report, &[], frame).map_err(|error| {
            let reason = format!("This is a fault of the gateway, please report it: {error}.");
            (StatusCode::INTERNAL_SERVER_ERROR, "The page could not be written", reason)
        })
    }

    /// What the fleet's database has, if it answers in time.
    fn ask(
        fleet: &FleetConfig,
        question: &ReportQuestion,
    ) -> Result<(StoreReader, Option<FleetPart>), PageFailure> {
        let told = counts(fleet, question.reaches_back(), question.to, Some(LIMIT));
        let (rows, part) = told.map_err(|error| {
            let reason = format!(
                "{error}. The page of this gateway alone is there all the same. Counts wait in the stores of the members, and \
                 none is lost; `gatewayctl report --fleet` waits for longer."
            );
            (StatusCode::SERVICE_UNAVAILABLE, "The fleet’s database does not answer", reason)
        })?;
        Ok((StoreReader::of_rows(&rows).map_err(|error| unreadable(&error))?, Some(part)))
    }

    /// Links to the times that are offered and, where there are several, to the sites; in a fleet, to all of it.
    fn frame(&self, view: &PageRequest, policy: &Policy) -> Frame {
        let link = |other: PageRequest, label: &str| Link {
            href: other.href(),
            label: label.to_owned(),
            is_current: other == *view,
        };
        let times = OFFERED.into_iter().filter_map(|(since, label)| {
            let since = self::since(since).ok()?;
            Some(link(PageRequest { since, ..view.clone() }, label))
        });
        let names = policy.sites().iter().map(|site| Some(site.config.name.clone()));
        let sites = std::iter::once(None).chain(names).filter(|_| policy.sites().len() > 1);
        let sites = sites.map(|site| {
            let label = site.clone().unwrap_or_else(|| "All sites".to_owned());
            link(PageRequest { site, ..view.clone() }, &label)
        });
        let gateways = [(false, "This gateway"), (true, "The whole fleet")].into_iter();
        let gateways = gateways.filter(|_| self.fleet.is_some());
        let gateways =
            gateways.map(|(is_of_fleet, label)| link(PageRequest { is_of_fleet, ..view.clone() }, label));
        Frame {
            lists: vec![
                pages(true),
                ("Time", times.collect()),
                ("Site", sites.collect()),
                ("Gateways", gateways.collect()),
            ],
        }
    }
}

pub(super) fn answer(admin: &Admin, query: Option<&str>) -> Response<Vec<u8>> {
    let policy = admin.reloader.current();
    let (status, body) = match PageRequest::parse(query.unwrap_or_default(), &policy) {
        Ok(view) => admin.page.of(&view, &policy),
        Err(trouble) => render_failure(&trouble, &admin.page.frame(&PageRequest::default(), &policy)),
    };
    html_response(status, body, html::content_security_policy())
}

/// A page under this policy.
pub(super) fn html_response(status: StatusCode, body: String, policy: &str) -> Response<Vec<u8>> {
    let mut response = response(status, "text/html; charset=utf-8", body.into_bytes());
    let fields = response.headers_mut();
    // What a page in a file cannot say of itself: nobody may frame it.
    let policy = format!("{policy}; frame-ancestors 'none'");
    if let Ok(policy) = HeaderValue::try_from(policy) {
        fields.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    fields.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    fields.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        fields.insert(header::RETRY_AFTER, HeaderValue::from(ASK_AGAIN));
    }
    response
}

impl PageRequest {
    fn parse(text: &str, policy: &Policy) -> Result<Self, PageFailure> {
        let mut view = Self::default();
        for (name, value) in query::pairs(text) {
            match name.as_str() {
                "since" => view.since = since(&value)?,
                "fleet" => view.is_of_fleet = value != "0",
                "site" => view.site = Some(value).filter(|site| !site.is_empty()),
                _ => {}
            }
        }
        let is_known = |name: &String| policy.sites().iter().any(|site| site.config.name == *name);
        match &view.site {
            Some(site) if !is_known(site) => {
                let reason = format!(
                    "`{site}` is not the name of a configured site. The first host of a site is its name; of a site without \
                     hosts it is `default`."
                );
                Err((StatusCode::NOT_FOUND, "No site has this name", reason))
            }
            _ => Ok(view),
        }
    }

    fn href(&self) -> String {
        let since = query::encoded(&self.since.0);
        let site = self.site.as_deref().map(|site| format!("&site={}", query::encoded(site)));
        let fleet = if self.is_of_fleet { "&fleet=1" } else { "" };
        format!("/?since={since}{}{fleet}", site.unwrap_or_default())
    }
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { since: ("24h".to_owned(), DAY), site: None, is_of_fleet: false }
    }
}

fn since(text: &str) -> Result<(String, Duration), PageFailure> {
    match text.parse() {
        Ok(DurationValue(since)) if !since.is_zero() && since <= LONGEST => Ok((text.to_owned(), since)),
        _ => {
            let reason = format!(
                "`{text}` cannot be looked back at: write a number with m, h or d, such as /?since=36h or /?since=7d."
            );
            Err((StatusCode::BAD_REQUEST, "Invalid time", reason))
        }
    }
}

fn render_failure((status, title, reason): &PageFailure, frame: &Frame) -> (StatusCode, String) {
    (*status, html::apology(title, reason, frame).unwrap_or_else(|_| (*title).to_owned()))
}

fn unreadable(error: &StoreError) -> PageFailure {
    let title = match error.kind() {
        StoreErrorKind::Missing => "Nothing has been recorded yet",
        StoreErrorKind::Busy => "The store is busy",
        _ => "The store cannot be read",
    };
    let reason = format!(
        "{error}. Ask again in a moment. Requests are judged and counted all the same; `gatewayctl status` says whether the \
         store can be written."
    );
    (StatusCode::SERVICE_UNAVAILABLE, title, reason)
}
