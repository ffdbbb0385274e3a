//! How a script is laid out: its header, its parts, and where it cannot be parsed.

use tree_sitter::Node;

use super::{Header, LintFault};

/// The parts of a script, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Setup,
    Exercise,
    Assert,
}

const PARTS: [(Part, &str); 3] =
    [(Part::Setup, "SETUP"), (Part::Exercise, "EXERCISE"), (Part::Assert, "ASSERT")];

const CRITERION: &str = "CRITERION";
const SURFACE: &str = "SURFACE";

/// Where each part begins, by the offset of its comment. A script may exercise and assert several times.
#[derive(Clone, Debug)]
pub(super) struct Parts(Vec<(usize, Part)>);

impl Parts {
    /// The part that a place belongs to. What stands before the first one is setup.
    pub(super) fn at(&self, offset: usize) -> Part {
        let before = self.0.iter().rev().find(|(start, _)| *start <= offset);
        before.map_or(Part::Setup, |(_, part)| *part)
    }
}

pub(super) fn line_of(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

/// The comments that stand by themselves at the top level.
fn comments<'t>(root: Node<'t>, script: &str) -> Vec<(Node<'t>, String)> {
    let mut cursor = root.walk();
    let nodes = root.children(&mut cursor).filter(|node| node.kind() == "comment");
    nodes
        .filter_map(|node| {
            let text = script.get(node.byte_range())?.trim_start_matches('#').trim();
            Some((node, text.to_owned()))
        })
        .collect()
}

/// Reads the header: the comment lines before the first part, or before the first command if there is none.
pub(super) fn header(root: Node<'_>, script: &str) -> (Option<Header>, Vec<LintFault>) {
    let mut cursor = root.walk();
    let command = root.children(&mut cursor).find(|node| node.kind() != "comment");
    let part = comments(root, script).into_iter().find(|(_, text)| opens(text).is_some());
    let end = part.map(|(node, _)| node).or(command).map_or(usize::MAX, |node| node.start_byte());
    let (mut criterion, mut surface) = (None, None);
    let mut faults = Vec::new();
    for (node, text) in comments(root, script) {
        let Some((name, value)) = text.split_once(':') else { continue };
        let (name, field) = match name.trim() {
            CRITERION => (CRITERION, &mut criterion),
            SURFACE => (SURFACE, &mut surface),
            _ => continue,
        };
        match field {
            Some(_) => faults.push(LintFault::SecondHeader { line: line_of(node), name }),
            None if node.start_byte() < end => *field = Some(value.trim().to_owned()),
            None => {}
        }
    }
    for (name, found) in [(CRITERION, &criterion), (SURFACE, &surface)] {
        if found.as_deref().is_none_or(str::is_empty) {
            faults.push(LintFault::NoHeader(name));
        }
    }
    let surface = surface.filter(|name| !name.is_empty()).and_then(|name| match name.parse() {
        Ok(surface) => Some(surface),
        Err(unknown) => {
            faults.push(LintFault::Surface(unknown));
            None
        }
    });
    let criterion = criterion.filter(|id| !id.is_empty());
    let header = criterion.zip(surface);
    (header.map(|(criterion, surface)| Header { criterion, surface }), faults)
}

/// The part that a comment opens: `# SETUP`, `# EXERCISE: what`, `# Assert:`.
fn opens(comment: &str) -> Option<Part> {
    let end = comment.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(comment.len());
    let (word, rest) = comment.split_at(end);
    let (part, _) = PARTS.iter().find(|(_, name)| name.eq_ignore_ascii_case(word))?;
    // In small letters it may be a word of a sentence.
    let is_title = word.chars().all(char::is_uppercase) || rest.is_empty() || rest.starts_with(':');
    is_title.then_some(*part)
}

fn name(part: Part) -> &'static str {
    PARTS[part as usize].1
}

/// Finds the parts: setup, then exercise and assertions, once or several times.
pub(super) fn parts(root: Node<'_>, script: &str) -> Result<Parts, Vec<LintFault>> {
    let found: Vec<(Node<'_>, Part)> = comments(root, script)
        .into_iter()
        .filter_map(|(node, text)| Some((node, opens(&text)?)))
        .collect();
    let missing = PARTS.iter().filter(|(part, _)| found.iter().all(|(_, one)| one != part));
    let mut faults: Vec<LintFault> = missing.map(|(_, name)| LintFault::NoPart(name)).collect();
    let mut before = None;
    for (node, part) in &found {
        let fits = match (before, part) {
            (None, part) => *part == Part::Setup,
            // Another round.
            (Some(Part::Assert), Part::Setup | Part::Exercise) => true,
            (Some(before), part) => before <= *part && (before as u8 + 1 >= *part as u8),
        };
        if !fits && faults.is_empty() {
            faults.push(LintFault::Order { line: line_of(*node), part: name(*part) });
        }
        before = Some(*part);
    }
    if faults.is_empty() && before != Some(Part::Assert) {
        faults.push(LintFault::NoPart(name(Part::Assert)));
    }
    match faults.is_empty() {
        true => Ok(Parts(found.iter().map(|(node, part)| (node.start_byte(), *part)).collect())),
        false => Err(faults),
    }
}

/// The first place that the grammar does not know.
pub(super) fn syntax_error(root: Node<'_>, script: &str) -> Option<LintFault> {
    if !root.has_error() {
        return None;
    }
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if node.is_error() || node.is_missing() {
            let text = script.get(node.byte_range()).unwrap_or_default();
            let text = text.lines().next().unwrap_or_default().to_owned();
            return Some(LintFault::Syntax { line: line_of(node), text });
        }
        let mut cursor = node.walk();
        let mut below: Vec<Node<'_>> = node
            .children(&mut cursor)
            .filter(|child| child.has_error() || child.is_missing())
            .collect();
        below.reverse();
        stack.extend(below);
    }
    Some(LintFault::Syntax { line: 1, text: String::new() })
}
