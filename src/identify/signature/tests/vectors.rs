//! RFC 9421 appendix B, the appendix of draft-ietf-webbotauth-httpsig-protocol, and the vectors of
//! cloudflare/web-bot-auth.

use super::super::base::signature_base;
use super::super::field::{self, Dictionary};
use super::super::{FieldLine, SignatureFault};
use super::*;
use crate::identify::signature::VerifiedSignature;

/// The test request of RFC 9421 §B.2.
const REQUEST: [FieldLine<'static>; 5] = [
    (b"Host", b"example.com"),
    (b"Date", b"Tue, 20 Apr 2021 02:07:55 GMT"),
    (b"Content-Type", b"application/json"),
    (
        b"Content-Digest",
        b"sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:",
    ),
    (b"Content-Length", b"18"),
];

fn request() -> SignedMessage<'static> {
    message("POST", "example.com", "/foo?param=Value&Pet=dog", &REQUEST)
}

/// Whether the key verifies the signature over the base that is built here.
fn verifies(message: &SignedMessage<'_>, key: &JwkParts<'_>, input: &str, signature: &str) -> bool {
    let inputs: Dictionary = field::parse(input.as_bytes()).unwrap();
    let signatures: Dictionary = field::parse(signature.as_bytes()).unwrap();
    let base = signature_base(message, field::list(&inputs[0]).unwrap()).unwrap();
    let bytes = field::item(&signatures[0]).unwrap().bare_item.as_byte_sequence().unwrap();
    assert_eq!(inputs.keys().next(), signatures.keys().next());
    let key = test_key(key);
    key.has_signed(&base, bytes)
}

#[test]
fn rfc_9421_b_2_asymmetric_signatures() {
    for (section, message, key, input, signature) in [
        (
            "B.2.1",
            request(),
            RSA_PSS,
            "sig-b21=();created=1618884473;keyid=\"test-key-rsa-pss\";nonce=\"b3k2pp5k7z-50gnwp.yemd\"",
            "sig-b21=:d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsckzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXehhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q==:",
        ),
        (
            "B.2.3",
            request(),
            RSA_PSS,
            "sig-b23=(\"date\" \"@method\" \"@path\" \"@query\" \"@authority\" \"content-type\" \"content-digest\" \"content-length\");created=1618884473;keyid=\"test-key-rsa-pss\"",
            "sig-b23=:bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp768ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQoLd7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA==:",
        ),
        (
            "B.2.6",
            request(),
            ED25519_KEY,
            "sig-b26=(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"",
            "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:",
        ),
    ] {
        assert!(verifies(&message, &key, input, signature), "{section}");
        let created = input.replace("1618884473", "1618884474");
        assert!(!verifies(&message, &key, &created, signature), "{section}");
    }
}

#[test]
fn rfc_9421_b_3_tls_terminating_proxy() {
    let fields: [FieldLine<'_>; 1] = [(
        b"Client-Cert",
        b":MIIBqDCCAU6gAwIBAgIBBzAKBggqhkjOPQQDAjA6MRswGQYDVQQKDBJMZXQncyBBdXRoZW50aWNhdGUxGzAZBgNVBAMMEkxBIEludGVybWVkaWF0ZSBDQTAeFw0yMDAxMTQyMjU1MzNaFw0yMTAxMjMyMjU1MzNaMA0xCzAJBgNVBAMMAkJDMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8YnXXfaUgmnMtOXU/IncWalRhebrXmckC8vdgJ1p5Be5F/3YC8OthxM4+k1M6aEAEFcGzkJiNy6J84y7uzo9M6NyMHAwCQYDVR0TBAIwADAfBgNVHSMEGDAWgBRm3WjLa38lbEYCuiCPct0ZaSED2DAOBgNVHQ8BAf8EBAMCBsAwEwYDVR0lBAwwCgYIKwYBBQUHAwIwHQYDVR0RAQH/BBMwEYEPYmRjQGV4YW1wbGUuY29tMAoGCCqGSM49BAMCA0gAMEUCIBHda/r1vaL6G3VliL4/Di6YK0Q6bMjeSkC3dFCOOB8TAiEAx/kHSB4urmiZ0NX5r5XarmPk0wmuydBVoU4hBVZ1yhk=:",
    )];
    let message = message("POST", "service.internal.example", "/foo?param=Value&Pet=dog", &fields);
    assert!(verifies(
        &message,
        &ECC_P256,
        "ttrp=(\"@path\" \"@query\" \"@method\" \"@authority\" \"client-cert\");created=1618884473;keyid=\"test-key-ecc-p256\"",
        "ttrp=:xVMHVpawaAC/0SbHrKRs9i8I3eOs5RtTMGCWXm/9nvZzoHsIg6Mce9315T6xoklyy0yzhD9ah4JHRwMLOgmizw==:",
    ));
}

#[test]
fn rfc_9421_b_4_transformations() {
    let holds = |method: &str, authority: &str, target: &str, accept: &[&str]| {
        let fields: Vec<FieldLine<'_>> =
            accept.iter().map(|value| (&b"Accept"[..], value.as_bytes())).collect();
        verifies(
            &message(method, authority, target, &fields),
            &ED25519_KEY,
            "transform=(\"@method\" \"@path\" \"@authority\" \"accept\");created=1618884473;keyid=\"test-key-ed25519\"",
            "transform=:ZT1kooQsEHpZ0I1IjCqtQppOmIqlJPeo7DHR3SoMn0s5JZ1eRGS0A+vyYP9t/LXlh5QMFFQ6cpLt2m0pmj3NDA==:",
        )
    };
    let sent = "/demo?name1=Value1&Name2=value2";
    assert!(holds("GET", "example.org", sent, &["application/json", "*/*"]));
    assert!(holds("GET", "example.org", "/demo?name1=Value1&param=added", &["application/json", "*/*"]));
    assert!(holds("GET", "example.org", sent, &["application/json, */*"]));
    assert!(holds("GET", "EXAMPLE.org:443", sent, &[" application/json", "*/* "]));
    assert!(!holds("POST", "example.com", sent, &["application/json", "*/*"]));
    assert!(!holds("GET", "example.org", sent, &["*/*", "application/json"]));
}

