//! The conformance rows of the permission-rule reference, and what must hold for all rules.

use std::os::unix::fs::symlink;

use Behavior::{Allow, Ask, Deny};
use PermissionMode::{AcceptEdits, BypassPermissions, Default as DefaultMode, DontAsk, Plan};
use ona_testkit::Disk;
use proptest::prelude::*;
use serde_json::json;

mod git;
mod hostile;
mod patterns;
mod reads;
mod sandbox;
mod spellings;
mod stores;
mod writes;

use super::*;
use crate::rule::{Anchors, RuleError, Scope, Source};
use ona_effects::Start;

/// A call as the table writes it.
#[derive(Clone, Debug)]
struct Sample {
    tool: &'static str,
    input: Value,
    effects: Effects,
}

fn bash(command: &str) -> Sample {
    Sample {
        tool: "Bash",
        input: json!({"command": command}),
        effects: Effects::of_shell(&Disk, command, Path::new("/w/app")).unwrap(),
    }
}

fn file(tool: &'static str, path: &str) -> Sample {
    let target = Target::of(&Disk, Path::new("/w/app"), path).unwrap();
    let effects = match tool {
        "Read" | "Grep" | "Glob" => Effects::read(target),
        _ => Effects::replace(target),
    };
    Sample { tool, input: json!({"file_path": path}), effects }
}

fn fetch(host: &str) -> Sample {
    let effects = Effects { hosts: vec![host.into()], ..Effects::default() };
    Sample { tool: "WebFetch", input: json!({}), effects }
}

fn named(tool: &'static str, input: Value) -> Sample {
    Sample { tool, input, effects: Effects::default() }
}

fn rule(behavior: Behavior, text: &str) -> Result<Rule, RuleError> {
    let anchors = Anchors::of(&test_surroundings());
    Rule::parse(text, behavior, Source::of(Scope::Project), &anchors).map(|(rule, _)| rule)
}

fn permissions(rules: &[(Behavior, &str)], mode: PermissionMode) -> Permissions {
    // A rule that is refused at load is not there.
    let rules = rules.iter().filter_map(|(behavior, text)| rule(*behavior, text).ok()).collect();
    Permissions::new(rules, mode, test_surroundings())
}

fn judge(rules: &[(Behavior, &str)], mode: PermissionMode, sample: &Sample) -> Behavior {
    let call = Call {
        tool: sample.tool,
        facts: RuleFacts::of_tool(sample.tool),
        input: &sample.input,
        effects: &sample.effects,
        confines: Confines::Nothing,
    };
    permissions(rules, mode).judge(&call).behavior
}

/// Whether this rule, alone beside the built-in ones, decides the call.
fn decides(behavior: Behavior, text: &str, sample: &Sample) -> bool {
    let permissions = permissions(&[(behavior, text)], DefaultMode);
    let call = Call {
        tool: sample.tool,
        facts: RuleFacts::of_tool(sample.tool),
        input: &sample.input,
        effects: &sample.effects,
        confines: Confines::Nothing,
    };
    let ruling = permissions.judge(&call);
    matches!(ruling.by, By::Rules(rules) if rules.iter().any(|rule| rule.source.scope == Scope::Project))
}

