//! `cargo xtask hosts`: other agents behind ona's gate, as their makers ship them.
//!
//! Claude Code and Codex come from the npm registry, their model is ona's scripted one on loopback, and the project is set
//! up by `ona init --tool`. The checks look at the files, the trace and the record. It needs the network, so the CI does
//! not run it; docs/HOSTS.md has the results.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::process;

#[derive(clap::Args)]
pub struct Args {
    /// Only this host: claude_code or codex
    #[arg(long)]
    only: Option<String>,
    /// Keep the projects and print their paths
    #[arg(long)]
    keep: bool,
}

/// A host, and how to run it without a terminal.
struct Host {
    name: &'static str,
    package: &'static str,
    program: &'static str,
    /// Its calls, in order: id, tool and input. `{}` stands for the project directory.
    calls: fn(&Path) -> Vec<(&'static str, &'static str, Value)>,
    command: fn(&Path, &World) -> Command,
}

const HOSTS: [Host; 2] = [
    Host {
        name: "claude_code",
        package: "@anthropic-ai/claude-code",
        program: "claude",
        calls: |project| {
            let write = |path: &str| json!({"file_path": project.join(path), "content": "hello\n"});
            vec![
                ("toolu_early", "Write", write("src/a.txt")),
                ("toolu_select", "mcp__ona__select_active_intent", json!({"intent_id": "INT-1"})),
                ("toolu_in", "Write", write("src/a.txt")),
                ("toolu_out", "Write", write("lib.txt")),
                ("toolu_read", "Bash", json!({"command": "ls"})),
                ("toolu_run", "Bash", json!({"command": "sh src/make.sh"})),
            ]
        },
        command: |program, world| {
            let mut command = Command::new(program);
            command
                .args(["-p", "go", "--permission-mode", "acceptEdits", "--mcp-config", ".mcp.json"])
                .args(["--allowedTools", "mcp__ona__select_active_intent"])
                .env("ANTHROPIC_BASE_URL", &world.anthropic_url)
                .env("ANTHROPIC_API_KEY", "sk-scripted")
                .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                .env("CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "1")
                .env("DISABLE_NON_ESSENTIAL_MODEL_CALLS", "1");
            command
        },
    },
    Host {
        name: "codex",
        package: "@openai/codex",
        program: "codex",
        calls: |_| {
            let patch = |path: &str| {
                let text =
                    format!("*** Begin Patch\n*** Add File: {path}\n+hello\n*** End Patch\n");
                json!({"input": text})
            };
            vec![
                ("call_early", "apply_patch", patch("src/a.txt")),
                ("call_select", "mcp__ona__select_active_intent", json!({"intent_id": "INT-1"})),
                ("call_in", "apply_patch", patch("src/a.txt")),
                ("call_out", "apply_patch", patch("lib.txt")),
                ("call_read", "exec_command", json!({"cmd": "ls"})),
                ("call_run", "exec_command", json!({"cmd": "sh src/make.sh"})),
            ]
        },
        command: |program, world| {
            let provider = format!(
                "model_providers.scripted={{name=\"scripted\",base_url=\"{}\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\"}}",
                world.openai_url
            );
            let trusted =
                format!("projects.\"{}\".trust_level=\"trusted\"", world.project.display());
            let mut command = Command::new(program);
            command
                .args(["exec", "--dangerously-bypass-hook-trust", "--json", "-m", "gpt-5.5"])
                .args(["-c", "model_provider=\"scripted\"", "-c", &provider, "-c", &trusted])
                .args([
                    "-c",
                    "approval_policy=\"never\"",
                    "-c",
                    "sandbox_mode=\"danger-full-access\"",
                ])
                .arg("go")
                .env("OPENAI_API_KEY", "sk-scripted");
            command
        },
    },
];

/// The environment of a host.
struct World {
    dir: PathBuf,
    project: PathBuf,
    ona: PathBuf,
    anthropic_url: String,
    openai_url: String,
    model: Child,
}

impl Drop for World {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.model.kill();
        let _ = self.model.wait();
    }
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    ensure!(
        process::find_program("npm").is_some(),
        "npm is not on the PATH: install Node.js first"
    );
    process::run(process::cargo().args(["build", "--locked", "-p", "ona"]).current_dir(root))?;
    let installed = root.join("target/hosts");
    fs::create_dir_all(&installed)?;
    let mut failed = Vec::new();
    println!("| Host | Version | What | Seen |\n|---|---|---|---|");
    for host in
        HOSTS.iter().filter(|host| args.only.as_deref().is_none_or(|only| only == host.name))
    {
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix"];
        process::run(Command::new("npm").args(install).arg(&installed).arg(host.package))?;
        let program = installed.join("node_modules/.bin").join(host.program);
        let version = process::capture(Command::new(&program).arg("--version"))?;
        let dir = tempfile::Builder::new().prefix("ona-hosts-").tempdir()?.keep();
        for (what, seen) in drive(root, host, &program, &dir)? {
            let word = if seen { "yes" } else { "**no**" };
            println!("| {} | {} | {what} | {word} |", host.name, version.trim());
            if !seen {
                failed.push(format!("{}: {what}", host.name));
            }
        }
        if args.keep || !failed.is_empty() {
            eprintln!("the project of {} is kept in {}", host.name, dir.display());
        } else {
            fs::remove_dir_all(&dir)?;
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("not seen: {}", failed.join("; ")) }
}

/// Runs the host's turn; returns the checks.
fn drive(
    root: &Path,
    host: &Host,
    program: &Path,
    dir: &Path,
) -> Result<Vec<(&'static str, bool)>> {
    let world = set_up(root, host, dir)?;
    let mut command = (host.command)(program, &world);
    let ran = process::output(in_world(&mut command, &world))?;
    fs::write(dir.join("host.stdout"), &ran.stdout)?;
    fs::write(dir.join("host.stderr"), &ran.stderr)?;
    let trace = fs::read_to_string(world.project.join(".orchestration/agent_trace.jsonl"))
        .unwrap_or_default();
    let entries: Vec<Value> =
        trace.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let about = |end: &str, success: bool| {
        entries.iter().any(|entry| {
            let id = entry["tool_use_id"].as_str().unwrap_or_default();
            id.ends_with(end) && entry["success"] == success && entry["host"] == host.name
        })
    };
    let there = |name: &str| world.project.join(name).exists();
    let blamed = blame(&world).unwrap_or_default();
    let verified =
        process::output(in_world(Command::new(&world.ona).args(["trace", "verify"]), &world))?;
    Ok(vec![
        ("the turn ends by itself", ran.status.success()),
        ("a write before any intent is selected is refused, and traced", about("_early", false)),
        ("the handshake through MCP selects for the host's session", about("_in", true)),
        ("a write in scope goes through, and is traced", there("src/a.txt") && about("_in", true)),
        ("a write out of scope is refused, and traced", !there("lib.txt") && about("_out", false)),
        ("a read-only command leaves no trace", !about("_read", true) && !about("_read", false)),
        ("changes by a command are found and traced", there("src/made.txt") && about("_run", true)),
        ("blame shows the intent of the line", blamed.contains("INT-1")),
        ("the trace's hash chain is valid", verified.status.success()),
    ])
}

fn blame(world: &World) -> Result<String> {
    process::capture(in_world(
        Command::new(&world.ona).args(["blame", "src/a.txt", "--json"]),
        world,
    ))
}

/// A project with an intent, the host's files, and its model.
fn set_up(root: &Path, host: &Host, dir: &Path) -> Result<World> {
    let project = dir.join("project");
    fs::create_dir_all(project.join("src"))?;
    fs::create_dir_all(dir.join("home"))?;
    let project = project.canonicalize()?;
    fs::write(project.join("src/make.sh"), "echo made > src/made.txt\n")?;
    process::capture(Command::new("git").args(["init", "-q"]).current_dir(&project))?;
    let replies = dir.join("replies.jsonl");
    let mut lines: Vec<Value> = (host.calls)(&project)
        .into_iter()
        .map(|(id, tool, input)| json!({"text": "next", "calls": [{"id": id, "tool": tool, "input": input}]}))
        .collect();
    // Hosts make more model calls at the end, for a title for example.
    lines.extend(std::iter::repeat_n(json!({"text": "done", "calls": []}), 4));
    fs::write(&replies, lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    let ona = root.join("target/debug/ona");
    let mut model = Command::new(&ona)
        .arg("scripted-model")
        .arg(&replies)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the scripted model")?;
    let stdout = model.stdout.take().context("the scripted model has no output")?;
    let mut said = BufReader::new(stdout).lines();
    let mut url = || said.next().transpose()?.context("the scripted model did not start");
    let (anthropic_url, openai_url) = (url()?, url()?);
    // It continues to write and must not block.
    std::thread::spawn(move || said.for_each(drop));
    let world = World { dir: dir.to_owned(), project, ona, anthropic_url, openai_url, model };
    let ona = |args: &[&str]| {
        process::capture(in_world(Command::new(&world.ona).args(args), &world)).map(drop)
    };
    ona(&["init", "--tool", host.name])?;
    // An approval in advance: otherwise the command would need an answer.
    ona(&["config", "set", "permissions.allow", r#"["Bash(sh src/make.sh)"]"#])?;
    ona(&["intent", "add", "--id", "INT-1", "--name", "Say hello", "--scope", "src/**"])?;
    Ok(world)
}

/// A command in the project, with a clean environment.
fn in_world<'c>(command: &'c mut Command, world: &World) -> &'c mut Command {
    let bin = world.ona.parent().unwrap_or(&world.dir);
    let path = std::env::var("PATH").unwrap_or_default();
    let own: Vec<(String, String)> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
        .collect();
    command
        .current_dir(&world.project)
        .env_clear()
        .envs(own)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", world.dir.join("home"))
        .env("AGENT_SDLC_DB", world.dir.join("agent.db"))
}
