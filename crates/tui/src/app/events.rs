//! Events of the core.

use std::time::Instant;

use ona_editor::History;
use ona_editor::keymap::Keymap;
use ona_front::{AskRequest, Ending, Event, Op, Reply, Shown, TurnEnd, Wants};
use ona_render::stream::Piece;
use ona_render::text::plain;
use ratatui::text::Line;

use super::{App, Effect, Overlay};
use crate::blocks::{Block, EndedCall, NoteKind};
use crate::dialog::Dialog;
use crate::diff_view::DiffView;
use crate::live::short_number;
use crate::menu::MenuView;
use crate::pager::{block, pieces};

impl App {
    /// An event of the core.
    pub fn event(&mut self, event: Event, now: Instant) {
        self.now = now;
        match event {
            Event::Ask { ask, request } => self.ask(ask, *request),
            Event::AskEnded { ask } => {
                let front = self.asks.front().map(|(number, _)| *number);
                self.asks.retain(|(number, _)| *number != ask);
                if front == Some(ask) {
                    self.next_dialog();
                }
            }
            Event::TurnStarted { .. } => {
                self.interrupted = false;
                self.live.busy = None;
                self.live.begin("", now);
            }
            Event::Text { text } => {
                self.end_thinking();
                let mut live = std::mem::take(&mut self.live);
                let rows = live.text(&text, self.columns, &self.look());
                self.live = live;
                self.finished.extend(rows);
            }
            Event::Thinking { text } => self.live.think(&text),
            Event::Void => self.void(),
            Event::Retry { attempt, max_retries, delay_ms, error, .. } => {
                let seconds = delay_ms.div_ceil(1000);
                self.live.waiting = Some(format!(
                    "Trying again in {seconds} s ({attempt} of {max_retries}): {error}"
                ));
            }
            Event::Answered { message } => self.answered(&message),
            Event::ToolStarted { id, tool, input } => self.live.start(id, tool, input, now),
            Event::ToolOutput { id, text } => self.live.output(&id, &text),
            Event::ToolProgress { id, done, total, message } => {
                let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
                self.live.progress(&id, format!("{done}{of} {}", message.unwrap_or_default()));
            }
            Event::ToolEnded { id, tool, content, is_error, refused, diff, exit_code } => {
                let input = self.live.stop(&id).map(|call| call.input).unwrap_or_default();
                let result = Some((content, is_error));
                // What was refused is still to be seen.
                let asked =
                    self.asked.take().filter(|asked| asked.tool == tool && asked.input == input);
                let diff =
                    diff.or(asked.filter(|_| refused.is_some()).and_then(|asked| asked.diff));
                let call = EndedCall { tool, input, result, refused, diff, exit_code, depth: 0 };
                self.finish(Block::Call(Box::new(call)));
            }
            Event::HookRan { .. } | Event::Stream { .. } => {}
            Event::Compacting { .. } => {
                self.live.begin("Compacting", now);
                self.live.waiting = Some("Compacting the conversation…".to_owned());
            }
            Event::Compacted { pre_tokens, .. } => {
                let text = match pre_tokens {
                    // No answer has told it yet.
                    0 => "the conversation was compacted".to_owned(),
                    tokens => format!(
                        "the conversation was compacted ({} tokens before)",
                        short_number(tokens)
                    ),
                };
                self.say(NoteKind::Info, text);
            }
            Event::CompactingEnded => self.live.waiting = None,
            Event::TurnEnded { end } => self.turn_ended(&end),
            Event::Said { message, attachments, .. } => {
                let mut text = message;
                for file in attachments {
                    text.push_str(&format!("\n\n[{file}]"));
                }
                self.finish(Block::Markdown(text));
            }
            Event::OfAgent { call, what } => self.of_agent(&call, *what),
            Event::HookMessage { text } => self.say(NoteKind::Info, format!("hook: {text}")),
            Event::Warning { text } => self.say(NoteKind::Warning, text),
            Event::Opened { source, entries, more } => self.opened(&source, &entries, more),
            Event::Busy { what } => self.live.begin(&what, now),
            Event::Ready => self.core_is_ready(),
            Event::Status { status } => self.status = *status,
            Event::StatusLine { text } => self.custom = text,
            Event::Preferences { preferences } => self.take_preferences(*preferences),
            Event::Commands { commands } => {
                self.commands = commands;
                self.update_popup();
            }
            Event::History { prompts } => {
                // What was typed before the session was open is the newest.
                let typed = if self.opened { &[] } else { self.history.entries() };
                self.history = History::new(prompts.into_iter().chain(typed.iter().cloned()));
            }
            Event::Files { query, files } => self.files_found(&query, files),
            Event::Transcript { entries, more } => {
                if let Some(Overlay::Transcript(pager)) = &mut self.overlay {
                    pager.add(entries, more);
                }
            }
            Event::Todos { todos } => self.live.todos = todos,
            Event::Tasks { tasks } => self.status.background = tasks.len(),
            Event::Reply { command, reply } => self.reply(&command, reply),
            Event::Input { text } => {
                if !text.is_empty() || self.editor.is_empty() {
                    self.editor.set_text(&plain(&text));
                    self.update_popup();
                }
            }
            Event::Copy { text } => self.effects.push(Effect::Copy(text)),
            Event::Edit { file, then } => self.effects.push(Effect::EditFile(file, then)),
            Event::Exit => self.leave(),
        }
        self.show_title();
    }

