//! What commands read and write although their text does not name it at once.

use super::hostile::{hostile_project, verdict};
use super::*;
use ona_testkit::git;

/// A checkout in which everything is tracked.
fn tracked_project() -> (tempfile::TempDir, Surroundings) {
    let (dir, around) = hostile_project();
    for own in ["sub/.git", "own"] {
        std::fs::remove_dir_all(around.cwd.join(own)).unwrap();
    }
    git(&around.cwd, &["init", "-q"]);
    git(&around.cwd, &["add", "-A", "-f"]);
    (dir, around)
}

#[test]
fn letters_that_stand_together_show_a_file_too() {
    let (_dir, around) = tracked_project();
    let free = [(Deny, "Read(.env)")];
    for command in [
        "git log -wp",
        "git log -bp",
        "git log -zp",
        "git log -Rp",
        "git log -ap",
        "git log -wu",
        "git log -wU1",
        "git log -sp",
        "git log -qp",
        "git log --no-walk -wp",
        "git log --check",
        "git log --word-diff-regex=.",
        "git reflog show -wp",
    ] {
        assert_eq!(verdict(&around, &free, DefaultMode, command), Ask, "{command}");
        assert_eq!(verdict(&around, &[], DefaultMode, command), Allow, "{command}");
    }
    let allowed = [(Allow, "Bash"), (Deny, "Read(.env)")];
    for command in [
        "git request-pull -p HEAD~1 .",
        "git add -p",
        "git checkout -p",
        "git commit -ap",
        "git reset --patch",
        "o=-p; git log $o",
        "git log $o",
        "git rerere diff",
    ] {
        assert_eq!(verdict(&around, &allowed, DefaultMode, command), Ask, "{command}");
    }
    for command in [
        "git log --oneline -5",
        "git log -n 3 --format=%h",
        "git log -i --grep=x",
        "git shortlog -sn",
        "git diff --stat",
        "git diff --name-only HEAD",
        "git diff --cached --numstat",
    ] {
        assert_eq!(verdict(&around, &free, DefaultMode, command), Allow, "{command}");
    }
    for command in [
        "git diff --stat -p",
        "git diff --stat --no-stat",
        "git diff --stat -SS=1",
        "git diff --stat -IS",
        "git diff --stat --check",
        "git diff --stat $o",
        "git show --stat -p",
    ] {
        assert_eq!(verdict(&around, &free, DefaultMode, command), Ask, "{command}");
    }
}

#[test]
fn directories_are_gone_through_in_every_spelling() {
    let (_dir, around) = hostile_project();
    let rules = [(Allow, "Bash"), (Deny, "Read(secrets/key)")];
    for command in [
        "grep -d recurse x secrets",
        "grep -drecurse x secrets",
        "grep -nd recurse x secrets",
        "grep -d rec x secrets",
        "grep -d \"$d\" x secrets",
        "grep --directories=recurse x secrets",
        "grep --direct=recurse x .",
        "grep --direct recurse x .",
        "zip -qr q.zip .",
        "zip -qr q.zip . -i '*ey'",
        "zip -R q.zip '*'",
        "zip --recurse-p q.zip .",
        "cp --arch . ../cpz",
        "cp --rec secrets x",
        "bsdtar cf q.tar .",
        "gtar cf q.tar .",
        "7z a q.7z .",
        "diff secrets sub",
        "gzip -kr .",
        "rm --r secrets",
        "awk 'BEGIN{f=\"k\" \"ey\"; while((getline a[i,j,k,l] < f)>0)print a[i,j,k,l]}'",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Ask, "{command}");
    }
    for command in ["grep -d skip x secrets", "grep -e drecurse a.txt", "diff a.txt a.txt"] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
}

#[test]
fn a_file_that_the_text_fixes_in_the_end_is_denied() {
    let (_dir, around) = hostile_project();
    let rules = [(Allow, "Bash"), (Deny, "Read(.env)"), (Deny, "Edit(secrets/**)")];
    for command in [
        "cat .en[v]",
        "cat .[e]*",
        "cat .[!x]nv",
        "cat .[[:alpha:]]nv",
        "cat $'.en\\x76'",
        "cat $'.\\145nv'",
        "for f in .env; do cat $f; done",
        "for f in a.txt .env; do cat \"$f\"; done",
        "for f in .e*; do cat $f; done",
        "for f in .en{v,x}; do cat $f; done",
        "for e in env; do cat .$e; done",
        "f='.env'; cat \"$f\"",
        "true && f=.env; cat \"$f\"",
        "g() { cat $f; }; for f in .env; do g; done",
        "for f in .env; do cat < $f; done",
        "yq .env",
        "git commit -F .env",
        "git commit -aF .env",
        "git commit --file=.env",
        "git commit -t .env",
        "git tag -F .env x",
        "git notes add -F .env",
        "git merge -F .env x",
        "for f in secrets/key; do rm $f; done",
        "for f in secrets/key; do echo x > $f; done",
        "touch secret[s]/key",
        "echo x > secret[s]/key",
    ] {
        for mode in [DefaultMode, BypassPermissions] {
            assert_eq!(verdict(&around, &rules, mode, command), Deny, "{mode}: {command}");
        }
    }
    for command in [
        "for f in a.txt; do cat $f; done",
        "for f in *.txt; do cat \"$f\"; done",
        "d=sub; for f in a.txt; do cp $f $d/; done",
        "for i in {1..3}; do touch f$i; done",
        "cat [a]*.txt",
        "git commit -m 'say more'",
        "yq .env a.txt",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
    for command in [
        "for f in a.txt; do read f; cat $f; done",
        "for f in a.txt; do eval 'f=x'; cat $f; done",
        "for f in $(ls); do cat $f; done",
        "for f in a.txt; do cat $g; done",
        "for f in a.txt; do true; done; cat $f",
        "git commit -F \"$f\"",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Ask, "{command}");
    }
    // A file of that name may itself be a link.
    symlink("/etc/passwd", around.cwd.join("[z]x")).unwrap();
    assert_eq!(verdict(&around, &[], DefaultMode, "cat [z]x"), Ask);
    assert_eq!(verdict(&around, &[], DefaultMode, "cat [a].txt"), Allow);
}

