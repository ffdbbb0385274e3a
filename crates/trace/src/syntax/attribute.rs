//! Which symbols a change touches (S4).

use super::tree::{Found, Syntax};
use crate::entry::{AstNode, AstStatus, ModifiedRange};
use crate::ranges::prefixed_hash;

/// The limit for the symbols of one range, as in the public writers.
const MAX_NODES: usize = 12;

/// Sets `ast_status` and `ast_nodes` of the ranges of one file, whose new content is `source`. A file that is
/// gone, or has no tree, gets `fallback`.
pub fn attribute(path: &str, source: Option<&[u8]>, ranges: &mut [ModifiedRange]) {
    let syntax = source.and_then(|source| Syntax::parse(path, source));
    let definitions = syntax.as_ref().map(Syntax::definitions);
    for range in ranges.iter_mut().filter(|range| range.file == path) {
        let (Some(syntax), Some(definitions), Some(lines)) =
            (&syntax, &definitions, range.new_range)
        else {
            range.ast_status = Some(AstStatus::Fallback);
            continue;
        };
        // Lines that were only taken out lay between the line before and the line after.
        let (first, last) = if lines.is_empty() {
            (lines.start_line.saturating_sub(1), lines.start_line)
        } else {
            (lines.start_line, lines.end_line)
        };
        let touches = |found: &&Found<'_>| {
            let (start, end) = span(found);
            if lines.is_empty() {
                start <= first && end >= last
            } else {
                start <= last && end >= first
            }
        };
        range.ast_status = Some(AstStatus::Ok);
        range.ast_nodes = definitions
            .iter()
            .filter(touches)
            .take(MAX_NODES)
            .map(|found| {
                let (start_line, end_line) = span(found);
                let bytes = syntax.source.get(found.node.byte_range()).unwrap_or_default();
                AstNode {
                    symbol: found.symbol.clone(),
                    kind: found.kind,
                    start_line,
                    end_line,
                    node_hash: prefixed_hash(bytes),
                }
            })
            .collect();
    }
}

