//! The state of the terminal interface: events and keys change it, and it draws itself. It touches no terminal.

mod draw;
mod events;
mod guard;
mod keys;
mod prompt;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use ona_editor::keymap::{Keymap, Pressed};
use ona_editor::{Content, Editor, History, HistorySearch, vim::Vim};
use ona_front::{AskRequest, CommandInfo, Op, Preferences, Status};
use ona_render::highlight::{Highlighter, Look};
use ona_render::theme::{Theme, ThemeName};
use ona_types::Attachment;
use ratatui::text::Line;

use crate::blocks::{Block, Detail, NoteKind};
use crate::dialog::Dialog;
use crate::diff_view::DiffView;
use crate::field::TextField;
use crate::live::Live;
use crate::menu::MenuView;
use crate::pager::Pager;
use crate::platform::{Facts, Notifies};
use crate::popup::Popup;
use guard::Guard;

/// Blocks that are kept to be drawn again after a change of the width.
const KEPT_BLOCKS: usize = 300;
/// How long a second press counts as one of a pair.
const PAIR: Duration = Duration::from_secs(2);
/// A note below the prompt is shown this long.
const NOTE: Duration = Duration::from_secs(4);
/// The front end has waited for the user for this long: hooks are told.
const WAITING: Duration = Duration::from_secs(60);

/// Something for the terminal or the core to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// An operation for the core.
    Send(Box<Op>),
    /// A text for the clipboard.
    Copy(String),
    /// A title for the window.
    Title(String),
    /// The user is notified.
    Notify(Notifies, String),
    /// The prompt is edited in the user's editor.
    EditPrompt(String),
    /// A file is edited in the user's editor, then a command line runs.
    EditFile(String, String),
    /// The picture in the clipboard belongs to the prompt.
    PasteImage,
    /// Everything is drawn anew.
    Redraw,
    /// The process stops until the user continues it.
    Suspend,
    /// The front end ends.
    Leave,
}

/// What lies over the prompt, besides dialogs.
#[derive(Clone, Debug)]
enum Overlay {
    Menu(MenuView),
    /// A text that a command line ends with.
    Type {
        label: String,
        line: String,
        field: TextField,
    },
    Transcript(Pager),
    Diffs(Box<DiffView>),
    Keys,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug)]
struct Queued {
    content: Content,
    op: Op,
}

/// The terminal interface.
pub struct App {
    facts: Facts,
    columns: usize,
    height: usize,
    now: Instant,
    theme: Theme,
    light: bool,
    highlighter: Highlighter,
    plain_code: Highlighter,
    preferences: Preferences,
    keymap: Keymap,
    keymap_text: Option<String>,
    pressed: Pressed,
    editor: Editor,
    vim: Option<Vim>,
    /// The mode of vim that the core was told last.
    told_vim: Option<&'static str>,
    history: History,
    search: Option<HistorySearch>,
    /// What was typed of a command line, and what Tab has made of it.
    completed: Option<(String, String)>,
    images: BTreeMap<u32, Attachment>,
    stash: Option<Content>,
    popup: Option<Popup>,
    /// The popup was closed for this text.
    dismissed: Option<String>,
    commands: Vec<CommandInfo>,
    overlay: Option<Overlay>,
    /// The lists that led to the open one, the first one first.
    lists: Vec<MenuView>,
    asks: VecDeque<(u64, Dialog)>,
    live: Live,
    /// The latest question about a change of a file: the change is shown also if it is refused.
    asked: Option<Box<AskRequest>>,
    /// Calls of agents that have not ended: their inputs, for when they are refused.
    agents_calls: HashMap<String, (String, serde_json::Value)>,
    status: Status,
    /// What the user's own status line says.
    custom: Option<String>,
    blocks: VecDeque<Block>,
    finished: Vec<Line<'static>>,
    effects: Vec<Effect>,
    queue: VecDeque<Queued>,
    /// Whether the core waits for an operation.
    ready: bool,
    /// Whether a session is open.
    opened: bool,
    show_todos: bool,
    note: Option<(String, Instant)>,
    last_ctrl_c: Option<Instant>,
    last_ctrl_d: Option<Instant>,
    last_escape: Option<Instant>,
    last_kill: Option<Instant>,
    last_key: Instant,
    guard: Guard,
    told_waiting: bool,
    focused: bool,
    /// The turn was interrupted by the user.
    interrupted: bool,
    first_prompt: Option<String>,
    title: String,
    leaving: bool,
}

