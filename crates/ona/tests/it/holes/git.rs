//! git as a hostile repository and a hostile model would use it: what runs, what is shown, what is written, and nobody is
//! asked. Each test is one class of attempts.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use ona_testkit::{Project, Ran, git, run};
use serde_json::{Value, json};

use crate::intents::{done, governed, ona};
use crate::project;
use crate::trace::{agent_writes, commit};

/// A program that shows that it ran.
struct Trap {
    program: PathBuf,
    ran: PathBuf,
}

impl Trap {
    fn beside(project: &Project) -> Self {
        let dir = project.home();
        let (program, ran) = (dir.join("evil"), dir.join("ran"));
        let text = format!("#!/bin/sh\ntouch {}\ncat\n", ran.display());
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { program, ran }
    }

    fn settings(&self) -> String {
        let evil = self.program.display();
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {evil}\n\tpager = {evil}\n\
             [diff]\n\texternal = {evil}\n[diff \"x\"]\n\ttextconv = {evil}\n\tcommand = {evil}\n\
             [filter \"x\"]\n\tclean = {evil}\n\tsmudge = {evil}\n\tprocess = {evil}\n\
             [gpg]\n\tprogram = {evil}\n[log]\n\tshowSignature = true\n"
        )
    }

    /// The same for a directory that is its own work tree.
    fn settings_of_layout(&self) -> String {
        self.settings().replace("[core]\n", "[core]\n\tworktree = .\n")
    }

    fn has_run(&self) -> bool {
        fs::remove_file(&self.ran).is_ok()
    }
}

/// What becomes of a command where nobody can be asked: it runs or it is denied.
fn in_silence(project: &Project, dir: &Path, command: &str) -> (bool, String) {
    let call = json!({"tool": "Bash", "input": {"command": command}}).to_string();
    let ran = run(project.ona(["--permission-mode", "dontAsk", "--eval", &call]).current_dir(dir));
    let value: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|_| panic!("{command}: {}{}", ran.stdout, ran.stderr));
    (!value["is_error"].as_bool().unwrap(), value["content"].as_str().unwrap().to_owned())
}

fn explained(project: &Project, settings: &Value, command: &str) -> String {
    let settings = json!({"permissions": settings}).to_string();
    let args = ["--settings", &settings, "explain", "--json", "--bash", command];
    let Ran { stdout, stderr, .. } = run(&mut project.ona(args));
    let value: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
    value["verdict"].as_str().unwrap().to_owned()
}

