//! What a manifest may say, and what is said of one that may not.

use std::net::SocketAddr;

use inventory::{
    Check, GatePolicy, Health, Limits, Listen, Manifest, Restart, Reversal, Signal, Span, Stop,
    Swap, Tool,
};

#[test]
fn a_whole_manifest_is_read_to_the_letter() {
    let manifest = Manifest::from_toml(include_str!("manifests/blog.toml")).unwrap();
    assert_eq!(manifest.module.as_str(), "blog");
    assert_eq!((manifest.swap, manifest.reversal), (Swap::Hold, Reversal::PointOfNoReturn));
    assert_eq!(manifest.after.iter().map(|module| module.as_str()).collect::<Vec<_>>(), ["db"]);
    assert_eq!(
        manifest.gate,
        GatePolicy { settle: Some(Span::seconds(300)), ..GatePolicy::default() }
    );

    let [web] = manifest.resources.as_slice() else { panic!("{:?}", manifest.resources) };
    assert_eq!(web.name.as_str(), "web");
    assert_eq!(web.command, ["./blog", "--port", "${PORT}"]);
    assert_eq!(web.environment["LANG"], "C");
    assert_eq!(web.listen, Listen::Routed(SocketAddr::from(([0, 0, 0, 0], 8080))));
    let check = Check::Http { path: "/healthz".to_owned(), body: Some("ok".to_owned()) };
    assert_eq!(web.health.check, check);
    assert_eq!((web.health.every, web.health.timeout), (Span::seconds(2), Span::seconds(1)));
    assert_eq!((web.health.passes, web.health.failures), (4, 5));
    assert_eq!(web.health.start_up, Span::seconds(60));
    assert_eq!(web.stop, Stop { signal: Signal::Int, grace: Span::seconds(20), ..Stop::default() });
    let restart = Restart {
        limit: 3,
        within: Span::seconds(120),
        backoff_min: Span::milliseconds(100),
        backoff_max: Span::seconds(10),
    };
    assert_eq!(web.restart, restart);
    assert_eq!(web.user.as_deref(), Some("blog"));
    let limits = Limits { memory: Some(512 << 20), tasks: Some(200), files: Some(4096) };
    assert_eq!(web.limits, limits);

    let [stats] = manifest.tools.as_slice() else { panic!("{:?}", manifest.tools) };
    assert_eq!(stats.command, ["./blog", "stats", "--json"]);
    assert_eq!(stats.timeout, Span::seconds(5));
}

#[test]
fn what_is_not_said_has_its_default() {
    let manifest = Manifest::from_toml(
        r#"
        module = { name = "blog" }
        resource = [
            { name = "web", command = ["./web"], listen = "[::]:80" },
            { name = "jobs", command = ["./jobs", "${PORT}"] },
        ]
        tool = [{ name = "stats", command = ["./stats"] }]
        "#,
    )
    .unwrap();
    assert_eq!((manifest.swap, manifest.reversal), (Swap::Overlap, Reversal::Possible));
    assert_eq!(manifest.gate, GatePolicy::default());
    let [web, jobs] = manifest.resources.as_slice() else { panic!("{:?}", manifest.resources) };
    // One that listens must be reachable; of one that does not, nothing more can be asked than that it stays up.
    assert_eq!(web.health.check, Check::Tcp);
    assert_eq!(jobs.health.check, Check::Alive(Span::seconds(10)));
    assert_eq!(jobs.health.every, Health::EVERY);
    assert_eq!((jobs.stop, jobs.restart), (Stop::default(), Restart::default()));
    assert_eq!((jobs.limits, &jobs.user), (Limits::default(), &None));
    assert_eq!(manifest.tools[0].timeout, Tool::TIMEOUT);
}

#[test]
fn json_has_the_shape_of_the_file_and_leaves_defaults_out() {
    let manifest = Manifest::from_toml(
        r#"
        [module]
        name = "m"
        [[resource]]
        name = "r"
        command = ["./r"]
        stop = { grace = "10s" }
        limits = { memory = "1024M" }
        "#,
    );
    let json = serde_json::to_string(&manifest.unwrap()).unwrap();
    let expected = concat!(
        r#"{"module":{"name":"m"},"resource":[{"command":["./r"],"health":{"alive":"10s"},"#,
        r#""limits":{"memory":"1G"},"name":"r"}]}"#
    );
    assert_eq!(json, expected);
}

#[test]
fn a_watchdog_is_read_and_written() {
    let file = r#"
        module = { name = "m" }
        [[resource]]
        name = "r"
        command = ["./r"]
        health = { notify = true, watchdog = "90s" }
    "#;
    let manifest = Manifest::from_toml(file).unwrap();
    let check = Check::Notify { watchdog: Some(Span::seconds(90)) };
    assert_eq!(manifest.resources[0].health.check, check);
    let json = serde_json::to_string(&manifest).unwrap();
    assert!(json.contains(r#""health":{"notify":true,"watchdog":"90s"}"#), "{json}");
    assert_eq!(serde_json::from_str::<Manifest>(&json).unwrap(), manifest);
    // What does without one is what it was.
    let plain = Manifest::from_toml(file.replace(", watchdog = \"90s\"", "")).unwrap();
    let json = serde_json::to_string(&plain).unwrap();
    assert!(json.contains(r#""health":{"notify":true}"#), "{json}");
    assert_ne!(plain.digest(), manifest.digest());
}

#[test]
fn json_says_all_that_the_file_says() {
    let manifest = Manifest::from_toml(include_str!("manifests/blog.toml")).unwrap();
    let json = serde_json::to_string(&manifest).unwrap();
    assert_eq!(serde_json::from_str::<Manifest>(&json).unwrap(), manifest);
}

#[test]
fn json_is_checked_as_the_file_is() {
    let cases = [
        (
            r#"{"module":{"name":"M"}}"#,
            "module.name: the module name `M` has the character 'M'; allowed are a-z, 0-9, `-` and `_`",
        ),
        (r#"{"module":{"name":"m","name":"n"}}"#, "module.name: is given twice"),
        (r#"{"module":{"name":"m"},"gate":null}"#, "gate: a table is wanted, this is null"),
        (r#"{"module":{"name":"m"},"tools":[]}"#, "tools: unknown key; did you mean `tool`?"),
        (
            r#"{"module":{"swap":1},"x":1.5}"#,
            "module.name: is missing; the module's name is wanted; module.swap: a text in quotes is wanted, this is a number; x: unknown key; allowed are `module`, `resource`, `tool` and `gate`",
        ),
        (
            r#"{"module":{"name":"m"},"gate":{"passes":18446744073709551615}}"#,
            "gate.passes: a number is wanted, this is a number that is too large",
        ),
        ("[]", "a table is wanted, this is a list"),
    ];
    for (json, told) in cases {
        let error = serde_json::from_str::<Manifest>(json).unwrap_err().to_string();
        assert_eq!(error, told, "{json}");
    }
}

#[test]
fn a_digest_is_of_the_meaning_and_stays_what_it_was() {
    let digest = |file: &str| Manifest::from_toml(file).unwrap().digest();
    let short = digest("module = { name = \"m\" }");
    let long = digest(
        "# says what holds anyway\n[module]\nname = \"m\"\nswap = \"overlap\"\nafter = []\n[gate]",
    );
    assert_eq!(short, long);
    assert_ne!(short, digest("module = { name = \"n\" }"));
    // Verdicts on disk are kept under this: an upgrade that changes it forgets them.
    assert_eq!(short.as_str(), "56f788fd38ad9087089d6aa7ca0431e5015a50aa63ba473b21668e6c59a2b687");
}
