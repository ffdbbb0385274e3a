//! Keys that are typed and not meant for a dialog.
//!
//! A dialog comes when nobody expects it, often while somebody types. What was pressed before it could be read says nothing
//! about it, and a letter that others follow at once is a word. Both go into the prompt, where they were meant to go.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};

/// Whoever has typed so recently is still typing.
const TYPING: Duration = Duration::from_millis(1_200);
/// The same key again, after at least this time, is no word: somebody insists.
const INSISTS: Duration = Duration::from_millis(250);
/// A dialog is new for this long.
const NEW: Duration = Duration::from_millis(1_500);
/// A letter may be the beginning of a word for this long, in a new dialog.
const WORD_AT_FIRST: Duration = Duration::from_millis(250);
/// And in one that was there before.
const WORD: Duration = Duration::from_millis(120);
/// A key that is held down begins to repeat after up to 660 ms.
const HELD_AT_FIRST: Duration = Duration::from_millis(700);
/// And then comes again at least as often as this.
const HELD_ON: Duration = Duration::from_millis(120);

/// Keeps what is typed from the dialog at the front.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// How long it takes to see a dialog; without it, keys are of a program, and nothing is guarded.
    reaction: Duration,
    /// When the dialog was drawn first.
    shown: Option<Instant>,
    /// Until then somebody types.
    typing_until: Option<Instant>,
    /// The last key that went into the prompt instead of the dialog.
    kept_off: Option<(KeyCode, Instant)>,
    /// A letter that is an answer at that time, if no other follows.
    waiting: Option<(KeyEvent, Instant)>,
    /// The key that has answered the last dialog, and until when it counts as still held down.
    held: Option<(KeyCode, Instant)>,
}

impl Guard {
    pub(super) fn new(reaction: Duration) -> Self {
        Self { reaction, ..Self::default() }
    }

    fn is_on(&self) -> bool {
        !self.reaction.is_zero()
    }

    /// A dialog comes to the front.
    pub(super) fn comes(&mut self, last_typed: Option<Instant>) {
        self.shown = None;
        self.waiting = None;
        self.kept_off = None;
        self.typing_until = last_typed.filter(|_| self.is_on()).map(|typed| typed + TYPING);
    }

    /// The dialog is drawn.
    pub(super) fn is_drawn(&mut self, now: Instant) {
        self.shown.get_or_insert(now);
    }

    /// Whether a key cannot be meant for the dialog.
    pub(super) fn keeps_off(&self, now: Instant) -> bool {
        let unseen = self.is_on()
            && self.shown.is_none_or(|shown| now.saturating_duration_since(shown) < self.reaction);
        unseen || self.typing_until.is_some_and(|until| now < until)
    }

    /// Whether the dialog is too new for somebody to have filled it in.
    pub(super) fn is_new(&self, now: Instant) -> bool {
        self.is_on() && self.shown.is_none_or(|shown| now.saturating_duration_since(shown) < NEW)
    }

    /// Somebody types.
    pub(super) fn typed(&mut self, now: Instant) {
        self.typing_until = self.is_on().then(|| now + TYPING);
    }

    /// A key goes into the prompt, although it could be an answer.
    pub(super) fn keeps(&mut self, key: &KeyEvent, now: Instant) {
        self.typed(now);
        self.kept_off = Some((key.code, now));
    }

    /// Whether a key was just pressed that went into the prompt, and now again.
    pub(super) fn insists(&self, key: &KeyEvent, now: Instant) -> bool {
        let seen = self.shown.is_some_and(|shown| now.duration_since(shown) >= self.reaction);
        let again = |(code, at): (KeyCode, Instant)| code == key.code && now >= at + INSISTS;
        seen && self.kept_off.is_some_and(again)
    }

    /// Lets a letter wait for others; `false` if it need not.
    pub(super) fn waits(&mut self, key: KeyEvent, now: Instant) -> bool {
        if self.is_on() {
            let time = if self.is_new(now) { WORD_AT_FIRST } else { WORD };
            self.waiting = Some((key, now + time));
        }
        self.is_on()
    }

    /// The letter that waits.
    pub(super) fn take_waiting(&mut self) -> Option<KeyEvent> {
        self.waiting.take().map(|(key, _)| key)
    }

    /// The letter that has waited long enough.
    pub(super) fn due(&mut self, now: Instant) -> Option<KeyEvent> {
        self.waiting.take_if(|(_, at)| *at <= now).map(|(key, _)| key)
    }

    /// How long the letter still waits.
    pub(super) fn next(&self, now: Instant) -> Option<Duration> {
        self.waiting.as_ref().map(|(_, at)| at.saturating_duration_since(now))
    }

    /// A key has answered a dialog.
    pub(super) fn answered(&mut self, code: KeyCode, now: Instant) {
        self.held = Some((code, now + HELD_AT_FIRST));
    }

    /// Whether it is the key of the last answer, still held down. It says nothing about this dialog.
    pub(super) fn is_held(&mut self, key: &KeyEvent, now: Instant) -> bool {
        match &mut self.held {
            Some((code, until)) if *code == key.code => {
                let repeats = key.kind == crossterm::event::KeyEventKind::Repeat;
                let held = repeats || now < *until;
                *until = now + HELD_ON;
                held
            }
            _ => false,
        }
    }
}
