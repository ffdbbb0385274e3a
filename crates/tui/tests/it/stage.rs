//! The interface on a stage: the state, the screen and an imagined terminal, put together as the runner does it.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ona_front::{Event, Op, Preferences, Status};
use ona_render::theme::Depth;
use ona_tui::screen::{Frame, Reflow, Screen};
use ona_tui::{App, Effect, Facts, Notifies};
use ona_types::Attachment;

use crate::scenes;
use crate::terminal::Terminal;

/// The sizes at which every view is shown.
const SIZES: [(usize, usize); 3] = [(40, 15), (80, 24), (160, 50)];

/// What was written and not shown yet.
#[derive(Clone, Default)]
struct Wire(Rc<RefCell<Vec<u8>>>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The interface and its terminal.
pub struct Stage {
    pub app: App,
    pub terminal: Terminal,
    screen: Screen<Wire>,
    wire: Wire,
    now: Instant,
    written: Vec<u8>,
    sent: Vec<Op>,
    /// How often something was drawn.
    pub frames: usize,
    pub has_left: bool,
    /// Whether every frame has to fit. A terminal can be too small for that.
    pub checks: bool,
    /// Whether the terminal has to show exactly what is in a frame. Of some characters it has its own idea how wide
    /// they are.
    pub exact: bool,
}

/// What the terminal can do.
pub fn facts(depth: Depth, reflow: Reflow) -> Facts {
    Facts {
        depth,
        light: false,
        ask_background: false,
        reflow,
        home: Some("/home/bob".to_owned()),
        version: "1.2.3",
        notifies: Notifies::Osc9,
        reaction: Duration::ZERO,
        first_prompt: None,
        first_command: None,
        slash_commands: true,
    }
}

impl Stage {
    /// A terminal in which nothing has happened yet.
    pub fn bare(facts: Facts, columns: usize, height: usize) -> Self {
        let wire = Wire::default();
        let reflow = facts.reflow;
        let now = Instant::now();
        let mut stage = Self {
            app: App::new(facts, columns, height, now),
            terminal: Terminal::new(columns, height, reflow),
            screen: Screen::new(wire.clone(), columns, height, reflow),
            wire,
            now,
            written: Vec::new(),
            sent: Vec::new(),
            frames: 0,
            has_left: false,
            checks: true,
            exact: true,
        };
        // Grammars load on a thread of their own: whether code has colours would be a matter of luck.
        let preferences =
            Preferences { syntax_highlighting_disabled: true, ..Preferences::default() };
        stage.app.event(Event::Preferences { preferences: Box::new(preferences) }, now);
        stage
    }

    /// A session that waits for its first prompt.
    pub fn new(columns: usize, height: usize) -> Self {
        Self::with(facts(Depth::True, Reflow::Cuts), columns, height)
    }

    /// A session that waits for its first prompt, on such a terminal.
    pub fn with(facts: Facts, columns: usize, height: usize) -> Self {
        let mut stage = Self::bare(facts, columns, height);
        stage.hears_all(scenes::opening());
        stage
    }

    /// A session in which a prompt was just sent.
    pub fn at_work(columns: usize, height: usize) -> Self {
        let mut stage = Self::new(columns, height);
        stage.begins_to_work();
        stage
    }

    /// A prompt is sent, and its turn begins.
    pub fn begins_to_work(&mut self) {
        self.types("find the bug");
        self.press("enter");
        self.hears(Event::TurnStarted { turn: 1 });
    }

    /// The core tells something.
    pub fn hears(&mut self, event: Event) {
        self.hears_all([event]);
    }

    /// The core tells several things before the next frame.
    pub fn hears_all(&mut self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.app.event(event, self.now);
        }
        self.goes_on();
    }

    /// The core tells something, and the next frame is not drawn yet.
    pub fn hears_unseen(&mut self, event: Event) {
        self.app.event(event, self.now);
    }

    /// The status changes.
    pub fn status(&mut self, change: impl FnOnce(&mut Status)) {
        let mut status = scenes::status();
        change(&mut status);
        self.hears(Event::Status { status: Box::new(status) });
    }

    /// The user's own status line changes.
    pub fn status_line(&mut self, text: &str) {
        self.hears(Event::StatusLine { text: Some(text.to_owned()) });
    }

    /// The preferences change.
    pub fn prefers(&mut self, change: impl FnOnce(&mut Preferences)) {
        let mut preferences =
            Preferences { syntax_highlighting_disabled: true, ..Preferences::default() };
        change(&mut preferences);
        self.hears(Event::Preferences { preferences: Box::new(preferences) });
    }

    /// The user presses a key, such as `ctrl+r` or `enter`.
    pub fn press(&mut self, key: &str) {
        self.press_key(event_of(key));
    }

    /// The user presses a key.
    pub fn press_key(&mut self, key: KeyEvent) {
        self.app.key(key, self.now);
        self.goes_on();
    }

    /// The user types a text.
    pub fn types(&mut self, text: &str) {
        for letter in text.chars() {
            self.press_key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
        }
    }

    /// The user pastes a text.
    pub fn pastes(&mut self, text: &str) {
        self.app.paste(text, self.now);
        self.goes_on();
    }

    /// Time goes by.
    pub fn waits(&mut self, time: Duration) {
        self.now += time;
        self.goes_on();
    }

    /// The terminal gets another size.
    pub fn resize(&mut self, columns: usize, height: usize) {
        self.terminal.resize(columns, height);
        self.app.resize(columns, height);
        let finished = self.app.take_finished();
        let frame = self.app.frame();
        if !finished.is_empty() {
            self.screen.draw(&finished, &frame).unwrap();
        }
        let app = &self.app;
        self.screen.resized(columns, height, |most| app.tail(most), &frame).unwrap();
        self.goes_on();
    }

    /// What the runner does after each input: time, effects, a frame.
    fn goes_on(&mut self) {
        self.app.tick(self.now);
        self.does_effects();
        self.draw();
    }

    fn does_effects(&mut self) {
        for effect in self.app.take_effects() {
            match effect {
                Effect::Send(op) => self.sent.push(*op),
                Effect::Copy(_) | Effect::EditFile(..) => {}
                // The user looks at it and changes nothing.
                Effect::EditPrompt(text) => self.app.edited(&text),
                Effect::Title(title) => self.write_command(2, &title),
                Effect::Notify(Notifies::Osc9, text) => self.write_command(9, &text),
                Effect::Notify(..) | Effect::Suspend => {}
                Effect::PasteImage => self.app.pasted_image(Attachment::Image {
                    media_type: "image/png".to_owned(),
                    data: String::new(),
                }),
                Effect::Redraw => {
                    self.app.take_finished();
                    let frame = self.app.frame();
                    let app = &self.app;
                    self.screen.redraw(|most| app.tail(most), &frame).unwrap();
                }
                Effect::Leave => self.has_left = true,
            }
        }
    }

    fn write_command(&mut self, number: u8, text: &str) {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        self.screen.write(&format!("\x1b]{number};{text}\x1b\\")).unwrap();
    }

    fn draw(&mut self) {
        self.frames += 1;
        let full = self.app.is_full_screen().then(|| self.app.full_frame()).flatten();
        let frame = if let Some(frame) = full {
            self.check(&frame, self.screen.height());
            self.screen.draw_alternate(&frame).unwrap();
            frame
        } else {
            let finished = self.app.take_finished();
            let frame = self.app.frame();
            self.check(&frame, self.screen.height().saturating_sub(1));
            self.check_widths("a finished row", &finished);
            self.screen.draw(&finished, &frame).unwrap();
            frame
        };
        let bytes = std::mem::take(&mut *self.wire.0.borrow_mut());
        self.terminal.process(&bytes);
        self.written.extend(bytes);
        if self.checks && self.exact {
            self.check_shown(&frame);
        }
    }

    /// The terminal shows the rows of a frame, one below the other, and the cursor where it belongs.
    fn check_shown(&self, frame: &Frame) {
        let screen = self.terminal.screen();
        let top = match (self.terminal.is_alternate(), frame.cursor) {
            (true, _) => 0,
            (false, Some((row, column))) => {
                let (shown_row, shown_column) = self.terminal.cursor().expect("a cursor");
                assert_eq!(usize::from(shown_column), column, "the column of the cursor");
                usize::from(shown_row).checked_sub(row).expect("the first row is on the screen")
            }
            // Where they are is not known without a cursor.
            (false, None) => return,
        };
        for (number, row) in frame.rows.iter().enumerate() {
            let text: String = row.spans.iter().map(|span| span.content.as_ref()).collect();
            let shown = screen.get(top + number).map_or("", String::as_str);
            assert_eq!(shown, text.trim_end(), "row {number} of:\n{}", screen.join("\n"));
        }
    }

    /// A frame fits the terminal, and the cursor is in it.
    fn check(&self, frame: &Frame, most: usize) {
        if !self.checks {
            return;
        }
        assert!(frame.rows.len() <= most, "{} rows where {most} fit", frame.rows.len());
        if let Some((row, column)) = frame.cursor {
            assert!(row < frame.rows.len(), "the cursor is below the rows");
            assert!(column < self.screen.columns(), "the cursor is beside the rows");
        }
        self.check_widths("a live row", &frame.rows);
    }

    fn check_widths(&self, what: &str, rows: &[ratatui::text::Line<'_>]) {
        for row in rows.iter().filter(|_| self.checks) {
            let text: String = row.spans.iter().map(|span| span.content.as_ref()).collect();
            let width = ona_render::text::width(&text);
            let columns = self.screen.columns();
            assert!(width <= columns, "{what} is {width} wide, of {columns}: {text:?}");
        }
    }

    /// The operations that were sent to the core since the last call.
    pub fn take_sent(&mut self) -> Vec<Op> {
        self.does_effects();
        std::mem::take(&mut self.sent)
    }

    /// All bytes that were written.
    pub fn written(&self) -> &[u8] {
        &self.written
    }

    /// The text of the screen.
    pub fn text(&self) -> String {
        self.terminal.screen().join("\n")
    }

    /// The text of everything that was ever shown and is still there.
    pub fn all_text(&mut self) -> String {
        let mut rows = self.terminal.scrollback();
        rows.extend(self.terminal.screen());
        rows.join("\n")
    }

    /// The terminal as a picture: its size, what was scrolled off, the screen, and where the cursor is.
    fn picture(&mut self) -> String {
        let mut picture = format!("═══ {}×{} ═══\n", self.screen.columns(), self.screen.height());
        let above = self.terminal.scrollback();
        if !self.terminal.is_alternate() && !above.is_empty() {
            picture.push_str(&above.join("\n"));
            picture.push_str("\n┄┄┄ scrolled off ┄┄┄\n");
        }
        picture.push_str(self.text().trim_end());
        picture.push('\n');
        if let Some((row, column)) = self.terminal.cursor() {
            picture.push_str(&format!("┄┄┄ cursor: row {}, column {}\n", row + 1, column + 1));
        }
        picture
    }
}

/// What comes of an act at each of the three sizes.
pub fn at_three_sizes(act: impl Fn(&mut Stage)) -> String {
    shown(Stage::new, act)
}

/// The same while the agent works on a prompt.
pub fn at_work_at_three_sizes(act: impl Fn(&mut Stage)) -> String {
    shown(Stage::at_work, act)
}

fn shown(begin: fn(usize, usize) -> Stage, act: impl Fn(&mut Stage)) -> String {
    let picture = |(columns, height)| {
        let mut stage = begin(columns, height);
        act(&mut stage);
        stage.picture()
    };
    SIZES.map(picture).join("\n")
}

/// The event of a key, such as `ctrl+r`, `shift+tab` or `x`.
pub fn event_of(key: &str) -> KeyEvent {
    let (modifiers, name) = match key.rsplit_once('+') {
        Some(("ctrl", name)) => (KeyModifiers::CONTROL, name),
        Some(("alt", name)) => (KeyModifiers::ALT, name),
        Some(("shift", name)) => (KeyModifiers::SHIFT, name),
        _ => (KeyModifiers::NONE, key),
    };
    let code = match (name, modifiers) {
        ("tab", KeyModifiers::SHIFT) => KeyCode::BackTab,
        ("tab", _) => KeyCode::Tab,
        ("enter", _) => KeyCode::Enter,
        ("esc", _) => KeyCode::Esc,
        ("up", _) => KeyCode::Up,
        ("down", _) => KeyCode::Down,
        ("left", _) => KeyCode::Left,
        ("right", _) => KeyCode::Right,
        ("home", _) => KeyCode::Home,
        ("end", _) => KeyCode::End,
        ("pageup", _) => KeyCode::PageUp,
        ("pagedown", _) => KeyCode::PageDown,
        ("backspace", _) => KeyCode::Backspace,
        (letter, _) => KeyCode::Char(letter.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}
