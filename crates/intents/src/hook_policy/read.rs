//! From the text to a policy, in any of three shapes.

use regex::bytes::{Regex, RegexBuilder};

use super::{
    Class, FailureMode, HookPolicy, MUTATION_CLASSES, MutationClassCheck, OutOfScopeWrite, Whole,
    WriteMetadata,
};
use crate::yaml::{Document, Id};

/// All known keys, from the top.
const KEYS: &[&str] = &[
    "version",
    "command",
    "command.readonly_allowlist",
    "command.destructive_patterns",
    "command.on_unparsable",
    "mcp",
    "mcp.default_classification",
    "mcp.readonly_tools",
    "tools",
    "tools.readonly",
    "tools.write",
    "failure_mode",
    "on_out_of_scope_write",
    "mutation_class_check",
    "write_metadata",
    "mutation_classes",
    "safe_read_commands",
    "destructive_command_patterns",
];

/// A regular expression may not become larger than this once it is compiled.
const MAX_REGEX: usize = 1 << 20;

impl HookPolicy {
    /// Reads a file's text.
    pub fn read(text: &str) -> Self {
        let document = match Document::read(text) {
            Ok(document) => document,
            Err(error) => return Self::broken(error.to_string()),
        };
        let Some(root) = document.root().filter(|root| !document.is_null(*root)) else {
            return Self::default();
        };
        if document.map(root).is_none() {
            return Self::broken("line 1 column 1: expected keys and values".to_owned());
        }
        let mut reader = Reader { document: &document, root, errors: Vec::new() };
        let mut policy = reader.policy();
        policy.warnings.extend(reader.unknown_keys());
        match reader.errors.into_iter().next() {
            None => policy,
            // Its restrictions still count; what it would allow does not.
            Some(why) => Self {
                tools_write: policy.tools_write,
                destructive: policy.destructive,
                on_out_of_scope_write: policy.on_out_of_scope_write,
                mutation_class_check: policy.mutation_class_check,
                write_metadata: policy.write_metadata,
                mutation_classes: policy.mutation_classes,
                warnings: policy.warnings,
                ..Self::broken(why)
            },
        }
    }
}

struct Reader<'d> {
    document: &'d Document,
    root: Id,
    errors: Vec<String>,
}

impl Reader<'_> {
    fn policy(&mut self) -> HookPolicy {
        let mut policy = HookPolicy {
            readonly: self.regexes("command.readonly_allowlist", true),
            prefixes: self.texts("safe_read_commands"),
            mcp_readonly: self.texts("mcp.readonly_tools").unwrap_or_default(),
            tools_readonly: self.texts("tools.readonly").unwrap_or_default(),
            tools_write: self.texts("tools.write").unwrap_or_default(),
            mcp_default: self.choice(
                "mcp.default_classification",
                &[("destructive", Class::Destructive), ("safe", Class::Safe)],
            ),
            failure_mode: self.choice(
                "failure_mode",
                &[("open", FailureMode::Open), ("closed", FailureMode::Closed)],
            ),
            on_out_of_scope_write: self.choice(
                "on_out_of_scope_write",
                &[("report", OutOfScopeWrite::Report), ("revert", OutOfScopeWrite::Revert)],
            ),
            mutation_class_check: self.choice(
                "mutation_class_check",
                &[("record", MutationClassCheck::Record), ("refuse", MutationClassCheck::Refuse)],
            ),
            write_metadata: self.choice(
                "write_metadata",
                &[("optional", WriteMetadata::Optional), ("required", WriteMetadata::Required)],
            ),
            mutation_classes: self.texts("mutation_classes"),
            ..HookPolicy::default()
        };
        for key in ["command.destructive_patterns", "destructive_command_patterns"] {
            policy.destructive.extend(self.regexes(key, false).unwrap_or_default());
        }
        for name in &policy.mcp_readonly {
            if !super::classify::is_mcp_pattern(name) {
                let why = "expected `mcp__server__tool`, with `*` in the tool's part only";
                policy
                    .warnings
                    .push(format!("mcp.readonly_tools: `{name}` is not a tool name: {why}"));
            }
        }
        for class in policy.mutation_classes.iter().flatten() {
            if !MUTATION_CLASSES.contains(&class.as_str()) {
                self.not("mutation_classes", class, &MUTATION_CLASSES.join(", "));
            }
        }
        if let Some(word) = self.word("command.on_unparsable")
            && word != "destructive"
        {
            let warning = "command.on_unparsable is always DESTRUCTIVE; it cannot be loosened";
            policy.warnings.push(warning.to_owned());
        }
        policy
    }

    /// One of two words; any other word is an error, and a missing one is the first.
    fn choice<T: Copy>(&mut self, key: &str, words: &[(&str, T); 2]) -> T {
        let [(first, one), (second, _)] = words;
        let Some(given) = self.word(key) else { return *one };
        match words.iter().find(|(word, _)| *word == given) {
            Some((_, value)) => *value,
            None => {
                self.not(key, &given, &format!("{first} or {second}"));
                *one
            }
        }
    }

    fn get(&self, key: &str) -> Option<Id> {
        let found = key.split('.').try_fold(self.root, |at, name| self.document.get(at, name))?;
        (!self.document.is_null(found)).then_some(found)
    }

    fn not(&mut self, key: &str, found: &str, expected: &str) {
        let place = self.get(key).map_or_else(Default::default, |id| self.document.node(id).place);
        self.errors.push(format!("{place}: `{key}` is `{found}`, expected {expected}"));
    }

    fn word(&mut self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let word = self.document.text(value).map(|word| word.trim().to_lowercase());
        if word.is_none() {
            self.not(key, "not a string", "a string");
        }
        word
    }

    fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        let value = self.get(key)?;
        let text = |item: &Id| self.document.text(*item).map(str::to_owned);
        let texts = self.document.list(value).and_then(|items| items.iter().map(text).collect());
        if texts.is_none() {
            self.not(key, "something else", "a list of strings");
        }
        texts
    }

    fn regexes(&mut self, key: &str, whole: bool) -> Option<Vec<Whole>> {
        let texts = self.texts(key)?;
        let mut built = Vec::new();
        for text in texts {
            match regex(&text, whole) {
                Some(regex) => built.push(Whole { text, regex }),
                None => self.not(key, &text, "regular expressions"),
            }
        }
        Some(built)
    }

    fn unknown_keys(&self) -> Vec<String> {
        let mut names: Vec<(String, Id)> = Vec::new();
        for (key, value) in self.document.map(self.root).unwrap_or_default() {
            let Some(name) = self.document.text(*key) else { continue };
            names.push((name.to_owned(), *key));
            if !KEYS.iter().any(|known| known.starts_with(&format!("{name}."))) {
                continue;
            }
            for (inner, _) in self.document.map(*value).unwrap_or_default() {
                names.extend(
                    self.document
                        .text(*inner)
                        .map(|inner_name| (format!("{name}.{inner_name}"), *inner)),
                );
            }
        }
        names.retain(|(name, _)| !KEYS.contains(&name.as_str()));
        let place = |key: Id| self.document.node(key).place;
        names
            .into_iter()
            .map(|(name, key)| format!("{}: unknown key `{name}`", place(key)))
            .collect()
    }
}

