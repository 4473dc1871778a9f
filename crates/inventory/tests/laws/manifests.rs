//! Reading a manifest never fails but with faults, and a valid one means the same as a file and as JSON.

use inventory::Manifest;
use proptest::{collection::vec, option, prelude::*, sample::select};

/// Pieces that manifests are made of, to find what random letters never would.
const PIECES: [&str; 43] = [
    "[module]\n",
    "[[resource]]\n",
    "[[tool]]\n",
    "[gate]\n",
    "[resource.health]\n",
    "name",
    "swap",
    "observe",
    "after",
    "command",
    "listen",
    "health",
    "notify",
    "watchdog",
    "stop",
    "restart",
    "user",
    "limits",
    "environment",
    "timeout",
    "passes",
    "every",
    " = ",
    "\"web\"",
    "\"2s\"",
    "\"512M\"",
    "\"200ms..30s\"",
    "\"0.0.0.0:80\"",
    "[\"./a\"]",
    "[",
    "]",
    "{ ",
    " }",
    ", ",
    "\n",
    "true",
    "1",
    "-1",
    "1.5",
    "1979-05-27",
    "\"\"\"",
    "'é",
    "\u{feff}",
];

/// The file of a manifest that is valid, with each thing said or not.
fn files() -> impl Strategy<Value = String> {
    let module = (
        "[a-z0-9][a-z0-9_-]{0,59}",
        option::of(select(vec![
            "swap = \"hold\"",
            "swap = \"overlap\"",
            "observe = \"1m\"",
            "point_of_no_return = true",
        ])),
        option::of(Just("after = [\"db-1\", \"db-2\"]")),
    );
    let gate = option::of(select(vec![
        "passes = 5",
        "every = \"10s\"",
        "settle = \"1h\"",
        "bound = \"1h\"",
    ]));
    (module, vec(resource(), 0..4), vec(option::of(time()), 0..4), gate).prop_map(
        |((name, swap, after), resources, tools, gate)| {
            let mut file = format!("[module]\nname = \"{name}\"\n");
            let mut line = |text: String| file.extend([text.as_str(), "\n"]);
            swap.into_iter().chain(after).for_each(|said| line(said.to_owned()));
            for (number, said) in resources.iter().enumerate() {
                line(format!(
                    "[[resource]]\nname = \"r{number}\"\nlisten = \"[::]:{}\"",
                    number + 1
                ));
                line(said.join("\n"));
            }
            for (number, timeout) in tools.iter().enumerate() {
                line(format!("[[tool]]\nname = \"t{number}\"\ncommand = [\"./t\"]"));
                timeout.iter().for_each(|time| line(format!("timeout = {time}")));
            }
            gate.iter().for_each(|said| line(format!("[gate]\n{said}")));
            file
        },
    )
}

fn time() -> impl Strategy<Value = String> {
    (1..100u32, select(vec!["ms", "s", "m", "h"]))
        .prop_map(|(number, unit)| format!("\"{number}{unit}\""))
}

/// A text that TOML and JSON write in the same way.
fn text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| {
        serde_json::to_string(&text.replace(['\0', '\u{7f}'], "")).unwrap_or_default()
    })
}

fn resource() -> impl Strategy<Value = Vec<String>> {
    let check = prop_oneof![
        (select(vec!["/", "/healthz?deep=1"]), option::of("[a-z]{1,5}")).prop_map(
            |(path, body)| {
                let body = body.map(|body| format!(", body = \"{body}\"")).unwrap_or_default();
                format!("http = \"{path}\"{body}")
            }
        ),
        Just("tcp = true".to_owned()),
        option::of(time()).prop_map(|watchdog| {
            let watchdog = watchdog.map(|time| format!(", watchdog = {time}")).unwrap_or_default();
            format!("notify = true{watchdog}")
        }),
        text().prop_map(|argument| format!("exec = [\"./check\", {argument}]")),
        time().prop_map(|time| format!("alive = {time}")),
    ];
    let health = (check, time(), 1..9u32).prop_map(|(check, every, passes)| {
        format!("health = {{ {check}, every = {every}, passes = {passes} }}")
    });
    let stop = (select(vec!["TERM", "USR1", "KILL"]), time())
        .prop_map(|(signal, grace)| format!("stop = {{ signal = \"{signal}\", grace = {grace} }}"));
    let restart = (0..9u32, time(), 1..99u32).prop_map(|(limit, within, first)| {
        format!(
            "restart = {{ limit = {limit}, within = {within}, backoff = \"{first}ms..{first}s\" }}"
        )
    });
    let limits = (1..2000u32, select(vec!["B", "K", "M", "G", "T"]), 1..9u32).prop_map(
        |(memory, unit, tasks)| {
            format!("limits = {{ memory = \"{memory}{unit}\", tasks = {tasks} }}")
        },
    );
    (
        text().prop_map(|argument| format!("command = [\"./r\", {argument}]")),
        vec(prop_oneof![health.boxed(), stop.boxed(), restart.boxed(), limits.boxed()], 0..5),
        option::of(text().prop_map(|value| format!("environment = {{ A = {value} }}"))),
    )
        .prop_map(|(command, said, environment)| {
            let mut lines = vec![command];
            for line in said {
                let field = line.split(' ').next().unwrap_or_default().to_owned();
                // TOML refuses a field that is there twice.
                lines.retain(|line| !line.starts_with(&field));
                lines.push(line);
            }
            lines.extend(environment);
            lines
        })
}

proptest! {
    #[test]
    fn any_bytes_are_a_manifest_or_have_faults(bytes in vec(any::<u8>(), 0..200)) {
        if let Err(faults) = Manifest::from_toml(bytes) {
            prop_assert!(faults.iter().count() > 0);
        }
    }

    #[test]
    fn any_text_of_a_manifests_pieces_is_one_or_has_faults(pieces in vec(select(&PIECES[..]), 0..40)) {
        if let Err(faults) = Manifest::from_toml(pieces.concat()) {
            prop_assert!(faults.iter().all(|fault| fault.place.is_some()));
            prop_assert!(faults.in_file("bellwether.toml").to_string().lines().count() > 0);
        }
    }

    #[test]
    fn a_cut_or_changed_file_never_panics(file in files(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = file.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = Manifest::from_toml(&bytes);
        let _ = Manifest::from_toml(&bytes[..at]);
    }

    #[test]
    fn any_json_is_a_manifest_or_is_refused(pieces in vec(select(&PIECES[..]), 0..20)) {
        let _ = serde_json::from_str::<Manifest>(&pieces.concat().replace(" = ", ": "));
    }

    #[test]
    fn a_valid_manifest_means_the_same_as_a_file_and_as_json(file in files()) {
        let manifest = Manifest::from_toml(&file);
        let manifest = manifest.map_err(|faults| TestCaseError::fail(format!("{faults}\n{file}")))?;
        let json = serde_json::to_string(&manifest).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let read: Manifest =
            serde_json::from_str(&json).map_err(|error| TestCaseError::fail(format!("{error}\n{json}")))?;
        prop_assert_eq!(&read, &manifest);
        prop_assert_eq!(read.digest(), manifest.digest());
    }
}
