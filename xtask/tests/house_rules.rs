//! The house rules hold for the tree as it is: the same as `cargo xtask tidy`.

use xtask::tidy::{Tree, findings};
use xtask::workspace::Workspace;

#[test]
fn the_tree_is_tidy() {
    let tree = Tree::read(&Workspace::find().unwrap()).unwrap();
    let found: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}
