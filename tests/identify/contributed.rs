//! The headers that contributors brought, `contributed.tsv`: each is recognised as its line says.

use crate::corpus::identifier;

#[test]
fn each_header_is_what_its_line_says() {
    let lines = include_str!("contributed.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut seen = 0;
    for line in lines {
        let fields: Vec<&str> = line.splitn(3, '\t').collect();
        let [client, crawler, header] = fields[..] else { panic!("three fields and tabs: {line}") };
        let identity = identifier().recognise(Some(header.as_bytes()));
        let name = identity.crawler.as_deref().unwrap_or("-");
        assert_eq!((identity.client.to_string().as_str(), name), (client, crawler), "{header}");
        seen += 1;
    }
    assert!(seen > 20, "only {seen} headers seen");
}
