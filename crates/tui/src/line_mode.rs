//! Line mode: plain lines for terminals that cannot move a cursor, and for screen readers. No escape sequence is written;
//! questions are answered with a letter and Enter.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc;

use ona_front::{
    AskRequest, Choice, ClientHandle, Ending, Event, HumanAnswer, Menu, Op, Question, Reply,
    ShownEntry, Wants, answered, chosen, fields, form_answer, questions,
};
use ona_render::diff::unified;
use ona_render::text::{fold_blank_lines, plain};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::menu::plain_list;
use crate::platform::{Facts, Platform};
use crate::tool_view;

/// Lines of a result that are shown.
const RESULT_LINES: usize = 10;

/// Something that happens.
enum Happens {
    Core(Option<Box<Event>>),
    Typed(Option<String>),
}

/// What the next line answers.
enum Expects {
    /// A prompt.
    Prompt,
    /// A question.
    Answer(u64, Box<AskRequest>, Stage),
    /// A choice of a list.
    Choice(Menu),
    /// A text that a command line ends with.
    Text(String),
}

/// How far a question has come.
enum Stage {
    Only,
    Questions { all: Vec<Question>, given: Vec<(String, String)> },
    Form { said: Vec<String> },
}

/// The line mode.
struct Lines<'a> {
    client: &'a ClientHandle,
    platform: &'a dyn Platform,
    expects: Expects,
    asks: VecDeque<(u64, AskRequest)>,
    waiting: VecDeque<Op>,
    ready: bool,
    opened: bool,
    first_prompt: Option<String>,
    version: &'static str,
    /// Whether the line that was printed last is not ended.
    in_answer: bool,
    streamed: bool,
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
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(Happens::Typed(Some(line))).is_err() {
                return;
            }
        }
        let _ = sender.send(Happens::Typed(None));
    });
    let mut lines = Lines {
        client,
        platform,
        expects: Expects::Prompt,
        asks: VecDeque::new(),
        waiting: VecDeque::new(),
        ready: false,
        opened: false,
        first_prompt: facts.first_prompt.clone(),
        version: facts.version,
        in_answer: false,
        streamed: false,
        leaving: false,
        over: false,
    };
    lines.go(&receiver)
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
                Happens::Typed(Some(line)) => self.typed(line.trim_end_matches(['\r', '\n']))?,
                Happens::Typed(None) => {
                    // What was typed before is still done.
                    self.leaving = true;
                    if let Expects::Answer(ask, ..) = self.expects {
                        self.expects = Expects::Prompt;
                        let answer = HumanAnswer::unasked("the terminal was closed");
                        self.client.send(Op::Answer { ask, answer });
                        self.next_question()?;
                    }
                    self.send(Op::End);
                }
            }
        }
        Ok(())
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
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
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.in_answer) {
            out.write_all(b"\n")?;
        }
        out.write_all(plain(text).as_bytes())?;
        // Whoever answers ends the line; what comes before that begins a new one.
        self.in_answer = !text.is_empty();
        out.flush()
    }

    fn send(&mut self, op: Op) {
        match (&op, self.ready) {
            (
                Op::Command { .. }
                | Op::Submit { .. }
                | Op::Shell { .. }
                | Op::Remember { .. }
                | Op::End,
                false,
            ) => {
                self.waiting.push_back(op);
            }
            (Op::Typed { .. }, _) => self.client.send(op),
            _ => {
                self.ready = false;
                self.client.send(op);
            }
        }
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Opened { entries, .. } => {
                if !std::mem::replace(&mut self.opened, true) {
                    self.print(&format!(
                        "ona {}. /help lists the commands, /exit leaves.",
                        self.version
                    ))?;
                }
                for entry in entries.iter().rev().take(20).rev() {
                    match &entry.what {
                        ShownEntry::User { text } => self.print(&format!("> {text}"))?,
                        ShownEntry::Assistant { text } => self.print(text)?,
                        ShownEntry::Thinking { .. } => {}
                        ShownEntry::Call { tool, input, .. } => self.print(&title(tool, input))?,
                        ShownEntry::Note { text } => self.print(&format!("[{text}]"))?,
                    }
                }
            }
            Event::Ready => {
                self.ready = true;
                if let Some(prompt) = self.first_prompt.take() {
                    self.print(&format!("> {prompt}"))?;
                    self.prompt(&prompt);
                    return Ok(());
                }
                if let Some(op) = self.waiting.pop_front() {
                    self.ready = false;
                    self.client.send(op);
                } else if matches!(self.expects, Expects::Prompt) && !self.leaving {
                    self.ask_for("> ")?;
                }
            }
            Event::Text { text } => {
                let mut out = io::stdout().lock();
                out.write_all(plain(&text).as_bytes())?;
                out.flush()?;
                self.in_answer = true;
                self.streamed = true;
            }
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
            Event::ToolEnded { content, is_error, refused, diff, .. } => {
                if let Some(refused) = refused {
                    self.print(&format!(
                        "  denied by {}: {}",
                        refused.stage.as_str(),
                        refused.reason
                    ))?;
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
            Event::Reply { reply, .. } => self.reply(reply)?,
            Event::Input { text } if !text.is_empty() => {
                self.print(&format!("[the prompt was: {text}]"))?;
            }
            Event::Copy { text } => self.print(&text)?,
            Event::Edit { file, then } => self.edit(&file, &then)?,
            Event::Ask { ask, request } => {
                self.asks.push_back((ask, request));
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
            Reply::Text { text } | Reply::Plain { text } => self.print(&text),
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
            Reply::Menu { menu } => {
                let list = plain_list(&menu);
                self.print(&list)?;
                self.ask_for("a number and Enter, or Enter alone to close: ")?;
                self.expects = Expects::Choice(menu);
                Ok(())
            }
        }
    }

    fn typed(&mut self, line: &str) -> io::Result<()> {
        self.in_answer = false;
        match std::mem::replace(&mut self.expects, Expects::Prompt) {
            Expects::Prompt => {
                match line.trim() {
                    "" if self.ready => self.ask_for("> ")?,
                    "" => {}
                    text => self.prompt(text),
                }
                Ok(())
            }
            Expects::Text(before) => {
                self.send(Op::Command { line: format!("{before}{}", line.trim()) });
                Ok(())
            }
            Expects::Choice(menu) => self.choose(&menu, line.trim()),
            Expects::Answer(ask, request, stage) => self.answer(ask, *request, stage, line.trim()),
        }
    }

    fn prompt(&mut self, text: &str) {
        self.send(Op::Typed { text: text.to_owned() });
        let op = if matches!(text, "exit" | "quit") {
            Op::End
        } else if let Some(command) = text.strip_prefix('!') {
            Op::Shell { command: command.trim().to_owned() }
        } else if let Some(memory) = text.strip_prefix('#') {
            Op::Remember { text: memory.trim().to_owned() }
        } else if text.starts_with('/')
            && !text[1..].split_whitespace().next().unwrap_or_default().contains('/')
        {
            Op::Command { line: text.to_owned() }
        } else {
            Op::Submit { prompt: text.to_owned(), attachments: Vec::new(), mentions: true }
        };
        self.send(op);
    }

    fn choose(&mut self, menu: &Menu, line: &str) -> io::Result<()> {
        let (key, number) = match line.chars().next().filter(char::is_ascii_alphabetic) {
            Some(key) => (Some(key), line[1..].trim()),
            None => (None, line),
        };
        let item = number.parse::<usize>().ok().and_then(|at| menu.items.get(at.checked_sub(1)?));
        let choice = match (key, item) {
            (None, Some(item)) => item.choice.clone(),
            (Some(key), item) => {
                let value = item.map(|item| item.value.clone()).unwrap_or_default();
                let found = menu
                    .keys
                    .iter()
                    .find(|known| known.key == key)
                    .map(|known| known.choice.clone());
                match found {
                    Some(Choice::Command { line }) => {
                        Choice::Command { line: line.replace("{}", &value) }
                    }
                    Some(Choice::Type { label, line, initial }) => {
                        Choice::Type { label, line: line.replace("{}", &value), initial }
                    }
                    _ => Choice::Close,
                }
            }
            (None, None) => Choice::Close,
        };
        match choice {
            Choice::Close if self.ready => self.ask_for("> "),
            Choice::Close => Ok(()),
            Choice::Command { line } => {
                self.send(Op::Command { line });
                Ok(())
            }
            Choice::Type { label, line, .. } => {
                self.expects = Expects::Text(line);
                self.ask_for(&format!("{label}: "))
            }
        }
    }

    fn next_question(&mut self) -> io::Result<()> {
        if !matches!(self.expects, Expects::Prompt) {
            return Ok(());
        }
        let Some((ask, request)) = self.asks.pop_front() else { return Ok(()) };
        if self.leaving {
            let answer = HumanAnswer::unasked("the terminal was closed");
            self.client.send(Op::Answer { ask, answer });
            return self.next_question();
        }
        let stage = match request.wants {
            Wants::Answers => {
                Stage::Questions { all: questions(&request.input), given: Vec::new() }
            }
            Wants::Form if request.input["url"].is_null() => Stage::Form { said: Vec::new() },
            _ => Stage::Only,
        };
        let text = question_text(&request);
        self.print(&text)?;
        let next = next_words(&request, &stage);
        self.expects = Expects::Answer(ask, Box::new(request), stage);
        self.ask_for(&next)
    }

    fn answer(
        &mut self,
        ask: u64,
        request: AskRequest,
        stage: Stage,
        line: &str,
    ) -> io::Result<()> {
        let (answer, stage) = match stage {
            Stage::Only => (one_line_answer(&request, line), Stage::Only),
            Stage::Questions { all, mut given } => {
                if let Some(question) = all.get(given.len())
                    && let Some(answer) = chosen(line, question)
                {
                    given.push((question.text.clone(), answer));
                }
                let done = (given.len() == all.len()).then(|| HumanAnswer::Allow {
                    always: Vec::new(),
                    input: Some(answered(&request.input, &given)),
                });
                (done, Stage::Questions { all, given })
            }
            Stage::Form { mut said } => {
                let all = fields(&request.input["schema"]);
                if matches!(line, "n" | "no") && said.is_empty() {
                    (Some(HumanAnswer::no("")), Stage::Form { said })
                } else {
                    if all.get(said.len()).is_some_and(|field| field.takes(line)) {
                        said.push(line.to_owned());
                    }
                    let done = (said.len() >= all.len()).then(|| match form_answer(&all, &said) {
                        Ok(input) => HumanAnswer::Allow { always: Vec::new(), input: Some(input) },
                        Err(_) => HumanAnswer::no(""),
                    });
                    (done, Stage::Form { said })
                }
            }
        };
        match answer {
            Some(answer) => {
                self.client.send(Op::Answer { ask, answer });
                self.next_question()
            }
            None => {
                let next = next_words(&request, &stage);
                self.expects = Expects::Answer(ask, Box::new(request), stage);
                self.ask_for(&next)
            }
        }
    }
}

fn title(tool: &str, input: &serde_json::Value) -> String {
    let tool_view::Title { name, about } = tool_view::title(tool, input);
    format!("* {name}({about})")
}

/// What is asked.
fn question_text(request: &AskRequest) -> String {
    let input = &request.input;
    let mut text = match request.wants {
        Wants::Permission => {
            let body = match (&request.diff, input["command"].as_str(), input["plan"].as_str()) {
                (Some(diff), ..) => unified(diff),
                (None, Some(command), _) => format!("{command}\n"),
                (None, None, Some(plan)) => format!("{plan}\n"),
                _ => format!("{input}\n"),
            };
            format!("Allow {}? in {}\n{body}", request.tool, request.place)
        }
        Wants::Trust => {
            let list = |key: &str| -> String {
                let items =
                    input[key].as_array().into_iter().flatten().filter_map(|item| item.as_str());
                items.map(|item| format!("  {}\n", item.replace('\n', " "))).collect()
            };
            let root = input["root"].as_str().unwrap_or_default();
            let also = list("also");
            let also = if also.is_empty() {
                also
            } else {
                format!("These would also take effect:\n{also}")
            };
            format!(
                "Do you trust this folder? {root}\ncontains what would run with your rights:\n{}{also}",
                list("runs")
            )
        }
        Wants::Unread => format!("Go on without guards that cannot be read? {}\n", input["unread"]),
        Wants::Code => format!("Sign in at {}\n", input["url"].as_str().unwrap_or_default()),
        Wants::Form | Wants::Answers => String::new(),
    };
    for check in &request.checks {
        text.push_str(&format!("{check}\n"));
    }
    let stage = request.stage.map(|stage| format!("{}: ", stage.as_str())).unwrap_or_default();
    if !matches!(request.wants, Wants::Trust | Wants::Answers) {
        text.push_str(&format!("{stage}{}\n", request.reason));
    }
    if request.wants == Wants::Permission && !request.suggestions.is_empty() {
        let rules: Vec<String> = request.suggestions.iter().map(ToString::to_string).collect();
        text.push_str(&format!("always means: {} → {}\n", rules.join(", "), request.always_in));
    }
    fold_blank_lines(&plain(&text))
}

/// What is to be typed next.
fn next_words(request: &AskRequest, stage: &Stage) -> String {
    match (stage, request.wants) {
        (Stage::Questions { all, given }, _) => {
            let Some(question) = all.get(given.len()) else { return String::new() };
            let mut text = format!("{}\n", plain(&question.text));
            for (number, (label, about)) in (1..).zip(&question.options) {
                text.push_str(&format!("  {number}. {}  {}\n", plain(label), plain(about)));
            }
            text.push_str(match question.several {
                true => "numbers with commas, or an answer of your own: ",
                false => "a number, or an answer of your own: ",
            });
            text
        }
        (Stage::Form { said }, _) => {
            let all = fields(&request.input["schema"]);
            let Some(field) = all.get(said.len()) else { return String::new() };
            let first = if said.is_empty() { " (n declines)" } else { "" };
            format!("{} ({}){first}: ", plain(&field.title), plain(&field.wanted))
        }
        (Stage::Only, Wants::Permission) if !request.suggestions.is_empty() => {
            "y yes, n no, a always, or words for the agent: ".to_owned()
        }
        (Stage::Only, Wants::Permission) => "y yes, n no, or words for the agent: ".to_owned(),
        (Stage::Only, Wants::Code) => "code, or n: ".to_owned(),
        (Stage::Only, _) => "y yes, n no: ".to_owned(),
    }
}

/// The answer to a question that is answered with one line.
fn one_line_answer(request: &AskRequest, line: &str) -> Option<HumanAnswer> {
    Some(match (request.wants, line) {
        (Wants::Code, "") => return None,
        (Wants::Code, "n" | "no") => HumanAnswer::no(""),
        (Wants::Code, code) => HumanAnswer::Allow {
            always: Vec::new(),
            input: Some(serde_json::json!({"code": code})),
        },
        (_, "y" | "yes") => HumanAnswer::yes(),
        (_, "n" | "no") => HumanAnswer::no(""),
        (Wants::Permission, "a" | "always") if !request.suggestions.is_empty() => request.always(),
        (_, "") => return None,
        (Wants::Permission, words) => HumanAnswer::no(words),
        _ => HumanAnswer::no(""),
    })
}
