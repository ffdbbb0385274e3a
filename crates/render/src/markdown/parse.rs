//! Markdown source as a tree of blocks.

use std::mem;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::language_of_info;

/// Deeper quotes and lists are shown as if they were at this depth.
const MAX_DEPTH: usize = 12;

/// A block, and whether a blank line stands before it in the source.
#[derive(Debug)]
pub(super) struct Node {
    pub block: Block,
    pub spaced: bool,
}

/// A block.
#[derive(Debug)]
pub(super) enum Block {
    Paragraph(Text),
    Heading {
        level: u8,
        text: Text,
    },
    Code {
        language: String,
        code: String,
    },
    Quote(Vec<Node>),
    List(List),
    Table(Table),
    Rule,
    /// HTML, and definitions of links: shown as they were written.
    Verbatim(String),
}

/// A list. With a number it is an ordered one.
#[derive(Debug)]
pub(super) struct List {
    pub start: Option<u64>,
    pub items: Vec<Item>,
}

/// An item of a list.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub nodes: Vec<Node>,
    /// Whether a task is done.
    pub task: Option<bool>,
    pub spaced: bool,
}

/// A table. The first row is its header.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub alignments: Vec<Alignment>,
    pub rows: Vec<Vec<Text>>,
}

/// Text in pieces. A line break in it is one of the author.
pub(super) type Text = Vec<Fragment>;

/// A piece of text with its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fragment {
    pub text: String,
    pub marks: Marks,
}

/// How a piece of text is marked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub strong: bool,
    pub emphasis: bool,
    pub strike: bool,
    pub code: bool,
    pub link: bool,
    /// The address behind the text of a link.
    pub address: bool,
}

/// The parser, with the extensions that are understood.
pub(crate) fn parser(source: &str) -> Parser<'_> {
    let extensions =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(source, extensions)
}

/// Whether the line before the one of a place is blank. In a quote, its bar counts as blank.
pub(crate) fn is_spaced(source: &str, at: usize) -> bool {
    let before = source[..at].rfind('\n').map_or("", |end| &source[..end]);
    let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
    !before.is_empty() && line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'>'))
}

/// The blocks of a document.
pub(super) fn parse(source: &str) -> Vec<Node> {
    let mut builder = Builder { source, ..Builder::default() };
    for (event, range) in parser(source).into_offset_iter() {
        if builder.depth == 0 {
            builder.verbatim(range.start);
        }
        builder.event(event, range.start);
        if builder.depth == 0 {
            builder.shown = range.end;
        }
    }
    builder.end_text();
    builder.verbatim(source.len());
    builder.nodes
}

/// What is open around a block.
enum Frame {
    Quote {
        nodes: Vec<Node>,
        spaced: bool,
    },
    List {
        list: List,
        spaced: bool,
    },
    Item(Item),
    /// A container that is too deep to be one.
    Through,
}

