//! What keys in NORMAL and VISUAL mode mean. The tables follow vim's documentation (`:help index`).

/// A count is cut to this, so that a slip does not fill the memory.
const MAX_COUNT: usize = 9_999;

/// Redo, as the keys of a command have it.
pub(super) const CTRL_R: char = '\u{12}';

/// What is done to the text that a motion or an object covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Delete,
    Change,
    Yank,
    Indent,
    Outdent,
}

/// Where the cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Left,
    Right,
    Up,
    Down,
    WordStart {
        big: bool,
    },
    WordEnd {
        big: bool,
    },
    WordBack {
        big: bool,
    },
    LineStart,
    LineEnd,
    FirstNonBlank,
    FirstLine,
    LastLine,
    Find(Find),
    /// `;` or `,`.
    FindAgain {
        back: bool,
    },
}

/// A search for a character in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Find {
    pub(super) letter: char,
    pub(super) forward: bool,
    /// Stop one before it.
    pub(super) till: bool,
}

/// A part of the text that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) kind: ObjectKind,
    /// With what surrounds it.
    pub(super) around: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Word { big: bool },
    Quotes(char),
    Brackets(char, char),
}

/// What an operator acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Motion(Motion),
    Object(Object),
    /// As many lines as the count says.
    Lines,
    /// As many characters as the count says, newlines too: what was selected, when it is repeated.
    Characters,
}

/// Where INSERT mode begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertAt {
    Cursor,
    AfterCursor,
    LineStart,
    LineEnd,
    LineBelow,
    LineAbove,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Move(Motion),
    Operate(Operator, Target),
    Insert(InsertAt),
    Paste {
        before: bool,
    },
    Join,
    SwapCase,
    Replace(char),
    Repeat,
    Undo,
    Redo,
    Select {
        lines: bool,
    },
    /// In VISUAL mode: the selection becomes this object.
    SelectObject(Object),
    /// In VISUAL mode: the cursor goes to the other end.
    OtherEnd,
    /// In VISUAL mode: to what is selected.
    OperateSelection(Operator),
}

/// A command with its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) count: Option<usize>,
    pub(super) verb: Verb,
}

/// What the keys so far are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    Command(Command),
    /// The start of one.
    Incomplete,
    /// No command starts like this.
    Unknown,
}

const MOTIONS: &[(char, Motion)] = &[
    ('h', Motion::Left),
    ('l', Motion::Right),
    (' ', Motion::Right),
    ('k', Motion::Up),
    ('j', Motion::Down),
    ('w', Motion::WordStart { big: false }),
    ('W', Motion::WordStart { big: true }),
    ('e', Motion::WordEnd { big: false }),
    ('E', Motion::WordEnd { big: true }),
    ('b', Motion::WordBack { big: false }),
    ('B', Motion::WordBack { big: true }),
    ('0', Motion::LineStart),
    // Also what the Home key is taken for: `0` after a digit would be one more.
    ('|', Motion::LineStart),
    ('$', Motion::LineEnd),
    ('^', Motion::FirstNonBlank),
    ('G', Motion::LastLine),
    (';', Motion::FindAgain { back: false }),
    (',', Motion::FindAgain { back: true }),
];

const OPERATORS: &[(char, Operator)] = &[
    ('d', Operator::Delete),
    ('c', Operator::Change),
    ('y', Operator::Yank),
    ('>', Operator::Indent),
    ('<', Operator::Outdent),
];

const OBJECTS: &[(char, ObjectKind)] = &[
    ('w', ObjectKind::Word { big: false }),
    ('W', ObjectKind::Word { big: true }),
    ('"', ObjectKind::Quotes('"')),
    ('\'', ObjectKind::Quotes('\'')),
    ('`', ObjectKind::Quotes('`')),
    ('(', ObjectKind::Brackets('(', ')')),
    (')', ObjectKind::Brackets('(', ')')),
    ('b', ObjectKind::Brackets('(', ')')),
    ('[', ObjectKind::Brackets('[', ']')),
    (']', ObjectKind::Brackets('[', ']')),
    ('{', ObjectKind::Brackets('{', '}')),
    ('}', ObjectKind::Brackets('{', '}')),
    ('B', ObjectKind::Brackets('{', '}')),
    ('<', ObjectKind::Brackets('<', '>')),
    ('>', ObjectKind::Brackets('<', '>')),
];

