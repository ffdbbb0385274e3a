//! `ona config`: shows and changes settings.

use std::path::Path;
use std::process::ExitCode;

use ona_cli::bootstrap::directory;
use ona_cli::model;
use ona_cli::output::{complain, print_line};
use ona_cli::{CliError, Options, env, record};
use ona_config::settings::{
    self, BadKey, EditError, InFile, Layer, NoEffect, Roots, Settings, UnknownKeys,
};
use ona_config::trust::{Agreement, TrustRequest};
use ona_extensions::{Extensions, Sources, active_plugins, trust_request};
use ona_store::Store;
use ona_types::trust::{TrustRecord as _, TrustedContent};
use ona_types::{Diagnostic, UpdateDestination};
use serde_json::{Value, json};

use crate::args::Config;

pub fn run(cli: &Options, command: &Config) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    let config = env::config(cli)?;
    let roots = config.roots(&here, &here);
    let text = match command {
        Config::Schema => pretty(&settings::schema())?,
        Config::Path => paths(&roots),
        Config::List { scope } => {
            pretty(&settings::merge(&in_force(cli, &roots, scope.as_deref())?))?
        }
        Config::Get { key, scope } => {
            get(&settings::merge(&in_force(cli, &roots, scope.as_deref())?), key)?
        }
        Config::Set { key, value, scope, force } => {
            set(cli, &roots, &Setting { key, value, scope, force: *force })?
        }
        Config::Unset { key, scope } => unset(cli, &roots, key, scope)?,
        Config::Import => {
            let loaded =
                settings::Loaded { layers: from_files(cli, &roots, None)?, ..Default::default() };
            record::open(cli.cwd.as_deref())?
                .import_settings(&settings::snapshot(&loaded).to_string())?;
            "replaced the settings snapshot with the current files".to_owned()
        }
    };
    print_line(&text)
        .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

fn warn<'a>(warnings: impl Iterator<Item = &'a Diagnostic>) {
    for warning in warnings {
        complain(&format!("warning: {warning}\n"));
    }
}

/// The scopes that `--scope` can name.
const SCOPES: [&str; 6] = ["user", "project", "local", "cli", "managed", "database"];

/// The layers of the operator's own snapshot, or of the files, that are in force; of one scope, if it is
/// asked for.
pub fn in_force(cli: &Options, roots: &Roots, scope: Option<&str>) -> Result<Vec<Layer>, CliError> {
    if let Some(scope) = scope.filter(|scope| !SCOPES.contains(scope)) {
        return Err(no_scope(scope));
    }
    let operators = match existing_record(&roots.cwd)? {
        Some(store) => store.operators_snapshot()?,
        None => None,
    };
    let given = &env::config(cli)?.given;
    let mut layers = match operators.map(|snapshot| settings::operators(&snapshot, roots, given)) {
        Some(Ok(loaded)) => {
            complain("note: the operator's snapshot in the database applies, not the files\n");
            warn(loaded.problems());
            loaded.layers
        }
        Some(Err(why)) => {
            complain(&format!("warning: {}: {why}; using the files instead\n", settings::SNAPSHOT));
            from_files(cli, roots, scope)?
        }
        None => from_files(cli, roots, scope)?,
    };
    layers.retain(|layer| scope.is_none_or(|scope| layer.source.scope.as_str() == scope));
    Ok(layers)
}

/// The record, if there is one: looking at settings makes none.
pub fn existing_record(directory: &Path) -> Result<Option<Store>, CliError> {
    let database = env::database()?;
    Ok(if database.exists() { Some(record::open(Some(directory))?) } else { None })
}

/// The settings of the files that take effect, or all settings of one scope. Names what is held back.
fn from_files(cli: &Options, roots: &Roots, scope: Option<&str>) -> Result<Vec<Layer>, CliError> {
    let config = env::config(cli)?;
    let loaded = settings::load(roots, &config.given);
    warn(loaded.problems());
    let (layers, held_back) = judged(&config, roots, &loaded.layers)?;
    if !held_back.is_empty() {
        complain(&format!("note: held back until `ona trust`: {}\n", held_back.join(", ")));
    }
    Ok(if scope.is_some() { loaded.layers } else { layers })
}

