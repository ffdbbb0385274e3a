//! The roles of the scopes that grammars use.

use std::sync::OnceLock;

use syntect::parsing::{Scope, ScopeStack};

use crate::theme::Role;

/// Scopes that give all that is in them one role, whatever it is.
const WHOLE: [(&str, Role); 5] = [
    ("comment", Role::Comment),
    ("meta.mapping.key.json", Role::Attribute),
    ("markup.heading", Role::Heading),
    ("markup.inserted", Role::Success),
    ("markup.deleted", Role::Error),
];

/// The other scopes by their beginning. The innermost that is here counts, and the first entry that fits it.
const ROLES: [(&str, Role); 55] = [
    ("constant.character.escape", Role::Escape),
    ("constant.other.placeholder", Role::Escape),
    ("constant.numeric", Role::Number),
    ("keyword.other.unit", Role::Number),
    ("constant", Role::Constant),
    ("string.regexp", Role::Escape),
    ("string", Role::String),
    ("punctuation.definition.string", Role::String),
    ("entity.name.function", Role::Function),
    ("entity.name.macro", Role::Function),
    ("variable.function", Role::Function),
    ("support.function", Role::Function),
    ("support.macro", Role::Function),
    ("meta.function-call.identifier", Role::Function),
    ("entity.name.tag.yaml", Role::Attribute),
    ("entity.name.tag.toml", Role::Attribute),
    ("entity.name.table", Role::Type),
    ("entity.name.tag", Role::Tag),
    ("punctuation.definition.tag", Role::Tag),
    ("entity.other.attribute-name", Role::Attribute),
    ("support.type.property-name", Role::Attribute),
    ("variable.other.property", Role::Attribute),
    ("variable.annotation", Role::Attribute),
    ("variable.parameter.option", Role::Attribute),
    ("punctuation.definition.annotation", Role::Attribute),
    ("meta.annotation", Role::Attribute),
    ("meta.attribute", Role::Attribute),
    ("entity.name.class", Role::Type),
    ("entity.name.struct", Role::Type),
    ("entity.name.enum", Role::Type),
    ("entity.name.trait", Role::Type),
    ("entity.name.interface", Role::Type),
    ("entity.name.impl", Role::Type),
    ("entity.name.type", Role::Type),
    ("entity.name.namespace", Role::Type),
    ("entity.name.module", Role::Type),
    ("entity.other.inherited-class", Role::Type),
    ("storage.type.numeric", Role::Type),
    ("support.type", Role::Type),
    ("support.class", Role::Type),
    ("variable.type", Role::Type),
    ("support.constant", Role::Constant),
    ("variable.language", Role::Constant),
    ("entity.name.constant", Role::Constant),
    ("keyword.operator.word", Role::Keyword),
    ("keyword.operator", Role::Operator),
    ("keyword", Role::Keyword),
    ("storage", Role::Keyword),
    ("variable", Role::Variable),
    ("markup.raw", Role::Code),
    ("markup.underline.link", Role::Link),
    ("markup.quote", Role::Quote),
    ("entity.name.section", Role::Heading),
    ("meta.diff", Role::Hunk),
    ("punctuation", Role::Punctuation),
];

type Table = Vec<(Scope, Role)>;

/// The role of what the scopes hold.
pub(super) fn role(stack: &ScopeStack) -> Role {
    static WHOLE_TABLE: OnceLock<Table> = OnceLock::new();
    static ROLE_TABLE: OnceLock<Table> = OnceLock::new();
    let whole = WHOLE_TABLE.get_or_init(|| table(&WHOLE));
    let roles = ROLE_TABLE.get_or_init(|| table(&ROLES));
    let scopes = stack.as_slice();
    let found = scopes.iter().find_map(|scope| lookup(whole, *scope));
    found
        .or_else(|| scopes.iter().rev().find_map(|scope| lookup(roles, *scope)))
        .unwrap_or(Role::Text)
}

fn lookup(table: &Table, scope: Scope) -> Option<Role> {
    table.iter().find(|(prefix, _)| prefix.is_prefix_of(scope)).map(|(_, role)| *role)
}

fn table(entries: &[(&str, Role)]) -> Table {
    entries.iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_of_the_tables_counts() {
        assert_eq!(table(&WHOLE).len(), WHOLE.len());
        assert_eq!(table(&ROLES).len(), ROLES.len());
        for (at, (prefix, _)) in ROLES.iter().enumerate() {
            let hidden = ROLES[..at]
                .iter()
                .any(|(before, _)| *before == *prefix || prefix.starts_with(&format!("{before}.")));
            assert!(!hidden, "an entry before {prefix} takes all that it would");
        }
    }
}
