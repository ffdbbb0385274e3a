//! Pictures of the interactive session for the documentation: what tmux shows of it, as SVG.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ona_testkit::{Project, git};
use ona_types::shell_quoted;
use serde_json::{Value, json};

use super::{Model, USABLE};

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;
/// The size of a cell.
const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 12.0;
const BACKGROUND: &str = "#1b1d23";
const FOREGROUND: &str = "#d7dae0";
/// What stands in place of the temporary directory.
const HOME: &str = "/home/bob/greeter";
const COLOURS: [&str; 16] = [
    "#1b1d23", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
    "#5c6370", "#ef7a84", "#a9d78a", "#f0cf8c", "#78bdf7", "#d48ae8", "#6ccbd6", "#ffffff",
];

const PLAN: &str = "# Greet in the user's language\n\n1. Read `LANG` in `greet.sh`\n2. Add a table of greetings\n\n\
    ## Success criteria\n\n- `LANG=de_DE sh greet.sh Ada` prints `Hallo, Ada`\n- `sh test.sh` exits with 0\n";

/// Draws every picture into a directory.
pub fn draw(ona: &Path, into: &Path) {
    fs::create_dir_all(into).unwrap();
    let save = |name: &str, screen: &str| {
        fs::write(into.join(format!("{name}.svg")), svg(screen)).unwrap();
        println!("{name}.svg");
    };
    let edit = json!({"file_path": "greet.sh", "old_string": "Helo", "new_string": "Hello"});
    let session = Session::start(
        ona,
        &[
            json!({"text": "I look at the script first.", "calls": [call("c1", "Read", json!({"file_path": "greet.sh"}))]}),
            json!({"text": "Line 3 says \"Helo\". I correct it.", "calls": [call("c2", "Edit", edit)]}),
            json!({"text": "Now I run the test, and tidy up.", "calls": [
                call("c3", "Bash", json!({"command": "sh test.sh"})), call("c4", "Bash", json!({"command": "rm -rf ~/.cache"}))]}),
            json!({"text": "The greeting is **fixed**, and the test passes.\n\n| file | change |\n|---|---|\n| `greet.sh` | `Helo` → `Hello` |\n\n```sh\nsh greet.sh Ada   # Hello, Ada\n```\n"}),
        ],
        &["--allowedTools", "Bash(sh test.sh)", "--disallowedTools", "Bash(rm *)"],
    );
    session.line("The greeting is misspelled. Fix it and run the test.");
    session.wait("Allow Edit?");
    save("permission", &session.screen());
    session.keys(&["y"]);
    session.wait("the test passes");
    session.wait(USABLE);
    save("session", &session.screen());
    session.line("/why c4");
    session.wait("result");
    save("why", &session.screen());
    session.keys(&["/", "c", "o"]);
    session.wait("/config");
    save("menu", &session.screen());
    drop(session);
    let session = Session::start(
        ona,
        &[json!({"text": "", "calls": [call("p1", "ExitPlanMode", json!({"plan": PLAN}))]})],
        &[],
    );
    session.line("/plan greet in the user's language");
    session.wait("Approve this plan?");
    save("plan", &session.screen());
}

#[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({"id": id, "tool": tool, "input": input})
}

/// A session in a terminal of tmux.
struct Session {
    project: Project,
    name: String,
    _model: Model,
}

impl Session {
    fn start(ona: &Path, replies: &[Value], args: &[&str]) -> Self {
        let project = Project::new(ona);
        project.file("greet.sh", "#!/bin/sh\n# Greets somebody.\necho \"Helo, $1\"\n");
        project.file("test.sh", "sh greet.sh Ada | grep -q 'Hello, Ada' && echo ok\n");
        git(&project.dir(), &["init", "-q"]);
        git(&project.dir(), &["add", "."]);
        git(&project.dir(), &["commit", "-qm", "A greeting"]);
        let model = Model::start(&project, replies);
        let command = project.ona(args);
        let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let mut words = vec!["env".to_owned(), "-i".to_owned()];
        words.extend(variables.map(|(name, value)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
        }));
        words.extend([
            "TERM=tmux-256color".to_owned(),
            "COLORTERM=truecolor".to_owned(),
            "ANTHROPIC_API_KEY=k".to_owned(),
            format!("ANTHROPIC_BASE_URL={}", model.url),
            command.get_program().to_string_lossy().into_owned(),
        ]);
        words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
        let line: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
        let name = format!("ona-pictures-{}-{}", std::process::id(), replies.len());
        let session = Self { name, project, _model: model };
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        session.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            &line.join(" "),
        ]);
        session.wait(USABLE);
        session
    }

    fn tmux(&self, args: &[&str]) -> String {
        let done = Command::new("tmux")
            .args(["-L", &self.name])
            .args(args)
            .current_dir(self.project.dir())
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.wait(text);
        self.keys(&["Enter"]);
    }

    fn wait(&self, words: &str) {
        let start = Instant::now();
        while !self.tmux(&["capture-pane", "-p"]).contains(words) {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "{words} never came:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What is on the screen, with its colours.
    fn screen(&self) -> String {
        // The last frame may still be on its way.
        std::thread::sleep(Duration::from_millis(300));
        let shown = self.tmux(&["capture-pane", "-e", "-p"]);
        shown.replace(self.project.dir().to_str().unwrap(), HOME)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.name, "kill-server"]).output();
    }
}

