//! The intent gate, the trace and the hook of another agent (S2 §8, DESIGN §6).

use std::fs::{self, File};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Bench;
use super::measure::median;
use super::table::{Limit, Row};

const PARSE: Limit = Limit::at_most(100.0, 20.0, "ms");
const GATE: Limit = Limit::at_most(100.0, 20.0, "µs");
const APPEND: Limit = Limit::at_most(0.5, 0.05, "ms");
const BLAME: Limit = Limit::at_most(200.0, 100.0, "ms");
const HOOK: Limit = Limit::at_most(12.0, 5.0, "ms");
const HOOK_RUNS: usize = 21;

impl Bench {
    pub(super) fn intents(&self) -> Result<Vec<Row>> {
        let names = ["parse_ms", "gate_us", "hash_ms", "describe_ms", "append_ms", "blame_ms"];
        let [parse, gate, hash, describe, append, blame] =
            self.example("ona-intents", "intents", names)?;
        let mut rows = vec![
            Row::new("`active_intents.yaml` of 1,000 intents, read anew", parse, PARSE),
            Row::new("the intent gate on 1,000 intents, warm", gate, GATE),
            Row::plain("the hash of a file of 1 MiB", hash, "ms"),
            Row::plain(
                "the entry for an edit of a Rust file of 400 lines, with its symbols",
                describe,
                "ms",
            ),
            Row::new("a trace append", append, APPEND),
            Row::new(
                "blame of a file of 5,000 lines over a trace of 100,000 entries",
                blame,
                BLAME,
            ),
        ];
        rows.extend(self.host_hooks()?);
        Ok(rows)
    }

    /// `ona hook` before and after a write in scope, each as a whole process.
    fn host_hooks(&self) -> Result<[Row; 2]> {
        let project = self.world.path().join("governed");
        fs::create_dir_all(project.join(".orchestration"))?;
        fs::create_dir_all(project.join("src"))?;
        fs::write(
            project.join(".orchestration/active_intents.yaml"),
            "active_intents:\n  - {id: INT-1, status: IN_PROGRESS, owned_scope: [\"src/**\"]}\n",
        )?;
        let project = project.canonicalize()?;
        let hook = |said: Value| -> Result<Duration> {
            let told = self.world.path().join("payload.json");
            fs::write(&told, said.to_string())?;
            let mut command = self.isolated(&self.ona);
            command.args(["hook", "claude_code"]).current_dir(&project);
            let start = Instant::now();
            let output = command.stdin(File::open(&told)?).output()?;
            let time = start.elapsed();
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "`ona hook` failed: {said}");
            Ok(time)
        };
        let payload = |event: &str, tool: &str, id: &str, input: &Value| {
            json!({
                "session_id": "bench", "cwd": project, "permission_mode": "default",
                "hook_event_name": event, "tool_name": tool, "tool_input": input,
                "tool_use_id": id, "tool_response": {"success": true},
            })
        };
        let select = json!({"intent_id": "INT-1"});
        hook(payload("PreToolUse", "mcp__ona__select_active_intent", "select", &select))?;
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for run in 0..HOOK_RUNS {
            let file = project.join(format!("src/{run}.rs"));
            let input = json!({"file_path": file, "content": "fn a() {}\n"});
            let id = format!("write-{run}");
            before.push(hook(payload("PreToolUse", "Write", &id, &input))?);
            fs::write(&file, "fn a() {}\n")?;
            after.push(hook(payload("PostToolUse", "Write", &id, &input))?);
        }
        let ms = |times| -> Result<f64> { Ok(median(times)?.as_secs_f64() * 1e3) };
        Ok([
            Row::new(
                "`ona hook` before a write of another agent, whole process",
                ms(before)?,
                HOOK,
            ),
            Row::new("`ona hook` after it, with the trace, whole process", ms(after)?, HOOK),
        ])
    }
}
