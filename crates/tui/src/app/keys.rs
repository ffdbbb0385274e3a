//! Keys, pastes and the mouse-less rest of what a user does.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ona_editor::keymap::{Action, Context, Key, Press, Pressed};
use ona_editor::vim::VimOutcome;
use ona_editor::{Content, Edit, HistorySearch, Outcome, Recalled};
use ona_front::{Choice, HumanAnswer, Op};

use super::{App, Effect, Overlay};
use crate::dialog::{DialogOutcome, is_ctrl, letter};
use crate::field::TextField;
use crate::menu::MenuOutcome;
use crate::pager::Pager;

/// Said of a key that looks like an answer, and may not be meant as one.
const WENT_TO_PROMPT: &str =
    "that went into the prompt, where you were typing: press it again to answer";

impl App {
    /// A key.
    pub fn key(&mut self, key: KeyEvent, now: Instant) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        // Two presses that come at once.
        if key.code == KeyCode::Esc && key.modifiers.contains(KeyModifiers::ALT) {
            let once = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
            self.key(once, now);
            self.key(once, now);
            return;
        }
        self.now = now;
        self.last_key = now;
        self.told_waiting = false;
        // Only two in a row are a pair.
        let is_pair = [
            (key.code != KeyCode::Esc && self.last_escape.take().is_some()),
            (!is_ctrl(&key, 'c') && self.last_ctrl_c.take().is_some()),
            (!is_ctrl(&key, 'd') && self.last_ctrl_d.take().is_some()),
        ];
        if is_pair.contains(&true) {
            self.note = None;
        }
        let draws = Press::Action(Action::AppRedraw);
        if is_ctrl(&key, 'z') {
            self.effects.push(Effect::Suspend);
        } else if self.keymap.press(&mut Pressed::default(), &[Context::Global], key) == draws {
            self.effects.push(Effect::Redraw);
        } else if !self.asks.is_empty() {
            self.dialog_key(key);
        } else if self.overlay.is_some() {
            self.overlay_key(key);
        } else {
            self.prompt_key(key);
        }
        self.tell_vim();
        self.show_title();
    }

    /// Tells the core the mode of vim, if it is another one: the user's status line may show it.
    pub(super) fn tell_vim(&mut self) {
        let mode = self.vim.as_ref().map(|vim| vim.mode().label());
        if mode != self.told_vim {
            self.told_vim = mode;
            self.send(Op::VimMode { mode: mode.map(str::to_owned) });
        }
    }

    /// Pasted text.
    pub fn paste(&mut self, text: &str, now: Instant) {
        self.now = now;
        self.last_key = now;
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match (self.asks.front_mut(), &mut self.overlay) {
            (Some((_, dialog)), _) => dialog.paste(&text),
            (None, Some(Overlay::Type { field, .. })) => field.paste(&text),
            (None, Some(_)) => {}
            (None, None) => {
                self.editor.paste(&text);
                self.update_popup();
            }
        }
    }

    fn editor_width(&self) -> u16 {
        u16::try_from(self.columns.saturating_sub(2).max(1)).unwrap_or(u16::MAX)
    }

    fn type_into_prompt(&mut self, key: &KeyEvent) {
        if let Some(letter) = letter(key) {
            self.editor.insert(letter.encode_utf8(&mut [0; 4]));
        } else if key.code == KeyCode::Backspace {
            self.editor.apply(Edit::DeleteCharBackward, self.editor_width());
        }
    }

    fn dialog_key(&mut self, key: KeyEvent) {
        let now = self.now;
        let Some((_, dialog)) = self.asks.front() else { return };
        let (fills_in, answers) = (dialog.is_typing(), dialog.answers(&key));
        if key.code == KeyCode::BackTab && !fills_in {
            self.send(Op::CycleMode);
            return;
        }
        let is_text =
            letter(&key).is_some() || matches!(key.code, KeyCode::Enter | KeyCode::Backspace);
        // Enter confirms the letter before it; another letter makes a word of it.
        if let Some(waiting) = self.guard.take_waiting() {
            match letter(&key) {
                Some(_) => {
                    self.type_into_prompt(&waiting);
                    self.guard.typed(now);
                }
                None => {
                    self.answer_with(&waiting);
                    if key.code == KeyCode::Enter {
                        return;
                    }
                }
            }
        }
        let means_nothing = letter(&key).is_some() && !answers && !fills_in && !self.steps(&key);
        let is_answer = answers || key.code == KeyCode::Enter && !fills_in;
        let insists = is_answer && self.guard.insists(&key, now);
        if is_text && !insists && (self.guard.keeps_off(now) || means_nothing) {
            self.guard.keeps(&key, now);
            self.type_into_prompt(&key);
            if is_answer {
                self.note = Some((WENT_TO_PROMPT.to_owned(), now));
            }
        } else if fills_in && key.code == KeyCode::Enter && self.guard.is_new(now) {
            // Nobody fills in a form so fast.
        } else if !(answers && self.guard.waits(key, now)) {
            self.answer_with(&key);
        }
    }

    /// Whether a letter goes through the options of the dialog.
    fn steps(&self, key: &KeyEvent) -> bool {
        self.asks.front().is_some_and(|(_, dialog)| dialog.steps(key))
    }

    /// Gives a key to the dialog.
    pub(super) fn answer_with(&mut self, key: &KeyEvent) {
        let Some((ask, dialog)) = self.asks.front_mut() else { return };
        // Esc only says no.
        if key.code != KeyCode::Esc && !dialog.is_typing() && self.guard.is_held(key, self.now) {
            return;
        }
        let ask = *ask;
        if let DialogOutcome::Answered(answer) = dialog.press(key) {
            self.asks.pop_front();
            self.guard.answered(key.code, self.now);
            self.next_dialog();
            let stops = matches!(&answer, HumanAnswer::Deny { stop: true, .. });
            self.send(Op::Answer { ask, answer });
            if stops {
                self.interrupt();
            }
        }
    }

    fn overlay_key(&mut self, key: KeyEvent) {
        let Some(mut overlay) = self.overlay.take() else { return };
        let stays = match &mut overlay {
            Overlay::Menu(menu) => {
                let outcome = match (key.code, letter(&key)) {
                    (KeyCode::Esc, _) => menu.escape(),
                    (KeyCode::Left, _) => menu.sideways('<'),
                    (KeyCode::Right, _) => menu.sideways('>'),
                    _ if is_ctrl(&key, 'c') => MenuOutcome::Closed,
                    (KeyCode::Up, _) => {
                        menu.step(-1);
                        MenuOutcome::Open
                    }
                    (KeyCode::Down, _) => {
                        menu.step(1);
                        MenuOutcome::Open
                    }
                    (KeyCode::PageUp, _) => {
                        menu.step(-8);
                        MenuOutcome::Open
                    }
                    (KeyCode::PageDown, _) => {
                        menu.step(8);
                        MenuOutcome::Open
                    }
                    (KeyCode::Backspace, _) => {
                        menu.erase();
                        MenuOutcome::Open
                    }
                    (KeyCode::Enter, _) => menu.accept(),
                    _ if is_ctrl(&key, 'p') => {
                        menu.step(-1);
                        MenuOutcome::Open
                    }
                    _ if is_ctrl(&key, 'n') => {
                        menu.step(1);
                        MenuOutcome::Open
                    }
                    (_, Some(letter)) => menu.typed(letter),
                    _ => MenuOutcome::Open,
                };
                match outcome {
                    MenuOutcome::Open => true,
                    MenuOutcome::Back => return self.back_to_list(),
                    MenuOutcome::Closed => {
                        self.lists.clear();
                        false
                    }
                    MenuOutcome::Chosen(choice) => {
                        self.lists.push(menu.clone());
                        self.chosen(choice);
                        return;
                    }
                }
            }
            Overlay::Type { line, field, .. } => match key.code {
                KeyCode::Esc => return self.back_to_list(),
                _ if is_ctrl(&key, 'c') => {
                    self.lists.clear();
                    false
                }
                KeyCode::Enter => {
                    let line = format!("{line}{}", field.text().trim());
                    self.run(line);
                    false
                }
                _ => {
                    field.press(&key);
                    true
                }
            },
            Overlay::Transcript(pager) => {
                let press = self.keymap.press(
                    &mut self.pressed,
                    &[Context::Transcript, Context::Global],
                    key,
                );
                let page = isize::try_from(self.height.saturating_sub(2)).unwrap_or(10);
                match press {
                    Press::Action(
                        Action::TranscriptExit | Action::AppToggleTranscript | Action::AppInterrupt,
                    ) => false,
                    Press::Action(action) => {
                        match action {
                            Action::TranscriptToggleShowAll => pager.toggle(),
                            Action::ScrollLineUp => pager.scroll(1),
                            Action::ScrollLineDown => pager.scroll(-1),
                            Action::ScrollPageUp | Action::ScrollFullPageUp => pager.scroll(page),
                            Action::ScrollPageDown | Action::ScrollFullPageDown => {
                                pager.scroll(-page)
                            }
                            Action::ScrollTop => pager.jump(false),
                            Action::ScrollBottom => pager.jump(true),
                            _ => {}
                        }
                        true
                    }
                    _ => true,
                }
            }
            Overlay::Diffs(view) => {
                let press = self.keymap.press(
                    &mut self.pressed,
                    &[Context::DiffDialog, Context::Global],
                    key,
                );
                let page = self.height.saturating_sub(4);
                match press {
                    Press::Action(Action::DiffDismiss | Action::AppInterrupt) => false,
                    Press::Action(action) => {
                        match action {
                            Action::DiffPreviousSource => view.next_source(true),
                            Action::DiffNextSource => view.next_source(false),
                            Action::DiffPreviousFile => view.next_file(true),
                            Action::DiffNextFile => view.next_file(false),
                            Action::DiffViewDetails => view.open(),
                            Action::DiffBack => {
                                view.back();
                            }
                            Action::ScrollPageUp | Action::ScrollFullPageUp => {
                                view.page(true, page)
                            }
                            Action::ScrollPageDown | Action::ScrollFullPageDown => {
                                view.page(false, page)
                            }
                            Action::ScrollTop => view.page(true, usize::MAX / 2),
                            Action::ScrollBottom => view.page(false, usize::MAX / 4),
                            _ => {}
                        }
                        true
                    }
                    _ => letter(&key) != Some('q'),
                }
            }
            Overlay::Keys => false,
        };
        if stays {
            self.overlay = Some(overlay);
        }
    }

    /// The list that led to the one that was closed opens again.
    fn back_to_list(&mut self) {
        self.overlay = self.lists.pop().map(Overlay::Menu);
    }

    fn chosen(&mut self, choice: Choice) {
        match choice {
            Choice::Close => {}
            Choice::Command { line } => self.run(line),
            Choice::Type { label, line, initial } => {
                self.overlay = Some(Overlay::Type { label, line, field: TextField::new(&initial) });
            }
        }
    }

    /// Runs a command line that was chosen, not typed.
    pub(super) fn run(&mut self, line: String) {
        // Looking further into a list is not worth a row above it.
        let op = Op::Command { line };
        if self.ready {
            self.ready = false;
            self.live.begin("", self.now);
            self.send(op);
        } else {
            self.send(op);
        }
    }

    fn prompt_key(&mut self, key: KeyEvent) {
        if self.search.is_some() {
            self.search_key(key);
            return;
        }
        if self.vim.is_some() && self.vim_key(&key) {
            self.update_popup();
            return;
        }
        let mut contexts = Vec::new();
        if self.popup.as_ref().is_some_and(|popup| !popup.is_empty()) {
            contexts.push(Context::Autocomplete);
        }
        if self.is_busy() {
            contexts.push(Context::Task);
        }
        contexts.extend([Context::Chat, Context::Global]);
        match self.keymap.press(&mut self.pressed, &contexts, key) {
            Press::Action(action) => self.act(action, &key),
            Press::Pending => {}
            Press::None => self.type_key(&key),
        }
    }

    fn type_key(&mut self, key: &KeyEvent) {
        if key.code == KeyCode::Tab && self.editor.text().starts_with('!') {
            self.complete_shell();
            return;
        }
        let Some(letter) = Key::of(key).and_then(Key::typed) else { return };
        if letter == '?' && self.editor.is_empty() {
            self.overlay = Some(Overlay::Keys);
            return;
        }
        self.editor.insert(letter.encode_utf8(&mut [0; 4]));
        self.history.leave();
        self.update_popup();
    }

    /// A key of vim mode; `false` if it is not one.
    fn vim_key(&mut self, key: &KeyEvent) -> bool {
        let width = self.editor_width();
        let Some(vim) = &mut self.vim else { return false };
        match vim.press(&mut self.editor, key, width) {
            VimOutcome::Handled => true,
            VimOutcome::HistoryPrevious => {
                self.recall(true);
                true
            }
            VimOutcome::HistoryNext => {
                self.recall(false);
                true
            }
            VimOutcome::Unhandled => {
                let normal = vim.mode() != ona_editor::vim::Mode::Insert;
                // In NORMAL mode a letter is a command, never text.
                normal && letter(key).is_some() && !matches!(letter(key), Some('/' | '?'))
            }
        }
    }

    fn search_key(&mut self, key: KeyEvent) {
        let Some(mut search) = self.search.take() else { return };
        let press = self.keymap.press(&mut self.pressed, &[Context::HistorySearch], key);
        match press {
            Press::Action(Action::HistorySearchNext) => {
                search.older(&self.history);
                self.search = Some(search);
            }
            Press::Action(
                action @ (Action::HistorySearchAccept | Action::HistorySearchExecute),
            ) => {
                if let Some(entry) = search.entry(&self.history) {
                    let entry = entry.to_owned();
                    self.editor.recall(&entry);
                }
                if action == Action::HistorySearchExecute {
                    self.submit();
                }
            }
            Press::Action(_) => {}
            _ => {
                if key.code == KeyCode::Backspace {
                    search.pop(&self.history);
                } else if let Some(letter) = Key::of(&key).and_then(Key::typed) {
                    search.push(&self.history, letter);
                }
                self.search = Some(search);
            }
        }
    }

    fn act(&mut self, action: Action, key: &KeyEvent) {
        if let Some(edit) = action.edit() {
            self.edit(edit);
            return;
        }
        match action {
            Action::AppInterrupt => self.ctrl_c(),
            Action::AppExit => self.ctrl_d(),
            Action::AppRedraw => self.effects.push(Effect::Redraw),
            Action::AppToggleTodos => self.show_todos = !self.show_todos,
            Action::AppToggleTranscript => {
                self.overlay = Some(Overlay::Transcript(Pager::asking()));
                self.send(Op::Transcript { before: None });
            }
            Action::ChatSubmit => self.submit(),
            Action::ChatNewline => self.edit(Edit::Newline),
            Action::ChatCancel => self.escape(),
            Action::ChatCycleMode => self.send(Op::CycleMode),
            Action::ChatModelPicker => self.run("/model".to_owned()),
            Action::ChatThinkingToggle => self.send(Op::ToggleThinking),
            Action::ChatExternalEditor => self.effects.push(Effect::EditPrompt(self.editor.text())),
            Action::ChatKillAgents => self.kill_agents(),
            Action::ChatStash => self.swap_stash(),
            Action::ChatImagePaste => self.effects.push(Effect::PasteImage),
            Action::ChatUndo => self.edit(Edit::Undo),
            Action::HistorySearch => {
                self.popup = None;
                self.search = Some(HistorySearch::new());
            }
            Action::HistoryPrevious => self.vertical(true),
            Action::HistoryNext => self.vertical(false),
            Action::AutocompleteAccept => self.accept_or_right(key),
            Action::AutocompleteDismiss => {
                self.dismissed = Some(self.editor.before_cursor());
                self.popup = None;
            }
            Action::AutocompletePrevious => self.step_popup(true),
            Action::AutocompleteNext => self.step_popup(false),
            Action::TaskBackground => self.send(Op::Background),
            _ => {}
        }
    }

    /// Tab takes what is offered; the right arrow does so at the end of the text, and moves elsewhere.
    fn accept_or_right(&mut self, key: &KeyEvent) {
        let at_end = self.editor.before_cursor().len() == self.editor.shown().len();
        match key.code == KeyCode::Right && !at_end {
            true => self.edit(Edit::CharRight),
            false => self.accept_popup(),
        }
    }

    fn step_popup(&mut self, back: bool) {
        if let Some(popup) = &mut self.popup {
            popup.step(back);
        }
    }

    fn edit(&mut self, edit: Edit) {
        let width = self.editor_width();
        if self.editor.apply(edit, width) == Outcome::Changed {
            self.history.leave();
        }
        self.update_popup();
    }

    /// Up or down: a row of the text, or the history beyond its first and last.
    fn vertical(&mut self, back: bool) {
        let width = self.editor_width();
        let outcome = self.editor.apply(if back { Edit::Up } else { Edit::Down }, width);
        match outcome {
            Outcome::AtFirstRow if back && self.editor.is_empty() && !self.queue.is_empty() => {
                // The prompt that waits last comes back to be changed.
                if let Some(queued) = self.queue.pop_back() {
                    let content = self.take_back(queued);
                    self.editor.set_content(&content);
                }
            }
            Outcome::AtFirstRow if back => self.recall(true),
            Outcome::AtLastRow if !back => self.recall(false),
            _ => {}
        }
        self.update_popup();
    }

    fn recall(&mut self, back: bool) {
        let shown = self.editor.content().clone();
        let recalled = if back { self.history.previous(&shown) } else { self.history.next(&shown) };
        match recalled {
            Some(Recalled::Entry(text)) => {
                let text = text.to_owned();
                self.editor.recall(&text);
            }
            Some(Recalled::Draft(content)) => self.editor.set_content(&content),
            None => {}
        }
        if let Some(vim) = &mut self.vim {
            vim.settle(&mut self.editor);
        }
        // A recalled command is not looked for again.
        self.dismissed = Some(self.editor.before_cursor());
        self.popup = None;
    }

    fn swap_stash(&mut self) {
        let now: Content = self.editor.content().clone();
        match self.stash.take() {
            Some(kept) if now.is_empty() => {
                self.editor.set_content(&kept);
                self.note = None;
            }
            kept if now.is_empty() => self.stash = kept,
            _ => {
                self.stash = Some(now);
                self.editor.clear();
                self.note("the prompt is kept; ctrl+s brings it back");
            }
        }
    }

    fn kill_agents(&mut self) {
        if Self::is_pair(self.last_kill, self.now) {
            self.last_kill = None;
            self.send(Op::StopAgents);
            self.note("background tasks are being stopped");
        } else {
            self.last_kill = Some(self.now);
            self.note("press it again to stop all background tasks");
        }
    }

    fn escape(&mut self) {
        if self.is_busy() {
            self.interrupt();
            return;
        }
        let pair = Self::is_pair(self.last_escape, self.now);
        self.last_escape = if pair { None } else { Some(self.now) };
        match (pair, self.editor.is_empty()) {
            (false, false) => self.note("Esc again clears the prompt"),
            (true, false) => {
                let text = self.editor.text();
                self.history.push(text.clone());
                self.send(Op::Typed { text });
                self.editor.clear();
                self.popup = None;
                self.note = None;
            }
            (false, true) => self.note("Esc again goes back to an earlier prompt"),
            (true, true) => self.run("/rewind".to_owned()),
        }
    }

    fn ctrl_c(&mut self) {
        if self.is_busy() {
            self.interrupt();
            return;
        }
        if !self.editor.is_empty() {
            self.editor.clear();
            self.popup = None;
            self.last_ctrl_c = Some(self.now);
            self.note("Ctrl-C again leaves");
            return;
        }
        if Self::is_pair(self.last_ctrl_c, self.now) {
            self.leave();
        } else {
            self.last_ctrl_c = Some(self.now);
            self.note("Ctrl-C again leaves");
        }
    }

    fn ctrl_d(&mut self) {
        if !self.editor.is_empty() {
            self.edit(Edit::DeleteCharForward);
            return;
        }
        if Self::is_pair(self.last_ctrl_d, self.now) {
            self.leave();
        } else {
            self.last_ctrl_d = Some(self.now);
            self.note("Ctrl-D again leaves");
        }
    }
}
