//! `ona config`: the settings in force, and changing them.

use std::path::PathBuf;
use std::process::ExitCode;

use ona_engine::settings::{self, Layer, Roots, edit};
use ona_policy::Scope;
use ona_store::Store;
use serde_json::{Value, json};

use crate::args::{Cli, Config};
use crate::env;
use crate::error::CliError;
use crate::eval::directory;
use crate::output::{complain, print_line};

pub fn run(cli: &Cli, command: &Config) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_ref())?;
    let config = env::config(cli)?;
    let roots = config.roots(&here, &here);
    let text = match command {
        Config::Schema => pretty(&settings::schema())?,
        Config::Path => paths(&roots),
        Config::List { scope } => pretty(&in_force(cli, &roots, scope.as_deref())?)?,
        Config::Get { key, scope } => get(&in_force(cli, &roots, scope.as_deref())?, key)?,
        Config::Set { key, value, scope } => set(&roots, key, value, scope)?,
        Config::Import => {
            let loaded = load(cli, &roots)?;
            Store::open(&env::database()?)?
                .import_settings(&settings::snapshot(&loaded).to_string())?;
            "settings_snapshot('effective') is now what the files say".to_owned()
        }
    };
    print_line(&text).map_err(|error| CliError::failed(format!("cannot be printed: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn load(cli: &Cli, roots: &Roots) -> Result<settings::Loaded, CliError> {
    let loaded = settings::load(roots, &env::config(cli)?.given);
    for warning in &loaded.warnings {
        let warning = warning.to_string();
        complain(&format!("warning: {}\n", warning.strip_prefix("warning: ").unwrap_or(&warning)));
    }
    Ok(loaded)
}

/// What the files, or the operator's own snapshot, come to.
fn in_force(cli: &Cli, roots: &Roots, scope: Option<&str>) -> Result<Value, CliError> {
    let database = env::database()?;
    let operators =
        if database.exists() { Store::open(&database)?.operators_snapshot()? } else { None };
    let layers: Vec<Layer> = match operators.as_deref().map(serde_json::from_str::<Value>) {
        Some(Ok(snapshot)) => {
            complain("note: the operator's snapshot in the database is in force, not the files\n");
            settings::layers_of(&snapshot, &roots.project_dir)
        }
        _ => load(cli, roots)?.layers,
    };
    let Some(scope) = scope else { return Ok(settings::merge(&layers)) };
    if !["user", "project", "local", "cli", "managed", "database"].contains(&scope) {
        return Err(no_scope(scope));
    }
    let chosen: Vec<Layer> =
        layers.into_iter().filter(|layer| layer.source.scope.as_str() == scope).collect();
    Ok(settings::merge(&chosen))
}

fn no_scope(scope: &str) -> CliError {
    CliError::usage(format!("`{scope}` is no scope"))
        .hint("user, project, local, cli and managed are")
}

fn pretty(value: &Value) -> Result<String, CliError> {
    serde_json::to_string_pretty(value).map_err(|error| CliError::failed(error.to_string()))
}

fn get(settings: &Value, key: &str) -> Result<String, CliError> {
    let found = key.split('.').try_fold(settings, |value, part| value.get(part));
    match found {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => pretty(value),
        None => Err(CliError::failed(format!("`{key}` is not set"))
            .hint("`ona config list` shows what is, `ona config schema` what can be")),
    }
}

fn file_of(roots: &Roots, scope: &str) -> Result<PathBuf, CliError> {
    let wanted = match scope {
        "user" => Scope::User,
        "project" => Scope::Project,
        "local" => Scope::Local,
        other => return Err(no_scope(other)),
    };
    let mut files = roots.files().into_iter();
    // Claude Code's file of that scope, so that both programs see the change.
    files
        .find(|(scope, _, _)| *scope == wanted)
        .map(|(_, _, file)| file)
        .ok_or_else(|| no_scope(scope))
}

fn set(roots: &Roots, key: &str, value: &str, scope: &str) -> Result<String, CliError> {
    let file = file_of(roots, scope)?;
    // What is no JSON is meant as text.
    let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    let parts: Vec<&str> = key.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(
            CliError::usage(format!("`{key}` is no key")).hint("such as permissions.defaultMode")
        );
    }
    edit::write(&file, |text| edit::set(text, &parts, &value))
        .map_err(|error| CliError::failed(error.to_string()).hint("the file is as it was"))?;
    Ok(format!("{}: {key} = {value}", file.display()))
}

fn paths(roots: &Roots) -> String {
    let files = roots.files().into_iter().map(|(scope, _, file)| (scope.as_str(), file));
    let managed =
        roots.managed_dirs.iter().map(|dir| ("managed", dir.join("managed-settings.json")));
    let lines: Vec<String> = files
        .chain(managed)
        .map(|(scope, file)| {
            let there = if file.exists() { "" } else { "  (not there)" };
            format!("{scope:<8} {}{there}", file.display())
        })
        .collect();
    lines.join("\n")
}
