//! `ona intent`: the file of intents by commands, what is said of it when it is wrong, and who may do what.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;
use crate::trust::{git, repository};

pub const FILE: &str = ".orchestration/active_intents.yaml";

/// `ona` with these words, in the project.
pub fn ona(project: &Project, args: &[&str]) -> Ran {
    run(&mut project.ona(args))
}

/// The same, which has to succeed; what it prints.
pub fn done(project: &Project, args: &[&str]) -> String {
    let ran = ona(project, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// The same, which has to fail so; what it says.
pub fn fails(project: &Project, code: i32, args: &[&str]) -> String {
    let ran = ona(project, args);
    assert_eq!(ran.code, Some(code), "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran.stderr
}

pub fn answer(project: &Project, args: &[&str]) -> Value {
    let ran = ona(project, args);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{args:?}: {}", ran.stderr))
}

/// A repository with intents: INT-001 owns `src`, INT-002 owns `docs`.
pub fn governed() -> Project {
    let project = repository();
    done(&project, &["intent", "init"]);
    let login = [
        "intent",
        "add",
        "--name",
        "Limit the login",
        "--scope",
        "src/**",
        "--scope",
        "!src/gen/**",
        "--criterion",
        "The sixth attempt answers 429",
        "--requirement",
        "REQ-3",
    ];
    done(&project, &login);
    done(&project, &["intent", "add", "--name", "Write docs", "--scope", "docs/**"]);
    project
}

/// What is printed, with the project's directory left out.
pub fn plain(project: &Project, text: &str) -> String {
    text.replace(project.dir().to_str().unwrap(), "PROJECT")
}

#[test]
fn init_sets_up_what_is_missing_and_nothing_else() {
    let project = repository();
    assert_eq!(
        plain(&project, &fails(&project, 2, &["intent", "list"])),
        "error: no intents are set up for PROJECT\nhint: `ona intent init` sets them up\n"
    );
    project.file(".gitattributes", "*.png binary");
    fs::create_dir_all(project.path("src/deep")).unwrap();
    // From below, the top of the checkout is meant.
    let ran = run(project.ona(["intent", "init"]).current_dir(project.path("src/deep")));
    insta::assert_snapshot!(plain(&project, &ran.stdout), @r"
    intents of PROJECT
      created  .orchestration/active_intents.yaml
      created  .orchestration/hook_policy.yaml
      created  .orchestration/.gitignore
      extended .gitattributes
    next: `ona intent add --name … --scope …`, then `ona intent select`
    ");
    assert_eq!(
        project.content(".gitattributes"),
        "*.png binary\n.orchestration/agent_trace.jsonl merge=union\n.orchestration/intent_map.md merge=union\n"
    );
    assert!(project.content(".orchestration/hook_policy.yaml").contains("failure_mode: closed"));
    let again = answer(&project, &["intent", "init", "--json"]);
    assert!(
        again["files"].as_array().unwrap().iter().all(|file| file["done"] == "kept"),
        "{again}"
    );
    assert_eq!(done(&project, &["intent", "list"]), "no intents yet; `ona intent add` adds one\n");
    assert_eq!(
        done(&project, &["intent", "lint"]),
        ".orchestration/active_intents.yaml: no problems found\n"
    );
    // Locks and what a killed writer leaves are ignored; the rest is for everybody.
    done(&project, &["intent", "add", "--name", "x", "--scope", "src/**"]);
    project.file(".orchestration/agent_trace.lock", "");
    let untracked = run(project.command("git").args(["status", "--porcelain", "-uall"])).stdout;
    assert!(!untracked.contains("lock"), "{untracked}");
    assert!(untracked.contains(".orchestration/active_intents.yaml"), "{untracked}");
    // Nothing is written where a link leads out.
    let other = project.home().join("elsewhere");
    fs::create_dir(&other).unwrap();
    let linked = repository();
    symlink(&other, linked.path(".orchestration")).unwrap();
    let said = fails(&linked, 2, &["intent", "init"]);
    assert!(said.contains("leads out of the project"), "{said}");
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
}

#[test]
fn intents_are_added_listed_shown_and_changed_and_comments_stay() {
    let project = governed();
    let listed = done(&project, &["intent", "list"]);
    insta::assert_snapshot!(listed, @r"
      INT-001  PLANNED      Limit the login  [src/**, !src/gen/**]
      INT-002  PLANNED      Write docs  [docs/**]
    ");
    let text = project.content(FILE).replace("  - id: INT-002", "  # about docs\n  - id: INT-002");
    project.file(FILE, text);
    done(&project, &["intent", "edit", "INT-002", "--name", "Write: docs", "--add-scope", "*.md"]);
    done(
        &project,
        &["intent", "edit", "INT-002", "--remove-scope", "docs/**", "--constraint", "Plain words"],
    );
    done(&project, &["intent", "edit", "INT-002", "--description", "two\nlines", "--bead", "b-1"]);
    let shown = answer(&project, &["intent", "show", "INT-002", "--json"]);
    assert_eq!(
        (&shown["name"], &shown["owned_scope"], &shown["constraints"], &shown["bead_id"]),
        (&json!("Write: docs"), &json!(["*.md"]), &json!(["Plain words"]), &json!("b-1"))
    );
    assert_eq!(shown["description"], "two\nlines");
    assert!(project.content(FILE).contains("  # about docs\n"));
    assert_eq!(
        done(&project, &["intent", "status", "INT-002", "in-progress"]),
        "INT-002: PLANNED → IN_PROGRESS\n"
    );
    assert_eq!(
        done(&project, &["intent", "status", "INT-002", "done"]),
        "INT-002: IN_PROGRESS → COMPLETED\n"
    );
    assert!(!done(&project, &["intent", "list"]).contains("INT-002"));
    assert!(done(&project, &["intent", "list", "--all"]).contains("INT-002  COMPLETED"));
    let shown = done(&project, &["intent", "show", "INT-001"]);
    let shown: String = shown
        .lines()
        .filter(|line| !line.contains("ated  "))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(shown, @r"
    INT-001 Limit the login
      status        PLANNED
      scope         src/**
                    !src/gen/**
      criteria      The sixth attempt answers 429
      requirements  REQ-3
      trace         no changes yet
    ");
    // The next number, also behind one that was given.
    done(&project, &["intent", "add", "--id", "INT-041", "--name", "x", "--scope", "x"]);
    assert_eq!(
        answer(&project, &["intent", "add", "--name", "y", "--scope", "y", "--json"])["id"],
        "INT-042"
    );
}

#[test]
fn what_cannot_be_meant_is_refused_and_the_file_is_as_it_was() {
    let project = governed();
    let before = project.content(FILE);
    for (args, said) in [
        (
            &["add", "--name", "x", "--scope", "+(a|b)"][..],
            "error: the pattern `+(a|b)` cannot be used: groups like `+(a|b)` are not supported: use braces, `{a,b}`",
        ),
        (&["add", "--name", "x", "--scope", "../x"], "`..` leads out of the workspace"),
        (&["add", "--name", " "], "an intent needs a name"),
        (&["add", "--name", "x", "--id", "INT-001"], "the intent INT-001 already exists"),
        (&["add", "--name", "x", "--id", "a b"], "`a b` is not a valid id"),
        (
            &["add", "--name", "x", "--status", "soon"],
            "error: unknown status `soon`\nhint: expected one of PLANNED, IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED\n",
        ),
        (&["status", "INT-001", "soon"], "unknown status `soon`"),
        (
            &["status", "INT-9", "DONE"],
            "error: unknown intent INT-9\nhint: known intents: INT-001, INT-002; `ona intent list --all` lists all\n",
        ),
        (&["edit", "INT-9", "--name", "x"], "unknown intent INT-9"),
        (&["edit", "INT-001"], "no change given for INT-001"),
        (
            &["edit", "INT-001", "--remove-scope", "lib/**"],
            "error: INT-001 has no `lib/**` to remove\n",
        ),
        (&["edit", "INT-001", "--add-scope", "src/**.ts"], "`**` must be a whole name"),
        (&["edit", "INT-001", "--name", "a\u{7}b"], "contains control characters"),
        (&["show", "INT-9"], "unknown intent INT-9"),
        (&["select", "INT-9"], "unknown intent INT-9"),
    ] {
        let ran = fails(&project, 2, &[&["intent"], args].concat());
        assert!(ran.contains(said), "{args:?}: {ran}");
    }
    assert_eq!(project.content(FILE), before);
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_its_place() {
    let project = governed();
    let outside = project.home().join("intents.yaml");
    fs::write(&outside, "- id: INT-1\n").unwrap();
    for (text, place, why) in [
        ("active_intents:\n\t- id: x\n", "active_intents.yaml:2:", "tab"),
        (
            "active_intents:\n  - id: INT-1\n    id: INT-2\n",
            "active_intents.yaml:3:5: ",
            "duplicate key `id`",
        ),
        ("active_intents: [\n", "active_intents.yaml:", ""),
        ("intents: []\n", "active_intents.yaml:1:1: ", "the list of intents is missing"),
        ("- id: x\n---\n- id: y\n", "active_intents.yaml:2:", "a second document begins here"),
    ] {
        project.file(FILE, text);
        for args in [
            &["list"][..],
            &["show", "INT-001"],
            &["add", "--name", "x"],
            &["scope-check", "a"],
            &["select", "INT-001"],
        ] {
            let said = fails(&project, 2, &[&["intent"], args].concat());
            assert!(said.contains(place) && said.contains(why), "{args:?}: {said}");
            assert!(said.contains("hint: `ona intent lint`"), "{args:?}: {said}");
        }
        let lint = ona(&project, &["intent", "lint"]);
        assert_eq!(lint.code, Some(1));
        assert!(lint.stdout.contains(place) && lint.stdout.contains(why), "{}", lint.stdout);
        assert_eq!(project.content(FILE), text);
    }
    project.file(FILE, vec![b'#'; 10_000_000]);
    let said = fails(&project, 2, &["intent", "list"]);
    assert!(said.contains("the file is larger than 4 MiB"), "{said}");
    assert_eq!(ona(&project, &["intent", "lint"]).code, Some(1));
    fs::remove_file(project.path(FILE)).unwrap();
    assert!(fails(&project, 2, &["intent", "lint"]).contains("`ona intent init` creates it"));
    symlink(&outside, project.path(FILE)).unwrap();
    for args in [&["intent", "list"][..], &["intent", "add", "--name", "x"]] {
        assert!(fails(&project, 2, args).contains("it points outside the workspace"));
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "- id: INT-1\n");
}

#[test]
fn lint_says_where_and_how_bad() {
    let project = governed();
    project.file("src/a.rs", "");
    project.file(
        FILE,
        "active_intents:\r\n  - id: INT-1\r\n    name: &n one\r\n    status: SOON\r\n    owned_scope: ['src/**', '+(x)', 'no/**', '.orchestration/**']\r\n  - {id: INT-1, name: *n, owned_scope: [src/a.rs]}\r\n",
    );
    project.file(".orchestration/.intentignore", "ok/**\n**x\n");
    project.file(".orchestration/hook_policy.yaml", "failure_mode: maybe\n");
    let lint = ona(&project, &["intent", "lint"]);
    assert_eq!(lint.code, Some(1), "{}", lint.stdout);
    for line in [
        "active_intents.yaml:4:13: error: unknown status `SOON`, expected one of PLANNED, IN_PROGRESS, COMPLETED, BLOCKED, ABANDONED [unknown_status]",
        "active_intents.yaml:5:29: error: the pattern `+(x)` cannot be used",
        "active_intents.yaml:6:5: error: the id `INT-1` is already used at line 2 column 5; neither intent can be selected [duplicate_id]",
        ".intentignore:2:1: error: the pattern `**x` cannot be used",
        "hook_policy.yaml: ",
    ] {
        assert!(lint.stdout.contains(line), "{line}\n{}", lint.stdout);
    }
    let findings = answer(&project, &["intent", "lint", "--json"]);
    assert!(findings["errors"].as_u64().unwrap() >= 4, "{findings}");
    assert!(
        findings["findings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["code"] == "duplicate_id" && one["line"] == 6)
    );
    assert!(
        fails(&project, 2, &["intent", "select", "INT-1"]).contains(
            "duplicate intent INT-1: at .orchestration/active_intents.yaml:2:5 and at 6:5"
        )
    );
    // Warnings alone are for who wants them.
    let project = governed();
    let lint = ona(&project, &["intent", "lint"]);
    assert_eq!(lint.code, Some(0));
    assert!(
        lint.stdout.contains("`src/**` matches no existing file [matches_nothing]"),
        "{}",
        lint.stdout
    );
    assert!(lint.stdout.ends_with("0 errors, 3 warnings\n"), "{}", lint.stdout);
    assert_eq!(ona(&project, &["intent", "lint", "--strict"]).code, Some(1));
}

#[test]
fn what_an_anchor_shares_is_not_changed_by_a_command() {
    let project = governed();
    let text = "active_intents:\n  - id: INT-1\n    name: one\n    owned_scope: &s [a/**]\n  - id: INT-2\n    name: two\n    owned_scope: *s\n";
    project.file(FILE, text);
    for id in ["INT-1", "INT-2"] {
        let said = fails(&project, 2, &["intent", "edit", id, "--add-scope", "b/**"]);
        assert!(
            said.contains("`owned_scope` is shared through an anchor: change it by hand"),
            "{said}"
        );
        assert!(said.contains("hint: the file is unchanged"), "{said}");
    }
    assert_eq!(project.content(FILE), text);
    assert_eq!(
        answer(&project, &["intent", "show", "INT-2", "--json"])["owned_scope"],
        json!(["a/**"])
    );
}

#[test]
fn two_who_add_at_once_get_two_numbers() {
    let project = governed();
    let mut children: Vec<_> = (0..8)
        .map(|n| {
            let name = format!("n{n}");
            let mut command = project.ona(["intent", "add", "--name", &name, "--scope", "x"]);
            command.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let listed = answer(&project, &["intent", "list", "--json"]);
    let mut ids: Vec<&str> =
        listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    ids.dedup();
    assert_eq!((ids.len(), *ids.last().unwrap()), (10, "INT-010"));
}

#[test]
fn a_reader_that_goes_away_and_no_repository_at_all() {
    let project = project();
    done(&project, &["intent", "init"]);
    done(&project, &["intent", "add", "--name", "x\u{1b}[31m", "--scope", "src/**"]);
    assert!(
        done(&project, &["intent", "list"]).contains("x\u{fffd}[31m"),
        "nothing moves the cursor"
    );
    let lint = ona(&project, &["intent", "lint"]);
    assert!(
        !lint.stdout.contains("matches_nothing"),
        "without git nobody knows which files are meant: {}",
        lint.stdout
    );
    let script =
        format!("{} intent list | true; echo ${{PIPESTATUS[0]}}", env!("CARGO_BIN_EXE_ona"));
    let ran = run(project.command("bash").args(["-c", &script]));
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("0\n", ""));
    git(&project, &["init", "-q"]);
    assert!(ona(&project, &["intent", "lint"]).stdout.contains("matches_nothing"));
}
