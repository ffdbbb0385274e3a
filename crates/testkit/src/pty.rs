//! The real binary under a pseudo-terminal: what it draws, and the keys a person presses.
//!
//! A [`Pty`] is the terminal as well as the person in front of it. It keeps the screen and the rows that scrolled off
//! it, and it answers what programs ask a terminal. Every wait ends as soon as the output is there; one that fails
//! shows the screen.
//!
//! ```no_run
//! use ona_testkit::pty::{Exit, Key, PtyOptions};
//!
//! let project = ona_testkit::Project::new("target/debug/ona");
//! let pty = project.pty(["--verbose"], PtyOptions::default().size(24, 80));
//! pty.wait_for("Welcome");
//! pty.line("/exit");
//! assert_eq!(pty.wait_exit(), Exit::Code(0));
//! ```

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal;
use nix::unistd::Pid;
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::Project;
use state::{Shared, State, squashed};
use terminal::Terminal;

pub use keys::Key;
pub use nix::sys::signal::Signal;
pub use options::PtyOptions;
pub use terminal::Background;
pub use vt100::{Cell, Color, Screen};

mod keys;
mod options;
mod state;
mod terminal;

/// How long the output must be silent before the screen counts as settled.
const QUIET: Duration = Duration::from_millis(150);
/// How long one frame may take to arrive. Terminals give up on one about as soon.
const FRAME: Duration = Duration::from_secs(1);
/// How long the output may take to end after the program.
const LAST_OUTPUT: Duration = Duration::from_secs(2);
/// How long a killed program may take to end.
const DEATH: Duration = Duration::from_secs(5);

impl Project {
    /// Starts the binary under a pseudo-terminal, in the project, with its own environment.
    pub fn pty<I: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = I>,
        options: PtyOptions,
    ) -> Pty {
        Pty::start(&self.ona(args), options)
    }

    /// Starts another program in the same way.
    pub fn pty_command<I: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = I>,
        options: PtyOptions,
    ) -> Pty {
        Pty::start(self.command(program).args(args), options)
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(Signal),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(number) => Self::Signal(Signal::try_from(number).unwrap()),
            None => Self::Code(status.code().unwrap()),
        }
    }
}

/// A program under a pseudo-terminal. Dropping it kills the program's process group.
pub struct Pty {
    shared: Arc<Shared>,
    master: Mutex<Box<dyn MasterPty + Send>>,
    input: Sender<Vec<u8>>,
    pid: Pid,
    deadline: Duration,
}

fn size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

impl Pty {
    /// Starts a prepared command. It gets the variables set on the command and in the options, and no others.
    pub fn start(command: &Command, options: PtyOptions) -> Self {
        let pair = native_pty_system().openpty(size(options.rows, options.cols)).unwrap();
        let own = command.get_envs().filter_map(|(name, value)| Some((name.into(), value?.into())));
        let term = (OsString::from("TERM"), OsString::from(options.term));
        let variables: Vec<(OsString, OsString)> = own.chain([term]).chain(options.env).collect();
        let mut builder = CommandBuilder::new("/usr/bin/env");
        if variables.iter().all(|(name, _)| name != "SHELL") {
            // portable-pty sets it from the developer's account. env takes it out, then becomes the program.
            builder.args(["-u", "SHELL"]);
        }
        builder.env_clear();
        for (name, value) in variables {
            builder.env(name, value);
        }
        builder.arg(command.get_program());
        builder.args(command.get_args());
        builder.cwd(command.get_current_dir().expect("a directory to start in"));

        let child: Box<dyn portable_pty::Child> = pair.slave.spawn_command(builder).unwrap();
        // Only the child may keep this side open, else the output never ends.
        drop(pair.slave);
        let mut child = child.downcast::<std::process::Child>().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        let terminal = Terminal::new(options.background);
        let shared = Arc::new(Shared::new(options.rows, options.cols, terminal));

        let (input, queue) = channel();
        let writer = pair.master.take_writer().unwrap();
        thread::spawn(move || state::write(writer, &queue));
        let reader = pair.master.try_clone_reader().unwrap();
        let (reading, answers) = (Arc::clone(&shared), input.clone());
        thread::spawn(move || reading.read(reader, &answers));
        let waiting = Arc::clone(&shared);
        thread::spawn(move || {
            let exit = child.wait().unwrap().into();
            waiting.change(|state| state.exit = Some(exit));
        });
        Self { shared, master: Mutex::new(pair.master), input, pid, deadline: options.deadline }
    }

