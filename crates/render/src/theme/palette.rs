//! The palettes, one table each.

use ona_types::PermissionMode;
use ratatui::style::{Color, Modifier, Style};

use super::Role;

/// The style of every role.
#[derive(Debug)]
pub(super) struct Palette {
    dim: Style,
    accent: Style,
    heading: Style,
    code: Style,
    link: Style,
    quote: Style,
    added: Style,
    removed: Style,
    added_word: Style,
    removed_word: Style,
    hunk: Style,
    line_number: Style,
    success: Style,
    warning: Style,
    error: Style,
    user: Style,
    thinking: Style,
    border: Style,
    selected: Style,
    matching: Style,
    mode_default: Style,
    mode_accept_edits: Style,
    mode_bypass: Style,
    mode_plan: Style,
    mode_dont_ask: Style,
    keyword: Style,
    string: Style,
    escape: Style,
    comment: Style,
    number: Style,
    constant: Style,
    function: Style,
    typ: Style,
    operator: Style,
    punctuation: Style,
    variable: Style,
    tag: Style,
    attribute: Style,
}

impl Palette {
    /// The style of a role.
    pub(super) const fn style(&self, role: Role) -> Style {
        match role {
            Role::Text => Style::new(),
            Role::Dim => self.dim,
            Role::Accent => self.accent,
            Role::Heading => self.heading,
            Role::Code => self.code,
            Role::Link => self.link,
            Role::Quote => self.quote,
            Role::Added => self.added,
            Role::Removed => self.removed,
            Role::AddedWord => self.added_word,
            Role::RemovedWord => self.removed_word,
            Role::Hunk => self.hunk,
            Role::LineNumber => self.line_number,
            Role::Success => self.success,
            Role::Warning => self.warning,
            Role::Error => self.error,
            Role::User => self.user,
            Role::Thinking => self.thinking,
            Role::Border => self.border,
            Role::Selected => self.selected,
            Role::Match => self.matching,
            Role::Mode(PermissionMode::Default) => self.mode_default,
            Role::Mode(PermissionMode::AcceptEdits) => self.mode_accept_edits,
            Role::Mode(PermissionMode::BypassPermissions) => self.mode_bypass,
            Role::Mode(PermissionMode::Plan) => self.mode_plan,
            Role::Mode(PermissionMode::DontAsk) => self.mode_dont_ask,
            Role::Keyword => self.keyword,
            Role::String => self.string,
            Role::Escape => self.escape,
            Role::Comment => self.comment,
            Role::Number => self.number,
            Role::Constant => self.constant,
            Role::Function => self.function,
            Role::Type => self.typ,
            Role::Operator => self.operator,
            Role::Punctuation => self.punctuation,
            Role::Variable => self.variable,
            Role::Tag => self.tag,
            Role::Attribute => self.attribute,
        }
    }
}

/// Bright colours, for a dark background.
pub(super) const DARK: Palette = Palette {
    dim: fg(0x8b909a),
    accent: fg(0x7aa2f7),
    heading: bold(fg(0x7dcfff)),
    code: fg(0xe0af68),
    link: underlined(fg(0x7aa2f7)),
    quote: italic(fg(0xa9b1d6)),
    added: on(fg(0x8fd18f), 0x16301c),
    removed: on(fg(0xf28b8b), 0x3a1a1e),
    added_word: on(fg(0xc8f0c8), 0x1f7a2a),
    removed_word: on(fg(0xffd0d0), 0x8a2428),
    hunk: fg(0x6b7280),
    line_number: fg(0x6b7280),
    success: fg(0x8fd18f),
    warning: fg(0xe5c07b),
    error: fg(0xf28b8b),
    user: bold(fg(0xc8d0e0)),
    thinking: italic(fg(0x8b909a)),
    border: fg(0x5c6370),
    selected: on(fg(0xe6ecff), 0x2d3f66),
    matching: bold(fg(0xe0af68)),
    mode_default: fg(0x8b909a),
    mode_accept_edits: fg(0xc49bf0),
    mode_bypass: fg(0xf28b8b),
    mode_plan: fg(0x56c8c8),
    mode_dont_ask: fg(0xe5a05a),
    keyword: fg(0xbb9af7),
    string: fg(0x9ece6a),
    escape: fg(0x89ddff),
    comment: italic(fg(0x7a8294)),
    number: fg(0xff9e64),
    constant: fg(0xff9e64),
    function: fg(0x7aa2f7),
    typ: fg(0x56c8c8),
    operator: fg(0x89ddff),
    punctuation: fg(0xa9b1d6),
    variable: Style::new(),
    tag: fg(0xf28b8b),
    attribute: fg(0x73b8e8),
};

