//! `/permissions`: the rules with their sources, recent denials, adding and removing.

use ona_config::settings::file_for;
use ona_front::{Choice, Menu, MenuItem, Reply};
use ona_policy::{Anchors, Rule, Scope, Source};
use ona_types::{Behavior, PermissionUpdate, RuleValue, UpdateDestination};

use super::confirm::{YES, confirm, confirmed};
use super::{beginning, first_word};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;
use ona_engine::LiveChange;

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
        ("add", rest) => Ok(change(desk, rest, true)),
        ("remove", rest) => Ok(remove(desk, rest)),
        ("denied", _) => denied(desk),
        (word @ ("allow" | "ask" | "deny"), "") => Ok(Act::menu(listed(desk, word))),
        (word, rest) => {
            let known = ["add", "remove", "denied", "allow", "ask", "deny"];
            Ok(Act::error(format!("unknown argument `{word} {rest}`: {}", known.join(", "))))
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
            desk.mode,
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
            let remove = if place.is_some() { "; Enter removes it" } else { "; edit it there" };
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

/// Removes a rule, after a question.
fn remove<O: Outside>(desk: &Desk<O>, arguments: &str) -> Act {
    let (is_confirmed, arguments) = confirmed(arguments);
    let act = change(desk, arguments, false);
    match (&act, is_confirmed) {
        (Act::Change(..), false) => {
            let line = format!("/permissions remove {YES} {arguments}");
            confirm(format!("Remove this rule: {arguments}?"), "", line)
        }
        _ => act,
    }
}

fn change<O: Outside>(desk: &Desk<O>, arguments: &str, adds: bool) -> Act {
    let (word, rest) = first_word(arguments);
    let Some(behavior) = behaviour(word) else {
        return Act::error(format!("expected allow, ask or deny, not `{word}`"));
    };
    let places = [
        (" in user", UpdateDestination::UserSettings),
        (" in project", UpdateDestination::ProjectSettings),
        (" in local", UpdateDestination::LocalSettings),
        (" in session", UpdateDestination::Session),
    ];
    let found = places.iter().find_map(|(end, place)| Some((rest.strip_suffix(end)?, *place)));
    let (text, destination) = found.unwrap_or((rest, UpdateDestination::LocalSettings));
    let anywhere = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
    if let Err(error) = Rule::parse(text, behavior, Source::of(Scope::Local), &anywhere) {
        return Act::error(format!("invalid rule `{text}`: {error}"));
    }
    let governance = &desk.session.gate.governance;
    if governance.managed_rules_only() {
        return Act::error(
            "only the rules of managed settings apply (allowManagedPermissionRulesOnly)",
        );
    }
    let file = match destination {
        UpdateDestination::Session => "this session".to_owned(),
        other => file_for(other, governance.roots())
            .map(|file| file.display().to_string())
            .unwrap_or_default(),
    };
    let held = |rule: &&Rule| {
        let place = rule.source.file.as_ref().map(|held| held.display().to_string());
        rule.text == text && place.unwrap_or_else(|| "this session".to_owned()) == file
    };
    if !adds && !rules(desk, behavior).any(|rule| held(&rule)) {
        return Act::error(format!("rule not found in {file}: {word} {text}"));
    }
    let values = vec![rule_value(text)];
    let (update, mut said) = match adds {
        true => (
            PermissionUpdate::AddRules { rules: values, behavior, destination },
            format!("added to {file}: {word} {text}"),
        ),
        false => (
            PermissionUpdate::RemoveRules { rules: values, behavior, destination },
            format!("removed from {file}: {word} {text}"),
        ),
    };
    let others = BEHAVIOURS.iter().flat_map(|(other, name)| {
        let same = rules(desk, *other).filter(|rule| rule.text == text);
        same.filter(|rule| !held(rule) || *other != behavior).map(move |rule| (*other, *name, rule))
    });
    for (other, name, rule) in others {
        let source = &rule.source;
        if !adds && other == behavior {
            said.push_str(&format!("\nthe same rule still applies: {source}"));
        } else if adds && comes_before(other, behavior) {
            said.push_str(&format!("\nno effect: {name} {text} comes first ({source})"));
        }
    }
    Act::Change(Box::new(LiveChange::Permissions(update)), Reply::Plain { text: said })
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
