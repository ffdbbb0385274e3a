//! A program's own prefix rule lets it write what it usually does, and no protected file.

use super::hostile::{hostile_project, verdict};
use super::*;
use ona_testkit::git;

/// A rule for each of these programs, and nothing else.
fn own(around: &Surroundings, programs: &[&str], command: &str) -> Behavior {
    let texts: Vec<String> = programs.iter().map(|name| format!("Bash({name} *)")).collect();
    let rules: Vec<(Behavior, &str)> = texts.iter().map(|text| (Allow, text.as_str())).collect();
    verdict(around, &rules, DefaultMode, command)
}

/// An archive with one empty file.
fn tar(member: &str) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..member.len()].copy_from_slice(member.as_bytes());
    block[156] = b'0';
    block[148..156].fill(b' ');
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

fn project() -> (tempfile::TempDir, Surroundings) {
    let (dir, around) = hostile_project();
    let app = &around.cwd;
    let patch = |name: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x\n+y\n");
    for (name, content) in [
        (".mcp", "x\n".to_owned()),
        ("post-checkout", "x\n".to_owned()),
        ("ok.patch", patch("a.txt")),
        ("evil.patch", patch(".mcp.json")),
        ("other.patch", patch("ok.patch")),
        ("own.patch", patch("own.patch")),
        (
            "evil.mbox",
            format!("Content-Transfer-Encoding:\n quoted-printable\n\n{}", patch("=2emcp.json")),
        ),
        ("src.txt", "x\n".to_owned()),
    ] {
        std::fs::write(app.join(name), content).unwrap();
    }
    std::fs::create_dir_all(app.join("src")).unwrap();
    std::fs::write(app.join("src/x"), "x\n").unwrap();
    std::fs::create_dir_all(app.join("cpx")).unwrap();
    std::fs::write(app.join("cpx/.mcp.json"), "x\n").unwrap();
    std::fs::write(app.join(".ripgreprc"), "x\n").unwrap();
    for (archive, member) in [("ok.tar", "a.txt"), ("own.tar", "own.tar")] {
        std::fs::write(app.join(archive), tar(member)).unwrap();
    }
    git(app, &["init", "-q"]);
    (dir, around)
}

#[test]
fn names_that_a_program_makes_up_are_protected_too() {
    let (_dir, around) = project();
    for command in [
        "sed -i'.git/hooks/*' 2p post-checkout",
        "sed -i.json p .mcp",
        "sed --in-place=.json p .mc*",
        "sed --i p .mcp.json",
        "patch -b -B .git/hooks/ -p1 -i ok.patch",
        "patch -b -z .json -p1 -i ok.patch",
        "cp -b -S .json a.txt .mcp",
        "mv -b -S .json a.txt .mcp",
        "install -b -S .json a.txt .mcp",
        "cp --archiv cpx/. .",
        "gunzip .mcp.json.gz",
        "gunzip -N y.gz",
        "gzip -d .mcp.json.gz",
        "xz -d .mcp.json.xz",
        "unxz .mcp.json.xz",
        "bunzip2 .mcp.json.bz2",
        "zstd -d .mcp.json.zst",
        "gzip -S .json .mcp",
        "split -l1 a.txt .env",
        "csplit -k -f .mcp -b '.json%.0d' a.txt 6",
        "curl -s -o '#1' 'http://127.0.0.1:1/{.mcp.json}'",
        "rsync h:.mcp.json .",
        "rsync -a h:x .",
        "scp -r h:x .",
        "bsdtar -xf ok.tar -s ,^,.git/hooks/,",
        "tar xf ok.tar -T a.txt",
    ] {
        let program = command.split(' ').next().unwrap();
        assert_eq!(own(&around, &[program], command), Ask, "{command}");
    }
    for command in [
        "sed -i.bak p a.txt",
        "sed -i p *.txt",
        "patch -b -p1 -i ok.patch",
        "cp -b a.txt b.txt",
        "cp -S .bak -b a.txt b.txt",
        "gunzip x.gz",
        "gzip -9 a.txt",
        "split -l1 a.txt part-",
        "csplit -k a.txt 6",
        "curl -s -o x http://127.0.0.1:1/y",
        "rsync -a src h:x",
        "scp h:x .",
        "tar xf ok.tar",
        "tar xf ok.tar -C src",
    ] {
        let program = command.split(' ').next().unwrap();
        assert_eq!(own(&around, &[program], command), Allow, "{command}");
    }
    // And what a written rule is about.
    let rules = [(Allow, "Bash"), (Deny, "Edit(src/**)")];
    for command in ["sed -i'src/*' p a.txt", "split a.txt src/x", "cp -bS x a.txt src/y"] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Deny, "{command}");
    }
    assert_eq!(verdict(&around, &rules, DefaultMode, "patch -b -B src/ -p1 -i ok.patch"), Ask);
    let rules = [(Allow, "Bash"), (Deny, "Edit")];
    for command in ["split a.txt", "csplit a.txt 1", "git format-patch -1", "ls | xargs sed -i p"] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Deny, "{command}");
    }
    for command in [
        "gzip -l x.gz",
        "gzip -dc x.gz",
        "xz --test x.xz",
        "rsync -an src dest",
        "patch --dry-run -p1 -i ok.patch",
        "script --version",
    ] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Allow, "{command}");
    }
    for command in ["lz4 -l a.txt", "gzip -k a.txt", "rsync -an --log-file=x src dest"] {
        assert_eq!(verdict(&around, &rules, DefaultMode, command), Deny, "{command}");
    }
}

