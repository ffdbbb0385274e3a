//! What each setting of the sandbox does.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use ona_testkit::{Project, parse_report, run};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{at_level, lives};
use crate::every_tool::small_server;
use crate::{project, until};

/// A project with these settings of the sandbox, which is on.
fn sandboxed(mut settings: Value) -> Project {
    let project = project();
    if settings["enabled"].is_null() {
        settings["enabled"] = true.into();
    }
    project.file(".claude/settings.json", json!({"sandbox": settings}).to_string());
    project
}

/// A directory that is not below /tmp.
fn elsewhere() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

/// What a command line prints.
fn said(project: &Project, line: &str) -> String {
    called(project, &json!({"command": line}))
}

fn called(project: &Project, input: &Value) -> String {
    let ran = run(project.eval_command("Bash", input).env("ONA_TRUST", "1"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    parse_report(&ran.stdout).unwrap().content
}

/// Makes a file in a directory; whether it was made.
fn makes(project: &Project, dir: &Path, more: &Value) -> bool {
    let mut input = json!({"command": format!("touch {}/made", dir.display())});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    called(project, &input);
    let made = dir.join("made");
    let is_there = made.exists();
    let _ = fs::remove_file(made);
    is_there
}

#[test]
fn enabled_confines_and_the_refusal_names_the_setting() {
    let (_dir, out) = elsewhere();
    let (on, off) = (sandboxed(json!({})), sandboxed(json!({"enabled": false})));
    assert!(makes(&off, &out, &json!({})));
    assert!(!makes(&on, &out, &json!({})));
    let shown = said(&on, &format!("echo x >made && touch {}/made", out.display()));
    let refused = format!(
        "[sandbox] refused writing {}/made: sandbox.filesystem.allowWrite would allow it",
        out.display()
    );
    assert!(shown.contains(&refused), "{shown}");
    assert!(on.path("made").exists());
}

#[test]
fn the_level_is_on_the_record_and_told() {
    let (_dir, out) = elsewhere();
    let project = sandboxed(json!({}));
    said(&project, &format!("touch {}/made", out.display()));
    let level = run(&mut project.ona(["sandbox", "status", "--json"]));
    let best: Value = serde_json::from_str(&level.stdout).unwrap();
    let best = best["best"].as_str().unwrap();
    let rows = project.sql(
        "SELECT json_extract(detail, '$.what.level'), json_extract(detail, '$.what.writable[0]'), \
         json_extract(detail, '$.what.network') FROM events WHERE event_type = 'sandbox.run'",
    );
    let dir = project.dir();
    assert_eq!(rows, [format!("{best}|{}|{{\"hosts\":[]}}", dir.display())]);
    let why = run(&mut project.ona(["why"]));
    assert!(
        why.stdout.contains(&format!(
            "  sandbox  pass  {best}, no network, writable: {}\n",
            project.dir().display()
        )),
        "{}",
        why.stdout
    );
    let refused = project.sql("SELECT json_extract(detail, '$.what.write') FROM events WHERE event_type = 'sandbox.refused'");
    assert_eq!(refused, [format!("{}/made", out.display())]);
}

#[test]
fn excluded_commands_and_calls_that_ask_for_it_run_outside() {
    let (_dir, out) = elsewhere();
    let project = sandboxed(json!({"excludedCommands": ["touch *"]}));
    assert!(makes(&project, &out, &json!({})));
    // Only if every command is one of them.
    let line = format!("touch a && : >{}/made", out.display());
    said(&project, &line);
    assert!(!out.join("made").exists());
    // What a line sets may decide which program a name means.
    for start in [
        "PATH=$PWD:/usr/bin:/bin;",
        "LD_PRELOAD=./x.so;",
        "PATH=.:/usr/bin:/bin",
        "for PATH in /usr/bin:/bin; do",
    ] {
        let end = if start.ends_with("do") { "; done" } else { "" };
        said(&project, &format!("{start} touch {}/made{end}", out.display()));
        assert!(!out.join("made").exists(), "{start}");
    }
    let line = format!("name=made; touch {}/$name", out.display());
    said(&project, &line);
    assert!(out.join("made").exists(), "a variable of the line's own");
    fs::remove_file(out.join("made")).unwrap();
    let project = sandboxed(json!({}));
    assert!(makes(&project, &out, &json!({"dangerouslyDisableSandbox": true})));
    let strict = sandboxed(json!({"allowUnsandboxedCommands": false}));
    assert!(!makes(&strict, &out, &json!({"dangerouslyDisableSandbox": true})));
}

/// The verdict of `ona explain` about a command line.
fn explained(project: &Project, input: &Value) -> Value {
    let call = json!({"tool": "Bash", "input": input}).to_string();
    let ran = run(project.ona(["explain", &call, "--json"]).env("ONA_TRUST", "1"));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

#[test]
fn a_confined_command_needs_no_question_unless_the_settings_say_so() {
    let verdict = |settings: Value, input: Value| -> String {
        let project = sandboxed(settings);
        explained(&project, &input)["verdict"].as_str().unwrap().to_owned()
    };
    let make = || json!({"command": "make all"});
    assert_eq!(verdict(json!({}), make()), "allow");
    assert_eq!(verdict(json!({"autoAllowBashIfSandboxed": false}), make()), "ask");
    assert_eq!(verdict(json!({"enabled": false}), make()), "ask");
    assert_eq!(verdict(json!({"excludedCommands": ["make *"]}), make()), "ask");
    let out = json!({"command": "make all", "dangerouslyDisableSandbox": true});
    assert_eq!(verdict(json!({}), out.clone()), "ask");
    assert_eq!(verdict(json!({"allowUnsandboxedCommands": false}), out), "allow");
}

#[test]
fn below_the_minimum_nothing_runs() {
    let project = sandboxed(json!({"minimum": "bwrap"}));
    at_level(&project, "landlock");
    let shown = said(&project, "touch made");
    assert!(shown.contains("sandbox.minimum is bwrap, which does not work here"), "{shown}");
    assert!(shown.contains("not in this test"), "the probe's reason: {shown}");
    assert!(!project.path("made").exists());
    // Also if it is off otherwise.
    let project = sandboxed(json!({"minimum": "bwrap", "enabled": false}));
    at_level(&project, "none");
    said(&project, "touch made");
    assert!(!project.path("made").exists());
}

#[test]
fn without_any_level_it_is_said_or_nothing_starts() {
    let (_dir, out) = elsewhere();
    let project = sandboxed(json!({}));
    at_level(&project, "none");
    let input = json!({"command": format!("touch {}/made", out.display())});
    let ran = run(project.eval_command("Bash", &input).env("ONA_TRUST", "1"));
    assert!(
        ran.stderr.contains("warning: commands are not confined: no level works here"),
        "{}",
        ran.stderr
    );
    assert!(out.join("made").exists());
    let why = run(&mut project.ona(["why"]));
    assert!(
        why.stdout.contains("  sandbox  pass  outside the sandbox: no level works"),
        "{}",
        why.stdout
    );
    let project = sandboxed(json!({"failIfUnavailable": true}));
    at_level(&project, "none");
    let ran = run(project.eval_command("Bash", &input).env("ONA_TRUST", "1"));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("error: sandbox.failIfUnavailable is set, and no level works"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_helper_that_is_a_script_is_not_used() {
    let (_dir, out) = elsewhere();
    let script = out.join("bwrap");
    fs::write(&script, "#!/bin/sh\necho used >&2\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let project = project();
    let ran = run(project.ona(["sandbox", "status"]).env("PATH", &out));
    let row = ran.stdout.lines().next().unwrap().to_owned();
    assert!(
        row.starts_with("bwrap         does not work: ") && row.contains("is not used: "),
        "{row}"
    );
}

#[test]
fn listed_hosts_are_reached_and_others_are_told() {
    let project = sandboxed(json!({"network": {"allowedDomains": ["localhost"]}}));
    if !at_level(&project, "bwrap") {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut client, _)) = server.accept() {
            let mut head = [0; 1024];
            let _ = client.read(&mut head);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }
    });
    let ask = |host: &str| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://{host}:{port}/ HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
        )
    };
    let shown = said(&project, &ask("localhost"));
    assert!(shown.contains("hello") && !shown.contains("[sandbox]"), "{shown}");
    let shown = said(&project, &ask("127.0.0.1"));
    let refused = format!(
        "[sandbox] refused reaching 127.0.0.1:{port}: sandbox.network.allowedDomains would allow it"
    );
    assert!(shown.contains("403 Forbidden") && shown.contains(&refused), "{shown}");
    let hosts = project.sql("SELECT json_extract(detail, '$.what.host') FROM events WHERE event_type = 'sandbox.refused'");
    assert_eq!(hosts, [format!("127.0.0.1:{port}")]);
    let shown = said(&project, "echo $HTTPS_PROXY $NO_PROXY");
    assert!(shown.contains("http://127.0.0.1:3128 localhost,127.0.0.1,::1"), "{shown}");
}

#[test]
fn a_proxy_of_the_user_is_the_way_out_instead() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut client, _)) = server.accept() {
            let _ = client.write_all(b"your own\n");
        }
    });
    let project = sandboxed(json!({"network": {"httpProxyPort": port, "socksProxyPort": port}}));
    if !at_level(&project, "bwrap") {
        return;
    }
    for inside in [3128, 1080] {
        let shown = said(&project, &format!("exec 3<>/dev/tcp/127.0.0.1/{inside}; head -1 <&3"));
        assert!(shown.contains("your own"), "{inside}: {shown}");
    }
    assert!(said(&project, "echo $ALL_PROXY").contains("socks5h://127.0.0.1:1080"));
}

