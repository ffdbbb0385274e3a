//! The prompt: what is offered while it is typed, and what becomes of it.

use ona_editor::Content;
use ona_front::Op;

use super::{App, Queued};
use crate::blocks::{Block, NoteKind};
use crate::popup::{Offer, Popup, matching, mention};

/// Larger prompts are not kept in the history, which is searched with every key.
const KEPT: usize = 200_000;

impl App {
    /// Offers commands or files, as the text before the cursor wants.
    pub(super) fn update_popup(&mut self) {
        let before = self.editor.before_cursor();
        if self.dismissed.as_ref() == Some(&before) || self.search.is_some() {
            self.popup = None;
            return;
        }
        self.dismissed = None;
        let whole = self.editor.shown();
        if let Some(typed) = before.strip_prefix('/')
            && self.facts.slash_commands
            && !typed.contains(char::is_whitespace)
            && whole.len() == before.len()
        {
            let commands = matching(&self.commands, typed);
            let same = matches!(&self.popup, Some(Popup { offer: Offer::Commands(now), .. }) if *now == commands);
            if !same {
                self.popup = Some(Popup { offer: Offer::Commands(commands), selected: 0 });
            }
            return;
        }
        match mention(&before) {
            Some(query) if !before.starts_with('!') => {
                let known = matches!(&self.popup, Some(Popup { offer: Offer::Files { query: now, .. }, .. }) if now == query);
                if !known {
                    let query = query.to_owned();
                    self.send(Op::FindFiles { query: query.clone() });
                    let files = match self.popup.take() {
                        Some(Popup { offer: Offer::Files { files, .. }, .. }) => files,
                        _ => Vec::new(),
                    };
                    if !files.is_empty() {
                        self.popup =
                            Some(Popup { offer: Offer::Files { query, files }, selected: 0 });
                    }
                }
            }
            _ => self.popup = None,
        }
    }

    pub(super) fn files_found(&mut self, query: &str, files: Vec<String>) {
        let before = self.editor.before_cursor();
        if mention(&before) != Some(query) || self.dismissed.as_ref() == Some(&before) {
            return;
        }
        self.popup = match files.is_empty() {
            true => None,
            false => {
                Some(Popup { offer: Offer::Files { query: query.to_owned(), files }, selected: 0 })
            }
        };
    }

    /// Tab: takes what is selected.
    pub(super) fn accept_popup(&mut self) {
        let Some(popup) = self.popup.take() else { return };
        let before = self.editor.before_cursor();
        if let Some(command) = popup.command() {
            self.editor.complete(before.len(), &format!("/{} ", command.name));
        } else if let Some(file) = popup.file() {
            let typed = mention(&before).map_or(0, str::len) + 1;
            let quoted = file.contains(char::is_whitespace);
            let text = if quoted { format!("@\"{file}\"") } else { format!("@{file}") };
            // In a directory one goes on choosing.
            let end = if file.ends_with('/') { "" } else { " " };
            self.editor.complete(typed, &format!("{text}{end}"));
        }
        self.update_popup();
    }

    /// Tab in a command line of one's own: an earlier one that begins so, and with every further Tab the one before.
    pub(super) fn complete_shell(&mut self) {
        let text = self.editor.text();
        let (typed, last) = match self.completed.take() {
            Some((typed, last)) if last == text => (typed, Some(last)),
            _ => (text, None),
        };
        let earlier = self.history.completion(&typed, last.as_deref()).map(str::to_owned);
        match earlier.or(last) {
            Some(line) => {
                self.editor.set_text(&line);
                self.completed = Some((typed, line));
            }
            None => self.note("no earlier command line begins so"),
        }
    }

