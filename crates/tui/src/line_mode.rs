//! Line mode: plain lines for terminals that cannot move a cursor, and for screen readers. No escape sequence is written;
//! questions are answered with a letter and Enter.

mod lists;
mod plainly;
mod questions;

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::mpsc;

use ona_front::{
    AskRequest, ClientHandle, CommandInfo, Ending, Event, HumanAnswer, Menu, Op, Reply, ShownEntry,
};
use ona_render::diff::unified;
use ona_render::text::{certain, plain};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::platform::{Facts, Platform};
use crate::tool_view;
use lists::Field;
use questions::Stage;

/// Lines of a result that are shown.
const RESULT_LINES: usize = 10;

/// Something that happens.
enum Happens {
    Core(Option<Box<Event>>),
    Typed(String),
    /// The input has ended; in a terminal it may go on once.
    Ended {
        finally: bool,
    },
}

/// What the next line answers.
enum Expects {
    /// A prompt.
    Prompt,
    /// A question.
    Answer(u64, Box<AskRequest>, Stage),
    /// A choice of a list.
    Choice(Menu),
    /// A text that a list asks for.
    Text(Field),
}

/// The line mode.
struct Lines<'a> {
    client: &'a ClientHandle,
    platform: &'a dyn Platform,
    expects: Expects,
    asks: VecDeque<(u64, AskRequest)>,
    waiting: VecDeque<Op>,
    commands: Vec<CommandInfo>,
    ready: bool,
    /// Something runs that takes a while.
    at_work: bool,
    opened: bool,
    first_prompt: Option<String>,
    first_command: Option<String>,
    slash_commands: bool,
    version: &'static str,
    /// Whether the line that was printed last is not ended.
    in_answer: bool,
    streamed: bool,
    /// The end of what was streamed, which may go on with the next piece.
    held_back: String,
    /// A text for the clipboard was printed: the next answer must not say that it was copied.
    printed_copy: bool,
    leaving: bool,
    /// The core has said that it ends.
    over: bool,
}

/// Runs the line mode until the input ends, the user leaves or the core ends.
pub fn run(
    facts: &Facts,
    client: &ClientHandle,
    events: UnboundedReceiver<Event>,
    platform: &dyn Platform,
) -> io::Result<()> {
    let (sender, receiver) = mpsc::channel();
    let core = sender.clone();
    let mut events = events;
    std::thread::spawn(move || {
        while let Some(event) = events.blocking_recv() {
            if core.send(Happens::Core(Some(Box::new(event)))).is_err() {
                return;
            }
        }
        let _ = core.send(Happens::Core(None));
    });
    std::thread::spawn(move || read_lines(&sender));
    let mut lines = Lines {
        client,
        platform,
        expects: Expects::Prompt,
        asks: VecDeque::new(),
        waiting: VecDeque::new(),
        commands: Vec::new(),
        ready: false,
        at_work: false,
        opened: false,
        first_prompt: facts.first_prompt.clone(),
        first_command: facts.first_command.clone(),
        slash_commands: facts.slash_commands,
        version: facts.version,
        in_answer: false,
        streamed: false,
        held_back: String::new(),
        printed_copy: false,
        leaving: false,
        over: false,
    };
    lines.go(&receiver)
}

/// Reads lines until the input ends. In a terminal it ends whenever the user presses Ctrl-D: twice in a row is the end.
fn read_lines(sender: &mpsc::Sender<Happens>) {
    let most = if io::stdin().is_terminal() { 2 } else { 1 };
    let mut ends = 0;
    while ends < most {
        let mut line = Vec::new();
        let happens = match io::stdin().lock().read_until(b'\n', &mut line) {
            Ok(0) => {
                ends += 1;
                Happens::Ended { finally: ends == most }
            }
            Ok(_) => {
                ends = 0;
                Happens::Typed(String::from_utf8_lossy(&line).into_owned())
            }
            Err(_) => {
                ends = most;
                Happens::Ended { finally: true }
            }
        };
        if sender.send(happens).is_err() {
            return;
        }
    }
}