impl App {
    /// The interface of a terminal of this size.
    pub fn new(facts: Facts, columns: usize, height: usize, now: Instant) -> Self {
        let theme = Theme::new(ThemeName::Auto, facts.depth, facts.light);
        let guard = Guard::new(facts.reaction);
        Self {
            light: facts.light,
            first_prompt: facts.first_prompt.clone(),
            facts,
            columns: columns.max(1),
            height: height.max(4),
            now,
            theme,
            highlighter: Highlighter::start(),
            plain_code: Highlighter::new(),
            preferences: Preferences::default(),
            keymap: Keymap::default(),
            keymap_text: None,
            pressed: Pressed::default(),
            editor: Editor::new(),
            vim: None,
            told_vim: None,
            history: History::new([]),
            search: None,
            completed: None,
            images: BTreeMap::new(),
            stash: None,
            popup: None,
            dismissed: None,
            commands: Vec::new(),
            overlay: None,
            lists: Vec::new(),
            asks: VecDeque::new(),
            live: Live::default(),
            asked: None,
            agents_calls: HashMap::new(),
            status: Status::default(),
            custom: None,
            blocks: VecDeque::new(),
            finished: Vec::new(),
            effects: Vec::new(),
            queue: VecDeque::new(),
            ready: false,
            opened: false,
            show_todos: true,
            note: None,
            last_ctrl_c: None,
            last_ctrl_d: None,
            last_escape: None,
            last_kill: None,
            last_key: now,
            guard,
            told_waiting: false,
            focused: true,
            interrupted: false,
            title: String::new(),
            leaving: false,
        }
    }

    /// What is to be done since the last call.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether something is to be done beyond the screen.
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// The process is to stop until the user continues it.
    pub fn suspend(&mut self) {
        self.effects.push(Effect::Suspend);
    }

    /// Whether another program gets the terminal next.
    pub fn gives_terminal_away(&self) -> bool {
        let gives = |effect: &Effect| {
            matches!(effect, Effect::EditPrompt(_) | Effect::EditFile(..) | Effect::Suspend)
        };
        self.effects.iter().any(gives)
    }

