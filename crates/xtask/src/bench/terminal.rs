//! The interactive session, in a pseudo-terminal.

use anyhow::{Context, Result};

use super::table::{Limit, Row};
use super::{Bench, figures};

const START: Limit = Limit::at_most(100.0, 40.0, "ms");
const OPEN: Limit = Limit::at_most(250.0, 80.0, "ms");
const KEY: Limit = Limit::at_most(33.0, 8.0, "ms");
const FLAT: Limit = Limit::at_most(1.5, 1.1, "×");

impl Bench {
    pub(super) fn terminal(&self) -> Result<[Row; 5]> {
        let ona = self.ona.to_str().context("the path of the binary is not UTF-8")?;
        let text = self.example_output("ona-testkit", "terminal", &["bench", ona])?;
        let labels = [
            "start_ms",
            "open_ms",
            "key_median_ms",
            "key_p99_ms",
            "table_key_p99_ms",
            "early_mb",
            "late_mb",
        ];
        let [start, open, key, slowest, in_table, early, late] = figures(&text, labels)?;
        Ok([
            Row::new("`ona`: from the start to a usable prompt", start, START),
            Row::new(
                "`ona --resume` of a session with 10,000 entries, until it is shown",
                open,
                OPEN,
            ),
            Row::new(
                "a key is seen while 500 pieces a second stream in, 99th percentile",
                slowest,
                KEY,
            )
            .noted(format!("median {key:.1} ms")),
            Row::new("the same while they are one long table", in_table, KEY),
            Row::new(
                "memory of an interactive session after 200 turns against 20",
                late / early,
                FLAT,
            )
            .noted(format!("{early:.0} MB, then {late:.0} MB")),
        ])
    }
}
