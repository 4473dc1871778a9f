//! Laws of names: parsing is total, and what was parsed prints as it was.

use names::{BuildId, Commit, Digest, MachineName};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_is_a_name_to_the_letter_or_is_refused(text in any::<String>()) {
        if let Ok(name) = MachineName::new(text.clone()) {
            prop_assert_eq!(name.as_str(), text.as_str());
            prop_assert!(text.len() <= 63 && !text.contains(['.', '*', '>', ' ', '/']));
        }
        let ids = [BuildId::new(text.clone()).map(String::from), Commit::new(text.clone()).map(String::from)];
        for parsed in ids.into_iter().flatten() {
            prop_assert_eq!(&parsed, &text);
        }
    }

    #[test]
    fn each_name_of_the_alphabet_parses(text in "[a-z0-9][a-z0-9_-]{0,62}") {
        prop_assert!(MachineName::new(text).is_ok());
    }

    #[test]
    fn digests_differ_where_their_bytes_do(a in any::<[u8; 32]>(), b in any::<[u8; 32]>()) {
        prop_assert_eq!(Digest::from_bytes(a) == Digest::from_bytes(b), a == b);
    }
}