#[derive(Default)]
struct Builder<'a> {
    source: &'a str,
    /// The top level.
    nodes: Vec<Node>,
    frames: Vec<Frame>,
    text: TextBuilder,
    /// Whether the text has a blank line before it.
    text_spaced: bool,
    code: Option<(String, String)>,
    html: Option<String>,
    table: Table,
    /// How many tags are open.
    depth: usize,
    /// How much of the source is shown.
    shown: usize,
}

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(tag) => {
                self.depth += 1;
                self.start(tag, at);
            }
            Event::End(tag) => {
                self.depth -= 1;
                self.end(tag);
            }
            Event::Rule => self.block(Block::Rule, at),
            Event::TaskListMarker(done) => {
                if let Some(Frame::Item(item)) = self.frames.last_mut() {
                    item.task = Some(done);
                }
            }
            Event::Text(text) => match (&mut self.code, &mut self.html) {
                (Some((_, code)), _) => code.push_str(&text),
                (_, Some(html)) => html.push_str(&text),
                _ => self.inline(at).push(&text),
            },
            Event::Html(html) => match &mut self.html {
                Some(block) => block.push_str(&html),
                None => self.inline(at).push(&html),
            },
            Event::InlineHtml(html) => match is_line_break(&html) {
                true => self.inline(at).break_line(),
                false => self.inline(at).push(&html),
            },
            Event::Code(code) => self.inline(at).push_code(&code),
            Event::SoftBreak => self.inline(at).push(" "),
            Event::HardBreak => self.inline(at).break_line(),
            // These extensions are off.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.inline(at).push(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => self.begin_text(at),
            Tag::BlockQuote(_) => {
                let spaced = self.begin_block(at);
                self.open(Frame::Quote { nodes: Vec::new(), spaced });
            }
            Tag::List(start) => {
                let spaced = self.begin_block(at);
                self.open(Frame::List { list: List { start, items: Vec::new() }, spaced });
            }
            Tag::Item => {
                let spaced = is_spaced(self.source, at);
                self.open(Frame::Item(Item { spaced, ..Item::default() }));
            }
            Tag::CodeBlock(kind) => {
                self.text_spaced = self.begin_block(at);
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "",
                };
                self.code = Some((language_of_info(info).to_owned(), String::new()));
            }
            Tag::HtmlBlock => {
                self.text_spaced = self.begin_block(at);
                self.html = Some(String::new());
            }
            Tag::Table(alignments) => {
                self.text_spaced = self.begin_block(at);
                self.table = Table { alignments, rows: Vec::new() };
            }
            Tag::TableHead | Tag::TableRow => self.table.rows.push(Vec::new()),
            Tag::TableCell => {}
            Tag::Emphasis => self.inline(at).emphasis += 1,
            Tag::Strong => self.inline(at).strong += 1,
            Tag::Strikethrough => self.inline(at).strike += 1,
            Tag::Link { dest_url, .. } => self.inline(at).open_link(&dest_url),
            Tag::Image { dest_url, .. } => self.inline(at).open_image(&dest_url),
            // These extensions are off.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_text(),
            TagEnd::Heading(level) => {
                let text = self.text.take();
                self.add(Block::Heading { level: level as u8, text }, self.text_spaced);
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => {
                self.end_text();
                self.close();
            }
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    self.add(Block::Code { language, code }, self.text_spaced);
                }
            }
            TagEnd::HtmlBlock => {
                if let Some(html) = self.html.take() {
                    self.add(Block::Verbatim(html), self.text_spaced);
                }
            }
            TagEnd::Table => {
                let table = mem::take(&mut self.table);
                self.add(Block::Table(table), self.text_spaced);
            }
            TagEnd::TableCell => {
                let cell = self.text.take();
                if let Some(row) = self.table.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis => self.text.emphasis -= 1,
            TagEnd::Strong => self.text.strong -= 1,
            TagEnd::Strikethrough => self.text.strike -= 1,
            TagEnd::Link => self.text.close_link(),
            TagEnd::Image => self.text.close_image(),
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// The text that is open. In the item of a tight list, text opens without a paragraph around it.
    fn inline(&mut self, at: usize) -> &mut TextBuilder {
        if !self.text.open && self.table.rows.is_empty() {
            self.begin_text(at);
        }
        &mut self.text
    }

    fn begin_text(&mut self, at: usize) {
        self.text_spaced = self.begin_block(at);
        self.text.open = true;
    }

    /// A block begins: ends the text before it. Tells whether a blank line stands before the block.
    fn begin_block(&mut self, at: usize) -> bool {
        self.end_text();
        is_spaced(self.source, at)
    }

    fn end_text(&mut self) {
        let text = self.text.take();
        if !text.is_empty() {
            self.add(Block::Paragraph(text), self.text_spaced);
        }
    }

    fn block(&mut self, block: Block, at: usize) {
        let spaced = self.begin_block(at);
        self.add(block, spaced);
    }

    fn open(&mut self, frame: Frame) {
        let deep = self.frames.len() >= MAX_DEPTH;
        // A list at the limit has no items of its own: what is in them is shown where the list would be.
        let deep =
            deep || (self.frames.len() + 1 >= MAX_DEPTH && matches!(frame, Frame::List { .. }));
        let orphan = matches!(frame, Frame::Item(_))
            && !matches!(self.frames.last(), Some(Frame::List { .. }));
        self.frames.push(if deep || orphan { Frame::Through } else { frame });
    }

    fn close(&mut self) {
        match self.frames.pop() {
            Some(Frame::Quote { nodes, spaced }) => self.add(Block::Quote(nodes), spaced),
            Some(Frame::List { list, spaced }) => self.add(Block::List(list), spaced),
            Some(Frame::Item(item)) => {
                if let Some(Frame::List { list, .. }) = self.frames.last_mut() {
                    list.items.push(item);
                }
            }
            Some(Frame::Through) | None => {}
        }
    }

    /// Adds a block to what is open around it.
    fn add(&mut self, block: Block, spaced: bool) {
        let around = self.frames.iter_mut().rev().find_map(|frame| match frame {
            Frame::Quote { nodes, .. } => Some(nodes),
            Frame::Item(item) => Some(&mut item.nodes),
            Frame::List { .. } | Frame::Through => None,
        });
        around.unwrap_or(&mut self.nodes).push(Node { block, spaced });
    }

    /// Shows what the parser keeps to itself: definitions of links.
    fn verbatim(&mut self, until: usize) {
        let hidden = self.source.get(self.shown..until).unwrap_or("");
        if !hidden.trim().is_empty() {
            self.end_text();
            self.nodes.push(Node { block: Block::Verbatim(hidden.to_owned()), spaced: true });
            self.shown = until;
        }
    }
}

