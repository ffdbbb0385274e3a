//! What commands do: programs, functions, interpreters, built-in commands.

use tree_sitter::Node;

use super::{MAX_CALLS, Seen, Walk, children_of, plain};
use crate::lint::LintFault;
use crate::lint::code;
use crate::lint::facts::Facts;
use crate::lint::layout::{Part, line_of};
use crate::lint::rules::{self, Simple, Word};
use crate::lint::tables::{self, Role};

impl<'t> Walk<'t> {
    pub(super) fn declaration(&mut self, node: Node<'t>) -> Seen {
        let nodes = children_of(node);
        let mut words = Vec::new();
        for child in nodes {
            match child.kind() {
                "variable_assignment" => {
                    self.assign(child);
                }
                _ => words.push(self.word(child)),
            }
        }
        let program = self.text(node).split_whitespace().next().unwrap_or_default();
        let simple =
            Simple { line: line_of(node), program, role: Some(Role::Other), words: &words };
        self.faults.extend(rules::faults(&simple));
        Seen::default()
    }

    /// Sets a variable. What the status of the statement depends on.
    pub(super) fn assign(&mut self, node: Node<'t>) -> Facts {
        let Some(name) = node.child_by_field_name("name") else { return Facts::NONE };
        let name = self.text(name).to_owned();
        let Some(value) = node.child_by_field_name("value") else {
            self.variables.insert(name, Facts::NONE);
            return Facts::NONE;
        };
        let text = self.text(value);
        let leads = |walk: &Self, dir: &str| walk.names_product(dir);
        if let Some(fault) = rules::variable(line_of(node), &name, text, |dir| leads(self, dir)) {
            self.faults.push(fault);
        }
        if self.leads_to_product(value)
            || is_a_path_of(value, self.script, &|text| self.names_product(text))
        {
            self.product.insert(name.clone());
        }
        let facts = self.value(value) | self.under;
        let status = if has_substitution(value) { self.last } else { Facts::NONE };
        match self.text(node).contains("+=") {
            true => *self.variables.entry(name.clone()).or_default() |= facts,
            false => {
                self.variables.insert(name.clone(), facts);
            }
        }
        self.values.insert(name, text.to_owned());
        status
    }

    pub(super) fn word(&self, node: Node<'t>) -> Word {
        let text = plain(self.text(node));
        let product = self.leads_to_product(node)
            || self
                .copies
                .iter()
                .any(|copy| text == *copy || text.starts_with(&format!("{copy}/")))
            || self.in_product && !text.starts_with(['-', '/', '$']) && text.contains('.');
        Word { plain: text, product }
    }

