//! Attempts to get past the rules and the intent gate with the command lines of ordinary programs, through the real
//! binary.

use std::fs;
use std::os::unix::fs::symlink;

use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::gate::governed;
use crate::intent_gate;
use crate::trust::git;

#[test]
fn a_cdpath_of_the_operators_leads_nowhere() {
    let project = governed(&json!({"permissions": {"allow": ["Bash"]}}));
    fs::create_dir_all(project.home().join("sub")).unwrap();
    fs::create_dir_all(project.path("sub")).unwrap();
    let mut command = project.eval_command("Bash", &json!({"command": "cd sub && touch made"}));
    let ran = run(command.env("CDPATH", project.home()));
    assert!(project.path("sub/made").exists(), "{}", ran.stdout);
}

/// What ona says it would do with a command line.
fn verdict(project: &Project, command: &str) -> String {
    let explained = run(&mut project.ona(["explain", "--json", "--bash", command]));
    let explained: Value = serde_json::from_str(&explained.stdout)
        .unwrap_or_else(|_| panic!("{command}: {}", explained.stderr));
    explained["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn a_denied_file_is_denied_however_a_command_names_it() {
    let project = governed(&json!({"permissions": {
        "allow": ["Bash"], "deny": ["Read(.env)", "Read(~/.ssh/**)"],
    }}));
    project.file(".env", "TOKEN=live\n");
    project.file("a.txt", "x\n");
    fs::create_dir_all(project.path("src")).unwrap();
    fs::create_dir_all(project.home().join(".ssh")).unwrap();
    fs::write(project.home().join(".ssh/id_rsa"), "key\n").unwrap();
    symlink(project.home().join(".ssh/id_rsa"), project.path("-l")).unwrap();
    symlink(".", project.path("q")).unwrap();
    for command in [
        "cat -- -l",
        "wc -- -l",
        "diff --to-file=.env a.txt",
        "grep -nf.env a.txt",
        "tar -cf t -T .env",
        "curl -K.env https://x.example",
        "jq --rawfile a .env . a.txt",
        "sed 'r .env' a.txt",
        "cat q/.env",
        "cd src && cat ../.env",
        "env -C src cat ../.env",
        "cat ~/.ssh/id_rsa",
        "cat \"${HOME}\"/.ssh/id_rsa",
        "cd ~/.ssh && cat id_rsa",
        "cd; cat .ssh/id_rsa",
        "someprogram --key=.env",
        "cat .en[v]",
        "cat $'.en\\x76'",
        "for f in .env; do cat $f; done",
        "git commit -F .env",
        "git notes add -F .env",
        "yq .env",
        "cat ~/.ss{h,}/id_rsa",
        "cat ${x:-.env}",
        "set -- .env; cat $1",
        "cd src && cat ~-/.env",
        "git show HEAD^{tree}:.env",
    ] {
        assert_eq!(verdict(&project, command), "deny", "{command}");
    }
    // It is what then happens, too.
    let said = project.refused("Bash", json!({"command": "cat -- -l"}));
    assert!(!said.contains("key\n"), "{said}");
    for command in [
        "ln -s . r; cat r/a.txt",
        "env -C src cat x",
        "grep -d recurse TOKEN .",
        "zip -qr q.zip .",
        "cp --arch . ../copy",
        "bsdtar cf q.tar .",
    ] {
        assert_eq!(verdict(&project, command), "ask", "{command}");
    }
    for command in ["cat a.txt", "sed -n 1p a.txt", "grep -rn .env src", "ls -la .env"] {
        assert_eq!(verdict(&project, command), "allow", "{command}");
    }
}

#[test]
fn reading_through_a_link_behind_two_dashes_is_not_free() {
    let project = governed(&json!({}));
    fs::write(project.home().join("secret"), "key\n").unwrap();
    symlink(project.home().join("secret"), project.path("-l")).unwrap();
    project.file("a.txt", "x\n");
    for command in ["cat -- -l", "head -- -l", "sort -- -l", "diff -- -l a.txt"] {
        assert_eq!(verdict(&project, command), "ask", "{command}");
    }
    for command in [
        "cat -- a.txt",
        "cat a.txt",
        "grep -rn x .",
        "sed -n 1p a.txt",
        "git status",
        "cd .git/.. && cat ./a.txt",
        "for f in *.txt; do echo $f; cat \"$f\"; done",
    ] {
        assert_eq!(verdict(&project, command), "allow", "{command}");
    }
}

#[test]
fn a_question_says_why_the_rule_that_seems_to_allow_it_does_not() {
    let project = governed(&json!({"permissions": {"allow": ["Bash(timeout *)"]}}));
    let said = run(&mut project.ona(["explain", "--bash", "timeout 60 cargo test"])).stdout;
    let why = "Bash(timeout *) does not cover `timeout 60 cargo test`: it runs `cargo`, which the rule does not name";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_rule_for_a_program_does_not_let_it_run_others() {
    let own = [
        "sed",
        "tar",
        "rg",
        "awk",
        "find",
        "sort",
        "zip",
        "rsync",
        "ssh",
        "man",
        "split",
        "less",
        "gsed",
        "goawk",
        "vimdiff",
        "vim.tiny",
        "nano",
        "emacsclient",
        "script",
        "sqlite3",
        "psql",
        "mysql",
        "svn",
        "hg",
        "gcc",
        "fzf",
        "lldb",
        "ssh-keygen",
        "env",
        "timeout",
        "nice",
        "sudo",
        "strace",
        "xargs",
        "busybox",
        "sudo apt",
        "grep",
    ];
    let rules: Vec<String> = own.iter().map(|name| format!("Bash({name} *)")).collect();
    let project = governed(&json!({"permissions": {"allow": rules}}));
    project.file("a.txt", "x\n");
    project.file("odd/-e1etouch p", "");
    for command in [
        "sed 's:.*:touch p:e' a.txt",
        "sed -n '1e touch p' a.txt",
        "tar cf t --checkpoint=1 --checkpoint-a=exec='touch p' a.txt",
        "tar cIf 'touch p' t a.txt",
        "rg --hostname-bin=./p x",
        "awk 'BEGIN { system(\"touch p\") }'",
        "awk 'BEGIN { \"touch p\" | getline }'",
        "find . -execdir touch p ';'",
        "sort --compress-prog=./p a.txt",
        "zip t.zip a.txt -T -TT ./p",
        "rsync -ae ./p a.txt h:",
        "ssh -oProxyCommand=./p h",
        "man -P./p ls",
        "split --filter=./p a.txt",
        "less '+!./p' a.txt",
        "x=--to-command=./p; tar tf t $x",
        "sort $x a.txt",
        "rg \"$(cat a.txt)\" .",
        "x=-delete; find . $x",
        "sed ':a e touch p' a.txt",
        "sed 'v 4.2 e touch p' a.txt",
        "sed 'ba e touch p\n:a' a.txt",
        "cd odd && sed -n p *",
        "echo --pre=./p | xargs rg x a.txt",
        "echo \"'1etouch p' a.txt\" | xargs sed -n",
        "cat a.txt | xargs awk",
        "echo -o .mcp.json a.txt | xargs sort",
        "script -qc 'touch p' /dev/null",
        "sqlite3 x.db '.shell touch p'",
        "vimdiff -es -c '!touch p' -c qa! a.txt a.txt",
        "gsed 's/x/id/e' a.txt",
        "goawk 'BEGIN { system(\"id\") }'",
        "vim.tiny -c '!id' a.txt",
        "nano -s id a.txt",
        "emacsclient -e '(id)'",
        "psql -c '\\! id'",
        "mysql -e 'system id'",
        "svn diff --diff-cmd id",
        "hg --config alias.x='!id' x",
        "gcc -wrapper id a.c",
        "fzf --preview id",
        "lldb -o 'shell id'",
        "ssh-keygen -D ./x.so",
        "env ./p",
        "timeout 5 ./p",
        "nice ./p",
        "sudo ./p",
        "strace ./p",
        "xargs ./p",
        "busybox sh",
    ] {
        assert_eq!(verdict(&project, command), "ask", "{command}");
    }
    for command in [
        "sed 's/a/e/' a.txt",
        "sed ':a;N;$!ba;s/x/y/' a.txt",
        "tar cf t a.txt",
        "awk '$1 > 2 || /a|b/' a.txt",
        "rsync -a a.txt b",
        "ls | xargs grep x",
        "timeout 5 sed -n p a.txt",
        "sudo apt install x",
        "sqlite3 x.db 'select 1'",
        "gcc -o x a.c",
    ] {
        assert_eq!(verdict(&project, command), "allow", "{command}");
    }
}

#[test]
fn protected_files_are_asked_about_whatever_brings_them() {
    let own = ["tar", "unzip", "patch", "awk", "sed", "shuf", "cp", "rsync", "mv"];
    let rules: Vec<String> = own.iter().map(|name| format!("Bash({name} *)")).collect();
    let project = governed(&json!({"permissions": {"allow": rules}}));
    project.file("a.txt", "x\n");
    project.file("good/lib.txt", "x\n");
    project.file("bad/.git/hooks/pre-commit", "x\n");
    project.file(".envrc", "x\n");
    for name in ["good", "bad"] {
        let packed = run(project
            .command("tar")
            .args(["-czf", &format!("{name}.tgz"), "-C", name, "."])
            .current_dir(project.dir()));
        assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    }
    project.file("good.patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n");
    project.file("bad.patch", "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+y\n");
    for command in [
        "tar xzf bad.tgz",
        "tar -xf bad.tgz",
        "tar xf nowhere.tgz",
        "patch -p1 < bad.patch",
        "patch -p1 -i bad.patch",
        "unzip nowhere.zip",
        "awk '{ print > \".git/hooks/x\" }' a.txt",
        "awk 'BEGIN { print \"x\" ||\n\"y\" > \".mcp.json\" }'",
        "sed -n 'w .bashrc' a.txt",
        "shuf --output=.bashrc a.txt",
        "cp -r bad/. .",
        "rsync -a bad/ .",
        "mv a.txt .git/hooks/x",
        "for f in .mcp.json; do cp a.txt $f; done",
        "cp a.txt $(echo .mcp.json)",
        "cp a.txt .envr[c]",
        "sed -i s/x/y/ \"$F\"",
    ] {
        assert_eq!(verdict(&project, command), "ask", "{command}");
    }
    for command in [
        "tar xzf good.tgz",
        "patch -p1 < good.patch",
        "cp -r good copy",
        "awk '{ print > \"o\" }' a.txt",
        "for f in a.txt b.txt; do cp $f good/; done",
    ] {
        assert_eq!(verdict(&project, command), "allow", "{command}");
    }
}

#[test]
fn protected_files_are_asked_about_when_a_name_is_made_up_or_an_archive_is_swapped() {
    let own = [
        "cp", "csplit", "curl", "echo", "find", "git", "gpg", "gunzip", "gzip", "patch",
        "prettier", "rsync", "sed", "sleep", "sort", "split", "tar", "unzip", "xargs",
    ];
    let rules: Vec<String> = own.iter().map(|name| format!("Bash({name} *)")).collect();
    let project = governed(&json!({"permissions": {"allow": rules}}));
    for file in ["a.txt", ".mcp", "post-checkout", "cpx/.mcp.json", "list"] {
        project.file(file, "x\n");
    }
    project.file("ok.patch", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n");
    let evil = "--- /dev/null\n+++ b/.mcp.json\n@@ -0,0 +1 @@\n+y\n";
    project.file("evil.patch", evil);
    project.file(
        "evil.mbox",
        format!(
            "Content-Transfer-Encoding:\n quoted-printable\n\n{}",
            evil.replace("/.m", "/=2em")
        ),
    );
    let packed =
        run(project.command("tar").args(["-cf", "ok.tar", "a.txt"]).current_dir(project.dir()));
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    for command in [
        "sed -i'.git/hooks/*' 2p post-checkout",
        "sed -i.json p .mcp",
        "patch -b -B .git/hooks/ -p1 -i ok.patch",
        "cp -b -S .json a.txt .mcp",
        "gunzip .mcp.json.gz",
        "gunzip -N y.gz",
        "gzip -S .json .mcp",
        "split -l1 a.txt .env",
        "csplit -k -f .mcp -b '.json%.0d' a.txt 6",
        "curl -s -o '#1' 'http://127.0.0.1:1/{.mcp.json}'",
        "unzip -l-l -o evil.zip",
        "unzip -o evil.zip .mcp.json -l",
        "git apply --numstat --appl evil.patch",
        "git apply --check --no-check evil.patch",
        "git apply --directory --stat evil.patch",
        "git am evil.mbox",
        "tar xf ok.tar -T list",
        "sed -n 'w ok.patch' evil.patch; git apply ok.patch",
        "for i in 1 2; do tar xf ok.tar; cp evil.tar ok.tar; done",
        "{ sleep 1; tar xf ok.tar; } & cp evil.tar ok.tar",
        "cp --archiv cpx/. .",
        "echo .ripgreprc | xargs sed -i s/x/y/",
        "find . -type f | xargs sed -i s/a/b/",
        "echo x | git credential-store --file=.mcp.json store",
        "git fast-import --export-pack-edges=.mcp.json",
        "git maintenance register",
        "gpg -o .mcp.json a.txt",
        "prettier --write .mcp.json",
        "rsync -a h:x .",
    ] {
        assert_eq!(verdict(&project, command), "ask", "{command}");
    }
    for command in [
        "sed -i.bak p a.txt",
        "cp -b a.txt b.txt",
        "gunzip y.gz",
        "split -l1 a.txt part-",
        "git apply --stat evil.patch",
        "git apply ok.patch",
        "tar xf ok.tar",
        "cp a.txt b.txt && tar xf ok.tar",
        "gpg -o x a.txt",
        "git add .mcp",
    ] {
        assert_eq!(verdict(&project, command), "allow", "{command}");
    }
}

#[test]
fn what_is_set_for_later_commands_and_options_that_widen_are_seen() {
    let project = governed(&json!({"permissions": {
        "deny": ["Read(.env)"], "allow": ["Bash(export *)", "Bash(sed *)", "Bash(cd *)", "Bash(npm *)"]}}));
    project.file(".env", "S=1\n");
    project.file("a.txt", "x\n");
    for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "x"]] {
        git(&project, args);
    }
    for command in [
        "git log --full-diff -p -- a.txt",
        "CDPATH=~; cd .ssh && head -1 x",
        "export PATH=pb; ls",
        "export GIT_EXTERNAL_DIFF='touch p'; git diff",
        "declare -x GIT_DIR=evil; git status",
        "sed -n 's/[[:alpha:]/]*/touch p/e' a.txt",
        "sed 's/[/a\\]*/touch p/e' a.txt",
    ] {
        assert_eq!(verdict(&project, command), "ask", "{command}");
    }
    for command in [
        "git log -p -- a.txt",
        "export NODE_ENV=test && npm test",
        "export x=1; npm test",
        "sed -n 's/[[:alpha:]]*/x/p' a.txt",
        "git stash list",
    ] {
        assert_eq!(verdict(&project, command), "allow", "{command}");
    }
    let project = governed(&json!({"permissions": {"deny": ["Edit"], "allow": ["Bash"]}}));
    for command in [
        "git stash list",
        "git checkout -b x",
        "git reset HEAD a.txt",
        "git restore --staged a.txt",
        "git rm --cached a.txt",
        "git clean -n",
    ] {
        assert_eq!(verdict(&project, command), "allow", "{command}");
    }
    for command in [
        "git stash",
        "git stash pop",
        "git checkout x",
        "git reset --hard",
        "git reset --h",
        "git restore a.txt",
        "git restore -SW a.txt",
        "git rm a.txt",
        "git clean -f",
    ] {
        assert_eq!(verdict(&project, command), "deny", "{command}");
    }
}

#[test]
fn a_bare_deny_of_edit_covers_what_commands_write() {
    for rule in ["Edit", "Write"] {
        let project = governed(&json!({"permissions": {"allow": ["Bash"], "deny": [rule]}}));
        project.file("a.txt", "x\n");
        for command in [
            "echo x > f",
            "tee f",
            "sed -i s/x/y/ a.txt",
            "cp a.txt f",
            "rm a.txt",
            "cd . && echo x > f",
            "for f in q1 q2; do touch $f; done",
            "rm -rf \"$X\"",
            "F=f; echo x > $F",
            "echo x <> f",
            "split a.txt",
            "ls | xargs sed -i p",
        ] {
            assert_eq!(verdict(&project, command), "deny", "{rule}: {command}");
        }
        project.refused("Bash", json!({"command": "echo x > f"}));
        project.refused("Bash", json!({"command": "for x in f; do touch $x; done"}));
        assert!(!project.path("f").exists());
        for command in ["cat a.txt", "echo x > /dev/null", "ls 2>&1"] {
            assert_eq!(verdict(&project, command), "allow", "{rule}: {command}");
        }
    }
}

#[test]
fn the_intent_gate_judges_a_write_where_the_command_has_gone() {
    for policy in ["", "failure_mode: closed\n"] {
        let project = intent_gate::governed(policy);
        for dir in ["docs", "src", "lib"] {
            fs::create_dir_all(project.path(dir)).unwrap();
        }
        let elsewhere = project.home().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        project.ok("SelectActiveIntent", json!({"intent_id": "INT-1"}));
        let outside = elsewhere.display();
        for command in [
            "cd docs && echo x > z.txt".to_owned(),
            "cd docs; echo x > z.txt".to_owned(),
            "(cd lib && echo x > z.md)".to_owned(),
            "pushd lib && echo x > z.md && popd".to_owned(),
            "cd src && echo x > ../lib/z.md".to_owned(),
            "cd lib && touch z.md".to_owned(),
            format!("cd {outside} && echo x > f"),
            format!("cd {outside}; echo x > f"),
            format!("cd {outside} && tee f < /dev/null"),
            "cd ../home/elsewhere && echo x > f".to_owned(),
        ] {
            let said = project.refused("Bash", json!({"command": command}));
            assert!(said.contains("scope"), "{policy}{command}: {said}");
        }
        for gone in ["docs/z.txt", "lib/z.md"] {
            assert!(!project.path(gone).exists(), "{gone}");
        }
        assert!(!elsewhere.join("f").exists());
        project.ok("Bash", json!({"command": "cd docs && echo x > z.md"}));
        project.ok("Bash", json!({"command": "cd ../src; echo x > a.rs"}));
        let traced: Vec<String> =
            intent_gate::trace(&project).iter().map(ToString::to_string).collect();
        for file in ["docs/z.md", "src/a.rs"] {
            assert!(traced.iter().any(|entry| entry.contains(file)), "{file}: {traced:?}");
        }
    }
}

/// Outside the workspace nothing is compared, so whatever is seen to write there is refused before it runs.
#[test]
fn the_intent_gate_judges_every_write_that_a_command_line_is_seen_to_make() {
    let project = intent_gate::governed("failure_mode: closed\n");
    for dir in ["docs", "src", "lib"] {
        fs::create_dir_all(project.path(dir)).unwrap();
    }
    for file in ["src/a", "lib/l.md"] {
        project.file(file, "x\n");
    }
    let elsewhere = project.home().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("s"), "x\n").unwrap();
    let listed = |dir: &std::path::Path| {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|one| one.unwrap().file_name()).collect();
        names.sort();
        names
    };
    project.ok("SelectActiveIntent", json!({"intent_id": "INT-1"}));
    let before = [listed(&project.home()), listed(&elsewhere), listed(&project.path("lib"))];
    for command in [
        "cd ~ && echo x > f",
        "cd && echo x > f",
        "cd $HOME && echo x > f",
        "touch ~/f",
        "echo x > ~/f",
        "echo x > \"$HOME/f\"",
        "d=OUT; cd $d && echo x > f",
        "F=OUT/f; echo x > $F",
        "cd OUT && sort -o f s",
        "cd OUT && dd if=s of=f",
        "cd OUT && install s f",
        "cd OUT && ln -s s f",
        "cd OUT && curl -o z.md http://127.0.0.1:1/",
        "cd OUT && tar cf f.tar s",
        "cd OUT && awk 'BEGIN{print > \"f\"}'",
        "cd OUT && split s",
        "cd OUT && find . -fprint f",
        "cd OUT && timeout 3 touch f",
        "cd OUT && env touch f",
        "cd OUT && xargs touch <<< f",
        "cd OUT && touch $PPID",
        "cd OUT && for f in f; do touch $f; done",
        "sort -o OUT/f src/a",
        "dd if=src/a of=OUT/f",
        "curl -o OUT/f http://127.0.0.1:1/",
        "env touch OUT/f",
        "env -C OUT touch f",
        "sudo -n touch OUT/f",
        "tar cf x.tar -C src a && tar xf x.tar -C OUT",
        "cp src/* OUT",
        "ln -s OUT src/l && echo x > src/l/f",
        "ln -s OUT src/l; cd src/l && touch f",
        "sed -i p lib/l.md",
        "cd lib && sort -o z.md l.md",
        "cd lib && git mv l.md m.md",
        "timeout 3 rm lib/l.md",
    ] {
        let command = command.replace("OUT", elsewhere.to_str().unwrap());
        let said = project.refused("Bash", json!({"command": command}));
        assert!(said.contains("scope"), "{command}: {said}");
        let entry = intent_gate::trace(&project).pop().unwrap().to_string();
        assert!(
            entry.contains("scope") && entry.contains("\"success\":false"),
            "{command}: {entry}"
        );
    }
    let after = [listed(&project.home()), listed(&elsewhere), listed(&project.path("lib"))];
    assert_eq!(before, after);
    assert!(!project.path("src/l").is_symlink());
    for command in [
        "sort -o src/b src/a",
        "cd src && sed -i s/x/y/ a && cp a c",
        "cp OUT/s src/s",
        "ln -s OUT/s src/link",
        "for f in src/*; do touch -c $f; done",
        "env -C src touch d",
        "d=src; cd $d && touch e",
        "cat OUT/s > src/g",
    ] {
        let command = command.replace("OUT", elsewhere.to_str().unwrap());
        project
            .ok("Bash", json!({"command": format!("cd {} && {command}", project.dir().display())}));
    }
    // What nobody sees is at least on the trace.
    fs::write(elsewhere.join("run.sh"), "true\n").unwrap();
    project.ok("Bash", json!({"command": format!("(cd {} && sh run.sh)", elsewhere.display())}));
    let entry = intent_gate::trace(&project).pop().unwrap();
    assert!(entry["warnings"][0].as_str().unwrap().starts_with("outside_unseen: "), "{entry}");
}
