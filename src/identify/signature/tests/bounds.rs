//! What is done of the work, and in which order, when somebody sends signatures that are wrong on purpose.

use super::super::{FieldLine, SignatureCheck, SignatureFault, SignedStatement};
use super::trial::{AGENT, NOW, Trial, components, good, pair, parameters, public};
use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Counts what it is asked and told, and admits so many.
struct CountingCheck {
    admits: usize,
    asked: usize,
    faults: usize,
    checked: usize,
}

impl SignatureCheck for CountingCheck {
    fn admit(&mut self) -> Result<(), SignatureFault> {
        self.asked += 1;
        if self.asked <= self.admits { Ok(()) } else { Err(SignatureFault::TooMuchWork) }
    }

    fn note_fault(&mut self) {
        self.faults += 1;
    }

    fn check(&mut self, _: &SignedStatement<'_>) -> Result<(), SignatureFault> {
        self.checked += 1;
        Err(SignatureFault::Mismatch)
    }
}

/// Who knows a public `keyid` can have bases built, and does not need the key for that.
#[test]
fn no_base_is_built_beyond_what_is_admitted_and_its_faults_are_noted() {
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
            let mut check = CountingCheck { admits, asked: 0, faults: 0, checked: 0 };
            let outcome = verify_signature(&message, at(NOW), |agent| known.0.get(agent), &mut check);
            assert_eq!((outcome, check.faults, check.asked), (Err(first), admits, 4), "{components}");
            assert_eq!(check.checked, 0);
        }
    }
}
