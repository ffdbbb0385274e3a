//! What an agent leaves and finds: its memories, its worktree, its tasks, and hooks that will not let it end.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;
use serde_json::json;

use crate::agents::{agent, first_prompt, git, go, look_around, repository, result, server};
use crate::print::anthropic;
use crate::project;

#[test]
fn an_agent_keeps_memories_in_a_directory_of_its_own() {
    let project = project();
    let keeper =
        "---\nname: keeper\ndescription: keeps\ntools: Grep\nmemory: PLACE\n---\nYou keep.";
    project.file(".claude/agents/keeper.md", keeper.replace("PLACE", "project"));
    project.file(".claude/agent-memory/keeper/MEMORY.md", "The build needs Ada's key.\n");
    let new = project.path(".claude/agent-memory/keeper/build.md");
    let write = json!({"file_path": new, "content": "make all\n"});
    let server = || {
        let write = write.clone();
        server(
            |results, _| match results {
                0 => agent("toolu_a", look_around("keeper")),
                _ => Reply::say("Done."),
            },
            move |_, results| match results {
                0 => Reply::new().call("toolu_w", "Write", write.clone()),
                _ => Reply::say("Kept."),
            },
        )
    };
    let asked = |server: &Server| {
        let mut all = server.requests().into_iter();
        all.find(|request| !first_prompt(request).contains("MAIN")).unwrap().body
    };
    let first = server();
    go(&project, &first, &[]);
    let body = asked(&first);
    let system = body["system"].to_string();
    let dir = project.path(".claude/agent-memory/keeper");
    assert!(system.contains("The build needs Ada's key."), "{system}");
    assert!(
        system.contains(&format!("Your memory is the directory {}", dir.display())),
        "{system}"
    );
    let tools = body["tools"].to_string();
    for tool in ["Grep", "Read", "Write", "Edit"] {
        assert!(tools.contains(&format!("\"name\":\"{tool}\"")), "{tool} in {tools}");
    }
    assert!(!tools.contains("\"name\":\"Bash\""), "{tools}");
    assert!(!new.exists(), "what it writes passes the gate");
    let mode = ["--permission-mode", "acceptEdits"];
    go(&project, &server(), &mode);
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "make all\n");

    // One that leads elsewhere is not told; a memory of the user's is at home.
    let index = dir.join("MEMORY.md");
    std::fs::remove_file(&index).unwrap();
    let outside = project.home().join("outside.md");
    std::fs::write(&outside, "somebody else's words").unwrap();
    std::os::unix::fs::symlink(&outside, &index).unwrap();
    let second = server();
    let ran = go(&project, &second, &[]);
    assert!(!asked(&second).to_string().contains("somebody else's words"));
    let said = "MEMORY.md: it is outside the agent's directory; the agent keeper runs without it";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    project.file(".claude/agents/keeper.md", keeper.replace("PLACE", "user"));
    let home = project.home().join(".claude/agent-memory/keeper");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("MEMORY.md"), "Everywhere the same.").unwrap();
    let third = server();
    go(&project, &third, &[]);
    assert!(asked(&third)["system"].to_string().contains("Everywhere the same."));
}

#[test]
fn an_agent_ends_only_what_it_has_started() {
    let project = project();
    let run = |command: &str| json!({"command": command, "run_in_background": true});
    // The tasks are named after the calls that started them.
    let stop = |id: &str, of: &str| Reply::new().call(id, "TaskStop", json!({"task_id": of}));
    let server = server(
        move |results, _| match results {
            0 => Reply::new().call("toolu_mine", "Bash", run("sleep 600")),
            1 => agent(
                "toolu_a",
                json!({"description": "x", "prompt": "HELP", "run_in_background": true}),
            ),
            2 => Reply::say("waiting"),
            _ => Reply::say("done"),
        },
        move |_, results| match results {
            0 => stop("toolu_s1", "task_mine"),
            1 => stop("toolu_s2", "task_a"),
            2 => Reply::new().call("toolu_o", "TaskOutput", json!({"task_id": "task_a"})),
            3 => Reply::new().call("toolu_own", "Bash", run("sleep 20")),
            4 => stop("toolu_s3", "task_own"),
            _ => Reply::say("tried"),
        },
    );
    let mode = ["--allowedTools", "Bash"];
    let ran = go(&project, &server, &mode);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for call in ["toolu_s1", "toolu_s2"] {
        assert!(result(&project, call).contains("is not yours"), "{}", result(&project, call));
    }
    let own = result(&project, "toolu_o");
    assert!(own.contains("the task task_a is you"), "{own}");
    assert!(result(&project, "toolu_s3").starts_with("Stopped command"));
    // The other one goes on until ona ends.
    let stopped = "SELECT task_id FROM background_tasks WHERE end_reason = 'stopped'";
    assert_eq!(project.sql(stopped), ["task_own"]);
}