#[test]
fn a_bare_rule_about_writing_is_about_targets_that_are_not_fixed() {
    let (_dir, around) = hostile_project();
    let modes = [DefaultMode, AcceptEdits, Plan, DontAsk, BypassPermissions];
    for command in [
        "for f in q1 q2; do touch $f; done",
        "for f in delme; do rm $f; done",
        "touch $PPID",
        "touch \"$F\"",
        "tee \"$F\"",
        "rm \"$F\"",
        "mkdir \"$F\"",
        "rm -rf \"$X\"",
        "rm -rf ${X:?}",
        "cp a.txt \"$F\"",
        "sed -i p \"$F\"",
        "dd of=$F",
        "sort -o $F a.txt",
        "sudo tee $F",
        "timeout 5 touch $(date)",
        "touch new*",
        "touch new[1]",
        "F=f2; echo x > $F",
        "echo x > $F",
        "echo x >> \"$(date)\"",
        "echo x <> f",
        "split a.txt",
        "csplit a.txt 1",
        "git format-patch -1",
        "git interpret-trailers --in-place a.txt",
        "git interpret-trailers --in-p a.txt",
        "ls | xargs sed -i p",
        "find . | xargs perl -pi -e 1",
        "script f",
        "script",
        "gpg -o f a.txt",
        "gpg --output=f a.txt",
        "find \"$d\" -delete",
    ] {
        for mode in modes {
            for rule in ["Edit", "Write", "Edit(*)"] {
                let rules = [(Allow, "Bash"), (Deny, rule)];
                assert_eq!(verdict(&around, &rules, mode, command), Deny, "{mode}: {command}");
            }
        }
        let rules = [(Allow, "Bash"), (Ask, "Edit")];
        assert_eq!(verdict(&around, &rules, BypassPermissions, command), Ask, "{command}");
    }
    let rules = [(Allow, "Bash"), (Deny, "Edit")];
    for mode in modes {
        for command in ["cat \"$F\"", "ls | xargs sed -n p", "git format-patch -1 --stdout"] {
            assert_ne!(verdict(&around, &rules, mode, command), Deny, "{mode}: {command}");
        }
    }
    // What cannot be read may write.
    for command in ["$CMD x", "echo 'open", "eval \"$x\""] {
        assert_eq!(verdict(&around, &rules, BypassPermissions, command), Ask, "{command}");
        let none = [(Allow, "Bash")];
        assert_eq!(verdict(&around, &none, BypassPermissions, command), Allow, "{command}");
    }
}

#[test]
fn a_rule_for_a_program_does_not_cover_targets_that_only_the_run_shows() {
    let (_dir, around) = hostile_project();
    std::fs::write(around.cwd.join(".envrc"), "x").unwrap();
    let programs =
        ["cp", "rm", "sed", "sort", "mkdir", "tee", "mktemp", "echo", "git mv", "git checkout"];
    let texts: Vec<String> = programs.iter().map(|name| format!("Bash({name} *)")).collect();
    let rules: Vec<(Behavior, &str)> = texts.iter().map(|text| (Allow, text.as_str())).collect();
    for command in [
        "for f in .mcp.json; do cp a.txt $f; done",
        "cp a.txt $(echo .mcp.json)",
        "cp a.txt .envr[c]",
        "cp a.txt \"$F\"",
        "cp a.txt \"$d\"/config",
        "rm -rf \"$X\"",
        "sed -i s/a/b/ \"$F\"",
        "sort -o \"$F\" a.txt",
        "tee \"$(cat a.txt)\"",
        "HOME=.git; cp a.txt ~/config",
        "git mv a.txt \"$F\"",
        "d=$(mktemp -d .git/XX); cp a.txt \"$d/x\"",
        "timeout 5 cp a.txt \"$F\"",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Ask, "{command}");
    }
    for command in [
        "cp a.txt b.txt",
        "cp \"$F\" b.txt",
        "for f in a.txt b.txt; do cp $f sub/; done",
        "for f in *.txt; do rm \"$f\"; done",
        "for i in {1..3}; do mkdir -p d$i; done",
        "d=sub; cp a.txt \"$d/b.txt\"",
        "d=$(mktemp -d); cp a.txt \"$d/x\"",
        "cp a.txt ~/notes.txt",
        "cp a.txt \"$HOME/notes.txt\"",
        "rm -f *.tmp",
        "git checkout \"$branch\"",
        "cp [a]*.txt sub",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
}

#[test]
fn signatures_are_not_free_however_they_are_asked_for() {
    let (_dir, around) = hostile_project();
    for command in [
        "git log --format='%+GK'",
        "git log --format='%-G?'",
        "git log --format='% G?'",
        "git show --pretty='%h%+GS'",
    ] {
        assert_eq!(verdict(&around, &[], DefaultMode, command), Ask, "{command}");
    }
    assert_eq!(verdict(&around, &[], DefaultMode, "git log --format='%h %s 100% -G'"), Ask);
    assert_eq!(verdict(&around, &[], DefaultMode, "git log --format='%h %s'"), Allow);
}
