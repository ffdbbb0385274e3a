//! A YAML document with the place of everything in it.
//!
//! Values stay the text they are: `012`, `no` and `1_000` are not turned into something else, and a change can be
//! spliced in where a value stands. Aliases point to what they name and are never copied, so a bomb made of them is
//! as small as its text.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

/// Collections within collections, at most.
const MAX_DEPTH: usize = 64;

/// A place in a file, both counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// Text that is not usable YAML, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct YamlError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
}

pub(crate) type Id = usize;

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Scalar { value: String, style: ScalarStyle },
    List(Vec<Id>),
    Map(Vec<(Id, Id)>),
    Alias(Id),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// Bytes, without what stands before it (tag, anchor). Of a block collection the end is not to be relied on.
    pub(crate) span: Range<usize>,
    pub(crate) place: Place,
    /// In brackets or braces.
    pub(crate) flow: bool,
    /// Has an anchor or a tag before it.
    pub(crate) decorated: bool,
}

/// The value at the end of a path through a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Null,
    Text(String),
    /// An empty one.
    List,
    /// An empty one.
    Map,
    /// To where.
    Alias(Vec<String>),
}

/// A document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    nodes: Vec<Node>,
    root: Option<Id>,
}

/// A collection that is still open.
struct Open {
    id: Id,
    items: Vec<Id>,
    map: bool,
}

