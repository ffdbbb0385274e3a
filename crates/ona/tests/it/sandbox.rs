//! `ona sandbox`.

use ona_testkit::run;
use serde_json::Value;

use crate::project;

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
    let kept = std::fs::read_to_string(&file).unwrap();
    let changed = kept.replacen("\"problem\": null", "\"problem\": \"as kept\"", 1);
    std::fs::write(&file, changed).unwrap();
    assert!(status(&[]).to_string().contains("as kept"));
    assert_eq!(status(&["--fresh"]), found);
    assert_eq!(status(&[]), found);
}
