//! Plans: what can be approved, and what cannot.

use super::*;

/// The answer when this plan shall be approved.
fn told_of(criteria: &str) -> String {
    let project = todo_project();
    submits(&project, &format!("# Plan\n\n{criteria}\n"));
    let told = refused_at_terminal(&project, &["plan", "approve"]);
    assert_eq!(project.sql("SELECT status FROM plans"), ["draft"]);
    assert_eq!(phase(&project), "planning");
    // The lines of a terminal are cut where it ends.
    told.replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_plan_that_nobody_could_test_cannot_be_approved() {
    let many = format!("## Success criteria\n{}", "- it prints x\n".repeat(500));
    for (criteria, why) in [
        (
            "1. Do it",
            "the plan has no success criteria: add a section `## Success criteria` with a list",
        ),
        ("## Success criteria\n\nIt works.", "has no list"),
        ("## Success criteria\n- it prints x\n-\n", "criterion 2 is empty"),
        ("## Success criteria\n- the code is clean\n", "SC-1 names nothing that can be observed"),
        ("## Success criteria\n- [surface: screen] it is blue\n", "unknown surface `screen`"),
        (
            "## Success criteria\n- [id: A] it prints x\n- [id: A] it prints y\n",
            "two success criteria have the id A",
        ),
        (many.as_str(), "500 success criteria (limit: 200)"),
    ] {
        let told = told_of(criteria);
        assert!(told.contains(why), "{criteria}: {told}");
        assert!(told.contains("`ona plan edit 1` makes a new version"), "{told}");
    }
}

#[test]
fn a_plan_is_listed_shown_edited_compared_rejected_and_withdrawn() {
    let project = todo_project();
    submits(&project, PLAN);
    let listed: Value = serde_json::from_str(&ok(&project, &["plan", "list", "--json"])).unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["status"]), (&json!(1), &json!("draft")));
    let shown: Value = serde_json::from_str(&ok(&project, &["plan", "show", "--json"])).unwrap();
    assert_eq!(shown["criteria"][0]["id"], "ADD");
    assert_eq!(shown["criteria"][1]["inferred"], true);
    assert_eq!(shown["faults"], json!([]));

    let file = project.home().join("plan.md");
    std::fs::write(&file, PLAN.replace("- [id: ADD]", "- it prints help\n- [id: ADD]")).unwrap();
    let told = ok(&project, &["plan", "edit", "--file", file.to_str().unwrap()]);
    assert!(told.contains("plan 2 is a draft, made from plan 1"), "{told}");
    // The criterion keeps its id although another one stands before it.
    assert!(told.contains("SC-1 [process_output, inferred] `node todo.mjs list`"), "{told}");
    assert!(told.contains("SC-2 [process_output, inferred] it prints help"), "{told}");
    let diff = ok(&project, &["plan", "diff"]);
    assert!(diff.contains("+- it prints help"), "{diff}");
    let editor = run(project.ona(["plan", "edit"]).env("EDITOR", "true"));
    assert_eq!(editor.code, Some(2), "no terminal: {}", editor.stderr);
    ok(&project, &["plan", "reject", "--reason", "no help, please"]);
    let told = project.sql("SELECT detail FROM events WHERE event_type = 'plan.rejected'").concat();
    assert!(told.contains("no help, please"), "{told}");
    assert_eq!(project.sql("SELECT status FROM plans"), ["superseded", "superseded"]);
    let gone = ona(&project, &["plan", "reject"]);
    assert_eq!(gone.code, Some(2), "{}", gone.stderr);

    submits(&project, PLAN);
    let hash = project.sql("SELECT hash FROM plans WHERE status = 'draft'").concat();
    let told = refused_at_terminal(&project, &["plan", "approve", "--hash", "0123456789abcdef"]);
    assert!(told.contains(&hash[..16]), "{told}");
    let pty = project.pty(["plan", "approve", "--hash", &hash[..16]], PtyOptions::default());
    assert_eq!(pty.wait_exit(), ona_testkit::pty::Exit::Code(0), "{}", pty.whole());
    let told = ok(&project, &["plan", "supersede", "3"]);
    assert!(told.contains("it was approved"), "{told}");
    assert!(refused(&project, &["test", "run"]).contains("no approved plan"));
}

#[test]
fn what_is_approved_is_what_was_read() {
    let project = todo_project();
    submits(&project, PLAN);
    let pty = project.pty(["plan", "approve"], PtyOptions::default());
    pty.wait_for("[y/N]");
    // Meanwhile the agent submits another one.
    submits(&project, &PLAN.replace("from 1", "from 7"));
    pty.line("y");
    pty.wait_exit();
    assert_eq!(project.sql("SELECT count(*) FROM plans WHERE status = 'approved'"), ["0"]);
    assert_eq!(phase(&project), "planning");
}

#[test]
fn contracts_are_kept_as_they_were_at_the_approval() {
    let project = todo_project();
    project.file("docs/link.md", "");
    std::fs::remove_file(project.path("docs/link.md")).unwrap();
    std::os::unix::fs::symlink("../old.mjs", project.path("docs/link.md")).unwrap();
    project.file("old.mjs", "console.log('usage: old [--loud]   prints a greeting');\n");
    let plan = PLAN.replace(
        "# A list",
        "# See `node old.mjs --help`, docs/link.md and `node none.mjs --help`. A list",
    );
    submits(&project, &plan);
    let shown = says_yes(&project, &["plan", "approve"]);
    // Whoever approves sees what the author will see.
    for part in [
        "page docs/usage.md (",
        "page docs/link.md: not available: it could not be read: it leads to old.mjs",
        "output node old.mjs --help (",
        "output node none.mjs --help: not available",
    ] {
        let plain = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(part), "{part}: {shown}");
    }
    project.file("docs/usage.md", "# Usage\n\nChanged since.\n");
    let kept = project.sql("SELECT contracts FROM plan_approvals").concat();
    assert!(
        kept.contains("Items are kept in todo.txt") && kept.contains("usage: old [--loud]"),
        "{kept}"
    );
    ok(&project, &["--transition", "test"]);
    let server = author(&[&both_tests()]);
    assert_eq!(generates(&project, &server).code, Some(0));
    let asked = server.requests()[0].body["messages"].to_string();
    assert!(asked.contains("usage: old [--loud]") && !asked.contains("Changed since"), "{asked}");
}
