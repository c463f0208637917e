//! Any bytes may stand where a header of the PROXY protocol is expected: reading them must not panic, and what is
//! said of a beginning must agree with what is said of the whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robots_gateway::request::proxy_protocol::{LONGEST, Progress, parse};

fuzz_target!(|octets: &[u8]| {
    let whole = parse(octets);
    if let Progress::Complete(header) = whole {
        assert!(header.length <= octets.len() && header.length <= LONGEST);
        // Nothing behind the header has a say in it, and without its last octet it is no header yet.
        assert_eq!(parse(&octets[..header.length]), whole);
        assert_eq!(parse(&octets[..header.length - 1]), Progress::Incomplete);
    }
    if whole == Progress::Incomplete {
        assert!(octets.len() <= LONGEST);
        assert!((0..octets.len()).all(|end| parse(&octets[..end]) == Progress::Incomplete));
    }
});