#[test]
fn an_archive_or_a_patch_that_the_line_may_change_is_unknown() {
    let (_dir, around) = project();
    let programs = [
        "git", "patch", "sed", "tar", "cp", "sort", "mv", "sleep", "mkdir", "rm", "cat", "touch",
        "echo", "tee", "gunzip",
    ];
    for command in [
        "sed -n 'w ok.patch' evil.patch; git apply ok.patch",
        "sed -n 'w ok.patch' evil.patch; patch -p1 -i ok.patch",
        "sed -n 'w src/../ok.patch' evil.patch; patch -p1 -i ok.patch",
        "sort -o ok.patch evil.patch; git apply ok.patch",
        "sort -o ok.patch evil.patch; patch -p1 -i ok.patch",
        "for i in 1 2; do tar xf ok.tar; cp evil.tar ok.tar; done",
        "while true; do git apply ok.patch; cp evil.patch ok.patch; done",
        "{ sleep 1; tar xf ok.tar; } & cp evil.tar ok.tar",
        "tar xf ok.tar & cp evil.tar ok.tar",
        "tar xf ok.tar | cp evil.tar ok.tar",
        "f() { tar xf ok.tar; }; cp evil.tar ok.tar; f",
        "git apply other.patch; git apply ok.patch",
        "git apply other.patch ok.patch",
        "patch -p1 -i other.patch; patch -p1 -i ok.patch",
        "cp evil/ok.tar .; tar xf ok.tar",
        "mv evil/ok.tar -t .; tar xf ok.tar",
        "cat evil.patch | tee ok.patch; git apply ok.patch",
        "cat evil.patch > ok.patch; patch -p1 -i ok.patch",
        "git diff --output=ok.patch; git apply ok.patch",
        "cp \"$x\" \"$y\"; tar xf ok.tar",
        "sort $x evil.patch; git apply ok.patch",
        "patch -i ok.patch -i evil.patch -p1",
        "patch a.txt evil.patch -i ok.patch",
        "git apply \"$x\" < ok.patch",
        "for i in 1 2; do git apply own.patch; done",
        "for i in 1 2; do tar xf own.tar; done",
        "tar xf ok.tar & gunzip ok.tar.gz",
        "gunzip -f ok.tar.gz; tar xf ok.tar",
    ] {
        assert_eq!(own(&around, &programs, command), Ask, "{command}");
    }
    for command in [
        "mkdir -p out && tar xf ok.tar -C out",
        "cp a.txt b.txt && tar xf ok.tar",
        "tar xf ok.tar && rm ok.tar",
        "tar xvf ok.tar | cat",
        "echo $x; tar xf ok.tar",
        "for f in a b; do echo $f; done; tar xf ok.tar",
        "git apply --check ok.patch && git apply ok.patch",
        "cat ok.patch; patch -p1 -i ok.patch",
    ] {
        assert_eq!(own(&around, &programs, command), Allow, "{command}");
    }
}

