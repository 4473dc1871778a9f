//! What a content is known to be, derived from the verdicts on it.

use std::collections::{BTreeMap, btree_map::Entry};

use crate::{
    build::Content,
    verdict::{End, RollbackWord, Stage, Trial, Verdict},
};

/// What a content is known to be, with the verdict that decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'a> {
    /// No verdict says anything of it, or none could tell.
    Unproven,
    /// It passed.
    Proven(&'a Verdict),
    /// It failed, and is refused under any id until a person's retry passes.
    Condemned(&'a Verdict),
}

/// The standing of a content according to these verdicts, in whatever order they come; those on other contents say
/// nothing.
///
/// The newest that decides wins: by trial, and within one trial by stage. One that cannot tell decides nothing.
pub fn standing<'a>(
    content: &Content,
    verdicts: impl IntoIterator<Item = &'a Verdict>,
) -> Standing<'a> {
    let about = verdicts.into_iter().filter(|verdict| verdict.content == *content);
    let decided = about.filter_map(|verdict| match verdict.end {
        End::Passed => Some(Standing::Proven(verdict)),
        End::Failed { .. } => Some(Standing::Condemned(verdict)),
        End::CannotTell { .. } => None,
    });
    let newest = decided.max_by_key(|standing| match standing {
        Standing::Unproven => None,
        Standing::Proven(verdict) | Standing::Condemned(verdict) => {
            Some((verdict.trial, verdict.stage))
        }
    });
    newest.unwrap_or(Standing::Unproven)
}

/// All verdicts, at most one for each (content, trial, stage), for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts(BTreeMap<Content, BTreeMap<(Trial, Stage), Verdict>>);

/// What came of keeping a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Kept<'a> {
    /// It is kept.
    New(&'a Verdict),
    /// Another was kept before and stays. This is it.
    Before(&'a Verdict),
}

/// Why a verdict of the later stage cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeepError {
    /// The first machines of this trial have not passed, so nothing of it can have been sent further.
    #[error("trial {trial} has no pass that could be taken back")]
    NothingPassed {
        /// The verdict's.
        trial: Trial,
    },
    /// A pass after the first machines changes nothing, and would take the place of a failure that does.
    #[error("only the first machines' pass is kept, and this is a later one")]
    LaterPass,
}

/// Why the word of a rollback does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WordError {
    /// No such verdict is kept, or it has no rollback.
    #[error("no rollback is kept for this trial")]
    NoRollback,
    /// The rollback has ended, or was decided to another build.
    #[error("this cannot follow what is kept of the rollback")]
    CannotFollow,
}

impl Verdicts {
    /// Keeps a verdict, unless there is one for its content, trial and stage: then that one is the answer.
    ///
    /// A proven content can be condemned once in each trial, by the one verdict of its later stage.
    pub fn keep(&mut self, verdict: Verdict) -> Result<Kept<'_>, KeepError> {
        match verdict.stage {
            Stage::First => {}
            Stage::Later => self.check_later(&verdict)?,
        }
        let of_content = self.0.entry(verdict.content.clone()).or_default();
        Ok(match of_content.entry((verdict.trial, verdict.stage)) {
            Entry::Vacant(place) => Kept::New(place.insert(verdict)),
            Entry::Occupied(place) => Kept::Before(place.into_mut()),
        })
    }

    fn check_later(&self, later: &Verdict) -> Result<(), KeepError> {
        let first = self.get(&later.content, later.trial, Stage::First);
        let passed = first.is_some_and(|first| matches!(first.end, End::Passed));
        match later.end {
            End::Passed => Err(KeepError::LaterPass),
            End::Failed { .. } | End::CannotTell { .. } if !passed => {
                Err(KeepError::NothingPassed { trial: later.trial })
            }
            End::Failed { .. } | End::CannotTell { .. } => Ok(()),
        }
    }

    /// Moves the word of a rollback on: the one thing of a verdict that is not settled when it is written.
    pub fn move_rollback(
        &mut self,
        content: &Content,
        (trial, stage): (Trial, Stage),
        word: RollbackWord,
    ) -> Result<&Verdict, WordError> {
        let of_content = self.0.get_mut(content).ok_or(WordError::NoRollback)?;
        let verdict = of_content.get_mut(&(trial, stage)).ok_or(WordError::NoRollback)?;
        match &mut verdict.end {
            End::Passed => Err(WordError::NoRollback),
            End::Failed { rollback } | End::CannotTell { rollback } => {
                if !word.may_follow(&rollback.word) {
                    return Err(WordError::CannotFollow);
                }
                rollback.word = word;
                Ok(verdict)
            }
        }
    }

    /// The verdict on this content in this trial and stage.
    pub fn get(&self, content: &Content, trial: Trial, stage: Stage) -> Option<&Verdict> {
        self.0.get(content)?.get(&(trial, stage))
    }

    /// All verdicts on this content, the oldest trial first.
    pub fn of(&self, content: &Content) -> impl DoubleEndedIterator<Item = &Verdict> {
        self.0.get(content).into_iter().flat_map(BTreeMap::values)
    }

    /// What this content is known to be.
    pub fn standing(&self, content: &Content) -> Standing<'_> {
        standing(content, self.of(content))
    }

    /// The trial that sending this content now belongs to, or the verdict that forbids to send it.
    ///
    /// A trial goes on until it has a verdict, so a plan that was stopped or superseded leaves it open. After that each
    /// sending is a new one: the old verdict answers for what was seen then, and stays.
    pub fn trial(&self, content: &Content) -> Result<Trial, &Verdict> {
        match self.standing(content) {
            Standing::Unproven | Standing::Proven(_) => Ok(self.retry(content)),
            Standing::Condemned(verdict) => Err(verdict),
        }
    }

    /// The trial that a person's retry opens, also for a condemned content. It stays condemned until that trial passes.
    pub fn retry(&self, content: &Content) -> Trial {
        self.of(content).next_back().map_or(Trial::FIRST, |newest| newest.trial.next())
    }
}