impl Document {
    /// Parses a text with one document or none.
    pub(crate) fn read(text: &str) -> Result<Self, YamlError> {
        let mut document = Self::default();
        let mut anchors: HashMap<usize, Id> = HashMap::new();
        let mut open: Vec<Open> = Vec::new();
        let mut documents = 0;
        for next in Parser::new_from_str(text) {
            let (event, span) = next.map_err(|error| {
                let mark = error.marker();
                let place = Place { line: mark.line(), column: mark.col() + 1 };
                YamlError { place, message: explained(text, place, &error.info()) }
            })?;
            let place = place(&span);
            let bad = |message: &str| YamlError { place, message: message.to_owned() };
            match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(bad("a second document begins here; only one is allowed"));
                    }
                }
                Event::Scalar(value, style, anchor, tag) => {
                    let kind = Kind::Scalar { value: value.into_owned(), style };
                    let id = document.add(kind, &span, false, anchor != 0 || tag.is_some());
                    name(&mut anchors, anchor, id);
                    document.attach(&mut open, id);
                }
                Event::Alias(anchor) => {
                    let target = anchors.get(&anchor).ok_or_else(|| bad("unknown alias"))?;
                    let id = document.add(Kind::Alias(*target), &span, false, false);
                    document.attach(&mut open, id);
                }
                Event::SequenceStart(style, anchor, tag)
                | Event::MappingStart(style, anchor, tag) => {
                    if open.len() >= MAX_DEPTH {
                        return Err(bad("it is nested too deeply"));
                    }
                    let flow = style == StructureStyle::Flow;
                    let decorated = anchor != 0 || tag.is_some();
                    let id = document.add(Kind::List(Vec::new()), &span, flow, decorated);
                    name(&mut anchors, anchor, id);
                    document.attach(&mut open, id);
                    open.push(Open { id, items: Vec::new(), map: false });
                }
                Event::SequenceEnd => {
                    if let Some(done) = open.pop() {
                        document.close(done, &span)?;
                    }
                }
                Event::MappingEnd => {
                    if let Some(done) = open.pop() {
                        document.close(Open { map: true, ..done }, &span)?;
                    }
                }
                _ => {}
            }
        }
        Ok(document)
    }

    fn add(&mut self, kind: Kind, span: &Span, flow: bool, decorated: bool) -> Id {
        let bytes = span.byte_range().unwrap_or_default();
        self.nodes.push(Node { kind, span: bytes, place: place(span), flow, decorated });
        self.nodes.len() - 1
    }

    fn attach(&mut self, open: &mut [Open], id: Id) {
        match open.last_mut() {
            Some(parent) => parent.items.push(id),
            None => self.root = Some(id),
        }
    }

    fn close(&mut self, done: Open, span: &Span) -> Result<(), YamlError> {
        let kind = if done.map {
            let pairs: Vec<(Id, Id)> =
                done.items.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            self.unique(&pairs)?;
            Kind::Map(pairs)
        } else {
            Kind::List(done.items)
        };
        let node = &mut self.nodes[done.id];
        node.kind = kind;
        node.span.end = span.byte_range().unwrap_or_default().end.max(node.span.start);
        Ok(())
    }

    /// Duplicate keys are an error: it is unclear which one counts.
    fn unique(&self, pairs: &[(Id, Id)]) -> Result<(), YamlError> {
        let mut seen = HashSet::new();
        for (key, _) in pairs {
            if let Some(name) = self.text(*key)
                && !seen.insert(name)
            {
                let message = format!("duplicate key `{name}`");
                return Err(YamlError { place: self.nodes[*key].place, message });
            }
        }
        Ok(())
    }

    pub(crate) fn root(&self) -> Option<Id> {
        self.root
    }

    /// A node as it stands in the text; an alias is an alias.
    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// The node itself, or the target of an alias.
    fn meant(&self, id: Id) -> &Node {
        match self.nodes[id].kind {
            // An alias names a node, and a node is never an alias: nothing to go round in.
            Kind::Alias(target) => &self.nodes[target],
            _ => &self.nodes[id],
        }
    }

    /// The text of a scalar.
    pub(crate) fn text(&self, id: Id) -> Option<&str> {
        match &self.meant(id).kind {
            Kind::Scalar { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether a scalar is null.
    pub(crate) fn is_null(&self, id: Id) -> bool {
        match &self.meant(id).kind {
            Kind::Scalar { value, style: ScalarStyle::Plain } => {
                matches!(value.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            _ => false,
        }
    }

    pub(crate) fn list(&self, id: Id) -> Option<&[Id]> {
        match &self.meant(id).kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn map(&self, id: Id) -> Option<&[(Id, Id)]> {
        match &self.meant(id).kind {
            Kind::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// Whether an alias names the node: a change to it would show elsewhere too.
    pub(crate) fn is_shared(&self, id: Id) -> bool {
        self.nodes.iter().any(|node| matches!(node.kind, Kind::Alias(target) if target == id))
    }

    /// Every value with the way to it, in the order of the text. Aliases are not followed.
    pub(crate) fn leaves(&self) -> Vec<(Vec<String>, Leaf)> {
        let mut ways: HashMap<Id, Vec<String>> = HashMap::new();
        let mut leaves = Vec::new();
        let mut waiting: Vec<(Id, Vec<String>)> =
            self.root.map(|root| (root, Vec::new())).into_iter().collect();
        while let Some((id, way)) = waiting.pop() {
            ways.insert(id, way.clone());
            let below = |name: String| [way.as_slice(), &[name]].concat();
            match &self.nodes[id].kind {
                Kind::Scalar { .. } if self.is_null(id) => leaves.push((way, Leaf::Null)),
                Kind::Scalar { value, .. } => leaves.push((way, Leaf::Text(value.clone()))),
                Kind::Alias(target) => {
                    let to = ways.get(target).cloned().unwrap_or_default();
                    leaves.push((way, Leaf::Alias(to)));
                }
                Kind::List(items) if items.is_empty() => leaves.push((way, Leaf::List)),
                Kind::Map(pairs) if pairs.is_empty() => leaves.push((way, Leaf::Map)),
                Kind::List(items) => {
                    let items = items.iter().enumerate().rev();
                    waiting.extend(items.map(|(at, item)| (*item, below(at.to_string()))));
                }
                Kind::Map(pairs) => {
                    // Keys that are not text are told apart by their place.
                    let name = |at: usize, key: Id| {
                        self.text(key).map_or_else(|| format!("?{at}"), str::to_owned)
                    };
                    let pairs = pairs.iter().enumerate().rev();
                    waiting.extend(pairs.map(|(at, (key, value))| (*value, below(name(at, *key)))));
                }
            }
        }
        leaves
    }

    /// The value of a key, its own or one that `<<` brings in.
    pub(crate) fn get(&self, id: Id, name: &str) -> Option<Id> {
        self.get_within(id, name, 0)
    }

    fn get_within(&self, id: Id, name: &str, depth: usize) -> Option<Id> {
        let pairs = self.map(id)?;
        let own = |name: &str| {
            pairs.iter().find(|(key, _)| self.text(*key) == Some(name)).map(|(_, value)| *value)
        };
        if let Some(value) = own(name) {
            return Some(value);
        }
        // Merged maps may merge others, and with aliases even themselves.
        if depth > 4 {
            return None;
        }
        let merged = own("<<")?;
        let sources = self.list(merged).map_or_else(|| vec![merged], <[Id]>::to_vec);
        sources.into_iter().take(16).find_map(|source| self.get_within(source, name, depth + 1))
    }
}

fn name(anchors: &mut HashMap<usize, Id>, anchor: usize, id: Id) {
    if anchor != 0 {
        anchors.insert(anchor, id);
    }
}

fn place(span: &Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

/// A clearer message for a tab, where the parser only names what it expected.
fn explained(text: &str, place: Place, info: &str) -> String {
    let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
    let indentation = line.len() - line.trim_start_matches([' ', '\t']).len();
    if line[..indentation].contains('\t') {
        return format!("a tab is used to indent; YAML wants spaces ({info})");
    }
    info.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn root(text: &str) -> (Document, Id) {
        let document = Document::read(text).unwrap();
        let root = document.root().unwrap();
        (document, root)
    }

    #[test]
    fn everything_has_its_place() {
        let text = "\u{feff}a: 1\r\nb: 'x'  # c\r\nn:\r\nz: &k [1, é]\r\nm: *k\r\n";
        let (document, root) = root(text);
        let at = |name: &str| document.node(document.get(root, name).unwrap());
        assert_eq!(&text[at("b").span.clone()], "'x'");
        assert_eq!(at("b").place, Place { line: 2, column: 4 });
        assert_eq!(&text[at("z").span.clone()], "[1, é]");
        assert!(at("z").decorated && at("z").flow);
        assert_eq!(document.list(document.get(root, "m").unwrap()).unwrap().len(), 2);
        assert!(document.is_null(document.get(root, "n").unwrap()));
        assert_eq!(document.text(document.get(root, "a").unwrap()), Some("1"));
    }

    #[test]
    fn errors_say_what_and_where() {
        for (text, line, word) in [
            ("a:\n\t- b\n", 2, "tab"),
            ("a: 1\n b: 2\n", 2, "mapping"),
            ("a: *x\n", 1, "anchor"),
            ("a: {b: 1, b: 2}", 1, "duplicate key `b`"),
            ("a: 1\n---\nb: 2", 2, "second document"),
        ] {
            let error = Document::read(text).unwrap_err();
            assert_eq!(error.place.line, line, "{text:?}");
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(Document::read(&"[".repeat(100_000)).is_err());
        assert!(Document::read(&"a:\n ".repeat(10)).is_err());
        assert!(Document::read("").unwrap().root().is_none());
    }

    #[test]
    fn a_bomb_of_aliases_is_as_small_as_its_text() {
        let mut text = "a0: &a0 [x, x, x]\n".to_owned();
        for n in 1..60 {
            let list = vec![format!("*a{}", n - 1); 9].join(", ");
            text += &format!("a{n}: &a{n} [{list}]\n");
        }
        let (document, root) = root(&text);
        assert_eq!(document.list(document.get(root, "a59").unwrap()).unwrap().len(), 9);
        let (document, root) = self::root("a: &a\n  <<: *a\n  b: 1\n");
        let own = document.get(root, "a").unwrap();
        assert!(document.get(own, "c").is_none(), "merging itself comes to an end");
    }

    #[test]
    fn merged_keys_are_found_behind_own_ones() {
        let (document, root) = root("x: &x {s: 1, t: 2}\ny:\n  <<: *x\n  s: 3\n");
        let merged = document.get(root, "y").unwrap();
        let text = |name: &str| document.text(document.get(merged, name).unwrap());
        assert_eq!((text("s"), text("t")), (Some("3"), Some("2")));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[ab:\\-\\[\\]{}&*!|>'\"#\\n\\t ,]{0,40}") {
            let _ = Document::read(&text);
        }
    }
}
