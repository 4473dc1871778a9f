//! Bytes as text: the base 32 of NATS keys with its checksum, and hex.

/// The digits of RFC 4648's base 32.
const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Why a text is no key of NATS. It never repeats the text, which may be a secret in the wrong place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadKeyText {
    /// A character that is no digit of base 32.
    #[error(
        "character {place} is none of A to Z and 2 to 7; a key is one word, in upper case, without blanks"
    )]
    Character {
        /// Which character, counted from 1.
        place: usize,
    },
    /// It cannot have this length.
    #[error("it has {found} characters, and {wanted} are wanted: it was cut, or is something else")]
    Length {
        /// How many it has.
        found: usize,
        /// How many the kind of key that was wanted has.
        wanted: usize,
    },
    /// Its checksum is not that of its bytes.
    #[error("its checksum is wrong: a character was mistyped or lost; copy it again")]
    Checksum,
}

/// The text of a key: these bytes (its prefix among them) and a checksum, in base 32 without padding.
#[must_use]
pub fn key_text(bytes: &[u8]) -> String {
    let checksum = crc16(bytes).to_le_bytes();
    let length = characters(bytes.len());
    // With its whole room from the start, so that no copy of a secret is left behind by growing.
    let mut text = String::with_capacity(length);
    let mut held: u32 = 0;
    let mut bits = 0;
    for byte in bytes.iter().chain(&checksum) {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            push_digit(&mut text, held >> bits);
        }
    }
    if bits > 0 {
        push_digit(&mut text, held << (5 - bits));
    }
    text
}

/// The bytes of a key's text without the checksum, which is right. Only the very text that [`key_text`] makes is read.
///
/// # Errors
///
/// [`BadKeyText`] says what is wrong with it, and never what it is.
pub fn key_bytes<const N: usize>(text: &str) -> Result<[u8; N], BadKeyText> {
    let wanted = characters(N);
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'2'..=b'7' => Some(digit - b'2' + 26),
        _ => None,
    };
    if let Some(place) = text.chars().position(|c| u8::try_from(c).ok().and_then(value).is_none()) {
        return Err(BadKeyText::Character { place: place + 1 });
    }
    if text.len() != wanted {
        return Err(BadKeyText::Length { found: text.len(), wanted });
    }
    let mut bytes = [0; N];
    let mut checksum = [0; 2];
    let mut places = bytes.iter_mut().chain(&mut checksum);
    let mut held: u32 = 0;
    let mut bits = 0;
    for digit in text.bytes().filter_map(value) {
        held = (held << 5) | u32::from(digit);
        bits += 5;
        if bits >= 8
            && let Some(place) = places.next()
        {
            bits -= 8;
            // The lowest eight bits; what is above them was taken before.
            *place = (held >> bits).to_le_bytes()[0];
        }
    }
    // What is left of the last digit is padding, and there is one way to pad.
    let padding = held & ((1 << bits) - 1);
    if padding != 0 || crc16(&bytes).to_le_bytes() != checksum {
        return Err(BadKeyText::Checksum);
    }
    Ok(bytes)
}

/// How many characters the text of so many bytes has.
const fn characters(bytes: usize) -> usize {
    ((bytes + 2) * 8).div_ceil(5)
}

fn push_digit(text: &mut String, value: u32) {
    let [low, ..] = (value & 31).to_le_bytes();
    text.push(char::from(DIGITS[usize::from(low)]));
}

/// CRC-16 with the polynomial 0x1021 from zero, as XMODEM has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}

/// Bytes in lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
    text
}

/// The bytes of a text in lower-case hex; `None` when it is anything else.
pub(super) fn bytes_of_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = (value(pair[0])? << 4) | value(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_xmodem() {
        assert_eq!(crc16(b"123456789"), 0x31c3, "the check value of the catalogue of CRCs");
        assert_eq!(crc16(b""), 0);
    }

    #[test]
    fn texts_of_any_length_are_read_back() {
        let bytes: [u8; 9] = [0, 255, 7, 128, 1, 2, 3, 254, 99];
        assert_eq!(key_bytes(&key_text(&bytes)), Ok(bytes));
        assert_eq!(
            key_bytes(&key_text(&bytes[..8])),
            Ok::<[u8; 8], _>([0, 255, 7, 128, 1, 2, 3, 254])
        );
        assert_eq!(key_bytes(&key_text(&[])), Ok([]));
    }

    #[test]
    fn there_is_one_text_for_some_bytes() {
        // 36 bytes end in two bits that say nothing.
        let text = key_text(&[7; 34]);
        let last = text.chars().last().unwrap();
        for other in DIGITS.iter().map(|digit| char::from(*digit)).filter(|digit| *digit != last) {
            let text = format!("{}{other}", &text[..text.len() - 1]);
            assert_eq!(key_bytes::<34>(&text), Err(BadKeyText::Checksum), "{text}");
        }
    }

    #[test]
    fn hex_is_read_back_and_nothing_else_is() {
        assert_eq!(bytes_of_hex(&hex(&[0, 255, 16])), Some([0, 255, 16]));
        for text in ["", "0", "00FF", "00f", "0g00", "é0"] {
            assert_eq!(bytes_of_hex::<2>(text), None, "{text}");
        }
    }
}
