//! The same content is recognised under whatever id, commit and order it comes.

use inventory::Build;
use proptest::prelude::*;

use crate::fleet;

proptest! {
    #[test]
    fn the_same_content_under_another_name_is_recognised(
        (artifacts, shuffled) in prop::collection::vec(any::<u8>(), 0..6)
            .prop_flat_map(|artifacts| (Just(artifacts.clone()), Just(artifacts).prop_shuffle())),
        number in any::<u8>(),
    ) {
        let first = fleet::build(1, 1, &artifacts);
        let again = Build { source_fingerprint: Some(fleet::digest(9)), ..fleet::build(number, 1, &shuffled) };
        prop_assert_eq!(first.content(), again.content());
        prop_assert_eq!(first.artifact_fingerprint(), again.artifact_fingerprint());
    }

    #[test]
    fn another_artifact_or_another_manifest_is_another_content(
        artifacts in prop::collection::btree_set(any::<u8>(), 0..6),
        added in any::<u8>(),
    ) {
        let artifacts: Vec<_> = artifacts.into_iter().collect();
        let build = fleet::build(1, 1, &artifacts);
        prop_assert_ne!(build.content(), fleet::build(1, 2, &artifacts).content());
        let more = [artifacts.as_slice(), &[added]].concat();
        prop_assert_ne!(build.content(), fleet::build(1, 1, &more).content());
        let mut renamed = build.clone();
        if let Some(artifact) = renamed.artifacts.first_mut() {
            // The command refers to files by name, so a name is content too.
            artifact.name = fleet::artifact(added).name;
            prop_assert_eq!(renamed.content() == build.content(), artifacts[0] == added);
        }
    }
}
