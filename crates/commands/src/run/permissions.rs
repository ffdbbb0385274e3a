//! `/permissions`: the rules with their sources, recent denials, adding and removing.

use ona_config::settings::{Saved, file_for};
use ona_engine::LiveChange;
use ona_front::{Choice, Menu, MenuItem, Reply};
use ona_policy::{Anchors, Rule, Scope, Source};
use ona_types::{Behavior, PermissionUpdate, RuleValue, UpdateDestination};

use super::confirm::{YES, confirm, confirmed};
use super::{beginning, first_word};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

const BEHAVIOURS: [(Behavior, &str); 3] =
    [(Behavior::Allow, "allow"), (Behavior::Ask, "ask"), (Behavior::Deny, "deny")];

/// `/permissions`, `/permissions add allow|ask|deny RULE [in user|project|local|session]`, `/permissions remove …`,
/// `/permissions denied`.
pub(super) fn permissions<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    match first_word(arguments) {
        ("", _) => Ok(Act::menu(overview(desk))),
        ("add", rest) => add(desk, rest),
        ("remove", rest) => remove(desk, rest),
        ("denied", _) => denied(desk),
        (word @ ("allow" | "ask" | "deny"), "") => Ok(Act::menu(listed(desk, word))),
        (word, rest) => {
            let known = ["add", "remove", "denied", "allow", "ask", "deny"];
            Ok(Act::error(format!(
                "unknown argument `{}`: {}",
                format!("{word} {rest}").trim_end(),
                known.join(", ")
            )))
        }
    }
}

fn behaviour(word: &str) -> Option<Behavior> {
    BEHAVIOURS.iter().find(|(_, name)| *name == word).map(|(behaviour, _)| *behaviour)
}

fn rules<O: Outside>(desk: &Desk<O>, wanted: Behavior) -> impl Iterator<Item = &Rule> {
    desk.session
        .gate
        .governance
        .permissions
        .rules()
        .iter()
        .filter(move |rule| rule.behavior == wanted)
}

fn overview<O: Outside>(desk: &Desk<O>) -> Menu {
    let mut items: Vec<MenuItem> = BEHAVIOURS
        .iter()
        .map(|(behaviour, word)| {
            let all: Vec<&Rule> = rules(desk, *behaviour).collect();
            let own = all.iter().filter(|rule| rule.source.scope == Scope::Builtin).count();
            MenuItem {
                label: format!("{word} rules"),
                detail: format!("{}, {own} of them built in", all.len()),
                choice: Choice::Command { line: format!("/permissions {word}") },
                ..MenuItem::default()
            }
        })
        .collect();
    for (_, word) in BEHAVIOURS {
        items.push(MenuItem {
            label: format!("Add a rule: {word}"),
            detail: "such as Bash(git push *) or Edit(src/**)".to_owned(),
            choice: Choice::Type {
                label: format!("{word} rule"),
                line: format!("/permissions add {word} "),
                initial: String::new(),
            },
            ..MenuItem::default()
        });
    }
    items.push(MenuItem {
        label: "Add a working directory".to_owned(),
        detail: "for this session".to_owned(),
        choice: Choice::Type {
            label: "Directory".to_owned(),
            line: "/add-dir ".to_owned(),
            initial: String::new(),
        },
        ..MenuItem::default()
    });
    items.push(MenuItem {
        label: "Recently denied".to_owned(),
        choice: Choice::Command { line: "/permissions denied".to_owned() },
        ..MenuItem::default()
    });
    let place = desk.session.gate.place();
    let dirs: Vec<String> = std::iter::once(&place.project_dir)
        .chain(&place.additional_dirs)
        .map(|dir| format!("- `{}`", dir.display()))
        .collect();
    Menu {
        title: "Permissions".to_owned(),
        text: format!(
            "Mode: {}. deny comes before ask, ask before allow.\n\nWorking directories:\n\n{}",
            desk.mode(),
            dirs.join("\n")
        ),
        items,
        ..Menu::default()
    }
}

