//! What is said of a manifest that may not be as it is.

use inventory::{Manifest, Place, Wrong};

#[test]
fn all_faults_of_a_file_are_told_at_once() {
    let file = include_str!("manifests/everything-wrong.toml");
    let faults = Manifest::from_toml(file).unwrap_err();
    let told = format!("{}\n", faults.in_file("bellwether.toml"));
    assert_eq!(told, include_str!("manifests/everything-wrong.txt"));
}

/// Checks that each file, after the same beginning, has one fault, told so.
fn check(beginning: &str, cases: &[(&str, &str)]) {
    for (end, told) in cases {
        let faults = Manifest::from_toml(format!("{beginning}{end}"));
        assert_eq!(faults.map_err(|faults| faults.to_string()), Err((*told).to_owned()), "{end}");
    }
}

#[test]
fn a_fault_of_the_module_is_told_with_its_place_its_field_and_what_is_allowed() {
    let cases = [
        ("", "1:1: module: is missing; a table with the module's `name` is wanted"),
        ("module = \"m\"", "1:10: module: a table is wanted, this is a text"),
        (
            "[module]\nname = \"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm\"",
            "2:8: module.name: a module's name has at most 60 characters, so that its instances have \
             room for a number",
        ),
        (
            "[module]\nname = \"m\"\nafter = [\"m\"]",
            "3:10: module.after[0]: `m` was given before, in module.name",
        ),
        (
            "[module]\nname = \"m\"\ncolour = 1",
            "3:1: module.colour: unknown key; allowed are `name`, `swap`, `observe`, `after` and `point_of_no_return`",
        ),
        (
            "[module]\nname = \"m\"\n[resource]\nname = \"r\"",
            "3:1: resource: a list of tables, each under [[resource]], is wanted, this is a table",
        ),
        (
            "[module]\nname = \"m\"\n\"a b\" = 1",
            "3:1: module.\"a b\": unknown key; allowed are `name`, `swap`, `observe`, `after` and `point_of_no_return`",
        ),
    ];
    check("", &cases);
}

#[test]
fn a_fault_of_a_resource_is_told_with_its_place_its_field_and_what_is_allowed() {
    let beginning = "[module]\nname = \"m\"\n[[resource]]\nname = \"r\"\ncommand = [\"./r\"]\n";
    let cases = [
        (
            "listen = \"localhost:80\"",
            "6:10: resource[0].listen: an address with a port, as \"0.0.0.0:8080\", is wanted",
        ),
        (
            "listen = \"[::1]:80\"\n[[resource]]\nname = \"s\"\ncommand = [\"./s\"]\nlisten = \"[0:0::1]:80\"",
            "10:10: resource[1].listen: `[::1]:80` was given before, in resource[0].listen",
        ),
        (
            "health = {}",
            "6:10: resource[0].health: a check is wanted, one of `http`, `tcp`, `exec`, `notify` and `alive`",
        ),
        ("health = { exec = [] }", "6:19: resource[0].health.exec: must begin with a program"),
        (
            "health = { alive = \"0s\" }",
            "6:20: resource[0].health.alive: must be longer than nothing",
        ),
        (
            "health = { notify = true, watchdog = \"0s\" }",
            "6:38: resource[0].health.watchdog: must be longer than nothing",
        ),
        (
            "health = { notify = true, watchdog = 10 }",
            "6:38: resource[0].health.watchdog: a length of time in quotes, as \"200ms\", \"2s\", \"5m\" or \
             \"1h\", is wanted, this is a number",
        ),
        (
            "health = { http = \"/\", watchdog = \"10s\" }",
            "6:35: resource[0].health.watchdog: only a `notify` check has a watchdog",
        ),
        (
            "health = { http = \"/a b\" }",
            "6:19: resource[0].health.http: a path is wanted that begins with `/` and has visible ASCII \
             characters only",
        ),
        (
            "health = { tcp = true, every = \"2 s\" }",
            "6:32: resource[0].health.every: `2 s` is no length of time; write a whole number and a unit, \
             as in 200ms, 2s, 5m or 1h",
        ),
        (
            "restart = { backoff = \"1s\" }",
            "6:23: resource[0].restart.backoff: the first and the longest pause, as \"200ms..30s\", is wanted",
        ),
        (
            "restart = { backoff = \"0s..1s\" }",
            "6:23: resource[0].restart.backoff: the first pause must be longer than nothing, or it never grows",
        ),
        (
            "environment = { A = \"\\u0000\" }",
            "6:21: resource[0].environment.A: must not have a NUL character",
        ),
        (
            "limits = { tasks = 9223372036854775808 }",
            "6:20: resource[0].limits.tasks: a number is wanted, this is a number that is too large",
        ),
        (
            "limits = { files = 2026-01-01 }",
            "6:20: resource[0].limits.files: a number is wanted, this is a date",
        ),
    ];
    check(beginning, &cases);
}

#[test]
fn a_fault_of_the_gate_is_told_with_its_place_its_field_and_what_is_allowed() {
    let cases =
        [("passes = 1000001", "4:10: gate.passes: 1000001 is not allowed; 1 to 1000000 is")];
    check("[module]\nname = \"m\"\n[gate]\n", &cases);
}

#[test]
fn a_bound_shorter_than_the_passes_take_is_refused_where_it_is_declared() {
    // What is not said is the default: 3 passes, 40 s apart, within 10 minutes.
    let cases = [
        (
            "bound = \"79s\"",
            "3:1: gate: no build could ever pass: the passes take 80s, longer than the bound of 79s",
        ),
        (
            "passes = 17",
            "3:1: gate: no build could ever pass: the passes take 640s, longer than the bound of 600s",
        ),
    ];
    check("[module]\nname = \"m\"\n[gate]\n", &cases);
}

#[test]
fn a_policy_that_a_build_can_just_pass_is_allowed() {
    for gate in ["bound = \"80s\"", "passes = 16", "settle = \"1h\"", "passes = 1\nbound = \"1ms\""]
    {
        let manifest = Manifest::from_toml(format!("[module]\nname = \"m\"\n[gate]\n{gate}"));
        assert!(manifest.is_ok(), "{gate}: {manifest:?}");
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
fn a_file_nested_without_end_is_refused_and_not_followed() {
    let deep = 200_000;
    for (open, close) in [("[", "]"), ("{ a = ", "}")] {
        let file = format!("module = {}1{}", open.repeat(deep), close.repeat(deep));
        assert!(Manifest::from_toml(file).is_err());
    }
    let tables = format!("[module{}]", ".a".repeat(deep));
    assert!(Manifest::from_toml(tables).is_err());
    let json = format!(r#"{{"module":{}"#, "[".repeat(deep));
    assert!(serde_json::from_str::<Manifest>(&json).is_err());
}
