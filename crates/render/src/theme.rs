//! What things look like: a theme gives every role a style, in as many colours as the terminal has.

mod depth;
mod palette;

use ona_types::PermissionMode;
use ratatui::style::{Modifier, Style};

pub use depth::{Depth, downgrade};
use palette::Palette;

/// The themes that a user can choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThemeName {
    /// [`ThemeName::Dark`] or [`ThemeName::Light`], as the terminal's background is.
    #[default]
    Auto,
    /// Bright colours, for a dark background.
    Dark,
    /// Dark colours, for a bright background.
    Light,
    /// As [`ThemeName::Dark`], for eyes that confuse red and green.
    DarkDaltonized,
    /// As [`ThemeName::Light`], for eyes that confuse red and green.
    LightDaltonized,
    /// As [`ThemeName::Dark`], with the terminal's own 16 colours.
    DarkAnsi,
    /// As [`ThemeName::Light`], with the terminal's own 16 colours.
    LightAnsi,
}

impl ThemeName {
    /// Every theme with its name.
    pub const ALL: [(ThemeName, &'static str); 7] = [
        (ThemeName::Auto, "auto"),
        (ThemeName::Dark, "dark"),
        (ThemeName::Light, "light"),
        (ThemeName::DarkDaltonized, "dark-daltonized"),
        (ThemeName::LightDaltonized, "light-daltonized"),
        (ThemeName::DarkAnsi, "dark-ansi"),
        (ThemeName::LightAnsi, "light-ansi"),
    ];

    /// The theme's name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The theme of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(theme, _)| *theme)
    }
}

/// What a piece of text is. Its look is the theme's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Ordinary text, in the terminal's own colour.
    Text,
    /// Text of less weight: hints, numbers, addresses.
    Dim,
    /// What should be seen first: the prompt, a spinner, a name.
    Accent,
    /// A heading.
    Heading,
    /// Code within a sentence.
    Code,
    /// The text of a link.
    Link,
    /// Quoted text, and the bar beside it.
    Quote,
    /// A line that a diff adds.
    Added,
    /// A line that a diff removes.
    Removed,
    /// What an added line has new.
    AddedWord,
    /// What a removed line loses.
    RemovedWord,
    /// The place between two hunks of a diff.
    Hunk,
    /// The number of a line.
    LineNumber,
    /// Something went well.
    Success,
    /// Something to take care of.
    Warning,
    /// Something went wrong.
    Error,
    /// What the user wrote.
    User,
    /// What the model thinks aloud.
    Thinking,
    /// Frames, bars and rules.
    Border,
    /// The chosen row of a list.
    Selected,
    /// The letters of an entry that match what was typed.
    Match,
    /// The sign of a permission mode.
    Mode(PermissionMode),
    /// A keyword of a language.
    Keyword,
    /// A string.
    String,
    /// An escape sequence in a string.
    Escape,
    /// A comment.
    Comment,
    /// A number.
    Number,
    /// A constant other than a number, such as `true`.
    Constant,
    /// The name of a function.
    Function,
    /// The name of a type.
    Type,
    /// An operator.
    Operator,
    /// Brackets, commas and the like.
    Punctuation,
    /// The name of a variable.
    Variable,
    /// A tag of HTML or XML.
    Tag,
    /// The name of an attribute, or the key of a value.
    Attribute,
}

/// A theme, in the colours that a terminal has.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    palette: &'static Palette,
    depth: Depth,
}

impl Theme {
    /// A theme. Only [`ThemeName::Auto`] looks at the background.
    pub fn new(name: ThemeName, depth: Depth, light_background: bool) -> Self {
        let palette = match name {
            ThemeName::Auto if light_background => &palette::LIGHT,
            ThemeName::Auto | ThemeName::Dark => &palette::DARK,
            ThemeName::Light => &palette::LIGHT,
            ThemeName::DarkDaltonized => &palette::DARK_DALTONIZED,
            ThemeName::LightDaltonized => &palette::LIGHT_DALTONIZED,
            ThemeName::DarkAnsi => &palette::DARK_ANSI,
            ThemeName::LightAnsi => &palette::LIGHT_ANSI,
        };
        Self { palette, depth }
    }

    /// The colours that the terminal has.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        let style = self.palette.style(role);
        match self.depth {
            Depth::True => style,
            Depth::Ansi256 => recoloured(style, self.depth),
            Depth::Ansi16 => recoloured(Style { bg: None, ..style }, self.depth)
                .add_modifier(instead_of_background(role)),
            Depth::None => Style { fg: None, bg: None, ..style }
                .add_modifier(instead_of_background(role))
                .add_modifier(instead_of_colour(role)),
        }
    }
}

fn recoloured(style: Style, depth: Depth) -> Style {
    let at_depth = |colour| downgrade(colour, depth);
    Style { fg: style.fg.and_then(at_depth), bg: style.bg.and_then(at_depth), ..style }
}