    pub(super) fn command(&mut self, node: Node<'t>) -> Seen {
        let stdin = self.stdin;
        let nodes = children_of(node);
        let mut words: Vec<Node<'t>> = Vec::new();
        let mut runs_in_product = self.in_product;
        for child in nodes {
            match child.kind() {
                "variable_assignment" => {
                    // It lasts for this command only.
                    let product = self.product.clone();
                    self.assign(child);
                    self.product = product;
                    runs_in_product |= self.leads_to_product(child);
                }
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    self.read_from(child)
                }
                _ => words.push(child),
            }
        }
        let seen = self.simple(node, &words, runs_in_product);
        self.stdin = stdin;
        seen
    }

    pub(super) fn simple(&mut self, node: Node<'t>, nodes: &[Node<'t>], in_product: bool) -> Seen {
        let nodes = self.unwrapped(nodes);
        let Some((first, arguments)) = nodes.split_first() else { return Seen::default() };
        let name = plain(self.text(*first));
        let words: Vec<Word> = arguments.iter().map(|node| self.word(*node)).collect();
        if let Some(body) = self.functions.get(&name).copied() {
            return self.call(body, arguments);
        }
        let is_product = self.leads_to_product(*first)
            || self
                .copies
                .iter()
                .any(|copy| name == *copy || name.starts_with(&format!("{copy}/")));
        if is_product && self.written.contains(&name) {
            let text = format!("{name}, which the script has written,");
            self.faults.push(LintFault::Mocks { line: line_of(node), text });
        }
        if let Some(program) = runs_for_each(&name, &words)
            && words[program].product
        {
            return self.product_runs(&words);
        }
        let role = if is_product { None } else { tables::role(&name) };
        let program = name.rsplit('/').next().unwrap_or(&name);
        let simple = Simple { line: line_of(node), program, role, words: &words };
        self.faults.extend(rules::faults(&simple));
        if role == Some(Role::Interprets) {
            return self.interpreted(node, program, arguments, &words, in_product);
        }
        let given =
            self.stdin | arguments.iter().fold(Facts::NONE, |all, one| all | self.value(*one));
        match role {
            None => self.product_runs(&words),
            Some(Role::Compares) => {
                let facts = match matches_everything(program, &self.resolved(&words)) {
                    true => Facts::NONE,
                    false => given | self.operands(program, arguments),
                };
                Seen { status: facts, output: facts }
            }
            Some(Role::Filters) => {
                self.set_by(program, &words);
                let facts = given | self.operands(program, arguments);
                if program == "tee" && !facts.is_none() {
                    for word in words.iter().filter(|word| !word.plain.starts_with('-')) {
                        self.files.insert(word.plain.clone(), facts);
                    }
                }
                // Some of them also say what they found.
                let says = match program {
                    "awk" | "gawk" | "mawk" => words.iter().any(|word| word.plain.contains("exit")),
                    "sort" => words.iter().any(|word| {
                        matches!(word.plain.as_str(), "--check")
                            || is_short(&word.plain, &['c', 'C'])
                    }),
                    _ => false,
                };
                let status = match says {
                    true => facts,
                    false if facts.has(Facts::FILE) => Facts::FILE,
                    false => Facts::NONE,
                };
                Seen { status, output: facts }
            }
            Some(Role::Inspects) => Seen { status: Facts::FILE, output: given | Facts::FILE },
            Some(Role::Prints) => Seen { status: Facts::NONE, output: given },
            Some(Role::Queries) => {
                let rows = Facts::ROWS | code::recorded(&self.query(arguments));
                Seen { status: Facts::EXIT, output: rows | given }
            }
            _ => self.builtin(program, &words, given, node),
        }
    }

    /// Without `env`, `timeout` and the like in front of it.
    pub(super) fn unwrapped(&mut self, nodes: &[Node<'t>]) -> Vec<Node<'t>> {
        let mut rest = nodes;
        while let Some((first, behind)) = rest.split_first() {
            let name = plain(self.text(*first));
            if self.functions.contains_key(&name) || tables::role(&name) != Some(Role::Wraps) {
                break;
            }
            let is_command = |node: &&Node<'t>| {
                let text = plain(self.text(**node));
                let is_time = text.trim_end_matches(['s', 'm', 'h']).parse::<f64>().is_ok();
                let is_variable = text.split_once('=').is_some_and(|(name, _)| {
                    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                });
                !(text.starts_with('-') || is_time || is_variable)
            };
            let skipped = behind.iter().take_while(|node| !is_command(node)).count();
            for node in &behind[..skipped] {
                let text = self.text(*node);
                if let Some((name, value)) = text.split_once('=') {
                    let name = plain(name);
                    let fault = rules::variable(line_of(*node), &name, value, |dir| {
                        self.names_product(dir)
                    });
                    self.faults.extend(fault);
                }
            }
            // `exec 3> file` runs nothing.
            if behind.len() == skipped {
                return nodes.to_vec();
            }
            rest = &behind[skipped..];
        }
        rest.to_vec()
    }

    /// A function of the script, with what it is given.
    pub(super) fn call(&mut self, body: Node<'t>, arguments: &[Node<'t>]) -> Seen {
        if self.calls >= MAX_CALLS {
            return Seen::default();
        }
        let mut all = Facts::NONE;
        let mut before = Vec::new();
        for (number, argument) in (1..).zip(arguments) {
            let facts = self.value(*argument) | self.captured(*argument);
            all |= facts;
            let name = number.to_string();
            before.push((name.clone(), self.variables.insert(name, facts)));
        }
        for name in ["@", "*"] {
            before.push((name.to_owned(), self.variables.insert(name.to_owned(), all)));
        }
        self.calls += 1;
        let returned = std::mem::take(&mut self.returned);
        let mut seen = self.sequence(body);
        seen.status |= std::mem::replace(&mut self.returned, returned);
        self.calls -= 1;
        for (name, facts) in before {
            match facts {
                Some(facts) => self.variables.insert(name, facts),
                None => self.variables.remove(&name),
            };
        }
        seen
    }

    pub(super) fn product_runs(&mut self, words: &[Word]) -> Seen {
        self.exercised |= self.part == Part::Exercise;
        let mut output = Facts::OUTPUT;
        if words.iter().any(|word| word.plain == "--eval") {
            output |= Facts::TOOL;
        }
        Seen { status: Facts::EXIT, output }
    }

    /// An interpreter: of the product's program, or of code that stands in the test.
    pub(super) fn interpreted(
        &mut self,
        node: Node<'t>,
        program: &str,
        arguments: &[Node<'t>],
        words: &[Word],
        in_product: bool,
    ) -> Seen {
        let inline = words.iter().position(|word| {
            matches!(
                word.plain.as_str(),
                "-c" | "-e" | "-p" | "--eval" | "--print" | "-r" | "-ne" | "-pe" | "-lne"
            )
        });
        let inline = inline.or_else(|| (program == "eval").then_some(usize::MAX));
        let code = match inline {
            Some(usize::MAX) => arguments.first().map(|node| self.text(*node).to_owned()),
            Some(at) => arguments.get(at + 1).map(|node| self.text(*node).to_owned()),
            None => Some(self.here.clone()).filter(|here| !here.is_empty()),
        };
        let names_product =
            |walk: &Self, text: &str| text.contains("PROJECT") || walk.names_product(text);
        let is_shell = matches!(program, "bash" | "sh" | "dash" | "zsh" | "eval");
        match code {
            Some(code) if is_shell => {
                if code.split_whitespace().any(|word| word == "source") {
                    self.faults
                        .push(LintFault::Sources { line: line_of(node), text: code.clone() });
                }
                match names_product(self, &code) {
                    true => self.product_runs(words),
                    false => Seen { status: Facts::EXIT, output: self.inside_text(&code) },
                }
            }
            Some(code) => {
                self.check_code(program, unquoted(&code), line_of(node));
                let given = self.stdin
                    | arguments
                        .iter()
                        .fold(Facts::NONE, |all, one| all | self.value(*one) | self.captured(*one));
                if let Some(text) = code::opens_product(&code) {
                    self.faults.push(LintFault::ReadsSource { line: line_of(node), text });
                }
                // The files behind the code are read.
                let behind = arguments.get(inline.map_or(0, |at| at.saturating_add(2))..);
                let files = behind.into_iter().flatten().filter(|node| {
                    let text = plain(self.text(**node));
                    text.contains('.') && !text.starts_with(['-', '$'])
                });
                let read = files.fold(Facts::NONE, |all, node| all | self.file(*node));
                let facts = given | read | self.inside_text(&code) | code::looks_at(&code);
                if code::runs_product(&code) {
                    let ran = self.product_runs(words);
                    return Seen { status: facts | ran.status, output: facts | ran.output };
                }
                Seen { status: facts, output: facts }
            }
            None => {
                let module = words.iter().any(|word| word.plain == "-m");
                if let Some(word) =
                    words.iter().find(|word| word.product && self.written.contains(&word.plain))
                {
                    let text = format!("{}, which the script has written,", word.plain);
                    self.faults.push(LintFault::Mocks { line: line_of(node), text });
                }
                if words.iter().any(|word| word.product) || in_product || module {
                    return self.product_runs(words);
                }
                // A script that the test has written itself.
                let given = self.stdin
                    | arguments
                        .iter()
                        .fold(Facts::NONE, |all, one| all | self.value(*one) | self.captured(*one));
                Seen { status: given | Facts::FILE, output: given | Facts::FILE }
            }
        }
    }

    pub(super) fn builtin(
        &mut self,
        program: &str,
        words: &[Word],
        given: Facts,
        node: Node<'t>,
    ) -> Seen {
        match program {
            "exit" | "return" => {
                if !words.is_empty() {
                    let status = if words[0].plain == "$?" { self.last } else { given };
                    if !status.is_none() {
                        self.asserts(node, status);
                    }
                }
                Seen::default()
            }
            "set" => {
                let options: Vec<&str> = words.iter().map(|word| word.plain.as_str()).collect();
                let has = |sign: char| {
                    options.iter().any(|word| {
                        word.starts_with(sign) && word.contains('e') && !word.starts_with("--")
                    })
                };
                let named = |sign: &str| options.windows(2).any(|two| two == [sign, "errexit"]);
                if has('-') || named("-o") {
                    self.errexit = true;
                }
                if has('+') || named("+o") {
                    self.errexit = false;
                }
                Seen::default()
            }
            "trap" => {
                let exits = words.first().is_some_and(|word| word.plain.contains("exit"));
                if exits
                    && words
                        .iter()
                        .skip(1)
                        .any(|word| matches!(word.plain.as_str(), "EXIT" | "0" | "ERR"))
                {
                    self.faults.push(LintFault::Trap(line_of(node)));
                }
                Seen::default()
            }
            "cd" | "pushd" => {
                if let Some(word) = words.iter().find(|word| !word.plain.starts_with('-')) {
                    self.in_product =
                        word.product || self.in_product && !word.plain.starts_with(['/', '$', '~']);
                }
                Seen::default()
            }
            "cp" | "rsync" | "mv" | "install" => {
                self.copied(words);
                Seen::default()
            }
            // What a server answers.
            "curl" | "wget" | "nc" => Seen { status: Facts::EXIT, output: Facts::OUTPUT },
            "wait" | "kill" | "pgrep" => Seen { status: Facts::EXIT, output: Facts::EXIT },
            _ => Seen::default(),
        }
    }

    /// The words, with what variables of the script were set to.
    fn resolved(&self, words: &[Word]) -> Vec<Word> {
        let value = |word: &Word| {
            let name = word.plain.strip_prefix('$')?.trim_matches(['{', '}']);
            Some(plain(self.values.get(name)?))
        };
        words
            .iter()
            .map(|word| Word { plain: value(word).unwrap_or(word.plain.clone()), ..word.clone() })
            .collect()
    }

    /// A copy of the product is the product.
    pub(super) fn copied(&mut self, words: &[Word]) {
        let operands: Vec<&Word> =
            words.iter().filter(|word| !word.plain.starts_with('-')).collect();
        let Some((target, sources)) = operands.split_last() else { return };
        for source in sources.iter().filter(|word| word.product) {
            let name = source
                .plain
                .trim_end_matches(['/', '.', '*'])
                .rsplit('/')
                .next()
                .unwrap_or_default();
            let target = target.plain.trim_start_matches("./").trim_end_matches('/');
            match target {
                "." | "" | "$PWD" => self.copies.push(name.to_owned()),
                target => self.copies.push(target.to_owned()),
            }
        }
    }

    /// `read` and the like set variables to what they read.
    pub(super) fn set_by(&mut self, program: &str, words: &[Word]) {
        if matches!(program, "read" | "mapfile" | "readarray") {
            for word in words.iter().filter(|word| !word.plain.starts_with('-')) {
                self.variables.insert(word.plain.clone(), self.stdin);
            }
        }
    }

    /// The text of a query, with what its variables were set to.
    pub(super) fn query(&self, arguments: &[Node<'t>]) -> String {
        let mut text = self.here.clone();
        for argument in arguments {
            let source = self.text(*argument);
            text.push_str(source);
            let name = source.trim_matches(|c| matches!(c, '"' | '$' | '{' | '}'));
            text.push_str(self.values.get(name).map(String::as_str).unwrap_or_default());
        }
        text
    }
}

/// Which word is the program that `xargs` and `find` run.
fn runs_for_each(name: &str, words: &[Word]) -> Option<usize> {
    let place =
        |wanted: &[&str]| words.iter().position(|word| wanted.contains(&word.plain.as_str()));
    match name {
        "find" => place(&["-exec", "-execdir", "-ok", "-okdir"]).map(|at| at + 1),
        "xargs" => {
            let mut at = 0;
            while let Some(word) = words.get(at).filter(|word| word.plain.starts_with('-')) {
                // Some take a value of their own.
                at += if matches!(word.plain.as_str(), "-n" | "-P" | "-I" | "-L" | "-d" | "-s") {
                    2
                } else {
                    1
                };
            }
            Some(at)
        }
        _ => None,
    }
    .filter(|at| *at < words.len())
}

/// Whether a word is an option with one of these letters.
fn is_short(word: &str, letters: &[char]) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letters))
}

