//! Follows a script from its first line to its last: what each value depends on, which commands run the product, and which
//! conditions end the script with a failure.

mod commands;
mod values;

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::LintFault;
use super::code;
use super::facts::Facts;
use super::layout::{Part, Parts, line_of};
use super::rules;
use super::tables;
use crate::surface::Surface;

/// How deep functions may call each other.
const MAX_CALLS: usize = 8;

/// The limit for conditions without a fact that are told.
const MAX_CONSTANTS: usize = 3;

/// What a statement leaves behind.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// What its exit status depends on.
    status: Facts,
    /// What it prints depends on.
    output: Facts,
}

impl Seen {
    fn status(status: Facts) -> Self {
        Self { status, output: Facts::NONE }
    }
}

/// The walk through one script.
pub(super) struct Walk<'t> {
    script: &'t str,
    parts: &'t Parts,
    part: Part,
    /// What variables hold.
    variables: HashMap<String, Facts>,
    /// What they were set to, as written.
    values: HashMap<String, String>,
    /// What files hold that the script has written.
    files: HashMap<String, Facts>,
    /// Variables that lead into the product.
    product: HashSet<String>,
    /// Copies of the product.
    copies: Vec<String>,
    functions: HashMap<String, Node<'t>>,
    /// Variables that the script ends with.
    results: HashSet<String>,
    calls: usize,
    in_product: bool,
    errexit: bool,
    in_condition: bool,
    /// In so many subshells, whose `exit` does not end the script.
    subshells: usize,
    /// What the failure of the innermost subshell depends on.
    inner: Facts,
    stdin: Facts,
    /// What it depends on whether this is reached.
    under: Facts,
    /// What it depends on that the function returns a failure.
    returned: Facts,
    /// Files that the script has written.
    written: HashSet<String>,
    /// What a here-document says.
    here: String,
    /// What `$?` depends on.
    last: Facts,
    exercised: bool,
    asserted: Option<Facts>,
    constants: Vec<usize>,
    faults: Vec<LintFault>,
}

