//! The other name that most sites have: with `www.` in front, or without.

/// The name that a visitor of `host` may type, too; `None` for one where that would be a guess.
pub fn www_sibling(host: &str) -> Option<String> {
    if let Some(bare) = host.strip_prefix("www.") {
        return bare.contains('.').then(|| bare.to_owned());
    }
    let labels: Vec<&str> = host.split('.').collect();
    let is_site = match *labels.as_slice() {
        [_, top] => top.bytes().all(|byte| byte.is_ascii_alphabetic()) || top.starts_with("xn--"),
        // `example.co.uk`, and not `shop.example.org`.
        [_, second, top] => second.len() <= 3 && top.len() == 2,
        _ => false,
    };
    is_site.then(|| format!("www.{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_a_sibling_and_a_part_of_one_has_none() {
        for (host, other) in [
            ("example.org", "www.example.org"),
            ("www.example.org", "example.org"),
            ("example.co.uk", "www.example.co.uk"),
            ("www.shop.example.org", "shop.example.org"),
            ("example.xn--p1ai", "www.example.xn--p1ai"),
        ] {
            assert_eq!(www_sibling(host).as_deref(), Some(other));
        }
        for host in ["shop.example.org", "localhost", "www.localhost", "192.0.2.1", "10.1", ""] {
            assert_eq!(www_sibling(host), None, "{host}");
        }
    }
}