#[test]
fn a_patch_is_applied_if_any_spelling_says_so() {
    let (_dir, around) = project();
    for command in [
        "git apply --numstat --appl evil.patch",
        "git apply --summary --app evil.patch",
        "git apply --check --no-check evil.patch",
        "git apply --stat --no-stat evil.patch",
        "git apply --directory --stat evil.patch",
        "git apply --exclude --check evil.patch",
        "git apply -- --stat evil.patch",
        "git apply --build-fake-ancestor=.mcp.json ok.patch",
        "git am evil.mbox",
        "git am --directory --skip evil.patch",
        "git am --abort evil.patch",
        "echo x | git credential-store --file=.mcp.json store",
        "git credential-store --fil .mcp.json store",
        "git fast-import --export-pack-edges=.mcp.json",
        "git maintenance register",
        "git maintenance start",
        "git interpret-trailers --in-place .mcp.json",
        "git interpret-trailers --in-pl --trailer x .mcp.json",
        "git submodule set-url a b",
        "git read-tree --index-output=.mcp.json HEAD",
        "git lfs pointer --file=.mcp.json",
    ] {
        assert_eq!(own(&around, &["git", "echo"], command), Ask, "{command}");
    }
    for command in [
        "git apply --stat evil.patch",
        "git apply --check -v -p1 evil.patch",
        "git apply ok.patch",
        "git am --continue",
        "git am --skip",
        "git add .mcp.json",
        "git commit -m .mcp.json",
        "git maintenance run",
        "git interpret-trailers --trailer x a.txt",
    ] {
        assert_eq!(own(&around, &["git"], command), Allow, "{command}");
    }
}

#[test]
fn what_is_not_known_may_write_a_protected_file_that_it_is_given() {
    let (_dir, around) = project();
    for command in [
        "gpg -o .mcp.json a.txt",
        "gpg --output=.mcp.json a.txt",
        "xmllint --output .mcp.json a.txt",
        "m4 -o.mcp.json a.txt",
        "dos2unix .mcp.json",
        "uudecode -o .git/hooks/x a.txt",
        "ssh-keygen -f ~/.ssh/x",
        "prettier --write \"$d\"/.mcp.json",
        "ctags -f sub/.envrc a.txt",
        "timeout 5 gpg -o .mcp.json a.txt",
    ] {
        let names =
            ["gpg", "xmllint", "m4", "dos2unix", "uudecode", "ssh-keygen", "prettier", "ctags"];
        assert_eq!(own(&around, &names, command), Ask, "{command}");
    }
    for command in [
        "gpg -o x a.txt",
        "prettier --write .claude/skills/x.md",
        "cat .mcp.json",
        "timeout 5 cat .mcp.json",
        "jq . .mcp.json",
        "tar cf x.tar .mcp.json",
        "curl -s https://x.example/.mcp.json",
        "python3 .claude/x.py",
        "declare f=.mcp.json",
    ] {
        let names = ["gpg", "prettier", "cat", "jq", "tar", "curl", "python3", "declare"];
        assert_eq!(own(&around, &names, command), Allow, "{command}");
    }
    // A rule that names the file is about it.
    assert_eq!(own(&around, &["uv run .claude/hooks/x.py"], "uv run .claude/hooks/x.py -v"), Allow);
    assert_eq!(own(&around, &["uv run"], "uv run .claude/hooks/x.py"), Ask);
    // In bypass mode only written rules count.
    let bare = [(Allow, "Bash")];
    assert_eq!(verdict(&around, &bare, BypassPermissions, "gpg -o .mcp.json a.txt"), Allow);
}

#[test]
fn files_from_a_list_are_changed_like_those_that_are_named() {
    let (_dir, around) = project();
    let programs = ["find", "sed", "touch", "xargs", "grep", "rg", "git", "ls", "echo", "sort"];
    for command in [
        "echo .ripgreprc | xargs sed -i s/x/y/",
        "echo .ripgreprc | xargs sed --in-pl s/x/y/",
        "find . -type f | xargs sed -i s/a/b/",
        "find . -type f | xargs touch",
        "echo .ripgreprc | xargs touch",
        "find . | xargs -n1 sed -i s/a/b/",
        "grep -rl x . | xargs sed -i s/a/b/",
        "git ls-files --format=.mcp.json | xargs sed -i s/a/b/",
        "rg -l --hidden x | xargs sed -i s/a/b/",
        "find . | grep -o .mcp.json | xargs sed -i s/a/b/",
        "ls -A | xargs sed -i s/a/b/",
        "echo a.txt | xargs sort -o .envrc",
    ] {
        assert_eq!(own(&around, &programs, command), Ask, "{command}");
    }
    for command in [
        "find src -type f | xargs touch",
        "find . -name '*.txt' | xargs touch",
        "rg -l x | xargs touch",
        "grep -rl --include='*.txt' x . | xargs touch",
        "find . -type f | xargs grep x",
    ] {
        assert_eq!(own(&around, &programs, command), Allow, "{command}");
    }
    let rules = [(Allow, "Bash"), (Deny, "Edit(src/**)")];
    let command = "find src -type f | xargs sed -i p";
    assert_ne!(verdict(&around, &rules, DefaultMode, command), Allow);
}
