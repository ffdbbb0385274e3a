//! Search over 50,000 memories, within a process and as a whole process.

use anyhow::{Context, Result, ensure};

use super::measure::{median_of, timed};
use super::table::{Limit, Row};
use super::{Bench, figures, milliseconds, succeeded};

const SEARCH: Limit = Limit::at_most(20.0, 10.0, "ms");

impl Bench {
    /// The example fills its own record and leaves it for the whole processes.
    pub(super) fn memories(&self) -> Result<[Row; 4]> {
        let record = self.world.path().join("memories.db");
        let path = record.to_str().context("the path of the temporary directory is not UTF-8")?;
        let text = self.example_output("ona-store", "memories", &[path])?;
        let [search, best, write] = figures(&text, ["search_ms", "best_ms", "write_ms"])?;
        let process = median_of(15, || {
            let mut command = self.isolated(&self.ona);
            command.env("AGENT_SDLC_DB", &record);
            let words = ["memory", "search", "word3", "word900", "--all"];
            let (time, output) = timed(command.args(words))?;
            succeeded(&output).context("ona memory search")?;
            ensure!(!output.stdout.is_empty(), "nothing was found");
            Ok(time)
        })?;
        Ok([
            Row::new(
                "search over 50,000 memories, the slowest of 20 kinds of query, with its commit",
                search,
                SEARCH,
            ),
            Row::new(
                "`ona memory search` over 50,000 memories, whole process",
                milliseconds(process),
                SEARCH,
            ),
            Row::plain("the best 200 of 25,000 memories, for a new session", best, "ms"),
            Row::plain("one memory more among 50,000, with its commit", write, "ms"),
        ])
    }
}
