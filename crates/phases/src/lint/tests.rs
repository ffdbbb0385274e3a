use super::*;

/// A script with these lines to set up, to exercise and to assert.
fn script(surface: &str, setup: &str, exercise: &str, assert: &str) -> String {
    format!(
        "# CRITERION: SC-1\n# SURFACE: {surface}\n# SETUP\n{setup}\n# EXERCISE\n{exercise}\n# ASSERT\n{assert}\n"
    )
}

fn faults(script: &str) -> Vec<String> {
    lint(script, None).faults.iter().map(ToString::to_string).collect()
}

/// The faults of a test that runs `"$PROJECT/todo" list` and keeps what it prints in `OUT`, its exit code in `CODE`.
fn of_assertions(surface: &str, assert: &str) -> Vec<String> {
    let exercise = "OUT=$(\"$PROJECT/todo\" list 2>&1)\nCODE=$?\n\"$PROJECT/todo\" export > out.txt 2> err.txt";
    faults(&script(surface, "printf 'milk\\n' > list.txt", exercise, assert))
}

fn assert_ok(script: &str) {
    assert_eq!(faults(script), [""; 0], "{script}");
}

fn assert_fault(script: &str, part: &str) {
    let found = faults(script);
    assert!(found.iter().any(|fault| fault.contains(part)), "{part} not in {found:?}\n{script}");
}

#[test]
fn assertions_about_the_surface_are_accepted() {
    for (surface, assert) in [
        ("process_output", "grep -q milk <<< \"$OUT\" || exit 1"),
        ("process_output", "echo \"$OUT\" | grep -q '^1. milk$' || exit 1"),
        ("process_output", "[ \"$OUT\" = '1. milk' ] || { echo \"got: $OUT\" >&2; exit 1; }"),
        ("process_output", "[[ $OUT == *milk* ]] || exit 1\n[ \"$CODE\" -eq 0 ] || exit 1"),
        ("process_output", "if ! grep -q milk out.txt; then echo no; exit 1; fi"),
        ("process_output", "if grep -q milk out.txt; then :; else exit 1; fi"),
        ("process_output", "grep -q milk out.txt"),
        ("process_output", "! grep -q error err.txt"),
        ("process_output", "case \"$OUT\" in *milk*) ;; *) exit 1 ;; esac"),
        (
            "process_output",
            "fail() { echo \"$1\"; exit 1; }\ngrep -q milk <<< \"$OUT\" || fail 'no milk'",
        ),
        ("process_output", "same() { [ \"$1\" = \"$2\" ] || exit 1; }\nsame \"$OUT\" '1. milk'"),
        ("process_output", "FAILED=0\ngrep -q milk out.txt || FAILED=1\nexit $FAILED"),
        ("process_output", "set -e\ngrep -q milk out.txt\necho done"),
        ("process_output", "\"$PROJECT/todo\" list | grep -q milk || exit 1"),
        ("process_output", "test \"$(wc -l < out.txt)\" -eq 1 || exit 1"),
        ("process_output", "diff <(echo milk) out.txt || exit 1"),
        ("process_output", "diff - out.txt <<'EOF' || exit 1\nmilk\nEOF"),
        (
            "process_output",
            "python3 - \"$OUT\" <<'EOF' || exit 1\nimport json, sys\nassert json.loads(sys.argv[1])\nEOF",
        ),
        ("process_output", "jq -e '.n == 1' out.txt > /dev/null || exit 1"),
        ("process_output", "while read -r line; do [ \"$line\" = milk ] || exit 1; done < out.txt"),
        ("process_output", "(grep -q milk out.txt && grep -q x err.txt) || exit 1"),
        ("process_output", "LINES_OUT=$(grep -c . out.txt)\n[ \"$LINES_OUT\" -eq 1 ] || exit 1"),
        ("process_output", "COUNT=$(printf '%s' \"$OUT\" | wc -l)\n((COUNT == 1)) || exit 1"),
        ("file_state", "[ -f list.txt ] || exit 1"),
        ("file_state", "test -s list.txt && grep -q milk list.txt || exit 1"),
        ("file_state", "[ \"$(cat list.txt)\" = milk ] || exit 1"),
        ("file_state", "[ \"$(stat -c %a list.txt)\" = 600 ] || exit 1"),
        ("file_state", "for f in *.txt; do grep -q milk \"$f\" || exit 1; done"),
        ("file_state", "[[ ! -e gone.txt ]] || exit 1"),
        ("db_state", "N=$(sqlite3 todo.db 'SELECT count(*) FROM items')\n[ \"$N\" = 1 ] || exit 1"),
        ("db_state", "sqlite3 todo.db 'SELECT name FROM items' | grep -qx milk || exit 1"),
        (
            "hook_record",
            "sqlite3 \"$AGENT_SDLC_DB\" \\\n  \"SELECT exit_code FROM hook_invocations\" | grep '^2$' || exit 1",
        ),
        (
            "tool_result",
            "R=$(sqlite3 \"$AGENT_SDLC_DB\" \"SELECT payload_json FROM transcript_entries\")\necho \"$R\" | grep '3 lines' || exit 1",
        ),
    ] {
        assert_eq!(of_assertions(surface, assert), [""; 0], "{surface}\n{assert}");
    }
}

