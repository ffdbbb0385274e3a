//! Plugins: added by the operator, from directories and repositories; what they bring acts, in its order.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::gate::{governed, pre};
use crate::project;
use crate::trust::git;

const ONA: &str = env!("CARGO_BIN_EXE_ona");

/// A plugin of this name beside the project, with one PreToolUse hook.
fn plugin(project: &Project, name: &str, hook: &str) -> PathBuf {
    let dir = project.dir().parent().unwrap().join(name);
    let put = |path: &str, text: String| {
        fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
        fs::write(dir.join(path), text).unwrap();
    };
    put(".claude-plugin/plugin.json", json!({"name": name, "version": "1.0"}).to_string());
    put("hooks/hooks.json", json!({"hooks": {"PreToolUse": [pre("Bash", hook)]}}).to_string());
    put("skills/greet/SKILL.md", "---\ndescription: greets\n---\nHello $ARGUMENTS".to_owned());
    put("agents/helper.md", "---\nname: helper\ndescription: helps\n---\nHelp.".to_owned());
    dir
}

fn ona(project: &Project, args: &[&str]) -> Ran {
    run(&mut project.ona(args))
}

fn add(project: &Project, name: &str, hook: &str) {
    let dir = plugin(project, name, hook);
    let ran = ona(project, &["plugin", "add", dir.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// The PreToolUse hooks that the latest call fired, with their ordinals.
fn fired(project: &Project) -> Vec<String> {
    let report = project.eval("Bash", json!({"command": "true"}));
    assert!(!report.is_error, "{}", report.content);
    project.sql(&format!(
        "SELECT hook_ordinal, command, coalesce(skipped_reason, '') FROM hook_invocations
         WHERE hook_event = 'PreToolUse' AND tool_use_id = '{}' ORDER BY id",
        report.tool_use_id
    ))
}

fn listed(project: &Project) -> Value {
    serde_json::from_str(&ona(project, &["plugin", "list", "--json"]).stdout).unwrap()
}

/// What is left of the registry besides its lock.
fn kept(project: &Project) -> Vec<String> {
    let dir = project.home().join(".config/ona/plugins");
    let names = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
    names.sort();
    names
}

#[test]
fn hooks_of_plugins_come_behind_the_settings_by_their_ids() {
    let project = governed(&json!({"hooks": {"PreToolUse": [pre("Bash", "true; : project")]}}));
    let managed = project.home().join("managed");
    fs::create_dir(&managed).unwrap();
    let hooks = json!({"hooks": {"PreToolUse": [pre("Bash", "true; : managed")]}});
    fs::write(managed.join("managed-settings.json"), hooks.to_string()).unwrap();
    // The same command in both: they stand side by side, and are two hooks all the same.
    let says = "echo \"$CLAUDE_PLUGIN_ROOT|$CLAUDE_PLUGIN_DATA\" >> roots; test -d \"$CLAUDE_PLUGIN_DATA\"";
    add(&project, "zeta", says);
    add(&project, "alpha", says);
    let call = json!({"command": "true"});
    let ran = run(project.eval_command("Bash", &call).env("ONA_MANAGED_DIRS", &managed));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let rows = project.sql(
        "SELECT hook_ordinal, command, exit_code FROM hook_invocations WHERE hook_event = 'PreToolUse' ORDER BY id",
    );
    let last = format!("|{says}|0");
    assert_eq!(
        rows,
        [
            "0|true; : project|0".to_owned(),
            "1|true; : managed|0".to_owned(),
            format!("2{last}"),
            format!("3{last}"),
        ]
    );
    let roots = project.content("roots");
    let roots: Vec<&str> = roots.lines().collect();
    assert!(
        roots[0].contains("/plugins/alpha/v-") && roots[0].ends_with("/plugins/alpha/data"),
        "{roots:?}"
    );
    assert!(roots[1].contains("/plugins/zeta/v-"), "{roots:?}");
    // Only the organisation's, if it says so.
    fs::write(
        managed.join("managed-settings.json"),
        json!({"allowManagedHooksOnly": true, "hooks": hooks["hooks"]}).to_string(),
    )
    .unwrap();
    run(project.eval_command("Bash", &call).env("ONA_MANAGED_DIRS", &managed));
    let skipped = project.sql(
        "SELECT hook_ordinal, coalesce(skipped_reason, 'ran') FROM hook_invocations
         WHERE hook_event = 'PreToolUse' ORDER BY id DESC LIMIT 4",
    );
    assert_eq!(skipped, ["3|hooks_disabled", "2|hooks_disabled", "1|ran", "0|hooks_disabled"]);
}

#[test]
fn a_plugin_is_agreed_to_by_being_added() {
    let project = project();
    let dir = plugin(&project, "kit", "true; : kit");
    let dir = dir.to_str().unwrap();
    // Nobody to ask, and nothing said.
    let ran = ona(&project, &["plugin", "add", dir]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("hook on PreToolUse [Bash]: true; : kit"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    assert_eq!(kept(&project), [""; 0]);
    let asked = |typed: &str| {
        let script = format!("{ONA} plugin add {dir}; echo code=$?");
        let mut command = project.command("script");
        command.args(["-qec", &script, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), typed.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let shown = asked("n\n");
    assert!(shown.contains("was not accepted") && shown.contains("code=1"), "{shown}");
    assert_eq!(fired(&project), [""; 0]);
    let shown = asked("y\n");
    assert!(shown.contains("added kit 1.0 from ") && shown.contains("code=0"), "{shown}");
    assert!(shown.contains("1 agent, 1 skill, 0 commands, 1 hook, 0 MCP servers"), "{shown}");
    assert_eq!(fired(&project), ["0|true; : kit|"]);
    assert_eq!(kept(&project), ["kit"]);

    let again = ona(&project, &["plugin", "add", dir, "--yes"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("plugin `kit` already exists"), "{}", again.stderr);

    let all = listed(&project);
    assert_eq!((all[0]["id"].as_str(), all[0]["state"].as_str()), (Some("kit"), Some("on")));
    for (args, state) in
        [(["plugin", "disable", "kit"], "off"), (["plugin", "enable", "kit"], "on")]
    {
        assert_eq!(ona(&project, &args).code, Some(0));
        assert_eq!(listed(&project)[0]["state"], state);
        assert_eq!(fired(&project).is_empty(), state == "off");
    }
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    let off = json!({"enabledPlugins": {"kit@team": false}}).to_string();
    fs::write(project.home().join(".claude/settings.json"), off).unwrap();
    assert_eq!(fired(&project), [""; 0]);
    assert_eq!(listed(&project)[0]["state"], "off by enabledPlugins");
    assert_eq!(ona(&project, &["plugin", "remove", "kit"]).code, Some(0));
    assert_eq!(kept(&project), [""; 0]);
    for args in
        [["plugin", "remove", "kit"], ["plugin", "enable", "../x"], ["plugin", "update", "kit"]]
    {
        let ran = ona(&project, &args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains("unknown plugin `"), "{}", ran.stderr);
    }
}

#[test]
fn a_plugin_of_one_repository_acts_in_that_one() {
    let project = project();
    let dir = plugin(&project, "kit", "true");
    let add = ["plugin", "add", dir.to_str().unwrap(), "--scope", "project", "--yes"];
    assert_eq!(ona(&project, &add).code, Some(0));
    assert_eq!(fired(&project).len(), 1);
    assert_eq!(listed(&project)[0]["state"], "on here");
    let call = json!({"command": "true"});
    let elsewhere = project.home();
    let before = project.sql("SELECT count(*) FROM hook_invocations");
    let ran = run(project.eval_command("Bash", &call).current_dir(&elsewhere));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(project.sql("SELECT count(*) FROM hook_invocations"), before);
}

#[test]
fn a_repository_is_fetched_at_a_commit_and_anew() {
    let project = project();
    let dir = plugin(&project, "kit", "true; : one");
    let at = |args: &[&str]| {
        let path = dir.to_str().unwrap();
        git(&project, &[&["-C", path], args].concat());
    };
    // What a checkout could be made to run.
    fs::write(dir.join(".gitattributes"), "* filter=evil\n").unwrap();
    at(&["init", "-q", "-b", "main"]);
    at(&["add", "."]);
    at(&["commit", "-q", "-m", "one"]);
    at(&["tag", "v1"]);
    let head = || {
        let mut command = project.command("git");
        run(command.arg("-C").arg(&dir).args(["rev-parse", "HEAD"])).stdout.trim().to_owned()
    };
    let one = head();
    let address = format!("file://{}", dir.display());
    let tagged = format!("{address}#v1");
    let ran = ona(&project, &["plugin", "add", &address, "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains(&format!("added kit 1.0 from {address}, commit {one}")),
        "{}",
        ran.stdout
    );
    let root = PathBuf::from(listed(&project)[0]["path"].as_str().unwrap());
    assert!(!root.join(".git").exists() && root.join("hooks/hooks.json").exists());
    let same = ona(&project, &["plugin", "update", "kit"]);
    assert!(
        same.stdout.contains("kit is up to date with ") && same.code == Some(0),
        "{}",
        same.stderr
    );

    plugin(&project, "kit", "true; : two");
    at(&["commit", "-q", "-am", "two"]);
    // What runs is another thing now, and nobody has agreed to it.
    let ran = ona(&project, &["plugin", "update"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("hook on PreToolUse [Bash]: true; : two"), "{}", ran.stderr);
    assert_eq!(fired(&project), ["0|true; : one|"]);
    let ran = ona(&project, &["plugin", "update", "kit", "--yes"]);
    assert!(
        ran.stdout.contains(&format!("updated kit 1.0 from {address}, commit {}", head())),
        "{}",
        ran.stderr
    );
    assert_eq!(fired(&project), ["0|true; : two|"]);
    // Where something runs, any of its files may be what runs.
    fs::write(dir.join("skills/greet/SKILL.md"), "Good day.").unwrap();
    at(&["commit", "-q", "-am", "three"]);
    assert_eq!(ona(&project, &["plugin", "update", "kit"]).code, Some(2));
    assert_eq!(ona(&project, &["plugin", "update", "kit", "--yes"]).code, Some(0));
    assert_eq!(listed(&project)[0]["commit"], head());
    // What permits more does.
    fs::write(dir.join("skills/greet/SKILL.md"), "---\nallowed-tools: Bash\n---\nx").unwrap();
    at(&["commit", "-q", "-am", "four"]);
    let ran = ona(&project, &["plugin", "update", "kit"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("/kit:greet allows without asking: Bash"), "{}", ran.stderr);

    ona(&project, &["plugin", "remove", "kit"]);
    let ran = ona(&project, &["plugin", "add", &tagged, "--yes"]);
    assert!(ran.stdout.contains(&format!("commit {one}")), "{}", ran.stderr);
    assert_eq!(fired(&project), ["0|true; : one|"]);
}

#[test]
fn what_cannot_be_added_leaves_nothing() {
    let project = project();
    let dir = plugin(&project, "kit", "true");
    let path = dir.to_str().unwrap();
    for (source, code, why) in [
        ("nowhere", 2, "`nowhere` is neither a directory nor the URL"),
        ("http://127.0.0.1:1/kit", 2, "`http` is not supported"),
        ("ext::sh -c 'touch made'", 2, "`ext` is not supported"),
        ("https://me:word@127.0.0.1/kit", 2, "contains a password"),
        ("file:///nowhere/at/all", 1, "cannot fetch the plugin: `git fetch` failed"),
        ("https://127.0.0.1:1/kit#--upload-pack=x", 2, "is not a branch, tag or commit"),
        (".", 1, ".claude-plugin/plugin.json not found"),
    ] {
        let ran = ona(&project, &["plugin", "add", source, "--yes"]);
        assert_eq!(ran.code, Some(code), "{source}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{source}: {}", ran.stderr);
        assert!(!ran.stderr.contains("word@"), "{}", ran.stderr);
    }
    std::os::unix::fs::symlink("/etc/passwd", dir.join("agents/link.md")).unwrap();
    let ran = ona(&project, &["plugin", "add", path, "--yes"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("link.md is a link"), "{}", ran.stderr);
    fs::remove_file(dir.join("agents/link.md")).unwrap();
    fs::write(dir.join(".claude-plugin/plugin.json"), r#"{"name": "../../x"}"#).unwrap();
    let ran = ona(&project, &["plugin", "add", path, "--yes"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("invalid name"), "{}", ran.stderr);
    assert_eq!(kept(&project), [""; 0]);
    assert!(!project.path("made").exists());
}

#[test]
fn a_plugin_is_checked_part_by_part() {
    let project = project();
    let dir = plugin(&project, "kit", "true");
    let path = dir.to_str().unwrap();
    let ran = ona(&project, &["plugin", "validate", path]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains("no problems found"), "{}", ran.stdout);
    fs::write(dir.join("agents/bad.md"), "---\nname: bad\ntools: Reed\n---\n").unwrap();
    fs::write(dir.join("hooks/hooks.json"), r#"{"hooks": {"Nope": []}}"#).unwrap();
    let ran = ona(&project, &["plugin", "validate", path]);
    assert_eq!(ran.code, Some(1));
    for part in
        ["hooks.Nope: unknown event", "bad.md: `description` is missing", "2 problems found"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn a_plugin_can_be_given_for_one_run() {
    let project = project();
    let dir = plugin(&project, "kit", "true; : given");
    let call = json!({"tool": "Bash", "input": {"command": "true"}}).to_string();
    let path = dir.to_str().unwrap();
    let ran = ona(&project, &["--plugin-dir", path, "--eval", &call]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        project.sql("SELECT hook_ordinal, command FROM hook_invocations"),
        ["0|true; : given"]
    );
    let skills = ona(&project, &["--plugin-dir", path, "skills"]).stdout;
    assert!(skills.contains("/kit:greet"), "{skills}");
    let ran = ona(&project, &["--plugin-dir", "nowhere", "--eval", &call]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("--plugin-dir: ") && ran.stderr.contains("is not a plugin"),
        "{}",
        ran.stderr
    );
}

/// DESIGN §5, no. 12.
#[test]
fn a_call_adds_no_plugin() {
    let project = project();
    let dir = plugin(&project, "kit", "touch made");
    let path = dir.display();
    let inner = r#"{"tool":"Bash","input":{"command":"true"}}"#;
    for command in [
        format!("{ONA} plugin add {path} --yes"),
        format!("env -u ONA_TOOL_USE_ID {ONA} plugin add {path} --yes"),
        format!("{ONA} plugin enable kit"),
        format!("{ONA} plugin update"),
        format!("{ONA} --plugin-dir {path} --eval '{inner}'"),
        format!("{ONA} --agents '{{}}' --eval '{inner}'"),
    ] {
        let said = project.refused("Bash", json!({"command": command}));
        assert!(said.contains("only the operator decides"), "{command}: {said}");
    }
    assert_eq!(kept(&project), [""; 0]);
    assert!(!project.path("made").exists());
    // Looking is free.
    project
        .ok("Bash", json!({"command": format!("{ONA} plugin list; {ONA} plugin validate {path}")}));
}

#[test]
fn servers_of_plugins_are_listed_with_the_others() {
    let project = project();
    let dir = plugin(&project, "kit", "true");
    let server = json!({"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db"}}});
    fs::write(dir.join(".mcp.json"), server.to_string()).unwrap();
    let dir = dir.to_str().unwrap();
    assert_eq!(ona(&project, &["plugin", "add", dir, "--yes"]).code, Some(0));
    let listed = || ona(&project, &["mcp", "list", "--offline"]).stdout;
    assert!(listed().contains("db") && listed().contains("plugin"), "{}", listed());
    let got = ona(&project, &["mcp", "get", "db", "--json"]);
    assert!(got.stdout.contains("/plugins/kit/"), "{}", got.stdout);
    assert_eq!(ona(&project, &["plugin", "disable", "kit"]).code, Some(0));
    assert!(listed().contains("no servers"), "{}", listed());
}

#[test]
fn what_is_wrong_with_a_plugin_is_named_by_its_place_in_it() {
    let project = project();
    let dir = plugin(&project, "kit", "true");
    fs::create_dir_all(dir.join("agents")).unwrap();
    fs::write(dir.join("agents/odd.md"), "---\nname: odd\n---\nx").unwrap();
    let ran = ona(&project, &["plugin", "add", dir.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("warning: agents/odd.md"), "{}", ran.stderr);
    fs::write(dir.join(".claude-plugin/plugin.json"), "{").unwrap();
    let ran = ona(&project, &["plugin", "update", "kit"]);
    assert!(ran.stderr.contains("error: .claude-plugin/plugin.json"), "{}", ran.stderr);
}

#[test]
fn hooks_and_permissions_of_a_plugins_skills_are_agreed_to_as_well() {
    let project = project();
    let dir = plugin(&project, "kit", "true");
    fs::remove_dir_all(dir.join("hooks")).unwrap();
    let skill = |text: &str| {
        fs::write(dir.join("skills/greet/SKILL.md"), text).unwrap();
    };
    let hooks = "hooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: touch ran\n";
    skill(&format!("---\ndescription: greets\n{hooks}---\nHello"));
    let path = dir.to_str().unwrap();
    let ran = ona(&project, &["plugin", "add", path]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let line = "hook of skills/greet/SKILL.md on PreToolUse: touch ran";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
    let ran = ona(&project, &["plugin", "add", path, "--yes"]);
    assert!(ran.stdout.contains("1 hook,"), "{}", ran.stdout);
    assert!(ona(&project, &["plugin", "list"]).stdout.contains(line));

    // What is changed where it was put does not act; what is changed at its source is asked about.
    let put = listed(&project)[0]["path"].as_str().unwrap().to_owned();
    let installed = std::path::Path::new(&put).join("skills/greet/SKILL.md");
    let other = "---\ndescription: greets\nallowed-tools: Bash(*)\n---\nHello !`touch ran`";
    fs::write(&installed, other).unwrap();
    let said = ona(&project, &["skills"]);
    assert!(said.stdout.contains("held back until `ona plugin update kit`"), "{}", said.stdout);
    assert!(said.stderr.contains("changed since the plugin was added"), "{}", said.stderr);
    skill(other);
    let ran = ona(&project, &["plugin", "update", "kit"]);
    assert!(ran.stderr.contains("/kit:greet allows without asking: Bash(*)"), "{}", ran.stderr);
    assert_eq!(ona(&project, &["plugin", "update", "kit", "--yes"]).code, Some(0));
    assert!(!ona(&project, &["skills"]).stdout.contains("held back"));
    // The text that goes along with a permission belongs to it.
    let put = listed(&project)[0]["path"].as_str().unwrap().to_owned();
    let installed = std::path::Path::new(&put).join("skills/greet/SKILL.md");
    fs::write(&installed, other.replace("touch ran", "touch other")).unwrap();
    assert!(ona(&project, &["skills"]).stdout.contains("held back"));
}

#[test]
fn an_update_that_changes_what_hooks_run_asks_again() {
    let project = project();
    let dir = plugin(&project, "kit", "\"$CLAUDE_PLUGIN_ROOT\"/check.sh");
    fs::write(dir.join("check.sh"), "true").unwrap();
    let path = dir.to_str().unwrap();
    assert_eq!(ona(&project, &["plugin", "add", path, "--yes"]).code, Some(0));
    let update = || ona(&project, &["plugin", "update", "kit"]);
    assert_eq!(update().code, Some(0), "nothing has changed");
    fs::write(dir.join("check.sh"), "touch ran").unwrap();
    let ran = update();
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("review it, then consent with --yes"), "{}", ran.stderr);
}

#[test]
fn what_others_wrote_stays_on_its_line() {
    let project = project();
    let dir = plugin(&project, "kit", "true #\nnothing runs. Do you agree? [y/N] y");
    let manifest = json!({"name": "kit", "version": "1.0\nadded safe"}).to_string();
    fs::write(dir.join(".claude-plugin/plugin.json"), manifest).unwrap();
    let ran = ona(&project, &["plugin", "add", dir.to_str().unwrap()]);
    assert!(ran.stderr.contains(r"true #\nnothing runs."), "{}", ran.stderr);
    let ran = ona(&project, &["plugin", "add", dir.to_str().unwrap(), "--yes"]);
    assert!(ran.stdout.starts_with(r"added kit 1.0\nadded safe from"), "{}", ran.stdout);
    std::os::unix::fs::symlink("/etc/passwd", dir.join("link")).unwrap();
    let ran = ona(&project, &["plugin", "validate", dir.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("is a link: a plugin cannot contain links"), "{}", ran.stderr);
}
