//! Any bytes may stand where a header of the PROXY protocol is expected: reading them must not panic, and what is
//! said of a beginning must agree with what is said of the whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use robots_gateway::request::proxy_protocol::{LONGEST, parse};

fuzz_target!(|bytes: &[u8]| {
    let whole = parse(bytes);
    if let Ok(Some(header)) = whole {
        assert!(header.length <= bytes.len() && header.length <= LONGEST);
        // Nothing behind the header has a say in it, and without its last byte it is no header yet.
        assert_eq!(parse(&bytes[..header.length]), whole);
        assert_eq!(parse(&bytes[..header.length - 1]), Ok(None));
    }
    if whole == Ok(None) {
        assert!(bytes.len() <= LONGEST);
        assert!((0..bytes.len()).all(|end| parse(&bytes[..end]) == Ok(None)));
    }
});