impl<'t> Walk<'t> {
    pub(super) fn new(script: &'t str, parts: &'t Parts) -> Self {
        Self {
            script,
            parts,
            part: Part::Setup,
            variables: HashMap::new(),
            values: HashMap::new(),
            files: HashMap::new(),
            product: HashSet::from(["PROJECT".to_owned()]),
            copies: Vec::new(),
            functions: HashMap::new(),
            results: HashSet::new(),
            calls: 0,
            in_product: false,
            errexit: false,
            in_condition: false,
            subshells: 0,
            inner: Facts::NONE,
            stdin: Facts::NONE,
            under: Facts::NONE,
            returned: Facts::NONE,
            written: HashSet::new(),
            here: String::new(),
            last: Facts::NONE,
            exercised: false,
            asserted: None,
            constants: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Everything that is wrong with the script.
    pub(super) fn faults(mut self, root: Node<'t>, surface: Option<Surface>) -> Vec<LintFault> {
        self.learn(root);
        let statements: Vec<Node<'t>> = statements_in(root);
        for (number, node) in statements.iter().enumerate() {
            self.part = self.parts.at(node.start_byte());
            let seen = self.foreground(*node);
            let is_last = number + 1 == statements.len();
            let seen = if in_background(*node) { Seen::default() } else { seen };
            if is_last {
                self.asserts(*node, seen.status);
            } else {
                self.checked(*node, seen.status);
                if is_exit(*node, self.script) || replaces_shell(*node, self.script) {
                    self.faults.push(LintFault::EndsEarly(line_of(*node)));
                }
            }
        }
        if !self.exercised {
            self.faults.push(LintFault::NoExercise);
        }
        match self.asserted {
            None => {
                let constants = self.constants.iter().take(MAX_CONSTANTS);
                self.faults.extend(constants.map(|line| LintFault::Constant(*line)));
                self.faults.push(LintFault::NoAssertion);
            }
            Some(Facts::EXIT) => self.faults.push(LintFault::OnlyExitStatus),
            Some(facts) => {
                if let Some(surface) = surface.filter(|surface| !facts.show(*surface)) {
                    self.faults.push(LintFault::OtherAssertions { surface });
                }
            }
        }
        let mut told = Vec::new();
        self.faults.retain(|fault| {
            let is_new = !told.contains(fault);
            told.push(fault.clone());
            is_new
        });
        self.faults
    }

    fn text(&self, node: Node<'_>) -> &'t str {
        self.script.get(node.byte_range()).unwrap_or_default()
    }

    /// Functions may be called before they stand in the text, and variables tell at the end what came of it.
    fn learn(&mut self, root: Node<'t>) {
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if node.kind() == "function_definition"
                && let Some(name) = node.child_by_field_name("name")
                && let Some(body) = node.child_by_field_name("body")
            {
                self.functions.insert(self.text(name).to_owned(), body);
            }
            if is_exit(node, self.script) {
                let text = self.text(node);
                let name = text.trim_start_matches(|c: char| c.is_alphabetic());
                let name = name.trim().trim_matches(|c| matches!(c, '"' | '$' | '{' | '}'));
                self.results.insert(name.to_owned());
            }
            stack.extend(children_of(node));
        }
    }

    // --- Statements ---------------------------------------------------------------------------

    /// A statement; one in the background does not fail the script.
    fn foreground(&mut self, node: Node<'t>) -> Seen {
        match in_background(node) {
            true => {
                let inner = self.inner;
                self.subshells += 1;
                let seen = self.statement(node);
                self.subshells -= 1;
                self.inner = inner;
                seen
            }
            false => self.statement(node),
        }
    }

    fn statement(&mut self, node: Node<'t>) -> Seen {
        let seen = self.kinds(node);
        if node.kind() != "function_definition" {
            self.last = seen.status;
        }
        seen
    }

    fn kinds(&mut self, node: Node<'t>) -> Seen {
        match node.kind() {
            "command" => self.command(node),
            "declaration_command" => self.declaration(node),
            "variable_assignment" => Seen::status(self.assign(node)),
            "test_command" => Seen::status(self.condition(node)),
            // `(( … ))`
            "compound_statement" if self.text(node).starts_with("((") => {
                self.calculated(node);
                Seen::status(self.condition(node))
            }
            "pipeline" => self.pipeline(node),
            "list" => self.list(node),
            "redirected_statement" => self.redirected(node),
            "subshell" => self.subshell(node),
            "if_statement" | "elif_clause" => self.branch(node),
            "case_statement" => self.case(node),
            "while_statement" => self.repeat(node),
            "for_statement" => {
                self.loop_variable(node);
                self.children(node, "do_group")
            }
            "c_style_for_statement" => self.children(node, "do_group"),
            "function_definition" => {
                self.check_function(node);
                Seen::default()
            }
            "comment" | "unset_command" | "heredoc_body" => Seen::default(),
            _ => self.sequence(node),
        }
    }

    /// The statements in a node, one after the other. Its status is that of the last.
    fn sequence(&mut self, node: Node<'t>) -> Seen {
        let nodes: Vec<Node<'t>> = statements_in(node);
        let mut all = Seen::default();
        for (number, child) in nodes.iter().enumerate() {
            let seen = self.foreground(*child);
            if number + 1 < nodes.len() && !in_background(*child) {
                self.checked(*child, seen.status);
            }
            all = Seen { status: seen.status, output: all.output | seen.output };
            // What follows is never reached.
            if is_exit(*child, self.script) || is_return(*child, self.script) {
                break;
            }
        }
        all
    }

    /// Something that is reached only if this is so.
    fn only_if<T>(&mut self, facts: Facts, look: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.under;
        self.under |= facts;
        let result = look(self);
        self.under = before;
        result
    }

    /// With `set -e`, every statement is an assertion, but for negated ones.
    fn checked(&mut self, node: Node<'t>, status: Facts) {
        if self.errexit
            && !self.in_condition
            && node.kind() != "negated_command"
            && !status.is_none()
        {
            self.asserts(node, status);
        }
    }

    /// The script fails or not, depending on this.
    fn asserts(&mut self, node: Node<'t>, status: Facts) {
        if self.part != Part::Assert {
            return;
        }
        if self.subshells > 0 {
            self.inner |= status;
        } else if !status.is_none() {
            *self.asserted.get_or_insert_default() |= status;
        } else if matches!(
            node.kind(),
            "test_command" | "compound_statement" | "list" | "if_statement"
        ) {
            self.constants.push(line_of(node));
        }
    }

    fn children(&mut self, node: Node<'t>, kind: &str) -> Seen {
        let nodes = children_of(node).into_iter().filter(|child| child.kind() == kind);
        nodes.fold(Seen::default(), |all, child| {
            let seen = self.sequence(child);
            Seen { status: seen.status, output: all.output | seen.output }
        })
    }

    fn as_condition<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.in_condition, true);
        let result = look(self);
        self.in_condition = before;
        result
    }

