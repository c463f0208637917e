//! Findings about a file as a whole: its encoding, its size, how many there are.

use super::*;

#[test]
fn encodings() {
    assert_eq!(findings("\u{feff}User-agent: a\nDisallow: /x\n"), ["1:1 byte-order-mark"]);
    assert_eq!(findings(b"User-agent: a\nDisallow: /caf\xE9\n"), ["2:15 not-utf8"]);
    let wide: Vec<u8> = "User-agent: *\nDisallow: /\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(findings(&wide), ["1:1 utf16"]);
    let marked = [&b"\xFF\xFE"[..], &wide].concat();
    assert_eq!(findings(&marked), ["1:1 utf16"]);
    assert_eq!(parse(&marked).findings[0].severity, Severity::Error);
}

#[test]
fn html() {
    let page = parse("\n<!DOCTYPE html>\n<html><body>\n<p>Page: not found</p>\n</body></html>\n");
    assert_eq!(page.robots.records(), 0);
    assert_eq!(page.findings.len(), 1);
    assert_eq!((page.findings[0].kind, page.findings[0].severity), (FindingKind::Html, Severity::Error));
    let json = parse("{\"error\": \"not found\"}\n");
    assert_eq!((json.findings[0].kind, json.findings[0].severity), (FindingKind::Json, Severity::Error));
    assert_eq!(json.findings.len(), 1);
    let mixed = parse("<html>\nUser-agent: *\nDisallow: /x\n");
    assert_eq!(mixed.robots.records(), 2);
    assert!(mixed.findings.iter().all(|finding| finding.severity == Severity::Warning));
}

#[test]
fn many_findings_are_cut_short() {
    let parsed = parse("nonsense here and there\n".repeat(5000));
    assert_eq!(parsed.findings.len(), 1001);
    let last = parsed.findings.last().unwrap();
    assert_eq!(last.kind, FindingKind::MoreFindings);
    assert_eq!(last.to_string(), "4000 further findings are not shown");
}

#[test]
fn findings_about_the_whole_file_are_never_left_out() {
    let mut file = b"User-agent: *\nDisallow: /\n".to_vec();
    file.extend(b"nonsense here and there\n".repeat(5000));
    file.extend(b"# \xFF\n");
    file.extend(b"# beyond\n".repeat(60_000));
    let found = parse(&file).findings;
    for kind in [FindingKind::DisallowAll, FindingKind::NotUtf8, FindingKind::TooLarge] {
        assert_eq!(found.iter().filter(|found| found.kind == kind).count(), 1, "{kind:?}");
    }
    assert_eq!(found.len(), 1004);
    assert_eq!(found.last().unwrap().kind, FindingKind::MoreFindings);
    let page = parse(format!("<html>\nUser-agent: *\n{}", "nonsense here and there\n".repeat(5000)));
    assert!(page.findings.iter().any(|found| found.kind == FindingKind::Html));
}

#[test]
fn size() {
    let large = |size: usize, end: &str, limit: usize| {
        let mut file = String::from("User-agent: *\nDisallow: /x\n");
        while file.len() < size {
            file.push_str(if size - file.len() == 1 { "#" } else { "#\n" });
        }
        let parsed = Robots::parse((file + end).as_bytes(), &ParseLimits { max_bytes: limit });
        let found = parsed.findings.iter().map(|found| (found.kind, found.severity, found.to_string()));
        found.collect::<Vec<_>>()
    };
    assert_eq!(large(LEAST_LIMIT, "", 0), []);
    assert_eq!(large(LEAST_LIMIT, "\r\n\n", 0), [], "only line ends are beyond");
    assert_eq!(large(LEAST_LIMIT, "\n", LEAST_LIMIT * 2), []);
    let ignored = "the rest of the file is ignored: only 512000 bytes are read".to_owned();
    assert_eq!(
        large(LEAST_LIMIT, "\nDisallow: /y", 0),
        [(FindingKind::TooLarge, Severity::Warning, ignored)]
    );
    let others = "crawlers may ignore the rest of the file: they must read 512000 bytes, no more".to_owned();
    assert_eq!(
        large(LEAST_LIMIT, "\nDisallow: /y", LEAST_LIMIT * 2),
        [(FindingKind::TooLarge, Severity::Note, others)]
    );
}

/// What this thread has used: a busy machine takes none of it.
fn processor_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec.try_into().unwrap(), used.tv_nsec.try_into().unwrap())
}

/// Rules that each have to be checked, and as many sitemaps, of one path or of many.
#[test]
fn sitemaps_do_not_multiply_with_rules() {
    let start = processor_time();
    for many in [false, true] {
        let mut file = String::from("user-agent:*\ndisallow:/b\nsitemap:s://x/b\n");
        for number in 0.. {
            if file.len() > 250_000 {
                break;
            }
            file.push_str("disallow:/*");
            for bit in 0..14 {
                file.push_str(if number >> bit & 1 == 0 { "a*" } else { "b*" });
            }
            file.push_str("a\n");
        }
        for number in 0..13_000 {
            let path = if many { format!("b{number}") } else { "ab0".to_owned() };
            let _ = writeln!(file, "sitemap:s://x/{path}");
        }
        let parsed = parse(&file);
        let disallowed = parsed.findings.iter().filter(|found| found.kind == FindingKind::SitemapDisallowed);
        assert_eq!(disallowed.count(), if many { 64 } else { 1 });
        assert!(parsed.robots.sitemaps().count() > 10_000);
    }
    let took = processor_time().saturating_sub(start);
    assert!(took < Duration::from_secs(10), "{took:?}");
}
