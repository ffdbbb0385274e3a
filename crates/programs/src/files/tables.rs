//! Tables of the files that programs read and write.

/// Commands that go through whole directories if they are told to by one of these letters, or always.
pub(super) const RECURSIVE: &[(&str, &str)] = &[
    ("7z", ""),
    ("7za", ""),
    ("7zr", ""),
    ("ack", ""),
    ("ag", ""),
    ("bsdtar", ""),
    ("bzgrep", "rR"),
    ("chgrp", "R"),
    ("chmod", "R"),
    ("chown", "R"),
    ("cp", "aRr"),
    // Of two directories it compares the files, those below or not.
    ("diff", ""),
    ("egrep", "rR"),
    ("fgrep", "rR"),
    ("grep", "rR"),
    ("gtar", ""),
    ("gunzip", "r"),
    ("gzip", "r"),
    ("mv", ""),
    ("rg", ""),
    ("rm", "rR"),
    ("rsync", ""),
    ("scp", "r"),
    ("tar", ""),
    ("xzgrep", "rR"),
    ("zgrep", "rR"),
    ("zip", "rR"),
    ("zstd", "r"),
];

/// Of those, the ones that search, and search where they are if no directory is named.
pub(super) const SEARCHERS: &[&str] =
    &["ack", "ag", "bzgrep", "egrep", "fgrep", "grep", "rg", "xzgrep", "zgrep"];

/// What of git changes files that are named behind it.
pub(super) const GIT_WRITERS: &[&str] =
    &["rm", "mv", "restore", "checkout", "clean", "merge-file", "mailinfo"];

/// What of it changes the files of the checkout, whether they are named or not.
#[rustfmt::skip]
pub(super) const GIT_CHANGERS: &[&str] = &[
    "am", "bisect", "checkout", "cherry-pick", "clean", "merge", "mv", "pull", "read-tree", "rebase", "reset", "restore",
    "revert", "rm", "sparse-checkout", "stash", "switch",
];

/// And what of it shows them.
#[rustfmt::skip]
pub(super) const GIT_READERS: &[&str] = &[
    "am", "annotate", "apply", "archive", "blame", "bundle", "cat-file", "checkout-index", "diff", "diff-files",
    "diff-index", "diff-tree", "difftool", "fast-export", "format-patch", "grep", "hash-object",
    "interpret-trailers", "log", "ls-files", "ls-tree", "merge-tree", "range-diff", "rev-list", "shortlog", "show",
    "whatchanged",
];

/// Subcommands that change only the repository or tracked files; their other arguments are not files they write.
#[rustfmt::skip]
pub(super) const GIT_INNER: &[&str] = &[
    "add", "bisect", "branch", "bundle", "check-attr", "check-ignore", "check-mailmap", "check-ref-format", "cherry",
    "cherry-pick", "clone", "commit", "commit-graph", "commit-tree", "config", "count-objects", "describe", "fetch",
    "fetch-pack", "for-each-ref", "fsck", "gc", "get-tar-commit-id", "help", "init", "ls-remote", "maintenance", "merge",
    "merge-base", "mktag", "mktree", "name-rev", "notes", "pack-refs", "patch-id", "prune", "pull", "push", "read-tree",
    "rebase", "reflog", "remote", "repack", "replace", "request-pull", "rerere", "reset", "rev-parse", "revert",
    "send-pack", "show-branch", "show-index", "show-ref", "sparse-checkout", "stage", "stash", "status", "stripspace",
    "submodule", "switch", "symbolic-ref", "tag", "update-index", "update-ref", "var", "verify-commit", "verify-pack",
    "verify-tag", "version", "worktree", "write-tree",
];
