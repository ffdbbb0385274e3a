//! Parses a command line with the bash grammar.
//!
//! Every simple command is found wherever it stands: behind `&&`, in a pipeline, a loop, a function
//! body, `$( )`, backticks or `<( )`. Here-document text is not taken for commands, commands
//! substituted in it are. What the grammar cannot read, or a second and stricter reader reads otherwise,
//! is reported as [`Script::opaque`], never guessed at.
//!
//! ```
//! let script = ona_shell::parse("git log > /tmp/log; rm -rf \"$DIR\"");
//! assert_eq!(script.commands[0].text(), "git log");
//! assert_eq!(script.redirects[0].target.literal.as_deref(), Some("/tmp/log"));
//! assert_eq!(script.commands[1].words[2].literal, None); // depends on a variable
//! ```

mod ansi;
mod builtins;
mod plain;
mod steps;
mod tree;

pub use ansi::decoded as ansi_text;
pub use plain::is_private_variable;

pub use steps::{Branch, Step};
pub use tree::tree;

use std::ops::Range;

use tree_sitter::Node;

/// What a command line contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command, in the order it stands in the text.
    pub commands: Vec<Command>,
    /// Every redirection from or to a file.
    pub redirects: Vec<Redirect>,
    /// The way through it: what runs where, and on what condition.
    pub steps: Vec<Step>,
    /// A here-document or here-string feeds a command.
    pub here: bool,
    /// What they feed it, as written.
    pub here_texts: Vec<String>,
    /// Variables are set in other ways than by assignments.
    pub sets_otherwise: bool,
    /// And in other ways than by `for` loops.
    pub sets_beyond_loops: bool,
    /// A here-document or here-string depends on variables, so what is read from it is not in the text.
    pub here_expands: bool,
    /// Set when it is not certain that this is all of it, with the reason.
    pub opaque: Option<String>,
}

/// A simple command: assignments, then words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// `NAME=value` in front of the command, or all there is.
    pub assignments: Vec<Assignment>,
    /// The command's name and its arguments, without redirections.
    pub words: Vec<Word>,
    /// Some of them may be options that only the run shows.
    pub hides_options: bool,
    /// It writes a file whose name only the run shows.
    pub hides_target: bool,
    /// The loops it stands in.
    pub loops: Vec<Loop>,
}

/// `for NAME in WORDS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The variable.
    pub name: String,
    /// What it is set to, one after the other.
    pub words: Vec<Word>,
}

impl Command {
    /// The name of the command, where the text fixes it.
    pub fn name(&self) -> Option<&str> {
        self.words.first()?.literal.as_deref()
    }

    /// The words as written, with one space between them.
    pub fn text(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| word.source.as_str()).collect();
        words.join(" ")
    }
}

/// `NAME=value` before a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// The value as written.
    pub value: String,
    /// It is made whatever else happens, and replaces what was there.
    pub sure: bool,
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it stands in the text.
    pub source: String,
    /// What it becomes after quote removal, where no expansion can change it.
    pub literal: Option<String>,
}

/// A redirection from or to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Which way.
    pub direction: Direction,
    /// The file.
    pub target: Word,
    /// The loops it stands in.
    pub loops: Vec<Loop>,
}

/// Which way a redirection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`
    Write,
    /// `<>`
    ReadWrite,
}

/// Takes a command line apart.
pub fn parse(source: &str) -> Script {
    let Some((source, tree)) = tree(source) else {
        return Script { opaque: Some("the shell parser gave up".into()), ..Script::default() };
    };
    let source = source.as_ref();
    let mut script = Script::default();
    if tree.root_node().has_error() {
        script.opaque = Some("the shell parser does not understand the command".into());
    }
    if source.contains("CDPATH") {
        script.opaque.get_or_insert("CDPATH changes where `cd` leads".into());
    }
    collect(tree.root_node(), source, &mut script);
    match plain::read(source) {
        Ok(reading) => {
            script.here_expands = reading.here_expands;
            script.here = reading.here;
            script.here_texts = reading.here_texts.iter().map(|&text| text.to_owned()).collect();
            script.sets_otherwise = reading.sets_otherwise || reading.loops;
            script.sets_beyond_loops = reading.sets_otherwise;
            if !reading.agrees(&script) {
                script.opaque.get_or_insert("bash may parse it differently than ona does".into());
            }
        }
        Err(why) => {
            script.opaque.get_or_insert(format!("it is too complex to judge safely: {why}"));
            script.sets_beyond_loops = true;
        }
    }
    script
}