/// Rows whose verdict is "match": number, rule, call, whether it matches as an allow rule and as a deny
/// rule.
fn match_rows() -> Vec<(u32, &'static str, Sample, bool, bool)> {
    vec![
        (1, "Bash", bash("rm x"), true, true),
        (2, "Bash(*)", bash("rm x"), true, true),
        (3, "Bash(npm run build)", bash("npm run build"), true, true),
        (4, "Bash(npm run build)", bash("npm run build --watch"), false, false),
        (5, "Bash(npm run test *)", bash("npm run test unit"), true, true),
        (6, "Bash(npm run test *)", bash("npm run test"), true, true),
        (7, "Bash(npm run test *)", bash("npm run tests"), false, false),
        (8, "Bash(ls *)", bash("ls -la"), true, true),
        (9, "Bash(ls *)", bash("lsof"), false, false),
        (10, "Bash(ls*)", bash("lsof"), true, true),
        (11, "Bash(ls:*)", bash("ls -la"), true, true),
        (12, "Bash(ls:*)", bash("lsof"), false, false),
        (13, "Bash(git diff *)", bash("git diff-index HEAD"), false, false),
        (14, "Bash(git diff*)", bash("git diff-index HEAD"), true, true),
        (15, "Bash(* install)", bash("npm install"), true, true),
        (16, "Bash(* install)", bash("npm install x"), false, false),
        (17, "Bash(git * main)", bash("git checkout main"), true, true),
        (18, "Bash(git * main)", bash("git push origin main"), true, true),
        (19, "Bash(git * main)", bash("git main"), false, false),
        (20, "Bash(* --version)", bash("node --version"), true, true),
        (21, "Bash(git:* push)", bash("git push"), false, false),
        (22, "Bash(git *)", bash("git log --oneline --all"), true, true),
        (28, "Bash(npm test *)", bash("timeout 30 npm test"), true, true),
        (29, "Bash(npm test *)", bash("nice -n 5 npm test"), true, true),
        (30, "Bash(npm test *)", bash("npx npm test"), false, false),
        (31, "Bash(grep *)", bash("xargs grep p"), true, true),
        // As a deny rule it sees through xargs whatever its options (row 36's reason).
        (32, "Bash(grep *)", bash("xargs -n1 grep p"), false, true),
        (33, "Bash(npm test *)", bash("NODE_ENV=test npm test"), true, true),
        (34, "Bash(npm test *)", bash("FOO=1 npm test"), false, true),
        (35, "Bash(rm *)", bash("FOO=1 rm -rf t"), false, true),
        (36, "Bash(rm *)", bash("sudo rm -rf t"), false, true),
        (37, "Bash(watch *)", bash("watch ls"), false, true),
        (38, "Bash(find *)", bash("find . -delete"), false, true),
        (39, "Bash(git log:*)", bash("git -C /x log"), true, true),
        (40, "Bash(python:*)", bash("python s.py > out.txt"), true, true),
        (41, "Bash(git commit *)", bash("git   commit -m x"), true, true),
        (
            42,
            "Bash(curl http://github.com/ *)",
            bash("curl -X GET http://github.com/a"),
            false,
            false,
        ),
        (43, "Bash(curl http://github.com/ *)", bash("curl https://github.com/ a"), false, false),
        (44, "Bash(devbox run *)", bash("devbox run rm -rf ."), true, true),
        (49, "Read", file("Read", "/etc/hosts"), true, true),
        (50, "Read(./.env)", file("Read", "/w/app/.env"), true, true),
        // Left open by the reference; `./` means the current directory's own file.
        (51, "Read(./.env)", file("Read", "/w/app/sub/.env"), false, false),
        (52, "Read(.env)", file("Read", "/w/app/sub/.env"), true, true),
        (53, "Read(.env)", file("Read", "/w/.env"), false, false),
        (54, "Read(//**/.env)", file("Read", "/srv/x/.env"), true, true),
        (55, "Read(//etc/passwd)", file("Read", "/etc/passwd"), true, true),
        (56, "Read(/etc/passwd)", file("Read", "/etc/passwd"), false, false),
        (57, "Read(~/.zshrc)", file("Read", "/home/u/.zshrc"), true, true),
        (58, "Read(~/Documents/*.pdf)", file("Read", "/home/u/Documents/a/b.pdf"), false, false),
        (59, "Edit(/src/**/*.ts)", file("Edit", "/w/app/src/a/b.ts"), true, true),
        (60, "Edit(/docs/**)", file("Edit", "/w/app/.claude/docs/a"), false, false),
        (61, "Edit(src/**)", file("Write", "/w/app/vendor/p/src/l.js"), false, true),
        (62, "Edit(src/**)", file("Write", "/w/app/vendor/p/src/l.js"), false, true),
        (63, "Edit(**/src/**)", file("Edit", "/w/app/vendor/p/src/l.js"), true, true),
        (64, "Edit(/src/**)", file("NotebookEdit", "/w/app/src/n.ipynb"), true, true),
        (65, "Write(docs/**)", file("Write", "/w/app/docs/a"), false, false),
        (66, "Write", file("Write", "/anywhere/x"), true, true),
        (67, "Read(secrets/**)", file("Grep", "/w/app/secrets"), true, true),
        (80, "WebFetch", fetch("example.com"), true, true),
        (81, "WebFetch(domain:example.com)", fetch("example.com"), true, true),
        (82, "WebFetch(domain:example.com)", fetch("api.example.com"), false, false),
        (83, "WebFetch(domain:*.example.com)", fetch("a.b.example.com"), true, true),
        (84, "WebFetch(domain:*.example.com)", fetch("example.com"), false, false),
        (85, "WebFetch(domain:EXAMPLE.com)", fetch("example.com."), true, true),
        (86, "WebFetch(domain:example.*)", fetch("example.evil.com"), false, false),
        (87, "mcp__puppeteer", named("mcp__puppeteer__navigate", json!({})), true, true),
        (88, "mcp__puppeteer__*", named("mcp__puppeteer__navigate", json!({})), true, true),
        (89, "mcp__puppeteer__navigate", named("mcp__puppeteer__click", json!({})), false, false),
        (89, "mcp__Puppet.eer", named("mcp__puppet_eer__click", json!({})), true, true),
        (89, "mcp__Puppeteer__click", named("mcp__puppeteer__click", json!({})), true, true),
        (90, "mcp__pup", named("mcp__puppeteer__click", json!({})), false, false),
        (91, "mcp__*", named("mcp__any__tool", json!({})), false, true),
        (92, "mcp__*", named("mcp__any__tool", json!({})), false, true),
        // As an allow rule it is not needed: the built-in one covers every Agent call.
        (93, "Agent(Explore)", named("Agent", json!({"subagent_type": "Explore"})), false, true),
        (94, "Task(Explore)", named("Agent", json!({"subagent_type": "Explore"})), false, true),
        (95, "Agent(Explore)", named("Agent", json!({"subagent_type": "Plan"})), false, false),
        (96, "Skill(commit)", named("Skill", json!({"skill": "commit"})), true, true),
        (
            97,
            "Skill(deploy *)",
            named("Skill", json!({"skill": "deploy", "args": "prod"})),
            true,
            true,
        ),
        (98, "Skill(commit)", named("Skill", json!({"skill": "commit-push"})), false, false),
        (99, "WebSearch", named("WebSearch", json!({"query": "x"})), true, true),
        (100, "Bash(command:rm *)", bash("rm x"), false, false),
    ]
}

