//! What values, files and conditions depend on, and what leads into the product.

use tree_sitter::Node;

use super::{Seen, Walk, children_of, plain, statements_in};
use crate::lint::LintFault;
use crate::lint::code;
use crate::lint::facts::Facts;
use crate::lint::layout::line_of;
use crate::lint::tables;

impl<'t> Walk<'t> {
    /// What a value depends on.
    pub(super) fn value(&mut self, node: Node<'t>) -> Facts {
        match node.kind() {
            "command_substitution" | "process_substitution" => {
                let stdin = std::mem::take(&mut self.stdin);
                let nodes: Vec<Node<'t>> = statements_in(node);
                let seen = self.aside(|walk| {
                    let mut all = Seen::default();
                    for child in nodes {
                        // `$(< file)`
                        if child.kind() == "file_redirect" {
                            walk.read_from(child);
                            all.output |= walk.stdin;
                            continue;
                        }
                        let seen = walk.statement(child);
                        all = Seen { status: seen.status, output: all.output | seen.output };
                    }
                    all
                });
                self.stdin = stdin;
                self.last = seen.status;
                seen.output
            }
            "simple_expansion" | "expansion" => {
                let text = self.text(node);
                if text == "$?" || text.contains("PIPESTATUS") {
                    return self.last;
                }
                let name = text.trim_start_matches(['$', '{', '#', '!']);
                let end = name
                    .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*')));
                let own = self.variables.get(&name[..end.unwrap_or(name.len())]).copied();
                own.unwrap_or_default() | self.inside(node)
            }
            "variable_name" => self.variables.get(self.text(node)).copied().unwrap_or_default(),
            _ => self.inside(node),
        }
    }

    pub(super) fn inside(&mut self, node: Node<'t>) -> Facts {
        let nodes = children_of(node);
        nodes.into_iter().fold(Facts::NONE, |all, child| all | self.value(child))
    }

    /// What the variables and files depend on that a text names.
    pub(super) fn inside_text(&self, text: &str) -> Facts {
        let mut facts = Facts::NONE;
        for (name, known) in self.variables.iter().filter(|(name, _)| name.len() > 1) {
            if text.contains(&format!("${name}"))
                || text.contains(&format!("${{{name}}}"))
                || text.contains(&format!("['{name}']"))
            {
                facts |= *known;
            }
        }
        let files = self.files.iter().filter(|(path, _)| text.contains(path.as_str()));
        files.fold(facts, |all, (_, known)| all | *known)
    }

    /// A file that was written by the script, if it is one.
    pub(super) fn captured(&self, node: Node<'t>) -> Facts {
        self.files.get(&plain(self.text(node))).copied().unwrap_or_default()
    }

    /// What a file depends on: what was written into it, or that it is a file.
    pub(super) fn file(&self, node: Node<'t>) -> Facts {
        self.files.get(&plain(self.text(node))).copied().unwrap_or(Facts::FILE)
    }

    /// The files that a command reads, by its words.
    pub(super) fn operands(&mut self, program: &str, arguments: &[Node<'t>]) -> Facts {
        if matches!(program, "test" | "[") {
            return self.tested(arguments);
        }
        if matches!(
            program,
            "expr" | "tr" | "read" | "mapfile" | "readarray" | "bc" | "dc" | "xargs"
        ) {
            return Facts::NONE;
        }
        let takes_pattern = matches!(
            program,
            "grep" | "egrep" | "fgrep" | "rg" | "sed" | "awk" | "gawk" | "mawk" | "jq"
        );
        let by_option = |text: &str| {
            text.starts_with("-e")
                || text.starts_with("-f")
                || text.starts_with("--regexp")
                || text.starts_with("--file")
                || text.starts_with("--expression")
        };
        let has_option = arguments.iter().any(|node| by_option(self.text(*node)));
        let mut skip = usize::from(takes_pattern && !has_option);
        let mut facts = Facts::NONE;
        for argument in arguments {
            let text = plain(self.text(*argument));
            if text.starts_with('-') {
                continue;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if argument.kind() != "process_substitution" {
                facts |= self.file(*argument);
            }
        }
        facts
    }

    /// `test -f x`, word by word.
    pub(super) fn tested(&mut self, arguments: &[Node<'t>]) -> Facts {
        let mut facts = Facts::NONE;
        for two in arguments.windows(2) {
            if is_file_test(self.text(two[0])) {
                facts |= self.file(two[1]);
            }
        }
        facts
    }

    /// `[ … ]`, `[[ … ]]` and `(( … ))`.
    pub(super) fn condition(&mut self, node: Node<'t>) -> Facts {
        let mut facts = Facts::NONE;
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            let children = children_of(node);
            match node.kind() {
                "unary_expression"
                    if children.first().is_some_and(|one| is_file_test(self.text(*one))) =>
                {
                    if let Some(path) = children.last() {
                        facts |= self.file(*path) | self.value(*path);
                    }
                }
                "binary_expression" => {
                    let left = node.child_by_field_name("left");
                    let right = node.child_by_field_name("right");
                    // A value is always equal to itself.
                    let same = left
                        .zip(right)
                        .is_some_and(|(left, right)| self.text(left) == self.text(right));
                    if !same {
                        stack.extend(children);
                    }
                }
                "test_command"
                | "compound_statement"
                | "unary_expression"
                | "parenthesized_expression" => stack.extend(children),
                _ => facts |= self.value(node),
            }
        }
        facts
    }

    /// Whether a value leads into the product. What a command prints does not.
    pub(super) fn leads_to_product(&self, node: Node<'t>) -> bool {
        match node.kind() {
            "command_substitution" | "process_substitution" => false,
            "simple_expansion" | "expansion" => {
                let text = self.text(node);
                let name = text.trim_start_matches(['$', '{', '#', '!']);
                let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                self.product.contains(&name[..end.unwrap_or(name.len())])
            }
            _ => children_of(node).into_iter().any(|child| self.leads_to_product(child)),
        }
    }

    /// The same for a text.
    pub(super) fn names_product(&self, text: &str) -> bool {
        self.product.iter().any(|name| {
            [format!("${name}"), format!("${{{name}")].iter().any(|start| {
                text.match_indices(start.as_str()).any(|(at, found)| {
                    !text[at + found.len()..]
                        .starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                })
            })
        })
    }

    pub(super) fn check_read(&mut self, target: Node<'t>) {
        let path = plain(self.text(target));
        if self.leads_to_product(target) && tables::is_source(&path) {
            self.faults.push(LintFault::ReadsSource { line: line_of(target), text: path });
        }
    }

    /// A function with the name of a program takes its place, unless it runs the product.
    pub(super) fn check_function(&mut self, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let name = self.text(name);
        if tables::role(name).is_some() && !self.names_product(self.text(node)) {
            self.faults.push(LintFault::Mocks {
                line: line_of(node),
                text: format!("the function {name}"),
            });
        }
    }

    pub(super) fn check_code(&mut self, program: &str, code: &str, line: usize) {
        let foreign = code::foreign_modules(program, code);
        self.faults.extend(
            foreign
                .into_iter()
                .map(|(number, module)| LintFault::Imports { line: line + number, module }),
        );
    }
}

fn is_file_test(operator: &str) -> bool {
    matches!(
        operator,
        "-e" | "-f"
            | "-d"
            | "-s"
            | "-r"
            | "-w"
            | "-x"
            | "-L"
            | "-h"
            | "-p"
            | "-S"
            | "-a"
            | "-nt"
            | "-ot"
            | "-ef"
    )
}
