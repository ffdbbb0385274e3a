//! Code in colours: the scopes of a grammar become [`Role`]s, and the theme gives those their colours.
//!
//! The grammars are loaded on a thread of their own. Until they are there, and for a language that is not known, code
//! is plain.

mod scopes;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use crate::text;
use crate::theme::{Role, Theme};

/// Highlighting of a block ends behind so many lines.
const MAX_LINES: usize = 5_000;
/// Highlighting of a block ends behind so many bytes.
const MAX_BYTES: usize = 400_000;
/// A longer line is plain: some rules of a grammar look at it again from every place in it.
const MAX_LINE_BYTES: usize = 2_000;
/// The blocks that are kept have at most so many bytes of code.
const CACHE_BYTES: usize = 2_000_000;

/// Names that models and files use for a language, and the name that the grammars have for it.
const ALIASES: [(&str, &str); 24] = [
    ("cjs", "js"),
    ("csharp", "cs"),
    ("cuda", "cpp"),
    ("docker", "dockerfile"),
    ("elisp", "lisp"),
    ("emacs-lisp", "lisp"),
    ("fsharp", "fs"),
    ("golang", "go"),
    ("json5", "json"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("jsx", "js"),
    ("mdx", "md"),
    ("mjs", "js"),
    ("mysql", "sql"),
    ("ndjson", "json"),
    ("node", "js"),
    ("objc", "objective-c"),
    ("plist", "xml"),
    ("postgresql", "sql"),
    ("python3", "py"),
    ("scheme", "lisp"),
    ("shell", "sh"),
    ("starlark", "bzl"),
];

/// What drawing needs to know about looks.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The styles.
    pub theme: &'a Theme,
    /// The colours of code.
    pub highlighter: &'a Highlighter,
}

/// A line of code in pieces. No piece has a character that acts on a terminal.
pub type Pieces = Vec<(Role, String)>;

/// Gives code its roles. A clone shares the grammars.
#[derive(Clone, Default)]
pub struct Highlighter {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    grammars: OnceLock<SyntaxSet>,
    cache: Mutex<Cache>,
}

/// The blocks that were highlighted before: the whole screen is drawn again when its size changes.
#[derive(Default)]
struct Cache {
    blocks: HashMap<(String, String), Vec<Pieces>>,
    bytes: usize,
}

impl Highlighter {
    /// A highlighter that loads no grammars: all code is plain.
    pub fn new() -> Self {
        Self::default()
    }

    /// A highlighter that loads its grammars on a thread of its own.
    pub fn start() -> Self {
        let highlighter = Self::new();
        let shared = Arc::clone(&highlighter.shared);
        let load = move || {
            let _ = shared.grammars.set(two_face::syntax::extra_newlines());
        };
        // Without a thread, code stays plain.
        let _ = thread::Builder::new().name("grammars".to_owned()).spawn(load);
        highlighter
    }

    /// Whether the grammars are there. What was drawn before may be drawn again, in colours.
    pub fn is_ready(&self) -> bool {
        self.shared.grammars.get().is_some()
    }

    /// The lines of a block of code.
    pub fn highlight(&self, language: &str, code: &str) -> Vec<Pieces> {
        if let Some(lines) = self.cached(language, code) {
            return lines;
        }
        let mut state = self.begin(language);
        let lines: Vec<Pieces> = code.lines().map(|line| state.line(line)).collect();
        if self.is_ready() {
            self.keep(language, code, &lines);
        }
        lines
    }

    /// The beginning of a block of code that comes line by line.
    pub fn begin(&self, language: &str) -> HighlightState {
        let syntax = self.syntax(language);
        HighlightState {
            highlighter: self.clone(),
            grammar: syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new())),
            lines: 0,
            bytes: 0,
        }
    }

    /// The language of a file, by its name.
    pub fn language_of_path(&self, path: &str) -> Option<String> {
        let name = path.rsplit(['/', '\\']).next()?;
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let tokens = [Some(name), extension].into_iter().flatten();
        tokens.into_iter().find(|token| self.syntax(token).is_some()).map(str::to_owned)
    }

    fn syntax(&self, language: &str) -> Option<&SyntaxReference> {
        let language = language.to_ascii_lowercase();
        let alias = ALIASES.iter().find(|(alias, _)| *alias == language);
        let token = alias.map_or(language.as_str(), |(_, name)| name);
        let syntax = self.shared.grammars.get()?.find_syntax_by_token(token)?;
        (syntax.name != "Plain Text").then_some(syntax)
    }

    fn cached(&self, language: &str, code: &str) -> Option<Vec<Pieces>> {
        let cache = self.shared.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.blocks.get(&(language.to_owned(), code.to_owned())).cloned()
    }

    fn keep(&self, language: &str, code: &str, lines: &[Pieces]) {
        let mut cache = self.shared.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.bytes + code.len() > CACHE_BYTES {
            *cache = Cache::default();
        }
        cache.bytes += code.len();
        cache.blocks.insert((language.to_owned(), code.to_owned()), lines.to_vec());
    }

    /// A highlighter whose grammars are there.
    #[cfg(test)]
    pub(crate) fn loaded() -> Self {
        static LOADED: std::sync::LazyLock<Highlighter> = std::sync::LazyLock::new(|| {
            let highlighter = Highlighter::new();
            let _ = highlighter.shared.grammars.set(two_face::syntax::extra_newlines());
            highlighter
        });
        LOADED.clone()
    }
}