#[test]
fn parts_are_found_behind_every_kind_of_command() {
    for exercise in [
        "\"$PROJECT/todo\" list | tee out.txt | head -c 80",
        "\"$PROJECT/todo\" list | sed s/a/b/ | sort | uniq > out.txt",
        "true && \"$PROJECT/todo\" list > out.txt || true",
        "! \"$PROJECT/todo\" list | cat | tee out.txt",
        "{ \"$PROJECT/todo\" list; } > out.txt 2>&1",
        "for n in 1 2; do \"$PROJECT/todo\" list >> out.txt; done",
        "\"$PROJECT/todo\" list <<'EOF' > out.txt\nmilk\nEOF",
    ] {
        assert_ok(&script("process_output", "", exercise, "grep -q milk out.txt || exit 1"));
    }
}

#[test]
fn a_test_without_an_assertion_is_refused() {
    for assert in [
        "echo \"$OUT\"",
        "true",
        "grep -q milk out.txt || true",
        "grep -q milk out.txt || echo no\nexit 0",
        "if grep -q milk out.txt; then echo yes; fi\nexit 0",
        "grep -q milk out.txt\necho done",
        "(grep -q milk out.txt || exit 1)\necho done",
        "[ 1 -eq 1 ] || exit 1",
        "X=a\n[ \"$X\" = a ] || exit 1",
        "[ \"$OUT\" = \"$OUT\" ] || exit 1",
        "echo milk | grep -q milk || exit 1",
        "grep -q '' out.txt || exit 1",
        "grep -q '.*' <<< \"$OUT\" || exit 1",
        "check() { grep -q milk out.txt || exit 1; }\necho never called",
    ] {
        let found = of_assertions("process_output", assert);
        assert!(found.iter().any(|fault| fault.contains("no assertion")), "{found:?}\n{assert}");
    }
    let found = of_assertions("process_output", "[ 1 -eq 1 ] || exit 1");
    assert!(found[0].starts_with("line 10: this condition does not depend"), "{found:?}");
}

#[test]
fn an_exit_status_alone_shows_nothing() {
    for assert in [
        "[ \"$CODE\" -eq 0 ] || exit 1",
        "test $CODE -ne 0",
        "((CODE == 0)) || exit 1",
        "\"$PROJECT/todo\" list || exit 1",
        "if ! \"$PROJECT/todo\" list; then exit 1; fi",
        "\"$PROJECT/todo\" list\n[ $? -eq 0 ] || exit 1",
        "\"$PROJECT/todo\" list\nexit $?",
        "X=$(\"$PROJECT/todo\" list) || exit 1",
        "set -e\n\"$PROJECT/todo\" list > /dev/null\necho ok",
    ] {
        let found = of_assertions("process_output", assert);
        assert!(
            found.iter().any(|fault| fault.contains("only the exit status")),
            "{found:?}\n{assert}"
        );
    }
}