#[test]
fn unix_sockets_are_open_by_name_or_altogether() {
    let (_dir, out) = elsewhere();
    let (one, other) = (out.join("one"), out.join("other"));
    let listeners =
        [&one, &other].map(|path| std::os::unix::net::UnixListener::bind(path).unwrap());
    let reached_at = |level: &str, settings: Value, socket: &Path| {
        let project = sandboxed(settings);
        if !at_level(&project, level) {
            return None;
        }
        let line = format!(
            "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(\"{}\") ? \"open\" : \"shut\"'",
            socket.display()
        );
        Some(said(&project, &line).contains("open"))
    };
    let named = json!({"network": {"allowUnixSockets": [one]}});
    // No socket can be told from another there: none is open.
    assert_ne!(reached_at("landlock", named.clone(), &other), Some(true));
    assert_ne!(reached_at("landlock", named.clone(), &one), Some(true));
    let reached = |settings: Value, socket: &Path| reached_at("bwrap", settings, socket);
    if reached(json!({}), &one).is_none() {
        return;
    }
    symlink(&out, out.join("link")).unwrap();
    let by_link = json!({"network": {"allowUnixSockets": [out.join("link/one")]}});
    assert_eq!(reached(by_link, &one), Some(true));
    let all = json!({"network": {"allowAllUnixSockets": true}});
    assert_eq!(reached(json!({}), &one), Some(false));
    assert_eq!(reached(named.clone(), &one), Some(true));
    assert_eq!(reached(named, &other), Some(false));
    assert_eq!(reached(all, &other), Some(true));
    drop(listeners);
}

