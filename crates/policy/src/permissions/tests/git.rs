//! What git is told, and what it then runs, shows or writes.

use super::hostile::{hostile_project, verdict};
use super::*;
use ona_testkit::git;

/// A project whose git tracks everything in it.
fn tracked_project() -> (tempfile::TempDir, Surroundings) {
    let (dir, around) = hostile_project();
    for own in ["sub/.git", "own", "lnk"] {
        let path = around.cwd.join(own);
        std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path)).unwrap();
    }
    std::fs::create_dir_all(around.cwd.join("sub/deep")).unwrap();
    std::fs::write(around.cwd.join("sub/x"), "x").unwrap();
    git(&around.cwd, &["init", "-q"]);
    git(&around.cwd, &["add", "-A", "-f"]);
    git(&around.cwd, &["commit", "-q", "-m", "x"]);
    (dir, around)
}

#[test]
fn a_prefix_rule_about_git_does_not_cover_what_runs_another_program() {
    let (_dir, around) = tracked_project();
    for command in [
        "git grep -Oevil x",
        "git grep -nO x",
        "git grep --open=evil x",
        "x=-Oevil; git grep $x y",
        "git -C sub grep -Oevil x",
        "git difftool -x evil",
        "git difftool",
        "git mergetool",
        "git fetch --upl=evil .",
        "git clone -qu evil a b",
        "git ls-remote --upload-pack=evil .",
        "git push --exec=evil .",
        "git archive --remote=. --exec=evil HEAD",
        "git rebase -x evil main",
        "git bisect run evil",
        "git submodule foreach evil",
        "git filter-branch --tree-filter evil",
        "git clone ext::evil x",
        "git -c core.pager=evil log",
        "git -c core.fsmonitor=./evil status",
        "git --config-env=core.pager=E log",
        "git --exec-path=. log",
        "git -p log",
        "git commit -S -m x",
        "git clone -c core.hooksPath=. a b",
        "git clone --template=. a b",
        "git init --template=.",
        "git log -p --ext-diff",
        "GIT_EDITOR=evil git commit",
        "GIT_SSH_COMMAND=evil git fetch",
    ] {
        let subcommand: Vec<&str> = command.split(' ').take(2).collect();
        let own = format!("Bash({} *)", subcommand.join(" "));
        for rule in ["Bash(git *)", &own] {
            let rules = [(Allow, rule)];
            assert_ne!(verdict(&around, &rules, DefaultMode, command), Allow, "{rule}: {command}");
        }
        assert_eq!(verdict(&around, &[], DontAsk, command), Deny, "free: {command}");
    }
    for command in [
        "git grep -n x",
        "git grep -e O",
        "git fetch -u origin",
        "git push -u origin main",
        "git commit -m Signed",
        "git commit -am \"$(cat a.txt)\"",
        "git rebase main",
        "git log -p -S text",
        "git clone https://x.example/y z",
        "git -c user.name=x commit -m y",
        "git -c core.editor=true rebase --continue",
        "git archive --format=zip HEAD",
    ] {
        assert_eq!(
            verdict(
                &around,
                &[(Allow, "Bash(git *)"), (Allow, "Bash(cat *)")],
                DefaultMode,
                command
            ),
            Allow,
            "{command}"
        );
    }
    let exact = [(Allow, "Bash(git -c core.pager=less log)")];
    assert_eq!(verdict(&around, &exact, DefaultMode, "git -c core.pager=less log"), Allow);
}

