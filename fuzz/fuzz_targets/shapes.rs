//! Shows libFuzzer which shapes of syntax tree a text reaches. The grammar is tables and C, which are not
//! instrumented: without this, one half of the parser would look to it like the other.

use std::sync::Mutex;

use tree_sitter::Parser;

const SHAPES: usize = 1 << 15;

/// libFuzzer takes every byte of this section for a counter.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static COUNTERS: [std::sync::atomic::AtomicU8; SHAPES] =
    [const { std::sync::atomic::AtomicU8::new(0) }; SHAPES];

static PARSER: Mutex<Option<Parser>> = Mutex::new(None);

/// Counts every pair of a node and its parent.
pub fn show(text: &str) {
    let Ok(mut parser) = PARSER.lock() else { return };
    let parser = parser.get_or_insert_with(|| {
        let mut parser = Parser::new();
        let known = parser.set_language(&tree_sitter_bash::LANGUAGE.into());
        assert!(known.is_ok(), "the grammar fits the library");
        parser
    });
    let Some(tree) = parser.parse(text, None) else { return };
    let mut stack = vec![tree.root_node()];
    while let Some(node) = stack.pop() {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            let shape = usize::from(node.kind_id()) * 251 + usize::from(child.kind_id());
            let counter = &COUNTERS[shape % SHAPES];
            let seen = counter.load(std::sync::atomic::Ordering::Relaxed);
            counter.store(seen.saturating_add(1), std::sync::atomic::Ordering::Relaxed);
            stack.push(child);
        }
    }
}