fn is_line_break(html: &str) -> bool {
    let name = html.trim_start_matches('<').trim_end_matches(['>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}

/// Text that is being put together.
#[derive(Default)]
struct TextBuilder {
    text: Text,
    /// Whether a block has begun, whose text this is.
    open: bool,
    strong: usize,
    emphasis: usize,
    strike: usize,
    /// The links and images that are open: the address, and the text so far.
    links: Vec<(String, String)>,
}

impl TextBuilder {
    fn take(&mut self) -> Text {
        self.open = false;
        mem::take(&mut self.text)
    }

    fn marks(&self) -> Marks {
        Marks {
            strong: self.strong > 0,
            emphasis: self.emphasis > 0,
            strike: self.strike > 0,
            link: !self.links.is_empty(),
            ..Marks::default()
        }
    }

    fn push(&mut self, text: &str) {
        self.push_marked(&text.replace('\n', " "), self.marks());
    }

    fn push_code(&mut self, code: &str) {
        self.push_marked(&code.replace('\n', " "), Marks { code: true, ..self.marks() });
    }

    fn break_line(&mut self) {
        self.push_marked("\n", self.marks());
    }

    fn push_marked(&mut self, text: &str, marks: Marks) {
        // A link holds at most an image. Deeper nests are made to cost time.
        for (_, said) in self.links.iter_mut().rev().take(2) {
            said.push_str(text);
        }
        match self.text.last_mut() {
            Some(last) if last.marks == marks => last.text.push_str(text),
            _ => self.text.push(Fragment { text: text.to_owned(), marks }),
        }
    }

    fn open_link(&mut self, address: &str) {
        self.links.push((address.to_owned(), String::new()));
    }

    fn close_link(&mut self) {
        if let Some((address, said)) = self.links.pop() {
            let same = said == address || address.strip_prefix("mailto:") == Some(&said);
            if !same {
                self.push_address(&address);
            }
        }
    }

    fn open_image(&mut self, address: &str) {
        self.push("[image");
        self.links.push((address.to_owned(), String::new()));
        self.push(": ");
    }

    fn close_image(&mut self) {
        if let Some((address, said)) = self.links.pop() {
            if said == ": "
                && let Some(last) = self.text.last_mut()
            {
                last.text.truncate(last.text.len() - said.len());
            }
            self.push("]");
            self.push_address(&address);
        }
    }

    fn push_address(&mut self, address: &str) {
        if !address.is_empty() {
            let marks = Marks { link: false, address: true, ..self.marks() };
            self.push_marked(&format!(" ({})", address.replace('\n', " ")), marks);
        }
    }
}