fn has_substitution(node: Node<'_>) -> bool {
    node.kind() == "command_substitution" || children_of(node).into_iter().any(has_substitution)
}

/// A substitution that only makes a path of another: `$(cd "$PROJECT" && pwd)`.
fn is_a_path_of(node: Node<'_>, script: &str, names_product: &dyn Fn(&str) -> bool) -> bool {
    if node.kind() != "command_substitution"
        && !(node.kind() == "string" && node.named_child_count() == 1)
    {
        return false;
    }
    let text = script.get(node.byte_range()).unwrap_or_default();
    let parsed = text.trim_matches('"').trim_start_matches("$(").trim_end_matches(')');
    let helpers = ["cd", "pwd", "realpath", "readlink", "dirname", "echo", "printf"];
    text.trim_matches('"').starts_with("$(")
        && names_product(text)
        && parsed
            .split(['&', ';', '|'])
            .filter_map(|part| part.split_whitespace().next())
            .all(|word| helpers.contains(&word))
}

/// A search for nothing finds it everywhere. How often is another question.
fn matches_everything(program: &str, words: &[Word]) -> bool {
    let is_search = matches!(program, "grep" | "egrep" | "fgrep" | "rg");
    let (options, others): (Vec<&Word>, Vec<&Word>) =
        words.iter().partition(|word| word.plain.starts_with('-'));
    let asks_more = options.iter().any(|word| {
        !word.plain.starts_with("--") && word.plain.contains(['c', 'v', 'o', 'e', 'f'])
            || matches!(word.plain.as_str(), "--count" | "--invert-match" | "--only-matching")
    });
    let everything = ["", ".*", "^", "$", "^.*$", ".*$", "^.*"];
    is_search
        && !asks_more
        && others.first().is_some_and(|word| everything.contains(&word.plain.as_str()))
}

/// A word without the quotes around it.
fn unquoted(word: &str) -> &str {
    let quoted =
        ['\'', '"'].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
    quoted.unwrap_or(word)
}
