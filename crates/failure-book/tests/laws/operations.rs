//! Any operations, with what the journal does meanwhile.

use failure_book::{
    App, Build, ExecutionId, Failure, Fault, Generation, HoldRan, Host, Hosts, Intent, MarkerWish,
    Mode, Time,
};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::collections::BTreeSet;

/// Accounts with apps. Joined they are in another order than as pairs.
pub(crate) const APPS: [(&str, &str); 3] = [("ac", "web"), ("ac", "api"), ("ac-2", "web")];
pub(crate) const BUILDS: [&str; 2] = ["b1", "b2"];
pub(crate) const HOSTS: [&str; 3] = ["h1", "h10", "h2"];

/// One operation.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Record { failure: Failure, snapshot: Snap },
    Mark { host: Host, ran: HoldRan },
    Begin { host: Host, intent: Intent },
    End { host: Host, id: ExecutionId },
    ClearHoldRan { host: Host },
    ClearHoldRanBefore { host: Host, snapshot: Snap },
    ClearHoldRanOnPointer { host: Host, app: App, promoted_at: Option<Time> },
    RetryHost { build: Build, host: Host },
    RetryHostAt { grant: Signed },
    ClearOnPointer { build: Build, promoted_at: Option<Time> },
    Prune { installed: BTreeSet<Build> },
    Flush,
    SaveIfDirty,
    RotateIdentity,
    Crash,
}

impl Operation {
    /// The grant that it hands in.
    pub(crate) fn grant(&self) -> Option<&Signed> {
        if let Self::RetryHostAt { grant } = self { Some(grant) } else { None }
    }

    /// The snapshot that it comes with.
    pub(crate) fn snap(&self) -> Option<&Snap> {
        if let Self::Record { snapshot, .. } | Self::ClearHoldRanBefore { snapshot, .. } = self {
            Some(snapshot)
        } else {
            None
        }
    }

    /// The host whose intent it wants to set.
    pub(crate) fn begins_on(&self) -> Option<&Host> {
        if let Self::Begin { host, .. } = self { Some(host) } else { None }
    }
}

/// A snapshot that an execution took.
#[derive(Debug, Clone)]
pub(crate) enum Snap {
    /// It took none.
    None,
    /// One of those that the book gave so far.
    Taken(Index),
}

/// A grant.
#[derive(Debug, Clone)]
pub(crate) enum Signed {
    /// For one of the generations that were published so far.
    Published(Index),
    /// For whatever restricts this host now, as memory has it.
    Fitting { build: Build, host: Host },
    /// For a generation that somebody made up.
    MadeUp { build: Build, host: Host, generation: Generation },
}

/// An operation, and what goes wrong with the first and the second landing that it asks for.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    pub(crate) faults: [Option<Fault>; 2],
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..40)
}

fn step() -> impl Strategy<Value = Step> {
    let fault = || {
        prop_oneof![
            6 => Just(None),
            1 => Just(Some(Fault::Fails)),
            1 => Just(Some(Fault::Lies)),
            1 => (0..5_usize).prop_map(|entries| Some(Fault::Torn { entries })),
        ]
    };
    (operation(), fault(), fault())
        .prop_map(|(operation, first, second)| Step { operation, faults: [first, second] })
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let installed = btree_set(build(), 0..6);
    prop_oneof![
        6 => (failure(), snap())
            .prop_map(|(failure, snapshot)| Operation::Record { failure, snapshot }),
        3 => (host(), ran()).prop_map(|(host, ran)| Operation::Mark { host, ran }),
        3 => (host(), intent()).prop_map(|(host, intent)| Operation::Begin { host, intent }),
        2 => (host(), execution()).prop_map(|(host, id)| Operation::End { host, id }),
        1 => host().prop_map(|host| Operation::ClearHoldRan { host }),
        1 => (host(), snap())
            .prop_map(|(host, snapshot)| Operation::ClearHoldRanBefore { host, snapshot }),
        1 => (host(), app(), option::of(time())).prop_map(|(host, app, promoted_at)| {
            Operation::ClearHoldRanOnPointer { host, app, promoted_at }
        }),
        2 => (build(), host()).prop_map(|(build, host)| Operation::RetryHost { build, host }),
        4 => signed().prop_map(|grant| Operation::RetryHostAt { grant }),
        2 => (build(), option::of(time()))
            .prop_map(|(build, promoted_at)| Operation::ClearOnPointer { build, promoted_at }),
        1 => installed.prop_map(|installed| Operation::Prune { installed }),
        1 => Just(Operation::Flush),
        2 => Just(Operation::SaveIfDirty),
        1 => Just(Operation::RotateIdentity),
        2 => Just(Operation::Crash),
    ]
}

