use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use ignore::overrides::OverrideBuilder;

use super::*;
use crate::testing::pipe;

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (dir, root)
}

fn names(root: &Path, walk: &WalkBuilder) -> BTreeSet<String> {
    let name = |entry: DirEntry| entry.path().strip_prefix(root).unwrap().display().to_string();
    walk.build().map(|entry| name(entry.unwrap())).filter(|name| !name.is_empty()).collect()
}

fn walked(root: &Path, filters: Filters) -> BTreeSet<String> {
    names(root, &walker(root, filters, |entry| entry.file_name() != ".git"))
}

/// The tree of every test that compares with the crate's own reading.
fn many_lists() -> (tempfile::TempDir, PathBuf) {
    let (dir, root) = tree(&[
        (".gitignore", "\u{feff}*.log\nout/\n/only-here\n!kept.log\n[bad\n.*\n!.shown\n"),
        (".ignore", "plain.txt\n!b.log\n"),
        ("plain.txt", ""),
        ("a.log", ""),
        ("kept.log", ""),
        (".hidden", ""),
        (".shown", ""),
        ("out/x", ""),
        ("only-here", ""),
        ("sub/only-here", ""),
        ("sub/.gitignore", "!a.log\ndeep/*\n!deep/y\r\n"),
        ("sub/a.log", ""),
        ("sub/b.log", ""),
        ("sub/deep/x", ""),
        ("sub/deep/y", ""),
        ("repo/.git/info/exclude", "secret\nsub/excluded\n"),
        ("repo/.gitignore", "inner\n"),
        ("repo/a.log", ""),
        ("repo/inner", ""),
        ("repo/secret", ""),
        ("repo/sub/excluded", ""),
        ("repo/sub/.ignore", "!secret\n"),
        ("repo/sub/secret", ""),
        ("linked/secret", ""),
        ("linked/other", ""),
        ("repo/.git/worktrees/w/commondir", "../..\n"),
        ("jj/.jj/x", ""),
        ("jj/.gitignore", "here\n"),
        ("jj/here", ""),
        ("jj/b.log", ""),
    ]);
    let linked = format!("gitdir: {}\n", root.join("repo/.git/worktrees/w").display());
    fs::write(root.join("linked/.git"), linked).unwrap();
    (dir, root)
}

#[test]
fn the_lists_say_what_they_say_to_the_crate() {
    let (_dir, root) = many_lists();
    for from in ["", "sub", "sub/deep", "repo", "repo/sub", "linked", "jj", "out"] {
        let from = root.join(from);
        for (plain, in_repository, hidden) in [
            (true, false, false),
            (true, false, true),
            (false, true, false),
            (false, true, true),
            (false, false, false),
        ] {
            let lists = Some(Lists { plain, in_repository });
            let ours = walked(&from, Filters { hidden, lists, ..Filters::default() });
            let mut theirs = WalkBuilder::new(&from);
            theirs.ignore(plain).hidden(hidden).require_git(in_repository).git_global(false);
            theirs.filter_entry(|entry| entry.file_name() != ".git");
            assert_eq!(ours, names(&from, &theirs), "{from:?} {plain} {in_repository} {hidden}");
        }
    }
}

#[test]
fn globs_come_before_lists() {
    let (_dir, root) = many_lists();
    for glob in ["*.log", "!*.log", "sub/**", "!sub", ".hidden"] {
        let overrides = OverrideBuilder::new(&root).add(glob).unwrap().build().unwrap();
        let lists = Some(Lists { plain: true, in_repository: false });
        let ours = walked(&root, Filters { lists, overrides: overrides.clone(), hidden: true });
        let mut theirs = WalkBuilder::new(&root);
        theirs.require_git(false).git_global(false).overrides(overrides);
        theirs.filter_entry(|entry| entry.file_name() != ".git");
        assert_eq!(ours, names(&root, &theirs), "{glob}");
    }
}

#[test]
fn a_root_behind_a_link_has_the_lists_above_its_real_place() {
    let (_dir, root) = tree(&[("a/.gitignore", "/b/x\n"), ("a/b/x", ""), ("a/b/y", "")]);
    symlink("a/b", root.join("link")).unwrap();
    let from = root.join("link/");
    let lists = Some(Lists::default());
    assert_eq!(walked(&from, Filters { lists, ..Filters::default() }), ["y".to_owned()].into());
}

#[test]
fn a_list_that_is_no_file_or_has_no_end_excludes_nothing() {
    let lists = [".gitignore", "src/.gitignore", ".ignore", "src/.ignore", ".git/info/exclude"];
    for kind in ["pipe", "zero", "sparse", "directory"] {
        let (_dir, root) = tree(&[("src/a", ""), ("b", ""), (".git/info/x", "")]);
        for list in lists {
            let at = root.join(list);
            match kind {
                "pipe" => pipe(&at),
                "zero" => symlink("/dev/zero", &at).unwrap(),
                "sparse" => fs::File::create(&at).unwrap().set_len(1 << 40).unwrap(),
                _ => fs::create_dir(&at).unwrap(),
            }
        }
        for in_repository in [false, true] {
            let lists = Some(Lists { plain: true, in_repository });
            let found = walked(&root, Filters { lists, hidden: true, ..Filters::default() });
            assert_eq!(found, ["b", "src", "src/a"].map(str::to_owned).into(), "{kind}");
            // A walk that starts below has the same above it.
            let below = root.join("src");
            let found = walked(&below, Filters { lists, hidden: true, ..Filters::default() });
            assert_eq!(found, ["a".to_owned()].into(), "{kind}");
        }
        assert!(!is_ignored(&root, &root.join("src/a")), "{kind}");
    }
    for name in ["commondir", "gitdir"] {
        let (_dir, root) = tree(&[("a", ""), ("real/x", ""), (".git", "gitdir: real\n")]);
        match name {
            "commondir" => pipe(&root.join("real/commondir")),
            _ => {
                fs::remove_file(root.join(".git")).unwrap();
                pipe(&root.join(".git"));
            }
        }
        let filters = Filters { lists: Some(Lists::default()), ..Filters::default() };
        assert!(walked(&root, filters).contains("a"), "{name}");
    }
}

#[test]
fn what_git_ignores_is_known_on_the_way_to_it() {
    let (_dir, root) = tree(&[
        (".git/info/exclude", "secret\n"),
        (".gitignore", "out/\n*.local\n!kept.local\n"),
        ("sub/.gitignore", "x\n"),
    ]);
    for (file, ignored) in [
        ("out/a/b", true),
        ("out", false),
        ("a.local", true),
        ("sub/kept.local", false),
        ("sub/x", true),
        ("x", false),
        ("sub/secret", true),
    ] {
        assert_eq!(is_ignored(&root, &root.join(file)), ignored, "{file}");
    }
}

#[test]
fn lists_are_read_up_to_a_limit_for_all_of_them() {
    let large = format!("x\n{}", "#\n".repeat(200 << 10));
    let (_dir, root) = tree(&[(".gitignore", &large)]);
    for at in 0..20 {
        fs::create_dir(root.join(at.to_string())).unwrap();
        fs::write(root.join(format!("{at}/.gitignore")), &large).unwrap();
        fs::write(root.join(format!("{at}/x")), "").unwrap();
    }
    let ignored = Ignored::below(&root, Lists::default());
    let read = (0..20).filter(|at| {
        let dir = root.join(at.to_string());
        ignored.node(&dir).is_some_and(|node| node.above.is_some())
    });
    assert_eq!(read.count() as u64, MAX_LISTS / large.len() as u64 - 1);
}
