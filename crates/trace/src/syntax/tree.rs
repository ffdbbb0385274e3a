//! Parsing within bounds, and walking a tree without recursion.

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::languages::{self, Language};
use crate::entry::NodeKind;
use crate::ranges::is_binary;

/// Larger files have no tree.
const MAX_SOURCE: usize = 2 << 20;

/// Parsing may take this long. 220 KB take 33 ms (optimised).
const DEADLINE: Duration = Duration::from_millis(500);

/// Definitions within definitions.
const MAX_DEPTH: usize = 64;

/// A parsed file.
pub struct Syntax<'s> {
    pub(super) source: &'s [u8],
    pub(super) language: &'static Language,
    pub(super) tree: Tree,
}

/// Something with a name.
#[derive(Clone, Debug)]
pub(super) struct Found<'t> {
    pub(super) symbol: String,
    pub(super) kind: NodeKind,
    pub(super) node: Node<'t>,
    /// Names of the definitions around it, from outside in, and the kind of the innermost.
    pub(super) around: Vec<String>,
    pub(super) outer: Option<NodeKind>,
    /// Whether one of them is a function.
    pub(super) in_function: bool,
    /// Whether it or one of them is exported, where a language has such a word.
    pub(super) exported: bool,
}

/// On the way in or out of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    In,
    Out,
}

impl<'s> Syntax<'s> {
    /// The tree of a file, if its language is known and it can be had within the bounds.
    pub fn parse(path: &str, source: &'s [u8]) -> Option<Self> {
        if source.len() > MAX_SOURCE || is_binary(source) {
            return None;
        }
        let language = languages::of(path, source)?;
        let mut parser = Parser::new();
        parser.set_language(&(language.grammar)()).ok()?;
        let started = Instant::now();
        let mut watch = |_: &tree_sitter::ParseState| {
            if started.elapsed() > DEADLINE {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let tree = parser.parse_with_options(
            &mut |at, _| source.get(at..).unwrap_or_default(),
            None,
            Some(ParseOptions::new().progress_callback(&mut watch)),
        )?;
        (!tree.root_node().is_error()).then_some(Self { source, language, tree })
    }

    /// The language's name, in small letters.
    pub fn language(&self) -> &'static str {
        self.language.name
    }

    pub(super) fn text(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(self.source.get(range).unwrap_or_default()).into_owned()
    }

    /// Goes through the tree in the order of the text. `visit` gets a node and those around it, the outermost
    /// first, and says whether to go into it. (A node can find its parent only by searching from the root.)
    pub(super) fn walk<'t>(&'t self, mut visit: impl FnMut(Node<'t>, &[Node<'t>], Step) -> bool) {
        let mut cursor = self.tree.walk();
        let mut around = Vec::new();
        loop {
            let node = cursor.node();
            if visit(node, &around, Step::In) && cursor.goto_first_child() {
                around.push(node);
                continue;
            }
            loop {
                visit(cursor.node(), &around, Step::Out);
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return;
                }
                around.pop();
            }
        }
    }

    /// Every definition, in the order of the text. Those that lie in more than [`MAX_DEPTH`] others are left out.
    pub(super) fn definitions(&self) -> Vec<Found<'_>> {
        let mut found: Vec<Found<'_>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        self.walk(|node, around, step| {
            if !node.is_named() {
                return false;
            }
            if step == Step::Out {
                open.pop_if(|inner| found[*inner].node.id() == node.id());
                return false;
            }
            if open.len() < MAX_DEPTH
                && let Some((symbol, kind)) = self.definition(node)
            {
                let mut new = Found {
                    symbol,
                    kind,
                    node,
                    around: Vec::new(),
                    outer: None,
                    in_function: false,
                    exported: is_exported(around),
                };
                if let Some(outer) = open.last().and_then(|outer| found.get(*outer)) {
                    new.around.clone_from(&outer.around);
                    new.around.push(outer.symbol.clone());
                    new.outer = Some(outer.kind);
                    new.in_function = outer.in_function || outer.kind == NodeKind::Function;
                    new.exported |= outer.exported;
                }
                open.push(found.len());
                found.push(new);
            }
            true
        });
        found
    }

    fn definition(&self, node: Node<'_>) -> Option<(String, NodeKind)> {
        let (_, kind) =
            self.language.definitions.iter().find(|(name, _)| *name == node.kind()).copied()?;
        let field = |name: &str| node.child_by_field_name(name);
        let kind = match (node.kind(), field("type").map(|node| node.kind())) {
            ("type_spec", Some("struct_type")) => NodeKind::Class,
            ("type_spec", Some("interface_type")) => NodeKind::Interface,
            _ => kind,
        };
        let name = match node.kind() {
            // `x = () => …` defines a function, `x = 1` does not.
            "variable_declarator" => {
                let value = field("value")?.kind();
                let function = matches!(
                    value,
                    "arrow_function" | "function_expression" | "generator_function"
                );
                field("name").filter(|_| function)
            }
            // A mention of a type is not a definition.
            "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => {
                field("name").filter(|_| field("body").is_some())
            }
            "impl_item" => field("type"),
            "singleton_class" => field("value"),
            _ => field("name").or_else(|| declared(node)),
        }?;
        let symbol = self.text(name.byte_range());
        let symbol = symbol.split_whitespace().collect::<Vec<_>>().join(" ");
        (!symbol.is_empty()).then_some((symbol, kind))
    }
}

/// The name within the declarators of C: pointers, arrays and parameter lists stand around it.
fn declared(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node.child_by_field_name("declarator")?;
    // References and parentheses do not name the field.
    while let Some(inner) = at.child_by_field_name("declarator").or_else(|| {
        (at.kind().ends_with("_declarator"))
            .then(|| at.named_child(at.named_child_count().checked_sub(1)? as u32))?
    }) {
        at = inner;
    }
    Some(at)
}

/// `export …`, also `export const f = …`.
fn is_exported(around: &[Node<'_>]) -> bool {
    let mut kinds = around.iter().rev().map(|node| node.kind());
    match kinds.next() {
        Some("export_statement") => true,
        Some("lexical_declaration" | "variable_declaration") => {
            kinds.next() == Some("export_statement")
        }
        _ => false,
    }
}
