//! Hexadecimal digits, for all that decodes escapes (RFC 3986 §2.1).

/// The values of hexadecimal digits; 16 for any other byte, so that two are asked about at once. A table takes a third of the
/// time of comparing.
#[expect(clippy::indexing_slicing, reason = "each byte has a place, and a constant cannot panic")]
const DIGITS: [u8; 256] = {
    let mut digits = [16; 256];
    let (mut rest, mut value): (&[u8], u8) = (b"0123456789abcdefABCDEF", 0);
    while let [digit, more @ ..] = rest {
        digits[*digit as usize] = if value < 16 { value } else { value - 6 };
        (rest, value) = (more, value + 1);
    }
    digits
};

/// The value of a hexadecimal digit, or 16.
pub(crate) fn digit(byte: u8) -> u8 {
    DIGITS.get(usize::from(byte)).copied().unwrap_or(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_digit_or_none() {
        for byte in 0..=255_u8 {
            let expected = char::from(byte).to_digit(16).unwrap_or(16);
            assert_eq!(u32::from(digit(byte)), expected, "{byte:#x}");
        }
    }
}
