//! `ona plugin`: adds, updates, lists and removes plugins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use ona_cli::bootstrap::directory;
use ona_cli::output::{complain, plain};
use ona_cli::{CliError, Options, asker, env};
use ona_config::settings::{self, Settings};
use ona_config::trust::{Agreement, repository_root};
use ona_extensions::plugin::one_line;
use ona_extensions::plugin::registry::{
    FetchError, Installed, PluginSource, Record, Registry, RegistryError, Staged, is_switched_off,
};
use ona_extensions::{Extensions, Origin, SkillDefinition, SkillKind, Sources};
use serde_json::{Value, json};

use crate::config::in_force;
use crate::workspace::{counted, printed, runtime};

#[derive(Debug, Subcommand)]
pub enum Plugin {
    /// Add a plugin from a directory or a git repository
    ///
    /// Copies the files without running them. If the plugin has hooks, MCP servers, or skills that allow tools without
    /// asking, ona lists them and asks for consent on the terminal; --yes gives it.
    #[command(
        after_help = "Examples:\n  ona plugin add ./my-plugin\n  ona plugin add https://example.com/team/kit.git#v1.2\n  ona plugin add git@example.com:team/kit.git --scope project --yes"
    )]
    Add {
        /// A directory, or the URL of a git repository (https, ssh, file); #REF selects a branch, tag or commit
        source: String,
        /// Where the plugin is active
        #[arg(long, value_enum, default_value_t)]
        scope: Scope,
        /// Consent to its hooks, servers and allowed tools without being asked
        #[arg(long)]
        yes: bool,
    },
    /// List the installed plugins
    #[command(after_help = "Examples:\n  ona plugin list\n  ona plugin list --json | jq '.[].id'")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Update a plugin from its source; without an id, update all plugins
    #[command(after_help = "Examples:\n  ona plugin update\n  ona plugin update kit --yes")]
    Update {
        /// Id of the plugin
        id: Option<String>,
        /// Consent to its hooks, servers and allowed tools without being asked
        #[arg(long)]
        yes: bool,
    },
    /// Remove a plugin and its data
    #[command(after_help = "Examples:\n  ona plugin remove kit")]
    Remove {
        /// Id of the plugin
        id: String,
    },
    /// Enable a plugin
    #[command(after_help = "Examples:\n  ona plugin enable kit")]
    Enable {
        /// Id of the plugin
        id: String,
    },
    /// Disable a plugin
    #[command(after_help = "Examples:\n  ona plugin disable kit")]
    Disable {
        /// Id of the plugin
        id: String,
    },
    /// Check a plugin: manifest, paths, hooks, servers, agents, skills and commands
    ///
    /// Changes nothing and runs nothing. Exits with 1 if there are problems.
    #[command(after_help = "Examples:\n  ona plugin validate ./my-plugin")]
    Validate {
        /// Directory of the plugin
        dir: PathBuf,
    },
}

/// Where a plugin acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Scope {
    /// Everywhere.
    #[default]
    User,
    /// In this repository.
    Project,
}

impl Plugin {
    /// Whether only the operator may do it.
    pub fn is_the_operators(&self) -> bool {
        !matches!(self, Self::List { .. } | Self::Validate { .. })
    }
}

