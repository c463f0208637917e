//! What every list of conformance has in common: it is printed, and nothing in it goes unexplained.

use std::collections::HashSet;
use std::path::Path;

/// One case that was tried.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) section: &'static str,
    pub(crate) sent: &'static str,
    pub(crate) asked: String,
    pub(crate) came: String,
    pub(crate) is_right: bool,
}

/// What is not as asked: section, what is sent, what comes, the reason.
pub(crate) type Explained = (&'static str, &'static str, &'static str, &'static str);

/// Prints the list, and fails for what is neither as asked nor explained, for explanations that nothing needs any
/// more, and for a page in the guide that says something else.
#[track_caller]
pub(crate) fn tell(subject: &str, outcomes: &[Outcome], explained: &[Explained], least: usize) {
    let mut unexplained = Vec::new();
    let mut used = HashSet::new();
    for outcome in outcomes {
        let reason = explained.iter().position(|(section, sent, came, _)| {
            (*section, *sent, *came) == (outcome.section, outcome.sent, &outcome.came)
        });
        let mark = match (outcome.is_right, reason) {
            (true, None) => "as asked",
            (false, Some(reason)) => {
                used.insert(reason);
                "explained"
            }
            _ => {
                unexplained.push(outcome);
                "WRONG"
            }
        };
        eprintln!(
            "{mark:9} {:18} {:66} asked {:32} came {}",
            outcome.section, outcome.sent, outcome.asked, outcome.came
        );
    }
    assert!(unexplained.is_empty(), "{} are wrong: {unexplained:#?}", unexplained.len());
    assert_eq!(used.len(), explained.len(), "an explanation that nothing needs");
    let names: HashSet<_> = outcomes.iter().map(|outcome| (outcome.section, outcome.sent)).collect();
    let cases = outcomes.len();
    assert!(names.len() == cases && cases >= least, "{cases} cases, {} of them distinct", names.len());
    let part = part(subject, outcomes, explained);
    eprintln!("{}", part.lines().next().unwrap_or_default());
    is_told(subject, &part);
}

/// The part of the page about `subject`: how many cases there are, and what is explained, by its reason.
fn part(subject: &str, outcomes: &[Outcome], explained: &[Explained]) -> String {
    let (cases, right) = (outcomes.len(), outcomes.iter().filter(|outcome| outcome.is_right).count());
    let sections: HashSet<_> = outcomes.iter().map(|outcome| outcome.section).collect();
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for (section, sent, came, reason) in explained {
        let case = format!("{sent} (RFC {section})");
        match reasons.iter_mut().find(|known| (known.0, known.1) == (came, reason)) {
            Some((_, _, sent)) => sent.push(case),
            None => reasons.push((came, reason, vec![case])),
        }
    }
    let rows =
        reasons.iter().map(|(came, reason, sent)| format!("| {} | {came} | {reason} |", sent.join("; ")));
    let heads = ["| What is sent | What comes | Why |", "|---|---|---|"];
    let table: Vec<String> = heads.into_iter().map(str::to_owned).chain(rows).collect();
    format!(
        "{subject}: {cases} cases of {} sections, {right} as asked, {} explained.\n\n{}\n",
        sections.len(),
        explained.len(),
        table.join("\n")
    )
}

/// Prints a figure, and fails the test unless the page has it.
#[track_caller]
pub(crate) fn is_told_of(figure: &str) {
    eprintln!("{figure}");
    let page = include_str!("../../docs/conformance.md").replace('\n', " ");
    assert!(page.contains(figure), "docs/conformance.md does not say: {figure}");
}

/// Fails the test unless the page says this; with `GOLDEN=write` it is written there.
#[track_caller]
pub(crate) fn is_told(subject: &str, part: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/conformance.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let begin = format!("<!-- {subject} -->\n");
    let (before, rest) = page.split_once(&begin).expect("where the part begins");
    let (told, after) = rest.split_once("<!-- end -->").expect("where it ends");
    if std::env::var_os("GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, [before, &begin, part, "<!-- end -->", after].concat()).expect("written");
        return;
    }
    assert!(told == part, "docs/conformance.md says\n{told}\nand it is\n{part}");
}
