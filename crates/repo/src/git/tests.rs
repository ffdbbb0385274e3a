//! Real repositories of every kind.
#![expect(clippy::disallowed_methods, reason = "tests start git to make repositories")]

mod waiting;

use std::os::unix::fs::symlink;
use std::process::Command;

use tempfile::TempDir;

use super::*;

struct Repository {
    dir: TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(repository.root()).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn git(&self, args: &[&str]) {
        git_in(&self.root(), args);
    }

    fn file(&self, name: &str, content: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }
}

fn git_in(dir: &Path, args: &[&str]) {
    let who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"];
    let done = Command::new("git").current_dir(dir).args(who).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

async fn listed(root: &Path, since: Option<&str>) -> Vec<(String, Option<String>, Option<String>)> {
    let changed = changed_since(root, since).await.unwrap();
    let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8(bytes).unwrap());
    let contents = contents(root, &changed).await.unwrap();
    let rows = changed.iter().zip(contents).filter(|(_, both)| both.old != both.new);
    rows.map(|(file, both)| {
        (file.path.to_str().unwrap().to_owned(), text(both.old), text(both.new))
    })
    .collect()
}

fn row(
    name: &str,
    old: Option<&str>,
    new: Option<&str>,
) -> (String, Option<String>, Option<String>) {
    (name.to_owned(), old.map(str::to_owned), new.map(str::to_owned))
}

#[tokio::test]
async fn every_kind_of_change_is_seen_and_odd_names_are_one_name() {
    let repository = Repository::new();
    let root = repository.root();
    assert_eq!(head(&root).await.unwrap(), None);
    repository.file(".gitignore", "*.log\n");
    repository.file("odd\n\"name ä", "1\n");
    assert_eq!(listed(&root, None).await.len(), 2, "before the first commit everything is new");
    repository.file("kept", "same\n");
    repository.file("staged", "1\n");
    repository.file("unstaged", "1\n");
    repository.file("gone", "1\n");
    repository.file("out", "1\n");
    symlink("kept", root.join("link")).unwrap();
    repository.commit("first");
    let first = head(&root).await.unwrap().unwrap();
    assert!(listed(&root, Some(&first)).await.is_empty());

    repository.file("staged", "2\n");
    repository.git(&["add", "staged"]);
    repository.file("unstaged", "2\n");
    fs::remove_file(root.join("gone")).unwrap();
    repository.git(&["rm", "-q", "--cached", "out"]);
    repository.file("new", "n\n");
    repository.file("noise.log", "n\n");
    repository.file("kept", "same\n");
    repository.file("odd\n\"name ä", "2\n");
    fs::remove_file(root.join("link")).unwrap();
    symlink("new", root.join("link")).unwrap();
    let expected = [
        row("gone", Some("1\n"), None),
        row("link", Some("kept"), Some("new")),
        row("new", None, Some("n\n")),
        row("odd\n\"name ä", Some("1\n"), Some("2\n")),
        row("staged", Some("1\n"), Some("2\n")),
        row("unstaged", Some("1\n"), Some("2\n")),
    ];
    assert_eq!(listed(&root, Some(&first)).await, expected);
    // What was committed since counts too.
    repository.commit("second");
    assert_eq!(listed(&root, Some(&first)).await, expected);
    assert_eq!(commit(&root, "HEAD~1").await.unwrap(), first);
    assert_eq!(commits_since(&root, &first).await.unwrap().len(), 2);
    let between = changed_between(&root, Some(&first), "HEAD").await.unwrap();
    assert_eq!(between.len(), 6);
    assert_eq!(changed_between(&root, None, &first).await.unwrap().len(), 8);
}