    /// The core has gone.
    pub fn core_ended(&mut self) {
        self.leaving = true;
        self.effects.push(Effect::Leave);
    }

    fn ask(&mut self, number: u64, request: AskRequest) {
        let text = match request.wants {
            Wants::Permission => {
                format!("ona needs your permission to use {}", plain(&request.tool))
            }
            _ => "ona has a question".to_owned(),
        };
        if request.diff.is_some() {
            self.asked = Some(Box::new(request.clone()));
        }
        self.asks.push_back((number, Dialog::new(request)));
        if self.asks.len() == 1 {
            self.next_dialog();
        }
        self.notify(&text);
    }

    /// Another dialog is at the front. Whoever is typing right now does not mean it.
    pub(super) fn next_dialog(&mut self) {
        self.guard.comes((!self.editor.is_empty()).then_some(self.last_key));
    }

    /// The answer that streams in is over: its last rows, and its pieces.
    fn end_answer(&mut self) -> (Vec<Line<'static>>, Vec<Piece>) {
        let mut live = std::mem::take(&mut self.live);
        let ended = live.end_answer(&self.look());
        self.live = live;
        ended
    }

    /// What the model has thought so far is finished, if it has.
    fn end_thinking(&mut self) {
        let thinking = self.live.take_thinking();
        if !thinking.trim().is_empty() {
            self.finish(Block::Thinking(thinking));
        }
    }

    fn void(&mut self) {
        let was_answering = self.live.is_answering();
        self.end_answer();
        self.live.take_thinking();
        if was_answering {
            self.say(NoteKind::Info, "the answer broke off; it starts again");
        }
    }