/// §3.2 of RFC 7638, and the thumbprints that the draft's vectors are signed by.
#[test]
fn thumbprints_are_those_of_rfc_7638() {
    assert_eq!(&*test_key(&RSA_PSS).thumbprint, "oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA");
    assert_eq!(&*test_key(&ED25519_KEY).thumbprint, "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U");
    assert_eq!(&*test_key(&ECC_P256).thumbprint, "ydQXMtvbsOsZyFir-Y7A8t7fKEM1gbKPvyFkdpu4fvI");
    let of_rfc_8037 = JwkParts { x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", ..ED25519_KEY };
    let thumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
    assert_eq!(&*of_rfc_8037.key().unwrap().thumbprint, thumbprint);
    for parts in [RSA_PSS, ED25519_KEY, ECC_P256] {
        assert_eq!(parts.key(), Err(KeyFault::TestKey));
    }
}

#[test]
fn what_is_no_key_is_refused() {
    for (parts, fault) in [
        (JwkParts { kty: "oct", ..ED25519_KEY }, KeyFault::Unsupported),
        (JwkParts { crv: "Ed448", ..ED25519_KEY }, KeyFault::Unsupported),
        (JwkParts { crv: "P-384", ..ECC_P256 }, KeyFault::Unsupported),
        (JwkParts { x: "", ..ED25519_KEY }, KeyFault::Malformed),
        (JwkParts { x: "JrQ+", ..ED25519_KEY }, KeyFault::Malformed),
        (JwkParts { y: "", ..ECC_P256 }, KeyFault::Malformed),
        // The same point, cut at another place, would go by another thumbprint.
        (
            JwkParts {
                x: "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4Fig",
                y: "8DHOJzfS0wzgYX6FHoPGHvVnnRUYZ2V2SQNdkKdM2ehd",
                ..ECC_P256
            },
            KeyFault::Malformed,
        ),
        (JwkParts { e: "", ..RSA_PSS }, KeyFault::Malformed),
        (JwkParts { e: "AQABAQAB", ..RSA_PSS }, KeyFault::Malformed),
        (JwkParts { n: "AQAB", ..RSA_PSS }, KeyFault::Size),
    ] {
        assert_eq!(parts.key(), Err(fault), "{parts:?}");
    }
}

/// The vectors of cloudflare/web-bot-auth, which are also those of the draft's appendix. Those without `Signature-Agent`
/// verify, and name nobody.
#[test]
fn web_bot_auth_vectors() {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS").map(std::path::PathBuf::from) else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let mut seen = 0;
    for name in ["web_bot_auth_architecture_v1.json", "web_bot_auth_architecture_v2.json"] {
        let text = std::fs::read(folder.join("signed").join(name)).unwrap();
        let vectors: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
        for vector in vectors {
            let text = |name: &str| vector[name].as_str().unwrap_or_default();
            assert_eq!(text("target_url"), "https://example.com/path/to/resource");
            let key = if vector["key"]["kty"] == "RSA" { RSA_PSS } else { ED25519_KEY };
            let mut fields: Vec<FieldLine<'_>> = vec![
                (b"Signature-Input", text("signature_input").as_bytes()),
                (b"Signature", text("signature").as_bytes()),
            ];
            let has_agent = vector.get("signature_agent").is_some();
            if has_agent {
                fields.push((b"Signature-Agent", text("signature_agent").as_bytes()));
            }
            let message = message("GET", "example.com", "/path/to/resource", &fields);
            assert!(verifies(&message, &key, text("signature_input"), text("signature")));
            let created = vector["created_ms"].as_u64().unwrap() / 1_000;
            let known = Known::of("https://signature-agent.test", &[test_key(&key)]);
            let outcome = known.verify(&message, at(created + 10));
            let verified = VerifiedSignature {
                agent: SignatureAgent::parse("https://signature-agent.test").unwrap(),
                keyid: test_key(&key).thumbprint,
                covers_target: false,
            };
            let expected = if has_agent { Ok(verified) } else { Err(SignatureFault::NoAgent) };
            assert_eq!(outcome, expected, "{vector}");
            // A hundred years are capped.
            assert!(known.verify(&message, at(created + 86_401)).is_err());
            seen += 1;
        }
    }
    assert_eq!(seen, 8);
    println!("{seen} vectors");
}

/// The forms of `Signature-Agent` in the same collection.
#[test]
fn web_bot_auth_forms_of_the_agent() {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS").map(std::path::PathBuf::from) else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let text = std::fs::read(folder.join("signed/web_bot_auth_signature_agent_v1.json")).unwrap();
    let vectors: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
    for vector in &vectors {
        let header = vector["header"].as_str().unwrap();
        let members: Dictionary = field::parse(header.as_bytes()).unwrap();
        let entries = vector["entries"].as_array().unwrap();
        assert_eq!(members.len(), entries.len());
        for ((label, member), entry) in members.iter().zip(entries) {
            let item = field::item(member).unwrap();
            assert_eq!(
                (label.as_str(), field::text(item)),
                (entry["label"].as_str().unwrap(), entry["uri"].as_str())
            );
            let kind = item.params.get("type").and_then(|kind| kind.as_token());
            assert_eq!(Some(kind.map_or("directory", |kind| kind.as_str())), entry["type"].as_str());
        }
    }
    assert_eq!(vectors.len(), 3);
}