impl std::fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Highlighter").field("ready", &self.is_ready()).finish_non_exhaustive()
    }
}

/// A block of code, up to some line.
#[derive(Clone, Debug)]
pub struct HighlightState {
    highlighter: Highlighter,
    /// `None`: the rest of the block is plain.
    grammar: Option<(ParseState, ScopeStack)>,
    lines: usize,
    bytes: usize,
}

impl HighlightState {
    /// The next line.
    pub fn line(&mut self, line: &str) -> Pieces {
        self.lines += 1;
        self.bytes += line.len();
        if self.lines > MAX_LINES || self.bytes > MAX_BYTES {
            self.grammar = None;
        }
        // A long line does not change what the grammar knows: most are a literal or a table.
        if line.len() > MAX_LINE_BYTES {
            return cleaned(vec![(Role::Text, line.to_owned())]);
        }
        match self.pieces(line) {
            Some(pieces) => cleaned(pieces),
            None => {
                self.grammar = None;
                cleaned(vec![(Role::Text, line.to_owned())])
            }
        }
    }

    /// The pieces of a line, unless the grammar cannot tell.
    fn pieces(&mut self, line: &str) -> Option<Pieces> {
        let (state, stack) = self.grammar.as_mut()?;
        let grammars = self.highlighter.shared.grammars.get()?;
        let line = format!("{line}\n");
        let changes = state.parse_line(&line, grammars).ok()?;
        let mut pieces = Pieces::new();
        let mut from = 0;
        for (to, change) in &changes {
            push(&mut pieces, scopes::role(stack), line.get(from..*to)?);
            from = *to;
            stack.apply(change).ok()?;
        }
        push(&mut pieces, scopes::role(stack), line.get(from..)?.trim_end_matches('\n'));
        Some(pieces)
    }
}

/// Adds a piece. Blanks have no colour, so they stay with what stands before them.
fn push(pieces: &mut Pieces, role: Role, text: &str) {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return;
    }
    match pieces.last_mut() {
        Some((last, before)) if *last == role || text.trim().is_empty() => before.push_str(text),
        _ => pieces.push((role, text.to_owned())),
    }
}