/// What takes effect of these settings, and the names of what does not.
fn judged(
    config: &ona_config::Config,
    roots: &Roots,
    layers: &[Layer],
) -> Result<(Vec<Layer>, Vec<String>), CliError> {
    let found = trust_request(roots, layers, !config.skills_off);
    let trusted = trusted(config, roots, &found)?;
    let judged = found.judge(layers, roots, &trusted);
    Ok((judged.layers, [judged.unagreed, judged.held_back].concat()))
}

/// Why a setting that was written does not act.
fn no_effect(
    cli: &Options,
    roots: &Roots,
    setting: &InFile<'_>,
) -> Result<Option<NoEffect>, CliError> {
    if let Some(store) = existing_record(&roots.cwd)?
        && store.operators_snapshot()?.is_some()
    {
        return Ok(Some(NoEffect::Snapshot));
    }
    let config = env::config(cli)?;
    let (layers, _) = judged(&config, roots, &settings::load(roots, &config.given).layers)?;
    Ok(settings::no_effect(setting, &layers, roots, &config.given))
}

/// What is trusted: by the record, and for this run.
pub fn trusted(
    config: &ona_config::Config,
    roots: &Roots,
    request: &TrustRequest,
) -> Result<Vec<TrustedContent>, CliError> {
    config.trust.begin(request, &[], roots);
    let mut trusted = config.trust.covers(&request.name());
    if let Some(store) = existing_record(&roots.cwd)? {
        trusted.extend(store.trusted(&request.name())?);
    }
    Ok(trusted)
}

fn no_scope(scope: &str) -> CliError {
    CliError::usage(format!("unknown scope `{scope}`"))
        .hint("expected user, project, local, cli or managed")
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
            .hint("`ona config list` lists the settings, `ona config schema` all keys")),
    }
}

/// Claude Code's file of a scope, so that both programs see a change.
fn destination(scope: &str) -> Result<UpdateDestination, CliError> {
    Ok(match scope {
        "user" => UpdateDestination::UserSettings,
        "project" => UpdateDestination::ProjectSettings,
        "local" => UpdateDestination::LocalSettings,
        other => {
            return Err(CliError::usage(format!("the scope `{other}` cannot be changed"))
                .hint("expected user, project or local"));
        }
    })
}

/// The arguments of `ona config set`.
struct Setting<'a> {
    key: &'a str,
    value: &'a str,
    scope: &'a str,
    force: bool,
}

/// The parts of a key.
fn parts(key: &str) -> Result<Vec<&str>, CliError> {
    let parts: Vec<&str> = key.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(CliError::usage(format!("invalid key `{key}`"))
            .hint("for example permissions.defaultMode"));
    }
    Ok(parts)
}

fn unset(cli: &Options, roots: &Roots, key: &str, scope: &str) -> Result<String, CliError> {
    let file = settings::unset(destination(scope)?, &parts(key)?, roots).map_err(refused)?.file;
    if scope != "user" {
        // It says so where what is left does not act yet.
        from_files(cli, roots, None)?;
    }
    Ok(format!("{}: {key} is no longer set", file.display()))
}

/// A remark about an agent that does not exist here.
fn unknown_agent(cli: &Options, roots: &Roots, name: &str) -> Result<Option<String>, CliError> {
    let config = env::config(cli)?;
    let layers = settings::load(roots, &config.given).layers;
    let active = active_plugins(&config, &roots.project_dir, &Settings::merged(&layers));
    let found = Extensions::load(Sources {
        roots,
        additional_dirs: &[],
        agents: config.agents.as_deref(),
        plugins: active.plugins,
        files: true,
        project: true,
        skills: false,
        agreed: Agreement::default(),
    });
    let names: Vec<&str> = found.agents.iter().map(|agent| agent.name.as_str()).collect();
    let unknown = found.agent(name).is_err();
    Ok(unknown.then(|| format!("unknown agent `{name}`; available agents: {}", names.join(", "))))
}