pub fn run(cli: &Options, command: &Plugin) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    let config = env::config(cli)?;
    let registry = Registry::of(&config.ona_config);
    let roots = config.roots(&here, &here);
    let shop = Shop { registry: &registry, roots: &roots };
    match command {
        Plugin::Add { source, scope, yes } => {
            let source = PluginSource::parse(source, &here).map_err(|error| {
                CliError::usage(error.to_string())
                    .hint("for example ./my-plugin, https://example.com/kit.git#v1 or git@example.com:kit.git")
            })?;
            let project = (*scope == Scope::Project).then(|| repository_root(&here));
            shop.add(&source, project, *yes)?;
        }
        Plugin::List { json } => {
            let settings = Settings::merged(&in_force(cli, &roots, None)?);
            shop.list(&settings.enabled_plugins.unwrap_or_default(), *json)?;
        }
        Plugin::Update { id, yes } => return shop.update(id.as_deref(), *yes),
        Plugin::Remove { id } => {
            registry.remove(id).map_err(refused)?;
            printed(&format!("removed {id}\n"))?;
        }
        Plugin::Enable { id } | Plugin::Disable { id } => {
            let on = matches!(command, Plugin::Enable { .. });
            registry.switch(id, on).map_err(refused)?;
            printed(&format!("{id} is {}\n", if on { "on" } else { "off" }))?;
        }
        Plugin::Validate { dir } => return shop.validate(&here.join(dir)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Why the registry stays as it is, and what to do.
#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn refused(error: RegistryError) -> CliError {
    let said = error.to_string();
    match error {
        RegistryError::Unknown(_) => {
            CliError::usage(said).hint("`ona plugin list` lists the installed plugins")
        }
        RegistryError::Exists(id) => CliError::usage(said).hint(format!(
            "`ona plugin update {id}` updates it, `ona plugin remove {id}` removes it"
        )),
        RegistryError::Lock(_) => CliError::failed(said).hint("try again later"),
        RegistryError::Record { .. } => {
            CliError::failed(said).hint("remove the file, and add the plugin again")
        }
        RegistryError::Io { .. } | RegistryError::Write { .. } => CliError::failed(said),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn not_fetched(error: FetchError) -> CliError {
    let failed = CliError::failed(format!("cannot fetch the plugin: {error}"));
    match error {
        FetchError::Git(_) => failed
            .hint("nothing was changed; `git ls-remote` with the URL shows whether git can reach it, and its refs"),
        _ => failed.hint("nothing was changed"),
    }
}

struct Shop<'a> {
    registry: &'a Registry,
    roots: &'a settings::Roots,
}

/// A plugin's files, fetched and read, with what it brings.
struct Fetched {
    staged: Staged,
    plugin: ona_extensions::Plugin,
    parts: Extensions,
}

impl Shop<'_> {
    fn fetch(&self, source: &PluginSource) -> Result<Fetched, CliError> {
        let staged = self.registry.stage().map_err(refused)?;
        let commit = runtime()?.block_on(source.fetch(&staged.path())).map_err(not_fetched)?;
        // The staging directory is temporary, so messages show paths relative to the plugin.
        let place = format!("{}/", staged.path().display());
        let inside = |text: String| text.replace(&place, "");
        let (mut plugin, parts) = self.read(&staged.path(), inside)?;
        plugin.commit = commit;
        for warning in plugin.warnings.iter().chain(&parts.warnings) {
            complain(&format!("warning: {}\n", inside(warning.to_string())));
        }
        Ok(Fetched { staged, plugin, parts })
    }

    /// A plugin with all its parts, and none but those.
    fn read(
        &self,
        dir: &Path,
        told: impl Fn(String) -> String,
    ) -> Result<(ona_extensions::Plugin, Extensions), CliError> {
        let plugin = ona_extensions::Plugin::read(dir, dir).map_err(|error| {
            CliError::failed(told(error.to_string()))
                .hint("`ona help extensions` describes the format of a plugin")
        })?;
        let parts = Extensions::load(Sources {
            project: false,
            skills: true,
            roots: self.roots,
            additional_dirs: &[],
            agents: None,
            plugins: vec![plugin.clone()],
            files: false,
            agreed: Agreement::default(),
        });
        Ok((plugin, parts))
    }

    fn add(
        &self,
        source: &PluginSource,
        project: Option<PathBuf>,
        yes: bool,
    ) -> Result<(), CliError> {
        let fetched = self.fetch(source)?;
        let id = &fetched.plugin.id;
        if self.registry.record(id).is_ok() {
            return Err(refused(RegistryError::Exists(id.clone())));
        }
        agree(&fetched, yes)?;
        let Fetched { staged, plugin, .. } = &fetched;
        let told = told("added", &fetched, source);
        self.registry.put(staged, plugin, source, project, false).map_err(refused)?;
        printed(&told)
    }

    fn update(&self, id: Option<&str>, yes: bool) -> Result<ExitCode, CliError> {
        let ids: Vec<String> = match id {
            Some(id) => vec![id.to_owned()],
            None => self.registry.installed().0.into_iter().map(|installed| installed.id).collect(),
        };
        let mut code = ExitCode::SUCCESS;
        for one in &ids {
            match self.update_one(one, yes) {
                Ok(()) => {}
                // The others are not to suffer.
                Err(error) if id.is_none() => {
                    complain(&format!("{one}: {error}"));
                    code = ExitCode::FAILURE;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(code)
    }

    fn update_one(&self, id: &str, yes: bool) -> Result<(), CliError> {
        let record = self.registry.record(id).map_err(refused)?;
        let source = PluginSource::parse(&record.source, Path::new("/")).map_err(|error| {
            CliError::failed(format!("cannot update {id}: {error}"))
                .hint(format!("run `ona plugin remove {id}`, and add it from its current source"))
        })?;
        let fetched = self.fetch(&source)?;
        if fetched.plugin.id != id {
            return Err(CliError::failed(format!(
                "the plugin at {source} is now named `{}`, not `{id}`",
                fetched.plugin.id
            ))
            .hint("{id} is unchanged; add the other plugin separately"));
        }
        let same = record.commit.is_some() && record.commit == fetched.plugin.commit;
        if same && record.agrees_to(&fetched.plugin) && self.is_whole(id) {
            return printed(&format!(
                "{id} is up to date with {source}, commit {}\n",
                commit(&fetched)
            ));
        }
        if !record.agrees_to(&fetched.plugin) || self.has_other_files(id, &fetched.plugin) {
            agree(&fetched, yes)?;
        }
        let Fetched { staged, plugin, .. } = &fetched;
        let told = told("updated", &fetched, &source);
        self.registry.put(staged, plugin, &source, record.project, true).map_err(refused)?;
        printed(&told)
    }

    /// Whether the files are not those that are there: what runs may run any of them.
    fn has_other_files(&self, id: &str, plugin: &ona_extensions::Plugin) -> bool {
        let installed = self.registry.installed().0.into_iter().find(|one| one.id == id);
        let there = installed.and_then(|one| one.plugin.ok()?.tree_hash().ok());
        there.is_none() || there != plugin.tree_hash().ok()
    }

    /// Whether what is there can be used as it is.
    fn is_whole(&self, id: &str) -> bool {
        let (installed, _) = self.registry.installed();
        let is_whole = |one: &Installed| {
            one.id == id && one.plugin.as_ref().is_ok_and(|plugin| one.record.agrees_to(plugin))
        };
        installed.iter().any(is_whole)
    }

    fn validate(&self, dir: &Path) -> Result<ExitCode, CliError> {
        // Links and pipes in it, or too many files, are what `add` would refuse.
        PluginSource::Directory(dir.to_owned()).check().map_err(|error| {
            CliError::failed(error.to_string()).hint("`ona plugin add` would refuse it")
        })?;
        let (plugin, parts) = self.read(dir, std::convert::identity)?;
        let mut text = String::new();
        for warning in plugin.warnings.iter().chain(&parts.warnings) {
            text.push_str(&format!("{warning}\n"));
        }
        let wrong = plugin.warnings.len() + parts.warnings.len();
        text.push_str(&format!("{}: {}\n", plugin.id, brings(&plugin, &parts)));
        text.push_str(&match wrong {
            0 => "no problems found\n".to_owned(),
            wrong => format!("{} found\n", counted(wrong, "problem")),
        });
        printed(&plain(&text))?;
        Ok(ExitCode::from(u8::from(wrong > 0)))
    }

    fn list(&self, enabled: &BTreeMap<String, bool>, as_json: bool) -> Result<(), CliError> {
        let (installed, bad) = self.registry.installed();
        for error in bad {
            complain(&format!("warning: {error}\n"));
        }
        if as_json {
            let all: Value = installed.iter().map(|one| self.json(one, enabled)).collect();
            return printed(&format!("{all}\n"));
        }
        let mut text = String::new();
        for one in &installed {
            let Record { source, commit, .. } = &one.record;
            let version =
                one.plugin.as_ref().ok().and_then(|plugin| plugin.manifest.version.clone());
            let commit = commit.as_ref().map(|commit| format!(" commit {}", short(commit)));
            text.push_str(&format!(
                "{} {}  {}  {source}{}\n",
                one.id,
                one_line(&version.unwrap_or_default()),
                self.state(one, enabled),
                commit.unwrap_or_default(),
            ));
            match &one.plugin {
                Ok(plugin) => {
                    let parts = self.read(&plugin.root, std::convert::identity);
                    let permits = parts.map(|(_, parts)| permits(&parts)).unwrap_or_default();
                    let all = plugin.runs().into_iter().chain(permits);
                    text.extend(all.map(|what| format!("    {what}\n")));
                    text.extend(
                        plugin.warnings.iter().map(|warning| format!("    warning: {warning}\n")),
                    );
                }
                Err(error) => text.push_str(&format!("    cannot be used: {error}\n")),
            }
        }
        if installed.is_empty() {
            complain("no plugins installed\n");
        }
        printed(&plain(&text))
    }

    /// Whether a plugin acts here, and if not why.
    fn state(&self, one: &Installed, enabled: &BTreeMap<String, bool>) -> String {
        let here = repository_root(&self.roots.project_dir);
        match &one.record.project {
            _ if one.plugin.is_err() => "broken".to_owned(),
            _ if !one.record.enabled => "off".to_owned(),
            _ if is_switched_off(enabled, &one.id) => "off by enabledPlugins".to_owned(),
            None => "on".to_owned(),
            Some(project) if *project == here => "on here".to_owned(),
            Some(project) => format!("on in {}", project.display()),
        }
    }

    fn json(&self, one: &Installed, enabled: &BTreeMap<String, bool>) -> Value {
        let Installed { id, record, plugin } = one;
        let mut json = json!({
            "id": id, "source": record.source, "commit": record.commit, "enabled": record.enabled,
            "project": record.project, "state": self.state(one, enabled),
        });
        match plugin {
            Ok(plugin) => {
                json["manifest"] = json!(plugin.manifest);
                json["path"] = json!(plugin.root);
                json["runs"] = json!(plugin.runs());
            }
            Err(error) => json["error"] = error.to_string().into(),
        }
        json
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn commit(fetched: &Fetched) -> &str {
    fetched.plugin.commit.as_deref().unwrap_or_default()
}

/// What a plugin brings, counted.
fn brings(plugin: &ona_extensions::Plugin, parts: &Extensions) -> String {
    let of_plugin = |origin: &Origin| matches!(origin, Origin::Plugin(_));
    let agents = parts.agents.iter().filter(|agent| of_plugin(&agent.origin)).count();
    let kinds = |kind: SkillKind| parts.skills.iter().filter(|skill| skill.kind == kind).count();
    let runs = plugin.runs();
    let hooks = runs.iter().filter(|what| what.starts_with("hook")).count();
    [
        counted(agents, "agent"),
        counted(kinds(SkillKind::Skill), "skill"),
        counted(kinds(SkillKind::Command), "command"),
        counted(hooks, "hook"),
        counted(runs.len() - hooks, "MCP server"),
    ]
    .join(", ")
}

fn told(what: &str, fetched: &Fetched, source: &PluginSource) -> String {
    let plugin = &fetched.plugin;
    let version =
        plugin.manifest.version.as_deref().map(|version| format!(" {}", one_line(version)));
    let commit = plugin.commit.as_ref().map(|commit| format!(", commit {commit}"));
    plain(&format!(
        "{what} {}{} from {source}{}\n  {}\n",
        plugin.id,
        version.unwrap_or_default(),
        commit.unwrap_or_default(),
        brings(plugin, &fetched.parts)
    ))
}

/// The tools that skills allow without asking.
fn permits(parts: &Extensions) -> Vec<String> {
    let skills = parts.skills.iter().filter(|skill| !skill.allowed_tools.is_empty());
    let line = |skill: &SkillDefinition| {
        one_line(&format!(
            "/{} allows without asking: {}",
            skill.name,
            skill.allowed_tools.join(", ")
        ))
    };
    skills.map(line).collect()
}

/// Asks for consent to what a plugin runs, and to what it allows without asking.
fn agree(fetched: &Fetched, yes: bool) -> Result<(), CliError> {
    let runs = fetched.plugin.runs();
    let permits = permits(&fetched.parts);
    if yes || (runs.is_empty() && permits.is_empty()) {
        return Ok(());
    }
    let all: Vec<String> = runs.into_iter().chain(permits).collect();
    let question = format!(
        "\nThe plugin {} contains:\n  {}\nThey would run with your rights.\nDo you agree? [y/N] ",
        fetched.plugin.id,
        all.join("\n  ")
    );
    match asker::line(&question) {
        Ok(line) if matches!(line.trim(), "y" | "yes") => Ok(()),
        Ok(_) => {
            Err(CliError::failed(format!("the plugin {} was not accepted", fetched.plugin.id))
                .hint("nothing was changed"))
        }
        Err(_) => Err(CliError::usage(format!(
            "the plugin {} contains {}, and there is no terminal to ask on",
            fetched.plugin.id,
            all.join(", ")
        ))
        .hint("review it, then consent with --yes")
        .hint("nothing was changed")),
    }
}
