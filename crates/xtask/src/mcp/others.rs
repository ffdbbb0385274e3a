//! Third-party servers with ona as client: each tool passes the gate, through `ona --eval`.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Seen, Server, World};
use crate::process;

/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(30);

impl World {
    fn script(&self, package: &str) -> PathBuf {
        self.packages().join(package).join("dist/index.js")
    }

    fn packages(&self) -> PathBuf {
        self.installed.join("node_modules/@modelcontextprotocol")
    }

    fn ona(&self, args: &[&str]) -> Result<String> {
        process::capture(self.command(&self.ona).args(args))
    }

    /// One call with this server; returns ona's answer.
    fn eval(&self, server: &Value, tool: &str, input: &Value) -> Result<Value> {
        let config = json!({"mcpServers": server}).to_string();
        let call = json!({"tool": tool, "input": input}).to_string();
        let mut command = self.command(&self.ona);
        let said = process::capture(command.args(["--mcp-config", &config, "--eval", &call]))?;
        serde_json::from_str(&said).with_context(|| format!("ona said {said}"))
    }
}

pub(super) fn everything_stdio(world: &World) -> Result<Seen> {
    let script = world.script("server-everything");
    drive_everything(world, &json!({"all": {"command": "node", "args": [script, "stdio"]}}))
}

pub(super) fn everything_http(world: &World) -> Result<Seen> {
    let (_server, port) = everything(world, "streamableHttp")?;
    let url = format!("http://127.0.0.1:{port}/mcp");
    drive_everything(world, &json!({"all": {"type": "http", "url": url}}))
}

pub(super) fn everything_sse(world: &World) -> Result<Seen> {
    let (_server, port) = everything(world, "sse")?;
    let url = format!("http://127.0.0.1:{port}/sse");
    drive_everything(world, &json!({"all": {"type": "sse", "url": url}}))
}

/// Starts server-everything on its own port.
fn everything(world: &World, way: &str) -> Result<(Server, u16)> {
    let port = free_port()?;
    let mut command = world.command("node");
    command.arg(world.script("server-everything")).arg(way).env("PORT", port.to_string());
    Ok((listening(&mut command, port)?, port))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Starts a server and waits until it listens.
fn listening(command: &mut Command, port: u16) -> Result<Server> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut server = Server(command.stderr(Stdio::piped()).spawn()?);
    let stderr = server.0.stderr.take().context("the server has no output")?;
    std::thread::spawn(move || BufReader::new(stderr).lines().for_each(drop));
    let start = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if start.elapsed() > PATIENCE {
            bail!("the server does not listen on {port}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(server)
}

fn drive_everything(world: &World, server: &Value) -> Result<Seen> {
    let text = |report: &Value| report["content"].as_str().unwrap_or_default().to_owned();
    let echo = world.eval(server, "mcp__all__echo", &json!({"message": "is it there?"}))?;
    let wrong = world.eval(server, "mcp__all__echo", &json!({"message": 1}))?;
    let unknown = world.eval(server, "mcp__all__nothing", &json!({}))?;
    let picture = world.eval(server, "mcp__all__get-tiny-image", &json!({}))?;
    let listed = world.eval(server, "ListMcpResources", &json!({"server": "all"}))?;
    let first = text(&listed).lines().next().unwrap_or_default().to_owned();
    let first: Value = serde_json::from_str(&first).unwrap_or_default();
    let read = json!({"server": "all", "uri": first["uri"]});
    let read = world.eval(server, "ReadMcpResource", &read)?;
    let asked = "SELECT count(*) FROM gate_answers WHERE stage = 'rules'";
    let judged =
        process::capture(world.command("sqlite3").arg(world.dir.join("agent.db")).arg(asked))?;
    Ok(vec![
        ("a tool is called", echo["is_error"] == false && text(&echo).contains("is it there?")),
        ("invalid input is an error result", wrong["is_error"] == true),
        ("so is an unknown tool", unknown["is_error"] == true),
        (
            "a picture comes with the answer",
            picture["is_error"] == false && text(&picture).contains("picture"),
        ),
        ("resources are listed", listed["is_error"] == false && first["uri"].is_string()),
        ("one is read", read["is_error"] == false && !text(&read).is_empty()),
        ("every call passed the rules", judged.trim().parse::<u32>().is_ok_and(|rows| rows >= 5)),
    ])
}

pub(super) fn filesystem(world: &World) -> Result<Seen> {
    let script = world.script("server-filesystem");
    let server = json!({"files": {"command": "node", "args": [script, world.project]}});
    let text = |report: &Value| report["content"].as_str().unwrap_or_default().to_owned();
    let notes = json!({"path": world.project.join("notes.txt")});
    let read = world.eval(&server, "mcp__files__read_text_file", &notes)?;
    let outside = json!({"path": "/etc/hostname"});
    let outside = world.eval(&server, "mcp__files__read_text_file", &outside)?;
    let new = world.project.join("by-server.txt");
    let write = json!({"path": new, "content": "written by a server"});
    let write = world.eval(&server, "mcp__files__write_file", &write)?;
    let found = world.eval(&server, "ToolSearch", &json!({"query": "write a file"}))?;
    Ok(vec![
        ("a file is read", read["is_error"] == false && text(&read).contains("remember this")),
        ("one outside the roots is refused by the server", outside["is_error"] == true),
        ("a file is written", write["is_error"] == false && new.exists()),
        ("ToolSearch answers", found["is_error"] == false),
    ])
}

/// Signs in with the library's example authorization server: discovered from a 401, registered there, approved in a
/// browser, which is `fetch` here.
pub(super) fn oauth(world: &World) -> Result<Seen> {
    let example = "sdk/dist/esm/examples/server/simpleStreamableHttp.js";
    let (port, desk) = (free_port()?, free_port()?);
    let mut command = world.command("node");
    command.arg(world.packages().join(example)).arg("--oauth");
    command.env("MCP_PORT", port.to_string()).env("MCP_AUTH_PORT", desk.to_string());
    let _server = listening(&mut command, port)?;
    let url = format!("http://localhost:{port}/mcp");
    world.ona(&["mcp", "add", "--transport", "http", "demo", &url])?;
    let before = world.ona(&["mcp", "list"])?;

    let mut login = world.command(&world.ona);
    let login = login.args(["mcp", "login", "demo"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut login = Server(login.stderr(Stdio::piped()).spawn()?);
    let stderr = login.0.stderr.take().context("it has no output")?;
    let mut said = BufReader::new(stderr).lines();
    let page =
        said.by_ref().find_map(|line| line.ok()?.strip_prefix("sign in here: ").map(str::to_owned));
    let page = page.context("it printed no sign-in page")?;
    let browser = format!("fetch({}).then(page => page.text()).then(console.log)", json!(page));
    let shown = process::capture(world.command("node").args(["-e", &browser]))?;
    let signed_in = login.0.wait()?.success();

    let after = world.ona(&["mcp", "list"])?;
    let call = json!({"tool": "mcp__demo__greet", "input": {"name": "Ann"}}).to_string();
    let greeted = world.ona(&["--eval", &call])?;
    world.ona(&["mcp", "logout", "demo"])?;
    let out = world.ona(&["mcp", "list"])?;
    Ok(vec![
        ("a server that requires sign-in is reported", before.contains("needs login")),
        ("the browser comes back", shown.contains("You can close this page")),
        (
            "`ona mcp login` succeeds, and the tokens are stored",
            signed_in && after.contains("connected"),
        ),
        ("a tool is called with it", greeted.contains("Hello, Ann!")),
        ("after `ona mcp logout` they are deleted", out.contains("needs login")),
    ])
}
