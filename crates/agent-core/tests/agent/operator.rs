//! An operator who signs, and what a machine answers.

use agent_core::{Action, AskId, Event};
use chrono::{DateTime, TimeDelta, Utc};
use ed25519_dalek::{Signer as _, SigningKey};
use wire::signed::{
    GrantTerms, Pointer, PointerKind, PublicKey, Role, Signature, Signed, Signer, TrustedKeys,
    issue_grant, issue_pointer,
};
use wire::{BookAsked, BookState, HeldInstance, Word, WordReply};

use crate::bench::Bench;

/// A secret key that everybody knows.
pub(crate) struct Key {
    secret: SigningKey,
    public: PublicKey,
}

impl Key {
    pub(crate) fn new(seed: u8) -> Self {
        let secret = SigningKey::from_bytes(&[seed; 32]);
        let bytes = secret.verifying_key().to_bytes();
        let public = PublicKey::new(Role::Operator, bytes).unwrap();
        Self { secret, public }
    }
}

impl Signer for Key {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, bytes: &[u8]) -> Signature {
        Signature(self.secret.sign(bytes).to_bytes())
    }
}

/// The operator whom the machine trusts.
pub(crate) fn operator() -> Key {
    Key::new(1)
}

pub(crate) fn trusted() -> TrustedKeys {
    TrustedKeys::new([operator().public])
}

/// A grant for what holds an instance, as it is published now.
pub(crate) fn grant(machine: &str, held: &HeldInstance, at: DateTime<Utc>, key: &Key) -> Word {
    let id = format!("01ARZ3NDEKTSV4RRFF{:08}", 1_000_000 + at.timestamp());
    let terms = GrantTerms { id: id.parse().unwrap(), issued_at: at, term: None };
    Word::Grant(issue_grant(&machine.parse().unwrap(), held, terms, key).unwrap())
}

/// A pointer of that time to a build of `blog`.
pub(crate) fn pointer(build: &str, at: DateTime<Utc>) -> Word {
    Word::Pointer(signed_pointer(build, at))
}

fn signed_pointer(build: &str, at: DateTime<Utc>) -> Signed {
    let pointer = Pointer {
        id: "01ARZ3NDEKTSV4RRFF00000007".parse().unwrap(),
        account: Default::default(),
        module: "blog".parse().unwrap(),
        channel: "default".parse().unwrap(),
        build: build.parse().unwrap(),
        promoted_at: at,
        kind: PointerKind::Rollback,
    };
    issue_pointer(&pointer, &operator()).unwrap()
}

impl Bench {
    /// Hands a word over; answers what the machine says, in short.
    pub(crate) fn hand(&mut self, word: Word) -> String {
        self.event(Event::Worded { ask: AskId(900), word: Box::new(word) });
        let mut answers = Vec::new();
        self.actions.retain(|action| {
            let is_answer = matches!(action, Action::AnswerWord { .. });
            if let Action::AnswerWord { reply, .. } = action {
                answers.push(short(reply));
            }
            !is_answer
        });
        let [answer] = &answers[..] else { unreachable!("one answer: {answers:?}") };
        answer.clone()
    }

    /// What the book is told to hold.
    pub(crate) fn held(&mut self) -> Vec<HeldInstance> {
        self.event(Event::BookAsked { ask: AskId(901), asked: BookAsked { module: None } });
        let status = self.actions.iter().rev().find_map(|action| {
            if let Action::AnswerBook { status, .. } = action {
                Some(status.book.clone())
            } else {
                None
            }
        });
        self.actions.retain(|action| !matches!(action, Action::AnswerBook { .. }));
        let Some(BookState::Open { held, .. }) = status else { unreachable!("{status:?}") };
        held
    }

    /// So many seconds from now.
    pub(crate) fn at(&self, seconds: i64) -> DateTime<Utc> {
        self.now.wall + TimeDelta::seconds(seconds)
    }
}

fn short(reply: &WordReply) -> String {
    match reply {
        WordReply::Taken { freed } => {
            let freed = freed.iter().map(|one| {
                let whom = one.instance.as_ref().map_or("all", |one| one.as_str());
                format!("{whom} {:?}", one.lifted)
            });
            format!("taken: {}", freed.collect::<Vec<_>>().join(", "))
        }
        WordReply::Refused { because, .. } => format!("refused: {because:?}"),
    }
}