#[test]
fn paths_open_and_close_with_the_rules_about_files() {
    let (_dir, out) = elsewhere();
    for name in ["open", "by-rule", "shut", "shut/but-this"] {
        fs::create_dir(out.join(name)).unwrap();
    }
    fs::write(out.join("shut/key"), "SECRET").unwrap();
    fs::write(out.join("shut/but-this/x"), "fine").unwrap();
    let project = project();
    project.file("kept.txt", "first");
    project.file("deep/.env", "SECRET");
    project.file("deep/gone.pem", "SECRET");
    project.file(
        ".claude/settings.json",
        json!({
            "permissions": {
                "allow": [format!("Edit(/{}/by-rule/**)", out.display())],
                "deny": ["Edit(./kept.txt)", "Read(.env)", "Read(**/*.pem)"],
            },
            "sandbox": {"enabled": true, "filesystem": {
                "allowWrite": [out.join("open")],
                "denyRead": [out.join("shut")],
                "allowRead": [out.join("shut/but-this")],
            }},
        })
        .to_string(),
    );
    let levels: Vec<&str> =
        ["bwrap", "landlock"].into_iter().filter(|level| at_level(&project, level)).collect();
    for level in levels {
        let _ = fs::remove_file(project.database().with_file_name("sandbox.json"));
        at_level(&project, level);
        assert!(makes(&project, &out.join("open"), &json!({})), "{level}");
        assert!(makes(&project, &out.join("by-rule"), &json!({})), "{level}");
        assert!(!makes(&project, &out, &json!({})), "{level}");
        project.file(
            "look.sh",
            format!(
                "cat {0}/shut/key {0}/shut/but-this/x deep/.env deep/gone.pem; echo x >>kept.txt",
                out.display()
            ),
        );
        let shown = said(&project, "bash look.sh");
        assert!(!shown.contains("SECRET") && shown.contains("fine"), "{level}: {shown}");
        if level == "bwrap" {
            assert_eq!(project.content("kept.txt"), "first");
            let told = "kept.txt: sandbox.filesystem.denyWrite or a deny rule of Edit closes it";
            assert!(shown.contains(told), "{shown}");
        }
    }
}

