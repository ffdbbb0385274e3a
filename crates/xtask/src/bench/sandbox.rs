//! What the levels of the sandbox add to a command.

use anyhow::Result;

use super::table::{Limit, Row};
use super::{Bench, figures};

const BWRAP: Limit = Limit::at_most(15.0, 8.0, "ms");
const LANDLOCK: Limit = Limit::at_most(3.0, 1.0, "ms");

impl Bench {
    /// Rows for the levels that work here.
    pub(super) fn sandbox(&self) -> Result<Vec<Row>> {
        let ona = self.ona.to_string_lossy();
        let text = self.example_output("ona-sandbox", "levels", &[&ona])?;
        let [plain, plain_files] = figures(&text, ["none_ms", "none_files_ms"])?;
        let mut rows = Vec::new();
        for (level, limit) in [("bwrap", BWRAP), ("landlock", LANDLOCK)] {
            let what = format!("a command at the level {level}, beyond the plain spawn");
            let labels = [format!("{level}_ms"), format!("{level}_files_ms")];
            match figures(&text, [labels[0].as_str(), labels[1].as_str()]) {
                Err(_) => rows.push(Row::without(what, "a machine on which it works", Some(limit))),
                Ok([time, files]) => {
                    rows.push(Row::new(what, time - plain, limit).noted(format!("{plain:.1} ms")));
                    let what =
                        format!("the same that makes 2,000 files, against the plain one ({level})");
                    rows.push(Row::plain(what, files / plain_files, "×"));
                }
            }
        }
        Ok(rows)
    }
}
