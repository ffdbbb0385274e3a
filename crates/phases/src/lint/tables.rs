//! What is known of programs, variables and modules, for the check of tests.

use crate::surface::Surface;

/// How a condition looks at a surface.
pub(super) fn how_to_assert(surface: Surface) -> &'static str {
    match surface {
        Surface::DbState => "query the database with sqlite3 in the part ASSERT",
        Surface::FileState => "look at the file that the product wrote",
        Surface::ProcessOutput => "compare what a run of the product printed",
        Surface::ToolResult => {
            "compare what `ona --eval` printed, or the tool_result in transcript_entries"
        }
        Surface::HookRecord => "query hook_invocations with sqlite3",
    }
}

/// What a program is to a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It compares, and its exit status tells the result.
    Compares,
    /// It prints what it reads, changed or not.
    Filters,
    /// It says what there is: a file, a directory.
    Inspects,
    /// It prints its own arguments.
    Prints,
    /// It asks a database.
    Queries,
    /// It runs code, or another command.
    Interprets,
    /// It runs the command behind its own options.
    Wraps,
    /// It changes files.
    Changes,
    /// Nothing of the above.
    Other,
}

/// Programs that are no product, by their role.
const PROGRAMS: [(Role, &[&str]); 9] = [
    (
        Role::Compares,
        &[
            "grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "[", "jq", "comm", "expr",
            "xmllint",
        ],
    ),
    (
        Role::Filters,
        &[
            "cat",
            "head",
            "tail",
            "sed",
            "awk",
            "gawk",
            "mawk",
            "tr",
            "sort",
            "uniq",
            "cut",
            "wc",
            "tee",
            "od",
            "xxd",
            "hexdump",
            "base64",
            "sha256sum",
            "sha1sum",
            "md5sum",
            "cksum",
            "paste",
            "join",
            "fold",
            "fmt",
            "nl",
            "rev",
            "tac",
            "strings",
            "column",
            "xargs",
            "read",
            "mapfile",
            "readarray",
            "iconv",
            "gzip",
            "gunzip",
            "zcat",
            "less",
            "more",
            "expand",
            "unexpand",
            "bc",
            "dc",
        ],
    ),
    (
        Role::Inspects,
        &[
            "ls", "stat", "find", "file", "du", "readlink", "realpath", "tar", "unzip", "zipinfo",
            "getfacl", "tree",
        ],
    ),
    (
        Role::Prints,
        &[
            "echo", "printf", "basename", "dirname", "seq", "yes", "date", "pwd", "whoami", "id",
            "uname", "hostname",
        ],
    ),
    (Role::Queries, &["sqlite3", "psql", "mysql", "mariadb", "duckdb", "redis-cli", "mongosh"]),
    (
        Role::Interprets,
        &[
            "python", "python3", "node", "nodejs", "ruby", "perl", "php", "deno", "bun", "lua",
            "bash", "sh", "dash", "zsh", "eval",
        ],
    ),
    (
        Role::Wraps,
        &[
            "env", "timeout", "time", "command", "exec", "nice", "nohup", "stdbuf", "setsid",
            "script", "sudo", "builtin", "unbuffer",
        ],
    ),
    (
        Role::Changes,
        &[
            "rm", "mv", "cp", "ln", "touch", "mkdir", "rmdir", "chmod", "chown", "truncate",
            "install", "dd", "patch", "rsync", "mktemp", "mkfifo",
        ],
    ),
    (
        Role::Other,
        &[
            "cd", "true", "false", ":", "exit", "return", "set", "shopt", "trap", "sleep", "wait",
            "kill", "local", "declare", "typeset", "export", "readonly", "unset", "let", "shift",
            "break", "continue", "umask", "ulimit", "git", "curl", "wget", "nc", "alias",
            "unalias", "source", ".", "type", "which", "hash", "pushd", "popd", "getopts", "exec",
            "jobs", "fg", "bg", "disown", "pgrep", "pkill", "ps", "sync",
        ],
    ),
];

/// The role of a program; `None` if it may be the product.
pub(super) fn role(program: &str) -> Option<Role> {
    let name = program.rsplit('/').next().unwrap_or(program);
    // Versions of an interpreter: python3.12.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let find = |name: &str| PROGRAMS.iter().find(|(_, names)| names.contains(&name));
    find(name).or_else(|| find(plain).filter(|row| row.0 == Role::Interprets)).map(|row| row.0)
}

/// Programs that run the tests of others.
const FRAMEWORKS: [&str; 24] = [
    "pytest",
    "py.test",
    "unittest",
    "nose2",
    "nosetests",
    "tox",
    "nox",
    "jest",
    "mocha",
    "vitest",
    "ava",
    "jasmine",
    "karma",
    "cypress",
    "bats",
    "shunit2",
    "rspec",
    "minitest",
    "phpunit",
    "pest",
    "ctest",
    "prove",
    "nextest",
    "busted",
];

/// Programs with a subcommand that runs tests, and its names.
const TESTERS: [(&[&str], &[&str]); 2] = [
    (
        &[
            "npm", "yarn", "pnpm", "bun", "deno", "cargo", "go", "dotnet", "mvn", "gradle",
            "gradlew", "mix", "swift", "rake", "rails", "sbt", "zig", "make", "just", "ninja",
        ],
        &["test", "tests", "t", "check", "nextest", "spec", "verify"],
    ),
    (&["node"], &["--test"]),
];

/// Whether a command line runs tests of the product: its program, and its words.
pub(super) fn runs_tests(program: &str, words: &[&str]) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_framework = |word: &str| FRAMEWORKS.contains(&word);
    if is_framework(name)
        || matches!(name, "npx" | "bunx" | "uvx") && words.iter().any(|word| is_framework(word))
    {
        return true;
    }
    if role(name) == Some(Role::Interprets)
        && words.windows(2).any(|two| two[0] == "-m" && is_framework(two[1]))
    {
        return true;
    }
    let row = TESTERS.iter().find(|(names, _)| names.contains(&name));
    row.is_some_and(|(_, subcommands)| {
        // `npm run test:unit` too.
        words.iter().any(|word| {
            let word = word.split(':').next().unwrap_or(word);
            subcommands.contains(&word)
        })
    })
}