    /// Enter.
    pub(super) fn submit(&mut self) {
        if self.editor.newline_for_backslash() {
            return;
        }
        // A command that is half typed is the one that is selected.
        if let Some(Popup { offer: Offer::Commands(commands), selected }) = &self.popup
            && let Some(command) = commands.get(*selected)
        {
            let typed = self.editor.text();
            let typed = typed.trim_start_matches('/').trim();
            let exact = command.is_called(typed);
            let needs = command.arguments.starts_with('<');
            let line = format!("/{}", command.name);
            if !exact {
                if needs {
                    self.accept_popup();
                    return;
                }
                self.editor.set_text(&line);
            }
        }
        self.popup = None;
        self.lists.clear();
        let content = self.editor.content().clone();
        let text = content.text();
        if text.trim().is_empty() {
            return;
        }
        self.editor.take();
        if let Some(vim) = &mut self.vim {
            vim.reset();
        }
        let trimmed = text.trim();
        if matches!(trimmed, "exit" | "quit") {
            self.leave();
            return;
        }
        if trimmed.len() <= KEPT {
            self.history.push(trimmed.to_owned());
            self.send(Op::Typed { text: trimmed.to_owned() });
        }
        let images: Vec<_> =
            content.images().iter().filter_map(|number| self.images.remove(number)).collect();
        if let Some(command) = trimmed.strip_prefix('!') {
            let command = command.trim().to_owned();
            match command.is_empty() {
                true => self.say(NoteKind::Info, "type a command line after the !"),
                false => self.give(content, Op::Shell { command }),
            }
        } else if let Some(text) = trimmed.strip_prefix('#') {
            match text.trim() {
                "" => self.say(NoteKind::Info, "type what is to be remembered after the #"),
                text => self.give(content, Op::Remember { text: text.to_owned() }),
            }
        } else if self.facts.slash_commands && trimmed == "/" {
            self.say(NoteKind::Info, "/help lists the commands");
        } else if self.facts.slash_commands && trimmed.starts_with('/') && is_command(trimmed) {
            self.give(content, Op::Command { line: trimmed.to_owned() });
        } else {
            let op = Op::Submit { prompt: trimmed.to_owned(), attachments: images, mentions: true };
            self.give(content, op);
        }
    }

    /// Gives an operation to the core, now or when it is its turn.
    pub(super) fn give(&mut self, content: Content, op: Op) {
        if let Op::Command { line } = &op
            && self.is_immediate(line)
            && (!self.ready || self.is_busy())
            && self.opened
        {
            self.finish(Block::User(content.shown()));
            self.send(op);
            return;
        }
        self.queue.push_back(Queued { content, op });
        self.send_next();
    }

    /// Whether a command does not wait. What no command is called is answered at once too.
    fn is_immediate(&self, line: &str) -> bool {
        let name = line.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        let command = self.commands.iter().find(|command| command.is_called(name));
        command.is_none_or(|command| command.immediate)
    }

    /// Esc while something runs: what waits comes back into the prompt.
    pub(super) fn interrupt(&mut self) {
        self.interrupted = true;
        self.send(Op::Interrupt);
        if self.queue.is_empty() {
            return;
        }
        let waiting: Vec<Queued> = self.queue.drain(..).collect();
        let mut all: Vec<Content> =
            waiting.into_iter().map(|queued| self.take_back(queued)).collect();
        if !self.editor.is_empty() {
            all.push(self.editor.content().clone());
        }
        self.editor.set_content(&Content::lines(&all));
    }

    /// What was typed of a prompt that waits. Its pictures are those of the prompt again.
    pub(super) fn take_back(&mut self, queued: Queued) -> Content {
        if let Op::Submit { attachments, .. } = queued.op {
            self.images.extend(queued.content.images().into_iter().zip(attachments));
        }
        queued.content
    }
}

/// Whether a text that begins with a slash is a command: a path is not.
fn is_command(text: &str) -> bool {
    let name = text[1..].split(char::is_whitespace).next().unwrap_or_default();
    !name.is_empty() && !name.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_no_command() {
        assert!(is_command("/help") && is_command("/mcp__a__b x"));
        assert!(!is_command("/usr/bin/env is broken") && !is_command("/"));
    }
}
