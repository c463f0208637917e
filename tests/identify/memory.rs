//! A client that makes headers up cannot make the gateway grow.

use super::corpus::identifier;

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: usize = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Runs one measurement in a process of its own: other tests allocate too.
fn alone(measurement: &str) {
    let test = std::env::current_exe().expect("the path of this test");
    let output = std::process::Command::new(test)
        .args(["--exact", measurement, "--ignored", "--nocapture"])
        .output()
        .expect("the test starts");
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines()
        .filter(|line| line.contains("headers") || line.contains("skipped"))
        .for_each(|line| println!("{line}"));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_million_headers_do_not_add_up() {
    alone("memory::measured_alone");
}

fn made_up(i: u32) -> String {
    let filler = "x".repeat(usize::try_from(i % 400).expect("small"));
    match i % 3 {
        0 => format!(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{i}.0 Safari/537.36 {filler}"
        ),
        1 => format!("MadeUp{i}Bot/1.0 Own{}Bot (+https://example.org/{filler})", i % 50),
        _ => format!("tool{filler}/{i}"),
    }
}

fn count() -> u32 {
    if cfg!(debug_assertions) { 100_000 } else { 1_000_000 }
}

/// How much the process grows while `act` sees that many headers.
fn grows_little(mut act: impl FnMut(&[u8])) {
    act(made_up(1).as_bytes());
    let Some(before) = resident() else {
        println!("skipped: this system does not tell resident memory");
        return;
    };
    let count = count();
    (0..count).for_each(|i| act(made_up(i).as_bytes()));
    let grown = resident().unwrap_or(usize::MAX).saturating_sub(before);
    println!("{count} distinct headers: resident memory grew by {} KiB", grown / 1024);
    assert!(grown <= 16 << 20, "{grown} bytes");
}

#[test]
#[ignore = "started by a test above"]
fn measured_alone() {
    let identifier = identifier();
    assert!(identifier.recognise(Some(made_up(1).as_bytes())).is_judged());
    grows_little(|header| drop(identifier.recognise(Some(header))));
}
