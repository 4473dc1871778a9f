//! Composes and signs what people say: grants of what a machine's book holds, pointers, and the next key.

use chrono::{DateTime, TimeDelta, Utc};
use names::{MachineName, WordId};

use super::grant::RetryGrant;
use super::pointer::Pointer;
use super::public_key::PublicKey;
use super::rotation::Rotation;
use super::sign::{NotSigned, Signed, Signer, sign};
use super::trusted::NotRotated;
use super::validity::{GRANT_DEFAULT, GRANT_MAX, is_term};
use crate::book::HeldInstance;

/// What a grant is issued with, beside what it frees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantTerms {
    /// A fresh id.
    pub id: WordId,
    /// What time it is.
    pub issued_at: DateTime<Utc>,
    /// How long it is good; none: [`GRANT_DEFAULT`].
    pub term: Option<TimeDelta>,
}

/// A time for which nothing can be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a grant is good for some time and at most {} days", GRANT_MAX.num_days())]
pub struct BadTerm;

/// Why a word was not issued.
#[derive(Debug, thiserror::Error)]
pub enum NotIssued {
    /// There is nothing that it could name.
    #[error(
        "the book of {machine} has not published what holds {instance}: a save is owed there; ask again when its disk takes writes"
    )]
    NotPublished {
        /// Whose book it is.
        machine: MachineName,
        /// Which instance.
        instance: names::InstanceName,
    },
    /// It would be good for no time, or for too long.
    #[error(transparent)]
    Term(#[from] BadTerm),
    /// No key can take the place of one of another role.
    #[error(transparent)]
    Rotation(#[from] NotRotated),
    /// It could not be signed.
    #[error(transparent)]
    Sign(#[from] NotSigned),
}

/// The grant that frees an instance of what holds it, as the machine's book published it.
///
/// # Errors
///
/// [`NotIssued`] when the book published nothing to name, or the term is none.
pub fn grant_for(
    machine: &MachineName,
    held: &HeldInstance,
    terms: GrantTerms,
) -> Result<RetryGrant, NotIssued> {
    let Some(generation) = held.generation else {
        let (machine, instance) = (machine.clone(), held.instance.clone());
        return Err(NotIssued::NotPublished { machine, instance });
    };
    let GrantTerms { id, issued_at, term } = terms;
    let term = Some(term.unwrap_or(GRANT_DEFAULT)).filter(|term| is_term(*term));
    let expires_at = term.and_then(|term| issued_at.checked_add_signed(term)).ok_or(BadTerm)?;
    Ok(RetryGrant {
        id,
        machine: machine.clone(),
        account: held.account.clone(),
        module: held.module.clone(),
        build: held.build.clone(),
        instance: held.instance.clone(),
        book: held.book.clone(),
        generation,
        issued_at,
        expires_at,
    })
}

/// Composes that grant and signs it.
///
/// # Errors
///
/// [`NotIssued`] as for [`grant_for`], and when the signer's key is no operator's.
pub fn issue_grant(
    machine: &MachineName,
    held: &HeldInstance,
    terms: GrantTerms,
    signer: &impl Signer,
) -> Result<Signed, NotIssued> {
    Ok(sign(&grant_for(machine, held, terms)?, signer)?)
}

/// Signs a pointer.
///
/// # Errors
///
/// [`NotSigned`] when the signer's key is no operator's.
pub fn issue_pointer(pointer: &Pointer, signer: &impl Signer) -> Result<Signed, NotSigned> {
    sign(pointer, signer)
}

/// Signs that this key takes the place of the signer's.
///
/// # Errors
///
/// [`NotIssued`] when the key has another role than the signer's, or that role has no words to sign.
pub fn issue_rotation(
    next: &PublicKey,
    issued_at: DateTime<Utc>,
    signer: &impl Signer,
) -> Result<Signed, NotIssued> {
    let (from, to) = (signer.public_key().role(), next.role());
    if from != to {
        return Err(NotRotated::Role { from, to }.into());
    }
    Ok(sign(&Rotation { next: next.clone(), issued_at }, signer)?)
}
