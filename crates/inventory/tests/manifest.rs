//! What a manifest may say, and what is said of one that may not.

use std::net::SocketAddr;

use inventory::{
    Check, GatePolicy, Health, Limits, Manifest, Place, Restart, Reversal, Signal, Span, Stop,
    Swap, Tool, Wrong,
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
    assert_eq!(web.listen, Some(SocketAddr::from(([0, 0, 0, 0], 8080))));
    let check = Check::Http { path: "/healthz".to_owned(), body: Some("ok".to_owned()) };
    assert_eq!(web.health.check, check);
    assert_eq!((web.health.every, web.health.timeout), (Span::seconds(2), Span::seconds(1)));
    assert_eq!((web.health.passes, web.health.failures), (4, 5));
    assert_eq!(web.health.start_up, Span::seconds(60));
    assert_eq!(web.stop, Stop { signal: Signal::Int, grace: Span::seconds(20) });
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
fn all_faults_of_a_file_are_told_at_once() {
    let file = include_str!("manifests/everything-wrong.toml");
    let faults = Manifest::from_toml(file).unwrap_err();
    let told = format!("{}\n", faults.in_file("bellwether.toml"));
    assert_eq!(told, include_str!("manifests/everything-wrong.txt"));
}

/// A resource with these fields beside its name and command.
fn resource(fields: &str) -> String {
    format!("[module]\nname = \"m\"\n[[resource]]\nname = \"r\"\ncommand = [\"./r\"]\n{fields}")
}

fn gate(fields: &str) -> String {
    format!("[module]\nname = \"m\"\n[gate]\n{fields}")
}

#[test]
fn each_fault_is_told_with_its_place_its_field_and_what_is_allowed() {
    let cases = [
        (String::new(), "1:1: module: is missing; a table with the module's `name` is wanted"),
        ("module = \"m\"".into(), "1:10: module: a table is wanted, this is a text"),
        (
            format!("[module]\nname = \"{}\"", "m".repeat(61)),
            "2:8: module.name: a module's name has at most 60 characters, so that its instances have \
             room for a number",
        ),
        (
            "[module]\nname = \"m\"\nafter = [\"m\"]".into(),
            "3:10: module.after[0]: `m` was given before, in module.name",
        ),
        (
            "[module]\nname = \"m\"\ncolour = 1".into(),
            "3:1: module.colour: unknown key; allowed are `name`, `swap`, `after` and `point_of_no_return`",
        ),
        (
            "[module]\nname = \"m\"\n[resource]\nname = \"r\"".into(),
            "3:1: resource: a list of tables, each under [[resource]], is wanted, this is a table",
        ),
        (
            "[module]\nname = \"m\"\n\"a b\" = 1".into(),
            "3:1: module.\"a b\": unknown key; allowed are `name`, `swap`, `after` and `point_of_no_return`",
        ),
        (
            resource("listen = \"localhost:80\""),
            "6:10: resource[0].listen: an address with a port, as \"0.0.0.0:8080\", is wanted",
        ),
        (
            resource(
                "listen = \"[::1]:80\"\n[[resource]]\nname = \"s\"\ncommand = [\"./s\"]\nlisten = \"[0:0::1]:80\"",
            ),
            "10:10: resource[1].listen: `[::1]:80` was given before, in resource[0].listen",
        ),
        (
            resource("health = {}"),
            "6:10: resource[0].health: a check is wanted, one of `http`, `tcp`, `exec`, `notify` and `alive`",
        ),
        (
            resource("health = { exec = [] }"),
            "6:19: resource[0].health.exec: must begin with a program",
        ),
        (
            resource("health = { alive = \"0s\" }"),
            "6:20: resource[0].health.alive: must be longer than nothing",
        ),
        (
            resource("health = { http = \"/a b\" }"),
            "6:19: resource[0].health.http: a path is wanted that begins with `/` and has visible ASCII \
             characters only",
        ),
        (
            resource("health = { tcp = true, every = \"2 s\" }"),
            "6:32: resource[0].health.every: `2 s` is no length of time; write a whole number and a unit, \
             as in 200ms, 2s, 5m or 1h",
        ),
        (
            resource("restart = { backoff = \"1s\" }"),
            "6:23: resource[0].restart.backoff: the first and the longest pause, as \"200ms..30s\", is wanted",
        ),
        (
            resource("restart = { backoff = \"0s..1s\" }"),
            "6:23: resource[0].restart.backoff: the first pause must be longer than nothing, or it never grows",
        ),
        (
            resource("environment = { A = \"\\u0000\" }"),
            "6:21: resource[0].environment.A: must not have a NUL character",
        ),
        (
            resource("limits = { tasks = 9223372036854775808 }"),
            "6:20: resource[0].limits.tasks: a number is wanted, this is a number that is too large",
        ),
        (
            resource("limits = { files = 2026-01-01 }"),
            "6:20: resource[0].limits.files: a number is wanted, this is a date",
        ),
        (gate("passes = 1000001"), "4:10: gate.passes: 1000001 is not allowed; 1 to 1000000 is"),
    ];
    for (file, told) in cases {
        let faults = Manifest::from_toml(&file).map_err(|faults| faults.to_string());
        assert_eq!(faults, Err(told.to_owned()), "{file}");
    }
}

#[test]
fn a_file_that_is_no_toml_is_one_fault_with_its_place() {
    let cases = [
        ("[module]\nname = ", 2, 8),
        ("[module]\nname = \"m\"\nname = \"n\"", 3, 1),
        ("[[]", 1, 4),
    ];
    for (file, line, column) in cases {
        let faults = Manifest::from_toml(file).unwrap_err();
        let [fault] = faults.iter().collect::<Vec<_>>()[..] else { panic!("{faults}") };
        assert!(matches!(fault.wrong, Wrong::Syntax(_)), "{fault}");
        assert_eq!(fault.place, Some(Place { line, column }), "{fault}");
        // The words are the TOML reader's own; a list of faults has one line for each.
        assert!(!fault.to_string().contains('\n'), "{fault}");
    }
}

#[test]
fn a_file_that_is_no_text_is_one_fault_with_its_place() {
    let faults = Manifest::from_toml(b"[module]\nname = \"\xff\"").unwrap_err();
    assert_eq!(faults.to_string(), "2:9: this is no UTF-8");
}

#[test]
fn json_has_the_shape_of_the_file_and_leaves_defaults_out() {
    let manifest = Manifest::from_toml(resource(
        "stop = { grace = \"10s\" }\nlimits = { memory = \"1024M\" }",
    ));
    let json = serde_json::to_string(&manifest.unwrap()).unwrap();
    let expected = concat!(
        r#"{"module":{"name":"m"},"resource":[{"command":["./r"],"health":{"alive":"10s"},"#,
        r#""limits":{"memory":"1G"},"name":"r"}]}"#
    );
    assert_eq!(json, expected);
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