/// Dark colours, for a bright background.
pub(super) const LIGHT: Palette = Palette {
    dim: fg(0x6a6f78),
    accent: fg(0x2456b8),
    heading: bold(fg(0x00698f)),
    code: fg(0x8a4b08),
    link: underlined(fg(0x2456b8)),
    quote: italic(fg(0x4c5466)),
    added: on(fg(0x1b6e2c), 0xe2f5e4),
    removed: on(fg(0xa32020), 0xfde6e6),
    added_word: on(fg(0x0d4a1b), 0xa9e2b1),
    removed_word: on(fg(0x7a1010), 0xf6b4b4),
    hunk: fg(0x868c96),
    line_number: fg(0x868c96),
    success: fg(0x1b6e2c),
    warning: fg(0x8a5a00),
    error: fg(0xb02020),
    user: bold(fg(0x30384a)),
    thinking: italic(fg(0x6a6f78)),
    border: fg(0xa0a6b0),
    selected: on(fg(0x10244a), 0xcfdcf5),
    matching: bold(fg(0x8a4b08)),
    mode_default: fg(0x6a6f78),
    mode_accept_edits: fg(0x7a3bb8),
    mode_bypass: fg(0xb02020),
    mode_plan: fg(0x00707a),
    mode_dont_ask: fg(0x9a5200),
    keyword: fg(0x7a3bb8),
    string: fg(0x2f6e1e),
    escape: fg(0x00707a),
    comment: italic(fg(0x747a84)),
    number: fg(0x9a4a00),
    constant: fg(0x9a4a00),
    function: fg(0x2456b8),
    typ: fg(0x00707a),
    operator: fg(0x006a8a),
    punctuation: fg(0x4c5466),
    variable: Style::new(),
    tag: fg(0xa32020),
    attribute: fg(0x1d6a96),
};

/// As [`DARK`]: blue and orange say what green and red say there.
pub(super) const DARK_DALTONIZED: Palette = Palette {
    added: on(fg(0x7ab8ff), 0x12294a),
    removed: on(fg(0xffb066), 0x4a3208),
    added_word: on(fg(0xd2e6ff), 0x2a5ea8),
    removed_word: on(fg(0xffe2c2), 0x8a5312),
    success: fg(0x7ab8ff),
    error: fg(0xffb066),
    mode_bypass: fg(0xffb066),
    mode_dont_ask: fg(0xe8d44d),
    string: fg(0x9cc8e8),
    tag: fg(0xffb066),
    ..DARK
};

/// As [`LIGHT`]: blue and orange say what green and red say there.
pub(super) const LIGHT_DALTONIZED: Palette = Palette {
    added: on(fg(0x12509c), 0xdfecfc),
    removed: on(fg(0x8f4a00), 0xfce6be),
    added_word: on(fg(0x0a356b), 0xa8cdf7),
    removed_word: on(fg(0x613200), 0xf5c68a),
    success: fg(0x12509c),
    error: fg(0x8f4a00),
    mode_bypass: fg(0x8f4a00),
    mode_dont_ask: fg(0x6e6200),
    string: fg(0x1d5a86),
    tag: fg(0x8f4a00),
    ..LIGHT
};