#[test]
fn hooks_that_will_not_let_an_agent_end_have_one_limit_together() {
    let project = project();
    let back = json!([{"hooks": [{"type": "command", "command": "echo more >&2; exit 2"}]}]);
    for (hooks, event) in [
        (json!({"SubagentStop": back, "TeammateIdle": back}), "SubagentStop"),
        (json!({"TeammateIdle": back}), "TeammateIdle"),
    ] {
        let server = server(
            |results, _| match results {
                0 => agent("toolu_a", json!({"description": "x", "prompt": "HELP", "name": "n"})),
                _ => Reply::say("done"),
            },
            |_, _| Reply::say("counted"),
        );
        let settings = json!({"hooks": hooks}).to_string();
        let args = ["-p", "MAIN", "--settings", &settings];
        let mut command = anthropic(&project, &server, &args);
        let ran = run(command.env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "3"));
        assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
        let asked = server.requests().iter().filter(|r| !first_prompt(r).contains("MAIN")).count();
        assert_eq!(asked, 4, "once, and three times more");
        let said = format!("warning: {event} hooks blocked the stop 3");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
        assert!(!ran.stderr.contains("warning: Stop hooks"), "{}", ran.stderr);
    }
}

#[test]
fn a_hook_that_makes_no_worktree_is_told_of_truly() {
    let project = project();
    let server = server(
        |results, _| match results {
            0 => agent(
                "toolu_a",
                json!({"description": "x", "prompt": "HELP", "isolation": "worktree"}),
            ),
            _ => Reply::say("done"),
        },
        |_, _| Reply::say("never asked"),
    );
    let hook = json!([{"hooks": [{"type": "command", "command": "echo no room >&2; exit 3"}]}]);
    let settings = json!({"hooks": {"WorktreeCreate": hook}}).to_string();
    let ran = go(&project, &server, &["--settings", &settings]);
    assert!(ran.stderr.contains("exited 3: no room (so there is no worktree"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("decides nothing"), "{}", ran.stderr);
    let told = result(&project, "toolu_a");
    assert!(
        told.contains("cannot create a worktree for the agent: a WorktreeCreate hook failed"),
        "{told}"
    );
}

#[test]
fn a_worktree_has_the_ignored_files_that_it_needs() {
    let project = project();
    project.file(".gitignore", "*.env\nbuild/\n");
    project.file(".worktreeinclude", "*.env\n!not.env\nbuild/config.json\na.txt\n");
    project.file("a.txt", "a\n");
    repository(&project);
    project.file("app/local.env", "PORT=8080\n");
    project.file("not.env", "x");
    project.file("build/config.json", "{}\n");
    project.file("build/big.o", "x");
    std::os::unix::fs::symlink(project.home(), project.path("link.env")).unwrap();
    let look = "cat app/local.env build/config.json; ls -A . build";
    let (isolated, look) = (json!("worktree"), json!({"command": look}));
    let server = server(
        move |results, _| match results {
            0 => agent(
                "toolu_a",
                json!({"description": "x", "prompt": "HELP", "isolation": isolated}),
            ),
            _ => Reply::say("done"),
        },
        move |_, results| match results {
            0 => Reply::new().call("toolu_l", "Bash", look.clone()),
            _ => Reply::say("seen"),
        },
    );
    let ran = go(&project, &server, &["--permission-mode", "bypassPermissions"]);
    let seen = result(&project, "toolu_l");
    assert!(seen.contains("PORT=8080") && seen.contains("{}"), "{seen}");
    for not in ["not.env", "big.o", "link.env"] {
        assert!(!seen.contains(not), "{not}: {seen}");
    }
    assert!(ran.stderr.contains("link.env was not copied: not a regular file"), "{}", ran.stderr);
    // What it was given and left as it was is no change.
    assert!(
        result(&project, "toolu_a").contains("its worktree was removed"),
        "{}",
        result(&project, "toolu_a")
    );
}

#[test]
fn worktrees_of_agents_that_were_killed_are_found() {
    let project = project();
    project.file("a.txt", "a\n");
    repository(&project);
    for changes in [true, false] {
        let command = if changes { "echo b > b.txt; " } else { "" };
        let begun = project.path("begun");
        let command = format!("{command}touch {}; sleep 600", begun.display());
        let server = server(
            |_, _| {
                agent(
                    "toolu_a",
                    json!({"description": "x", "prompt": "HELP", "isolation": "worktree"}),
                )
            },
            move |_, _| Reply::new().call("toolu_s", "Bash", json!({"command": command})),
        );
        let args = ["-p", "MAIN: go", "--permission-mode", "bypassPermissions"];
        let mut child = anthropic(&project, &server, &args).spawn().unwrap();
        let start = std::time::Instant::now();
        while !begun.exists() {
            assert!(start.elapsed() < std::time::Duration::from_secs(60));
            std::thread::yield_now();
        }
        std::fs::remove_file(&begun).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let left = || {
        let worktrees = git(&project, &["worktree", "list"]);
        worktrees.lines().filter(|line| line.contains("/.claude/worktrees/agent-")).count()
    };
    let told = || run(&mut project.ona(["doctor"])).stdout;
    assert_eq!(left(), 2);
    assert!(told().contains("warn  worktrees    2 left by killed agents: "), "{}", told());
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "something else"]));
    assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
    assert_eq!(left(), 1, "the one with something in it");
    assert_eq!(git(&project, &["branch", "--list", "worktree-*"]).lines().count(), 1);
    assert!(told().contains("warn  worktrees    1 left by killed agents: "), "{}", told());
}