#[tokio::test]
async fn below_the_top_only_what_is_below_counts() {
    let repository = Repository::new();
    repository.file("a/one", "1\n");
    repository.file("b", "1\n");
    repository.commit("first");
    repository.file("a/one", "2\n");
    repository.file("b", "2\n");
    repository.file("a/two", "2\n");
    let below = repository.root().join("a");
    let expected = [row("one", Some("1\n"), Some("2\n")), row("two", None, Some("2\n"))];
    assert_eq!(listed(&below, Some("HEAD")).await, expected);
    let mut all = files(&below).await.unwrap();
    all.sort();
    assert_eq!(all, [PathBuf::from("one"), PathBuf::from("two")]);
}

#[tokio::test]
async fn submodules_are_gone_into() {
    let library = Repository::new();
    library.file("lib.c", "1\n");
    library.commit("first");
    let repository = Repository::new();
    repository.git(&["submodule", "-q", "add", library.root().to_str().unwrap(), "lib"]);
    let root = repository.root();
    repository.commit("with lib");
    assert!(listed(&root, Some("HEAD")).await.is_empty());
    repository.file("lib/lib.c", "2\n");
    repository.file("lib/new.c", "n\n");
    let expected =
        [row("lib/lib.c", Some("1\n"), Some("2\n")), row("lib/new.c", None, Some("n\n"))];
    assert_eq!(listed(&root, Some("HEAD")).await, expected);
    // A commit in the submodule takes nothing from sight.
    git_in(&root.join("lib"), &["add", "-A"]);
    git_in(&root.join("lib"), &["commit", "-q", "-m", "inside"]);
    assert_eq!(listed(&root, Some("HEAD")).await, expected);
    // One that is not checked out has nothing to show, and a repository that is no submodule is one line.
    git_in(&root, &["submodule", "-q", "deinit", "-f", "lib"]);
    assert!(listed(&root, Some("HEAD")).await.is_empty());
    git_in(&root, &["clone", "-q", library.root().to_str().unwrap(), "nested"]);
    let rows = listed(&root, Some("HEAD")).await;
    assert_eq!((rows.len(), &*rows[0].0), (1, "nested"));
    assert!(rows[0].2.as_ref().unwrap().starts_with("Subproject commit "), "{rows:?}");
}

#[tokio::test]
async fn worktrees_shallow_clones_and_no_repository_at_all() {
    let repository = Repository::new();
    repository.file("a", "1\n");
    repository.commit("first");
    repository.file("a", "2\n");
    repository.commit("second");
    let beside = repository.dir.path().canonicalize().unwrap();
    repository.git(&["worktree", "add", "-q", "../tree"]);
    fs::write(beside.join("tree/a"), "3\n").unwrap();
    assert_eq!(
        listed(&beside.join("tree"), Some("HEAD")).await,
        [row("a", Some("2\n"), Some("3\n"))]
    );

    let from = format!("file://{}", repository.root().display());
    git_in(&beside, &["clone", "-q", "--depth", "1", &from, "shallow"]);
    let shallow = beside.join("shallow");
    assert!(listed(&shallow, Some("HEAD")).await.is_empty());
    let error = commit(&shallow, "HEAD~1").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "commit `HEAD~1` not found in this repository, which is a shallow clone"
    );
    for rev in ["no-such", "--all", "", "HEAD:a"] {
        let error = commit(&repository.root(), rev).await.unwrap_err();
        assert!(matches!(error, GitError::NoCommit { shallow: false, .. }), "{rev}: {error}");
    }
    let nowhere = tempfile::tempdir().unwrap();
    for result in
        [head(nowhere.path()).await.err(), changed_since(nowhere.path(), None).await.err()]
    {
        assert!(matches!(result, Some(GitError::NoCheckout(_))), "{result:?}");
    }
    git_in(&beside, &["init", "-q", "--bare", "bare"]);
    let bare = changed_since(&beside.join("bare"), None).await.unwrap_err();
    assert!(matches!(bare, GitError::NoCheckout(_)), "{bare}");
}

