//! The fences around a code block.

use std::borrow::Cow;

use crate::markdown::language_of_info;
use crate::text::TAB_STOP;

/// A fence that begins a code block.
#[derive(Clone, Debug)]
pub(super) struct Fence {
    /// The character that it is made of.
    mark: char,
    /// How many of them.
    count: usize,
    /// The blanks before it. So many are taken off the lines of the code.
    indent: usize,
    pub language: String,
}

impl Fence {
    /// The fence of a line that the parser took for the beginning of a code block.
    pub(super) fn of(line: &str) -> Option<Self> {
        let marks = line.trim_start_matches(' ');
        let indent = line.len() - marks.len();
        let mark = marks.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = marks.trim_start_matches(mark);
        let count = marks.len() - info.len();
        let language = language_of_info(info.trim()).to_owned();
        (count >= 3 && indent <= 3).then_some(Self { mark, count, indent, language })
    }

    /// Whether a line ends the code block.
    pub(super) fn is_end(&self, line: &str) -> bool {
        let marks = line.trim_start_matches(' ');
        let rest = marks.trim_start_matches(self.mark);
        line.len() - marks.len() <= 3
            && marks.len() - rest.len() >= self.count
            && rest.trim_matches([' ', '\t']).is_empty()
    }

    /// Whether a line that is not complete may become the end of the code block.
    pub(super) fn may_end(&self, line: &str) -> bool {
        line.trim_start_matches(' ').trim_start_matches(self.mark).is_empty()
    }

    /// A line of the code block without the blanks of the fence.
    pub(super) fn content<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let rest = line.trim_start_matches(' ');
        let blanks = line.len() - rest.len();
        match rest.strip_prefix('\t') {
            _ if blanks >= self.indent => line[self.indent..].into(),
            // A part of the tab remains: a fence is indented by less than a tab.
            Some(rest) => format!("{}{rest}", " ".repeat(TAB_STOP - self.indent)).into(),
            None => rest.into(),
        }
    }
}