    fn answered(&mut self, message: &serde_json::Value) {
        let streamed = self.live.is_answering();
        let (rows, streamed_pieces) = self.end_answer();
        self.finished.extend(rows);
        if streamed {
            self.keep(Block::Answer(streamed_pieces));
        } else {
            self.end_thinking();
            let blocks = message["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            let text = texts.join("\n\n");
            if !text.trim().is_empty() {
                self.finish(Block::Answer(pieces(&text)));
            }
        }
        let tokens = message["usage"]["output_tokens"].as_u64().unwrap_or_default();
        self.live.count(tokens);
    }

    fn turn_ended(&mut self, end: &TurnEnd) {
        // What was streamed of an answer that never ended.
        let (rows, pieces) = self.end_answer();
        self.live.take_thinking();
        self.live.running.clear();
        self.finished.extend(rows);
        if !pieces.is_empty() {
            self.keep(Block::Answer(pieces));
        }
        let took =
            self.live.busy.as_ref().map(|(since, _)| self.now.saturating_duration_since(*since));
        self.live.end();
        match &end.ending {
            Ending::Done => {}
            Ending::Interrupted => {
                self.say(NoteKind::Warning, "interrupted · tell ona what to do instead")
            }
            ending => {
                if let Some(problem) = ending.problem() {
                    self.say(NoteKind::Error, problem);
                }
            }
        }
        if took.is_some_and(|took| took.as_secs() >= 10) {
            self.notify("ona has finished");
        }
    }

    fn of_agent(&mut self, call: &ona_types::ToolUseId, event: Event) {
        match event {
            Event::ToolStarted { id, tool, input } => {
                self.live.agent_calls(call, &tool, &input);
                self.agents_calls.insert(id.to_string(), (tool, input));
            }
            Event::ToolEnded { id, content, is_error, refused, diff, exit_code, .. } => {
                let known = self.agents_calls.remove(id.as_str());
                // What an agent may not do is seen like everything that is refused.
                if let Some((tool, input)) =
                    known.filter(|_| refused.is_some() || self.preferences.verbose)
                {
                    let result = Some((content, is_error));
                    let ended =
                        EndedCall { tool, input, result, refused, diff, exit_code, depth: 1 };
                    self.finish(Block::Call(Box::new(ended)));
                }
            }
            Event::Warning { .. } | Event::HookMessage { .. } | Event::Said { .. } => {
                let now = self.now;
                self.event(event, now);
            }
            Event::OfAgent { call, what } => self.of_agent(&call, *what),
            _ => {}
        }
    }

    fn opened(&mut self, source: &str, entries: &[Shown], more: bool) {
        if !self.opened {
            self.opened = true;
            self.banner();
        }
        if source == "clear" {
            self.history.leave();
            self.history = History::new([]);
        }
        self.live.todos.clear();
        if more {
            self.say(NoteKind::Info, "earlier entries: ctrl+o");
        }
        for entry in entries {
            self.finish(block(&entry.what));
        }
    }

    fn banner(&mut self) {
        let mut text = format!("ona {}", self.facts.version);
        if !self.status.model.is_empty() {
            text.push_str(&format!(" · {}", self.status.model));
        }
        let mut dir = self.status.cwd.clone();
        if let Some(home) = &self.facts.home
            && let Some(rest) = dir.strip_prefix(home.as_str())
        {
            dir = format!("~{rest}");
        }
        let hint = match self.facts.slash_commands {
            true => "/help lists the commands, ? the keys",
            false => "? lists the keys, Ctrl-D twice leaves; slash commands are off",
        };
        text.push_str(&format!(" · {dir}\n{hint}"));
        self.say(NoteKind::Info, text);
    }

    fn core_is_ready(&mut self) {
        self.live.end();
        self.ready = true;
        if let Some(line) = self.facts.first_command.take() {
            self.run(line);
            return;
        }
        if let Some(prompt) = self.first_prompt.take().filter(|prompt| !prompt.trim().is_empty()) {
            self.editor.set_text(&prompt);
            self.submit();
            return;
        }
        self.send_next();
    }

    pub(super) fn send_next(&mut self) {
        if !self.ready || self.leaving {
            return;
        }
        if let Some(queued) = self.queue.pop_front() {
            self.ready = false;
            self.finish(Block::User(queued.content.shown()));
            self.live.begin("", self.now);
            self.send(queued.op);
        }
    }

    fn take_preferences(&mut self, preferences: ona_front::Preferences) {
        let vim = preferences.editor_mode.as_deref() == Some("vim");
        match (vim, self.vim.is_some()) {
            (true, false) => self.vim = Some(ona_editor::vim::Vim::new()),
            (false, true) => self.vim = None,
            _ => {}
        }
        self.tell_vim();
        if preferences.keybindings != self.keymap_text {
            self.keymap_text.clone_from(&preferences.keybindings);
            let (keymap, problems) = match &preferences.keybindings {
                Some(text) => Keymap::with_file(text),
                None => (Keymap::default(), Vec::new()),
            };
            self.keymap = keymap;
            for problem in problems {
                self.say(NoteKind::Warning, format!("keybindings.json: {problem}"));
            }
        }
        self.preferences = preferences;
        self.choose_theme();
    }

    fn reply(&mut self, command: &str, reply: Reply) {
        if !matches!(reply, Reply::Menu { .. }) {
            self.lists.clear();
        }
        match reply {
            Reply::Text { text } => self.finish(Block::Markdown(text)),
            Reply::Plain { text } => {
                let text = if text.is_empty() { format!("/{command}: done") } else { text };
                self.finish(Block::Plain(text));
            }
            Reply::Error { text } => self.say(NoteKind::Error, text),
            Reply::Menu { menu } => {
                // A list that comes again, changed or by a choice "Back", takes its own place.
                let same = self.lists.iter().position(|list| list.title() == menu.title);
                if let Some(place) = same {
                    self.lists.truncate(place);
                }
                let view = MenuView::new(menu).nested(!self.lists.is_empty());
                self.overlay = Some(Overlay::Menu(view));
            }
            Reply::Diffs { sources } => {
                self.overlay = Some(Overlay::Diffs(Box::new(DiffView::new(sources))))
            }
        }
    }

    pub(super) fn leave(&mut self) {
        if !self.leaving {
            self.leaving = true;
            self.send(Op::Quit);
        }
        self.effects.push(Effect::Leave);
    }
}
