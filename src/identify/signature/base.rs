//! The signature base (RFC 9421 §2.5): the bytes that were signed.

use super::component::ComponentId;
use super::fault::SignatureFault;
use super::field::DictionaryMember;
use super::message::SignedMessage;

/// How many covered components may each be a part of a field or of the query.
const MOST_PARTS: usize = 4;

/// The base of a signature whose `Signature-Input` is `input`.
pub(super) fn signature_base(
    message: &SignedMessage<'_>,
    input: &DictionaryMember<'_>,
) -> Result<Vec<u8>, SignatureFault> {
    let mut components: Vec<(String, ComponentId<'_>)> = Vec::with_capacity(input.items.len());
    for item in &input.items {
        let mut name = String::new();
        item.write(&mut name);
        if components.iter().any(|(known, _)| *known == name) {
            return Err(SignatureFault::DuplicateComponent);
        }
        components.push((name, ComponentId::of(item)?));
    }
    if components.iter().filter(|(_, id)| id.is_part()).count() > MOST_PARTS {
        return Err(SignatureFault::TooMany);
    }
    let mut base = Vec::with_capacity(512);
    for (name, id) in components {
        base.extend_from_slice(name.as_bytes());
        base.extend_from_slice(b": ");
        base.extend_from_slice(&id.value(message)?);
        base.push(b'\n');
    }
    let mut parameters = "\"@signature-params\": ".to_owned();
    input.write(&mut parameters);
    base.extend_from_slice(parameters.as_bytes());
    Ok(base)
}