#[test]
fn the_surface_has_to_be_asserted() {
    for (surface, assert) in [
        ("file_state", "grep -q milk <<< \"$OUT\" || exit 1"),
        ("file_state", "grep -q milk out.txt || exit 1"),
        ("process_output", "[ -f list.txt ] || exit 1"),
        ("db_state", "[ -f todo.db ] || exit 1"),
        ("hook_record", "sqlite3 x.db 'SELECT 1 FROM plans' | grep -q 1 || exit 1"),
        ("tool_result", "grep -q milk <<< \"$OUT\" || exit 1"),
    ] {
        let found = of_assertions(surface, assert);
        let expected = format!("nothing is asserted about {surface}");
        assert!(found.iter().any(|fault| fault.contains(&expected)), "{found:?}\n{assert}");
    }
}

#[test]
fn the_product_has_to_be_exercised() {
    let assert = "grep -q milk <<< \"$OUT\" || exit 1";
    for (setup, exercise) in [
        ("", "OUT=$(\"$PROJECT/todo\" list)"),
        ("", "OUT=$(python3 \"$PROJECT/todo.py\" list 2>&1)"),
        ("TODO=\"$PROJECT/bin/todo\"", "OUT=$(\"$TODO\" list)"),
        ("TODO=\"python3 $PROJECT/todo.py\"", "OUT=$($TODO list)"),
        ("ROOT=$(cd \"$PROJECT\" && pwd)", "OUT=$(node \"$ROOT/cli.js\")"),
        ("todo() { \"$PROJECT/todo\" \"$@\"; }", "OUT=$(todo list)"),
        ("", "OUT=$(cd \"$PROJECT\" && ./todo list)"),
        ("", "OUT=$(PYTHONPATH=\"$PROJECT/src\" python3 -m todo list)"),
        ("", "OUT=$(timeout 10 env LANG=C \"$PROJECT/todo\" list)"),
        ("export PATH=\"$PROJECT/bin:$PATH\"", "OUT=$(todo list)"),
        ("cp -r \"$PROJECT\" app", "OUT=$(./app/todo list)"),
        ("", "OUT=$(bash -c '\"$PROJECT/todo\" list | head -1')"),
        ("", "OUT=$(make -s -C \"$PROJECT\" run)"),
        ("", "\"$PROJECT/todo\" serve & sleep 1\nOUT=$(curl -s http://127.0.0.1:8080/)"),
        ("", "OUT=$(ona --eval '{\"tool\": \"Read\", \"input\": {}}')"),
    ] {
        assert_ok(&script("process_output", setup, exercise, assert));
    }
    for (setup, exercise) in [
        ("", "OUT=milk"),
        ("", "OUT=$(echo milk)"),
        ("", "OUT=$(cat \"$PROJECT/README.md\")"),
        ("", "OUT=$(python3 -c 'print(\"milk\")')"),
        ("todo() { echo milk; }", "OUT=$(todo list)"),
        ("OUT=$(\"$PROJECT/todo\" list)", ":"),
        ("", "OUT=$(git -C \"$PROJECT\" log)"),
    ] {
        assert_fault(&script("process_output", setup, exercise, assert), "EXERCISE runs nothing");
    }
}