#[test]
fn git_opens_by_name_and_its_hooks_do_not() {
    let project = sandboxed(json!({"filesystem": {"allowWrite": ["./.git"]}}));
    if !at_level(&project, "bwrap") {
        return;
    }
    ona_testkit::git(&project.dir(), &["init", "-q"]);
    project.file("work.sh", "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; echo x >.git/hooks/pre-commit; git config a.b c");
    said(&project, "bash work.sh");
    assert!(project.path(".git/logs/HEAD").exists());
    assert!(!project.path(".git/hooks/pre-commit").exists());
    assert!(!project.content(".git/config").contains("[a]"));
}

#[test]
fn roots_that_cannot_be_used_are_left_out_and_told() {
    let (_dir, out) = elsewhere();
    let project = sandboxed(json!({"filesystem": {"allowWrite": ["./build", "~/none"]}}));
    symlink(&out, project.path("build")).unwrap();
    assert!(!makes(&project, &out, &json!({})));
    let why = run(&mut project.ona(["why"])).stdout;
    assert!(why.contains("it is a symbolic link in a writable directory"), "{why}");
    let left_out = project.sql("SELECT json_extract(detail, '$.what.left_out[1]') FROM events WHERE event_type = 'sandbox.run'");
    assert!(
        left_out[0].ends_with("none is not writable in the sandbox: it does not exist"),
        "{left_out:?}"
    );
}