/// What is still to be looked at.
enum Ahead<'t> {
    /// A node, with its parent, which the tree would have to search for.
    Node(Node<'t>, Option<Node<'t>>),
    /// A step that is taken once what stands before it has been looked at.
    Step(Step),
}

/// Depth first, so that commands come in the order of the text. With an explicit stack, because deep
/// nesting must not overflow the thread's stack.
fn collect(root: Node<'_>, source: &str, script: &mut Script) {
    let mut stack = vec![Ahead::Node(root, None)];
    let mut opened = steps::Opened::default();
    let mut places = Vec::new();
    let mut loops = Vec::new();
    while let Some(ahead) = stack.pop() {
        let (node, parent) = match ahead {
            Ahead::Node(node, parent) => (node, parent),
            Ahead::Step(step) => {
                script.steps.push(step);
                continue;
            }
        };
        // A command runs once its words are made and its redirections are open.
        let mut then = None;
        match node.kind() {
            "command" | "declaration_command" | "unset_command" | "test_command" => {
                then = Some(Step::Command(script.commands.len()));
                let loops = around(node, &loops);
                script.commands.push(Command { loops, ..command(node, parent, source) });
            }
            "file_redirect" => {
                if let Some(redirect) = redirect(node, source) {
                    script.steps.push(Step::Redirect(script.redirects.len()));
                    let loops = around(node, &loops);
                    script.redirects.push(Redirect { loops, ..redirect });
                    places.push(node.start_byte());
                }
            }
            "variable_assignment" if !is_command(parent) && !is_loop_head(parent) => {
                let top = parent.is_some_and(|parent| parent.kind() == "program");
                let mut assignment = assignment(node, source);
                // Behind it `&` would make it another process's.
                let aside = || node.next_sibling().is_some_and(|next| next.kind() == "&");
                assignment.sure = top && !text(node, source).contains("+=") && !aside();
                let assignments = vec![assignment];
                then = Some(Step::Command(script.commands.len()));
                script.commands.push(Command { assignments, ..Command::default() });
            }
            "for_statement" => loops.extend(loop_over(node, source)),
            _ => {}
        }
        let below = stack.len();
        stack.extend(steps::around(node, &mut opened));
        // Behind the children, and before what closes the node.
        if let Some(step) = then {
            stack.push(Ahead::Step(step));
        }
        stack[below..].reverse();
    }
    steps::in_order_of_text(script, &places);
}

/// Where the body of a loop stands, and what it is over.
fn loop_over(node: Node<'_>, source: &str) -> Option<(Range<usize>, Loop)> {
    let name = text(node.child_by_field_name("variable")?, source).to_owned();
    let body = node.child_by_field_name("body")?.byte_range();
    let mut cursor = node.walk();
    let mut words = Vec::new();
    for value in node.children_by_field_name("value", &mut cursor) {
        add_word(value, source, &mut words);
    }
    Some((body, Loop { name, words }))
}

/// The loops that a node stands in, the innermost last.
fn around(node: Node<'_>, loops: &[(Range<usize>, Loop)]) -> Vec<Loop> {
    let inside = loops.iter().filter(|(body, _)| body.contains(&node.start_byte()));
    inside.map(|(_, one)| one.clone()).collect()
}

fn is_command(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| matches!(node.kind(), "command" | "declaration_command"))
}

/// In `for ((i=0; …))` numbers are set; the second reader sees to it that they are.
fn is_loop_head(node: Option<Node<'_>>) -> bool {
    node.is_some_and(|node| node.kind() == "c_style_for_statement")
}

fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

fn command(node: Node<'_>, parent: Option<Node<'_>>, source: &str) -> Command {
    let mut command = Command::default();
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        match child.kind() {
            "variable_assignment" if node.kind() == "command" => {
                command.assignments.push(assignment(child, source));
            }
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {}
            _ => add_word(child, source, &mut command.words),
        }
    }
    // The grammar hangs words that stand behind a redirection on that redirection: in `a >f b`
    // both `f` and `b` are "destinations". All but the first are the command's own.
    if let Some(statement) = parent.filter(|parent| parent.kind() == "redirected_statement") {
        let mut cursor = statement.walk();
        for redirect in statement.children_by_field_name("redirect", &mut cursor) {
            strays(redirect, source, &mut command.words);
        }
    }
    command
}

