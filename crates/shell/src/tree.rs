//! The syntax tree of a script.
//!
//! Behind a pipeline of three commands the grammar may take the next line for arguments of the last one: `a | b | c 2`,
//! then `d || e` on a line of its own. For bash a line that does not go on ends a command. So where arguments of one command
//! stand on two lines, a semicolon is put between them, and the script is read again.

use std::borrow::Cow;

use tree_sitter::{Node, Parser, Tree};

/// How many ends of lines are mended.
const MAX_MENDED: usize = 100;

/// A script as it was read, and its tree. `None` if the grammar gives up.
///
/// The text can differ from the source by semicolons at ends of lines: nodes belong to it, and lines keep their numbers.
pub fn tree(source: &str) -> Option<(Cow<'_, str>, Tree)> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut text = Cow::Borrowed(source);
    let mut tree = parser.parse(source, None)?;
    for _ in 0..MAX_MENDED {
        let Some(end) = swallowed(tree.root_node(), &text) else { break };
        text.to_mut().insert(end, ';');
        tree = parser.parse(text.as_ref(), None)?;
    }
    Some((text, tree))
}

/// Where a command ends that was read on over the end of its line.
fn swallowed(root: Node<'_>, text: &str) -> Option<usize> {
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> = node.children(&mut cursor).collect();
        if matches!(node.kind(), "command" | "file_redirect") {
            let words: Vec<&Node<'_>> =
                parts.iter().filter(|part| part.kind() != "comment").collect();
            let broken = words.windows(2).find(|pair| {
                let between = text.get(pair[0].end_byte()..pair[1].start_byte());
                let between = between.unwrap_or_default().replace("\\\n", "");
                between.contains('\n') && !pair[0].kind().starts_with("heredoc")
            });
            if let Some(pair) = broken {
                return Some(pair[0].end_byte());
            }
        }
        pending.extend(parts.into_iter().rev());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> String {
        tree(source).unwrap().0.into_owned()
    }

    #[test]
    fn the_end_of_a_line_ends_a_command() {
        for (source, text) in [
            ("a | b | c 2\nd -q e || f", "a | b | c 2;\nd -q e || f"),
            ("a | b | c 2 # x\n# y\nd | e || f", "a | b | c 2; # x\n# y\nd | e || f"),
            ("a | b | c | d > o\n# x\ne f || g", "a | b | c | d > o;\n# x\ne f || g"),
            ("a | b | c 2\nd | e | f 3\ng h || i", "a | b | c 2;\nd | e | f 3;\ng h || i"),
        ] {
            assert_eq!(read(source), text);
        }
    }

    #[test]
    fn other_scripts_stay_as_they_are() {
        for source in [
            "a | b\nc || d",
            "a | b | c \\\n  2 || d",
            "a 'x\ny' || b",
            "a <<E | b | c\nx\nE\nd || e",
            "a \"$(b\nc)\" || d",
            "for x in a \\\n b; do c; done",
            "X=(a\nb) c",
            "",
        ] {
            assert_eq!(read(source), source);
        }
    }

    #[test]
    fn commands_behind_a_long_pipeline_are_found() {
        let script = crate::parse("ls | cat | head -n 2\nrm -rf x || true");
        assert_eq!(script.opaque, None);
        let names: Vec<_> =
            script.commands.iter().map(|one| one.name().unwrap_or_default()).collect();
        assert_eq!(names, ["ls", "cat", "head", "rm", "true"]);
    }
}