#[test]
fn what_cannot_be_read_of_the_settings_stops_instead_of_opening() {
    for (settings, told) in [
        (json!({"enabled": "yes"}), "sandbox.enabled: "),
        (json!({"filesystem": {"denyread": ["~/keys"]}}), "sandbox.filesystem.denyread: "),
        (json!({"filesystem": {"denyRead": ["~/*.key"]}}), "sandbox.filesystem.denyRead[0]: "),
    ] {
        let project = sandboxed(settings);
        let ran = run(project.ona(["-p", "hi"]).env("ONA_TRUST", "1"));
        assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        // A call of the operator's own goes on, with a warning.
        let input = json!({"command": "echo ran"});
        let ran = run(project.eval_command("Bash", &input).env("ONA_TRUST", "1"));
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

#[test]
fn a_helper_that_commands_may_write_is_not_used_and_that_is_told() {
    let project = sandboxed(json!({"filesystem": {"allowWrite": ["/usr"]}}));
    if !at_level(&project, "bwrap") {
        return;
    }
    let input = json!({"command": "echo ran"});
    let ran = run(project.eval_command("Bash", &input).env("ONA_TRUST", "1"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = "/bwrap is not used: commands can write there: open less";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let status = run(project.ona(["sandbox", "status"]).env("ONA_TRUST", "1"));
    assert!(status.stdout.contains(told), "{}", status.stdout);
}

#[test]
fn limits_hold_at_every_level() {
    let project = sandboxed(json!({"limits": {"fileSizeMb": 1, "cpuSeconds": 1, "memoryMb": 300}}));
    for level in ["bwrap", "landlock", "none"] {
        let _ = fs::remove_file(project.database().with_file_name("sandbox.json"));
        if !at_level(&project, level) {
            continue;
        }
        said(&project, "head -c 3000000 /dev/zero >large");
        assert_eq!(fs::metadata(project.path("large")).unwrap().len(), 1 << 20, "{level}");
        let shown = said(&project, "bash -c 'while :; do :; done'; echo ended with $?");
        assert!(shown.contains("ended with 1"), "{level}: {shown}");
        let shown = said(&project, "perl -e '$x = \"a\" x 900_000_000; print \"had it\"'");
        assert!(!shown.contains("had it"), "{level}: {shown}");
    }
}

#[test]
fn a_profile_says_the_rest() {
    let project =
        sandboxed(json!({"profile": "sandbox", "network": {"allowedDomains": ["localhost"]}}));
    said(&project, "true");
    let why = run(&mut project.ona(["why"])).stdout;
    assert!(why.contains(", no network"), "{why}");
    at_level(&project, "none");
    let shown = said(&project, "true");
    assert!(shown.contains("sandbox.minimum is landlock"), "{shown}");
    let project = sandboxed(json!({"profile": "ci-like"}));
    fs::create_dir_all(project.home().join(".cache")).unwrap();
    assert!(makes(&project, &project.home().join(".cache"), &json!({})));
}

#[test]
fn background_commands_are_confined_too() {
    let (_dir, out) = elsewhere();
    let project = sandboxed(json!({}));
    let shown = called(
        &project,
        &json!({"command": format!("touch {}/made; echo done", out.display()), "run_in_background": true}),
    );
    let log = PathBuf::from(shown.split("goes to ").nth(1).unwrap().trim());
    until("its end", || {
        project.sql("SELECT count(*) FROM background_tasks WHERE ended_at IS NOT NULL") == ["1"]
    });
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("done") && log.contains("[sandbox] refused writing"), "{log}");
    assert!(!out.join("made").exists());
    let refused = project.sql("SELECT json_extract(detail, '$.refused.write') FROM events WHERE event_type = 'sandbox.refused'");
    assert_eq!(refused, [format!("{}/made", out.display())]);
}

#[test]
fn hooks_are_the_operators_unless_the_settings_confine_them() {
    let (_dir, out) = elsewhere();
    for (confined, made) in [(false, true), (true, false)] {
        let project = project();
        let command = format!("touch {}/by-hook", out.display());
        project.file(
            ".claude/settings.json",
            json!({
                "sandbox": {"enabled": true, "hooks": confined},
                "hooks": {"PreToolUse": [{"matcher": "", "hooks": [{"type": "command", "command": command}]}]},
            })
            .to_string(),
        );
        said(&project, "true");
        assert_eq!(out.join("by-hook").exists(), made);
        let _ = fs::remove_file(out.join("by-hook"));
    }
}

#[test]
fn temporary_files_have_one_name_and_go_with_the_process() {
    let project = sandboxed(json!({}));
    let shown = said(&project, "echo kept >$TMPDIR/a; cat $TMPDIR/a; echo $TMPDIR");
    let dir = PathBuf::from(shown.trim().strip_prefix("kept\n").unwrap());
    assert!(dir.is_absolute() && !dir.exists(), "{shown}");
    let shown = said(&project, "cat $TMPDIR/a 2>/dev/null; ls $TMPDIR");
    assert!(!shown.contains("kept"), "{shown}");
}

#[test]
fn a_timeout_ends_everything_it_has_started() {
    for level in ["bwrap", "landlock"] {
        let project = sandboxed(json!({}));
        if !at_level(&project, level) {
            continue;
        }
        let line = "(env -i setsid sleep 7000.5 &) ; sleep 7000.5";
        let shown = called(&project, &json!({"command": line, "timeout": 1500}));
        assert!(shown.contains("ran longer than 1500 ms"), "{shown}");
        assert!(!lives("7000.5"), "{level}");
    }
}

#[test]
fn a_flood_of_processes_ends_with_its_command() {
    for level in ["bwrap", "landlock"] {
        let project = sandboxed(json!({}));
        if !at_level(&project, level) {
            continue;
        }
        project.file("bomb.sh", "for i in $(seq 200); do setsid sleep 8000.5 & done; wait");
        called(&project, &json!({"command": "bash bomb.sh", "timeout": 2000}));
        assert!(!lives("8000.5"), "{level}");
    }
}

#[test]
fn servers_are_confined_if_the_settings_say_so() {
    let (_dir, out) = elsewhere();
    let small: Value = serde_json::from_str(&small_server()).unwrap();
    let program = small["mcpServers"]["Small"]["command"].as_str().unwrap();
    let script = format!("touch {}/by-server; exec {program}", out.display());
    let config = json!({"mcpServers": {"Small": {"command": "bash", "args": ["-c", script]}}});
    for (confined, made) in [(false, true), (true, false)] {
        let project = sandboxed(json!({"mcpServers": confined}));
        let call = json!({"tool": "mcp__small__greet", "input": {"name": "Ada"}}).to_string();
        let args = ["--eval", &call, "--mcp-config", &config.to_string()];
        let ran = run(project.ona(args).env("ONA_TRUST", "1"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("Ada"), "{} {}", ran.stdout, ran.stderr);
        assert_eq!(out.join("by-server").exists(), made);
        let _ = fs::remove_file(out.join("by-server"));
    }
}

#[test]
fn doctor_tells_what_has_no_effect() {
    let idle = json!({"enableWeakerNestedSandbox": true, "network": {
        "allowLocalBinding": true, "allowedDomains": ["example.com"], "deniedDomains": ["a.b"],
    }});
    let project = sandboxed(idle);
    if !at_level(&project, "landlock") {
        return;
    }
    let ran = run(project.ona(["doctor"]).env("ONA_TRUST", "1"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for told in [
        "ok    sandbox      commands in this folder run at the level landlock",
        "warn  sandbox      no effect: sandbox.enableWeakerNestedSandbox: ",
        "warn  sandbox      no effect: sandbox.network.allowLocalBinding: ",
        "warn  sandbox      no effect: sandbox.network.deniedDomains: unknown key",
        "warn  sandbox      no effect: sandbox.network: at the level landlock",
    ] {
        assert!(ran.stdout.contains(told), "{told}: {}", ran.stdout);
    }
    let project = sandboxed(json!({}));
    at_level(&project, "none");
    let ran = run(project.ona(["doctor"]).env("ONA_TRUST", "1"));
    let told = "warn  sandbox      the settings want a sandbox, and no level works here";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn a_trusted_folder_is_looked_at_with_its_own_settings() {
    let project = project();
    let settings = json!({"env": {"A": "b"}, "sandbox": {"enabled": true}});
    project.file(".claude/settings.json", settings.to_string());
    let status = || run(&mut project.ona(["sandbox", "status"])).stdout;
    let doctor = || run(&mut project.ona(["doctor"])).stdout;
    assert!(status().contains("is not trusted"), "{}", status());
    assert!(!project.database().exists(), "looking makes no record");
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    assert!(!status().contains("is not trusted"), "{}", status());
    assert!(doctor().contains("commands in this folder run at the level"), "{}", doctor());
}

#[test]
fn a_file_among_the_writable_paths_stops_nothing() {
    let project =
        sandboxed(json!({"filesystem": {"allowWrite": ["./kept.txt", "./not/there/yet"]}}));
    project.file("kept.txt", "first");
    for level in ["bwrap", "landlock"] {
        if !at_level(&project, level) {
            continue;
        }
        let shown = said(&project, "echo second >kept.txt; mkdir -p not/there/yet; cat kept.txt");
        assert!(shown.contains("second") && !shown.contains("[sandbox]"), "{level}: {shown}");
        fs::remove_dir_all(project.path("not")).unwrap();
    }
}

#[test]
fn what_is_refused_through_a_link_is_told_and_what_is_not_refused_is_not() {
    let (_dir, out) = elsewhere();
    fs::write(out.join("file"), "first").unwrap();
    for level in ["bwrap", "landlock"] {
        let project = sandboxed(json!({}));
        if !at_level(&project, level) {
            continue;
        }
        symlink(out.join("file"), project.path("to-file")).unwrap();
        symlink(&out, project.path("to-dir")).unwrap();
        let shown =
            said(&project, "echo x >to-file; echo x >to-dir/new; rm to-file to-dir; echo done");
        for name in ["to-file", "to-dir/new"] {
            let told = format!("[sandbox] refused writing {}", project.path(name).display());
            assert!(shown.contains(&told), "{level}: {shown}");
        }
        assert_eq!(shown.matches("[sandbox] refused").count(), 2, "{level}: {shown}");
        assert!(shown.contains("done") && !project.path("to-file").is_symlink(), "{level}");
    }
    // Landlock does not protect names, and does not claim to.
    let project = sandboxed(json!({}));
    fs::create_dir_all(project.path(".git/hooks")).unwrap();
    if at_level(&project, "landlock") {
        let shown = said(&project, "echo x >.git/hooks/pre-commit && echo written");
        assert!(shown.contains("written") && !shown.contains("[sandbox]"), "{shown}");
    }
}

#[test]
fn hooks_and_servers_below_the_minimum_do_not_run_outside() {
    for settings in [json!({"hooks": true}), json!({"mcpServers": true})] {
        let mut settings = settings;
        settings["minimum"] = "bwrap".into();
        let project = sandboxed(settings);
        at_level(&project, "landlock");
        let input = json!({"command": "true"});
        let ran = run(project.eval_command("Bash", &input).env("ONA_TRUST", "1"));
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
        assert!(ran.stderr.contains("sandbox.minimum is bwrap"), "{}", ran.stderr);
    }
}

#[test]
fn credentials_are_hidden_where_variables_have_moved_them() {
    let (_dir, out) = elsewhere();
    for name in ["aws", "kube-a", "kube-b", "config/gh/hosts.yml"] {
        fs::create_dir_all(out.join(name).parent().unwrap()).unwrap();
        fs::write(out.join(name), "SECRET").unwrap();
    }
    let line = "cat $OUT/aws $OUT/kube-a $OUT/kube-b $OUT/config/gh/hosts.yml; echo end";
    for level in ["bwrap", "landlock"] {
        let project = sandboxed(json!({}));
        if !at_level(&project, level) {
            continue;
        }
        let call = json!({"command": line});
        let mut command = project.eval_command("Bash", &call);
        let kube = format!("{0}/kube-a:{0}/kube-b", out.display());
        command
            .env("ONA_TRUST", "1")
            .env("OUT", &out)
            .env("AWS_SHARED_CREDENTIALS_FILE", out.join("aws"))
            .env("KUBECONFIG", kube)
            .env("XDG_CONFIG_HOME", out.join("config"));
        let ran = run(&mut command);
        let shown = parse_report(&ran.stdout).unwrap().content;
        assert!(shown.contains("end") && !shown.contains("SECRET"), "{level}: {shown}");
    }
}

#[test]
fn a_helper_that_is_not_fit_is_told_at_every_start() {
    let (_dir, out) = elsewhere();
    let script = out.join("bwrap");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let project = sandboxed(json!({}));
    for tool in ["bash", "true", "env"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(tool))
            .find(|file| file.exists());
        symlink(found.unwrap(), out.join(tool)).unwrap();
    }
    let input = json!({"command": "true"});
    let ran = run(project.eval_command("Bash", &input).env("ONA_TRUST", "1").env("PATH", &out));
    assert!(ran.stderr.contains("bwrap is not used: "), "{}", ran.stderr);
}

#[test]
fn who_was_to_be_reached_without_the_proxy_is_told() {
    let project = sandboxed(json!({"network": {"allowedDomains": ["example.com"]}}));
    if !at_level(&project, "bwrap") {
        return;
    }
    let shown =
        said(&project, "exec 3<>/dev/tcp/192.0.2.1/443; exec 4<>/dev/udp/192.0.2.1/53; true");
    assert!(shown.contains("[sandbox] refused reaching 192.0.2.1:443 directly"), "{shown}");
    assert!(shown.contains("[sandbox] refused looking up host names"), "{shown}");
    let events = project.sql("SELECT detail FROM events WHERE event_type = 'sandbox.refused'");
    assert!(events.iter().any(|one| one.contains("192.0.2.1:443")), "{events:?}");
    // What listens in the command's own network is reached.
    let line = "node -e 'const s=require(\"net\").createServer(c=>c.end(\"own\")).listen(0,\"127.0.0.1\",()=>{require(\"net\").connect(s.address().port,\"127.0.0.1\").on(\"data\",d=>{console.log(String(d));process.exit()})})'";
    let shown = said(&project, line);
    assert!(shown.contains("own") && !shown.contains("[sandbox]"), "{shown}");
}

#[test]
fn a_refused_path_that_is_no_text_is_told() {
    let project = sandboxed(json!({}));
    for level in ["bwrap", "landlock"] {
        if at_level(&project, level) {
            let shown = said(&project, "printf x > $(printf '/etc/no-\\xff'); echo done");
            assert!(
                shown.contains("done") && shown.contains("[sandbox] refused writing /etc/no-"),
                "{level}: {shown}"
            );
        }
    }
}

#[test]
fn the_directory_of_the_hooks_that_git_is_told_is_protected() {
    let project = sandboxed(json!({}));
    ona_testkit::git(&project.dir(), &["init", "-q"]);
    ona_testkit::git(&project.dir(), &["config", "core.hooksPath", "tools/hooks"]);
    fs::create_dir_all(project.path("tools/hooks")).unwrap();
    if at_level(&project, "bwrap") {
        said(&project, "echo x >tools/hooks/pre-commit; echo x >tools/other");
        assert!(!project.path("tools/hooks/pre-commit").exists());
        assert!(project.path("tools/other").exists());
    }
}

#[test]
fn more_files_than_are_looked_at_are_told() {
    let project = project();
    project.file(
        ".claude/settings.json",
        json!({"sandbox": {"enabled": true}, "permissions": {"deny": ["Read(**/.env)"]}})
            .to_string(),
    );
    fs::create_dir(project.path("many")).unwrap();
    for number in 0..20_010 {
        fs::File::create(project.path(&format!("many/{number}"))).unwrap();
    }
    let status = run(project.ona(["sandbox", "status"]).env("ONA_TRUST", "1")).stdout;
    assert!(status.contains("not every file that rules with patterns close was found"), "{status}");
}