fn listed<O: Outside>(desk: &Desk<O>, word: &str) -> Menu {
    let wanted = behaviour(word).unwrap_or(Behavior::Allow);
    let mut items: Vec<MenuItem> = rules(desk, wanted)
        .map(|rule| {
            let place = match rule.source.scope {
                Scope::User => Some(("user", UpdateDestination::UserSettings)),
                Scope::Project => Some(("project", UpdateDestination::ProjectSettings)),
                Scope::Local => Some(("local", UpdateDestination::LocalSettings)),
                Scope::Session => Some(("session", UpdateDestination::Session)),
                _ => None,
            };
            // A scope has several files, and only one of them is written.
            let roots = desk.session.gate.governance.roots();
            let is_written = |to| file_for(to, roots) == rule.source.file;
            let place = place.filter(|(_, to)| is_written(*to)).map(|(place, _)| place);
            let choice = match place {
                Some(place) => Choice::Command {
                    line: format!("/permissions remove {word} {} in {place}", rule.text),
                },
                None => Choice::Close,
            };
            let remove = match (place, rule.source.scope) {
                (Some(_), _) => "; Enter removes it",
                (None, Scope::Builtin) => "; always applies",
                (None, Scope::Managed) => "; your organisation decides it",
                (None, Scope::Cli) => "; start ona without that option",
                (None, _) => "; edit it there",
            };
            MenuItem {
                label: rule.text.clone(),
                detail: format!("{}{remove}", rule.source),
                choice,
                ..MenuItem::default()
            }
        })
        .collect();
    items.push(MenuItem {
        label: "Add a rule".to_owned(),
        choice: Choice::Type {
            label: format!("{word} rule"),
            line: format!("/permissions add {word} "),
            initial: String::new(),
        },
        ..MenuItem::default()
    });
    items.push(MenuItem {
        label: "Back".to_owned(),
        choice: Choice::Command { line: "/permissions".to_owned() },
        ..MenuItem::default()
    });
    Menu { title: format!("{word} rules"), items, ..Menu::default() }
}

fn denied<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let rows = desk.store().denials(desk.session_id(), 20)?;
    if rows.is_empty() {
        return Ok(Act::plain("nothing was denied in this session"));
    }
    let items = rows.iter().map(|row| MenuItem {
        label: format!("{}: {}", row.tool, beginning(&row.reason, 70)),
        detail: format!("{} {}", row.stage, row.at),
        choice: Choice::Command { line: format!("/why {}", row.tool_use_id) },
        ..MenuItem::default()
    });
    Ok(Act::menu(Menu {
        title: "Recently denied".to_owned(),
        items: items.collect(),
        ..Menu::default()
    }))
}

/// How a rule is added or removed.
const HOW: &str = "allow|ask|deny RULE [in user|project|local|session]";

/// A rule to add or to remove.
struct Named<'a> {
    behavior: Behavior,
    /// The behaviour as it was typed.
    word: &'a str,
    text: &'a str,
    destination: UpdateDestination,
    /// The file, or the session.
    place: String,
    /// What is odd about it.
    warning: Option<String>,
}

impl Named<'_> {
    /// Whether a rule is this one, in the same place.
    fn is_held_by(&self, rule: &Rule) -> bool {
        let place = rule.source.file.as_ref().map(|held| held.display().to_string());
        rule.behavior == self.behavior
            && rule.text == self.text
            && place.unwrap_or_else(|| SESSION.to_owned()) == self.place
    }
}

/// The place of rules that are in no file.
const SESSION: &str = "this session";

/// The rule that arguments name.
fn named<'a, O: Outside>(
    desk: &Desk<O>,
    verb: &str,
    arguments: &'a str,
) -> Result<Named<'a>, CommandError> {
    let said = |text: String| Err(CommandError::Said(text));
    let (word, rest) = first_word(arguments);
    if word.is_empty() {
        return said(format!("which rule? /permissions {verb} {HOW}"));
    }
    let Some(behavior) = behaviour(word) else {
        return said(format!(
            "expected allow, ask or deny, not `{word}`: /permissions {verb} {HOW}"
        ));
    };
    let (text, scope) = scoped(rest);
    let destination = match scope {
        None | Some("local") => UpdateDestination::LocalSettings,
        Some("user") => UpdateDestination::UserSettings,
        Some("project") => UpdateDestination::ProjectSettings,
        Some("session") => UpdateDestination::Session,
        Some("managed") => {
            return said(
                "managed rules are your organisation's: ask your administrator".to_owned(),
            );
        }
        Some(other) => {
            return said(format!("unknown scope `{other}`: user, project, local or session"));
        }
    };
    if text.is_empty() {
        return said(format!(
            "which rule? /permissions {verb} {word} RULE, such as Bash(git push *)"
        ));
    }
    let anywhere = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
    let warning = match Rule::parse(text, behavior, Source::of(Scope::Local), &anywhere) {
        Ok((_, warning)) => warning,
        Err(error) => return said(format!("invalid rule `{text}`: {error}")),
    };
    let file = file_for(destination, desk.session.gate.governance.roots());
    let place = file.map_or_else(|| SESSION.to_owned(), |file| file.display().to_string());
    Ok(Named { behavior, word, text, destination, place, warning })
}

