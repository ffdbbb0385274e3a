//! Questions in line mode: a letter, a number or words, and Enter.

use std::io;

use ona_front::{
    AskRequest, Given, HumanAnswer, Op, Question, Wants, answered, chosen, fields, form_answer,
    listed, questions,
};
use ona_render::diff::unified;
use ona_render::text::{fold_blank_lines, plain};

use super::{Expects, Lines, is_command};
use crate::dialog::DECLINED;
use crate::tool_view;

/// How far a question has come.
pub(super) enum Stage {
    Only,
    Questions { all: Vec<Question>, given: Vec<(String, String)> },
    Form { said: Vec<String> },
}

impl Lines<'_> {
    pub(super) fn next_question(&mut self) -> io::Result<()> {
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

    pub(super) fn answer(
        &mut self,
        ask: u64,
        request: AskRequest,
        stage: Stage,
        line: &str,
    ) -> io::Result<()> {
        if self.is_for_later(&request, line) {
            self.print("[a question waits: answer it first, then type the command again]")?;
            return self.ask_again(ask, request, stage);
        }
        let (answer, stage) = match stage {
            Stage::Only => (one_line_answer(&request, line), Stage::Only),
            Stage::Questions { all, given }
                if all.get(given.len()).is_some_and(|question| declines(line, question)) =>
            {
                (Some(HumanAnswer::no(DECLINED)), Stage::Questions { all, given })
            }
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
                // Behind the first field it may be a value.
                let is_value =
                    !said.is_empty() && all.get(said.len()).is_some_and(|field| field.takes(line));
                if matches!(line, "n" | "no") && !is_value {
                    (Some(HumanAnswer::no("")), Stage::Form { said })
                } else {
                    match all.get(said.len()) {
                        Some(field) if field.takes(line) => said.push(line.to_owned()),
                        Some(field) if line.trim().is_empty() => {
                            self.print(&format!("[{} is needed]", plain(&field.title)))?;
                        }
                        Some(field) => {
                            let wanted = plain(&field.wanted);
                            self.print(&format!("[that is not what is wanted: {wanted}]"))?;
                        }
                        None => {}
                    }
                    let done = (said.len() >= all.len()).then(|| {
                        match form_answer(
                            &all,
                            &said.iter().cloned().map(Given::Typed).collect::<Vec<_>>(),
                        ) {
                            Ok(input) => {
                                HumanAnswer::Allow { always: Vec::new(), input: Some(input) }
                            }
                            Err(_) => HumanAnswer::no(""),
                        }
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
            None => self.ask_again(ask, request, stage),
        }
    }

    pub(super) fn ask_again(
        &mut self,
        ask: u64,
        request: AskRequest,
        stage: Stage,
    ) -> io::Result<()> {
        let next = next_words(&request, &stage);
        self.expects = Expects::Answer(ask, Box::new(request), stage);
        self.ask_for(&next)
    }

    /// Whether a line is a command rather than an answer. What a form or a question of the agent takes may begin with a
    /// slash: there it is one only if it has the name of a command.
    fn is_for_later(&self, request: &AskRequest, line: &str) -> bool {
        match request.wants {
            Wants::Form | Wants::Answers => self.command(line).is_some(),
            _ => is_command(line),
        }
    }
}

/// What is asked.
fn question_text(request: &AskRequest) -> String {
    let input = &request.input;
    let list = |key: &str| -> String {
        let items = input[key].as_array().into_iter().flatten().filter_map(|item| item.as_str());
        items.flat_map(listed).map(|row| format!("  {row}\n")).collect()
    };
    let mut text = match request.wants {
        Wants::Permission => {
            let body = match (&request.diff, input["command"].as_str(), input["plan"].as_str()) {
                (Some(diff), ..) => unified(diff),
                (None, Some(command), _) => {
                    let about = input["description"].as_str().unwrap_or_default();
                    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
                    let about = if about.is_empty() { about } else { format!("({about})\n") };
                    format!("{command}\n{about}")
                }
                (None, None, Some(plan)) => format!("{plan}\n"),
                _ => about(&request.tool, input),
            };
            format!("Allow {}? in {}\n{body}", request.tool, request.place)
        }
        Wants::Trust => {
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
        Wants::Unread => format!(
            "Go on without a guard?\nThis cannot be read, although it may forbid something:\n{}",
            list("unread")
        ),
        Wants::Code => format!("Sign in at {}\n", input["url"].as_str().unwrap_or_default()),
        Wants::Form | Wants::Answers => String::new(),
    };
    for check in request.criteria.iter().chain(&request.checks).chain(&request.links) {
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

/// What a call is about: its title where it has one, and its input, each part on a line.
fn about(tool: &str, input: &serde_json::Value) -> String {
    let tool_view::Title { name, about } = tool_view::title(tool, input);
    let mut text = if about.is_empty() { String::new() } else { format!("{name}: {about}\n") };
    for (key, value) in input.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if value != about {
            text.push_str(&format!("  {key}: {value}\n"));
        }
    }
    text
}

/// Whether a line declines to answer a question. Where an option is called so, it is an answer.
fn declines(line: &str, question: &Question) -> bool {
    let is_option = |(label, _): &(String, String)| {
        ["n", "no"].iter().any(|no| label.trim().eq_ignore_ascii_case(no))
    };
    matches!(line, "n" | "no") && !question.options.iter().any(is_option)
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
            text = fold_blank_lines(&text);
            let numbers = if question.several { "numbers with commas" } else { "a number" };
            let no = if declines("n", question) { ", n declines" } else { "" };
            text.push_str(&format!("{numbers}, or an answer of your own{no}: "));
            text
        }
        (Stage::Form { said }, _) => {
            let all = fields(&request.input["schema"]);
            let Some(field) = all.get(said.len()) else { return String::new() };
            let first = if said.is_empty() || !field.takes("n") { " (n declines)" } else { "" };
            let needed = if field.needed { ", needed" } else { "" };
            format!("{} ({}{needed}){first}: ", plain(&field.title), plain(&field.wanted))
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
        // Other words are no answer: it is asked again.
        _ => return None,
    })
}