fn set(cli: &Options, roots: &Roots, setting: &Setting<'_>) -> Result<String, CliError> {
    let Setting { key, value, scope, force } = *setting;
    let destination = destination(scope)?;
    // What is not JSON is meant as text.
    let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    let parts = parts(key)?;
    let clash = match model::check_setting(&with(cli, roots, &parts, &value)?, &parts) {
        // With --force the key may belong to another program.
        Err(_) if force => None,
        checked => checked?,
    };
    let unknown = if force { UnknownKeys::Kept } else { UnknownKeys::Refused };
    let (saved, odd) =
        settings::set(destination, &parts, &value, roots, unknown).map_err(refused)?;
    let file = saved.file;
    for odd in odd {
        complain(&format!("warning: {}: {odd}\n", file.display()));
    }
    if let (["agent"], Some(name)) = (&parts[..], value.as_str())
        && let Some(unknown) = unknown_agent(cli, roots, name)?
    {
        complain(&format!(
            "warning: {unknown}: ona -p does not start in a project without this agent\n"
        ));
    }
    if let Some(clash) = clash {
        complain(&format!("warning: with these settings, ona -p does not start: {clash}\n"));
    }
    if scope != "user" {
        // It says so where what was set does not act yet.
        from_files(cli, roots, None)?;
    }
    let setting = InFile { file: &file, key: &parts, value: &value };
    if let Some(why) = no_effect(cli, roots, &setting)? {
        complain(&format!("warning: {why}\n"));
    }
    Ok(format!("{}: {key} = {value}", file.display()))
}

/// The settings of all files with a key set.
fn with(cli: &Options, roots: &Roots, key: &[&str], value: &Value) -> Result<Settings, CliError> {
    let mut all = settings::merge(&settings::load(roots, &env::config(cli)?.given).layers);
    let mut slot = &mut all;
    for part in key {
        if !slot.is_object() {
            *slot = json!({});
        }
        slot = &mut slot[*part];
    }
    *slot = value.clone();
    Ok(all.as_object().map(Settings::of).unwrap_or_default())
}

/// Why a key is not set, and what to do about it.
fn refused(error: EditError) -> CliError {
    let said = error.to_string();
    let usage = CliError::usage(said.as_str());
    match error {
        EditError::Key(BadKey::Unknown { nearest, .. }) => {
            let meant = nearest.map(|nearest| format!("did you mean `{nearest}`?"));
            let all = "`ona config schema` lists all keys; --force sets a key of another program";
            meant.into_iter().fold(usage, CliError::hint).hint(all)
        }
        EditError::Key(BadKey::InList { list }) => {
            usage.hint(format!("for example: ona config set {list} '[\"first\", \"second\"]'"))
        }
        EditError::Key(BadKey::NoObject { .. }) => usage.hint("`ona config schema` lists all keys"),
        EditError::In { reason, .. } if matches!(*reason, EditError::NotSet(_)) => {
            CliError::failed(said).hint("`ona config list --scope SCOPE` lists what a scope sets")
        }
        EditError::In { reason, .. } if matches!(*reason, EditError::Dropped(_)) => {
            usage.hint("the file is unchanged")
        }
        _ => CliError::failed(said).hint("the file is unchanged"),
    }
}

fn paths(roots: &Roots) -> String {
    let files = roots.files().into_iter().map(|(scope, _, file)| (scope.as_str(), file));
    let managed =
        roots.managed_dirs.iter().map(|dir| ("managed", dir.join("managed-settings.json")));
    let lines: Vec<String> = files
        .chain(managed)
        .map(|(scope, file)| {
            let there = if file.exists() { "" } else { "  (missing)" };
            format!("{scope:<8} {}{there}", file.display())
        })
        .collect();
    lines.join("\n")
}