/// The terminal's own colours, for a dark background.
pub(super) const DARK_ANSI: Palette = Palette {
    dim: ansi(Color::DarkGray),
    accent: ansi(Color::LightBlue),
    heading: bold(ansi(Color::LightCyan)),
    code: ansi(Color::LightYellow),
    link: underlined(ansi(Color::LightBlue)),
    quote: italic(ansi(Color::Gray)),
    added: ansi(Color::LightGreen),
    removed: ansi(Color::LightRed),
    added_word: reversed(ansi(Color::LightGreen)),
    removed_word: reversed(ansi(Color::LightRed)),
    hunk: ansi(Color::DarkGray),
    line_number: ansi(Color::DarkGray),
    success: ansi(Color::LightGreen),
    warning: ansi(Color::LightYellow),
    error: ansi(Color::LightRed),
    user: bold(ansi(Color::White)),
    thinking: italic(ansi(Color::DarkGray)),
    border: ansi(Color::DarkGray),
    selected: reversed(ansi(Color::LightBlue)),
    matching: bold(ansi(Color::LightYellow)),
    mode_default: ansi(Color::DarkGray),
    mode_accept_edits: ansi(Color::LightMagenta),
    mode_bypass: ansi(Color::LightRed),
    mode_plan: ansi(Color::LightCyan),
    mode_dont_ask: ansi(Color::LightYellow),
    keyword: ansi(Color::LightMagenta),
    string: ansi(Color::LightGreen),
    escape: ansi(Color::LightCyan),
    comment: italic(ansi(Color::DarkGray)),
    number: ansi(Color::LightYellow),
    constant: ansi(Color::LightYellow),
    function: ansi(Color::LightBlue),
    typ: ansi(Color::LightCyan),
    operator: ansi(Color::Cyan),
    punctuation: ansi(Color::Gray),
    variable: Style::new(),
    tag: ansi(Color::LightRed),
    attribute: ansi(Color::LightCyan),
};

/// The terminal's own colours, for a bright background.
pub(super) const LIGHT_ANSI: Palette = Palette {
    dim: ansi(Color::DarkGray),
    accent: ansi(Color::Blue),
    heading: bold(ansi(Color::Blue)),
    code: ansi(Color::Magenta),
    link: underlined(ansi(Color::Blue)),
    quote: italic(ansi(Color::DarkGray)),
    added: ansi(Color::Green),
    removed: ansi(Color::Red),
    added_word: reversed(ansi(Color::Green)),
    removed_word: reversed(ansi(Color::Red)),
    hunk: ansi(Color::DarkGray),
    line_number: ansi(Color::DarkGray),
    success: ansi(Color::Green),
    // Yellow is not seen on white.
    warning: ansi(Color::Magenta),
    error: ansi(Color::Red),
    user: bold(ansi(Color::Black)),
    thinking: italic(ansi(Color::DarkGray)),
    border: ansi(Color::DarkGray),
    selected: reversed(ansi(Color::Blue)),
    matching: bold(ansi(Color::Magenta)),
    mode_default: ansi(Color::DarkGray),
    mode_accept_edits: ansi(Color::Magenta),
    mode_bypass: ansi(Color::Red),
    mode_plan: ansi(Color::Cyan),
    mode_dont_ask: bold(ansi(Color::Magenta)),
    keyword: ansi(Color::Magenta),
    string: ansi(Color::Green),
    escape: ansi(Color::Cyan),
    comment: italic(ansi(Color::DarkGray)),
    number: ansi(Color::Red),
    constant: ansi(Color::Red),
    function: ansi(Color::Blue),
    typ: ansi(Color::Cyan),
    operator: ansi(Color::DarkGray),
    punctuation: ansi(Color::DarkGray),
    variable: Style::new(),
    tag: ansi(Color::Red),
    attribute: ansi(Color::Cyan),
};

const fn fg(rgb: u32) -> Style {
    Style::new().fg(Color::from_u32(rgb))
}

const fn on(style: Style, rgb: u32) -> Style {
    style.bg(Color::from_u32(rgb))
}

const fn ansi(colour: Color) -> Style {
    Style::new().fg(colour)
}

const fn bold(style: Style) -> Style {
    style.add_modifier(Modifier::BOLD)
}

const fn italic(style: Style) -> Style {
    style.add_modifier(Modifier::ITALIC)
}

const fn underlined(style: Style) -> Style {
    style.add_modifier(Modifier::UNDERLINED)
}

const fn reversed(style: Style) -> Style {
    style.add_modifier(Modifier::REVERSED)
}