/// A clone of a repository with these files.
fn cloned(files: &[(&str, &str)]) -> Project {
    let project = project();
    let origin = project.home().join("origin");
    for (name, content) in files {
        let path = origin.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    git(&origin, &["init", "-q"]);
    git(&origin, &["add", "-A", "-f"]);
    git(&origin, &["commit", "-q", "-m", "first"]);
    fs::remove_dir(project.dir()).unwrap();
    git(&project.home(), &["clone", "-q", "origin", project.dir().to_str().unwrap()]);
    project
}

#[test]
fn a_clone_with_a_directory_that_looks_like_a_repository_runs_nothing() {
    let project = project();
    let trap = Trap::beside(&project);
    let settings = trap.settings_of_layout();
    let bare = [
        ("packages/HEAD", "ref: refs/heads/main\n"),
        ("packages/config", &settings),
        ("packages/objects/keep", ""),
        ("packages/refs/keep", ""),
        ("packages/app/a.txt", "1\n"),
        ("packages/app/.gitattributes", "* diff=x filter=x\n"),
    ];
    let linked = [
        ("packages/HEAD", "ref: refs/heads/main\n"),
        ("packages/commondir", "real\n"),
        ("packages/real/config", &settings),
        ("packages/real/objects/keep", ""),
        ("packages/real/refs/keep", ""),
        ("packages/app/a.txt", "1\n"),
    ];
    for (files, has_work_tree) in [(&bare[..], true), (&linked, false)] {
        let project = cloned(files);
        let app = project.path("packages/app");
        for command in ["git status", "git diff", "git log -p", "git show", "git -C . status"] {
            let (ran, said) = in_silence(&project, &app, command);
            assert!(!ran && !trap.has_run(), "{command}: {said}");
        }
        let from_top =
            ["git -C packages status", "git -C packages/app show", "cd packages && git diff"];
        for command in from_top {
            let (ran, said) = in_silence(&project, &project.dir(), command);
            assert!(!ran && !trap.has_run(), "{command}: {said}");
        }
        assert!(in_silence(&project, &project.dir(), "git status --short").0);
        // The test can fail: git itself takes it for the repository, and runs the program where it has files.
        let asked = ["rev-parse", "--absolute-git-dir"];
        let found = run(project.command("git").args(asked).current_dir(&app)).stdout;
        assert_eq!(found.trim(), project.path("packages").to_str().unwrap());
        run(project.command("git").arg("status").current_dir(&app));
        assert_eq!(trap.has_run(), has_work_tree);
    }
}

#[test]
fn a_repository_whose_own_configuration_runs_something_is_asked_about() {
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.attributesFile",
        "core.hooksPath",
        "core.worktree",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "filter.x.process",
        "gpg.program",
        "log.showSignature",
        "include.path",
        "includeIf.gitdir:/.path",
        "pager.log",
        "interactive.diffFilter",
        "trailer.x.command",
        "gc.recentObjectsHook",
    ] {
        let project = cloned(&[("a.txt", "1\n")]);
        assert!(in_silence(&project, &project.dir(), "git log -1").0, "{key}");
        git(&project.dir(), &["config", key, "/x"]);
        assert!(!in_silence(&project, &project.dir(), "git log -1").0, "{key}");
        // In a worktree's own configuration, too.
        git(&project.dir(), &["config", "--unset", key]);
        git(&project.dir(), &["config", "extensions.worktreeConfig", "true"]);
        assert!(in_silence(&project, &project.dir(), "git log -1").0, "{key}");
        git(&project.dir(), &["config", "--worktree", key, "/x"]);
        assert!(!in_silence(&project, &project.dir(), "git log -1").0, "worktree: {key}");
    }
}