impl FromIterator<Verdict> for Verdicts {
    /// What a store holds. Of two for one content, trial and stage the first counts.
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Self {
        let mut all = Self::default();
        for verdict in verdicts {
            let of_content = all.0.entry(verdict.content.clone()).or_default();
            of_content.entry((verdict.trial, verdict.stage)).or_insert(verdict);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use names::{BuildId, Digest, RollbackId};

    use super::*;
    use crate::verdict::{Rollback, Wave, Why};

    const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

    fn content(byte: u8) -> Content {
        Content(Digest::from_bytes([byte; 32]))
    }

    fn failed() -> End {
        End::Failed { rollback: rolling_back() }
    }

    fn cannot_tell() -> End {
        End::CannotTell { rollback: rolling_back() }
    }

    fn rolling_back() -> Rollback {
        let to = BuildId::new(ULID).unwrap();
        Rollback { id: RollbackId::new(ULID).unwrap(), word: RollbackWord::RollingBack { to } }
    }

    fn verdict(content: Content, trial: u32, stage: Stage, end: End) -> Verdict {
        Verdict {
            module: "blog".parse().unwrap(),
            build: ULID.parse().unwrap(),
            content,
            plan: ULID.parse().unwrap(),
            wave: Wave(0),
            trial: Trial(trial),
            stage,
            end,
            why: Why { code: "passes".to_owned(), text: "3 passes in a row".to_owned() },
            at: chrono::DateTime::UNIX_EPOCH,
            machines: vec!["box-1".parse().unwrap()],
        }
    }

    #[test]
    fn the_newest_verdict_that_decides_is_the_standing() {
        use Stage::{First, Later};
        let (passed, failed, unsure) = (|| End::Passed, failed, cannot_tell);
        let cases = [
            (vec![], "unproven"),
            (vec![(1, First, unsure())], "unproven"),
            (vec![(1, First, passed())], "proven by 1 First"),
            (vec![(1, First, failed())], "condemned by 1 First"),
            (vec![(1, First, passed()), (1, Later, failed())], "condemned by 1 Later"),
            (vec![(1, First, passed()), (1, Later, unsure())], "proven by 1 First"),
            (vec![(1, First, failed()), (2, First, passed())], "proven by 2 First"),
            (vec![(1, First, failed()), (2, First, unsure())], "condemned by 1 First"),
            (vec![(1, First, passed()), (2, First, failed())], "condemned by 2 First"),
            (
                vec![(1, First, passed()), (1, Later, failed()), (2, First, passed())],
                "proven by 2 First",
            ),
        ];
        for (history, expected) in cases {
            let other =
                [verdict(content(2), 9, First, failed()), verdict(content(2), 8, First, passed())];
            let history = history
                .into_iter()
                .map(|(trial, stage, end)| verdict(content(1), trial, stage, end));
            let history: Vec<_> = history.chain(other).collect();
            let told = |verdict: &Verdict| format!("by {} {:?}", verdict.trial, verdict.stage);
            let say = |standing| match standing {
                Standing::Unproven => "unproven".to_owned(),
                Standing::Proven(verdict) => format!("proven {}", told(verdict)),
                Standing::Condemned(verdict) => format!("condemned {}", told(verdict)),
            };
            assert_eq!(say(standing(&content(1), &history)), expected);
            assert_eq!(say(standing(&content(1), history.iter().rev())), expected);
        }
    }

    #[test]
    fn a_second_verdict_answers_the_first_and_changes_nothing() {
        let mut verdicts = Verdicts::default();
        let first = verdict(content(1), 1, Stage::First, failed());
        assert_eq!(verdicts.keep(first.clone()), Ok(Kept::New(&first)));
        let second = verdict(content(1), 1, Stage::First, End::Passed);
        assert_eq!(verdicts.keep(second), Ok(Kept::Before(&first)));
        assert_eq!(verdicts.standing(&content(1)), Standing::Condemned(&first));
    }

    #[test]
    fn a_later_wave_condemns_a_proven_content_once() {
        let mut verdicts = Verdicts::default();
        let late = verdict(content(1), 1, Stage::Later, failed());
        let nothing = KeepError::NothingPassed { trial: Trial(1) };
        assert_eq!(verdicts.keep(late.clone()), Err(nothing));

        let pass = verdict(content(1), 1, Stage::First, End::Passed);
        assert_eq!(verdicts.keep(pass.clone()), Ok(Kept::New(&pass)));
        let late_pass = verdict(content(1), 1, Stage::Later, End::Passed);
        assert_eq!(verdicts.keep(late_pass), Err(KeepError::LaterPass));

        assert_eq!(verdicts.keep(late.clone()), Ok(Kept::New(&late)));
        let again = verdict(content(1), 1, Stage::Later, cannot_tell());
        assert_eq!(verdicts.keep(again), Ok(Kept::Before(&late)));
        assert_eq!(verdicts.standing(&content(1)), Standing::Condemned(&late));
    }

    #[test]
    fn only_a_retry_asks_again_for_what_is_condemned() {
        let mut verdicts = Verdicts::default();
        assert_eq!(verdicts.trial(&content(1)), Ok(Trial::FIRST));
        let first = verdict(content(1), 1, Stage::First, failed());
        assert_eq!(verdicts.keep(first.clone()), Ok(Kept::New(&first)));
        assert_eq!(verdicts.trial(&content(1)), Err(&first));
        assert_eq!(verdicts.retry(&content(1)), Trial(2));

        let second = verdict(content(1), 2, Stage::First, End::Passed);
        assert_eq!(verdicts.keep(second.clone()), Ok(Kept::New(&second)));
        assert_eq!(verdicts.trial(&content(1)), Ok(Trial(3)));
        // History stays.
        assert_eq!(verdicts.of(&content(1)).collect::<Vec<_>>(), [&first, &second]);
        let stored = [&second, &first].map(Clone::clone);
        assert_eq!(Verdicts::from_iter(stored), verdicts);
    }

    #[test]
    fn what_was_not_put_back_may_still_be_and_nothing_follows_that() {
        let [to, other] = [ULID, "01ARZ3NDEKTSV4RRFFQ69G5FAW"].map(|id| BuildId::new(id).unwrap());
        let why = Why { code: "held".to_owned(), text: "box-1 holds blog-1".to_owned() };
        let key = (Trial(1), Stage::First);
        let mut verdicts = Verdicts::from_iter([verdict(content(1), 1, Stage::First, failed())]);
        let mut moved = |word| verdicts.move_rollback(&content(1), key, word).map(|_| ());
        let not_put_back = RollbackWord::NotPutBack { to: Some(to.clone()), why };
        assert_eq!(moved(not_put_back.clone()), Ok(()));
        let elsewhere = RollbackWord::PutBack { to: other };
        assert_eq!(moved(elsewhere), Err(WordError::CannotFollow), "to no other build");
        assert_eq!(moved(RollbackWord::PutBack { to: to.clone() }), Ok(()));
        for word in [not_put_back, RollbackWord::PutBack { to }] {
            assert_eq!(moved(word), Err(WordError::CannotFollow));
        }
    }

    #[test]
    fn a_rollback_moves_on_once_and_to_no_other_build() {
        let to = BuildId::new(ULID).unwrap();
        let other = BuildId::new("01ARZ3NDEKTSV4RRFFQ69G5FAW").unwrap();
        let why = Why { code: "held".to_owned(), text: "box-1 holds blog-1".to_owned() };
        let not_put_back = RollbackWord::NotPutBack { to: Some(to.clone()), why: why.clone() };
        let cases = [
            (RollbackWord::PutBack { to: to.clone() }, Ok(())),
            (not_put_back, Ok(())),
            (RollbackWord::PutBack { to: other.clone() }, Err(WordError::CannotFollow)),
            (
                RollbackWord::NotPutBack { to: Some(other), why: why.clone() },
                Err(WordError::CannotFollow),
            ),
            (RollbackWord::NotPutBack { to: None, why }, Err(WordError::CannotFollow)),
            (RollbackWord::RollingBack { to }, Err(WordError::CannotFollow)),
            (RollbackWord::Unchanged, Err(WordError::CannotFollow)),
        ];
        let key = (Trial(1), Stage::First);
        for (word, moves) in cases {
            let mut verdicts =
                Verdicts::from_iter([verdict(content(1), 1, Stage::First, failed())]);
            assert_eq!(verdicts.move_rollback(&content(1), key, word.clone()).map(|_| ()), moves);
            // What has ended stays, whatever it ended with.
            if moves.is_ok() {
                let again = verdicts.move_rollback(&content(1), key, word);
                assert_eq!(again, Err(WordError::CannotFollow));
            }
        }
        let mut passed = Verdicts::from_iter([verdict(content(1), 1, Stage::First, End::Passed)]);
        let word = RollbackWord::Unchanged;
        assert_eq!(
            passed.move_rollback(&content(1), key, word.clone()),
            Err(WordError::NoRollback)
        );
        assert_eq!(passed.move_rollback(&content(2), key, word), Err(WordError::NoRollback));
    }
}