/// First and last line, from 1. A node that ends at the start of a line does not reach into it.
fn span(found: &Found<'_>) -> (u64, u64) {
    let (start, end) = (found.node.start_position(), found.node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row } else { end.row + 1 };
    (start.row as u64 + 1, last as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::modified_ranges;

    fn symbols(path: &str, source: &str, line: u64) -> Vec<String> {
        let mut ranges = modified_ranges(path, None, Some(source.as_bytes()));
        ranges[0].new_range.as_mut().unwrap().start_line = line;
        ranges[0].new_range.as_mut().unwrap().end_line = line;
        attribute(path, Some(source.as_bytes()), &mut ranges);
        assert_eq!(ranges[0].ast_status, Some(AstStatus::Ok), "{path}");
        ranges[0]
            .ast_nodes
            .iter()
            .map(|node| format!("{} {}", node.kind.as_str(), node.symbol))
            .collect()
    }

    #[test]
    fn a_symbol_in_every_language() {
        for (path, source, line, expected) in [
            (
                "a.rs",
                "struct S;\nimpl S {\n  fn f(&self) {\n    1;\n  }\n}\n",
                4,
                vec!["definition S", "function f"],
            ),
            ("a.rs", "pub trait T {\n fn g();\n}\n", 2, vec!["interface T", "function g"]),
            (
                "a.py",
                "class A:\n    def m(self):\n        return 1\n",
                3,
                vec!["class A", "function m"],
            ),
            ("a.ts", "export interface I {\n  a: number\n}\n", 2, vec!["interface I"]),
            ("a.ts", "type T =\n  | 1\n", 2, vec!["type T"]),
            ("a.tsx", "const V = () => {\n  return <b/>\n}\n", 2, vec!["function V"]),
            ("a.js", "class A {\n  m() {\n    f()\n  }\n}\n", 3, vec!["class A", "function m"]),
            ("a.go", "package p\ntype S struct {\n  A int\n}\n", 3, vec!["class S"]),
            ("a.go", "package p\nfunc (s *S) M() {\n  x()\n}\n", 3, vec!["function M"]),
            (
                "a.java",
                "class A {\n  int m() {\n    return 1;\n  }\n}\n",
                3,
                vec!["class A", "function m"],
            ),
            ("a.c", "static int *f(int a) {\n  return 0;\n}\n", 2, vec!["function f"]),
            ("a.c", "enum E {\n  A\n};\n", 2, vec!["enum E"]),
            (
                "a.cpp",
                "namespace n {\nclass A {\n  int x;\n};\n}\n",
                3,
                vec!["definition n", "class A"],
            ),
            ("a.cpp", "int& A::g() {\n  return x;\n}\n", 2, vec!["function A::g"]),
            ("a.rb", "class A\n  def m\n    1\n  end\nend\n", 3, vec!["class A", "function m"]),
            #[cfg(feature = "c-sharp")]
            (
                "a.cs",
                "class A {\n  int M() {\n    return 1;\n  }\n}\n",
                3,
                vec!["class A", "function M"],
            ),
            (
                "a.php",
                "<?php\nclass A {\n  function m() {\n    return 1;\n  }\n}\n",
                4,
                vec!["class A", "function m"],
            ),
            ("a.sh", "f() {\n  echo 1\n}\n", 2, vec!["function f"]),
        ] {
            assert_eq!(symbols(path, source, line), expected, "{path}: {source}");
        }
    }

    #[test]
    fn twelve_at_most_and_hashes_of_the_source() {
        let source: String = (0..40).map(|n| format!("fn f{n}() {{}}\n")).collect();
        let mut ranges = modified_ranges("a.rs", None, Some(source.as_bytes()));
        attribute("a.rs", Some(source.as_bytes()), &mut ranges);
        assert_eq!(ranges[0].ast_nodes.len(), MAX_NODES);
        assert_eq!(ranges[0].ast_nodes[3].node_hash, prefixed_hash(b"fn f3() {}"));
        assert_eq!((ranges[0].ast_nodes[3].start_line, ranges[0].ast_nodes[3].end_line), (4, 4));
    }

    #[test]
    fn lines_taken_out_belong_to_what_is_around_them() {
        let (old, new) =
            ("fn f() {\n  a();\n  b();\n}\nfn g() {}\n", "fn f() {\n  a();\n}\nfn g() {}\n");
        let mut ranges = modified_ranges("a.rs", Some(old.as_bytes()), Some(new.as_bytes()));
        attribute("a.rs", Some(new.as_bytes()), &mut ranges);
        assert_eq!(ranges[0].ast_nodes.len(), 1);
        assert_eq!(ranges[0].ast_nodes[0].symbol, "f");
    }

    #[test]
    fn without_a_tree_it_says_so() {
        for (path, source) in [("a.txt", Some("x")), ("a.rs", None), ("a.rs", Some("\0"))] {
            let source = source.map(str::as_bytes);
            let mut ranges = modified_ranges(path, Some(b"old"), source);
            attribute(path, source, &mut ranges);
            assert_eq!(ranges[0].ast_status, Some(AstStatus::Fallback), "{path}");
            assert!(ranges[0].ast_nodes.is_empty());
        }
    }

    #[test]
    fn deep_nesting_and_nonsense_do_no_harm() {
        for source in ["(".repeat(50_000), "{".repeat(50_000), "fn f() { if ".repeat(3_000)] {
            for path in ["a.rs", "a.py", "a.ts", "a.c", "a.rb", "a.sh"] {
                let mut ranges = modified_ranges(path, None, Some(source.as_bytes()));
                attribute(path, Some(source.as_bytes()), &mut ranges);
                assert!(ranges[0].ast_status.is_some());
            }
        }
    }
}