    /// Something whose `exit` does not end the script. What it fails because of is part of its status.
    fn aside(&mut self, look: impl FnOnce(&mut Self) -> Seen) -> Seen {
        let inner = std::mem::take(&mut self.inner);
        let in_product = self.in_product;
        self.subshells += 1;
        let mut seen = look(self);
        self.subshells -= 1;
        self.in_product = in_product;
        seen.status |= std::mem::replace(&mut self.inner, inner);
        seen
    }

    fn subshell(&mut self, node: Node<'t>) -> Seen {
        self.aside(|walk| walk.sequence(node))
    }

    fn pipeline(&mut self, node: Node<'t>) -> Seen {
        let nodes: Vec<Node<'t>> = statements_in(node);
        self.piped(&nodes, self.stdin)
    }

    /// Commands that read what the one before has printed.
    fn piped(&mut self, nodes: &[Node<'t>], first: Facts) -> Seen {
        let before = self.stdin;
        let mut seen = Seen { status: Facts::NONE, output: first };
        for node in nodes {
            self.stdin = seen.output;
            seen = self.aside(|walk| walk.statement(*node));
        }
        self.stdin = before;
        seen
    }

    fn list(&mut self, node: Node<'t>) -> Seen {
        let nodes: Vec<Node<'t>> = statements_in(node);
        let (Some(left), Some(right)) = (nodes.first(), nodes.last()) else {
            return Seen::default();
        };
        let or = self.is_or(node);
        let first = self.as_condition(|walk| walk.statement(*left));
        self.then(node, first, or, *right)
    }

    fn is_or(&self, list: Node<'t>) -> bool {
        let mut cursor = list.walk();
        list.children(&mut cursor).any(|child| child.kind() == "||")
    }

    /// What stands behind `&&` or `||`.
    fn then(&mut self, node: Node<'t>, first: Seen, or: bool, right: Node<'t>) -> Seen {
        if self.fails(right) {
            self.fails_by(right, node, first.status);
            self.only_if(first.status, |walk| walk.statement(right));
            return first;
        }
        let second = self.only_if(first.status, |walk| walk.statement(right));
        // `|| true` forgets what was.
        let forgets = or && second.status.is_none();
        let status = if forgets { Facts::NONE } else { first.status | second.status };
        Seen { status, output: first.output | second.output }
    }

    fn redirected(&mut self, node: Node<'t>) -> Seen {
        let redirects = fields_of(node, "redirect");
        let (stdin, here) = (self.stdin, std::mem::take(&mut self.here));
        for redirect in &redirects {
            self.read_from(*redirect);
        }
        let mut seen = match node.child_by_field_name("body") {
            Some(body) => self.statement(body),
            None => Seen::default(),
        };
        for redirect in &redirects {
            self.write_to(*redirect, seen.output);
        }
        // The grammar puts what follows a here-document inside of it.
        for redirect in redirects.iter().filter(|one| one.kind() == "heredoc_redirect") {
            let nodes = children_of(*redirect);
            if let Some(pipeline) = nodes.iter().find(|child| child.kind() == "pipeline") {
                let mut rest = statements_in(*pipeline);
                // `cat <<E | grep x || exit 1`: there `||` binds tighter than it does in bash.
                let list = rest
                    .pop_if(|last| last.kind() == "list")
                    .map(|list| (list, statements_in(list)));
                rest.extend(list.iter().filter_map(|(_, parts)| parts.first()));
                seen = self.piped(&rest, seen.output);
                if let Some((list, [_, right])) =
                    list.as_ref().map(|(list, parts)| (*list, &parts[..]))
                {
                    seen = self.then(node, seen, self.is_or(list), *right);
                }
            }
            if let Some(right) = redirect.child_by_field_name("right") {
                let or = self.text(*redirect).contains("||");
                seen = self.then(node, seen, or, right);
            }
        }
        (self.stdin, self.here) = (stdin, here);
        seen
    }

    fn read_from(&mut self, redirect: Node<'t>) {
        match redirect.kind() {
            "file_redirect" if self.text(redirect).contains('<') => {
                if let Some(target) = redirect.child_by_field_name("destination") {
                    self.stdin = self.file(target) | self.value(target);
                    self.check_read(target);
                }
            }
            "herestring_redirect" => self.stdin = self.inside(redirect),
            "heredoc_redirect" => {
                let is_body = |one: &Node<'t>| one.kind() == "heredoc_body";
                for body in children_of(redirect).into_iter().filter(is_body) {
                    self.here.push_str(self.text(body));
                    let facts = self.inside(body);
                    self.stdin |= facts;
                }
                let nested = fields_of(redirect, "redirect");
                nested.into_iter().for_each(|one| self.read_from(one));
            }
            _ => {}
        }
    }

    fn write_to(&mut self, redirect: Node<'t>, output: Facts) {
        if redirect.kind() == "heredoc_redirect" {
            let nested = fields_of(redirect, "redirect");
            nested.into_iter().for_each(|one| self.write_to(one, output));
        }
        if redirect.kind() != "file_redirect" || !self.text(redirect).contains('>') {
            return;
        }
        let Some(target) = redirect.child_by_field_name("destination") else { return };
        let path = plain(self.text(target));
        self.written.insert(path.clone());
        if self.leads_to_product(target) && tables::is_source(&path) {
            self.faults.push(rules::changes(line_of(target), &path));
        }
        if let Some(program) = code::interpreter_of(&path) {
            let here = self.here.clone();
            self.check_code(program, &here, line_of(target));
        }
        if !output.is_none() {
            self.files.insert(path, output);
        }
    }

    fn branch(&mut self, node: Node<'t>) -> Seen {
        let mut cursor = node.walk();
        let (mut condition, mut then, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_then = false;
        for child in node.children(&mut cursor) {
            match child.kind() {
                "then" => is_then = true,
                "elif_clause" | "else_clause" => rest.push(child),
                "comment" => {}
                _ if !child.is_named() => {}
                _ if is_then => then.push(child),
                _ => condition.push(child),
            }
        }
        let status = self.as_condition(|walk| {
            condition.iter().fold(Facts::NONE, |_, child| walk.statement(*child).status)
        });
        // What stands there is never reached.
        if condition.iter().any(|child| self.text(*child) == "false") {
            then.clear();
        }
        let otherwise = rest.iter().find(|child| child.kind() == "else_clause");
        let failing = otherwise.and_then(|clause| self.failing_inside(*clause));
        let failing = failing.or_else(|| then.iter().copied().find(|child| self.fails(*child)));
        if let Some(failing) = failing {
            self.fails_by(failing, node, status);
        }
        // A branch that only tells something has no status of its own.
        let mut all = Seen::default();
        for child in then.into_iter().chain(rest) {
            let seen = self.only_if(status, |walk| walk.statement(child));
            self.checked(child, seen.status);
            all.output |= seen.output;
            all.status |= seen.status;
        }
        all
    }

    fn case(&mut self, node: Node<'t>) -> Seen {
        let subject = node.child_by_field_name("value").map(|value| self.value(value));
        let subject = subject.unwrap_or_default();
        let mut all = Seen::default();
        for item in children_of(node).into_iter().filter(|child| child.kind() == "case_item") {
            if let Some(failing) = self.failing_inside(item) {
                self.fails_by(failing, node, subject);
            }
            let patterns = fields_of(item, "value");
            for child in statements_in(item).into_iter().filter(|child| !patterns.contains(child)) {
                let seen = self.only_if(subject, |walk| walk.statement(child));
                self.checked(child, seen.status);
                all.output |= seen.output;
                all.status |= seen.status | subject;
            }
        }
        all
    }

    fn repeat(&mut self, node: Node<'t>) -> Seen {
        let condition = node.child_by_field_name("condition");
        let status = condition.map_or(Facts::NONE, |condition| {
            self.as_condition(|walk| walk.statement(condition)).status
        });
        self.only_if(status, |walk| walk.children(node, "do_group"))
    }

    fn loop_variable(&mut self, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("variable") else { return };
        let values = fields_of(node, "value");
        let mut facts = Facts::NONE;
        for value in values {
            facts |= self.value(value);
            // Which files there are.
            if self.text(value).contains('*') {
                facts |= Facts::FILE;
            }
        }
        self.variables.insert(self.text(name).to_owned(), facts);
    }

    /// Whether a statement makes the script fail, whatever else is.
    fn fails(&self, node: Node<'t>) -> bool {
        self.fails_within(node, MAX_CALLS)
    }

    fn failing_inside(&self, node: Node<'t>) -> Option<Node<'t>> {
        statements_in(node).into_iter().find(|child| self.fails(*child))
    }

    /// Depending on this, a statement is reached that fails: the script, or the function that it stands in.
    fn fails_by(&mut self, failing: Node<'t>, node: Node<'t>, status: Facts) {
        match self.calls > 0 && returns(failing, self.script) {
            true => self.returned |= status,
            false => self.asserts(node, status),
        }
    }

    /// `(( n++ ))` sets what it names, depending on what leads there.
    fn calculated(&mut self, node: Node<'t>) {
        let text = self.text(node);
        let sets = ["++", "--", "+=", "-="].iter().any(|sign| text.contains(sign));
        if sets
            || text
                .replace("==", "")
                .replace("!=", "")
                .replace("<=", "")
                .replace(">=", "")
                .contains('=')
        {
            let names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            for name in
                names.filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
            {
                *self.variables.entry(name.to_owned()).or_default() |= self.under;
            }
        }
    }

    fn fails_within(&self, node: Node<'t>, calls: usize) -> bool {
        let any = |node: Node<'t>| {
            statements_in(node).into_iter().any(|child| self.fails_within(child, calls))
        };
        let text = self.text(node);
        match node.kind() {
            "command" => {
                let mut words = text.split_whitespace();
                let name = words.next().unwrap_or_default();
                match name {
                    "exit" | "return" => words.next() != Some("0"),
                    "false" => true,
                    "let" => self.sets_result(text),
                    _ => self
                        .functions
                        .get(name)
                        .is_some_and(|body| calls > 0 && self.fails_within(*body, calls - 1)),
                }
            }
            "variable_assignment" => {
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                self.results.contains(name.trim_end_matches('+')) && plain(value) != "0"
            }
            // An exit in a subshell does not end the script.
            "subshell" => self.errexit && any(node),
            "compound_statement" if self.sets_result(text) => true,
            "compound_statement" | "list" | "redirected_statement" | "do_group" => any(node),
            _ => false,
        }
    }

    /// `(( FAILED++ ))`, `let FAILED+=1`.
    fn sets_result(&self, text: &str) -> bool {
        (text.starts_with("((") || text.starts_with("let "))
            && self.results.iter().any(|name| {
                !name.is_empty()
                    && text.contains(name.as_str())
                    && (text.contains('+') || text.contains('='))
            })
    }
}

/// The children that are statements.
fn statements_in<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    children_of(node).into_iter().filter(|child| child.kind() != "comment").collect()
}

fn children_of<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

fn fields_of<'t>(node: Node<'t>, name: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(name, &mut cursor).collect()
}