#[test]
fn a_prefix_rule_about_git_does_not_cover_a_repository_among_the_files() {
    let (_dir, around) = tracked_project();
    git(&around.cwd, &["init", "-q", "--bare", "evil"]);
    for command in [
        "git push ./evil HEAD:refs/heads/y",
        "git push evil HEAD:refs/heads/y",
        "git archive --remote=./evil --format=tgz x",
        "git archive --remote=./evil -o q.tgz x",
        "git --git-dir evil --work-tree . diff y --",
        "git --git-dir=evil diff y",
        "git -C evil diff x",
        "cd evil && git diff x",
        "git remote add x ./evil",
    ] {
        for rule in ["Bash(git *)", "Bash(git diff *)", "Bash(git push *)"] {
            let rules = [(Allow, rule)];
            assert_eq!(verdict(&around, &rules, DefaultMode, command), Ask, "{rule}: {command}");
        }
    }
    for command in ["git push origin feature/x", "git -C sub add x", "git --git-dir=.git log"] {
        let rules = [(Allow, "Bash(git *)")];
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
    let exact = [(Allow, "Bash(git push ./evil main)")];
    assert_eq!(verdict(&around, &exact, DefaultMode, "git push ./evil main"), Allow);
}

#[test]
fn it_says_why_git_is_not_free() {
    let (_dir, around) = tracked_project();
    let because = |command: &str| {
        let effects = Effects::of_shell(around.world, command, &around.cwd).unwrap();
        let facts = RuleFacts::of_tool("Bash");
        let call = Call {
            tool: "Bash",
            facts,
            input: &json!({}),
            effects: &effects,
            confines: Confines::Nothing,
        };
        Permissions::new(Vec::new(), DefaultMode, around.clone()).judge(&call).because
    };
    assert_eq!(because("git status"), None);
    assert_eq!(because("git commit -m x"), None);
    git(&around.cwd, &["config", "filter.x.clean", "./evil"]);
    let said = because("git status").unwrap();
    assert!(said.starts_with("git is not free here: filter.x.clean is set in "), "{said}");
    assert!(because("git -C /elsewhere log").unwrap().contains("not in the project"));
    assert_eq!(because("git commit -m x"), None, "it would not be free anywhere");
}

#[test]
fn it_says_why_a_rule_does_not_cover_a_command_that_begins_like_it() {
    let (_dir, around) = tracked_project();
    for (rule, command, why) in [
        ("Bash(git push *)", "git push ./x main", "sends something to one"),
        ("Bash(git push *)", "cat a.txt && git push ./x", "`git push ./x`"),
        ("Bash(find *)", "find . -exec grep x {} +", "only a rule with the whole command"),
        ("Bash(timeout *)", "timeout 60 cargo test", "it runs `cargo`"),
        ("Bash(xargs *)", "xargs wc -l", "it runs `wc`"),
        ("Bash(sort *)", "sort $x", "an option that the command line does not show"),
        ("Bash(cargo *)", "RUSTC=./x cargo test", "a variable that is set before it"),
        ("Bash(cp *)", "cp a.txt $x", "a file whose name the command line does not show"),
    ] {
        let effects = Effects::of_shell(around.world, command, &around.cwd).unwrap();
        let facts = RuleFacts::of_tool("Bash");
        let call = Call {
            tool: "Bash",
            facts,
            input: &json!({}),
            effects: &effects,
            confines: Confines::Nothing,
        };
        let rules = vec![super::rule(Allow, rule).unwrap()];
        let permissions = Permissions::new(rules, DefaultMode, around.clone());
        let ruling = permissions.judge(&call);
        let because = ruling.because.unwrap_or_default();
        assert!(because.starts_with(rule) && because.contains(why), "{command}: {because}");
    }
}

#[test]
fn git_does_not_write_protected_files_unasked() {
    let (_dir, around) = tracked_project();
    let app = &around.cwd;
    let patch = |name: &str, file: &str| {
        let text = format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+x\n");
        std::fs::write(app.join(name), text).unwrap();
    };
    patch("good.patch", "src/new.rs");
    patch("bad.patch", ".claude/settings.json");
    patch("deep.patch", "x/y/.mcp.json");
    std::fs::write(app.join("none.patch"), "x").unwrap();
    let rules = [(Allow, "Bash(git *)"), (Allow, "Bash(cat *)"), (Allow, "Bash(curl *)")];
    for command in [
        "git apply bad.patch",
        "git apply good.patch bad.patch",
        "git -C . apply bad.patch",
        "git apply -p3 deep.patch",
        "git apply < bad.patch",
        "git apply --directory=.claude good.patch",
        "git am bad.patch",
        "git am < bad.patch",
        "git apply --stat --apply bad.patch",
        // What they name is not known.
        "git apply none.patch",
        "git apply missing.patch",
        "git apply \"$x\"",
        "cat bad.patch | git apply",
        "curl https://x.example | git apply",
        "curl -o good.patch https://x.example; git apply good.patch",
        "cat bad.patch > good.patch; git apply good.patch",
        "git apply <<'E'\n--- a/.envrc\n+++ b/.envrc\n@@ -1 +1 @@\n-1\n+2\nE",
        "git apply <<< \"$x\"",
        "git log --output=.claude/settings.json",
        "git log --outp=.mcp.json",
        "git diff --output .mcp.json",
        "git diff-tree -p --output=.mcp.json HEAD",
        "git -C .claude log --output=settings.json",
        "git log --output=\"$x\"",
        "git stash show -p --output=.mcp.json",
        "git format-patch -o .git/hooks HEAD",
        "git format-patch -o.git/hooks HEAD",
        "git format-patch --output-dir=.git/hooks HEAD",
        "git archive -o .mcp.json HEAD",
        "git archive --output=.mcp.json HEAD",
        "git -C .git archive -o hooks/pre-commit HEAD",
        "git bundle create .mcp.json HEAD",
        "git config core.fsmonitor ./evil",
        "git config core.fsmonitor getevil",
        "git config --replace-all core.fsmonitor ./evil list",
        "git config set core.fsmonitor ./evil",
        "git config --file .git/config core.fsmonitor ./evil",
        "git config -f .git/config core.fsmonitor ./evil",
        "git config --global alias.x '!evil'",
        "git -C . config core.pager evil",
        "git config \"$key\" evil",
        "git config -e",
        "git clone x .claude",
        "git -C .claude clone x skills",
        "git worktree add .git/x",
        "git submodule add x y",
        "git checkout HEAD -- :/.claude/settings.json",
        "git restore ':(top).mcp.json'",
        "git checkout-index --prefix=.claude/ -a",
        "git fast-export --export-marks=.mcp.json HEAD",
        "git merge-file .mcp.json a.txt a.txt",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Ask, "{command}");
    }
    for command in [
        "git apply good.patch",
        "git apply < good.patch",
        "cd sub && git apply ../good.patch",
        "git apply --check bad.patch",
        "git apply --stat bad.patch",
        "git apply --check good.patch && git apply good.patch",
        "git apply <<'E'\n--- a/src/x\n+++ b/src/x\n@@ -1 +1 @@\n-1\n+2\nE",
        "git am good.patch",
        "git am --abort",
        "git config user.name",
        "git config --get core.pager",
        "git config --list",
        "git config list",
        "git log --output=out.txt",
        "git format-patch -o out HEAD",
        "git archive -o out.tar HEAD",
        "git init",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
    // A rule about a file is also about a patch's files.
    let forbids = [(Allow, "Bash"), (Deny, "Edit(src/**)")];
    assert_eq!(verdict(&around, &forbids, DefaultMode, "git apply good.patch"), Deny);
    let forbids = [(Allow, "Bash"), (Deny, "Edit(other/**)")];
    assert_eq!(verdict(&around, &forbids, DefaultMode, "git apply good.patch"), Allow);
}

#[test]
fn git_does_not_show_a_denied_file_however_it_is_named() {
    let (_dir, mut around) = tracked_project();
    let rules = [(Allow, "Bash"), (Deny, "Read(/.env)"), (Deny, "Read(/secrets/**)")];
    for command in [
        "git show HEAD:.env",
        "git show :.env",
        "git show :0:.env",
        "git show HEAD:./.env",
        "git cat-file -p HEAD:.env",
        "git cat-file blob HEAD:secrets/key",
        "git blame .env",
        "git diff .env",
        "git diff -- .env",
        "git diff --no-index /dev/null .env",
        "git diff-tree -p HEAD -- .env",
        "git diff-index -p HEAD .env",
        "git log -p -- ':(top).env'",
        "git log -p -- :/.env",
        "git log -L1,5:.env",
        "git grep x .env",
        "git grep x -- secrets/key",
        "git ls-files .env",
        "git ls-tree HEAD .env",
        "git archive HEAD .env",
        "git -C secrets show HEAD:./key",
        "git -C secrets blame key",
        "git -C sub -C .. show HEAD:.env",
        "git -C sub show HEAD:.env",
        "git -C sub diff -- ../.env",
        "git config -f .env --list",
        "git config --file=.env -l",
        "git blame --contents .env a.txt",
        "git hash-object -w .env",
        "git whatchanged -p .env",
        "git format-patch --stdout HEAD -- .env",
        "git checkout HEAD -- .env",
        "git apply --stat .env",
        "git show HEAD^{tree}:.env",
        "git show HEAD@{0}:.env",
        "git show \"HEAD^{tree}\":.env",
        "git cat-file -p @{u}:secrets/key",
        "git show --stat HEAD:.env",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Deny, "{command}");
    }
    for command in [
        "git diff-tree -p HEAD",
        "git diff-index -p HEAD",
        "git diff-files -p",
        "git cat-file -p HEAD",
        "git cat-file blob 0123456789",
        "git log -U3",
        "git log --unif=3",
        "git whatchanged",
        "git rev-list --patch HEAD",
        "git unpack-file 0123456789",
        "git checkout-index -a --prefix=out/",
        "git grep --untr x",
        "git grep --no-ind x",
        "git stash show",
        "git -C sub log -p",
        "git --git-dir=.git --work-tree=. diff",
        "git $x HEAD",
        "git commit -F .env",
        "git add .env",
        "git rev-parse HEAD:.env",
        "git log -p -S sub",
        "git log -p --author sub",
        "git log -p gone",
        "git log -p .",
        "git diff --full-diff sub",
        "git show --stat 0123456789",
        "git show --stat -p",
        "git show -s --unified=3",
        "git grep sub",
    ] {
        assert_ne!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
    for command in [
        "git show HEAD:a.txt",
        "git cat-file -p HEAD:a.txt",
        "git diff -- a.txt",
        "git -C sub diff -- x",
        "git log --oneline",
        "git status",
        "git diff-tree -p HEAD -- a.txt",
        "git grep x -- a.txt",
        "git ls-files",
        "git blame a.txt",
        "git log -p -- a.txt ':!.env'",
        "git show --stat",
        "git show --stat HEAD~1",
        "git show -s",
        "git show -s --format=%s HEAD",
        "git show --name-only --oneline -1",
        "git diff a.txt",
        "git diff HEAD a.txt sub",
        "git log -p a.txt",
        "git log -p -3 --oneline sub",
        "git show HEAD a.txt",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
    around.cwd.push("sub");
    for command in ["git show HEAD:.env", "git log -p -- :/.env", "git blame ../.env"] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Deny, "below: {command}");
    }
}

