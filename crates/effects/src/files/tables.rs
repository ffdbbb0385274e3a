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
    "am", "bisect", "checkout", "cherry-pick", "clean", "merge", "pull", "rebase", "reset", "restore", "revert",
    "stash", "switch",
];

/// And what of it shows them.
#[rustfmt::skip]
pub(super) const GIT_READERS: &[&str] = &[
    "am", "annotate", "apply", "archive", "blame", "bundle", "cat-file", "checkout-index", "diff", "diff-files",
    "diff-index", "diff-tree", "difftool", "fast-export", "format-patch", "grep", "hash-object",
    "interpret-trailers", "log", "ls-files", "ls-tree", "merge-tree", "range-diff", "rev-list", "shortlog", "show",
    "whatchanged",
];
