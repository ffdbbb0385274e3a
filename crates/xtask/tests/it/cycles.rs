//! The modules of a crate import each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};

use crate::files::repository;
use crate::{none_of, read};

/// The crates that must have no cycles.
const CRATES: [&str; 8] =
    ["web", "trace", "intents", "config", "extensions", "gate", "engine", "hosts"];

/// Which top-level modules each top-level module imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// The source without tests, which are at the end, and without comments.
fn product(source: &str) -> String {
    let product = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = product.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The names after a path such as `crate::`: one, or those of a list in braces.
fn named_after(source: &str, path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = Vec::new();
    for (at, _) in source.match_indices(path) {
        // `super::` in `super::super::` is only a step, and `mycrate::` is not ours.
        let before = source[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &source[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let mut depth = 0;
                let mut item = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => names.push(word(&std::mem::take(&mut item))),
                        _ => {}
                    }
                    if c != ',' || depth > 0 {
                        item.push(c);
                    }
                }
                names.push(word(&item));
            }
            None => names.push(word(rest)),
        }
    }
    names
}

/// The modules that a file imports, given its path below `src`.
fn imported(path: &str, source: &str) -> BTreeSet<String> {
    let source = product(source);
    let depth = path.matches('/').count() + 1;
    let to_root = "super::".repeat(depth);
    let names = named_after(&source, "crate::").into_iter();
    names.chain(named_after(&source, &to_root)).filter(|name| !name.is_empty()).collect()
}

/// A path from a module back to itself, if there is one.
fn cycle(imports: &Imports) -> Option<Vec<String>> {
    fn visit(
        at: &str,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
        imports: &Imports,
    ) -> Option<Vec<String>> {
        if let Some(start) = way.iter().position(|known| known == at) {
            let mut found = way[start..].to_vec();
            found.push(at.to_owned());
            return Some(found);
        }
        if !done.insert(at.to_owned()) {
            return None;
        }
        way.push(at.to_owned());
        for next in imports.get(at).into_iter().flatten() {
            if let Some(found) = visit(next, way, done, imports) {
                return Some(found);
            }
        }
        way.pop();
        None
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|module| visit(module, &mut Vec::new(), &mut done, imports))
}

#[test]
fn imports_are_found_in_every_spelling() {
    let source = "use crate::a::X;\nuse crate::{b, c::{Y, Z}};\n// crate::no\nuse super::d;\nfn f() { crate::e::g() }\n#[cfg(test)]\nmod tests { use crate::t; }";
    let found: Vec<String> = imported("m.rs", source).into_iter().collect();
    assert_eq!(found, ["a", "b", "c", "d", "e"]);
    let deeper = "use super::sibling;\nuse super::super::d;\n";
    assert_eq!(imported("m/part.rs", deeper).into_iter().collect::<Vec<_>>(), ["d"]);
}

#[test]
fn a_cycle_is_found_and_a_diamond_is_none() {
    let graph = |edges: &[(&str, &str)]| {
        let mut imports = Imports::new();
        for (from, to) in edges {
            imports.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            imports.entry((*to).to_owned()).or_default();
        }
        imports
    };
    assert_eq!(cycle(&graph(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])), None);
    let found = cycle(&graph(&[("x", "a"), ("a", "b"), ("b", "c"), ("c", "a")])).unwrap();
    assert_eq!(found, ["a", "b", "c", "a"]);
}

#[test]
fn no_module_imports_itself_by_way_of_others() -> Result<()> {
    let files = repository()?;
    let mut found = Vec::new();
    for name in CRATES {
        let mut imports = Imports::new();
        let sources = format!("crates/{name}/src/");
        for path in files.iter().filter(|path| path.ends_with(".rs")) {
            let Some(below) = path.strip_prefix(&sources) else { continue };
            let module = below.split('/').next().unwrap_or(below).trim_end_matches(".rs");
            if ["lib", "main"].contains(&module)
                || below.split('/').any(|part| part.trim_end_matches(".rs") == "tests")
            {
                continue;
            }
            let of = imports.entry(module.to_owned()).or_default();
            of.extend(imported(below, &read(path)?).into_iter().filter(|other| other != module));
        }
        ensure!(!imports.is_empty(), "{name} has no modules");
        let modules: BTreeSet<String> = imports.keys().cloned().collect();
        for of in imports.values_mut() {
            of.retain(|other| modules.contains(other));
        }
        found.extend(cycle(&imports).map(|way| format!("{name}: {}", way.join(" → "))));
    }
    none_of("import cycles", &found)
}
