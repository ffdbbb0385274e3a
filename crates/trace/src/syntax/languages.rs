//! The languages: how their files are named, and which nodes of their grammars define something.

use tree_sitter::Language as Grammar;

use crate::entry::NodeKind::{self, Class, Definition, Enum, Function, Interface, Type};

/// Who can see a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// What says `pub`.
    RustPub,
    /// What does not start with an underscore.
    NoUnderscore,
    /// What is exported, and the members of it that are not private.
    Exported,
    /// What starts with a capital letter.
    Capital,
    /// What says `public` or `protected`, and the members of interfaces.
    SaysPublic,
    /// What does not say `private`.
    NotPrivate,
    /// What does not say `static`.
    NotStatic,
    /// Everything.
    All,
}

/// One language.
pub(super) struct Language {
    pub(super) name: &'static str,
    extensions: &'static [&'static str],
    /// Names in a `#!` line.
    interpreters: &'static [&'static str],
    pub(super) grammar: fn() -> Grammar,
    pub(super) definitions: &'static [(&'static str, NodeKind)],
    pub(super) visibility: Visibility,
}

const JAVASCRIPT: &[(&str, NodeKind)] = &[
    ("function_declaration", Function),
    ("generator_function_declaration", Function),
    ("class_declaration", Class),
    ("method_definition", Function),
    ("variable_declarator", Function),
    ("abstract_class_declaration", Class),
    ("interface_declaration", Interface),
    ("enum_declaration", Enum),
    ("type_alias_declaration", Type),
    ("internal_module", Definition),
    ("module", Definition),
    ("function_signature", Function),
    ("method_signature", Function),
    ("abstract_method_signature", Function),
];

const C: &[(&str, NodeKind)] = &[
    ("function_definition", Function),
    ("struct_specifier", Class),
    ("union_specifier", Class),
    ("class_specifier", Class),
    ("enum_specifier", Enum),
    ("type_definition", Type),
    ("alias_declaration", Type),
    ("concept_definition", Type),
    ("namespace_definition", Definition),
    ("preproc_def", Definition),
    ("preproc_function_def", Definition),
];

