//! Pages in a real browser, where one is installed: nothing to complain of, nothing wider than a phone, and the same
//! elements as the tests' own reader sees.
//!
//! The pages run no script, and allow none. A page of the test's own frames them and measures from outside.

use crate::html::ParsedPage;
use crate::page::{filled, report};
use crate::scene::installed;
use crate::store;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Chromium's names.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

struct Browser(std::path::PathBuf);

impl Browser {
    fn find() -> Option<Self> {
        let found = installed(&NAMES);
        if found.is_none() {
            eprintln!("skipped: Chromium is not installed");
        }
        found.map(Self)
    }

    /// Runs the browser on a file; what it printed, and what it complained of.
    #[track_caller]
    fn open(&self, file: &Path, options: &[&str]) -> (String, String) {
        let profile = tempfile::tempdir().expect("a folder");
        let ended = Command::new(&self.0)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--allow-file-access-from-files",
                "--enable-logging=stderr",
                "--virtual-time-budget=2000",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(options)
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("the browser runs");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{said}");
        let console = said.lines().filter(|line| line.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
        (String::from_utf8_lossy(&ended.stdout).into_owned(), console)
    }
}

/// Every kind of page, by name.
pub(crate) fn pages() -> Vec<(&'static str, TempDir)> {
    let made = ["ordinary", "empty", "hostile", "crowded"].into_iter().map(|name| {
        let folder = filled(match name {
            "ordinary" => store::ordinary,
            "empty" => store::empty,
            "hostile" => store::hostile,
            _ => store::crowded,
        });
        std::fs::write(folder.path().join("page.html"), report(folder.path(), "html")).expect("written");
        (name, folder)
    });
    made.collect()
}

/// A page that frames another at a phone's width, and then says how wide that is, everything unfolded.
const GAUGE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><body><iframe src="page.html" width="360" height="800"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const page = frame.contentDocument;
  page.querySelectorAll("details").forEach(details => details.open = true);
  // What a scroll bar takes from 360 is not there either.
  const room = page.documentElement.clientWidth;
  const wide = [...page.querySelectorAll("body *")].filter(element =>
    element.getBoundingClientRect().right > room && !element.closest(".scroll") && !element.closest("thead"));
  const names = wide.slice(0, 5).map(element => element.tagName + "." + element.className + " " + element.textContent.slice(0, 40));
  document.title = page.documentElement.scrollWidth - room + " " + page.querySelectorAll("*").length + " " + names.join("; ");
};
</script>"#;

#[test]
fn nothing_is_wider_than_a_phone_and_nothing_is_complained_of() {
    let Some(browser) = Browser::find() else { return };
    for (name, folder) in pages() {
        let gauge = folder.path().join("gauge.html");
        std::fs::write(&gauge, GAUGE).expect("written");
        let (dom, console) = browser.open(&gauge, &["--dump-dom"]);
        assert_eq!(console, "", "{name}");
        let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
        let title = title.unwrap_or_else(|| panic!("{name} was not measured: {dom}"));
        let mut words = title.splitn(3, ' ');
        let number =
            |word: Option<&str>| -> usize { word.and_then(|word| word.parse().ok()).expect("a number") };
        let (width, elements) = (number(words.next()), number(words.next()));
        assert!(width == 0, "{name} is {width} too wide: {:?}", words.next());
        let html = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
        let own = ParsedPage::parse(&html).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(elements, own.elements.len(), "{name}: the browser sees other elements");
    }
}

/// Run by hand, to look at: writes pages and pictures of them to the folder that the variable names.
#[test]
#[ignore = "makes pictures to look at; set ROBOTS_GATEWAY_PICTURES to a folder"]
fn pictures_to_look_at() {
    let Some(browser) = Browser::find() else { return };
    let target = std::env::var_os("ROBOTS_GATEWAY_PICTURES").expect("ROBOTS_GATEWAY_PICTURES names a folder");
    let target = Path::new(&target);
    for (name, folder) in pages() {
        let page = target.join(format!("{name}.html"));
        std::fs::copy(folder.path().join("page.html"), &page).expect("copied");
        for (kind, options) in [
            ("light", ["--window-size=1280,2400", "--blink-settings=preferredColorScheme=1"]),
            ("dark", ["--window-size=1280,2400", "--blink-settings=preferredColorScheme=0"]),
        ] {
            let picture = format!("--screenshot={}", target.join(format!("{name}-{kind}.png")).display());
            browser.open(&page, &[options[0], options[1], &picture]);
        }
        // A window cannot be as narrow as a phone; a frame can.
        let phone = target.join(format!("{name}-phone.html"));
        let frame = format!(
            "<!DOCTYPE html><body style=\"margin:0\"><iframe src=\"{name}.html\" width=\"360\" height=\"2400\" style=\"border:0\"></iframe>"
        );
        std::fs::write(&phone, frame).expect("written");
        let picture = format!("--screenshot={}", target.join(format!("{name}-phone.png")).display());
        browser
            .open(&phone, &["--window-size=500,2400", "--blink-settings=preferredColorScheme=1", &picture]);
    }
}
