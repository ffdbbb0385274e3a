//! What other code can call: the public definitions without their bodies.

use tree_sitter::Node;

use super::languages::Visibility;
use super::tokens::{Token, code_tokens};
use super::tree::{Found, Syntax};
use crate::entry::NodeKind;

/// A public definition as others see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// With the names of what it lies in, `Outer::name`.
    pub name: String,
    /// Its tokens up to the body, one blank between them. Of a type that is data, or of an interface, also the
    /// body: its fields and members are what others use.
    pub text: String,
}

/// The public signatures of a file, sorted, so that moving a definition within it changes nothing.
pub fn public_signatures(syntax: &Syntax<'_>) -> Vec<Signature> {
    let tokens = code_tokens(syntax);
    let definitions = syntax.definitions();
    // A script that exports nothing is used whole.
    let all = syntax.language.visibility == Visibility::Exported
        && !definitions.iter().any(|found| found.exported);
    let mut signatures: Vec<Signature> = definitions
        .iter()
        .filter(|found| !found.in_function && (all || is_public(syntax, found)))
        .map(|found| {
            let mut name = found.around.clone();
            name.push(found.symbol.clone());
            Signature { name: name.join("::"), text: head(found, &tokens) }
        })
        .collect();
    signatures.sort();
    signatures
}

/// The tokens of a definition that others depend on.
fn head(found: &Found<'_>, tokens: &[Token<'_>]) -> String {
    let whole = matches!(found.kind, NodeKind::Enum | NodeKind::Type | NodeKind::Interface)
        || matches!(found.node.kind(), "struct_item" | "struct_specifier" | "type_spec")
        || matches!(found.node.kind(), "const_item" | "static_item");
    let body = found.node.child_by_field_name("body").or_else(|| value_body(found.node));
    let end = match body {
        Some(body) if !whole => body.start_byte(),
        _ => found.node.end_byte(),
    };
    let start = found.node.start_byte();
    let from = tokens.partition_point(|token| token.at < start);
    let to = tokens.partition_point(|token| token.at < end);
    let words: Vec<_> = tokens
        .get(from..to)
        .unwrap_or_default()
        .iter()
        .map(|token| String::from_utf8_lossy(token.text))
        .collect();
    words.join(" ")
}

/// The body of `name = (…) => body`.
fn value_body(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("value")?.child_by_field_name("body")
}

fn is_public(syntax: &Syntax<'_>, found: &Found<'_>) -> bool {
    let says = |word: &str| before_name(syntax, found.node).split_whitespace().any(|w| w == word);
    let private = |name: &str| name.starts_with('_') && !name.ends_with("__");
    match syntax.language.visibility {
        // An `impl` is not a signature; its items have their own `pub`.
        Visibility::RustPub => found.node.kind() != "impl_item" && says("pub"),
        Visibility::NoUnderscore => {
            !private(&found.symbol) && !found.around.iter().any(|name| private(name))
        }
        Visibility::Exported => {
            !says("private")
                && !says("protected")
                && !found.symbol.starts_with('#')
                && found.exported
        }
        Visibility::Capital => found.symbol.starts_with(char::is_uppercase),
        Visibility::SaysPublic => {
            says("public") || says("protected") || found.outer == Some(NodeKind::Interface)
        }
        Visibility::NotPrivate => !says("private"),
        Visibility::NotStatic => !says("static"),
        Visibility::All => true,
    }
}

/// What stands before the name: modifiers and types, with comments, strings and annotations among them.
fn before_name(syntax: &Syntax<'_>, node: Node<'_>) -> String {
    let name = node.child_by_field_name("name").or_else(|| node.child_by_field_name("declarator"));
    let end = name.map_or(node.end_byte(), |name| name.start_byte());
    syntax.text(node.start_byte()..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signatures(path: &str, source: &str) -> Vec<Signature> {
        public_signatures(&Syntax::parse(path, source.as_bytes()).unwrap())
    }

    #[test]
    fn what_is_public() {
        for (path, source, expected) in [
            (
                "a.rs",
                "pub fn f(a: u8) -> u8 { a }\nfn g() {}\nimpl S { pub fn h(&self) {} fn i() {} }",
                vec!["S::h", "f"],
            ),
            (
                "a.rs",
                "pub(crate) fn f() {}\npub struct P { pub x: u8 }\npub mod m { pub fn n() {} }",
                vec!["P", "m", "m::n"],
            ),
            (
                "a.py",
                "def f(): pass\ndef _g(): pass\nclass A:\n  def m(self): pass\n  def __init__(self): pass\n",
                vec!["A", "A::__init__", "A::m", "f"],
            ),
            (
                "a.ts",
                "export function f() {}\nfunction g() {}\nexport class A { m() {} private n() {} }\nexport const h = () => 1",
                vec!["A", "A::m", "f", "h"],
            ),
            ("a.js", "function f() { function inner() {} }", vec!["f"]),
            ("a.go", "package p\nfunc F() {}\nfunc g() {}\n", vec!["F"]),
            (
                "a.java",
                "public class A { public int m() { return 1; } int n() { return 1; } }",
                vec!["A", "A::m"],
            ),
            ("a.c", "int f(void) { return 0; }\nstatic int g(void) { return 0; }", vec!["f"]),
            (
                "a.php",
                "<?php class A { public function m() {} private function n() {} }",
                vec!["A", "A::m"],
            ),
        ] {
            let names: Vec<_> = signatures(path, source).into_iter().map(|s| s.name).collect();
            assert_eq!(names, expected, "{path}: {source}");
        }
    }

    #[test]
    fn bodies_comments_and_order_do_not_count() {
        for (path, old, new) in [
            (
                "a.rs",
                "pub fn f(a: u8) { one() }\npub fn g() {}",
                "pub fn g() {}\n// x\npub fn f(a: u8)\n{ two(); three() }",
            ),
            ("a.py", "def f(a):\n  return 1\n", "def f(a):\n  x = 2\n  return x - 1\n"),
            (
                "a.ts",
                "export const f = (a: number) => a",
                "export const f = (a: number) => { return a }",
            ),
            (
                "a.java",
                "public class A { public int m() { return 1; } }",
                "public class A { private int x; public int m() { return x; } }",
            ),
        ] {
            assert_eq!(signatures(path, old), signatures(path, new), "{path}");
        }
    }

    #[test]
    fn parameters_types_and_fields_count() {
        for (path, old, new) in [
            ("a.rs", "pub fn f(a: u8) {}", "pub fn f(a: u16) {}"),
            ("a.rs", "pub struct S { pub a: u8 }", "pub struct S { pub a: u16 }"),
            ("a.rs", "pub trait T { fn a(); }", "pub trait T { fn a(); fn b(); }"),
            ("a.py", "def f(a): pass\n", "def f(a, b): pass\n"),
            (
                "a.ts",
                "export function f(): number { return 1 }",
                "export function f(): string { return '1' }",
            ),
            (
                "a.go",
                "package p\ntype S struct { A int }\n",
                "package p\ntype S struct { B int }\n",
            ),
            ("a.c", "int f(int a) { return a; }", "int f(long a) { return a; }"),
        ] {
            assert_ne!(signatures(path, old), signatures(path, new), "{path}");
        }
    }
}
