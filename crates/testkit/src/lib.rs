//! A temporary project, home and database, and the real binary run in them.
//!
//! Black-box tests use this; nothing here knows ona's internals. A [`Project`] has its own directory, so tests run in
//! parallel. The binary sees none of the developer's environment.
//!
//! ```no_run
//! let project = ona_testkit::Project::new("target/debug/ona");
//! let report = project.eval("Read", serde_json::json!({"file_path": "/etc/hostname"}));
//! assert!(!report.is_error);
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "test support: a failure here is a failed test"
)]

pub mod authority;
pub mod jsonc;
pub mod pty;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The real disk, for tests of crates that must not access it.
pub use ona_repo::Disk;
pub use ona_store::Store;
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Runs git, which must succeed.
pub fn git(dir: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A project directory, with a home and a database next to it.
pub struct Project {
    root: TempDir,
    binary: PathBuf,
}

/// The output and exit code of a program.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The line printed by `ona --eval`.
#[derive(Clone, Debug)]
pub struct Report {
    /// The call's id.
    pub tool_use_id: String,
    /// What the model sees.
    pub content: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl Project {
    /// A new empty project for this binary.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let root = TempDir::with_prefix("ona-test-").unwrap();
        let project = Self { root, binary: binary.into() };
        fs::create_dir(project.dir()).unwrap();
        fs::create_dir(project.home()).unwrap();
        project
    }

    fn root(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    /// The project directory, where the binary starts.
    pub fn dir(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.root().join("agent.db")
    }

    /// A path in the project.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Writes a file in the project and returns its path as text.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The content of a file in the project.
    pub fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The binary, in the project, with its own environment.
    pub fn ona<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = self.command(&self.binary);
        command.args(args);
        command
    }

    /// Another program with the same environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("AGENT_SDLC_DB", self.database())
            .stdin(Stdio::null());
        command
    }

    /// `ona --eval` for one call.
    pub fn eval_command(&self, tool: &str, input: &Value) -> Command {
        let call = json!({"tool": tool, "input": input}).to_string();
        // The kernel limits an argument to 128 KiB.
        if call.len() < 100_000 {
            return self.ona(["--eval", &call]);
        }
        let file = self.root().join("call.json");
        fs::write(&file, call).unwrap();
        let mut command = self.ona(["--eval", "-"]);
        command.stdin(fs::File::open(file).unwrap());
        command
    }

    /// Runs one call, which must be recorded.
    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    pub fn eval(&self, tool: &str, input: Value) -> Report {
        report(&mut self.eval_command(tool, &input))
    }

    /// Runs one call that must succeed; returns its content.
    pub fn ok(&self, tool: &str, input: Value) -> String {
        let report = self.eval(tool, input);
        assert!(!report.is_error, "{tool} failed: {}", report.content);
        report.content
    }

    /// Runs one call that must be refused; returns its content.
    pub fn refused(&self, tool: &str, input: Value) -> String {
        let report = self.eval(tool, input);
        assert!(report.is_error, "{tool} should fail: {}", report.content);
        report.content
    }

    /// The rows of a query, columns joined by `|` as in the sqlite3 shell.
    pub fn sql(&self, query: &str) -> Vec<String> {
        sql(&self.database(), query)
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Ran {
    ran(&command.output().unwrap())
}

fn ran(output: &Output) -> Ran {
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout.clone()).unwrap(),
        stderr: String::from_utf8(output.stderr.clone()).unwrap(),
    }
}

/// Runs an `--eval` command, which must exit 0 and print one line.
pub fn report(command: &mut Command) -> Report {
    let ran = run(command);
    assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
    parse_report(&ran.stdout).unwrap_or_else(|| panic!("no report: {:?}", ran.stdout))
}

/// Parses the line of an `--eval`; `None` if it is incomplete.
pub fn parse_report(stdout: &str) -> Option<Report> {
    let line = stdout.strip_suffix('\n').filter(|line| !line.contains('\n'))?;
    let value: Value = serde_json::from_str(line).ok()?;
    Some(Report {
        tool_use_id: value["tool_use_id"].as_str()?.to_owned(),
        content: value["content"].as_str()?.to_owned(),
        is_error: value["is_error"].as_bool()?,
    })
}

/// The rows of a query against a database, as in [`Project::sql`].
pub fn sql(database: &Path, query: &str) -> Vec<String> {
    let connection = Connection::open(database).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    if !query.trim_start().to_uppercase().starts_with("SELECT") {
        connection.execute_batch(query).unwrap();
        return Vec::new();
    }
    let mut statement = connection.prepare(query).unwrap();
    let columns = statement.column_count();
    let rows = statement
        .query_map([], |row| {
            let cells: Vec<String> = (0..columns)
                .map(|index| {
                    Ok(match row.get::<_, Sql>(index)? {
                        Sql::Null => String::new(),
                        Sql::Integer(number) => number.to_string(),
                        Sql::Real(number) => number.to_string(),
                        Sql::Text(text) => text,
                        Sql::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    })
                })
                .collect::<rusqlite::Result<_>>()?;
            Ok(cells.join("|"))
        })
        .unwrap();
    rows.map(Result::unwrap).collect()
}
