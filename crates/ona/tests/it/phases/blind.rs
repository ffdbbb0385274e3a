//! The author of the tests has not seen the work: leaks are found in every disguise, and bad answers go back.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

#[test]
fn work_that_a_later_plan_quotes_stops_the_generation_in_every_disguise() {
    let line = "const readItems = () => readFileSync('todo.txt', 'utf8').trimEnd().split('\\n');";
    assert!(WRONG.contains(line));
    let encoded = STANDARD.encode(WRONG);
    let wrapped =
        encoded.as_bytes().chunks(76).map(|row| format!("{}\n", std::str::from_utf8(row).unwrap()));
    let hex: String = WRONG.bytes().map(|byte| format!("{byte:02x}")).collect();
    for (disguise, quoted) in [
        ("a line", line.to_owned()),
        ("a diff", WRONG.lines().map(|line| format!("+{line}\n")).collect()),
        ("numbered", WRONG.lines().zip(1..).map(|(line, n)| format!("{n:>4}\t{line}\n")).collect()),
        ("JSON", serde_json::to_string(WRONG).unwrap()),
        ("upper case", WRONG.to_uppercase()),
        ("words only", WRONG.replace(|c: char| !c.is_alphanumeric(), " ")),
        (
            "snake case",
            WRONG.replace("readItems", "read_items").replace("appendFileSync", "append_file_sync"),
        ),
        ("wrapped", line.replace(' ', "\n")),
        ("Base64", wrapped.collect()),
        ("hexadecimal", hex),
        (
            "the commit message",
            "keep the items of the list in a plain file, one item on each line, as asked"
                .to_owned(),
        ),
    ] {
        let project = at_test(WRONG);
        git(&project.dir(), &["add", "."]);
        let message = "keep the items of the list in a plain file, one item on each line, as asked";
        git(&project.dir(), &["commit", "-q", "-m", message]);
        submits(&project, &format!("{PLAN}\n## Notes\n\n{quoted}\n"));
        says_yes(&project, &["plan", "approve"]);
        ok(&project, &["--transition", "test"]);
        let server = author(&[&both_tests()]);
        let ran = generates(&project, &server);
        assert_eq!(ran.code, Some(1), "{disguise}: {}", ran.stdout);
        assert!(
            ran.stderr.contains("the tests' author would see the work"),
            "{disguise}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains("nothing was sent"), "{}", ran.stderr);
        assert_eq!(server.requests().len(), 0, "{disguise}");
        let kept = project.sql("SELECT outcome, detail FROM test_generations").concat();
        assert!(
            kept.starts_with("stopped|") && kept.contains("todo.mjs")
                || kept.contains("message of commit"),
            "{disguise}: {kept}"
        );
        assert_eq!(project.sql("SELECT count(*) FROM behavioral_tests"), ["0"]);
    }
}

#[test]
fn work_in_another_encoding_is_compared_too() {
    let line = "const readItems = () => readFileSync('todo.txt', 'utf8').trimEnd().split('\\n');";
    let mut latin = WRONG.as_bytes().to_vec();
    latin.extend(b"// caf\xe9\n");
    let zero = [WRONG.as_bytes(), b"// \0\n"].concat();
    let wide: Vec<u8> = WRONG.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [latin, zero, wide] {
        let project = at_test(WRONG);
        project.file("todo.mjs", bytes);
        submits(&project, &format!("{PLAN}\n{line}\n"));
        says_yes(&project, &["plan", "approve"]);
        ok(&project, &["--transition", "test"]);
        let server = author(&[&both_tests()]);
        let ran = generates(&project, &server);
        assert_eq!((ran.code, server.requests().len()), (Some(1), 0), "{}", ran.stdout);
    }
}

#[test]
fn a_page_that_shows_the_code_of_an_earlier_round_stops_the_generation_and_an_honest_one_does_not()
{
    let usage = "usage: todo.mjs add TEXT (adds a line to the list of things to do in todo.txt) or todo.mjs list";
    let program = format!("#!/usr/bin/env node\nconst USAGE = '{usage}';\n{WRONG}");
    let code = format!("# How it works\n\n```js\n{WRONG}```\n");
    for (page, code_of) in
        [(format!("# Usage\n\n    {usage}\n"), None), (code, Some("docs/usage.md"))]
    {
        let project = at_test(&program);
        project.file("docs/usage.md", page);
        project.file("README.md", format!("# Todo\n\n    {usage}\n"));
        // The next plan quotes what is public, and how the program begins.
        submits(&project, &format!("{PLAN}\n`#!/usr/bin/env node` stays. {usage}\n"));
        says_yes(&project, &["plan", "approve"]);
        ok(&project, &["--transition", "test"]);
        let server = author(&[&both_tests()]);
        let ran = generates(&project, &server);
        match code_of {
            None => assert_eq!(ran.code, Some(0), "{}", ran.stderr),
            Some(name) => {
                assert_eq!((ran.code, server.requests().len()), (Some(1), 0), "{}", ran.stdout);
                assert!(
                    ran.stderr.contains(&format!("todo.mjs, shown by {name}")),
                    "{}",
                    ran.stderr
                );
            }
        }
    }
}

#[test]
fn a_plan_may_say_what_the_work_then_does() {
    // The plan came first, so the work has it from there.
    let usage = "usage: todo add TEXT puts one more line of text into the file of the list";
    let plan = PLAN.replace(
        "docs/usage.md describes",
        &format!("It prints \"{usage}\". docs/usage.md describes"),
    );
    let project = with_plan(&plan);
    project.file("todo.mjs", format!("console.log('{usage}');\n{}", right()));
    ok(&project, &["--transition", "test"]);
    let ran = generates(&project, &author(&[&both_tests()]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn a_planted_text_in_what_was_kept_stops_the_generation() {
    let project = at_test(WRONG);
    let leak = WRONG.replace('\'', "''");
    project.sql(&format!(
        "UPDATE plan_approvals SET contracts = json_insert(contracts, '$[#]',
             json_object('name', 'docs/more.md', 'kind', 'page', 'text', json_object('Ok', '{leak}')))"
    ));
    let server = author(&[&both_tests()]);
    let ran = generates(&project, &server);
    assert_eq!((ran.code, server.requests().len()), (Some(1), 0), "{}", ran.stdout);
    assert!(ran.stderr.contains("has been changed since"), "{}", ran.stderr);
}

#[test]
fn answers_that_cannot_be_used_go_back_and_the_attempts_are_bounded() {
    let unknown =
        json!({"tests": [test("NOPE", "file_state", "x", &adds().replace("ADD", "NOPE"))]})
            .to_string();
    let smoke =
        script("ADD", "file_state", ["", "node \"$PROJECT/todo.mjs\" add x", "test $? -eq 0"]);
    let smoke = json!({"tests": [test("ADD", "file_state", "smoke", &smoke)]}).to_string();
    for (answer, why) in [
        ("", "the answer is empty"),
        ("I would test that it adds an item.", "no JSON object"),
        ("{\"tests\": []}", "no test"),
        (unknown.as_str(), "the plan has no criterion NOPE; it has ADD, SC-1"),
        (smoke.as_str(), "only the exit status is asserted"),
    ] {
        let project = at_test(&right());
        let server = author(&[answer; 6]);
        let ran = generates(&project, &server);
        assert_eq!(ran.code, Some(1), "{answer}: {}", ran.stdout);
        assert_eq!(server.requests().len(), 4, "{answer}");
        assert!(ran.stderr.contains("no test for ADD, SC-1"), "{answer}: {}", ran.stderr);
        let told = server.requests()[1].last_said();
        assert!(told.contains(why), "{answer}: {told}");
        assert_eq!(project.sql("SELECT outcome FROM test_generations"), ["failed"]);
    }
}

#[test]
fn what_was_refused_is_mended_by_the_next_answer() {
    let project = at_test(&right());
    let mocked = lists().replace("# EXERCISE", "node() { echo 1. milk; }\n# EXERCISE");
    let first = json!({"tests": [
        test("ADD", "file_state", "adds", &adds()),
        test("SC-1", "process_output", "mocked", &mocked),
    ]})
    .to_string();
    let fenced = json!({"tests": [test("SC-1", "process_output", "lists", &lists())]});
    let server = author(&[&first, &format!("Here it is:\n\n```json\n{fenced:#}\n```\n")]);
    let ran = generates(&project, &server);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(
        server.requests()[1].last_said().contains("no mocks"),
        "{}",
        server.requests()[1].last_said()
    );
    assert_eq!(project.sql("SELECT name FROM behavioral_tests ORDER BY id"), ["adds", "lists"]);
    ok(&project, &["test", "run"]);
    // New ones take the place of the generated ones; those that were added stay.
    adds_test(&project, "by hand", &adds());
    assert_eq!(generates(&project, &author(&[&both_tests()])).code, Some(0));
    let left = "SELECT origin FROM behavioral_tests WHERE retired_at IS NULL ORDER BY id";
    assert_eq!(project.sql(left), ["added", "generated", "generated"]);
}

#[test]
fn tests_are_written_in_the_phase_test_alone() {
    let project = with_plan(PLAN);
    let server = author(&[]);
    let ran = generates(&project, &server);
    assert_eq!((ran.code, server.requests().len()), (Some(1), 0), "{}", ran.stdout);
    assert!(ran.stderr.contains("`ona phase test`"), "{}", ran.stderr);
}