/// A rule, and the scope after it if there is one. What stands in parentheses is no scope.
fn scoped(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(" in ") {
        Some((rule, scope)) if !scope.contains([')', ' ']) => (rule.trim_end(), Some(scope)),
        _ => (text, None),
    }
}

/// Adds a rule. It is written before anything is said.
fn add<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let rule = named(desk, "add", arguments)?;
    let Named { behavior, word, text, destination, place, warning } = &rule;
    let is_there = rules(desk, *behavior).any(|held| rule.is_held_by(held));
    let (behavior, destination) = (*behavior, *destination);
    let update =
        PermissionUpdate::AddRules { rules: vec![rule_value(text)], behavior, destination };
    let saved = save(desk, &update)?;
    let is_unchanged = |saved: &Saved| saved.before.is_some() && saved.before == saved.after;
    if saved.as_ref().map_or(is_there, is_unchanged) {
        return Ok(Act::plain(format!("already in {place}: {word} {text}")));
    }
    let mut said = format!("added to {place}: {word} {text}");
    let before = BEHAVIOURS.iter().filter(|(other, _)| comes_before(*other, behavior));
    for (other, name) in before {
        for first in rules(desk, *other).filter(|first| first.text == *text) {
            let source = &first.source;
            said.push_str(&format!("\nno effect: {name} {text} comes first ({source})"));
        }
    }
    if let Some(warning) = warning {
        said.push_str(&format!(
            "\nwarning: {warning}; the rule matches nothing until there is one"
        ));
    }
    Ok(changed(update, saved, said))
}

/// Removes a rule, after a question.
fn remove<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let (is_confirmed, arguments) = confirmed(arguments);
    let rule = named(desk, "remove", arguments)?;
    let Named { behavior, word, text, destination, place, .. } = &rule;
    let (behavior, destination) = (*behavior, *destination);
    let others = || {
        let same = rules(desk, behavior).filter(|other| other.text == *text);
        same.filter(|other| !rule.is_held_by(other)).map(|other| other.source.to_string())
    };
    if !rules(desk, behavior).any(|held| rule.is_held_by(held)) {
        let mut why = format!("rule not found in {place}: {word} {text}");
        for source in others() {
            why.push_str(&format!("\nthere is one in {source}"));
        }
        return Ok(Act::error(why));
    }
    if !is_confirmed {
        let line = format!("/permissions remove {YES} {arguments}");
        let about = format!("It is in `{place}`.");
        return Ok(confirm(format!("Remove this rule: {arguments}?"), about, line));
    }
    let update =
        PermissionUpdate::RemoveRules { rules: vec![rule_value(text)], behavior, destination };
    let saved = save(desk, &update)?;
    let mut said = format!("removed from {place}: {word} {text}");
    for source in others() {
        said.push_str(&format!("\nthe same rule still applies: {source}"));
    }
    Ok(changed(update, saved, said))
}

/// Writes a change of the rules.
fn save<O: Outside>(
    desk: &Desk<O>,
    update: &PermissionUpdate,
) -> Result<Option<Saved>, CommandError> {
    let saved = desk.session.gate.governance.save(update);
    saved.map_err(|error| CommandError::Said(format!("nothing was changed: {error}")))
}

fn changed(update: PermissionUpdate, saved: Option<Saved>, text: String) -> Act {
    Act::Change(Box::new(LiveChange::Saved(Box::new((update, saved)))), Reply::Plain { text })
}

/// Whether rules of one kind are asked before those of the other.
fn comes_before(one: Behavior, other: Behavior) -> bool {
    let rank = |behavior: Behavior| match behavior {
        Behavior::Deny => 0,
        Behavior::Ask => 1,
        Behavior::Allow => 2,
    };
    rank(one) < rank(other)
}

/// A rule in two parts: the tool, and what stands in parentheses.
fn rule_value(text: &str) -> RuleValue {
    match text.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((tool, content)) => {
            RuleValue { tool_name: tool.to_owned(), rule_content: Some(content.to_owned()) }
        }
        None => RuleValue { tool_name: text.to_owned(), rule_content: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_stands_after_the_rule() {
        assert_eq!(scoped("Bash(ls) in user"), ("Bash(ls)", Some("user")));
        assert_eq!(scoped("Bash(grep x in y)"), ("Bash(grep x in y)", None));
        assert_eq!(scoped("Bash(grep x in y) in nowhere"), ("Bash(grep x in y)", Some("nowhere")));
        assert_eq!(scoped("Read"), ("Read", None));
    }
}
