//! `cargo xtask mcp`: ona's MCP server with the official client, and third-party servers with ona as their client,
//! all from npm.
//!
//! The checks look at the client's output, at the files, and at the record through `ona`.

mod others;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::process;

/// The client library and third-party servers.
const PACKAGES: [&str; 3] = [
    "@modelcontextprotocol/sdk",
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-filesystem",
];

const CLIENT: &str = include_str!("mcp_client.mjs");

#[derive(clap::Args, Default)]
pub struct Args {
    /// Keep the projects and print their paths
    #[arg(long)]
    keep: bool,
}

/// A check, and whether it passed.
type Seen = Vec<(&'static str, bool)>;

/// One combination to run.
struct Drive {
    name: &'static str,
    run: fn(&World) -> Result<Seen>,
}

const DRIVES: [Drive; 7] = [
    Drive { name: "`ona mcp serve`, standard streams", run: over_stdio },
    Drive { name: "`ona mcp serve`, HTTP", run: over_http },
    Drive { name: "server-everything, standard streams", run: others::everything_stdio },
    Drive { name: "server-everything, HTTP", run: others::everything_http },
    Drive { name: "server-everything, SSE", run: others::everything_sse },
    Drive { name: "server-filesystem, standard streams", run: others::filesystem },
    Drive { name: "the library's example with OAuth, HTTP", run: others::oauth },
];

/// A project and its programs.
struct World {
    dir: PathBuf,
    project: PathBuf,
    ona: PathBuf,
    installed: PathBuf,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    ensure!(
        process::find_program("npm").is_some() && process::find_program("node").is_some(),
        "npm and node are not on the PATH: install Node.js first"
    );
    process::run(process::cargo().args(["build", "--locked", "-p", "ona"]).current_dir(root))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| root.join("target"));
    let installed = target.join("mcp");
    fs::create_dir_all(&installed)?;
    let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix"];
    process::run(Command::new("npm").args(install).arg(&installed).args(PACKAGES))?;
    fs::write(installed.join("client.mjs"), CLIENT)?;
    let version = version(&installed, PACKAGES[0])?;
    let mut failed = Vec::new();
    println!("the client is sdk {version}\n");
    println!("| Server | What | Seen |\n|---|---|---|");
    for drive in &DRIVES {
        let dir = tempfile::Builder::new().prefix("ona-mcp-").tempdir()?.keep();
        let world = set_up(&dir, target.join("debug/ona"), installed.clone())?;
        for (what, seen) in (drive.run)(&world)? {
            let word = if seen { "yes" } else { "**no**" };
            println!("| {} | {what} | {word} |", drive.name);
            if !seen {
                failed.push(format!("{}: {what}", drive.name));
            }
        }
        if args.keep || !failed.is_empty() {
            eprintln!("the project of {} is kept in {}", drive.name, dir.display());
        } else {
            fs::remove_dir_all(&dir)?;
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("not seen: {}", failed.join("; ")) }
}

/// The version of an installed package.
fn version(installed: &Path, package: &str) -> Result<String> {
    let file = installed.join("node_modules").join(package).join("package.json");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let package: Value = serde_json::from_str(&text)?;
    Ok(package["version"].as_str().unwrap_or("?").to_owned())
}

fn set_up(dir: &Path, ona: PathBuf, installed: PathBuf) -> Result<World> {
    let project = dir.join("project");
    let settings = dir.join("home/.claude/settings.json");
    fs::create_dir_all(&project)?;
    fs::create_dir_all(settings.parent().context("it has a parent")?)?;
    let project = project.canonicalize()?;
    fs::write(project.join("notes.txt"), "remember this\n")?;
    fs::write(settings, json!({"permissions": {"deny": ["NotebookEdit"]}}).to_string())?;
    Ok(World { dir: dir.to_owned(), project, ona, installed })
}

impl World {
    /// A command in the project, with a clean environment.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.join("home"))
            .env("AGENT_SDLC_DB", self.dir.join("agent.db"));
        command
    }

    /// Makes these calls with the client; returns its output.
    fn client(&self, calls: &Value, target: &[&str]) -> Result<Value> {
        let script = self.installed.join("client.mjs");
        let mut command = self.command("node");
        let said = process::capture(command.arg(script).arg(calls.to_string()).args(target))?;
        serde_json::from_str(&said).with_context(|| format!("the client printed {said}"))
    }
}

fn over_stdio(world: &World) -> Result<Seen> {
    let ona = world.ona.to_str().context("the path of the target directory is not UTF-8")?;
    drive(world, &["stdio", ona, "mcp", "serve"])
}

/// A server that is killed on drop.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn over_http(world: &World) -> Result<Seen> {
    let mut command = world.command(&world.ona);
    let command = command.args(["mcp", "serve", "--http", "0"]).stdin(Stdio::null());
    let mut server = Server(command.stderr(Stdio::piped()).spawn()?);
    let stderr = server.0.stderr.take().context("the server has no output")?;
    let mut said = BufReader::new(stderr).lines();
    let line = said.next().transpose()?.context("the server did not start")?;
    // It continues to write and must not block.
    std::thread::spawn(move || said.for_each(drop));
    let address = line.strip_prefix("listening on ").with_context(|| format!("it said {line}"))?;
    drive(world, &["http", address])
}

fn drive(world: &World, target: &[&str]) -> Result<Seen> {
    let written = world.project.join("new.txt");
    let calls = json!([
        {"name": "Read", "arguments": {"file_path": world.project.join("notes.txt")}},
        {"name": "Write", "arguments": {"file_path": written, "content": "x"}},
        {"name": "NoSuchTool", "arguments": {}},
    ]);
    let seen = world.client(&calls, target)?;
    let text = |at: usize| {
        seen["calls"][at]["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    let has = |name: &str| seen["tools"].as_array().is_some_and(|all| all.contains(&json!(name)));
    let log = process::capture(world.command(&world.ona).args(["log", "--json"]))?;
    let why = process::capture(world.command(&world.ona).arg("why"))?;
    Ok(vec![
        ("the client connects", seen["server"]["name"] == "ona"),
        ("the built-in tools are listed", ["Read", "Write", "Bash", "Glob"].map(has) == [true; 4]),
        ("a tool that a rule denies is not", !has("NotebookEdit")),
        ("a file is read", text(0).contains("remember this")),
        (
            "a write without a human is refused, with the reason",
            seen["calls"][1]["result"]["isError"] == true
                && text(1).contains("no user is available")
                && !written.exists(),
        ),
        ("an unknown tool is a protocol error", seen["calls"][2]["error"]["code"] == -32602),
        ("the calls are on the record", log.matches("tool.finished").count() == 2),
        (
            "`ona why` shows the refusal",
            why.contains("Write") && why.contains("no user is available"),
        ),
    ])
}