impl Lines<'_> {
    fn go(&mut self, happens: &mpsc::Receiver<Happens>) -> io::Result<()> {
        while let Ok(happens) = happens.recv() {
            match happens {
                Happens::Core(Some(event)) => {
                    self.event(*event)?;
                    if self.over {
                        self.client.send(Op::Quit);
                        return Ok(());
                    }
                }
                Happens::Core(None) => return Ok(()),
                Happens::Typed(line) => self.typed(line.trim_end_matches(['\r', '\n']))?,
                Happens::Ended { finally: false } => self.may_leave()?,
                Happens::Ended { finally: true } => {
                    // Who presses Ctrl-D twice wants to leave now; what was piped in is still done.
                    if io::stdin().is_terminal() {
                        self.waiting.clear();
                        self.client.send(Op::Interrupt);
                    }
                    self.leave()?;
                }
            }
        }
        Ok(())
    }

    /// The first Ctrl-D.
    fn may_leave(&mut self) -> io::Result<()> {
        self.print("[Ctrl-D again leaves]")?;
        match std::mem::replace(&mut self.expects, Expects::Prompt) {
            Expects::Answer(ask, request, stage) => self.ask_again(ask, *request, stage),
            _ if self.ready => self.ask_for("> "),
            _ => Ok(()),
        }
    }

    fn leave(&mut self) -> io::Result<()> {
        self.leaving = true;
        if let Expects::Answer(ask, ..) = self.expects {
            self.expects = Expects::Prompt;
            let answer = HumanAnswer::unasked("the terminal was closed");
            self.client.send(Op::Answer { ask, answer });
            self.next_question()?;
        }
        self.send(Op::End);
        Ok(())
    }

    /// What was held back of an answer belongs before everything else.
    fn flush_answer(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held_back);
        io::stdout().lock().write_all(plain(&held).as_bytes())
    }

    /// A piece of an answer that streams in.
    fn stream(&mut self, piece: &str) -> io::Result<()> {
        self.held_back.push_str(piece);
        let rest = self.held_back.split_off(certain(&self.held_back));
        let shown = std::mem::replace(&mut self.held_back, rest);
        let mut out = io::stdout().lock();
        out.write_all(plain(&shown).as_bytes())?;
        out.flush()?;
        self.in_answer = true;
        self.streamed = true;
        Ok(())
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        self.flush_answer()?;
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.in_answer) {
            out.write_all(b"\n")?;
        }
        let text = plain(text);
        out.write_all(text.trim_end().as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }

    fn ask_for(&mut self, text: &str) -> io::Result<()> {
        self.flush_answer()?;
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.in_answer) {
            out.write_all(b"\n")?;
        }
        out.write_all(plain(text).as_bytes())?;
        // Whoever answers ends the line; what comes before that begins a new one.
        self.in_answer = !text.is_empty();
        out.flush()
    }

    /// Gives an operation to the core: now, or when it is its turn. Returns whether it waits.
    fn send(&mut self, op: Op) -> bool {
        let is_next = match &op {
            Op::Typed { .. } => {
                self.client.send(op);
                return false;
            }
            // What runs goes on beside it.
            Op::Command { line } if !self.ready && self.opened && self.is_immediate(line) => {
                self.client.send(op);
                return false;
            }
            _ => self.ready,
        };
        match is_next {
            true => {
                self.ready = false;
                self.client.send(op);
            }
            false => self.waiting.push_back(op),
        }
        !is_next
    }

    /// The command that a line names, if there is one of that name.
    fn command(&self, line: &str) -> Option<&CommandInfo> {
        let name = line.strip_prefix('/')?.split_whitespace().next()?;
        self.commands.iter().find(|command| command.is_called(name))
    }

    /// Whether a command does not wait. What no command is called is answered at once too.
    fn is_immediate(&self, line: &str) -> bool {
        self.command(line).is_none_or(|command| command.immediate)
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Opened { entries, .. } => {
                if !std::mem::replace(&mut self.opened, true) {
                    let hint = match self.slash_commands {
                        true => "/help lists the commands, /exit leaves.",
                        false => "Ctrl-D twice leaves; slash commands are off.",
                    };
                    self.print(&format!("ona {}. {hint}", self.version))?;
                }
                for entry in entries.iter().rev().take(20).rev() {
                    match &entry.what {
                        ShownEntry::User { text } => self.print(&format!("> {text}"))?,
                        ShownEntry::Assistant { text } => self.print(text)?,
                        ShownEntry::Thinking { .. } => {}
                        ShownEntry::Call { tool, input, refused, .. } => {
                            self.print(&title(tool, input))?;
                            if let Some(refused) = refused {
                                self.print(&format!("  {}", refused.words()))?;
                            }
                        }
                        ShownEntry::Note { text } => self.print(&format!("[{text}]"))?,
                    }
                }
            }
            Event::Commands { commands } => self.commands = commands,
            Event::TurnStarted { .. } | Event::Busy { .. } => self.at_work = true,
            Event::Ready => {
                (self.ready, self.at_work) = (true, false);
                if let Some(line) = self.first_command.take() {
                    self.send(Op::Command { line });
                    return Ok(());
                }
                if let Some(prompt) = self.first_prompt.take() {
                    self.print(&format!("> {prompt}"))?;
                    return self.prompt(&prompt);
                }
                if let Some(op) = self.waiting.pop_front() {
                    self.ready = false;
                    self.client.send(op);
                } else if matches!(self.expects, Expects::Prompt) && !self.leaving {
                    self.ask_for("> ")?;
                }
            }
            Event::Text { text } => self.stream(&text)?,
            Event::Void => self.print("[the answer broke off; it starts again]")?,
            Event::Answered { message } => {
                let streamed = std::mem::take(&mut self.streamed);
                let blocks = message["content"].as_array().into_iter().flatten();
                let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
                match streamed {
                    true => self.ask_for("")?,
                    false if !texts.is_empty() => self.print(&texts.join("\n\n"))?,
                    false => {}
                }
            }
            Event::Retry { attempt, max_retries, delay_ms, error, .. } => {
                self.print(&format!(
                    "[retry {attempt} of {max_retries} in {} s: {error}]",
                    delay_ms.div_ceil(1000)
                ))?;
            }
            Event::ToolStarted { tool, input, .. } => self.print(&title(&tool, &input))?,
            Event::ToolEnded { content, is_error, refused, diff, exit_code, .. } => {
                if let Some(refused) = refused {
                    self.print(&format!("  {}", refused.words()))?;
                } else if let Some(diff) = diff {
                    self.print(&unified(&diff))?;
                } else {
                    let lines: Vec<&str> = content.lines().collect();
                    let mark = if is_error { "error: " } else { "" };
                    for (number, line) in lines.iter().take(RESULT_LINES).enumerate() {
                        self.print(&format!("  {}{line}", if number == 0 { mark } else { "" }))?;
                    }
                    if lines.len() > RESULT_LINES {
                        self.print(&format!("  [{} more lines]", lines.len() - RESULT_LINES))?;
                    }
                    let code = exit_code.map(|code| format!("[exit code {code}]"));
                    if let Some(code) = code.filter(|code| content.trim() != code) {
                        self.print(&format!("  {code}"))?;
                    }
                }
            }
            Event::TurnEnded { end } => match &end.ending {
                Ending::Done => {}
                Ending::Interrupted => self.print("[interrupted]")?,
                ending => {
                    self.print(&format!("error: {}", ending.problem().unwrap_or_default()))?
                }
            },
            Event::Said { message, .. } => self.print(&message)?,
            Event::OfAgent { what, .. } => {
                if let Event::Warning { .. } | Event::HookMessage { .. } | Event::Said { .. } =
                    *what
                {
                    self.event(*what)?;
                }
            }
            Event::HookMessage { text } => self.print(&format!("hook: {text}"))?,
            Event::Warning { text } => self.print(&format!("warning: {text}"))?,
            Event::Compacted { pre_tokens, .. } => {
                self.print(&format!(
                    "[the conversation was compacted, {pre_tokens} tokens before]"
                ))?;
            }
            Event::Reply { command, reply } => {
                self.reply(reply)?;
                // The end of a task comes by itself: the prompt is still open.
                let by_itself = command == "tasks" && self.ready && !self.leaving;
                if by_itself && matches!(self.expects, Expects::Prompt) {
                    self.ask_for("> ")?;
                }
            }
            Event::Input { text } if !text.is_empty() => {
                self.print(&format!("[the prompt was: {text}]"))?;
            }
            Event::Copy { text } => {
                self.print(&text)?;
                self.printed_copy = true;
            }
            Event::Edit { file, then } => self.edit(&file, &then)?,
            Event::Ask { ask, request } => {
                self.asks.push_back((ask, *request));
                if let Expects::Choice(_) | Expects::Text(_) = self.expects {
                    self.print("[a question waits: it comes when the list is closed]")?;
                }
                self.next_question()?;
            }
            Event::AskEnded { ask } => {
                self.asks.retain(|(number, _)| *number != ask);
                if matches!(&self.expects, Expects::Answer(number, ..) if *number == ask) {
                    self.expects = Expects::Prompt;
                    self.print("[no answer is needed any more]")?;
                    self.next_question()?;
                }
            }
            Event::Exit => self.over = true,
            _ => {}
        }
        Ok(())
    }

    fn edit(&mut self, file: &str, then: &str) -> io::Result<()> {
        match self.platform.edit_file(file) {
            Ok(()) if then.is_empty() => Ok(()),
            Ok(()) => {
                self.send(Op::Command { line: then.to_owned() });
                Ok(())
            }
            Err(error) => self.print(&format!("error: {error}")),
        }
    }

    fn reply(&mut self, reply: Reply) -> io::Result<()> {
        match reply {
            _ if std::mem::take(&mut self.printed_copy) => {
                self.print("[printed above: there is no clipboard in line mode]")
            }
            Reply::Text { text } => self.print(&plainly::lines(&text)),
            Reply::Plain { text } => self.print(&text),
            Reply::Error { text } => self.print(&format!("error: {text}")),
            Reply::Diffs { sources } => {
                for source in sources {
                    self.print(&format!("== {}", source.name))?;
                    for file in &source.files {
                        self.print(&unified(file))?;
                    }
                }
                Ok(())
            }
            Reply::Menu { menu } => self.open_list(menu),
        }
    }

    fn typed(&mut self, line: &str) -> io::Result<()> {
        self.in_answer = false;
        let line = line.trim();
        match std::mem::replace(&mut self.expects, Expects::Prompt) {
            Expects::Prompt if !line.is_empty() => self.prompt(line)?,
            Expects::Prompt if self.ready => self.ask_for("> ")?,
            Expects::Prompt => {}
            Expects::Text(field) => self.filled(&field, line)?,
            Expects::Choice(menu) => self.choose(menu, line)?,
            Expects::Answer(ask, request, stage) => self.answer(ask, *request, stage, line)?,
        }
        // A question that came while a list was open.
        self.next_question()
    }

    /// Whether a line is a command, and commands are not switched off.
    fn is_command(&self, line: &str) -> bool {
        self.slash_commands && is_command(line)
    }

    fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.send(Op::Typed { text: text.to_owned() });
        let op = if matches!(text, "exit" | "quit") {
            Op::End
        } else if let Some(command) = text.strip_prefix('!') {
            Op::Shell { command: command.trim().to_owned() }
        } else if let Some(memory) = text.strip_prefix('#') {
            Op::Remember { text: memory.trim().to_owned() }
        } else if self.slash_commands && text == "/" {
            return self.print("/help lists the commands");
        } else if self.is_command(text) {
            Op::Command { line: text.to_owned() }
        } else {
            Op::Submit { prompt: text.to_owned(), attachments: Vec::new(), mentions: true }
        };
        match self.send(op) && self.at_work {
            true => self.print(&format!("[waits until what runs has ended: {text}]")),
            false => Ok(()),
        }
    }
}

/// Whether a line is a command: a path is not.
fn is_command(line: &str) -> bool {
    let name = line.strip_prefix('/').and_then(|rest| rest.split(char::is_whitespace).next());
    name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

fn title(tool: &str, input: &serde_json::Value) -> String {
    let tool_view::Title { name, about } = tool_view::title(tool, input);
    format!("* {name}({about})")
}