#[tokio::test]
async fn nothing_the_repository_brings_is_run() {
    let repository = Repository::new();
    let root = repository.root();
    repository.file("a", "1\n");
    repository.file(".gitattributes", "* diff=x\n");
    repository.commit("first");
    let touch = format!("touch {}/ran; cat", repository.dir.path().display());
    for key in
        ["core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "gpg.program"]
    {
        repository.git(&["config", key, &touch]);
    }
    repository.git(&["config", "log.showSignature", "true"]);
    let hook = root.join(".git/hooks/post-index-change");
    fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repository.file("a", "2\n");
    assert_eq!(listed(&root, Some("HEAD")).await.len(), 1);
    earlier_names(&root, "a").await.unwrap();
    assert_eq!(line_commits(&root, "a").await.unwrap(), [None]);
    describe(&root, "HEAD").await.unwrap();
    changed_between(&root, None, "HEAD").await.unwrap();
    files(&root).await.unwrap();
    assert!(!repository.dir.path().join("ran").exists());
}

#[tokio::test]
async fn the_past_of_a_file() {
    let repository = Repository::new();
    let root = repository.root();
    repository.file("sub/one", "a\nb\nc\nd\ne\n");
    repository.commit("first");
    let first = head(&root).await.unwrap();
    repository.git(&["mv", "sub/one", "sub/two"]);
    repository.commit("moved");
    repository.git(&["mv", "sub/two", "sub/three"]);
    repository.file("sub/three", "a\nb\nc\nd\nE\n");
    repository.commit("moved again");
    assert_eq!(earlier_names(&root, "sub/three").await.unwrap(), ["sub/two", "sub/one"]);
    assert_eq!(earlier_names(&root.join("sub"), "three").await.unwrap(), ["two", "one"]);
    assert!(earlier_names(&root, "no-such").await.unwrap().is_empty());
    repository.file("sub/three", "a\nb\nc\nd\nE\nnew\n");
    let commits = line_commits(&root, "sub/three").await.unwrap();
    assert_eq!((commits.len(), &commits[0], &commits[5]), (6, &first, &None));
    assert_ne!(commits[4], first);
    assert!(line_commits(&root, "no-such").await.unwrap().is_empty());
    let told = describe(&root, "HEAD").await.unwrap();
    assert_eq!((told.author.as_str(), told.at.len()), ("A <a@b>", 19));
    assert_eq!(told.parent, Some(commit(&root, "HEAD~1").await.unwrap()));
}

#[tokio::test]
async fn blobs_come_in_the_order_they_were_asked_for() {
    let repository = Repository::new();
    let root = repository.root();
    repository.file("a", "1\n\n");
    repository.file("empty", "");
    repository.commit("first");
    let ids = ["HEAD:a", "HEAD:none", "HEAD", "HEAD:empty", "HEAD:a"];
    let found = blobs(&root, &ids).await.unwrap();
    let one = Some(b"1\n\n".to_vec());
    assert_eq!(found, [one.clone(), None, None, Some(Vec::new()), one]);
}

#[tokio::test]
async fn filters_of_the_repository_do_not_run_in_a_worktree_that_is_made() {
    let repository = Repository::new();
    repository.file(".gitattributes", "*.txt filter=odd\n");
    repository.file("a.txt", "as it is\n");
    repository.commit("one");
    let ran = repository.root().join("ran");
    for kind in ["smudge", "clean"] {
        let command = format!("touch {}; cat", ran.display());
        repository.git(&["config", &format!("filter.odd.{kind}"), &command]);
    }
    repository.git(&["config", "filter.odd.required", "true"]);
    let place = repository.root().join("wt");
    let base = worktrees::add(&repository.root(), &place, "side").await.unwrap();
    assert_eq!(std::fs::read_to_string(place.join("a.txt")).unwrap(), "as it is\n");
    std::fs::write(place.join("a.txt"), "as it was\n").unwrap();
    assert!(worktrees::is_touched(&repository.root(), &place, &base).await.unwrap());
    assert!(!ran.exists());
    repository.git(&["config", "filter.a=b.smudge", "cat"]);
    let refused = worktrees::add(&repository.root(), &repository.root().join("w2"), "other").await;
    assert!(refused.unwrap_err().to_string().contains("cannot be switched off"));
}

/// Everything that ona asks git about the files of a work tree.
async fn ask_about_files(root: &Path) {
    listed(root, Some("HEAD")).await;
    line_commits(root, "a.txt").await.unwrap();
    worktrees::is_touched(root, root, "HEAD").await.unwrap();
    files(root).await.unwrap();
    worktrees::ignored_of(root, ".gitignore").await.unwrap();
}

#[tokio::test]
async fn filters_of_the_repository_and_of_its_submodules_never_run() {
    let (inner, outer) = (Repository::new(), Repository::new());
    for repository in [&inner, &outer] {
        repository.file(".gitattributes", "*.txt filter=odd\n");
        repository.file(".gitignore", "*.log\n");
        repository.file("a.txt", "1\n");
        repository.commit("first");
    }
    let from = inner.root();
    outer.git(&["submodule", "add", "-q", from.to_str().unwrap(), "module"]);
    outer.commit("with a submodule");
    let (root, module) = (outer.root(), outer.root().join("module"));
    let ran = outer.dir.path().join("ran");
    let set = |dir: &Path, key: &str| {
        git_in(dir, &["config", key, &format!("touch {}; cat", ran.display())]);
    };
    // Through a file that the configuration includes, too.
    let included = root.join(".git/more");
    git_in(&root, &["config", "include.path", "more"]);
    git_in(&root, &["config", "-f", included.to_str().unwrap(), "filter.odd.process", "false"]);
    for kind in ["filter.odd.clean", "filter.odd.smudge"] {
        set(&root, kind);
        set(&module, kind);
    }
    for (file, content) in [("a.txt", "2\n"), ("module/a.txt", "2\n")] {
        outer.file(file, content);
    }
    ask_about_files(&root).await;
    assert!(!ran.exists(), "{}", fs::read_to_string(root.join(".git/config")).unwrap());
    assert_eq!(listed(&root, Some("HEAD")).await.len(), 2);
    // The test can fail: git itself runs it.
    outer.git(&["config", "--unset", "include.path"]);
    git_in(&root, &["status"]);
    assert!(ran.exists());
}

#[tokio::test]
async fn a_directory_that_only_looks_like_a_repository_is_not_used() {
    let repository = Repository::new();
    repository.file("packages/app/a.txt", "1\n");
    let ran = repository.dir.path().join("ran");
    let evil = format!("[core]\n\tfsmonitor = touch {}\n", ran.display());
    for (place, common) in [("packages", "packages"), ("packages/app", "packages/app/common")] {
        repository.file(&format!("{place}/HEAD"), "ref: refs/heads/main\n");
        repository.file(&format!("{common}/config"), &evil);
        repository.file(&format!("{common}/objects/keep"), "");
        repository.file(&format!("{common}/refs/keep"), "");
    }
    repository.file("packages/app/commondir", "common\n");
    repository.commit("first");
    for dir in ["packages", "packages/app"] {
        let dir = repository.root().join(dir);
        for error in [
            head(&dir).await.err(),
            changed_since(&dir, None).await.err(),
            line_commits(&dir, "a.txt").await.err(),
            earlier_names(&dir, "a.txt").await.err(),
            worktrees::branches(&dir).await.err(),
        ] {
            assert!(matches!(error, Some(GitError::LooksLikeRepository(_))), "{error:?}");
        }
    }
    assert!(!ran.exists());
}

#[test]
fn the_function_for_shells_refuses_what_only_looks_like_a_repository() {
    let dir = tempfile::tempdir().unwrap();
    git_in(dir.path(), &["init", "-q", "--bare", "sub"]);
    git_in(dir.path(), &["init", "-q", "real"]);
    let said = |at: &str| {
        let script = format!("{}git -C {at} rev-parse --git-dir", shell_function());
        Command::new("bash").current_dir(dir.path()).args(["-c", &script]).output().unwrap()
    };
    assert!(said("real").status.success());
    let refused = said("sub");
    assert!(!refused.status.success(), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("safe.bareRepository"));
}