/// Whether a statement runs in the background.
fn in_background(node: Node<'_>) -> bool {
    node.next_sibling().is_some_and(|next| next.kind() == "&")
}

fn first_words<'t>(node: Node<'_>, script: &'t str) -> (&'t str, Option<&'t str>) {
    let text = script.get(node.byte_range()).unwrap_or_default();
    let mut words = text.split_whitespace();
    (words.next().unwrap_or_default(), words.next())
}

/// `return`, by itself.
fn is_return(node: Node<'_>, script: &str) -> bool {
    node.kind() == "command" && first_words(node, script).0 == "return"
}

/// Whether a statement that fails returns from a function.
fn returns(node: Node<'_>, script: &str) -> bool {
    is_return(node, script)
        || matches!(
            node.kind(),
            "compound_statement" | "list" | "redirected_statement" | "do_group"
        ) && statements_in(node).iter().any(|child| returns(*child, script))
}

/// `exec` with a command: the shell goes on no further.
fn replaces_shell(node: Node<'_>, script: &str) -> bool {
    let (name, next) = first_words(node, script);
    node.kind() == "command" && name == "exec" && next.is_some()
}

/// `exit`, by itself.
fn is_exit(node: Node<'_>, script: &str) -> bool {
    let text = script.get(node.byte_range()).unwrap_or_default();
    node.kind() == "command" && text.split_whitespace().next() == Some("exit")
}

/// A word without its quotes, and without what only says that it is a path here.
fn plain(text: &str) -> String {
    let text = text.replace(['"', '\''], "").replace("${PWD}/", "").replace("$PWD/", "");
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}