/// Variables that load code into programs, or name other programs.
const LOADERS: [&str; 22] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "BASH_ENV",
    "ENV",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "RUBYOPT",
    "PERL5OPT",
    "PERL5DB",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "GIT_EXEC_PATH",
    "PROMPT_COMMAND",
    "PS4",
    "GCONV_PATH",
    "DOTNET_STARTUP_HOOKS",
    "PHPRC",
];

/// Lists of directories where programs and modules are looked for: they may lead to the product and the system.
const SEARCHES: [&str; 7] =
    ["PATH", "PYTHONPATH", "NODE_PATH", "RUBYLIB", "PERL5LIB", "CLASSPATH", "LUA_PATH"];

/// What a variable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Loads,
    Searches,
    Plain,
}

pub(super) fn variable(name: &str) -> Variable {
    match name {
        name if LOADERS.contains(&name) => Variable::Loads,
        name if SEARCHES.contains(&name) => Variable::Searches,
        _ => Variable::Plain,
    }
}

/// Directories of the system.
pub(super) const SYSTEM_DIRS: [&str; 6] =
    ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"];

/// What source files end with.
const SOURCE: [&str; 38] = [
    "rs", "py", "pyx", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "c", "h", "cc",
    "cpp", "cxx", "hpp", "cs", "java", "kt", "kts", "scala", "swift", "m", "rb", "php", "pl", "pm",
    "lua", "ex", "exs", "erl", "hs", "ml", "zig", "sh", "bash",
];