/// Adds a word. The grammar cuts `$a/$b/$c` in two behind the second `$`; nothing stands between the parts.
fn add_word(node: Node<'_>, source: &str, words: &mut Vec<Word>) {
    let joins = source.get(..node.start_byte()).is_some_and(|before| before.ends_with('$'));
    match words.last_mut().filter(|last| joins && last.source.ends_with('$')) {
        Some(last) => {
            last.source.push_str(text(node, source));
            last.literal = None;
        }
        None => words.push(word(node, source)),
    }
}

fn strays(redirect: Node<'_>, source: &str, words: &mut Vec<Word>) {
    let mut cursor = redirect.walk();
    let (field, own) = match redirect.kind() {
        "file_redirect" => ("destination", 1),
        "heredoc_redirect" => ("argument", 0),
        _ => return,
    };
    let fields = redirect.children_by_field_name(field, &mut cursor);
    words.extend(fields.skip(own).map(|stray| word(stray, source)));
    let mut cursor = redirect.walk();
    for nested in redirect.children_by_field_name("redirect", &mut cursor) {
        strays(nested, source, words);
    }
}

fn assignment(node: Node<'_>, source: &str) -> Assignment {
    let field = |name| node.child_by_field_name(name).map(|child| text(child, source).to_owned());
    Assignment {
        name: field("name").unwrap_or_default(),
        value: field("value").unwrap_or_default(),
        sure: false,
    }
}

fn redirect(node: Node<'_>, source: &str) -> Option<Redirect> {
    let target = node.child_by_field_name("destination")?;
    let mut cursor = node.walk();
    let operator = node.children(&mut cursor).find(|child| !child.is_named())?.kind();
    // The grammar does not know `<>`.
    let before = source.get(node.start_byte()..target.start_byte()).unwrap_or_default();
    let direction = match operator {
        _ if before.contains("<>") => Direction::ReadWrite,
        "<" => Direction::Read,
        // `2>&1` copies a descriptor; `>&file` writes one.
        ">&" | "<&" | "<&-" | ">&-" if is_descriptor(text(target, source)) => {
            return None;
        }
        _ => Direction::Write,
    };
    Some(Redirect { direction, target: word(target, source), loops: Vec::new() })
}

/// `1`, `-` or `1-`: a descriptor to copy, to close or to move. Anything else is a file.
fn is_descriptor(target: &str) -> bool {
    let digits = target.strip_suffix('-').unwrap_or(target);
    !target.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn word(node: Node<'_>, source: &str) -> Word {
    let literal = literal(node, source).filter(|_| !may_be_expanded(&bare(node, source)));
    Word { source: text(node, source).to_owned(), literal }
}

/// The text of a node with a blank for whatever is quoted. A word with braces is several nodes.
fn bare(node: Node<'_>, source: &str) -> String {
    let raw = text(node, source);
    match node.kind() {
        "command_name" | "concatenation" => {
            let mut cursor = node.walk();
            node.children(&mut cursor).map(|child| bare(child, source)).collect()
        }
        "string" | "raw_string" | "ansi_c_string" => " ".to_owned(),
        _ => {
            let mut parts = raw.split('\\');
            let first = parts.next().unwrap_or_default().to_owned();
            let behind = |part: &str| part.chars().skip(1).collect::<String>();
            parts.fold(first, |all, part| all + " " + &behind(part))
        }
    }
}

/// What the node becomes after quote removal, or nothing if an expansion could change it.
fn literal(node: Node<'_>, source: &str) -> Option<String> {
    let raw = text(node, source);
    match node.kind() {
        "command_name" => literal(node.named_child(0)?, source),
        "number" => Some(raw.to_owned()),
        "word" => unquoted(raw),
        "ansi_c_string" => {
            let inner = raw.strip_prefix("$'")?.strip_suffix('\'')?;
            ansi::decoded(inner)
        }
        "raw_string" => Some(raw.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
        "string" => {
            let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
            let fixed = |child: Node<'_>| child.kind() == "string_content";
            let mut cursor = node.walk();
            node.named_children(&mut cursor).all(fixed).then(|| double_quoted(inner))?
        }
        "concatenation" => {
            let mut cursor = node.walk();
            // All children: a `!` is a part of the word and has no name in the grammar.
            node.children(&mut cursor).map(|child| literal(child, source)).collect()
        }
        // Keywords and brackets: `export`, `[`, `[[`; but empty backticks are no text, and a `$` may
        // belong to what follows.
        _ if !node.is_named() && !raw.contains(['`', '$']) => Some(raw.to_owned()),
        _ => None,
    }
}

/// Whether bash may put several words in the place of braces. It leaves those alone that hold neither a comma nor a range,
/// as in `HEAD^{tree}`.
fn may_be_expanded(raw: &str) -> bool {
    let mut parts = raw.split('{');
    let closes_before = parts.next().is_some_and(|head| head.contains('}'));
    let kept = |part: &str| {
        part.split_once('}').is_some_and(|(inner, behind)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-/ ".contains(c);
            !inner.is_empty() && inner.chars().all(plain) && !behind.contains('}')
        })
    };
    closes_before || !parts.all(kept)
}

/// Backslashes removed; nothing if a glob, a tilde or a variable is left unescaped.
fn unquoted(raw: &str) -> Option<String> {
    // Bash expands a tilde at the beginning, and behind the `=` of what looks like an assignment.
    if raw.starts_with('~') || raw.contains("=~") || raw.contains(":~") {
        return None;
    }
    let mut out = String::with_capacity(raw.len());
    let mut characters = raw.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(escaped) => out.push(escaped),
            },
            '*' | '?' | '[' | '$' | '`' => return None,
            other => out.push(other),
        }
    }
    Some(out)
}

