//! What is done of the work, and in which order, when somebody sends signatures that are wrong on purpose.

use super::super::{FieldLine, SignatureFault};
use super::trial::{AGENT, NOW, Trial, components, good, pair, parameters, public};
use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Who knows a public `keyid` can have bases built, and does not need the key for that.
#[test]
fn each_signature_is_asked_for_before_its_base_is_built() {
    let parts = (0..20).map(|n| format!(" \"x\";key=\"a{n}\"")).collect::<Vec<_>>().concat();
    let cases = [
        (format!("{} \"x-none\"", components()), SignatureFault::MissingComponent),
        (format!("{} \"@path\"", components()), SignatureFault::DuplicateComponent),
        (components() + &parts, SignatureFault::TooMany),
    ];
    for (components, fault) in cases {
        let four: Vec<String> = (1..5).map(|n| format!("sig{n}=({components}){}", parameters())).collect();
        let signatures: Vec<String> =
            (1..5).map(|n| format!("sig{n}=:{}:", STANDARD.encode([n; 64]))).collect();
        let trial = Trial { signature: Some(signatures.join(", ")), ..good().input(|_| four.join(", ")) };
        let fields = trial.all_fields();
        let lines: Vec<FieldLine<'_>> =
            fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        let (message, known) =
            (message("GET", "example.org", "/a", &lines), Known::of(AGENT, &[public(&pair(7))]));
        for (admits, first) in [(4, fault), (0, SignatureFault::TooMuchWork)] {
            let (mut asked, mut faults) = (0, 0);
            let outcome = verify_signature(
                &message,
                at(NOW),
                |agent| known.0.get(agent),
                |statement| {
                    asked += 1;
                    if asked > admits {
                        return Err(SignatureFault::TooMuchWork);
                    }
                    statement.verify().inspect_err(|_| faults += 1)
                },
            );
            assert_eq!((outcome, faults, asked), (Err(first), admits, 4), "{components}");
        }
    }
}