#[test]
fn what_a_test_must_not_do_is_refused() {
    let exercise = "OUT=$(\"$PROJECT/todo\" list)";
    let assert = "grep -q milk <<< \"$OUT\" || exit 1";
    for (setup, part) in [
        ("source \"$PROJECT/lib.sh\"", "reads another script"),
        (". ./helpers.sh", "reads another script"),
        ("python3 -c 'import todo; todo.add(1)'", "`todo` imports"),
        ("python3 - <<'EOF'\nfrom app.core import add\nEOF", "`app.core` imports"),
        ("cat > check.py <<'EOF'\nimport todo\nEOF", "`todo` imports"),
        ("node -e \"require('../lib/a.js')\"", "imports"),
        ("cat \"$PROJECT/todo.py\"", "own source"),
        ("grep -rn def \"$PROJECT/src\"", "own source"),
        ("X=$(< \"$PROJECT/main.rs\")", "own source"),
        ("sed -i s/a/b/ \"$PROJECT/todo\"", "own files"),
        ("echo x > \"$PROJECT/todo.py\"", "own files"),
        ("rm -rf \"$PROJECT\"", "own files"),
        ("cp fake.py \"$PROJECT/todo.py\"", "own files"),
        ("cp -r \"$PROJECT\" app\nsed -i s/a/b/ app/todo.py", "own files"),
        ("pytest -q", "test framework"),
        ("python3 -m unittest", "test framework"),
        ("cd \"$PROJECT\" && npm run test:unit", "test framework"),
        ("cargo nextest run", "test framework"),
        ("go test ./...", "test framework"),
        ("npx jest", "test framework"),
        ("PATH=\"$PWD/bin:$PATH\"", "PATH changes which code runs"),
        ("export PATH=./stubs:$PATH", "PATH changes"),
        ("export LD_PRELOAD=./x.so", "LD_PRELOAD changes"),
        ("env NODE_OPTIONS=--require=./x.js true", "NODE_OPTIONS changes"),
        ("PYTHONPATH=stubs python3 \"$PROJECT/todo.py\"", "PYTHONPATH changes"),
        ("curl() { echo '{}'; }", "no mocks"),
        ("python3() { echo 1; }\nexport -f python3", "no mocks"),
        ("alias git=true", "no mocks"),
        ("trap 'exit 0' EXIT", "hides the result"),
        ("exit 0", "ends here"),
        ("patch -p1 < x.diff", "own files"),
    ] {
        assert_fault(&script("process_output", setup, exercise, assert), part);
    }
    for setup in [
        "python3 -c 'import json, sys; print(json.dumps({}))' > in.json",
        "[ -x \"$PROJECT/todo\" ] || exit 1",
        "cat \"$PROJECT/README.md\" > readme.txt",
        "export TODO_FILE=\"$PWD/list.txt\" LANG=C",
        "trap 'rm -f x' EXIT",
        "mkdir -p a/b && touch a/b/c",
        "echo 'pytest and mocks' > list.txt",
    ] {
        assert_ok(&script("process_output", setup, exercise, assert));
    }
}

#[test]
fn header_and_parts_are_asked_for() {
    let whole = script(
        "process_output",
        "",
        "OUT=$(\"$PROJECT/todo\")",
        "grep -q milk <<< \"$OUT\" || exit 1",
    );
    assert_ok(&whole);
    assert_ok(&format!("#!/usr/bin/env bash\n{whole}"));
    assert_ok(&whole.replace("# SETUP", "# Setup: nothing").replace("# ASSERT", "# Assert:"));
    for (from, to, part) in [
        ("# CRITERION: SC-1\n", "", "`# CRITERION: …` is missing"),
        ("# CRITERION: SC-1\n", "# CRITERION:\n", "`# CRITERION: …` is missing"),
        ("# SURFACE: process_output\n", "", "`# SURFACE: …` is missing"),
        ("process_output", "screen", "unknown surface `screen`"),
        ("# SETUP", "# CRITERION: SC-2\n# SETUP", "a second header line"),
        ("# SETUP\n", "", "`# SETUP` is missing"),
        ("# EXERCISE\n", "", "`# EXERCISE` is missing"),
        ("# ASSERT\n", "", "`# ASSERT` is missing"),
        ("# SETUP\n", "# EXERCISE\n# SETUP\n", "out of order"),
        ("|| exit 1", "|| exit 1\n# EXERCISE\ntrue", "`# ASSERT` is missing"),
        ("|| exit 1", "|| (", "cannot parse"),
    ] {
        assert_fault(&whole.replacen(from, to, 1), part);
    }
    let header = "# CRITERION: SC-1\n# SURFACE: process_output\n";
    let late = whole.replace(header, "").replace("# EXERCISE", &format!("{header}# EXERCISE"));
    assert_fault(&late, "`# CRITERION: …` is missing");
    assert_fault(&"#".repeat(MAX_SCRIPT + 1), "limit: 64 KB");
    assert!(!lint("", None).faults.is_empty());
}

