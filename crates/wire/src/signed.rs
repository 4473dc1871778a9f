//! Words that count because of who signed them.
//!
//! What frees a failure book is a word of an operator, and what a machine runs is a word of its controller. Both
//! reach the machine over a bus that others may write to, so the machine looks at the signature and at nothing else.
//!
//! ```text
//!  a Word ──sign──> Signed { by, payload, signature } ──verify──> Verified<Word>
//!                   the signature is over DOMAIN ‖ payload, to the byte
//! ```
//!
//! - [`verify`] is the one place where a signature is looked at, and the only one that makes a [`Verified`]. Nothing
//!   is parsed before its signature is right.
//! - The bytes that were signed are the bytes that travel. Nothing is encoded anew to be verified.
//! - Each kind of word has a [domain](Word::DOMAIN), so that a signature under one kind says nothing under another,
//!   and the roles whose word it is.
//! - A signature says who, not how often: a grant is used once ([`UsedGrants`]), and no pointer is taken after a newer one
//!   ([`Floors`]).
//!
//! Nothing here makes a key or draws an id. Keys are on disk, and whoever has them is a [`Signer`].

mod compose;
mod declaration;
mod floors;
mod grant;
mod pointer;
mod public_key;
mod rotation;
mod sign;
mod text;
mod trusted;
mod used_grants;
mod validity;
mod verify;

pub use compose::{
    BadTerm, GrantTerms, NotIssued, grant_for, issue_grant, issue_pointer, issue_rotation,
};
pub use declaration::SignedDeclaration;
pub use floors::{Accepted, BelowFloor, Floors};
pub use grant::{Generation, RetryGrant};
pub use pointer::{Pointer, PointerKind};
pub use public_key::{BadPublicKey, PublicKey, Role};
pub use rotation::Rotation;
pub use sign::{BadSignatureText, NotSigned, Signature, Signed, Signer, sign};
pub use text::{BadKeyText, key_bytes, key_text};
pub use trusted::{NotRotated, TrustedKeys, WrongRole};
pub use used_grants::{NotUsable, UsedGrants};
pub use validity::{CLOCK_TOLERANCE, GRANT_DEFAULT, GRANT_MAX, Validity};
pub use verify::{Verified, Word, WordError, verify};