/// What says the same where there are no background colours. The line of a diff has its sign and its foreground.
fn instead_of_background(role: Role) -> Modifier {
    match role {
        Role::AddedWord | Role::RemovedWord | Role::Selected => Modifier::REVERSED,
        _ => Modifier::empty(),
    }
}

/// What says the same where there are no colours at all.
fn instead_of_colour(role: Role) -> Modifier {
    match role {
        Role::Accent | Role::Added | Role::Warning | Role::Error | Role::Keyword => Modifier::BOLD,
        Role::Mode(PermissionMode::BypassPermissions) => Modifier::BOLD,
        Role::Dim | Role::LineNumber | Role::Hunk | Role::Border | Role::Comment => Modifier::DIM,
        Role::Thinking => Modifier::DIM,
        _ => Modifier::empty(),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    const DEPTHS: [Depth; 4] = [Depth::None, Depth::Ansi16, Depth::Ansi256, Depth::True];
    const DIFF: [Role; 4] = [Role::Added, Role::Removed, Role::AddedWord, Role::RemovedWord];

    fn roles() -> Vec<Role> {
        let modes = PermissionMode::ALL.map(|(mode, _)| Role::Mode(mode));
        [DIFF.as_slice(), &modes, &[Role::Text, Role::Dim, Role::Selected, Role::Error, Role::Tag]]
            .concat()
    }

    #[test]
    fn a_name_is_that_of_its_theme() {
        for (theme, name) in ThemeName::ALL {
            assert_eq!(theme.as_str(), name);
            assert_eq!(ThemeName::from_name(name), Some(theme));
        }
        assert_eq!(ThemeName::from_name("Dark"), None);
    }

    #[test]
    fn ordinary_text_has_the_terminals_colour() {
        for (name, _) in ThemeName::ALL {
            assert_eq!(Theme::new(name, Depth::True, false).style(Role::Text), Style::new());
        }
    }

    #[test]
    fn auto_follows_the_background() {
        for (light, name) in [(true, ThemeName::Light), (false, ThemeName::Dark)] {
            let auto = Theme::new(ThemeName::Auto, Depth::True, light);
            let named = Theme::new(name, Depth::True, !light);
            assert!(roles().into_iter().all(|role| auto.style(role) == named.style(role)));
        }
    }

    #[test]
    fn no_colour_is_beyond_the_depth() {
        for (name, _) in ThemeName::ALL {
            for (depth, role) in DEPTHS
                .into_iter()
                .flat_map(|depth| roles().into_iter().map(move |role| (depth, role)))
            {
                let style = Theme::new(name, depth, false).style(role);
                for colour in [style.fg, style.bg].into_iter().flatten() {
                    let fits = match depth {
                        Depth::None => false,
                        Depth::Ansi16 => !matches!(colour, Color::Rgb(..) | Color::Indexed(_)),
                        Depth::Ansi256 => !matches!(colour, Color::Rgb(..)),
                        Depth::True => true,
                    };
                    assert!(fits, "{name:?} {depth:?} {role:?} {colour:?}");
                }
                let ansi = matches!(name, ThemeName::DarkAnsi | ThemeName::LightAnsi);
                let named = !matches!(style.fg, Some(Color::Rgb(..) | Color::Indexed(_)));
                assert!(!ansi || named, "{name:?} {role:?}");
            }
        }
    }

    #[test]
    fn a_diff_has_backgrounds_only_where_there_are_many_colours() {
        for (name, _) in ThemeName::ALL {
            for role in DIFF {
                let style = |depth| Theme::new(name, depth, false).style(role);
                assert_eq!(style(Depth::Ansi16).bg, None);
                assert_eq!(style(Depth::None).bg, None);
            }
            let backgrounds =
                DIFF.map(|role| Theme::new(name, Depth::Ansi256, false).style(role).bg);
            for (at, background) in backgrounds.iter().enumerate() {
                let distinct = background.is_some() && !backgrounds[..at].contains(background);
                assert!(distinct || name.as_str().ends_with("-ansi"), "{name:?} {backgrounds:?}");
            }
            for depth in DEPTHS {
                let theme = Theme::new(name, depth, false);
                assert_ne!(theme.style(Role::Added), theme.style(Role::AddedWord), "{name:?}");
                assert_ne!(theme.style(Role::Removed), theme.style(Role::RemovedWord), "{name:?}");
                assert_ne!(theme.style(Role::Added), theme.style(Role::Removed), "{name:?}");
            }
        }
    }

    #[test]
    fn daltonized_diffs_are_neither_red_nor_green() {
        for name in [ThemeName::DarkDaltonized, ThemeName::LightDaltonized] {
            let theme = Theme::new(name, Depth::Ansi16, false);
            for role in DIFF {
                let colour = theme.style(role).fg;
                let confusing = [Color::Red, Color::LightRed, Color::Green, Color::LightGreen];
                assert!(colour.is_some_and(|colour| !confusing.contains(&colour)), "{colour:?}");
            }
        }
    }
}