/// The inside of double quotes: a backslash only quotes `$`, a backtick, `"`, `\` and newline.
fn double_quoted(inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek().copied()) {
            ('\\', Some('\n')) => {
                characters.next();
            }
            ('\\', Some(escaped @ ('$' | '`' | '"' | '\\'))) => {
                out.push(escaped);
                characters.next();
            }
            ('$', Some(next)) if next.is_alphanumeric() || "_{(*@#?!-$".contains(next) => {
                return None;
            }
            ('`', _) => return None,
            _ => out.push(character),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(source: &str) -> Vec<String> {
        let script = parse(source);
        assert_eq!(script.opaque, None, "{source}");
        script.commands.iter().map(Command::text).collect()
    }

    #[test]
    fn a_word_of_many_variables_is_one_word() {
        for (source, expected) in [
            ("echo $a/$b/$c", vec!["echo", "$a/$b/$c"]),
            ("echo $a-$b-$c.rs x", vec!["echo", "$a-$b-$c.rs", "x"]),
            ("cat ~/x/$c/$d/$e/f", vec!["cat", "~/x/$c/$d/$e/f"]),
            ("export x=$a/$b/$c/$d/$e", vec!["export", "x=$a/$b/$c/$d/$e"]),
            ("echo $ $a/$b", vec!["echo", "$", "$a/$b"]),
        ] {
            let script = parse(source);
            assert_eq!(script.opaque, None, "{source}");
            let words: Vec<&str> =
                script.commands[0].words.iter().map(|word| word.source.as_str()).collect();
            assert_eq!(words, expected, "{source}");
        }
    }

    #[test]
    fn every_command_is_found_where_it_stands() {
        for (source, expected) in [
            ("ls", &["ls"][..]),
            ("a && b || c; d | e |& f & g", &["a", "b", "c", "d", "e", "f", "g"]),
            ("a\nb", &["a", "b"]),
            ("echo $(rm x) `rm y`", &["echo $(rm x) `rm y`", "rm x", "rm y"]),
            ("diff <(sort a) b", &["diff <(sort a) b", "sort a"]),
            ("for f in x; do rm $f; done", &["rm $f"]),
            ("if test -f x; then a; else b; fi", &["test -f x", "a", "b"]),
            ("f() { rm z; }; f", &["rm z", "f"]),
            ("(cd x; make)", &["cd x", "make"]),
            ("cat <<EOF\nrm -rf /\n$(date)\nEOF", &["cat", "date"]),
            ("ls    -l\t -a", &["ls -l -a"]),
            ("! grep x y", &["grep x y"]),
            ("export A=1", &["export A=1"]),
            ("case $(id) in a|b) rm x;; *) ls; esac", &["id", "rm x", "ls"]),
            ("a=($(rm x) y)", &["", "rm x"]),
            ("for ((i=0;i<3;i++)); do rm x; done", &["rm x"]),
        ] {
            assert_eq!(texts(source), expected, "{source}");
        }
    }

    #[test]
    fn quoting_is_removed_and_expansions_are_not_guessed() {
        let script =
            parse(r#"cmd plain 'a b' "c d" e\ f "g"'h' $v "x$v" *.c ~/x {a,b} $'q' "p\$q""#);
        let words: Vec<Option<&str>> =
            script.commands[0].words.iter().map(|word| word.literal.as_deref()).collect();
        assert_eq!(
            words,
            [
                Some("cmd"),
                Some("plain"),
                Some("a b"),
                Some("c d"),
                Some("e f"),
                Some("gh"),
                None,
                None,
                None,
                None,
                None,
                Some("q"),
                Some("p$q"),
            ]
        );
    }

    #[test]
    fn the_texts_of_here_documents_are_kept() {
        for (source, texts) in [
            ("cat <<< 'a b'", &["'a b'"][..]),
            ("cat <<E\na $b\nE\nls", &["a $b\n"]),
            ("cat <<-'E' | sort\n\ta\n\tE", &["\ta\n"]),
            ("echo $(cat <<E\na\nE\n) `cat <<< b`", &["a\n", "b"]),
            ("ls", &[]),
        ] {
            assert_eq!(parse(source).here_texts, texts, "{source}");
        }
    }

    #[test]
    fn redirections_are_not_words() {
        assert_eq!(parse("cat a >&1-2").redirects.len(), 1, "a file of that name");
        assert!(parse("cat a 2>&1 3>&- 4<&5-").redirects.is_empty());
        let script = parse(">first cmd a 2>&1 >'out file' <in b");
        assert_eq!(script.commands[0].text(), "cmd a b");
        let targets: Vec<_> = script
            .redirects
            .iter()
            .map(|redirect| (redirect.direction, redirect.target.literal.as_deref()))
            .collect();
        assert_eq!(
            targets,
            [
                (Direction::Write, Some("first")),
                (Direction::Write, Some("out file")),
                (Direction::Read, Some("in")),
            ]
        );
    }

    #[test]
    fn words_behind_a_redirection_stay_the_commands() {
        assert_eq!(texts("rm >log -rf /x"), ["rm -rf /x"]);
        assert_eq!(texts("cat <<EOF -n\ntext\nEOF"), ["cat -n"]);
        assert_eq!(texts("cat <<EOF >out -n\ntext\nEOF"), ["cat -n"]);
        assert_eq!(texts("cat <<EOF && rm x\ntext\nEOF"), ["cat", "rm x"]);
    }

    #[test]
    fn assignments_stand_apart() {
        let script = parse("A=1 B=$C make all; D=2");
        assert_eq!(script.commands[0].assignments.len(), 2);
        assert_eq!(script.commands[0].name(), Some("make"));
        assert_eq!(script.commands[1].assignments[0].name, "D");
        assert_eq!(script.commands[1].name(), None);
    }

    #[test]
    fn what_cannot_be_parsed_is_said() {
        for source in ["echo 'open", "if then", "a | | b", "echo $(", "((("] {
            assert!(parse(source).opaque.is_some(), "{source}");
        }
    }

    /// What bash reads otherwise than the grammar, or evaluates where the grammar sees a text.
    #[test]
    fn what_two_readers_do_not_read_alike_is_opaque() {
        for source in [
            "ls a.txt\n\\touch pwned",
            "echo\n\\sh -c \"id\"",
            "ls\\\ntouch p",
            "LANG=C\rls touch p",
            "LANG=C\u{b}ls touch p",
            "LANG=C\u{c}ls touch p",
            "<<<x\rls touch p",
            "LC_X=()ls touch p",
            "cat <<E\n`touch p`\nE",
            "for x in '$(touch p)'; do cat <<< \"${x@P}\"; done",
            "for x in 'a[$(touch p)]'; do npm test $((x)); done",
            "x=$(printf 'a[\\x24(touch p)]'); echo $((x))",
            "[[ 'a[$(touch p)]' -eq 0 ]]",
            "test -v 'a[$(touch p)]'",
            "printf -v 'a[$(touch p)]' x",
            "read 'a[$(touch p)]'",
            "unset 'a[$(touch p)]'",
            "declare -i x='a[$(touch p)]'",
            "let 'a[$(touch p)]=1'",
            "a[$(touch p)]=1",
            "echo $[ a ]",
            "echo ${!x}",
            "echo ${a[$(touch p)]}",
            "echo $((a[$(touch p)]))",
            "coproc rm x",
            "case x in x) rm y;; esac; x=$(cat f); echo $((x))",
            "x='a[$(touch p)]'; (( x ))",
            "for x in *; do (( x )); done",
            "a=('a[$(touch p)]'); echo $((a))",
            "a=([$(touch p)]=1)",
            "a=(x)ls touch p",
            "(( a[$(touch p)] ))",
            "(( x = $(touch p) ))",
            "case x in x) rm y",
            "case x in @(a|b)) rm y;; esac",
            "ls ;; rm x",
            "echo ${\u{a0}x:-y}$((\u{a0}))",
            "for ((i=$(touch p);;)); do ls; done",
            "echo `echo \\`rm x\\``",
            "ls +(a|b)",
            "for PATH in .; do ls; done",
            "for i in ${CDPATH:=/}; do ls; done",
            "printf %n PATH; ls",
            "printf '%-5n' PATH",
            "npm test {PATH}</dev/null",
            "command unset 'a[$(rm x)]'",
            "\\let 'a[$(rm x)]=1'",
            "test -\"v\" 'a[$(rm x)]'",
            "mapfile -C 'rm x' -c 1 <<< y",
            "compgen -C 'rm x' y",
            "PS4='$(rm x)'; set -x; :",
            "hash -p /bin/rm foo; foo x",
            "shopt -s expand_aliases\nalias q=rm\nq x",
            "x=-vPATH; printf \"$x\" .; ls",
            "x=%n; printf -- \"$x\" PATH",
            "x='a[$(touch p)]'; test -v \"$x\"",
            "x='a[$(touch p)]'; time test -v \"$x\"",
            "for i in 'a[$(touch p)]'; do [ -v \"$i\" ]; done",
            "x=$(cat f); [ -v \"$x\" ]",
            "test 1 -eq 1 -a -v \"$x\"",
            "x=-v; test \"$x\" 'a[$(touch p)]'",
            "x='1 -a -v a[$(touch p)]'; [ -n $x ]",
            "declare -a x='($(rm y))'",
            "declare -a \"x=(\\$(rm y))\"",
            "typeset -A x=$y",
            "x=(1); y='($(rm y))'; declare x=$y",
            "export PS4='$(rm y)'; set -x; echo",
            "export PS4+='$(rm y)'",
            "read -r PS4 <<< x",
            "printf -v PS4 x",
            "mapfile -t PS4 < f",
            "declare -n r=PS4; r=x",
            "x=PS4; export \"$x\"=y",
            "export BASH_ENV=f; bash -c :",
            "env BASH_ENV=f bash -c :",
            "env 'BASH_FUNC_ls%%=() { rm y; }' bash -c ls",
            "read -r \"$x\" <<< 1",
            "printf -v \"$x\" 1",
            "declare \"$x=1\"",
            "a=(1); unset \"$x\"",
            "shopt -s dotglob; cat *",
            "GLOBIGNORE=x; cat *",
            ": 'a[$(touch p)]'; (( _ ))",
            ": 'a[$(touch p)]'; [[ _ -eq 0 ]]",
            ": 'a[$(touch p)]'; for ((;_;)); do ls; done",
            ": 'a[$(touch p)]'; [[ -v $_ ]]",
            "[[ 'a[$(touch p)]' =~ .* ]]; [[ -v $BASH_REMATCH ]]",
            "[[ $(<a.txt) -eq 1 ]]",
            "[[ -v $(<a.txt) ]]",
            "[[ $(ls) -eq 1 ]]",
            "RANDOM='a[$(rm f)]'",
            "read OPTIND < a.txt",
            "mapfile -t RANDOM < a.txt",
            "printf -v RANDOM %s x",
            "set -- 'a[$(rm f)]'; (( $1 ))",
            "f() { echo $(($1)); }; f 'a[$(rm f)]'",
            "set -- $(cat a.txt); (($*))",
            "echo $((BASH_REMATCH))",
        ] {
            assert!(parse(source).opaque.is_some(), "{source:?}");
        }
    }

    #[test]
    fn ordinary_command_lines_are_read() {
        for source in [
            "git status --short && git diff HEAD~1 -- 'src/a b.rs' | head -50",
            "cargo test --workspace 2>&1 | tail -5",
            "cd /w/app && npm run build -- --watch=false",
            "FOO=bar BAZ='q x' make -j$(nproc) all",
            "for f in src/*.rs; do wc -l \"$f\"; done",
            "if [ -f a.txt ]; then cat a.txt; else echo none; fi",
            "while read -r line; do echo \"$line\"; done < in.txt",
            "grep -rn 'fn main' --include='*.rs' . || true",
            "cat <<'EOF' > out.txt\nsome $text `here` \\\nEOF",
            "cat <<EOF\nhello $USER $(date)\nEOF\necho done",
            "python3 - <<'PY'\nimport os\nprint(os.getcwd())\nPY",
            "docker run --rm \\\n  -v \"$PWD:/w\" \\\n  image sh",
            "echo \"a $(git rev-parse HEAD) b\" # a comment",
            "# first\nls # second\n\n# third",
            "f() { echo hi; }; f",
            "! grep -q x y",
            "(cd sub; make) && { ls; pwd; }",
            "echo $((1 + 2)) ${#x} ${x:-none} ${x%.rs} \"${files[@]}\" $'tab\\t' $?",
            "diff <(sort a) <(sort b)",
            "curl -s 'https://x.example/?a=1&b=2' -o /dev/null -w '%{http_code}'",
            "export PATH=\"$HOME/bin:$PATH\"",
            "x=$(cmd); if [ -n \"$x\" ]; then printf '%s\\n' \"$x\"; fi",
            "[ \"$x\" = y ] || [ -z \"$y\" -a 1 -lt 2 ]",
            "for f in *.rs; do [ -f \"$f\" ] && wc -l \"$f\"; done",
            "local n=1 m; declare -r k=2; unset x y",
            "while IFS= read -r line; do echo \"$line\"; done < in.txt",
            "find . -name '*.py' -not -path './x/*' | xargs grep -l foo",
            "[[ -n \"$x\" && $y == *.rs ]] && echo ok",
            "[[ $n -gt 3 ]] && echo big",
            "sleep 1 & wait",
            "ls -la 2>/dev/null; echo \"exit: $?\" >&2",
            "time cargo build",
            "sed -n '1,20p' file.txt",
            "awk '{ print $1 }' f | sort | uniq -c",
            "git commit -m \"$(cat <<'EOF'\nA message (with parens)\nEOF\n)\"",
            "tar xzf a.tgz -C /tmp",
            "case \"$1\" in\n  start|run) make run ;;\n  (stop) make stop;;\n  *) echo what; exit 1\nesac",
            "case $x in a) ;; b) ls ;; c) pwd ;; esac > out",
            "files=(a.rs \"b c.rs\"\n d.rs)\nwc -l \"${files[@]}\"",
            "i=0; while [ $i -lt 5 ]; do i=$((i+1)); (( i > 3 )) && break; done",
            "for ((i = 0; i < 5; i++)); do echo $i; done",
            "for i in 1 2 {3..5}; do echo $((i * 2)); done",
            "echo a\\ b 'it'\\''s'",
        ] {
            assert_eq!(parse(source).opaque, None, "{source:?}");
        }
    }

    #[test]
    fn deep_nesting_does_not_overflow() {
        let deep = format!("{}x{}", "$(".repeat(5_000), ")".repeat(5_000));
        let _ = parse(&deep);
    }

    proptest! {
        #[test]
        fn never_panics(source in "[a-z '\"$(){}<>|&;\\\\\n`*]{0,60}") {
            let _ = parse(&source);
        }

        #[test]
        fn single_quotes_keep_everything(inner in "[^'\0]{0,30}") {
            let script = parse(&format!("cmd '{inner}'"));
            prop_assert_eq!(script.commands[0].words[1].literal.as_deref(), Some(inner.as_str()));
        }
    }
}
