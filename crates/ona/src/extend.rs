//! `ona agents` and `ona skills`: the available extensions, and their problems.

use std::process::ExitCode;
use std::sync::Arc;

use ona_cli::model::is_model;
use ona_cli::output::{complain, plain};
use ona_cli::{CliError, Options, bootstrap};
use ona_engine::Session;
use ona_extensions::{Extensions, Kind, Origin, Shadowed, SkillKind};
use ona_gate::governance::{GovernanceError, Unread};
use serde_json::{Value, json};

use crate::workspace::printed;

/// All there is for a session here, and what is wrong with it; of a folder that is not trusted, what others bring.
fn load(cli: &Options) -> Result<(Extensions, Vec<String>), CliError> {
    let engine = Arc::new(bootstrap::engine(cli)?);
    let mut said = Vec::new();
    let (extensions, unmet) = match bootstrap::try_look(&engine, cli, Unread::IsTold)? {
        Ok(mut session) => {
            session.load_extensions()?;
            let settings = session.gate.settings();
            let unmet = session.missing_references(|name| is_model(name, &settings))?;
            (session.take_extensions(), unmet)
        }
        Err(error @ GovernanceError::Untrusted { .. }) => {
            said.push(format!("{error}. The project's own files are skipped until `ona trust`"));
            Session::extensions_without_project(&engine, &bootstrap::directory(cli.cwd.as_deref())?)
        }
        Err(error) => return Err(error.into()),
    };
    said.extend(extensions.warnings.iter().chain(&unmet).map(ToString::to_string));
    for warning in &said {
        complain(&format!("warning: {warning}\n"));
    }
    Ok((extensions, said))
}

/// What is hidden by others of the same name.
fn hidden(extensions: &Extensions, kind: Kind) -> Vec<&Shadowed> {
    extensions.shadowed.iter().filter(|shadowed| shadowed.kind == kind).collect()
}

fn hidden_json(extensions: &Extensions, kind: Kind) -> Value {
    let one = |shadowed: &&Shadowed| {
        json!({"name": shadowed.name, "source": shadowed.origin.to_string(), "path": shadowed.path,
               "hidden_by": shadowed.by.to_string()})
    };
    hidden(extensions, kind).iter().map(one).collect()
}

/// A line for each: name, whose it is, the beginning of what it is for.
fn table(rows: &[(String, String, String)], extensions: &Extensions, kind: Kind) -> String {
    let width = |column: fn(&(String, String, String)) -> &String| {
        rows.iter().map(|row| column(row).chars().count()).max().unwrap_or_default()
    };
    let (names, owners) = (width(|row| &row.0), width(|row| &row.1));
    let mut text = String::new();
    for (name, owner, description) in rows {
        let description: String = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let description: String = description.chars().take(100).collect();
        text.push_str(&format!("{name:<names$}  {owner:<owners$}  {description}\n"));
    }
    for shadowed in hidden(extensions, kind) {
        let place = shadowed.path.as_ref().map(|path| format!(" ({})", path.display()));
        text.push_str(&format!(
            "hidden: {} of {}{}, by the one of {}\n",
            shadowed.name,
            shadowed.origin,
            place.unwrap_or_default(),
            shadowed.by
        ));
    }
    plain(&text)
}

fn held(keys: &[&str], origin: &Origin) -> String {
    let until = match origin {
        Origin::Plugin(id) => format!("ona plugin update {id}"),
        _ => "ona trust".to_owned(),
    };
    match keys {
        [] => String::new(),
        keys => format!(" [held back until `{until}`: {}]", keys.join(", ")),
    }
}

pub fn agents(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    let (extensions, warnings) = load(cli)?;
    let text = if as_json {
        let agents = extensions.agents.iter().map(|agent| {
            json!({"name": agent.name, "description": agent.description, "source": agent.origin.to_string(),
                   "path": agent.path, "tools": agent.tools, "disallowed_tools": agent.disallowed_tools,
                   "model": agent.model, "held_back": agent.held_back})
        });
        let agents: Value = agents.collect();
        let hidden = hidden_json(&extensions, Kind::Agent);
        format!("{}\n", json!({"agents": agents, "hidden": hidden, "warnings": warnings}))
    } else {
        let row = |agent: &ona_extensions::AgentDefinition| {
            let description =
                format!("{}{}", agent.description, held(&agent.held_back, &agent.origin));
            (agent.name.clone(), agent.origin.to_string(), description)
        };
        let rows: Vec<_> = extensions.agents.iter().map(row).collect();
        table(&rows, &extensions, Kind::Agent)
    };
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}

pub fn skills(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    let (extensions, warnings) = load(cli)?;
    let text = if as_json {
        let skills = extensions.skills.iter().map(|skill| {
            let kind = match skill.kind {
                SkillKind::Skill => "skill",
                SkillKind::Command => "command",
            };
            json!({"name": skill.name, "full_name": skill.full_name(), "kind": kind,
                   "description": skill.description, "source": skill.label(), "path": skill.path,
                   "argument_hint": skill.argument_hint, "model_invocable": skill.model_invocable,
                   "user_invocable": skill.user_invocable, "allowed_tools": skill.allowed_tools,
                   "held_back": skill.held_back})
        });
        let skills: Value = skills.collect();
        let hidden = hidden_json(&extensions, Kind::Skill);
        format!("{}\n", json!({"skills": skills, "hidden": hidden, "warnings": warnings}))
    } else {
        let row = |skill: &ona_extensions::SkillDefinition| {
            let description =
                format!("{}{}", skill.description, held(&skill.held_back, &skill.origin));
            (format!("/{}", skill.name), skill.label(), description)
        };
        let rows: Vec<_> = extensions.skills.iter().map(row).collect();
        table(&rows, &extensions, Kind::Skill)
    };
    if text.is_empty() {
        complain("no skills or commands\n");
    }
    printed(&text)?;
    Ok(ExitCode::SUCCESS)
}
