//! Tools of many MCP servers: searching them, and starting with a server that hangs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::measure::{median_of, timed};
use super::table::{Limit, Row};
use super::{Bench, figures, milliseconds, succeeded};

const SEARCH: Limit = Limit::at_most(5.0, 2.0, "ms");
const PAST: Limit = Limit::at_most(150.0, 60.0, "ms");
/// How long the first model call waits for servers here.
const DEADLINE: Duration = Duration::from_millis(2_000);
const RUNS: usize = 5;

impl Bench {
    pub(super) fn servers(&self) -> Result<[Row; 2]> {
        let text = self.example_output("ona-tools", "tool_search", &[])?;
        let [search] = figures(&text, ["search_ms"])?;
        let past = self.past_the_deadline()?;
        Ok([
            Row::new("ToolSearch over 2,000 tools, the slowest of 4 queries", search, SEARCH),
            Row::new(
                "`ona -p` with 10 MCP servers, one of which hangs: what it takes beyond the deadline for servers",
                past,
                PAST,
            ),
        ])
    }

    /// A whole plain turn, minus the deadline.
    fn past_the_deadline(&self) -> Result<f64> {
        let replies = self.world.path().join("replies.jsonl");
        fs::write(&replies, "{\"text\":\"done\"}\n".repeat(RUNS + 1))?;
        let mut model = self
            .isolated(&self.ona)
            .arg("scripted-model")
            .arg(&replies)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut said =
            BufReader::new(model.stdout.take().context("the model has no output")?).lines();
        let url = said.next().transpose()?.context("the model did not start")?;
        std::thread::spawn(move || said.for_each(drop));
        let small = self.root.join("acceptance/lib/mcp-server.sh");
        let mut servers = json!({"hangs": {"command": "sleep", "args": ["600"]}});
        for n in 1..10 {
            servers[format!("small{n}")] = json!({"command": small});
        }
        let config = json!({"mcpServers": servers}).to_string();
        let time = median_of(RUNS, || {
            let mut command = self.isolated(&self.ona);
            command
                .current_dir(self.project())
                .args(["-p", "go", "--mcp-config", &config])
                .env("ANTHROPIC_API_KEY", "sk-bench")
                .env("ANTHROPIC_BASE_URL", &url)
                .env("ONA_MCP_WAIT_MS", DEADLINE.as_millis().to_string());
            let (time, output) = timed(&mut command)?;
            succeeded(&output).context("ona -p with servers")?;
            Ok(time)
        });
        model.kill()?;
        model.wait()?;
        Ok(milliseconds(time?.saturating_sub(DEADLINE)))
    }
}
