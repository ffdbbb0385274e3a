//! Repositories in which git would wait for ever, or read without end.

use std::time::Instant;

use super::*;
use crate::testing::pipe;

fn sparse(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
}

#[tokio::test]
async fn a_file_of_the_repository_that_git_would_wait_for_is_named() {
    for name in
        ["config", "HEAD", "index", "packed-refs", "commondir", "shallow", "refs/heads/main"]
    {
        for make in [pipe, sparse] {
            let repository = Repository::new();
            repository.commit("first");
            make(&repository.root().join(".git").join(name));
            let error = head(&repository.root()).await.unwrap_err().to_string();
            assert!(error.contains(name), "{name}: {error}");
            let errors = [
                changed_since(&repository.root(), None).await.map(drop),
                worktrees::branches(&repository.root()).await.map(drop),
            ];
            assert!(errors.iter().all(Result::is_err), "{name}");
        }
    }
}

#[tokio::test]
async fn git_that_cannot_read_its_configuration_is_given_up() {
    let repository = Repository::new();
    repository.commit("first");
    repository.git(&["branch", "worktree-agent-1"]);
    repository.git(&["config", "include.path", "../included"]);
    pipe(&repository.root().join("included"));
    // What every session asks is answered without git.
    assert_eq!(worktrees::branches(&repository.root()).await.unwrap(), ["worktree-agent-1"]);
    let begun = Instant::now();
    assert!(matches!(head(&repository.root()).await, Err(GitError::Stuck)));
    assert!(begun.elapsed() < PATIENCE / 2);
}

#[tokio::test]
async fn a_file_that_git_meets_on_its_way_is_named() {
    let pipes = ["src/.gitignore", "src/deep/.gitattributes", "excludes"];
    let asked = pipes.map(|name| async move {
        let repository = Repository::new();
        repository.file("src/deep/a.txt", "a\n");
        repository.commit("first");
        repository.git(&["config", "core.excludesFile", "excludes"]);
        pipe(&repository.root().join(name));
        let error = match name {
            // Attributes are read where the content of files is compared.
            "src/deep/.gitattributes" => {
                repository.file("src/deep/a.txt", "b\n");
                let root = repository.root();
                worktrees::is_touched(&root, &root, "HEAD").await.map(drop)
            }
            _ => files(&repository.root()).await.map(drop),
        };
        (name, error)
    });
    let [one, two, three] = asked;
    for (name, error) in <[_; 3]>::from(tokio::join!(one, two, three)) {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("not a regular file"), "{name}: {error}");
    }
}

#[tokio::test]
async fn what_git_reads_into_memory_is_limited() {
    let repository = Repository::new();
    // git hands its limits on to what it starts.
    let settings = ["alias.limit=!ulimit -d"];
    let conditions = safe::Conditions { settings: &settings, ..Default::default() };
    let said = git_with(&repository.root(), conditions, &["limit"], &[]).await.unwrap();
    let limit: u64 = first_line(&said.stdout.bytes).parse().unwrap();
    assert!(limit <= 2 << 20, "{limit} KiB");
}

#[tokio::test]
async fn branches_of_agents_are_found_wherever_git_keeps_them() {
    let repository = Repository::new();
    repository.commit("first");
    for name in ["worktree-agent-1", "worktree-agent-2", "worktree-agent/3", "other"] {
        repository.git(&["branch", name]);
    }
    repository.git(&["pack-refs", "--all"]);
    repository.git(&["branch", "worktree-agent-4"]);
    repository.git(&["branch", "-f", "worktree-agent-2"]);
    repository.file(".git/refs/heads/worktree-agent-5.lock", "");
    let linked = repository.root().join("../linked");
    repository.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    for dir in [repository.root(), linked] {
        let found = worktrees::branches(&dir).await.unwrap();
        assert_eq!(found, ["worktree-agent-1", "worktree-agent-2", "worktree-agent-4"]);
    }
}