type DecisionRow = (u32, Vec<(Behavior, &'static str)>, PermissionMode, Sample, Behavior);

/// Rows whose verdict is a decision. Where the public behaviour and S0 differ, S0's answer stands, with
/// the built-in rules of the design; docs/DECISIONS.md lists those rows.
fn decision_rows() -> Vec<DecisionRow> {
    vec![
        (23, vec![(Allow, "Bash(safe *)")], DefaultMode, bash("safe a && other b"), Ask),
        (
            24,
            vec![(Allow, "Bash(a *)"), (Allow, "Bash(b *)")],
            DefaultMode,
            bash("a 1 && b 2"),
            Allow,
        ),
        (25, vec![(Allow, "Bash(a *)")], DefaultMode, bash("a 1 | sh"), Ask),
        (26, vec![(Deny, "Bash(rm *)")], DefaultMode, bash("ls; rm -rf x"), Deny),
        (
            27,
            vec![(Ask, "Bash(git push *)"), (Allow, "Bash")],
            DefaultMode,
            bash("ls && git push"),
            Ask,
        ),
        (37, vec![(Allow, "Bash(watch *)")], DefaultMode, bash("watch ls"), Ask),
        (38, vec![(Allow, "Bash(find *)")], DefaultMode, bash("find . -delete"), Ask),
        (
            45,
            vec![(Deny, "Bash(aws *)"), (Allow, "Bash(aws s3 ls)")],
            DefaultMode,
            bash("aws s3 ls"),
            Deny,
        ),
        (46, vec![], DefaultMode, bash("ls src"), Allow),
        (47, vec![], DefaultMode, bash("ls > o.txt"), Ask),
        (48, vec![(Ask, "Bash(ls *)")], DefaultMode, bash("ls src"), Ask),
        (
            70,
            vec![(Allow, "Edit(.claude/**)")],
            DefaultMode,
            file("Write", "/w/app/.claude/settings.json"),
            Ask,
        ),
        (71, vec![], AcceptEdits, file("Write", "/w/app/a.txt"), Allow),
        (72, vec![], AcceptEdits, file("Write", "/w/app/.git/config"), Ask),
        (73, vec![], AcceptEdits, file("Write", "/other/x"), Ask),
        (74, vec![], AcceptEdits, bash("mkdir d"), Ask),
        (75, vec![], Plan, bash("ls"), Allow),
        (76, vec![(Allow, "Edit(//w/**)")], Plan, file("Edit", "/w/app/a"), Allow),
        (77, vec![(Ask, "Bash(x)")], DontAsk, bash("x"), Ask),
        (78, vec![], DontAsk, file("Read", "/w/app/a"), Allow),
        (79, vec![(Deny, "Bash(rm *)")], BypassPermissions, bash("rm x"), Deny),
    ]
}

#[test]
fn every_row_of_the_reference_holds() {
    let mut seen = std::collections::BTreeSet::new();
    for (number, text, sample, as_allow, as_deny) in match_rows() {
        assert_eq!(
            decides(Allow, text, &sample),
            as_allow,
            "row {number} as allow: {text} {sample:?}"
        );
        assert_eq!(
            decides(Deny, text, &sample),
            as_deny,
            "row {number} as deny: {text} {sample:?}"
        );
        seen.insert(number);
    }
    for (number, rules, mode, sample, expected) in decision_rows() {
        assert_eq!(judge(&rules, mode, &sample), expected, "row {number}: {rules:?} {sample:?}");
        seen.insert(number);
    }
    // Rows 68 and 69 need a real link.
    let missing: Vec<u32> =
        (1..=100).filter(|n| !seen.contains(n) && ![68, 69].contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn rows_68_and_69_links_are_seen_through() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (app, home) = (root.join("app"), root.join("home"));
    std::fs::create_dir_all(app.join("project")).unwrap();
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id"), "key").unwrap();
    symlink(home.join(".ssh/id"), app.join("project/k")).unwrap();
    let around = Surroundings {
        cwd: app.clone(),
        project_dir: app.clone(),
        home,
        working_dirs: vec![app.clone()],
        outputs: None,
        protected: Vec::new(),
        stores: Vec::new(),
        world: &Disk,
    };
    let effects = Effects::read(Target::of(&Disk, &app, "project/k").unwrap());
    let judge = |behavior, text: &str| {
        let (rule, _) =
            Rule::parse(text, behavior, Source::of(Scope::Project), &Anchors::of(&around)).unwrap();
        let permissions = Permissions::new(vec![rule], DefaultMode, around.clone());
        let input = json!({});
        permissions
            .judge(&Call {
                tool: "Read",
                facts: RuleFacts::of_tool("Read"),
                input: &input,
                effects: &effects,
                confines: Confines::Nothing,
            })
            .behavior
    };
    assert_eq!(judge(Allow, "Read(./project/**)"), Ask, "68: the target is not covered");
    assert_eq!(judge(Deny, "Read(~/.ssh/**)"), Deny, "69");
}

#[test]
fn reading_is_free_inside_and_asked_for_outside() {
    for (sample, expected) in [
        (file("Read", "/w/app/a"), Allow),
        (file("Grep", "/w/app"), Allow),
        (file("Read", "/etc/passwd"), Ask),
        (bash("cat a b | grep x | wc -l"), Allow),
        (bash("cat /etc/passwd"), Ask),
        (bash("cat ../x"), Ask),
        (bash("cat ~/.ssh/id"), Ask),
        (bash("cat $SECRET"), Ask),
        (bash("ls *.rs"), Allow),
        (bash("cat $(echo x)"), Ask),
        (bash("echo $HOME"), Ask),
        (bash("echo 'plain text / with a slash'"), Allow),
        (bash("git status && git log --oneline"), Allow),
        (bash("git log --output=x"), Ask),
        (bash("git push"), Ask),
        (bash("find . -name x"), Allow),
        (bash("find . -exec rm {} ';'"), Ask),
        (bash("find / -name x"), Ask),
        (bash("rg --pre=sh x"), Ask),
        (bash("cd sub && ls"), Allow),
        (bash("cd /etc && cat passwd"), Ask),
        (bash("cd sub && cat ../../x"), Ask),
        (bash("ls > /dev/null"), Allow),
        (bash("cat < /etc/passwd"), Ask),
        (bash("echo x > f"), Ask),
        (bash("FOO=1 ls"), Ask),
        (named("TodoWrite", json!({})), Allow),
        (named("WebSearch", json!({})), Ask),
    ] {
        assert_eq!(judge(&[], DefaultMode, &sample), expected, "{sample:?}");
    }
}

#[test]
fn nothing_hides_a_forbidden_command() {
    for command in [
        "rm x",
        "/bin/rm x",
        "'rm' x",
        "r\\m x",
        "\"rm\" x",
        "ls; rm x",
        "$(rm x)",
        "`rm x`",
        "cat <(rm x)",
        "if true; then rm x; fi",
        "f() { rm x; }; f",
        "X=1 rm x",
        "sudo -u root rm x",
        "env -i A=b rm x",
        "xargs -n1 rm x",
        "timeout 5 nice rm x",
        "bash -c 'rm x'",
        "sudo sh -c \"rm x\"",
        "eval rm x",
        "find . -exec rm x ';'",
        "rm >log x",
        "cat <<EOF\n$(rm x)\nEOF",
        "nohup rm x &",
        "exec rm x",
    ] {
        assert_eq!(
            judge(&[(Deny, "Bash(rm *)"), (Allow, "Bash")], DefaultMode, &bash(command)),
            Deny,
            "{command}"
        );
    }
    // And what cannot be read is not waved through.
    for command in ["bash -c \"$X\"", "eval \"$X\"", "echo 'open"] {
        assert_eq!(judge(&[(Allow, "Bash")], DefaultMode, &bash(command)), Ask, "{command}");
        assert_eq!(judge(&[], BypassPermissions, &bash(command)), Allow, "{command}");
    }
}

#[test]
fn forbidden_files_are_forbidden_to_the_shell_too() {
    let rules = [(Deny, "Read(.env)"), (Deny, "Edit(/locked/**)"), (Allow, "Bash")];
    for (command, expected) in [
        ("cat .env", Deny),
        ("cat sub/.env", Deny),
        ("grep KEY < .env", Deny),
        ("cp .env x", Deny),
        ("cat env", Allow),
        ("rm locked/x", Deny),
        ("echo x > locked/y", Deny),
        ("tee locked/y", Deny),
        ("sed -i s/a/b/ locked/f", Deny),
        ("cat locked/y", Allow),
    ] {
        assert_eq!(judge(&rules, DefaultMode, &bash(command)), expected, "{command}");
    }
    assert_eq!(
        judge(&rules, AcceptEdits, &file("Write", "/w/app/.env")),
        Deny,
        "not read: not written"
    );
    assert!(permissions(&rules, DefaultMode).hides(Path::new("/w/app/a/.env")));
    assert!(!permissions(&rules, DefaultMode).hides(Path::new("/w/app/env")));
}

#[test]
fn protected_paths_are_asked_for_except_where_agents_write() {
    for path in
        [".git/config", ".claude/settings.json", ".ona/settings.json", "sub/.bashrc", ".mcp.json"]
    {
        let sample = file("Write", &format!("/w/app/{path}"));
        assert_eq!(judge(&[], AcceptEdits, &sample), Ask, "{path}");
        assert_eq!(judge(&[], BypassPermissions, &sample), Allow, "{path}");
    }
    for path in [".claude/agents/a.md", ".claude/skills/s/SKILL.md", "git/config", ".github/x"] {
        assert_eq!(
            judge(&[], AcceptEdits, &file("Write", &format!("/w/app/{path}"))),
            Allow,
            "{path}"
        );
    }
    assert_eq!(
        judge(&[(Allow, "Bash")], DefaultMode, &bash("echo x >> .git/hooks/pre-commit")),
        Ask
    );
}

#[test]
fn what_agents_may_write_opens_nothing_that_is_protected_below_it() {
    for (path, expected) in [
        (".claude/worktrees/x/.git", Ask),
        (".claude/worktrees/x/.git/config", Ask),
        (".claude/worktrees/x/.claude/settings.json", Ask),
        (".claude/skills/a/.claude/settings.json", Ask),
        (".claude/skills/.claude", Ask),
        (".claude/agents/.ona/settings.json", Ask),
        (".claude/commands/.vscode/tasks.json", Ask),
        (".claude/worktrees/x/.bashrc", Ask),
        (".git/.claude/skills/a.md", Ask),
        (".claude/.claude/skills/a.md", Ask),
        (".claude/worktrees/x/src/main.rs", Allow),
        (".claude/worktrees/x/.claude/agents/a.md", Allow),
        (".claude/skills", Allow),
    ] {
        let sample = file("Write", &format!("/w/app/{path}"));
        assert_eq!(judge(&[], AcceptEdits, &sample), expected, "{path}");
    }
    let linked = Call {
        tool: "Write",
        facts: RuleFacts::of_tool("Write"),
        input: &json!({}),
        effects: &Effects::replace(Target {
            named: "/w/app/.claude/skills/a".into(),
            real: "/w/app/.claude/settings.json".into(),
        }),
        confines: Confines::Nothing,
    };
    assert_eq!(permissions(&[], AcceptEdits).judge(&linked).behavior, Ask, "by what it leads to");
}

#[test]
fn what_is_no_rule_says_why() {
    for (behavior, text, why) in [
        (Allow, "", "it is empty"),
        (Allow, "Bash(ls", "missing `)` at the end"),
        (Allow, "(ls)", "the tool is missing"),
        (Allow, "ls)", "without a `(`"),
        (Allow, "Bash(:*)", "names no command"),
        (Allow, "mcp__*", "only after `mcp__<server>__`"),
        (Allow, "*", "only after `mcp__<server>__`"),
        (Deny, "mcp__s__t(x)", "takes no parentheses"),
        (Deny, "WebSearch(x)", "takes no parentheses"),
        (Deny, "WebFetch(example.com)", "takes `domain:`"),
        (Deny, "WebFetch(domain:a b)", "is not a valid host"),
        (Deny, "Read(../x)", "contains `..`"),
        (Deny, "Read(!x)", "cannot begin with `!`"),
        (Deny, "Read(a[)", ""),
        (Deny, "Write(x)", "write Edit(x)"),
        (Deny, "Glob(x)", "write Read(x)"),
        (Deny, "Ba sh", "is not a valid tool name"),
        (Deny, "Bash(command:rm *)", "is no command"),
    ] {
        let error = rule(behavior, text).map(|rule| rule.text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(rule(Deny, &"a".repeat(100_000)).unwrap_err().to_string().contains("longer than"));
    let anchors = Anchors::of(&test_surroundings());
    let (_, warning) = Rule::parse("Bsh", Deny, Source::of(Scope::User), &anchors).unwrap();
    assert_eq!(warning.as_deref(), Some("unknown tool `Bsh`"));
}

#[test]
fn a_guard_with_other_capitals_or_blanks_holds() {
    let anchors = Anchors::of(&test_surroundings());
    let read = |text: &str, behavior: Behavior| {
        Rule::parse_or_mend(text, behavior, Source::of(Scope::User), &anchors)
    };
    for text in ["bash(rm *)", "BASH", "Bash (rm *)", " bash ( rm *)"] {
        let (rule, warning) = read(text, Deny).unwrap();
        assert!(warning.is_some_and(|warning| warning.contains("counts as that")), "{text}");
        let call = bash("rm x");
        let facts = RuleFacts::of_tool("Bash");
        let call = Call {
            tool: "Bash",
            facts,
            input: &call.input,
            effects: &call.effects,
            confines: Confines::Nothing,
        };
        assert!(rule.hits(&call), "{text}");
    }
    let (rule, _) = read("write(x.txt)", Deny).unwrap();
    assert!(rule.names("Write", RuleSubject::Writes));
    assert!(read("bash(rm *)", Allow).is_err(), "it is not a valid allow rule");
}

proptest! {
    /// More rules can only make a verdict stricter, unless they are allow rules; and no allow rule ever
    /// turns a deny or an ask that another rule made.
    #[test]
    fn deny_is_never_lost(
        order in Just(vec![(Deny, "Bash(rm *)"), (Ask, "Bash(git *)"), (Allow, "Bash"), (Allow, "Bash(rm *)")]).prop_shuffle(),
        command in prop::sample::select(vec!["rm x", "git push", "ls; rm x", "git log", "make"]),
    ) {
        let expected = match command {
            "rm x" | "ls; rm x" => Deny,
            "git push" | "git log" => Ask,
            _ => Allow,
        };
        prop_assert_eq!(judge(&order, DefaultMode, &bash(command)), expected);
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}") {
        let _ = rule(Deny, &text);
        let _ = rule(Allow, &format!("Bash({text})"));
        let _ = rule(Allow, &format!("Edit({text})"));
    }

    #[test]
    fn judging_never_panics(command in "[a-z $'\"();|&<>*/.\n-]{0,40}") {
        if let Ok(effects) = Effects::of_shell(&Disk, &command, Path::new("/w/app")) {
            let sample = Sample { tool: "Bash", input: json!({}), effects };
            let _ = judge(&[(Deny, "Bash(rm *)"), (Allow, "Bash(ls *)")], DefaultMode, &sample);
        }
    }
}
