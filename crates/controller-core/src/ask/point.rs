//! A person brings a signed pointer: it is kept, and goes to every machine of its module.

use wire::{
    api::{Answer, Refusal, RefusalKind},
    signed::{Pointer, Signed, TrustedKeys, Verified, WordError, verify},
};

use super::{Asking, Decided, rule, unknown};
use crate::{record::KeptPointer, state::State, step::Step, view};

/// Keeps it. Whether anybody trusts the key is for each machine to say; here it is only looked whether it is what was signed,
/// so that nothing is kept and handed on for ever that no machine could take.
pub(super) fn point(state: &State, asking: Asking<'_>, signed: Signed) -> Decided {
    let signer = TrustedKeys::new([signed.by.clone()]);
    let verified: Verified<Pointer> =
        verify(&signed, &signer, asking.now).map_err(|error| no_pointer(&error))?;
    let pointer = verified.into_word();
    if !state.records.modules.contains_key(&pointer.module) {
        let why = format!("there is no module `{}`", pointer.module);
        return Err(unknown(why, "see `controller modules`"));
    }
    let account = state.records.modules.get(&pointer.module).map(|module| &module.account);
    if account.is_some_and(|account| *account != pointer.account) {
        let (module, account) = (&pointer.module, &pointer.account);
        let why = format!("account {account} has no module `{module}`");
        return Err(unknown(why, "sign it for the account that the module is of"));
    }
    let build = state.records.builds.get(&pointer.build);
    if build.is_none_or(|build| *build.module() != pointer.module) {
        let why = format!("there is no build {} of {}", pointer.build, pointer.module);
        return Err(unknown(why, format!("see `controller builds {}`", pointer.module)));
    }
    let (by, at) = (asking.sender.to_owned(), asking.now);
    let kept = KeptPointer { pointer, signed, by, at };
    if let Some(before) = state.records.pointers.get(&kept.key()) {
        if before.signed == kept.signed {
            let view = view::pointer(state, asking.now, before);
            return Ok((Step::default(), Answer::Pointed(Box::new(view))));
        }
        if before.pointer.promoted_at >= kept.pointer.promoted_at {
            return Err(rule(
                format!(
                    "channel {} of {} has a newer pointer, of {}, and machines take no older one after it",
                    before.pointer.channel, before.pointer.module, before.pointer.promoted_at
                ),
                "sign it again; if this was signed just now, look at the clocks of both machines",
            ));
        }
    }
    let view = view::pointer(state, asking.now, &kept);
    let mut step = Step::new(format!("{} points {}", asking.sender, kept.pointer.module));
    step.put(kept);
    Ok((step, Answer::Pointed(Box::new(view))))
}

fn no_pointer(error: &WordError) -> Refusal {
    let mut why = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        why = format!("{why}: {error}");
        source = error.source();
    }
    Refusal { kind: RefusalKind::Usage, why, hint: None }
}
