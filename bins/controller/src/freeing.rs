//! What machines hold, and the signed words that free it. Everything is signed here, in the process of whoever has the key: the
//! controller gets what was signed and never a secret.

mod operator;
mod pointing;
mod retrying;

use serde::Serialize;
use wire::{BookState, BookStatus, HeldInstance, RefusedBecause, retry_command, signed::PublicKey};

pub(crate) use pointing::{promote, rollback};
pub(crate) use retrying::{Retried, retry};

use crate::{
    failure::{Failure, FailureKind},
    output::Output,
    shown,
    socket::Client,
};

/// A machine's failure book, with the command that frees each instance.
#[derive(Debug, Serialize)]
pub(crate) struct Book<'a> {
    #[serde(flatten)]
    pub(crate) status: &'a BookStatus,
    /// In the order of what is held, each once.
    pub(crate) frees: Vec<String>,
}

/// What a book holds; nothing is known of one that cannot be used.
pub(crate) fn held(status: &BookStatus) -> &[HeldInstance] {
    match &status.book {
        BookState::Open { held, .. } => held,
        BookState::Unusable { .. } | BookState::Other => &[],
    }
}

/// `controller machines books`.
pub(crate) async fn books(
    client: &mut Client,
    machine: names::MachineName,
    module: Option<names::ModuleName>,
    output: &Output,
) -> Result<(), Failure> {
    let status = client.book(machine, module).await?;
    let frees = held(&status).iter().map(|held| frees(&status, held));
    let mut frees: Vec<_> = frees.collect();
    frees.dedup();
    let book = Book { status: &status, frees };
    output.answer(&book, |book, paint| shown::book(book, crate::clock::now(), paint))
}

fn frees(status: &BookStatus, held: &HeldInstance) -> String {
    retry_command(status.machine.as_str(), held.instance.as_str(), held.build.as_str())
}

/// A machine refused a signed word: why, and what to do.
fn refused(
    machine: &names::MachineName,
    (because, why): (RefusedBecause, &str),
    key: &PublicKey,
) -> Failure {
    let (kind, hint) = match because {
        RefusedBecause::NotTrusted => (
            FailureKind::Refused,
            format!(
                "where its word is to count, the owner of {machine} lists it in agent.toml and restarts the engine:\n  \
                 [trust]\n  operators = [\"{key}\"]"
            ),
        ),
        RefusedBecause::NotYet | RefusedBecause::Expired => (
            FailureKind::Refused,
            format!(
                "compare the clock of {machine} with the one here; set the one that is wrong, and sign it again"
            ),
        ),
        RefusedBecause::Signature => {
            (FailureKind::Refused, format!("it was changed on its way to {machine}; say it again"))
        }
        RefusedBecause::OtherMachine | RefusedBecause::Used => {
            (FailureKind::Refused, "sign another: give the command again".to_owned())
        }
        RefusedBecause::Older | RefusedBecause::OtherContent => {
            (FailureKind::Refused, format!("{machine} has taken a newer word; sign it again, now"))
        }
        RefusedBecause::NotKept => (
            FailureKind::Failed,
            format!("say it again when the disk of {machine} takes writes: controller conditions"),
        ),
        RefusedBecause::OtherBook | RefusedBecause::OtherGeneration | RefusedBecause::NotHeld => (
            FailureKind::Failed,
            format!("see what it holds now: controller machines books {machine}"),
        ),
        RefusedBecause::Unreadable | RefusedBecause::Other => (
            FailureKind::Failed,
            format!("{machine} and this program are of different versions; upgrade the older one"),
        ),
    };
    Failure::new(kind, format!("{machine} refused it: {why}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do_and_has_its_status() {
        let key: PublicKey =
            "OCFIRY65OQE7DFP5KLNS2PF2LVZMUZYJX4OZIEQ36N2IQANUB5XVYOCS".parse().unwrap();
        let machine = "box-1".parse().unwrap();
        for (because, status, says) in [
            (RefusedBecause::NotTrusted, 3, "operators = [\"OCFI"),
            (RefusedBecause::NotYet, 3, "compare the clock"),
            (RefusedBecause::Older, 3, "newer word"),
            (RefusedBecause::NotKept, 1, "takes writes"),
            (RefusedBecause::OtherGeneration, 1, "controller machines books box-1"),
            (RefusedBecause::Other, 1, "different versions"),
        ] {
            let failure = refused(&machine, (because, "so"), &key);
            assert_eq!(failure.kind.exit_status() as u8, status, "{because:?}");
            assert_eq!(failure.message, "box-1 refused it: so");
            assert!(failure.hints[0].contains(says), "{failure:?}");
        }
    }
}