fn regex(text: &str, whole: bool) -> Option<Regex> {
    let build = |pattern: &str| {
        RegexBuilder::new(pattern).unicode(false).size_limit(MAX_REGEX).build().ok()
    };
    // Joined with ours, a pattern with an extra bracket could become valid.
    let alone = build(text)?;
    if whole { build(&format!("^(?:{text})$")) } else { Some(alone) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_of_the_own_shape() {
        let policy = HookPolicy::read(
            "version: \"1\"\ncommand:\n  readonly_allowlist: ['^ls( .*)?$']\n  destructive_patterns: ['rm']\n  on_unparsable: SAFE\nmcp:\n  default_classification: safe\n  readonly_tools: [mcp__docs__search, docs]\ntools: {readonly: [Peek], write: [Poke]}\nfailure_mode: CLOSED\non_out_of_scope_write: revert\nmutation_class_check: refuse\nwrite_metadata: required\nmutation_classes: [BUG_FIX]\nfoo: 1\nmcp2: {}\n",
        );
        assert_eq!(policy.broken, None);
        assert_eq!(policy.mcp_default, Class::Safe);
        assert_eq!(policy.failure_mode, FailureMode::Closed);
        assert_eq!(policy.on_out_of_scope_write, OutOfScopeWrite::Revert);
        assert_eq!(policy.mutation_class_check, MutationClassCheck::Refuse);
        assert_eq!(policy.write_metadata, WriteMetadata::Required);
        assert_eq!(policy.classes(), ["BUG_FIX"]);
        assert_eq!(policy.warnings.len(), 4, "{:?}", policy.warnings);
        let empty = HookPolicy::read("# nothing\n");
        assert_eq!(empty.failure_mode, FailureMode::Open);
        assert_eq!(empty.on_out_of_scope_write, OutOfScopeWrite::Report);
        assert_eq!(empty.mutation_class_check, MutationClassCheck::Record);
        assert_eq!(empty.classes().len(), 7);
        assert!(empty.readonly.is_none());
    }

    #[test]
    fn what_cannot_be_understood_allows_nothing_and_says_where() {
        for (text, word) in [
            ("command: [", "line"),
            ("command:\n  readonly_allowlist: ['(']\n", "line 2"),
            ("command:\n  readonly_allowlist: ['a) | (b']\n", "line 2"),
            ("command:\n  readonly_allowlist: ['(?=x)ls']\n", "line 2"),
            ("command:\n  readonly_allowlist: '.*'\n", "line 2"),
            ("failure_mode: opne\n", "line 1"),
            ("mutation_classes: [BUGFIX]\n", "BUGFIX"),
            ("- a\n", "keys"),
            ("destructive_command_patterns: ['[']\n", "line 1"),
            (&format!("command:\n  readonly_allowlist: ['{}']\n", "(a{1000}){1000}"), "line 2"),
        ] {
            let policy = HookPolicy::read(text);
            let why = policy.broken.as_deref().unwrap_or_else(|| panic!("{text}"));
            assert!(why.contains(word), "{why}");
            assert_eq!(policy.failure_mode, FailureMode::Closed);
            assert!(policy.readonly.is_some_and(|list| list.is_empty()));
        }
        let narrowed = HookPolicy::read(
            "failure_mode: x\ntools: {write: [Poke], readonly: [Peek]}\nwrite_metadata: required\n",
        );
        assert_eq!(narrowed.tools_write, ["Poke"], "what narrows still counts");
        assert_eq!(narrowed.write_metadata, WriteMetadata::Required);
        assert_eq!(narrowed.tools_readonly, [""; 0]);
    }
}
