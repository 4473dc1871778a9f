//! Laws that hold whatever is declared, in whatever order things end, however the disk behaves, and whenever the agent dies.

use inventory::Declaration;
use proptest::prelude::*;
use wire::TroubleKind;

use crate::bench::{A, B, C, Write, declaration, module, with_environment};
use crate::world::{Ending, Fate, World};

const BLOG: &str = r#"
[module]
name = "blog"
observe = "2s"
[[resource]]
name = "web"
command = ["./blog"]
health = { http = "/", every = "1s", timeout = "1s" }
[[resource]]
name = "worker"
command = ["./worker"]
health = { exec = ["./ok"], every = "1s", timeout = "1s" }
restart = { limit = 1, within = "10s", backoff = "100ms..1s" }
"#;

/// Its builds have the data for themselves.
const SHOP: &str = r#"
[module]
name = "shop"
swap = "hold"
observe = "2s"
[[resource]]
name = "web"
command = ["./shop"]
health = { tcp = true, every = "1s", timeout = "1s" }
"#;

/// Its builds listen where only one can.
const SITE: &str = r#"
[module]
name = "site"
observe = "2s"
[[resource]]
name = "web"
command = ["./site"]
listen = "127.0.0.1:8080"
direct = true
health = { tcp = true, every = "1s", timeout = "1s" }
restart = { limit = 1, within = "10s", backoff = "100ms..1s" }
"#;

/// What may be wrong with the machine itself.
const TROUBLES: [&[TroubleKind]; 4] = [
    &[],
    &[TroubleKind::DiskFull],
    &[TroubleKind::DiskReadOnly, TroubleKind::FileDamaged],
    &[TroubleKind::FileDamaged],
];

/// One module of one declaration.
#[derive(Debug, Clone)]
enum Said {
    Nothing,
    Withdrawn,
    Runs { build: &'static str, instances: Vec<&'static str>, colour: &'static str },
}

#[derive(Debug, Clone)]
enum Step {
    Declare {
        blog: Said,
        shop: Said,
        site: Said,
    },
    Disk(Result<(), String>),
    Landings(Vec<Write>),
    ShutDown(agent_core::Ending),
    Machine(&'static [TroubleKind]),
    Hello(Vec<&'static str>, u64),
    End(usize, Ending),
    Crash(usize),
    Pass(u64),
    /// Everything goes well for a while: long enough for a build to pass.
    Calm,
    Restart(Vec<Fate>),
    PowerCut,
}

fn said(instances: [&'static str; 2]) -> impl Strategy<Value = Said> {
    let build = prop::sample::select(vec![A, B, C]);
    let colour = prop::sample::select(vec!["red", "red", "blue"]);
    let instances = prop::sample::subsequence(instances.to_vec(), 0..=2);
    let runs = (build, instances, colour);
    prop_oneof![
        1 => Just(Said::Nothing),
        1 => Just(Said::Withdrawn),
        6 => runs.prop_map(|(build, instances, colour)| Said::Runs { build, instances, colour }),
    ]
}

fn write() -> impl Strategy<Value = Write> {
    use Write::{DiesAfter, DiesBefore, Fails, Lands, LandsUnknown};
    prop::sample::select(vec![Lands, Lands, Fails, LandsUnknown, DiesBefore, DiesAfter])
}

fn step() -> impl Strategy<Value = Step> {
    let fate = prop_oneof![
        4 => Just(Fate::Lives),
        1 => Just(Fate::Ended),
        1 => Just(Fate::Gone),
    ];
    let ending = prop_oneof![3 => Just(Ending::Well), 1 => Just(Ending::Badly)];
    prop_oneof![
        // Two modules may name one instance alike: then the declaration is refused.
        3 => (said(["one", "two"]), said(["three", "one"]), said(["four", "five"]))
            .prop_map(|(blog, shop, site)| Step::Declare { blog, shop, site }),
        2 => prop::collection::vec(write(), 1..6).prop_map(Step::Landings),
        1 => prop::sample::select(vec![agent_core::Ending::Leave, agent_core::Ending::Stop])
            .prop_map(Step::ShutDown),
        1 => prop_oneof![Just(Ok(())), Just(Err("full".to_owned()))].prop_map(Step::Disk),
        2 => prop::sample::select(TROUBLES.to_vec()).prop_map(Step::Machine),
        3 => (prop::sample::subsequence(vec![A, B, C], 0..3), prop_oneof![3 => Just(0_u64), 1 => Just(1)])
            .prop_map(|(builds, ago)| Step::Hello(builds, ago)),
        20 => (any::<usize>(), ending).prop_map(|(which, how)| Step::End(which, how)),
        4 => Just(Step::Calm),
        3 => any::<usize>().prop_map(Step::Crash),
        6 => (1_u64..15_000).prop_map(Step::Pass),
        2 => prop::collection::vec(fate, 1..8).prop_map(Step::Restart),
        1 => Just(Step::PowerCut),
    ]
}

fn compose(number: u64, blog: &Said, shop: &Said, site: &Said) -> Declaration {
    let mut composed = declaration(number, [], &[]);
    for (name, manifest, said) in [("blog", BLOG, blog), ("shop", SHOP, shop), ("site", SITE, site)]
    {
        match said {
            Said::Nothing => {}
            Said::Withdrawn => {
                composed.withdrawn.insert(name.parse().unwrap());
            }
            Said::Runs { build, instances, colour } => {
                let mut one = module(build, manifest, &[]);
                for instance in instances {
                    one = with_environment(one, instance, "COLOUR", colour);
                }
                composed.modules.insert(name.parse().unwrap(), one);
            }
        }
    }
    composed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The world asserts the laws at every action; in the end, when everything goes well, everything stands as declared, or is
    /// refused or held with a reason.
    #[test]
    fn the_laws_hold_and_what_is_declared_comes_to_stand_or_is_refused_with_a_reason(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut world = World::new();
        let mut number = 0;
        for step in steps {
            match step {
                Step::Declare { blog, shop, site } => {
                    number += 1;
                    world.bench.offer(compose(number, &blog, &shop, &site));
                    world.look();
                }
                Step::Disk(disk) => world.bench.disk = disk,
                Step::Landings(writes) => world.landings(&writes),
                Step::ShutDown(ending) => world.shut_down(ending),
                Step::Machine(kinds) => world.machine_has(kinds),
                Step::Hello(builds, ago) => world.answer_hello(&builds, ago),
                Step::End(which, how) => world.end(which, how),
                Step::Crash(which) => world.crash_one(which),
                Step::Pass(ms) => world.pass(ms),
                Step::Calm => world.calm(),
                Step::Restart(fates) => world.restart(&fates),
                Step::PowerCut => world.power_cut(),
            }
        }
        world.settle();
        world.stands();
    }
}
