//! The signature base (RFC 9421 §2.5): the bytes that were signed.

use super::component::ComponentId;
use super::fault::SignatureFault;
use super::field::DictionaryMember;
use super::message::SignedMessage;

/// More covered components than this are signed by nobody.
const MOST_COMPONENTS: usize = 32;

/// The base of a signature whose `Signature-Input` is `input`.
pub(super) fn signature_base(
    message: &SignedMessage<'_>,
    input: &DictionaryMember<'_>,
) -> Result<Vec<u8>, SignatureFault> {
    if input.items.len() > MOST_COMPONENTS {
        return Err(SignatureFault::TooMany);
    }
    let mut base = Vec::with_capacity(512);
    let mut names: Vec<String> = Vec::with_capacity(input.items.len());
    for item in &input.items {
        let mut name = String::new();
        item.write(&mut name);
        let value = ComponentId::of(item)?.value(message)?;
        base.extend_from_slice(name.as_bytes());
        base.extend_from_slice(b": ");
        base.extend_from_slice(&value);
        base.push(b'\n');
        if names.contains(&name) {
            return Err(SignatureFault::DuplicateComponent);
        }
        names.push(name);
    }
    let mut parameters = "\"@signature-params\": ".to_owned();
    input.write(&mut parameters);
    base.extend_from_slice(parameters.as_bytes());
    Ok(base)
}
