//! The terminal's answer about its background: it comes among the keys, and must not become text.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// An answer that has not ended by then was none.
const WITHIN: Duration = Duration::from_millis(500);
/// The longest answer.
const MOST: usize = 64;

/// Looks for `ESC ] 11 ; rgb:…` among the keys.
#[derive(Debug, Default)]
pub struct BackgroundAnswer {
    /// The keys so far, if it has begun.
    held: Vec<KeyEvent>,
    text: String,
    since: Option<Instant>,
}

/// What a key was.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// A part of an answer.
    Part,
    /// The end of one: the background is light, dark, or something else was said.
    Light(Option<bool>),
    /// Keys of the user.
    Keys(Vec<KeyEvent>),
}

impl BackgroundAnswer {
    /// The next key.
    pub fn hear(&mut self, key: KeyEvent, now: Instant) -> Heard {
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let late = self.since.is_some_and(|since| now.saturating_duration_since(since) > WITHIN);
        if self.held.is_empty() || late {
            let mut keys = std::mem::take(&mut self.held);
            self.text.clear();
            if key.code == KeyCode::Char(']') && alt {
                self.held.push(key);
                self.since = Some(now);
                return if keys.is_empty() { Heard::Part } else { Heard::Keys(keys) };
            }
            keys.push(key);
            return Heard::Keys(keys);
        }
        self.held.push(key);
        let ctrl_g =
            key.code == KeyCode::Char('g') && key.modifiers.contains(KeyModifiers::CONTROL);
        if ctrl_g || (key.code == KeyCode::Char('\\') && alt) {
            let text = std::mem::take(&mut self.text);
            self.held.clear();
            return Heard::Light(is_light(&text));
        }
        match key.code {
            KeyCode::Char(letter) if fits(letter, &self.text) && self.text.len() < MOST => {
                self.text.push(letter);
                Heard::Part
            }
            _ => {
                self.text.clear();
                Heard::Keys(std::mem::take(&mut self.held))
            }
        }
    }

    /// Keys that were held and are too old to be an answer.
    pub fn expired(&mut self, now: Instant) -> Vec<KeyEvent> {
        let late = self.since.is_some_and(|since| now.saturating_duration_since(since) > WITHIN);
        match late {
            true => {
                self.text.clear();
                std::mem::take(&mut self.held)
            }
            false => Vec::new(),
        }
    }

    /// Whether keys are held.
    pub fn is_waiting(&self) -> bool {
        !self.held.is_empty()
    }
}

/// Whether a letter goes on with `11;rgb:ffff/ffff/ffff`.
fn fits(letter: char, so_far: &str) -> bool {
    match so_far.len() {
        0 | 1 => letter == '1',
        2 => letter == ';',
        3..=6 => "rgb:a".contains(letter),
        _ => letter.is_ascii_hexdigit() || matches!(letter, '/' | ':' | 'a'),
    }
}

/// Whether a colour is nearer to white than to black.
fn is_light(answer: &str) -> Option<bool> {
    let colour = answer.strip_prefix("11;rgb:").or(answer.strip_prefix("11;rgba:"))?;
    let part = |part: &str| -> Option<f64> {
        let most = 16_f64.powi(i32::try_from(part.len()).ok()?) - 1.0;
        Some(f64::from(u32::from_str_radix(part, 16).ok()?) / most)
    };
    let parts: Vec<f64> = colour.split('/').map(part).collect::<Option<_>>()?;
    let [red, green, blue, ..] = parts.as_slice() else { return None };
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<KeyEvent> {
        let mut keys = vec![KeyEvent::new(KeyCode::Char(']'), KeyModifiers::ALT)];
        keys.extend(
            text.chars().map(|letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)),
        );
        keys
    }

    #[test]
    fn an_answer_never_becomes_text() {
        let (mut answer, now) = (BackgroundAnswer::default(), Instant::now());
        for key in keys("11;rgb:ffff/ffff/ffff") {
            assert_eq!(answer.hear(key, now), Heard::Part);
        }
        let end = KeyEvent::new(KeyCode::Char('\\'), KeyModifiers::ALT);
        assert_eq!(answer.hear(end, now), Heard::Light(Some(true)));
        let key = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE);
        assert_eq!(answer.hear(key, now), Heard::Keys(vec![key]));
    }

    #[test]
    fn what_is_no_answer_is_typed() {
        let (mut answer, now) = (BackgroundAnswer::default(), Instant::now());
        let typed = keys("hi");
        assert_eq!(answer.hear(typed[0], now), Heard::Part);
        assert_eq!(answer.hear(typed[1], now), Heard::Keys(typed[..2].to_vec()));
        assert_eq!(answer.hear(typed[0], now), Heard::Part);
        assert_eq!(answer.expired(now + Duration::from_secs(1)), typed[..1].to_vec());
    }

    #[test]
    fn white_is_light_and_black_is_not() {
        assert_eq!(is_light("11;rgb:0000/0000/0000"), Some(false));
        assert_eq!(is_light("11;rgb:fd/f6/e3"), Some(true));
        assert_eq!(is_light("11;x"), None);
    }
}