/// A screen as SVG: a rectangle for every background, a text for every run of cells of one style.
fn svg(screen: &str) -> String {
    let size = |number| NonZero::new(number).unwrap();
    let mut terminal = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
    terminal.process(screen.trim_end_matches('\n').replace('\n', "\r\n").as_bytes());
    let screen = terminal.screen();
    let used =
        (0..ROWS).rev().find(|row| (0..COLUMNS).any(|column| is_shown(screen, *row, column)));
    let rows = used.map_or(1, |row| row + 1);
    let width = f64::from(COLUMNS) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(rows) * CELL.1 + 2.0 * MARGIN;
    let mut drawn = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n"
    );
    for row in 0..rows {
        for (column, (text, columns, style)) in runs(screen, row) {
            let (x, y) = (MARGIN + f64::from(column) * CELL.0, MARGIN + f64::from(row) * CELL.1);
            let length = f64::from(columns) * CELL.0;
            if let Some(fill) = &style.background {
                drawn += &format!(
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{}\" fill=\"{fill}\"/>\n",
                    CELL.1
                );
            }
            if !text.trim().is_empty() {
                let text = text.replace('&', "&amp;").replace('<', "&lt;");
                drawn += &format!(
                    "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" xml:space=\"preserve\"{}>{text}</text>\n",
                    y + 14.0,
                    style.attributes()
                );
            }
        }
    }
    drawn + "</svg>\n"
}

fn is_shown(screen: &vt100::Screen, row: u16, column: u16) -> bool {
    screen.cell(row, column).is_some_and(|cell| !cell.contents().trim().is_empty())
}

#[derive(Clone, PartialEq)]
struct Style {
    foreground: String,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
}

impl Style {
    fn attributes(&self) -> String {
        let mut attributes = format!(" fill=\"{}\"", self.foreground);
        for (is_so, attribute) in [
            (self.bold, " font-weight=\"bold\""),
            (self.dim, " opacity=\"0.6\""),
            (self.italic, " font-style=\"italic\""),
        ] {
            attributes += if is_so { attribute } else { "" };
        }
        attributes
    }
}

/// The runs of a row, by the column they begin in: their text, how many columns they take, their style.
fn runs(screen: &vt100::Screen, row: u16) -> BTreeMap<u16, (String, u16, Style)> {
    let mut runs: BTreeMap<u16, (String, u16, Style)> = BTreeMap::new();
    for column in 0..COLUMNS {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let (mut foreground, mut background) = (colour(cell.fgcolor()), colour(cell.bgcolor()));
        if cell.inverse() {
            (foreground, background) = (
                background.or(Some(BACKGROUND.to_owned())),
                foreground.or(Some(FOREGROUND.to_owned())),
            );
        }
        let style = Style {
            foreground: foreground.unwrap_or_else(|| FOREGROUND.to_owned()),
            background,
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
        };
        let text = if cell.contents().is_empty() { " " } else { cell.contents() };
        let columns = if cell.is_wide() { 2 } else { 1 };
        match runs.last_entry() {
            Some(mut run) if run.get().2 == style && run.key() + run.get().1 == column => {
                let (before, wide, _) = run.get_mut();
                before.push_str(text);
                *wide += columns;
            }
            _ => {
                runs.insert(column, (text.to_owned(), columns, style));
            }
        }
    }
    // Blanks at the end of a run would be stretched by other fonts.
    for (text, columns, style) in runs.values_mut() {
        if style.background.is_none() {
            let blanks = text.len() - text.trim_end_matches(' ').len();
            text.truncate(text.len() - blanks);
            *columns -= u16::try_from(blanks).unwrap();
        }
    }
    runs
}

fn colour(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        vt100::Color::Idx(number @ 0..16) => Some(COLOURS[usize::from(number)].to_owned()),
        vt100::Color::Idx(number @ 16..232) => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + part * 40 };
            let number = number - 16;
            let (red, green, blue) = (level(number / 36), level(number / 6 % 6), level(number % 6));
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        vt100::Color::Idx(number) => {
            let level = 8 + (number - 232) * 10;
            Some(format!("#{level:02x}{level:02x}{level:02x}"))
        }
    }
}
