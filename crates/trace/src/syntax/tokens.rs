//! The tokens of a file that are code.

use tree_sitter::Node;

use super::tree::{Step, Syntax};

/// A token: how deep it lies, and its text. The depth makes a change of nesting visible that leaves every token
/// as it is, as indentation does in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'s> {
    /// Nodes around it.
    pub depth: usize,
    /// As written.
    pub text: &'s [u8],
    /// Whether it is a name that somebody chose.
    pub is_name: bool,
    pub(super) at: usize,
}

impl Token<'_> {
    /// The byte it starts at, blanks before it counted as its own.
    pub fn start(&self) -> usize {
        self.at
    }
}

/// Every token that is neither a comment nor a documentation string, in order.
pub fn code_tokens<'s>(syntax: &Syntax<'s>) -> Vec<Token<'s>> {
    let mut tokens: Vec<Token<'s>> = Vec::new();
    // Where the last token ended: text between tokens that is not blank is a token without a node in the grammar.
    let mut end = 0;
    syntax.walk(|node, around, step| {
        if step == Step::Out {
            return false;
        }
        // The line that names what runs the file looks like a comment, and is none.
        let runs = node.start_byte() == 0 && syntax.source.starts_with(b"#!");
        let (comment, depth) = (!runs && is_comment(node, around.last()), around.len());
        let leaf = comment || node.child_count() == 0 || is_text(node);
        if leaf {
            push(syntax, &mut tokens, depth, end, node.start_byte());
            if !comment {
                let before = tokens.len();
                push(syntax, &mut tokens, depth, node.start_byte(), node.end_byte());
                for token in tokens.iter_mut().skip(before) {
                    token.is_name = is_name(node);
                }
            }
            end = end.max(node.end_byte());
        }
        !leaf
    });
    push(syntax, &mut tokens, 0, end, syntax.source.len());
    tokens
}

fn push<'s>(
    syntax: &Syntax<'s>,
    tokens: &mut Vec<Token<'s>>,
    depth: usize,
    from: usize,
    to: usize,
) {
    let text = syntax.source.get(from..to).unwrap_or_default().trim_ascii();
    if !text.is_empty() {
        tokens.push(Token { depth, text, is_name: false, at: from });
    }
}

/// Whether two versions of a file differ in nothing but comments, documentation strings and blanks.
pub fn same_code(old: &Syntax<'_>, new: &Syntax<'_>) -> bool {
    let same = |old: &Token<'_>, new: &Token<'_>| old.depth == new.depth && old.text == new.text;
    let (old, new) = (code_tokens(old), code_tokens(new));
    old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| same(old, new))
}

/// A name in the grammar's words; `constant` is Ruby's and `name` PHP's.
fn is_name(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.ends_with("identifier") || matches!(kind, "constant" | "name" | "variable_name")
}

/// Text in which blanks count, so that it is one token.
fn is_text(node: Node<'_>) -> bool {
    let kind = node.kind();
    ["string", "heredoc", "char", "text", "regex"].iter().any(|part| kind.contains(part))
}

fn is_comment(node: Node<'_>, parent: Option<&Node<'_>>) -> bool {
    node.kind().ends_with("comment") || parent.is_some_and(|parent| is_docstring(node, *parent))
}

/// In Python, a string that stands alone at the top of a file, class or function, after a few comments at most.
fn is_docstring(node: Node<'_>, parent: Node<'_>) -> bool {
    const COMMENTS_BEFORE: usize = 32;
    if node.kind() != "expression_statement"
        || node.named_child_count() != 1
        || !matches!(parent.kind(), "module" | "block")
        || node.named_child(0).is_none_or(|child| child.kind() != "string")
    {
        return false;
    }
    let mut cursor = parent.walk();
    parent
        .named_children(&mut cursor)
        .take(COMMENTS_BEFORE)
        .find(|child| !child.kind().ends_with("comment"))
        .is_some_and(|first| first.id() == node.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(path: &str, old: &str, new: &str) -> bool {
        same_code(
            &Syntax::parse(path, old.as_bytes()).unwrap(),
            &Syntax::parse(path, new.as_bytes()).unwrap(),
        )
    }

    #[test]
    fn comments_and_blanks_are_not_code() {
        for (path, old, new) in [
            ("a.rs", "fn f() { 1 }", "/// Doc.\nfn f() {\n    // why\n    1\n}\n"),
            (
                "a.py",
                "def f():\n    return 1\n",
                "def f():\n    \"\"\"Doc.\"\"\"\n    return 1  # why\n",
            ),
            ("a.ts", "f(1)", "/* a */ f(1) // b"),
            ("a.go", "package p\n", "// Package p.\npackage p\n"),
            ("a.java", "class A {}", "/** A. */ class A {}"),
            ("a.c", "int x;", "int x; /* y */"),
            ("a.rb", "f 1\n", "# x\nf 1\n"),
            #[cfg(feature = "c-sharp")]
            ("a.cs", "class A {}", "/// <summary/>\nclass A {}"),
            ("a.php", "<?php f();", "<?php # x\nf();"),
            ("a.sh", "echo 1\n", "# x\necho 1\n"),
        ] {
            assert!(same(path, old, new), "{path}: {new}");
        }
    }

    #[test]
    fn code_is_code() {
        for (path, old, new) in [
            ("a.rs", "fn f() { 1 }", "fn f() { 2 }"),
            ("a.rs", "const S: &str = \"a b\";", "const S: &str = \"a  b\";"),
            ("a.rs", "const S: &str = \"// x\";", "const S: &str = \"// y\";"),
            ("a.py", "if a:\n    b\nc\n", "if a:\n    b\n    c\n"),
            ("a.py", "x = \"\"\"a\"\"\"\n", "x = \"\"\"b\"\"\"\n"),
            ("a.ts", "f(`a ${b}`)", "f(`a  ${b}`)"),
            ("a.sh", "cat <<E\na\nE\n", "cat <<E\nb\nE\n"),
            ("a.php", "<p>a</p><?php f();", "<p>b</p><?php f();"),
            ("a.sh", "#!/bin/sh\n# x\nf\n", "#!/bin/bash\n# x\nf\n"),
            ("a.py", "#!/usr/bin/python2\nf()\n", "#!/usr/bin/python3\nf()\n"),
            ("a.js", "#!/usr/bin/node\nf()\n", "#!/usr/bin/deno\nf()\n"),
            ("a.rb", "f 1\n", "#!/usr/bin/ruby\nf 1\n"),
        ] {
            assert!(!same(path, old, new), "{path}: {new}");
        }
    }
}