#[test]
fn a_worktree_in_which_a_command_still_works_is_kept_until_that_has_ended() {
    let project = project();
    project.file("a.txt", "a\n");
    repository(&project);
    let (begun, gate) = (project.path("begun"), project.path("gate"));
    run(project.command("mkfifo").arg(&gate));
    let command = format!("touch {}; cat {}", begun.display(), gate.display());
    let server = server(
        |_, _| {
            let input = json!({"description": "x", "prompt": "HELP", "isolation": "worktree"});
            agent("toolu_a", input)
        },
        move |_, results| match results {
            0 => Reply::new().call(
                "toolu_b",
                "Bash",
                json!({"command": command, "run_in_background": true}),
            ),
            _ => Reply::new().call("toolu_w", "Bash", json!({"command": "sleep 600"})),
        },
    );
    // Otherwise the command would soon end with the process that is killed.
    let args = ["-p", "MAIN: go", "--permission-mode", "bypassPermissions", "--keep-background"];
    let mut child = anthropic(&project, &server, &args).spawn().unwrap();
    let start = std::time::Instant::now();
    let patient = || assert!(start.elapsed() < std::time::Duration::from_secs(60));
    while !begun.exists() {
        patient();
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let next = || {
        let server = Server::start([Reply::say("Done.")]).unwrap();
        let ran = run(&mut anthropic(&project, &server, &["-p", "something else"]));
        assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
        let worktrees = git(&project, &["worktree", "list"]);
        worktrees.lines().filter(|line| line.contains("/.claude/worktrees/agent-")).count()
    };
    assert_eq!(next(), 1, "the command works in it");
    assert_eq!(
        git(&project, &["status", "--porcelain", "--", ".claude"]),
        "",
        "git does not see it"
    );
    std::fs::write(&gate, "go\n").unwrap();
    while project.sql("SELECT count(*) FROM background_tasks WHERE ended_at IS NULL") != ["0"] {
        patient();
        std::thread::yield_now();
    }
    assert_eq!(next(), 0, "nobody does");
    assert_eq!(git(&project, &["branch", "--list", "worktree-*"]), "");
}

#[test]
fn a_hook_cannot_name_the_checkout_as_an_agents_worktree() {
    let project = project();
    project.file("a.txt", "a\n");
    repository(&project);
    let hook = json!([{"hooks": [{"type": "command", "command": "pwd"}]}]);
    let settings = json!({"hooks": {"WorktreeCreate": hook, "WorktreeRemove": [{"hooks":
        [{"type": "command", "command": "touch removed"}]}]}});
    let server = server(
        |results, _| match results {
            0 => agent(
                "toolu_a",
                json!({"description": "x", "prompt": "HELP", "isolation": "worktree"}),
            ),
            _ => Reply::say("done"),
        },
        |_, _| Reply::say("never"),
    );
    let ran = run(&mut anthropic(
        &project,
        &server,
        &["-p", "MAIN: go", "--settings", &settings.to_string()],
    ));
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    let told = server.requests().last().unwrap().body["messages"].to_string();
    assert!(told.contains("which is or contains the checkout"), "{told}");
    assert!(!project.path("removed").exists());
}