fn signed() -> impl Strategy<Value = Signed> {
    let generation = (1..60_u64).prop_map(|number| Generation::new(number).unwrap());
    prop_oneof![
        3 => any::<Index>().prop_map(Signed::Published),
        1 => (build(), host()).prop_map(|(build, host)| Signed::Fitting { build, host }),
        1 => (build(), host(), generation).prop_map(|(build, host, generation)| {
            Signed::MadeUp { build, host, generation }
        }),
    ]
}

pub(crate) fn snap() -> impl Strategy<Value = Snap> {
    prop_oneof![1 => Just(Snap::None), 2 => any::<Index>().prop_map(Snap::Taken)]
}

pub(crate) fn app() -> impl Strategy<Value = App> {
    select(&APPS[..]).prop_map(|(account, app)| App::new(account, app).unwrap())
}

/// Any build, but mostly the same: what is interesting happens to one again and again.
pub(crate) fn build() -> impl Strategy<Value = Build> {
    let any = (select(&APPS[..]), select(&BUILDS[..]));
    prop_oneof![1 => Just((APPS[0], BUILDS[0])), 1 => any]
        .prop_map(|((account, app), build)| Build::new(account, app, build).unwrap())
}

pub(crate) fn host() -> impl Strategy<Value = Host> {
    select(&HOSTS[..]).prop_map(|name| Host::new(name).unwrap())
}

pub(crate) fn at(seconds: i64) -> Time {
    Time::UNIX_EPOCH + chrono::TimeDelta::seconds(seconds)
}

pub(crate) fn time() -> impl Strategy<Value = Time> {
    (0..12_i64).prop_map(at)
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        3 => Just(Mode::HOLD),
        3 => Just(Mode::OVERLAP),
        1 => Just(Mode::new(String::new())),
    ]
}

pub(crate) fn execution() -> impl Strategy<Value = ExecutionId> {
    select(vec!["a1f-1", "a1f-2", "w1f-1", "w1f-2", "a3"])
        .prop_map(|text| ExecutionId::new(text).unwrap())
}

fn ran() -> impl Strategy<Value = HoldRan> {
    (build(), option::of(execution()), option::of(time())).prop_map(|(build, exec, at)| HoldRan {
        build,
        exec,
        at,
    })
}

pub(crate) fn intent() -> impl Strategy<Value = Intent> {
    (build(), mode(), execution(), option::of(time())).prop_map(|(build, mode, id, start)| Intent {
        build,
        mode,
        id,
        start,
    })
}

pub(crate) fn failure() -> impl Strategy<Value = Failure> {
    let held_down = vec(host(), 0..3).prop_map(Hosts::from_iter);
    let marker = prop_oneof![Just(MarkerWish::Set), Just(MarkerWish::Leave)];
    let execution = (option::of(execution()), option::of(time()));
    let times = (option::weighted(0.9, time()), option::weighted(0.9, time()));
    (build(), host(), mode(), times, held_down, marker, execution).prop_map(
        |(build, host, mode, (promoted_at, at), held_down, marker, (exec, start))| Failure {
            build,
            host,
            cause: "release".to_owned(),
            mode,
            reason: "it exited".to_owned(),
            promoted_at,
            at,
            held_down,
            marker,
            exec,
            start,
            snapshot: None,
        },
    )
}
