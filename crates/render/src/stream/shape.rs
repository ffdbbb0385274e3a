//! The blocks of a text, as far as it matters which of them are closed.

use pulldown_cmark::{CodeBlockKind, Event, Tag};

use crate::markdown::parser;

/// The last block of a text. All before it are closed, since it has begun.
pub(super) struct Shape {
    /// Where its first line begins.
    pub start: usize,
    pub last: Last,
}

/// What closes the last block.
pub(super) enum Last {
    /// It is closed.
    Closed,
    /// A blank line.
    UntilBlank,
    /// A list: something that is not in it. All its items but the last are closed.
    List {
        /// The number of its first item, if it has numbers.
        start: Option<u64>,
        /// How many items are before the last.
        items: u64,
        /// Where the first line of the last item begins.
        last_item: usize,
    },
    /// A fence.
    Fence,
    /// It depends.
    Other,
}

impl Shape {
    /// The shape of a text of complete lines.
    pub(super) fn of(text: &str) -> Self {
        // Without a block there are definitions of links, which a blank line ends.
        let mut shape = Shape { start: 0, last: Last::UntilBlank };
        let mut depth = 0_usize;
        for (event, range) in parser(text).into_offset_iter() {
            match event {
                Event::Start(tag) => {
                    match (depth, &tag, &mut shape.last) {
                        (0, ..) => {
                            shape =
                                Shape { start: line_start(text, range.start), last: last(&tag) };
                        }
                        (1, Tag::Item, Last::List { items, last_item, .. }) => {
                            // The first item begins where the list does.
                            let first = *last_item == usize::MAX;
                            *items += u64::from(!first);
                            *last_item = line_start(text, range.start);
                        }
                        _ => {}
                    }
                    depth += 1;
                }
                Event::End(_) => depth -= 1,
                Event::Rule if depth == 0 => {
                    shape = Shape { start: line_start(text, range.start), last: Last::Closed };
                }
                _ => {}
            }
        }
        shape
    }
}

fn last(tag: &Tag<'_>) -> Last {
    match tag {
        Tag::Heading { .. } => Last::Closed,
        Tag::Paragraph | Tag::Table(_) | Tag::BlockQuote(_) => Last::UntilBlank,
        Tag::List(start) => Last::List { start: *start, items: 0, last_item: usize::MAX },
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => Last::Fence,
        _ => Last::Other,
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}
