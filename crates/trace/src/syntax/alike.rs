//! Two versions that say the same in other words or another order.

use std::collections::HashMap;

use super::tokens::{Token, code_tokens};
use super::tree::Syntax;

/// Whether nothing changed but names that the file uses more than once, each to one other name throughout. A name
/// that stands there once may belong to somebody else, and another in its place may be another thing.
pub fn only_renamed(old: &Syntax<'_>, new: &Syntax<'_>) -> bool {
    let (old, new) = (code_tokens(old), code_tokens(new));
    if old.len() != new.len() {
        return false;
    }
    let mut there: HashMap<&[u8], (&[u8], usize)> = HashMap::new();
    let mut back: HashMap<&[u8], &[u8]> = HashMap::new();
    for (old, new) in old.iter().zip(&new) {
        if old.depth != new.depth || old.is_name != new.is_name {
            return false;
        }
        if !old.is_name {
            if old.text != new.text {
                return false;
            }
            continue;
        }
        let (to, count) = there.entry(old.text).or_insert((new.text, 0));
        *count += 1;
        if *to != new.text || *back.entry(new.text).or_insert(old.text) != old.text {
            return false;
        }
    }
    there.iter().all(|(from, (to, count))| from == to || *count > 1)
}

/// Whether nothing changed but the order of the outermost definitions.
pub fn only_moved(old: &Syntax<'_>, new: &Syntax<'_>) -> bool {
    parts(old) == parts(new)
}

/// The outermost definitions, sorted, and all that lies outside them.
fn parts<'s>(syntax: &Syntax<'s>) -> (Vec<Vec<&'s [u8]>>, Vec<&'s [u8]>) {
    let tokens = code_tokens(syntax);
    let text = |tokens: &[Token<'s>]| tokens.iter().map(|token| token.text).collect::<Vec<_>>();
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    let mut at = 0;
    for found in syntax.definitions().iter().filter(|found| found.around.is_empty()) {
        let from = tokens.partition_point(|token| token.start() < found.node.start_byte()).max(at);
        let to = tokens.partition_point(|token| token.start() < found.node.end_byte()).max(from);
        outside.extend(text(&tokens[at..from]));
        inside.push(text(&tokens[from..to]));
        at = to;
    }
    outside.extend(text(&tokens[at..]));
    inside.sort();
    (inside, outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(path: &str, old: &str, new: &str) -> (bool, bool) {
        let parse = |text| Syntax::parse(path, text).unwrap();
        let (old, new) = (parse(old.as_bytes()), parse(new.as_bytes()));
        (only_renamed(&old, &new), only_moved(&old, &new))
    }

    #[test]
    fn renamed() {
        for (path, old, new, expected) in [
            ("a.rs", "fn f(a: u8) { a }", "fn f(b: u8) { b }", true),
            ("a.py", "def _f(): pass\n_f()\n", "def _g(): pass\n_g()\n", true),
            ("a.ts", "const a = 1; f(a)", "const b = 1; f(b)", true),
            ("a.rs", "fn f(a: u8, b: u8) { a - b }", "fn f(a: u8, b: u8) { b - a }", false),
            ("a.rs", "fn f() { save() }", "fn f() { delete() }", false),
            ("a.rs", "fn f() { true; true }", "fn f() { false; false }", false),
            ("a.rs", "fn f() { 1; 1 }", "fn f() { 2; 2 }", false),
        ] {
            assert_eq!(both(path, old, new).0, expected, "{path}: {new}");
        }
    }

    #[test]
    fn moved() {
        for (path, old, new, expected) in [
            ("a.rs", "use x;\nfn f() { 1 }\nfn g() {}", "use x;\nfn g() {}\nfn f() { 1 }", true),
            ("a.py", "def f():\n  a()\n  b()\n", "def f():\n  b()\n  a()\n", false),
            ("a.py", "def f(): pass\nf()\n", "def f(): pass\n\n", false),
        ] {
            assert_eq!(both(path, old, new).1, expected, "{path}: {new}");
        }
    }
}
