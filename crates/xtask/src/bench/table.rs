//! The Markdown table of figures, and where it goes in docs/PERFORMANCE.md.

use anyhow::{Context, Result};

/// Where a table goes in docs/PERFORMANCE.md.
#[derive(Clone, Copy)]
pub enum Place {
    /// Between the markers `bench:start` and `bench:end`.
    Program,
    /// Between the markers `build:start` and `build:end`.
    Build,
}

impl Place {
    fn markers(self) -> [&'static str; 2] {
        match self {
            Self::Program => ["<!-- bench:start -->", "<!-- bench:end -->"],
            Self::Build => ["<!-- build:start -->", "<!-- build:end -->"],
        }
    }
}

/// The limit of a figure, and its target.
#[derive(Clone, Copy)]
pub struct Limit {
    sign: char,
    must: f64,
    aim: f64,
    unit: &'static str,
}

impl Limit {
    pub const fn at_most(must: f64, aim: f64, unit: &'static str) -> Self {
        Self { sign: '≤', must, aim, unit }
    }

    pub const fn at_least(must: f64, aim: f64, unit: &'static str) -> Self {
        Self { sign: '≥', must, aim, unit }
    }

    fn is_missed_by(&self, value: f64) -> bool {
        if self.sign == '≤' { value > self.must } else { value < self.must }
    }
}

/// One row of the table.
pub struct Row {
    work: String,
    /// `None` if it could not be measured; the note says why.
    value: Option<f64>,
    unit: &'static str,
    note: String,
    limit: Option<Limit>,
}

impl Row {
    /// A figure with a limit, in the unit of that limit.
    pub fn new(work: impl Into<String>, value: f64, limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::plain(work, value, limit.unit) }
    }

    /// A figure without a limit.
    pub fn plain(work: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { work: work.into(), value: Some(value), unit, note: String::new(), limit: None }
    }

    /// A figure that this machine cannot provide.
    pub fn without(work: impl Into<String>, why: &str, limit: Option<Limit>) -> Self {
        Self { work: work.into(), value: None, unit: "", note: why.to_owned(), limit }
    }

    pub fn noted(self, note: String) -> Self {
        Self { note, ..self }
    }

    /// Whether the figure misses its limit.
    pub fn misses(&self) -> bool {
        self.value.zip(self.limit).is_some_and(|(value, limit)| limit.is_missed_by(value))
    }

    fn render(&self) -> String {
        let figure = match self.value {
            None => self.note.clone(),
            Some(value) => {
                let mut figure = format!("{} {}", number(value), self.unit);
                if self.misses() {
                    figure = format!("**{figure}**, missed");
                }
                if !self.note.is_empty() {
                    figure = format!("{figure} ({})", self.note);
                }
                figure
            }
        };
        let bound = |value: fn(&Limit) -> f64| match &self.limit {
            Some(limit) => format!("{} {} {}", limit.sign, value(limit), limit.unit),
            None => "–".to_owned(),
        };
        let (must, aim) = (bound(|limit| limit.must), bound(|limit| limit.aim));
        format!("| {} | {figure} | {must} | {aim} |\n", self.work)
    }
}

/// Three significant digits: more is noise on a shared machine.
fn number(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

pub fn render(rows: &[Row]) -> String {
    let rows: String = rows.iter().map(Row::render).collect();
    format!("| work | figure | must | aim |\n|---|---|---|---|\n{rows}")
}

/// `page` with `table` between its markers.
pub fn put_into(page: &str, place: Place, table: &str) -> Result<String> {
    let [start, end] = place.markers();
    let missing = || format!("docs/PERFORMANCE.md needs the lines {start} and {end}");
    let (before, rest) = page.split_once(start).with_context(missing)?;
    let (_, after) = rest.split_once(end).with_context(missing)?;
    Ok(format!("{before}{start}\n\n{}\n\n{end}{after}", table.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_figure_note_and_limits() {
        let rows = [
            Row::new("start", 2.345, Limit::at_most(10.0, 3.0, "ms")),
            Row::new("grep", 1.62, Limit::at_most(1.5, 1.1, "×")).noted("81 against 50 ms".into()),
            Row::new("appends", 4210.4, Limit::at_least(200.0, 5000.0, "/s")),
            Row::plain("hash", 512.6, "MB/s"),
            Row::without("glob", "no fd here", Some(Limit::at_most(1.5, 1.1, "×"))),
        ];
        assert_eq!(
            render(&rows),
            "| work | figure | must | aim |\n\
             |---|---|---|---|\n\
             | start | 2.35 ms | ≤ 10 ms | ≤ 3 ms |\n\
             | grep | **1.62 ×**, missed (81 against 50 ms) | ≤ 1.5 × | ≤ 1.1 × |\n\
             | appends | 4210 /s | ≥ 200 /s | ≥ 5000 /s |\n\
             | hash | 513 MB/s | – | – |\n\
             | glob | no fd here | ≤ 1.5 × | ≤ 1.1 × |\n"
        );
    }

    #[test]
    fn limits_hold_in_their_direction() {
        assert!(Limit::at_most(10.0, 3.0, "ms").is_missed_by(10.1));
        assert!(!Limit::at_most(10.0, 3.0, "ms").is_missed_by(10.0));
        assert!(Limit::at_least(200.0, 5000.0, "/s").is_missed_by(199.0));
        assert!(!Limit::at_least(200.0, 5000.0, "/s").is_missed_by(4000.0));
    }

    #[test]
    fn the_table_replaces_what_is_between_the_markers() -> Result<()> {
        let page = "# Title\n<!-- bench:start -->\nold\n<!-- bench:end -->\ntail\n";
        let new = "# Title\n<!-- bench:start -->\n\nnew\n\n<!-- bench:end -->\ntail\n";
        assert_eq!(put_into(page, Place::Program, "new\n")?, new);
        assert_eq!(put_into(new, Place::Program, "new\n")?, new, "writing twice changes nothing");
        assert!(put_into(page, Place::Build, "new").is_err());
        Ok(())
    }
}