    /// The state, once no frame is half drawn.
    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock().unwrap();
        let half = |state: &mut State| state.parser.callbacks().in_frame && !state.eof;
        self.shared.changed.wait_timeout_while(state, FRAME, half).unwrap().0
    }

    /// Waits until what `view` takes from the state satisfies `done`, which may use this terminal itself.
    #[track_caller]
    fn wait<T>(
        &self,
        what: &dyn Display,
        view: impl Fn(&mut State) -> T,
        mut done: impl FnMut(&T) -> bool,
    ) -> T {
        let end = Instant::now() + self.deadline;
        loop {
            let mut state = self.state();
            let (seen, over) = (state.changes, state.eof && state.exit.is_some());
            let value = view(&mut state);
            drop(state);
            if done(&value) {
                return value;
            }
            if over {
                self.fail(&format!("{what}: the program has ended"));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.fail(&format!("{what}: not within {:?}", self.deadline));
            }
            let state = self.shared.state.lock().unwrap();
            let same = |state: &mut State| state.changes == seen;
            drop(self.shared.changed.wait_timeout_while(state, left, same).unwrap());
        }
    }

    #[track_caller]
    fn fail(&self, what: &str) -> ! {
        let state = self.state();
        let (exit, cursor) = (state.exit, state.parser.screen().cursor_position());
        let tail = state.raw[state.raw.len().saturating_sub(600)..].escape_ascii().to_string();
        let screen = state.screen();
        // A panic with the lock held would hide this behind a second one.
        drop(state);
        let line = "-".repeat(20);
        panic!(
            "{what}\n{line} screen (cursor {cursor:?}, exit {exit:?})\n{screen}\n{line} last bytes\n{tail}\n{line}"
        );
    }

    /// Sends text as if typed.
    pub fn send(&self, text: &str) {
        self.send_bytes(text.as_bytes());
    }

    /// Sends bytes. It never blocks: they wait for the program to read them.
    pub fn send_bytes(&self, bytes: &[u8]) {
        let _ = self.input.send(bytes.to_vec());
    }

    /// Presses a key.
    pub fn key(&self, key: Key) {
        let application = self.state().parser.screen().application_cursor();
        self.send(&key.encoded(application));
    }

    /// Pastes text, once the program has asked for bracketed paste. Line ends become carriage returns, as in xterm.
    #[track_caller]
    pub fn paste(&self, text: &str) {
        let asked = |state: &mut State| state.parser.screen().bracketed_paste();
        self.wait(&"bracketed paste", asked, |asked| *asked);
        let text = text.replace("\r\n", "\r").replace('\n', "\r");
        self.send(&format!("\x1b[200~{text}\x1b[201~"));
    }

    /// Types one line, and presses Enter once it is on the screen. Only for programs that show what is typed.
    #[track_caller]
    pub fn line(&self, text: &str) {
        // A long line may be longer than what the program shows of it.
        let squashed = squashed(text);
        let skipped = squashed.chars().count().saturating_sub(40);
        let wanted: String = squashed.chars().skip(skipped).collect();
        if wanted.is_empty() {
            self.send(text);
            return self.key(Key::Enter);
        }
        let (screen, typed) = self.state().typed();
        let before = screen.matches(&wanted).count();
        self.send(text);
        // The same text may stand elsewhere already: it must be before the cursor now, or once more than before.
        self.wait(
            &format_args!("{text:?} typed"),
            |state| state.typed(),
            |(now, here)| {
                *here != typed && here.ends_with(&wanted) || now.matches(&wanted).count() > before
            },
        );
        self.key(Key::Enter);
    }

    /// Changes the size of the terminal, and tells the program.
    pub fn resize(&self, rows: u16, cols: u16) {
        // The program must not draw for the new size before the screen has it.
        self.shared.change(|state| {
            state.resize(rows, cols);
            self.master.lock().unwrap().resize(size(rows, cols)).unwrap();
        });
    }

    /// The visible screen, without the blanks at the ends of rows and the empty rows at the bottom.
    pub fn screen(&self) -> String {
        self.state().screen()
    }

    /// The rows that scrolled off the screen, and the screen.
    pub fn whole(&self) -> String {
        self.state().whole()
    }

    /// All output so far.
    pub fn raw(&self) -> Vec<u8> {
        self.state().raw.clone()
    }

    /// The row and column of the cursor, from 0.
    pub fn cursor(&self) -> (u16, u16) {
        self.inspect(Screen::cursor_position)
    }

    /// The title of the window.
    pub fn title(&self) -> String {
        self.state().parser.callbacks().title.clone()
    }

    /// Anything else the screen knows, such as its modes. Do not use the terminal itself in there.
    pub fn inspect<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        look(self.state().parser.screen())
    }

    /// The row and column where this text begins on the screen, if it is there.
    pub fn find(&self, text: &str) -> Option<(u16, u16)> {
        self.inspect(|screen| {
            let (rows, cols) = screen.size();
            (0..rows.get()).find_map(|row| {
                let (mut line, mut columns) = (String::new(), Vec::new());
                for col in 0..cols.get() {
                    let cell = screen.cell(row, col)?;
                    // The second half of a wide character has no text.
                    if !cell.is_wide_continuation() {
                        columns.push((line.len(), col));
                        line.push_str(if cell.has_contents() { cell.contents() } else { " " });
                    }
                }
                let start = line.find(text)?;
                columns.iter().find(|(at, _)| *at >= start).map(|(_, col)| (row, *col))
            })
        })
    }

    /// A cell of the screen, with its style.
    #[track_caller]
    pub fn cell_at(&self, row: u16, col: u16) -> Cell {
        self.inspect(|screen| screen.cell(row, col).cloned()).expect("a cell of the screen")
    }

    /// The colour of the text in a cell.
    #[track_caller]
    pub fn fg_at(&self, row: u16, col: u16) -> Color {
        self.cell_at(row, col).fgcolor()
    }

    /// The colour behind the text in a cell.
    #[track_caller]
    pub fn bg_at(&self, row: u16, col: u16) -> Color {
        self.cell_at(row, col).bgcolor()
    }

    /// Waits until the screen shows this text; returns the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(&format_args!("{text:?} on the screen"), |s| s.screen(), |now| now.contains(text))
    }

    /// Waits until this text is on the screen or has scrolled off it; returns all rows.
    #[track_caller]
    pub fn wait_whole(&self, text: &str) -> String {
        self.wait(&format_args!("{text:?} in the output"), State::whole, |now| now.contains(text))
    }

    /// Waits until the screen no longer shows this text; returns the screen.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) -> String {
        self.wait(&format_args!("{text:?} gone"), |s| s.screen(), |now| !now.contains(text))
    }

    /// Waits until the screen is as wanted; returns it.
    #[track_caller]
    pub fn wait_until(&self, mut wanted: impl FnMut(&str) -> bool) -> String {
        self.wait(&"the screen as wanted", |s| s.screen(), |now| wanted(now))
    }

    /// Waits until no output has come for 150 ms, then returns the screen. For snapshots only: it says nothing about
    /// what the program still has to do.
    #[track_caller]
    pub fn settled(&self) -> String {
        let start = Instant::now();
        loop {
            let state = self.state();
            let left = QUIET.saturating_sub(state.last_output.max(start).elapsed());
            if state.eof || left.is_zero() {
                return state.screen();
            }
            drop(self.shared.changed.wait_timeout(state, left).unwrap());
            if start.elapsed() > self.deadline {
                self.fail("the output never stops");
            }
        }
    }

    /// Waits until the program has ended and its output was read.
    #[track_caller]
    pub fn wait_exit(&self) -> Exit {
        let exit = self.wait(&"the end of the program", |state| state.exit, Option::is_some);
        // A process it left behind may hold the terminal open: the end of the output is not certain to come.
        let state = self.shared.state.lock().unwrap();
        drop(
            self.shared.changed.wait_timeout_while(state, LAST_OUTPUT, |state| !state.eof).unwrap(),
        );
        exit.unwrap()
    }

    /// Whether the program still runs.
    pub fn is_running(&self) -> bool {
        self.state().exit.is_none()
    }

    /// Sends a signal to the program alone. It does nothing once the program has ended.
    pub fn kill(&self, signal: Signal) {
        if self.is_running() {
            let _ = signal::kill(self.pid, signal);
        }
    }

    /// The id of the program's process. It leads a session and a process group of its own.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let master = self.master.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A shell gives every job a group of its own; one of them is in the foreground.
        let foreground = master.process_group_leader().map(Pid::from_raw);
        for group in [Some(self.pid), foreground].into_iter().flatten() {
            let _ = signal::killpg(group, Signal::SIGKILL);
        }
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let runs = |state: &mut State| state.exit.is_none();
        let _ = self.shared.changed.wait_timeout_while(state, DEATH, runs);
    }
}

#[cfg(test)]
mod tests;