#[test]
fn reading_git_stays_free_in_repositories_worktrees_and_submodules() {
    let project = cloned(&[("a.txt", "1\n"), ("src/x", "x\n")]);
    let top = project.dir();
    let module = project.home().join("origin");
    git(&top, &["submodule", "add", "-q", module.to_str().unwrap(), "module"]);
    git(&top, &["commit", "-q", "-m", "module"]);
    let tree = project.home().join("tree");
    git(&top, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    for dir in [top.clone(), top.join("src"), tree, top.join("module")] {
        for command in
            ["git status", "git diff", "git log -p", "git show HEAD:a.txt", "git branch -a"]
        {
            let (ran, said) = in_silence(&project, &dir, command);
            assert!(ran, "{}: {command}: {said}", dir.display());
        }
    }
    for command in ["git -C module log --oneline", "cd module && git status", "cat src/x"] {
        let (ran, said) = in_silence(&project, &top, command);
        assert!(ran, "{command}: {said}");
    }
}

#[test]
fn reading_git_stays_free_with_what_ordinary_repositories_configure() {
    let project = cloned(&[("a.txt", "1\n"), (".husky/_/pre-commit", "exit 1\n")]);
    let top = project.dir();
    symlink("../../.husky/_/pre-commit", project.path(".git/hooks/pre-commit")).unwrap();
    for (key, value) in [
        ("core.hooksPath", ".husky/_"),
        ("core.editor", "vim"),
        ("core.untrackedCache", "true"),
        ("diff.tool", "vimdiff"),
        ("merge.tool", "vimdiff"),
        ("gpg.format", "ssh"),
        ("submodule.recurse", "true"),
        ("branch.x.gh-merge-base", "main"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
    ] {
        git(&top, &["config", key, value]);
        for command in ["git status", "git diff", "git log -1"] {
            let (ran, said) = in_silence(&project, &top, command);
            assert!(ran, "{key}: {command}: {said}");
        }
    }
    git(&top, &["config", "credential.helper", "/x"]);
    assert!(!in_silence(&project, &top, "git log -1").0, "a partial clone asks it for passwords");
    git(&top, &["config", "--unset", "remote.origin.promisor"]);
    git(&top, &["config", "--unset", "remote.origin.partialclonefilter"]);
    assert!(in_silence(&project, &top, "git log -1").0);
    // Otherwise it says why.
    git(&top, &["config", "core.pager", "/x"]);
    let said = run(&mut project.ona(["explain", "--bash", "git status"])).stdout;
    assert!(said.contains("core.pager is set in "), "{said}");
}

#[test]
fn free_git_has_settings_that_run_nothing() {
    let project = cloned(&[("a.txt", "1\n")]);
    let shown = |command: &str| in_silence(&project, &project.dir(), command).1;
    let function = shown("git status --short; type git");
    for setting in
        ["safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null"]
    {
        assert!(function.contains(setting), "{function}");
    }
    assert!(shown("type git").contains("git is /"), "only where git reads");
    assert_eq!(shown("git log --format=%s -1").trim(), "first");
    // A commit keeps its hooks.
    let hook = project.file(".git/hooks/pre-commit", "#!/bin/sh\ntouch hooked\n");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let who = "-c user.name=x -c user.email=x@x";
    project.ok(
        "Bash",
        json!({"command": format!("git {who} commit --allow-empty -qm x; git status")}),
    );
    assert!(project.path("hooked").exists());
}

#[test]
fn commands_of_ona_run_nothing_that_a_repository_names() {
    let project = governed();
    let trap = Trap::beside(&project);
    project.file(".gitattributes", "*.rs filter=x diff=x merge=x\n");
    project.file("src/a.rs", "old one\nold two\n");
    commit(&project, "base");
    agent_writes(&project, "INT-001", "src/a.rs", Some("old one\nnew\nold two\n"));
    let config = project.path(".git/config");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{before}{}", trap.settings())).unwrap();
    for hook in
        ["post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"]
    {
        symlink(&trap.program, project.path(".git/hooks").join(hook)).unwrap();
    }
    project.file("src/a.rs", "old one\nnew\nold two\nby hand\n");
    let commands: [&[&str]; 7] = [
        &["blame", "src/a.rs"],
        &["blame", "src/a.rs", "--json"],
        &["trace", "reconcile"],
        &["trace", "reconcile", "--since", "HEAD"],
        &["trace", "verify"],
        &["trace", "export"],
        &["intent", "lint"],
    ];
    for args in commands {
        let ran = ona(&project, args);
        assert!(!ran.stderr.contains("git cannot"), "{args:?}: {}", ran.stderr);
        assert!(!trap.has_run(), "{args:?}: {}{}", ran.stdout, ran.stderr);
    }
    assert!(done(&project, &["blame", "src/a.rs"]).contains("INT-001"));
    run(project.command("git").args(["blame", "src/a.rs"]));
    assert!(trap.has_run(), "git itself runs it");
}

#[test]
fn commands_of_ona_do_not_use_a_directory_that_looks_like_a_repository() {
    let project = governed();
    let trap = Trap::beside(&project);
    project.file("src/HEAD", "ref: refs/heads/main\n");
    project.file("src/config", trap.settings_of_layout());
    project.file("src/objects/keep", "");
    project.file("src/refs/keep", "");
    project.file("src/in/a.rs", "one\n");
    commit(&project, "base");
    for args in [&["blame", "a.rs"][..], &["trace", "reconcile"], &["trace", "export"], &["doctor"]]
    {
        for dir in ["src", "src/in"] {
            run(project.ona(args).current_dir(project.path(dir)));
            assert!(!trap.has_run(), "{args:?} in {dir}");
        }
    }
    run(project.command("git").arg("status").current_dir(project.path("src/in")));
    assert!(trap.has_run(), "git itself runs it");
}

#[test]
fn a_prefix_rule_does_not_cover_arguments_that_run_or_write() {
    let project = cloned(&[("a.txt", "1\n")]);
    let patch = |file: &str| format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+x\n");
    project.file("good.patch", patch("src/new.rs"));
    project.file("bad.patch", patch(".claude/settings.json"));
    git(&project.dir(), &["init", "-q", "--bare", "evil"]);
    let rules = json!({"allow": ["Bash(git grep *)", "Bash(git *)"]});
    for command in [
        "git grep -Otouch x",
        "git grep -nO x",
        "git grep --open-files-in-pager=touch x",
        "git grep --open=touch x",
        "git difftool -x touch",
        "git difftool --extcmd=touch",
        "git fetch --upload-pack=touch .",
        "git clone -u touch . x",
        "git push --receive-pack=touch .",
        "git archive --remote=. --exec=touch HEAD",
        "git rebase -x touch HEAD",
        "git bisect run touch",
        "git submodule foreach touch",
        "git clone 'ext::touch x' y",
        "git -c core.pager=touch log",
        "git -c core.fsmonitor=./x status",
        "git -p log",
        "git apply bad.patch",
        "git apply < bad.patch",
        "cat bad.patch | git apply",
        "git am bad.patch",
        "git diff --output=.claude/settings.json",
        "git log --outp=.mcp.json",
        "git -C .git log --output=hooks/pre-commit",
        "git format-patch -o .git/hooks HEAD",
        "git archive -o .mcp.json HEAD",
        "git bundle create .mcp.json HEAD",
        "git config --file .git/config core.pager touch",
        "git config core.fsmonitor list",
        "git init --template=.",
        "git clone -c core.hooksPath=. . x",
        "git push ./evil HEAD:refs/heads/y",
        "git push evil HEAD:refs/heads/y",
        "git archive --remote=./evil --format=tgz x",
        "git archive --remote=./evil -o q.tgz x",
        "git --git-dir evil --work-tree . diff y --",
        "git -C evil diff x",
        "cd evil && git diff x",
        "git remote add x ./evil",
        "echo --output=x | xargs git log",
    ] {
        assert_eq!(explained(&project, &rules, command), "ask", "{command}");
    }
    for command in [
        "git grep -n x",
        "git fetch origin",
        "git commit -m Open",
        "git apply good.patch",
        "git apply < good.patch",
        "git diff --output=out.txt",
        "git archive -o out.tar HEAD",
        "git config --get user.name",
        "git push origin feature/x",
        "git --git-dir=.git log",
    ] {
        assert_eq!(explained(&project, &rules, command), "allow", "{command}");
    }
}

#[test]
fn a_denied_file_is_not_shown_by_git() {
    let project = cloned(&[(".env", "SECRET=1\n"), ("secrets/key", "k\n"), ("src/x", "x\n")]);
    let rules = json!({"allow": ["Bash"], "deny": ["Read(/.env)", "Read(./secrets/**)"]});
    for command in [
        "git show HEAD:.env",
        "git show :.env",
        "git cat-file -p HEAD:.env",
        "git cat-file blob HEAD:./secrets/key",
        "git diff --no-index /dev/null .env",
        "git diff-tree -p HEAD -- .env",
        "git log -p -- ':(top).env'",
        "git grep SECRET -- .env",
        "git grep SECRET .env",
        "git blame .env",
        "git ls-files .env",
        "git -C secrets show HEAD:./key",
        "git -C src show HEAD:.env",
        "git -C secrets blame key",
        "git config -f .env -l",
        "git archive HEAD .env",
        "git commit -F .env",
        "git tag -F .env x",
    ] {
        assert_eq!(explained(&project, &rules, command), "deny", "{command}");
    }
    for command in [
        "git diff-tree -p HEAD",
        "git diff-tree --root -p HEAD",
        "git cat-file -p HEAD",
        "git log -U1",
        "git log -wp",
        "git log -sp",
        "git reflog show -wp",
        "git request-pull -p HEAD .",
        "git diff --stat -SSECRET",
        "git grep SECRET",
        "git -C src log -p",
        "git rev-parse HEAD:.env",
        "git stash show -p",
    ] {
        assert_eq!(explained(&project, &rules, command), "ask", "{command}");
    }
    for command in [
        "git status",
        "git log --oneline",
        "git show HEAD:src/x",
        "git diff -- src",
        "git diff --stat",
    ] {
        assert_eq!(explained(&project, &rules, command), "allow", "{command}");
    }
}