#[test]
fn a_test_is_for_a_criterion_of_the_plan() {
    let known = [crate::coverage::tests::criterion("SC-1")];
    let whole = script(
        "process_output",
        "",
        "OUT=$(\"$PROJECT/todo\")",
        "grep -q milk <<< \"$OUT\" || exit 1",
    );
    assert_eq!(lint(&whole, Some(&known)).faults, []);
    let other = whole.replace("SC-1", "SC-7");
    let told = lint(&other, Some(&known)).faults[0].to_string();
    assert_eq!(told, "the plan has no criterion SC-7; it has SC-1");
    let other = whole.replace("process_output", "file_state");
    let told = lint(&other, Some(&known)).faults[0].to_string();
    assert_eq!(told, "criterion SC-1 is about process_output, but the script names file_state");
}

/// The compliant examples of S0 §8.8 with a header, and its examples of what is forbidden.
#[test]
fn the_examples_of_s0_are_judged_as_s0_judges_them() {
    let read = script(
        "tool_result",
        "echo -e \"line1\\nline2\\nline3\" > input.txt",
        "ona --eval '{\"tool\": \"Read\", \"input\": {\"file_path\": \"input.txt\"}}'",
        "RESULT=$(sqlite3 \"$AGENT_SDLC_DB\" \\\n  \"SELECT payload_json FROM transcript_entries\n   WHERE entry_type='tool_result' ORDER BY sequence DESC LIMIT 1\")\n\
         echo \"$RESULT\" | grep '\"is_error\":false' || exit 1\necho \"$RESULT\" | grep 'line1' || exit 1",
    );
    assert_ok(&read);
    let phase = script(
        "db_state",
        "sqlite3 \"$AGENT_SDLC_DB\" \\\n  \"INSERT INTO conversations(id, project_dir, phase) VALUES ('c', '/tmp', 'implement')\"",
        "ona --transition verify --conversation c 2>&1",
        "PHASE=$(sqlite3 \"$AGENT_SDLC_DB\" \"SELECT phase FROM conversations WHERE id='c'\")\ntest \"$PHASE\" = \"implement\" || exit 1\n\
         # EXERCISE\nona --transition test --conversation c\n# ASSERT\n\
         PHASE=$(sqlite3 \"$AGENT_SDLC_DB\" \"SELECT phase FROM conversations WHERE id='c'\")\ntest \"$PHASE\" = \"test\" || exit 1",
    );
    assert_ok(&phase);
    let hook = script(
        "hook_record",
        "sqlite3 \"$AGENT_SDLC_DB\" \\\n  \"INSERT OR REPLACE INTO settings_snapshot(scope, json, updated_at)\n   VALUES ('effective', '{}', datetime('now'))\"",
        "ona --eval '{\"tool\": \"Bash\", \"input\": {\"command\": \"echo hello\"}}'",
        "sqlite3 \"$AGENT_SDLC_DB\" \\\n  \"SELECT exit_code FROM hook_invocations\n   WHERE hook_event='PreToolUse' AND tool_name='Bash'\n   ORDER BY id DESC LIMIT 1\" | grep '^2$' || exit 1",
    );
    assert_ok(&hook);
    let smoke = script(
        "tool_result",
        "",
        "ona --eval '{\"tool\": \"Read\", \"input\": {\"file_path\": \"/tmp/anything.txt\"}}'",
        "test $? -eq 0  # passes even if tool returned wrong content",
    );
    assert_fault(&smoke, "only the exit status");
    let import = script(
        "tool_result",
        "",
        "node --input-type=module -e \"import { toolRead } from '../lib/executeTools.mjs'\"",
        "true",
    );
    assert_fault(&import, "`../lib/executeTools.mjs` imports");
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "(#|\\$|\"|'|\\(|\\)|\\{|\\}|if|then|fi|case|esac|\\||&|;|<|>|\\n| |exit|a|=|\\[|\\]){0,40}") {
        let _ = lint(&script("process_output", &text, &text, &text), None);
    }
}