/// Commands of one key in NORMAL mode.
const VERBS: &[(char, Verb)] = &[
    ('i', Verb::Insert(InsertAt::Cursor)),
    ('I', Verb::Insert(InsertAt::LineStart)),
    ('a', Verb::Insert(InsertAt::AfterCursor)),
    ('A', Verb::Insert(InsertAt::LineEnd)),
    ('o', Verb::Insert(InsertAt::LineBelow)),
    ('O', Verb::Insert(InsertAt::LineAbove)),
    ('x', Verb::Operate(Operator::Delete, Target::Motion(Motion::Right))),
    ('X', Verb::Operate(Operator::Delete, Target::Motion(Motion::Left))),
    ('D', Verb::Operate(Operator::Delete, Target::Motion(Motion::LineEnd))),
    ('C', Verb::Operate(Operator::Change, Target::Motion(Motion::LineEnd))),
    ('s', Verb::Operate(Operator::Change, Target::Motion(Motion::Right))),
    ('S', Verb::Operate(Operator::Change, Target::Lines)),
    ('Y', Verb::Operate(Operator::Yank, Target::Lines)),
    ('p', Verb::Paste { before: false }),
    ('P', Verb::Paste { before: true }),
    ('J', Verb::Join),
    ('~', Verb::SwapCase),
    ('.', Verb::Repeat),
    ('u', Verb::Undo),
    (CTRL_R, Verb::Redo),
    ('v', Verb::Select { lines: false }),
    ('V', Verb::Select { lines: true }),
];

/// Commands of one key in VISUAL mode.
const SELECTION_VERBS: &[(char, Verb)] = &[
    ('d', Verb::OperateSelection(Operator::Delete)),
    ('x', Verb::OperateSelection(Operator::Delete)),
    ('c', Verb::OperateSelection(Operator::Change)),
    ('s', Verb::OperateSelection(Operator::Change)),
    ('y', Verb::OperateSelection(Operator::Yank)),
    ('>', Verb::OperateSelection(Operator::Indent)),
    ('<', Verb::OperateSelection(Operator::Outdent)),
    ('J', Verb::Join),
    ('~', Verb::SwapCase),
    ('o', Verb::OtherEnd),
    ('v', Verb::Select { lines: false }),
    ('V', Verb::Select { lines: true }),
];

fn look_up<T: Copy>(table: &[(char, T)], key: char) -> Option<T> {
    table.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
}

/// A count at the start of the keys, and the rest. A zero at the start is a motion.
fn count(keys: &[char]) -> (Option<usize>, &[char]) {
    let mut count = None;
    let mut rest = keys;
    while let [key, after @ ..] = rest {
        let Some(digit) = key.to_digit(10).filter(|digit| *digit > 0 || count.is_some()) else {
            break;
        };
        let more = count.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit as usize);
        count = Some(more.min(MAX_COUNT));
        rest = after;
    }
    (count, rest)
}

/// A part of a command.
enum Part<T> {
    Read(T),
    Incomplete,
    Unknown,
}

fn motion(keys: &[char]) -> Part<Motion> {
    match keys {
        ['g'] | ['f' | 'F' | 't' | 'T'] => Part::Incomplete,
        ['g', 'g'] => Part::Read(Motion::FirstLine),
        [key @ ('f' | 'F' | 't' | 'T'), letter] if !letter.is_control() => {
            let (forward, till) = (key.is_lowercase(), matches!(key, 't' | 'T'));
            Part::Read(Motion::Find(Find { letter: *letter, forward, till }))
        }
        [key] => look_up(MOTIONS, *key).map_or(Part::Unknown, Part::Read),
        _ => Part::Unknown,
    }
}

fn object(keys: &[char]) -> Part<Object> {
    match keys {
        ['i' | 'a'] => Part::Incomplete,
        [key @ ('i' | 'a'), name] => match look_up(OBJECTS, *name) {
            Some(kind) => Part::Read(Object { kind, around: *key == 'a' }),
            None => Part::Unknown,
        },
        _ => Part::Unknown,
    }
}

fn replacement(keys: &[char]) -> Part<char> {
    match keys {
        ['r'] => Part::Incomplete,
        ['r', letter] if !letter.is_control() || matches!(letter, '\n' | '\t') => {
            Part::Read(*letter)
        }
        _ => Part::Unknown,
    }
}

/// The first part that is not unknown, as a command.
fn first(count: Option<usize>, parts: [Part<Verb>; 3]) -> Parsed {
    for part in parts {
        match part {
            Part::Read(verb) => return Parsed::Command(Command { count, verb }),
            Part::Incomplete => return Parsed::Incomplete,
            Part::Unknown => {}
        }
    }
    Parsed::Unknown
}