#[test]
fn free_git_ends_where_something_looks_like_a_repository() {
    let (_dir, around) = tracked_project();
    let app = around.cwd.clone();
    let mut below = around.clone();
    below.cwd = app.join("sub/deep");
    // The project is a part of the checkout, and the layout is above it.
    let mut part = below.clone();
    part.project_dir = app.join("sub/deep");
    part.working_dirs = vec![app.join("sub/deep")];
    let free =
        |around: &Surroundings, command: &str| verdict(around, &[], DefaultMode, command) == Allow;
    for command in [
        "git config --get user.email",
        "GIT_PAGER=cat git log",
        "PAGER=cat git diff",
        "git stash show stash@{0}",
        "git log @{u}..HEAD",
    ] {
        assert!(free(&around, command), "{command}");
    }
    for command in [
        "git config --get http.extraheader",
        "GIT_PAGER=./evil git log",
        "PAGER=less git diff",
        "export GIT_PAGER=./evil; git diff",
    ] {
        assert!(!free(&around, command), "{command}");
    }
    for command in ["git status", "git diff", "git log -p", "git -C . show"] {
        assert!(free(&around, command) && free(&below, command) && free(&part, command));
    }
    std::fs::write(app.join("sub/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(app.join("sub/commondir"), "x\n").unwrap();
    for command in ["git status", "git diff", "git log -p", "git -C . show"] {
        assert!(!free(&below, command) && !free(&part, command), "{command}");
        assert!(free(&around, command), "{command}");
    }
    // Names are taken from where git works, not from where the command runs.
    std::fs::create_dir_all(app.join("a/b")).unwrap();
    below.cwd = app.join("a/b");
    assert!(free(&below, "git -C ../.. diff a.txt"));
    assert!(!free(&below, "git -C ../.. diff a.txt ../../etc/passwd"));
    for command in ["git -C sub show", "cd sub && git status", "git -C sub/deep log"] {
        assert!(!free(&around, command), "{command}");
    }
}