    /// The rows that are finished since the last call.
    pub fn take_finished(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.finished)
    }

    /// Time goes on. Returns whether something moves on the screen.
    pub fn tick(&mut self, now: Instant) -> bool {
        self.now = now;
        if !self.asks.is_empty() {
            self.live.hold(now);
        }
        let is_old = |(_, since): &(String, Instant)| now.saturating_duration_since(*since) > NOTE;
        let note_ends = self.note.as_ref().is_some_and(is_old);
        if note_ends {
            self.note = None;
        }
        if let Some(key) = self.guard.due(now) {
            self.answer_with(&key);
        }
        let waits = self.opened && self.ready && self.asks.is_empty() && !self.leaving;
        if waits && !self.told_waiting && now.saturating_duration_since(self.last_key) >= WAITING {
            self.told_waiting = true;
            self.send(Op::Waiting);
            self.notify("ona is waiting for your input");
        }
        note_ends || self.is_busy()
    }

    /// When the next tick is due.
    pub fn next_tick(&self) -> Duration {
        let tick = self.usual_tick();
        self.guard.next(self.now).map_or(tick, |waiting| waiting.min(tick))
    }

    fn usual_tick(&self) -> Duration {
        match (self.is_busy(), self.preferences.prefers_reduced_motion) {
            (true, false) => Duration::from_millis(120),
            (true, true) => Duration::from_secs(1),
            (false, _) if self.note.is_some() => Duration::from_secs(1),
            (false, _) => Duration::from_secs(10),
        }
    }

    /// Whether something runs.
    pub fn is_busy(&self) -> bool {
        self.live.busy.is_some()
    }

    /// The terminal has another size.
    pub fn resize(&mut self, columns: usize, height: usize) {
        (self.columns, self.height) = (columns.max(1), height.max(4));
        let mut live = std::mem::take(&mut self.live);
        live.resize(self.columns, &self.look());
        self.live = live;
    }

    /// Whether the terminal is looked at.
    pub fn focus(&mut self, focused: bool) {
        self.focused = focused;
    }

    /// The terminal has told its background.
    pub fn background(&mut self, light: bool) {
        self.light = light;
        self.choose_theme();
    }

    fn choose_theme(&mut self) {
        let name = self.preferences.theme.as_deref().and_then(ThemeName::from_name);
        self.theme = Theme::new(name.unwrap_or(ThemeName::Auto), self.facts.depth, self.light);
    }

    /// The colours.
    pub(crate) fn look(&self) -> Look<'_> {
        let highlighter = match self.preferences.syntax_highlighting_disabled {
            true => &self.plain_code,
            false => &self.highlighter,
        };
        Look { theme: &self.theme, highlighter }
    }

    fn detail(&self) -> Detail {
        if self.preferences.verbose { Detail::Whole } else { Detail::Short }
    }

    fn send(&mut self, op: Op) {
        self.effects.push(Effect::Send(Box::new(op)));
    }

    /// Puts a block above the live rows.
    fn finish(&mut self, block: Block) {
        let rows = block.rows(self.columns, &self.look(), self.detail());
        self.finished.extend(rows);
        self.keep(block);
    }

    fn keep(&mut self, block: Block) {
        self.blocks.push_back(block);
        if self.blocks.len() > KEPT_BLOCKS {
            self.blocks.pop_front();
        }
    }

    fn say(&mut self, kind: NoteKind, text: impl Into<String>) {
        self.finish(Block::Note(kind, text.into()));
    }

    /// A short note below the prompt.
    fn note(&mut self, text: impl Into<String>) {
        self.note = Some((text.into(), self.now));
    }

    /// The last rows above the live ones, at least so many if there are.
    pub fn tail(&self, most: usize) -> Vec<Line<'static>> {
        let look = self.look();
        let mut rows: Vec<Vec<Line<'static>>> = Vec::new();
        let mut count = 0;
        let streaming = self.live.finished_part();
        for block in streaming.iter().chain(self.blocks.iter().rev()) {
            let drawn = block.rows(self.columns, &look, self.detail());
            count += drawn.len();
            rows.push(drawn);
            if count >= most {
                break;
            }
        }
        rows.into_iter().rev().flatten().collect()
    }

    fn notify(&mut self, text: &str) {
        let channel = self.preferences.preferred_notif_channel.as_deref();
        let how = match channel.unwrap_or("auto") {
            "notifications_disabled" => Notifies::Never,
            "terminal_bell" => Notifies::Bell,
            "iterm2" | "ghostty" => Notifies::Osc9,
            "kitty" => Notifies::Kitty,
            _ if self.focused => Notifies::Never,
            _ => self.facts.notifies,
        };
        if how != Notifies::Never {
            self.effects.push(Effect::Notify(how, text.to_owned()));
        }
    }

    fn show_title(&mut self) {
        let state = match (self.asks.is_empty(), self.is_busy()) {
            (false, _) => "? ",
            (true, true) => "● ",
            (true, false) => "",
        };
        let name = self.status.name.clone().unwrap_or_else(|| {
            let dir = self.status.cwd.rsplit('/').next().unwrap_or_default();
            dir.to_owned()
        });
        let title = format!("{state}ona · {}", ona_render::text::plain(&name).replace('\n', " "));
        if title != self.title {
            self.title.clone_from(&title);
            self.effects.push(Effect::Title(title));
        }
    }

    fn is_pair(last: Option<Instant>, now: Instant) -> bool {
        last.is_some_and(|last| now.saturating_duration_since(last) <= PAIR)
    }

    /// The answer to a question that was asked by an editor or another program outside.
    pub fn edited(&mut self, text: &str) {
        self.editor.set_edited(text.trim_end_matches('\n'));
        self.update_popup();
    }

    /// The picture of the clipboard.
    pub fn pasted_image(&mut self, attachment: Attachment) {
        let number = self.editor.insert_image();
        self.images.insert(number, attachment);
    }

    /// Something outside went wrong.
    pub fn failed(&mut self, text: &str) {
        self.say(NoteKind::Error, text);
    }

    /// Whether what is typed goes into the prompt.
    pub fn is_at_prompt(&self) -> bool {
        self.asks.is_empty() && self.overlay.is_none()
    }

    /// Whether the alternate screen is shown.
    pub fn is_full_screen(&self) -> bool {
        matches!(self.overlay, Some(Overlay::Transcript(_) | Overlay::Diffs(_)))
            && self.asks.is_empty()
    }
}
