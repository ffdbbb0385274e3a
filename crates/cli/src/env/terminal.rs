//! What the environment says about the terminal.

use std::time::Duration;

use super::{Variable, text};

/// Nobody answers a dialog sooner.
const REACTION: Duration = Duration::from_millis(150);

macro_rules! variables {
    ($($name:ident = $variable:literal, $default:literal, $meaning:literal;)*) => {
        $(const $name: Variable =
            Variable { name: $variable, default: $default, meaning: $meaning };)*
        /// All of them, in the order of the documentation.
        #[cfg(test)]
        pub(super) const READ: &[&Variable] = &[$(&$name),*];
    };
}

variables! {
    TERM = "TERM", "", "The kind of terminal. `dumb`: line mode, as with --plain. `linux`: 16 colours.";
    COLORTERM = "COLORTERM", "unset", "`truecolor` or `24bit`: the terminal shows all colours; without it at most 256 are used.";
    COLORFGBG = "COLORFGBG", "unset", "The terminal's colours, where it sets them: a light background chooses a light theme.";
    TERM_PROGRAM = "TERM_PROGRAM", "unset", "The terminal's name, where it sets it: it decides how notifications are sent.";
    KITTY = "KITTY_WINDOW_ID", "unset", "Set by kitty: notifications are sent its way.";
    SCREEN_READER = "ONA_SCREEN_READER", "0", "1: plain lines for a screen reader, as with --plain.";
    DIALOG_DELAY = "ONA_DIALOG_DELAY_MS", "150", "Keys that come sooner after a dialog has appeared are not for it: they go into the prompt. 0: for programs that type; every key counts at once.";
}

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// None.
    None,
    /// The 16 named ones.
    Sixteen,
    /// 256.
    Many,
    /// All.
    All,
}

/// What the environment says about the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalFacts {
    /// The kind of terminal.
    pub term: String,
    /// Its colours.
    pub colours: Colours,
    /// Whether its background is light.
    pub light: bool,
    /// The terminal's name.
    pub program: String,
    /// Whether it is kitty.
    pub kitty: bool,
    /// Whether plain lines are wanted.
    pub plain: bool,
    /// How long it takes to see a dialog.
    pub reaction: Duration,
}

/// Reads it.
pub fn terminal_facts() -> TerminalFacts {
    let set = |variable: &Variable| text(variable).ok().flatten().unwrap_or_default();
    facts(&set(&TERM), &set(&COLORTERM), &set(&COLORFGBG), super::wants_colour()).with(
        set(&TERM_PROGRAM),
        !set(&KITTY).is_empty(),
        set(&SCREEN_READER) == "1",
        set(&DIALOG_DELAY).parse().map_or(REACTION, Duration::from_millis),
    )
}

impl TerminalFacts {
    fn with(self, program: String, kitty: bool, reader: bool, reaction: Duration) -> Self {
        let kitty = kitty || self.term.contains("kitty");
        Self { program, kitty, plain: self.plain || reader, reaction, ..self }
    }
}

fn facts(term: &str, colorterm: &str, colorfgbg: &str, colour: bool) -> TerminalFacts {
    let all = matches!(colorterm, "truecolor" | "24bit");
    let colours = match term {
        _ if !colour => Colours::None,
        // Whoever says nothing of the terminal knows nothing of it.
        "dumb" | "" => Colours::None,
        "linux" | "vt100" | "vt220" | "ansi" | "xterm-color" => Colours::Sixteen,
        _ if all => Colours::All,
        "xterm" | "screen" | "rxvt" => Colours::Sixteen,
        _ => Colours::Many,
    };
    // The last number is the background; 7 and 9 to 15 are light.
    let background = colorfgbg.rsplit(';').next().and_then(|number| number.parse::<u8>().ok());
    TerminalFacts {
        term: term.to_owned(),
        colours,
        light: background.is_some_and(|number| number == 7 || (9..=15).contains(&number)),
        program: String::new(),
        kitty: false,
        plain: matches!(term, "dumb" | ""),
        reaction: REACTION,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_what_the_terminal_says() {
        for (term, colorterm, colours) in [
            ("xterm-256color", "", Colours::Many),
            ("xterm-256color", "truecolor", Colours::All),
            ("tmux-256color", "24bit", Colours::All),
            ("linux", "truecolor", Colours::Sixteen),
            ("dumb", "truecolor", Colours::None),
            ("xterm", "", Colours::Sixteen),
        ] {
            assert_eq!(facts(term, colorterm, "", true).colours, colours, "{term} {colorterm}");
        }
        assert_eq!(facts("xterm-256color", "truecolor", "", false).colours, Colours::None);
        assert!(facts("xterm", "", "0;15", true).light && !facts("xterm", "", "15;0", true).light);
        assert!(facts("dumb", "", "", true).plain && facts("", "", "", true).plain);
    }
}