/// All of them. The first that names the extension or the interpreter is taken.
const LANGUAGES: &[Language] = &[
    Language {
        name: "rust",
        extensions: &["rs"],
        interpreters: &[],
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        definitions: &[
            ("function_item", Function),
            ("function_signature_item", Function),
            ("struct_item", Class),
            ("union_item", Class),
            ("enum_item", Enum),
            ("trait_item", Interface),
            ("impl_item", Definition),
            ("type_item", Type),
            ("mod_item", Definition),
            ("const_item", Definition),
            ("static_item", Definition),
            ("macro_definition", Definition),
        ],
        visibility: Visibility::RustPub,
    },
    Language {
        name: "python",
        extensions: &["py", "pyi", "pyw"],
        interpreters: &["python", "python3", "python2"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
        definitions: &[("function_definition", Function), ("class_definition", Class)],
        visibility: Visibility::NoUnderscore,
    },
    Language {
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        interpreters: &["ts-node", "tsx", "deno"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        definitions: JAVASCRIPT,
        visibility: Visibility::Exported,
    },
    Language {
        name: "tsx",
        extensions: &["tsx"],
        interpreters: &[],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        definitions: JAVASCRIPT,
        visibility: Visibility::Exported,
    },
    Language {
        // Whatever is JavaScript is TypeScript with JSX as well, and a grammar takes half a megabyte.
        name: "javascript",
        extensions: &["js", "jsx", "mjs", "cjs"],
        interpreters: &["node", "bun"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        definitions: JAVASCRIPT,
        visibility: Visibility::Exported,
    },
    Language {
        name: "go",
        extensions: &["go"],
        interpreters: &[],
        grammar: || tree_sitter_go::LANGUAGE.into(),
        definitions: &[
            ("function_declaration", Function),
            ("method_declaration", Function),
            ("method_elem", Function),
            ("type_spec", Type),
            ("type_alias", Type),
        ],
        visibility: Visibility::Capital,
    },
    Language {
        name: "java",
        extensions: &["java"],
        interpreters: &[],
        grammar: || tree_sitter_java::LANGUAGE.into(),
        definitions: &[
            ("class_declaration", Class),
            ("record_declaration", Class),
            ("interface_declaration", Interface),
            ("annotation_type_declaration", Interface),
            ("enum_declaration", Enum),
            ("method_declaration", Function),
            ("constructor_declaration", Function),
        ],
        visibility: Visibility::SaysPublic,
    },
    Language {
        // What is C is nearly always C++ as well.
        name: "c",
        extensions: &["c"],
        interpreters: &[],
        grammar: || tree_sitter_cpp::LANGUAGE.into(),
        definitions: C,
        visibility: Visibility::NotStatic,
    },
    Language {
        // A header may be either.
        name: "cpp",
        extensions: &["cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "ipp"],
        interpreters: &[],
        grammar: || tree_sitter_cpp::LANGUAGE.into(),
        definitions: C,
        visibility: Visibility::NotStatic,
    },
    Language {
        name: "ruby",
        extensions: &["rb", "rake", "gemspec"],
        interpreters: &["ruby"],
        grammar: || tree_sitter_ruby::LANGUAGE.into(),
        definitions: &[
            ("method", Function),
            ("singleton_method", Function),
            ("class", Class),
            ("singleton_class", Class),
            ("module", Definition),
        ],
        visibility: Visibility::All,
    },
    #[cfg(feature = "c-sharp")]
    Language {
        name: "csharp",
        extensions: &["cs"],
        interpreters: &[],
        grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
        definitions: &[
            ("class_declaration", Class),
            ("struct_declaration", Class),
            ("record_declaration", Class),
            ("interface_declaration", Interface),
            ("enum_declaration", Enum),
            ("delegate_declaration", Type),
            ("method_declaration", Function),
            ("constructor_declaration", Function),
            ("local_function_statement", Function),
            ("property_declaration", Definition),
            ("namespace_declaration", Definition),
        ],
        visibility: Visibility::SaysPublic,
    },
    Language {
        name: "php",
        extensions: &["php", "phtml"],
        interpreters: &["php"],
        grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
        definitions: &[
            ("function_definition", Function),
            ("method_declaration", Function),
            ("class_declaration", Class),
            ("trait_declaration", Class),
            ("interface_declaration", Interface),
            ("enum_declaration", Enum),
        ],
        visibility: Visibility::NotPrivate,
    },
    Language {
        name: "bash",
        extensions: &["sh", "bash", "zsh", "ksh"],
        interpreters: &["bash", "sh", "zsh", "dash", "ksh"],
        grammar: || tree_sitter_bash::LANGUAGE.into(),
        definitions: &[("function_definition", Function)],
        visibility: Visibility::All,
    },
];

/// Languages whose grammar this build leaves out, by the extensions of their files, and the feature that brings it.
#[cfg(not(feature = "c-sharp"))]
const LEFT_OUT: &[(&str, &str)] = &[("cs", "C#")];
#[cfg(feature = "c-sharp")]
const LEFT_OUT: &[(&str, &str)] = &[];

/// The language of a file that this build could read with another grammar in it.
pub fn left_out(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    let known = LEFT_OUT.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    known.map(|(_, language)| *language)
}

/// The language of a file: by its name, or where that says nothing by its first line.
pub(super) fn of(path: &str, source: &[u8]) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if let Some((stem, extension)) = name.rsplit_once('.')
        && !stem.is_empty()
    {
        let extension = extension.to_ascii_lowercase();
        return LANGUAGES.iter().find(|language| language.extensions.contains(&extension.as_str()));
    }
    let first = source.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let first = std::str::from_utf8(first).ok()?;
    let mut words = first.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = words.find(|word| *word != "env" && !word.starts_with('-'))?;
    LANGUAGES.iter().find(|language| language.interpreters.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_one_of_its_grammar() {
        for language in LANGUAGES {
            let grammar = (language.grammar)();
            let known = language
                .definitions
                .iter()
                .filter(|(kind, _)| grammar.id_for_node_kind(kind, true) != 0)
                .count();
            // JavaScript shares the table of TypeScript, C that of C++; every other table is exact.
            let shared = ["javascript", "c"].contains(&language.name);
            assert!(
                known == language.definitions.len() || shared && known >= 5,
                "{}",
                language.name
            );
        }
    }

    #[test]
    fn named_by_extension_or_first_line() {
        let name = |path, source: &[u8]| of(path, source).map(|language| language.name);
        assert_eq!(name("src/lib.rs", b""), Some("rust"));
        assert_eq!(name("A.CPP", b""), Some("cpp"));
        assert_eq!(name("bin/run", b"#!/usr/bin/env -S python3 -u\n"), Some("python"));
        assert_eq!(name("run", b"#!/bin/sh\n"), Some("bash"));
        assert_eq!(name("notes.txt", b"#!/bin/sh\n"), None);
        assert_eq!(name(".rs", b""), None);
    }
}
