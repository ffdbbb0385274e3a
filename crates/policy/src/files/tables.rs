//! Tables of the files that programs read and write.

/// Commands that show the files they are given.
#[rustfmt::skip]
pub(super) const READERS: &[&str] = &[
    ".", "ack", "ag", "awk", "base32", "base64", "basenc", "bat", "batcat", "bzcat", "bzgrep", "cat", "cksum",
    "cmp", "col", "colrm", "column", "comm", "cp", "csplit", "cut", "diff", "diff3", "egrep", "expand", "fgrep",
    "file", "fmt", "fold", "gawk", "grep", "head", "hexdump", "hexyl", "iconv", "install", "jq", "join", "less",
    "ln", "look", "mawk", "md5sum", "more", "mv", "nawk", "nl", "od", "paste", "pg", "pr", "rev", "rg", "rsync",
    "scp", "sdiff", "sed", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "shuf", "sort",
    "source", "split", "stat", "strings", "sum", "tac", "tail", "tar", "tr", "tsort", "unexpand", "uniq", "view",
    "wc", "xxd", "xz", "xzcat", "xzgrep", "yq", "zcat", "zgrep", "zip", "zless", "zmore", "zstdcat",
];

/// Commands that change the files they are given.
#[rustfmt::skip]
pub(super) const WRITERS: &[&str] = &[
    "bunzip2", "bzip2", "chattr", "chgrp", "chmod", "chown", "cp", "csplit", "ed", "emacs", "ex", "gunzip", "gzip",
    "install", "ln", "mkdir", "mkfifo", "mknod", "mv", "nano", "nvim", "patch", "rename", "rm", "rmdir", "rsync",
    "scp", "setfacl", "shred", "split", "sponge", "tee", "touch", "truncate", "uniq", "unlink", "unxz", "vi",
    "vim", "xxd", "xz", "zip", "zstd",
];

/// Commands that look at names, or at nothing: their words give no file away.
#[rustfmt::skip]
pub(super) const HARMLESS: &[&str] = &[
    ":", "[", "[[", "arch", "basename", "break", "cd", "continue", "df", "dirname", "echo", "exit",
    "export", "expr", "false", "getconf", "hash", "hostname", "id", "jobs", "kill", "ls", "nproc", "pgrep",
    "pkill", "popd", "printf", "ps", "pushd", "pwd", "read", "readlink", "realpath", "return", "seq", "set",
    "shift", "sleep", "test", "tput", "tree", "true", "type", "umask", "uname", "unset", "wait", "which", "whoami",
];

/// Commands that go through whole directories if they are told to by one of these letters, or always.
pub(super) const RECURSIVE: &[(&str, &str)] = &[
    ("ack", ""),
    ("ag", ""),
    ("bzgrep", "rR"),
    ("chgrp", "R"),
    ("chmod", "R"),
    ("chown", "R"),
    ("cp", "aRr"),
    ("diff", "r"),
    ("egrep", "rR"),
    ("fgrep", "rR"),
    ("grep", "rR"),
    ("gunzip", "r"),
    ("gzip", "r"),
    ("mv", ""),
    ("rg", ""),
    ("rm", "rR"),
    ("rsync", ""),
    ("scp", "r"),
    ("tar", ""),
    ("zgrep", "rR"),
    ("zip", "r"),
];

/// Of those, the ones that search, and search where they are if no directory is named.
pub(super) const SEARCHERS: &[&str] =
    &["ack", "ag", "bzgrep", "egrep", "fgrep", "grep", "rg", "zgrep"];

/// Options whose value is a file that is written: command, letter, long name.
pub(super) const OUTPUTS: &[(&[&str], char, &str)] = &[
    (
        &["sort", "curl", "cc", "gcc", "g++", "clang", "rustc", "ld", "iconv", "pandoc"],
        'o',
        "--output",
    ),
    (&["wget"], 'O', "--output-document"),
];

/// Commands that put files into a directory.
pub(super) const PLACERS: &[&str] = &["cp", "mv", "ln", "install"];

/// Commands that unpack, or change what a text names: which files, is not on the command line.
pub(super) const SCATTERERS: &[&str] =
    &["7z", "7za", "ar", "bsdtar", "cpio", "patch", "tar", "unrar", "unzip"];

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