impl<T> Part<T> {
    fn map<U>(self, into: impl Fn(T) -> U) -> Part<U> {
        match self {
            Self::Read(value) => Part::Read(into(value)),
            Self::Incomplete => Part::Incomplete,
            Self::Unknown => Part::Unknown,
        }
    }
}

fn one_key(table: &[(char, Verb)], keys: &[char]) -> Part<Verb> {
    match keys {
        [key] => look_up(table, *key).map_or(Part::Unknown, Part::Read),
        _ => Part::Unknown,
    }
}

/// Reads keys in NORMAL mode.
pub(super) fn normal(keys: &[char]) -> Parsed {
    let (outer, rest) = count(keys);
    if rest.is_empty() {
        return Parsed::Incomplete;
    }
    if let [key, rest @ ..] = rest
        && let Some(operator) = look_up(OPERATORS, *key)
    {
        return operation(outer, *key, operator, rest);
    }
    let moved = motion(rest).map(Verb::Move);
    first(outer, [one_key(VERBS, rest), replacement(rest).map(Verb::Replace), moved])
}

/// Reads what follows an operator.
fn operation(outer: Option<usize>, key: char, operator: Operator, rest: &[char]) -> Parsed {
    let (inner, rest) = count(rest);
    // Counts before and after the operator are multiplied.
    let count = match (outer, inner) {
        (Some(outer), Some(inner)) => Some(outer.saturating_mul(inner).min(MAX_COUNT)),
        (outer, inner) => outer.or(inner),
    };
    let lines = match rest {
        [] => Part::Incomplete,
        [again] if *again == key => Part::Read(Target::Lines),
        _ => Part::Unknown,
    };
    let operate = |target| Verb::Operate(operator, target);
    let parts = [lines, object(rest).map(Target::Object), motion(rest).map(Target::Motion)];
    first(count, parts.map(|part| part.map(operate)))
}

/// Reads keys in VISUAL mode.
pub(super) fn visual(keys: &[char]) -> Parsed {
    let (count, rest) = count(keys);
    if rest.is_empty() {
        return Parsed::Incomplete;
    }
    let verb = match object(rest).map(Verb::SelectObject) {
        Part::Unknown => one_key(SELECTION_VERBS, rest),
        object => object,
    };
    first(count, [verb, replacement(rest).map(Verb::Replace), motion(rest).map(Verb::Move)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &str) -> Parsed {
        normal(&keys.chars().collect::<Vec<_>>())
    }

    fn command(count: Option<usize>, verb: Verb) -> Parsed {
        Parsed::Command(Command { count, verb })
    }

    #[test]
    fn counts_operators_and_targets_make_commands() {
        let delete = |target| Verb::Operate(Operator::Delete, target);
        let word = Motion::WordStart { big: false };
        for (keys, parsed) in [
            ("", Parsed::Incomplete),
            ("12", Parsed::Incomplete),
            ("0", command(None, Verb::Move(Motion::LineStart))),
            ("10j", command(Some(10), Verb::Move(Motion::Down))),
            ("2d3w", command(Some(6), delete(Target::Motion(word)))),
            ("dd", command(None, delete(Target::Lines))),
            ("d3d", command(Some(3), delete(Target::Lines))),
            ("dg", Parsed::Incomplete),
            ("dgg", command(None, delete(Target::Motion(Motion::FirstLine)))),
            ("dc", Parsed::Unknown),
            ("dx", Parsed::Unknown),
            ("di", Parsed::Incomplete),
            ("q", Parsed::Unknown),
            (
                "fx",
                command(
                    None,
                    Verb::Move(Motion::Find(Find { letter: 'x', forward: true, till: false })),
                ),
            ),
            ("f\n", Parsed::Unknown),
            ("r", Parsed::Incomplete),
            ("r\n", command(None, Verb::Replace('\n'))),
            (
                "99999999999999999999x",
                command(Some(MAX_COUNT), delete(Target::Motion(Motion::Right))),
            ),
        ] {
            assert_eq!(read(keys), parsed, "{keys}");
        }
        let around = Object { kind: ObjectKind::Brackets('(', ')'), around: true };
        assert_eq!(read("dab"), command(None, delete(Target::Object(around))));
    }

    #[test]
    fn a_selection_takes_objects_before_other_commands() {
        let word = Object { kind: ObjectKind::Word { big: false }, around: true };
        assert_eq!(visual(&['a']), Parsed::Incomplete);
        assert_eq!(visual(&['a', 'w']), command(None, Verb::SelectObject(word)));
        assert_eq!(visual(&['d']), command(None, Verb::OperateSelection(Operator::Delete)));
        assert_eq!(visual(&['p']), Parsed::Unknown);
    }
}