#[test]
fn honest_ways_to_fail_are_understood() {
    for assert in [
        "FAILED=0\necho \"$OUT\" | grep -q milk || FAILED=1\n[ \"$FAILED\" -eq 0 ] || exit 1",
        "fails=0\n[ \"$OUT\" = milk ] || fails=$((fails+1))\nif [ \"$fails\" -gt 0 ]; then exit 1; fi",
        "fails=0\n[ \"$OUT\" = milk ] || ((fails++))\n((fails == 0)) || exit 1",
        "if [ \"$OUT\" = milk ]; then ok=yes; else ok=no; fi\n[ $ok = yes ] || exit 1",
        "fails=0\ncheck() { if [ \"$1\" != \"$2\" ]; then fails=$((fails+1)); fi; }\ncheck \"$OUT\" milk\n[ \"$fails\" -eq 0 ] || exit 1",
        "check() { [ \"$1\" = \"$2\" ] || return 1; }\ncheck \"$OUT\" milk || exit 1",
        "main() { [ \"$OUT\" = milk ] || return 1; }\nmain",
        "awk 'NR == 1 && $0 == \"1. milk\" { ok = 1 } END { exit !ok }' out.txt",
        "sort -c out.txt || exit 1",
        "perl -ne 'exit 1 unless /^milk$/' out.txt || exit 1",
    ] {
        assert_eq!(of_assertions("process_output", assert), [""; 0], "{assert}");
    }
    for exercise in [
        "xargs -n 1 -I{} \"$PROJECT/todo\" add {} < list.txt\n\"$PROJECT/todo\" list > out.txt",
        "find . -name '*.txt' -exec \"$PROJECT/todo\" add {} \\; > out.txt",
        "python3 - <<'EOF' > out.txt\nimport os, subprocess\nprint(subprocess.run([os.environ['PROJECT'] + '/todo', 'list'], capture_output=True, text=True).stdout)\nEOF",
    ] {
        assert_ok(&script("process_output", "", exercise, "grep -q milk out.txt || exit 1"));
    }
    let late = script(
        "process_output",
        "",
        "OUT=$(\"$PROJECT/todo\" list)",
        "[ \"$OUT\" = milk ] || exit 1",
    );
    assert_ok(&format!("#!/usr/bin/env bash\nset -euo pipefail\n{late}"));
    let copied = "cp -r \"$PROJECT/examples\" examples 2> /dev/null || mkdir examples";
    assert_ok(&script(
        "process_output",
        copied,
        "OUT=$(\"$PROJECT/todo\" list)",
        "[ \"$OUT\" = milk ] || exit 1",
    ));
}

#[test]
fn ways_to_seem_to_fail_are_seen_through() {
    for assert in [
        "if [ \"$OUT\" != milk ]; then echo fail; fi",
        "if false; then [ \"$OUT\" = milk ] || exit 1; fi",
        "check() { return 0; [ \"$OUT\" = milk ] || exit 1; }\ncheck",
        "main() { [ \"$OUT\" = milk ] || return 1; }\nmain || true",
        "{ [ \"$OUT\" = milk ] || exit 1; } &",
        "PATTERN=\"\"\ngrep -q \"$PATTERN\" <<< \"$OUT\" || exit 1",
        "python3 -c \"import os, sys; sys.exit('milk' not in open(os.environ['PROJECT'] + '/todo').read())\"",
    ] {
        assert_ne!(of_assertions("process_output", assert), [""; 0], "{assert}");
    }
    let exercise = "OUT=$(\"$PROJECT/todo\" list)\nexec true";
    assert_fault(
        &script("process_output", "", exercise, "[ \"$OUT\" = milk ] || exit 1"),
        "the script ends here",
    );
    let setup = "cp -r \"$PROJECT\" mine\necho 'print(1)' > mine/todo";
    assert_fault(
        &script("process_output", setup, "OUT=$(python3 mine/todo)", "[ \"$OUT\" = 1 ] || exit 1"),
        "no mocks",
    );
}
