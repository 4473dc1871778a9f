//! An amount of memory as manifests write it: `512M`.

/// The units, powers of 1,024, the largest first, so that printing finds the largest that divides.
const UNITS: [(&str, u64); 5] =
    [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("B", 1)];

/// So many bytes, at least one; `None` for a text that is no amount.
pub(super) fn parse(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor).filter(|bytes| *bytes > 0)
}

/// In the largest unit that divides.
pub(super) fn print(bytes: u64) -> String {
    let whole = UNITS.iter().find(|(_, factor)| bytes.is_multiple_of(*factor));
    let (unit, factor) = whole.copied().unwrap_or(("B", 1));
    format!("{}{unit}", bytes / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_and_print() {
        let cases = [
            ("1B", 1),
            ("1000B", 1_000),
            ("64K", 65_536),
            ("512M", 536_870_912),
            ("3G", 3_221_225_472),
        ];
        for (text, bytes) in cases {
            assert_eq!((parse(text), print(bytes).as_str()), (Some(bytes), text));
        }
        assert_eq!(parse("1024K").map(print).as_deref(), Some("1M"));
    }

    #[test]
    fn other_texts_are_no_amounts() {
        for text in ["", "512", "0M", "M", "1.5G", "512m", "512MB", "-1M", "99999999999T"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
