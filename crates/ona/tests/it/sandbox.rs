//! The sandbox of commands, at every level that this machine offers.

mod escapes;
mod settings;

use std::fs;
use std::io::Read as _;

use ona_testkit::{Project, run};
use serde_json::Value;

use crate::project;

/// Lets a project have no stronger level than this. Whether the level works here; if not, that is said.
#[allow(clippy::print_stderr, reason = "a skipped test says why")]
fn at_level(project: &Project, level: &str) -> bool {
    assert_eq!(run(&mut project.ona(["--init-db"])).code, Some(0));
    let ran = run(&mut project.ona(["sandbox", "status", "--json"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let file = project.database().with_file_name("sandbox.json");
    let mut kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut works = level == "none";
    for one in kept["found"].as_array_mut().unwrap() {
        if one["level"] == level {
            works = one["problem"].is_null();
            if !works {
                eprintln!("skipped: {level} does not work here: {}", one["problem"]);
            }
            break;
        }
        one["problem"] = "not in this test".into();
    }
    fs::write(&file, kept.to_string()).unwrap();
    works
}

/// Whether a process with this argument is there.
fn lives(argument: &str) -> bool {
    let mut text = String::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        text.clear();
        let Ok(mut file) = fs::File::open(entry.path().join("cmdline")) else { continue };
        if file.read_to_string(&mut text).is_ok() && text.split('\0').any(|word| word == argument) {
            return true;
        }
    }
    false
}

#[test]
fn every_level_is_listed_with_why_it_does_not_work() {
    let project = project();
    let mut command = project.ona(["sandbox", "status"]);
    let ran = run(command.env("PATH", "/no/such/dir"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.starts_with(
            "bwrap         does not work: bwrap is not installed\n\
             bwrap-noproc  does not work: bwrap is not installed\n"
        ),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("\nnone          works\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("sandbox.enabled is not set"), "{}", ran.stdout);
}

#[test]
fn what_was_found_is_kept_until_it_is_to_be_found_again() {
    let project = project();
    let status = |more: &[&str]| -> Value {
        let ran = run(project.ona(["sandbox", "status", "--json"]).args(more));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let found = status(&[]);
    assert!(found["best"].is_string(), "{found}");
    // Without a record there is no directory for it yet.
    assert_eq!(run(&mut project.ona(["--init-db"])).code, Some(0));
    status(&[]);
    let file = project.database().with_file_name("sandbox.json");
    let kept = fs::read_to_string(&file).unwrap();
    let changed = kept.replacen("\"problem\": null", "\"problem\": \"as kept\"", 1);
    fs::write(&file, changed).unwrap();
    assert!(status(&[]).to_string().contains("as kept"));
    assert_eq!(status(&["--fresh"]), found);
    assert_eq!(status(&[]), found);
}

/// The table of docs/SANDBOX.md is that of the attempts.
#[test]
fn the_page_says_what_was_tried() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/SANDBOX.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = escapes::rows();
    assert!(rows.len() >= 40, "{}", rows.len());
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/SANDBOX.md lacks:\n{}", rows.join("\n"));
}