/// Names without an ending that are no source.
const PLAIN_NAMES: [&str; 10] = [
    "README",
    "LICENSE",
    "LICENCE",
    "CHANGELOG",
    "NOTICE",
    "AUTHORS",
    "COPYING",
    "VERSION",
    "INSTALL",
    "CONTRIBUTING",
];

/// Whether a path in the product is taken for source.
pub(super) fn is_source(path: &str) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, end)) if !stem.is_empty() => {
            let end = end.to_lowercase();
            SOURCE.contains(&end.as_str()) || end.contains('*')
        }
        _ => !PLAIN_NAMES.contains(&name.to_uppercase().as_str()),
    }
}

/// Modules that come with a language.
const MODULES: [(&[&str], &[&str]); 4] = [
    (
        &["python"],
        &[
            "argparse",
            "array",
            "ast",
            "base64",
            "binascii",
            "bisect",
            "calendar",
            "codecs",
            "collections",
            "configparser",
            "contextlib",
            "copy",
            "csv",
            "dataclasses",
            "datetime",
            "decimal",
            "difflib",
            "email",
            "enum",
            "errno",
            "fnmatch",
            "fractions",
            "functools",
            "glob",
            "gzip",
            "hashlib",
            "hmac",
            "html",
            "http",
            "io",
            "ipaddress",
            "itertools",
            "json",
            "locale",
            "math",
            "mimetypes",
            "operator",
            "os",
            "pathlib",
            "platform",
            "plistlib",
            "posixpath",
            "pprint",
            "queue",
            "random",
            "re",
            "select",
            "shlex",
            "shutil",
            "signal",
            "socket",
            "sqlite3",
            "ssl",
            "stat",
            "statistics",
            "string",
            "struct",
            "subprocess",
            "sys",
            "tarfile",
            "tempfile",
            "textwrap",
            "threading",
            "time",
            "tomllib",
            "types",
            "typing",
            "unicodedata",
            "urllib",
            "uuid",
            "xml",
            "zipfile",
            "zlib",
            "zoneinfo",
            "__future__",
        ],
    ),
    (
        &["node", "nodejs", "deno", "bun"],
        &[
            "assert",
            "buffer",
            "child_process",
            "crypto",
            "dns",
            "events",
            "fs",
            "http",
            "http2",
            "https",
            "net",
            "os",
            "path",
            "process",
            "querystring",
            "readline",
            "sqlite",
            "stream",
            "string_decoder",
            "timers",
            "tls",
            "tty",
            "url",
            "util",
            "v8",
            "vm",
            "worker_threads",
            "zlib",
        ],
    ),
    (
        &["ruby"],
        &[
            "csv",
            "date",
            "digest",
            "erb",
            "etc",
            "fileutils",
            "find",
            "io",
            "json",
            "net",
            "open3",
            "optparse",
            "pathname",
            "pp",
            "securerandom",
            "set",
            "shellwords",
            "socket",
            "stringio",
            "strscan",
            "tempfile",
            "time",
            "timeout",
            "tmpdir",
            "uri",
            "yaml",
            "zlib",
        ],
    ),
    (
        &["perl"],
        &[
            "strict", "warnings", "utf8", "feature", "bytes", "constant", "lib", "vars", "integer",
            "open", "Carp", "Cwd", "Data", "Digest", "Encode", "Fcntl", "File", "Getopt", "IO",
            "IPC", "JSON", "List", "MIME", "POSIX", "Scalar", "Socket", "Storable", "Text", "Time",
            "Unicode",
        ],
    ),
];

/// Whether a module comes with the language of a program.
pub(super) fn is_of_the_language(program: &str, module: &str) -> bool {
    let first = |separator: &str| module.split(separator).next().unwrap_or(module).to_owned();
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let module = match name {
        "python" => first("."),
        "perl" => first("::"),
        _ => first("/").trim_start_matches("node:").to_owned(),
    };
    let row = MODULES.iter().find(|(programs, _)| programs.contains(&name));
    row.is_some_and(|(_, modules)| modules.contains(&module.as_str()))
}