/// The pieces as a terminal may show them, with the tabs of the whole line.
fn cleaned(pieces: Pieces) -> Pieces {
    let mut column = 0;
    let clean = |(role, text): (Role, String)| {
        let text = text::plain_from(&text, column).replace('\n', " ");
        column += text::width(&text);
        (role, text)
    };
    pieces.into_iter().map(clean).filter(|(_, text)| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use syntect::parsing::syntax_definition::{MatchPattern, Pattern};

    use super::*;

    fn role_of(lines: &[Pieces], text: &str) -> Role {
        let piece = lines.iter().flatten().find(|(_, piece)| piece.trim() == text);
        piece.unwrap_or_else(|| panic!("no piece {text:?} in {lines:?}")).0
    }

    fn text_of(pieces: &Pieces) -> String {
        pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn code_has_the_roles_of_its_language() {
        let highlighter = Highlighter::loaded();
        let lines =
            highlighter.highlight("rust", "fn main() {\n    // why\n    let x = \"a\\n\";\n}");
        for (text, role) in [
            ("fn", Role::Keyword),
            ("main", Role::Function),
            ("// why", Role::Comment),
            ("\"a", Role::String),
            ("\\n", Role::Escape),
        ] {
            assert_eq!(role_of(&lines, text), role, "{text}");
        }
        let json = highlighter.highlight("json", "{\"key\": [1, true, \"text\"]}");
        assert_eq!(role_of(&json, "\"key\""), Role::Attribute);
        assert_eq!(role_of(&json, "\"text\""), Role::String);
        assert_eq!(role_of(&json, "1"), Role::Number);
        assert_eq!(role_of(&json, "true"), Role::Constant);
    }

    #[test]
    fn every_alias_names_a_grammar() {
        let highlighter = Highlighter::loaded();
        for (alias, _) in ALIASES {
            assert!(highlighter.syntax(alias).is_some(), "{alias}");
        }
        assert!(highlighter.syntax("no such language").is_none());
        assert!(highlighter.syntax("").is_none());
    }

    #[test]
    fn a_path_tells_the_language() {
        let highlighter = Highlighter::loaded();
        for (path, token) in [
            ("src/main.rs", Some("rs")),
            ("a/Makefile", Some("Makefile")),
            ("Dockerfile", Some("Dockerfile")),
            ("web\\app.TSX", Some("TSX")),
            ("data.jsonl", Some("jsonl")),
            ("LICENSE", None),
            ("", None),
        ] {
            assert_eq!(highlighter.language_of_path(path).as_deref(), token, "{path}");
        }
        assert_eq!(Highlighter::new().language_of_path("a.rs"), None);
    }

    #[test]
    fn code_is_plain_before_the_grammars_are_there() {
        let lines = Highlighter::new().highlight("rust", "fn main() {}\n\n\tx\u{1b}[2J");
        let plain = |text: &str| vec![(Role::Text, text.to_owned())];
        assert_eq!(lines, [plain("fn main() {}"), vec![], plain("    x\u{fffd}[2J")]);
    }

    #[test]
    fn the_grammars_come_by_themselves() {
        let highlighter = Highlighter::start();
        let waited = std::time::Instant::now();
        while !highlighter.is_ready() && waited.elapsed().as_secs() < 30 {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        let lines = highlighter.highlight("rust", "fn main() {}");
        assert_eq!(role_of(&lines, "fn"), Role::Keyword);
        assert_eq!(highlighter.highlight("rust", "fn main() {}"), lines);
    }

    #[test]
    fn the_work_is_bounded() {
        let highlighter = Highlighter::loaded();
        let long = format!("let x = \"{}\";", "x".repeat(MAX_LINE_BYTES));
        let lines = highlighter.highlight("rust", &format!("fn a() {{\n{long}\nfn b() {{"));
        assert_eq!(lines[1].len(), 1);
        assert_eq!(role_of(&lines[2..], "b"), Role::Function);
        let many = "true\n".repeat(MAX_LINES + 1);
        let lines = highlighter.highlight("json", &many);
        assert_eq!(lines[MAX_LINES - 1][0].0, Role::Constant);
        assert_eq!(lines[MAX_LINES][0].0, Role::Text);
    }

    /// syntect compiles an expression when it first needs it, and panics if that fails.
    #[test]
    fn every_expression_of_every_grammar_compiles() {
        let grammars = two_face::syntax::extra_newlines().into_builder();
        let patterns: Vec<&MatchPattern> = grammars
            .syntaxes()
            .iter()
            .flat_map(|syntax| syntax.contexts.values())
            .flat_map(|context| &context.patterns)
            .filter_map(|pattern| match pattern {
                // Those with references to groups are filled in first.
                Pattern::Match(pattern) if !pattern.has_captures => Some(pattern),
                _ => None,
            })
            .collect();
        let check = |patterns: &[&MatchPattern]| {
            for regex in patterns.iter().map(|pattern| pattern.regex.regex_str()) {
                let error = syntect::parsing::Regex::try_compile(regex);
                assert!(error.is_none(), "{regex}: {error:?}");
            }
        };
        thread::scope(|scope| {
            for patterns in patterns.chunks(patterns.len() / 8 + 1) {
                scope.spawn(move || check(patterns));
            }
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_code_stays_what_it_is(code in "[ -~\t\n\u{1b}日é\"'{}/*]{0,200}", language in "(rust|python|js|html|md|sh|yaml|c|no)") {
            let highlighter = Highlighter::loaded();
            let lines = highlighter.highlight(&language, &code);
            let mut state = highlighter.begin(&language);
            for (line, pieces) in code.lines().zip(&lines) {
                prop_assert_eq!(&state.line(line), pieces);
                prop_assert_eq!(text_of(pieces), text::plain(line));
            }
            prop_assert_eq!(lines.len(), code.lines().count());
        }
    }
}
