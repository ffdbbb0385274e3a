//! Every environment variable ona reads or sets, in one place.
//!
//! `docs/ENVIRONMENT.md` is generated from these declarations; a test compares them.

pub mod commands;
pub mod descriptor;
pub mod model;
pub mod oauth;
pub mod servers;
mod stores;
pub mod terminal;

use std::env::VarError;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ona_auth::is_usable;
use ona_config::Config;
use ona_config::servers::GivenServers;
use ona_config::settings::{self, Given};
use ona_config::trust::RunTrust;
use ona_extensions::{Plugin, check_given};
use ona_hooks::Timeouts;
use ona_policy::Scope;
use ona_policy::secrets::holds_secret;
use ona_repo::Disk;
use ona_sandbox::confine::Machine;
use ona_tools::ToolSettings;
use ona_types::CREDENTIAL_VARIABLES;
use ona_web::{WebAccess, WebProxies};
use secrecy::ExposeSecret as _;

use crate::bootstrap::directory;
use crate::error::CliError;
use crate::options::Options;
use crate::started_by::started_by;

/// A variable, as documented.
struct Variable {
    name: &'static str,
    default: &'static str,
    meaning: &'static str,
}

impl Variable {
    /// The error for an invalid value.
    fn refuse(&self, why: impl std::fmt::Display) -> CliError {
        CliError::usage(format!("{} {why}", self.name))
            .hint(format!("{} Default: {}", self.meaning, self.default))
    }
}

const DB: Variable = Variable {
    name: "AGENT_SDLC_DB",
    default: "`$XDG_STATE_HOME/ona/agent.db`",
    meaning: "The SQLite file of the record, as an absolute path. Exported to every child process.",
};
const DB_EXAMPLE: &str = "for example: export AGENT_SDLC_DB=\"$HOME/.local/state/ona/agent.db\"";
const STATE_HOME: Variable = Variable {
    name: "XDG_STATE_HOME",
    default: "`$HOME/.local/state`",
    meaning: "Where the record goes if AGENT_SDLC_DB is not set.",
};
const HOME: Variable = Variable { name: "HOME", default: "", meaning: "The home directory." };
const PATH: Variable = Variable {
    name: "PATH",
    default: "",
    meaning: "Where programs are looked up. `ona init` writes `ona` into other programs' settings if PATH finds it, else its absolute path.",
};
const NO_COLOR: Variable = Variable {
    name: "NO_COLOR",
    default: "unset",
    meaning: "Any value: no colour. Output that does not go to a terminal has none anyway.",
};
const VAULT_PASSPHRASE: Variable = Variable {
    name: "ONA_VAULT_PASSPHRASE",
    default: "unset",
    meaning: "The passphrase of the vault with stored sign-ins. Without one its key is in a file beside it.",
};
const VISUAL: Variable = Variable {
    name: "VISUAL",
    default: "EDITOR",
    meaning: "The editor of `ona memory edit` and of the prompt (ctrl+g), a command line.",
};
const EDITOR: Variable =
    Variable { name: "EDITOR", default: "`vi`", meaning: "The same, if VISUAL is not set." };
const NO_MEMORY: Variable = Variable {
    name: "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    default: "0",
    meaning: "1: the model is offered no memories.",
};
const READ_TOKENS: Variable = Variable {
    name: "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS",
    default: "25000",
    meaning: "Read refuses to show more than about this many tokens at once.",
};
const AGENT_OUTPUT: Variable = Variable {
    name: "TASK_MAX_OUTPUT_LENGTH",
    default: "32000",
    meaning: "How many characters of an agent's answer its caller sees, at most 160000; the whole answer is in a file.",
};
const SUBAGENT_MODEL: Variable = Variable {
    name: "CLAUDE_CODE_SUBAGENT_MODEL",
    default: "unset",
    meaning: "The model for all agents that calls start; it overrides the agent's file and the call.",
};
const BASH_TIMEOUT: Variable = Variable {
    name: "BASH_DEFAULT_TIMEOUT_MS",
    default: "120000",
    meaning: "Timeout of a Bash command if the call sets none, in milliseconds.",
};
const BASH_MAX_TIMEOUT: Variable = Variable {
    name: "BASH_MAX_TIMEOUT_MS",
    default: "600000",
    meaning: "The longest timeout a Bash call may set, in milliseconds.",
};
const KEEP_DIR: Variable = Variable {
    name: "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR",
    default: "0",
    meaning: "1: every Bash command starts in the project directory.",
};
const NO_BACKGROUND: Variable = Variable {
    name: "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    default: "0",
    meaning: "1: nothing runs in the background: Bash and Agent refuse run_in_background, and agents whose file says \
              background are refused too.",
};
const TASK_OUTPUT: Variable = Variable {
    name: "ONA_TASK_OUTPUT_BYTES",
    default: "5000000000",
    meaning: "Output limit of a background task in bytes. A task that reaches it is stopped, and its file says so.",
};
const ENV_FILE: Variable = Variable {
    name: "CLAUDE_ENV_FILE",
    default: "unset",
    meaning: "A file that is sourced before every Bash command.",
};
const BASH_ENV: Variable = Variable {
    name: "BASH_ENV",
    default: "unset",
    meaning: "Bash's own start-up file; shells that ona starts read it as usual.",
};
const GLOB_HIDDEN: Variable = Variable {
    name: "CLAUDE_CODE_GLOB_HIDDEN",
    default: "true",
    meaning: "false: Glob leaves hidden files out.",
};
const GLOB_NO_IGNORE: Variable = Variable {
    name: "CLAUDE_CODE_GLOB_NO_IGNORE",
    default: "true",
    meaning: "false: Glob leaves out what .gitignore excludes.",
};
const GLOB_TIMEOUT: Variable = Variable {
    name: "CLAUDE_CODE_GLOB_TIMEOUT_SECONDS",
    default: "20",
    meaning: "How long a Glob or Grep may take, in seconds.",
};

const WEB_TIMEOUT: Variable = Variable {
    name: "ONA_WEB_TIMEOUT_MS",
    default: "60000",
    meaning: "How long WebFetch may take for a page, and WebSearch for its backend, in milliseconds.",
};
const BRAVE_KEY: Variable = Variable {
    name: "BRAVE_API_KEY",
    default: "unset",
    meaning: "The key for Brave's search, if the setting webSearch.backend is `brave`.",
};
const TAVILY_KEY: Variable = Variable {
    name: "TAVILY_API_KEY",
    default: "unset",
    meaning: "The key for Tavily's search, if the setting webSearch.backend is `tavily`.",
};

const ONA_TRUST: Variable = Variable {
    name: "ONA_TRUST",
    default: "0",
    meaning: "1: trust the folder's hooks, helpers and servers for this run, as they are when it starts. A process that a call started ignores it.",
};
const NO_HOOKS: Variable = Variable {
    name: "SDLC_DISABLE_ALL_HOOKS",
    default: "0",
    meaning: "1: hooks are skipped, and that is recorded.",
};
const HOOK_TIMEOUT: Variable = Variable {
    name: "SDLC_HOOK_TIMEOUT_MS",
    default: "600000",
    meaning: "Timeout of a hook that sets none, in milliseconds.",
};
const SESSION_END_TIMEOUT: Variable = Variable {
    name: "SDLC_SESSIONEND_HOOK_TIMEOUT_MS",
    default: "1500",
    meaning: "Timeout of a SessionEnd hook, in milliseconds.",
};
const CLAUDE_DIR: Variable = Variable {
    name: "CLAUDE_CONFIG_DIR",
    default: "`$HOME/.claude`",
    meaning: "Where Claude Code's own user settings are.",
};
const CONFIG_HOME: Variable = Variable {
    name: "XDG_CONFIG_HOME",
    default: "`$HOME/.config`",
    meaning: "ona's own user settings are in `ona/settings.json` below it.",
};
const MANAGED_DIRS: Variable = Variable {
    name: "ONA_MANAGED_DIRS",
    default: "unset",
    meaning: "Further directories, separated by `:`, for the organisation's settings after `/etc/ona` and `/etc/claude-code`; the first directory that has settings counts.",
};
const SKILL_ROOM: Variable = Variable {
    name: "SLASH_COMMAND_TOOL_CHAR_BUDGET",
    default: "1 % of the model's context, or 8000",
    meaning: "Character limit of the list of skills that the model sees.",
};
const LANG: Variable = Variable {
    name: "LANG",
    default: "unset",
    meaning: "If neither it nor LC_ALL is set, hooks get `C.UTF-8`.",
};
const HOST_PROJECT: Variable = Variable {
    name: "CLAUDE_PROJECT_DIR",
    default: "",
    meaning: "The project of the agent that runs `ona hook claude_code`; Claude Code sets it for its hooks.",
};
const LC_ALL: Variable = Variable { name: "LC_ALL", default: "unset", meaning: "As LANG." };

/// Read by ona.
#[cfg(test)]
const READ: &[&Variable] = &[
    &DB,
    &STATE_HOME,
    &HOME,
    &PATH,
    &HOST_PROJECT,
    &NO_COLOR,
    &VAULT_PASSPHRASE,
    &VISUAL,
    &EDITOR,
    &NO_MEMORY,
    &READ_TOKENS,
    &AGENT_OUTPUT,
    &SUBAGENT_MODEL,
    &BASH_TIMEOUT,
    &BASH_MAX_TIMEOUT,
    &KEEP_DIR,
    &NO_BACKGROUND,
    &TASK_OUTPUT,
    &ENV_FILE,
    &BASH_ENV,
    &GLOB_HIDDEN,
    &GLOB_NO_IGNORE,
    &GLOB_TIMEOUT,
    &WEB_TIMEOUT,
    &BRAVE_KEY,
    &TAVILY_KEY,
    &ONA_TRUST,
    &NO_HOOKS,
    &HOOK_TIMEOUT,
    &SESSION_END_TIMEOUT,
    &CLAUDE_DIR,
    &CONFIG_HOME,
    &MANAGED_DIRS,
    &SKILL_ROOM,
    &LANG,
    &LC_ALL,
];

/// All variables that ona reads.
#[cfg(test)]
fn all_read() -> Vec<&'static Variable> {
    let parts =
        [servers::READ, model::READ, oauth::READ, terminal::READ, commands::READ, stores::READ];
    READ.iter().chain(parts.into_iter().flatten()).copied().collect()
}

/// Set by ona for the processes it starts.
#[cfg(test)]
const SET_FOR_CHILDREN: &[Variable] = &[
    Variable { name: DB.name, default: "", meaning: "The record's absolute path." },
    Variable {
        name: "ONA_TOOL_USE_ID",
        default: "",
        meaning: "The call that the process belongs to; every process with this value and the same record is killed when the call times out.",
    },
    Variable {
        name: "ONA_SERVER_RUN",
        default: "",
        meaning: "The session that an MCP server's program belongs to; if ona was killed, the next session kills every process with this value.",
    },
    Variable {
        name: "ONA_HOOK_RUN",
        default: "",
        meaning: "The hook run that the process belongs to; every process with this value is killed when the hook times out, or by the next session if ona was killed.",
    },
    Variable {
        name: ona_types::CREDENTIAL_HANDOVER,
        default: "",
        meaning: "Only for ona itself: the descriptor by which it hands over its credentials when it starts itself again without them.",
    },
    Variable { name: "SDLC_HOOK", default: "", meaning: "1 in hooks." },
    Variable {
        name: "CLAUDE_PROJECT_DIR",
        default: "",
        meaning: "In hooks: the directory whose settings contain the hook.",
    },
    Variable {
        name: "CLAUDE_PLUGIN_ROOT",
        default: "",
        meaning: "The plugin's directory, in its hooks and MCP servers.",
    },
    Variable {
        name: "CLAUDE_PLUGIN_DATA",
        default: "",
        meaning: "Where the plugin may keep data, in its hooks and MCP servers.",
    },
    Variable {
        name: "ONA_TASK_ID",
        default: "",
        meaning: "The background task the process belongs to.",
    },
];

/// Where the record is.
pub fn database() -> Result<PathBuf, CliError> {
    if let Some(path) = std::env::var_os(DB.name) {
        let path = PathBuf::from(path);
        return if path.is_absolute() {
            Ok(path)
        } else {
            Err(DB
                .refuse(format!("must be an absolute path, not `{}`", path.display()))
                .hint(DB_EXAMPLE))
        };
    }
    state_dir()
        .map(|state| state.join("agent.db"))
        .ok_or_else(|| DB.refuse("is not set, and neither is HOME").hint(DB_EXAMPLE))
}

/// Where ona keeps what outlives a process.
fn state_dir() -> Option<PathBuf> {
    let state = absolute(&STATE_HOME);
    let state = state.or_else(|| absolute(&HOME).map(|home| home.join(".local/state")))?;
    Some(state.join("ona"))
}

/// A directory. The XDG specification says to ignore relative values.
fn absolute(variable: &Variable) -> Option<PathBuf> {
    path(variable).filter(|path| path.is_absolute())
}

/// The home directory.
pub fn home() -> Option<PathBuf> {
    path(&HOME)
}

/// The operator's editor, as a command line.
pub fn editor() -> String {
    let named = |variable: &Variable| text(variable).ok().flatten();
    named(&VISUAL).or_else(|| named(&EDITOR)).unwrap_or_else(|| "vi".to_owned())
}

/// Whether memories are offered at all.
pub fn offers_memories() -> Result<bool, CliError> {
    Ok(!switch(&NO_MEMORY, false)?)
}

/// The project of the agent whose hook this is, as Claude Code says it.
pub fn host_project() -> Option<PathBuf> {
    path(&HOST_PROJECT).filter(|dir| dir.is_absolute())
}

/// This program's file, and whether it is what PATH calls `ona`.
pub fn own_program() -> Result<(PathBuf, bool), CliError> {
    let own = std::env::current_exe().map_err(|error| {
        CliError::failed(format!("cannot find ona's own program file: {error}"))
    })?;
    let dirs = std::env::var_os(PATH.name).unwrap_or_default();
    // A relative entry depends on the current directory.
    let dirs = std::env::split_paths(&dirs).filter(|dir| dir.is_absolute());
    let found = dirs.map(|dir| dir.join("ona")).find(|program| program.is_file());
    let real = |program: &Path| program.canonicalize().ok();
    let is_on_path =
        found.is_some_and(|found| real(&found).is_some() && real(&found) == real(&own));
    Ok((own, is_on_path))
}

/// What this machine has for a sandbox; what is found out is kept beside the record, also for a session that has none.
pub fn machine() -> Machine {
    let state = database().ok().and_then(|record| Some(record.parent()?.to_owned()));
    let temporary = std::env::temp_dir();
    let temporary = temporary.canonicalize().unwrap_or(temporary);
    Machine::new(state.unwrap_or_default(), search_path(), temporary).hiding(stores::moved())
}

/// Where programs are looked for.
pub fn search_path() -> OsString {
    std::env::var_os(PATH.name).unwrap_or_default()
}

/// Whether PATH has a program of this name.
pub fn has_program(name: &str) -> bool {
    let dirs = std::env::var_os(PATH.name).unwrap_or_default();
    std::env::split_paths(&dirs).any(|dir| dir.is_absolute() && dir.join(name).is_file())
}

/// What a child gets on top of our own environment. It is known by it later.
pub fn for_children(database: &Path) -> Vec<(OsString, OsString)> {
    ona_sandbox::children_have(DB.name, database);
    vec![(DB.name.into(), database.into())]
}

/// Whether the operator wants colour at all.
pub fn wants_colour() -> bool {
    std::env::var_os(NO_COLOR.name).is_none_or(|value| value.is_empty())
}

/// Whether colour is welcome on standard output.
pub fn colour() -> bool {
    wants_colour() && std::io::stdout().is_terminal() && !crate::output::is_captured()
}

/// Where secrets are kept that the operator was asked for.
pub fn vault_dir() -> Result<PathBuf, CliError> {
    let state = state_dir().ok_or_else(|| CliError::usage("HOME is not set"))?;
    Ok(state.join("vault"))
}

/// What the vault's key is made of, instead of a key file.
pub fn vault_passphrase() -> Result<Option<secrecy::SecretString>, CliError> {
    let given = text(&VAULT_PASSPHRASE)?.filter(|given| !given.is_empty());
    Ok(given.map(secrecy::SecretString::from))
}

/// The model of all agents that calls start, where it is set.
pub fn subagent_model() -> Result<Option<String>, CliError> {
    text(&SUBAGENT_MODEL)
}

/// The tools' settings with what the operator adjusted.
pub fn tool_settings() -> Result<ToolSettings, CliError> {
    let defaults = ToolSettings::default();
    let duration = |variable: &Variable, unit: fn(u64) -> Duration, default: Duration| {
        Ok::<_, CliError>(number(variable)?.map_or(default, unit))
    };
    Ok(ToolSettings {
        read_max_tokens: number(&READ_TOKENS)?.unwrap_or(defaults.read_max_tokens),
        mcp_output_chars: servers::output_chars()?.unwrap_or(defaults.mcp_output_chars),
        agent_output_chars: number(&AGENT_OUTPUT)?
            .and_then(|most| usize::try_from(most).ok())
            .map_or(defaults.agent_output_chars, |most| most.min(160_000)),
        bash_timeout: duration(&BASH_TIMEOUT, Duration::from_millis, defaults.bash_timeout)?,
        bash_max_timeout: duration(
            &BASH_MAX_TIMEOUT,
            Duration::from_millis,
            defaults.bash_max_timeout,
        )?,
        bash_keep_project_dir: switch(&KEEP_DIR, defaults.bash_keep_project_dir)?,
        no_background: switch(&NO_BACKGROUND, false)?
            .then_some("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS switches them off"),
        background_output_limit: number(&TASK_OUTPUT)?.unwrap_or(defaults.background_output_limit),
        bash_env_file: path(&ENV_FILE),
        inherited_bash_env: path(&BASH_ENV),
        glob_hidden: switch(&GLOB_HIDDEN, defaults.glob_hidden)?,
        glob_ignored: switch(&GLOB_NO_IGNORE, defaults.glob_ignored)?,
        search_timeout: duration(&GLOB_TIMEOUT, Duration::from_secs, defaults.search_timeout)?,
        web_timeout: duration(&WEB_TIMEOUT, Duration::from_millis, defaults.web_timeout)?,
        ..defaults
    })
}

/// What the environment gives for the web.
pub fn web_access() -> Result<WebAccess, CliError> {
    let (proxies, extra_ca) = model::ways()?;
    Ok(WebAccess {
        brave_key: key(&BRAVE_KEY)?.map(Into::into),
        tavily_key: key(&TAVILY_KEY)?.map(Into::into),
        proxies: WebProxies {
            http: proxies.http,
            https: proxies.https,
            none_for: proxies.none_for,
        },
        extra_ca,
    })
}

/// How settings are found, and what the command line adds to them.
pub fn config(cli: &Options) -> Result<Config, CliError> {
    let scope = |name: &String| match name.as_str() {
        "user" => Ok(Scope::User),
        "project" => Ok(Scope::Project),
        "local" => Ok(Scope::Local),
        other => Err(CliError::usage(format!("--setting-sources: unknown source `{other}`"))
            .hint("expected user, project or local")),
    };
    let sources = cli.setting_sources.as_ref();
    let mut sources = sources.map(|names| names.iter().map(scope).collect()).transpose()?;
    if cli.agent.bare {
        sources = Some(Vec::new());
    }
    let mut settings = given_settings(cli)?;
    let here = std::env::current_dir().unwrap_or_default();
    settings.extend(cli.agent.settings(&here).map(|settings| settings.to_string()));
    let mode = cli.permission_mode.as_deref().map(str::parse).transpose();
    let mode = mode.map_err(|error: ona_types::UnknownMode| {
        CliError::usage(format!("--permission-mode: {error}")).hint("see `ona --help`")
    })?;
    Ok(Config {
        started_by: (!settings.is_empty())
            .then(started_by)
            .flatten()
            .map(|starter| starter.to_string()),
        given: Given { settings, sources },
        servers: servers::given(cli)?,
        plugin_dirs: plugin_dirs(cli)?,
        agents: given_agents(cli)?,
        skills_off: cli.agent.disable_slash_commands,
        mode,
        trust: if trusts(cli)? { RunTrust::given() } else { RunTrust::default() },
        ..config_of_environment()?
    })
}

/// How settings are found, by the environment alone.
pub fn config_of_environment() -> Result<Config, CliError> {
    let home = path(&HOME).unwrap_or_else(|| PathBuf::from("/"));
    let timeouts = Timeouts::default();
    let millis = |variable: &Variable, default: Duration| {
        Ok::<_, CliError>(number(variable)?.map_or(default, Duration::from_millis))
    };
    Ok(Config {
        claude_dir: path(&CLAUDE_DIR).unwrap_or_else(|| home.join(".claude")),
        ona_config: absolute(&CONFIG_HOME).unwrap_or_else(|| home.join(".config")).join("ona"),
        managed_dirs: managed_dirs(text(&MANAGED_DIRS)?.as_deref())?,
        started_by: None,
        given: Given::default(),
        servers: GivenServers::default(),
        plugin_dirs: Vec::new(),
        agents: None,
        skills_off: false,
        mode: None,
        trust: RunTrust::default(),
        skill_listing_room: number(&SKILL_ROOM)?
            .map(|room| usize::try_from(room).unwrap_or(usize::MAX)),
        hooks_disabled: switch(&NO_HOOKS, false)?,
        hook_timeouts: Timeouts {
            general: millis(&HOOK_TIMEOUT, timeouts.general)?,
            session_end: millis(&SESSION_END_TIMEOUT, timeouts.session_end)?,
        },
        has_locale: path(&LANG).is_some() || path(&LC_ALL).is_some(),
        secrets: secrets(),
        learned_secrets: crate::secrets::learned(),
        variable: |name| value_of(name).ok(),
        home,
    })
}

/// Values of the environment, and of the stored login, that must not be shown.
pub fn secrets() -> Vec<String> {
    own_secrets().into_iter().chain(crate::tokens::stored_secrets()).collect()
}

/// Values of the environment that must not be shown.
pub(crate) fn own_secrets() -> Vec<String> {
    let named = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let handed_over = ona_sandbox::handed_over();
    let handed_over = handed_over.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let named = named.chain(handed_over);
    // Of the variables for the sign-in none is one, whatever its name says.
    let named = named.filter(|(name, _)| !name.starts_with("ONA_OAUTH_"));
    // A credential of ona's own counts whatever it looks like.
    let named = named.filter(|(name, value)| {
        CREDENTIAL_VARIABLES.contains(&name.as_str()) || holds_secret(&Disk, name, value)
    });
    // As keys are sent.
    let named = named.map(|(_, value)| value.trim().to_owned());
    let descriptor = descriptor::oauth_descriptor().ok().flatten();
    let descriptor = descriptor.map(|token| token.expose_secret().to_owned());
    named.chain(model::headers_of_environment()).chain(descriptor).collect()
}

/// The directories of the organisation's settings. The variable can only add directories.
fn managed_dirs(further: Option<&str>) -> Result<Vec<PathBuf>, CliError> {
    let mut dirs = vec![PathBuf::from("/etc/ona"), PathBuf::from("/etc/claude-code")];
    for dir in further.unwrap_or_default().split(':').filter(|dir| !dir.is_empty()) {
        if !Path::new(dir).is_absolute() {
            return Err(MANAGED_DIRS.refuse(format!("must hold absolute paths, not `{dir}`")));
        }
        dirs.push(dir.into());
    }
    Ok(dirs)
}

/// The settings of `--settings`. A file that cannot be used is an error before anything starts.
fn given_settings(cli: &Options) -> Result<Vec<String>, CliError> {
    if cli.settings.is_empty() {
        return Ok(Vec::new());
    }
    let here = directory(cli.cwd.as_deref())?;
    for given in &cli.settings {
        if let Some(why) = settings::refuses(given, &here) {
            let name = if settings::is_text(given) { String::new() } else { format!(" {given}") };
            return Err(CliError::usage(format!("--settings{name}: {why}"))
                .hint("expected a JSON object, or a file with one"));
        }
    }
    // A path is relative to the current directory, not to the directory of the session's shell.
    let absolute = |given: &String| {
        if settings::is_text(given) {
            return given.clone();
        }
        here.join(given).to_string_lossy().into_owned()
    };
    Ok(cli.settings.iter().map(absolute).collect())
}

/// The plugins of `--plugin-dir`. One that cannot be used is an error before anything starts.
fn plugin_dirs(cli: &Options) -> Result<Vec<PathBuf>, CliError> {
    if cli.plugin_dir.is_empty() {
        return Ok(Vec::new());
    }
    let here = directory(cli.cwd.as_deref())?;
    let dir = |dir: &PathBuf| {
        let dir = here.join(dir);
        Plugin::read(&dir, &dir).map(|plugin| plugin.root).map_err(|error| {
            CliError::usage(format!("--plugin-dir: {error}"))
                .hint(format!("`ona plugin validate {}` checks a plugin", dir.display()))
        })
    };
    cli.plugin_dir.iter().map(dir).collect()
}

/// The agents of `--agents`.
fn given_agents(cli: &Options) -> Result<Option<String>, CliError> {
    if let Some(given) = &cli.agents {
        check_given(given).map_err(|why| {
            CliError::usage(format!("--agents: {why}")).hint(
                "for example: --agents '{\"reviewer\":{\"description\":\"reviews code\",\"prompt\":\"Review it.\"}}'",
            )
        })?;
    }
    Ok(cli.agents.clone())
}

/// Whether the folder is trusted for this run. What a call started inherits the variable, but not the right to trust.
fn trusts(cli: &Options) -> Result<bool, CliError> {
    Ok(cli.trust || switch(&ONA_TRUST, false)? && started_by().is_none())
}

fn path(variable: &Variable) -> Option<PathBuf> {
    std::env::var_os(variable.name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A variable that this process was started with. Credentials have left its environment since then.
fn value_of(name: &str) -> Result<String, VarError> {
    match ona_sandbox::handed_over().find(|(known, _)| *known == name) {
        Some((_, value)) => Ok(value.to_owned()),
        None => std::env::var(name),
    }
}

/// A variable's text; an empty one counts as unset.
fn text(variable: &Variable) -> Result<Option<String>, CliError> {
    match value_of(variable.name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(variable.refuse("is not UTF-8")),
    }
}

/// A key without surrounding white space, such as the newline of a file; white space alone counts as unset.
fn key(variable: &Variable) -> Result<Option<String>, CliError> {
    let key = text(variable)?.map(|key| key.trim().to_owned());
    let key = key.filter(|key| !key.is_empty());
    match key {
        Some(key) if !is_usable(&key) => Err(variable.refuse(UNUSABLE)),
        key => Ok(key),
    }
}

/// What a credential is not.
const UNUSABLE: &str = "is not one line of printable characters, or is longer than 16 KiB";

fn number(variable: &Variable) -> Result<Option<u64>, CliError> {
    let Some(value) = text(variable)? else { return Ok(None) };
    match value.trim().parse() {
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(variable.refuse(format!("must be a whole number above 0, not `{value}`"))),
    }
}

/// A number that may be 0.
fn count(variable: &Variable) -> Result<Option<u32>, CliError> {
    let Some(value) = text(variable)? else { return Ok(None) };
    let wrong = |_| variable.refuse(format!("must be a whole number from 0 up, not `{value}`"));
    value.trim().parse().map(Some).map_err(wrong)
}

fn switch(variable: &Variable, default: bool) -> Result<bool, CliError> {
    match text(variable)?.as_deref() {
        None => Ok(default),
        Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(value) => {
            Err(variable.refuse(format!("must be 1 (true) or 0 (false), not `{value}`")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let mut page = String::from(
            "<!-- Made from crates/cli/src/env.rs; `UPDATE_DOCS=1 cargo test -p ona-cli env` updates it. -->\n\
             # Environment variables\n\n\
             ## Read\n\n| Variable | Default | Meaning |\n|---|---|---|\n",
        );
        for v in all_read() {
            page.push_str(&format!("| `{}` | {} | {} |\n", v.name, v.default, v.meaning));
        }
        page.push_str(
            "\n## Set for the processes ona starts\n\n| Variable | Meaning |\n|---|---|\n",
        );
        for v in SET_FOR_CHILDREN {
            page.push_str(&format!("| `{}` | {} |\n", v.name, v.meaning));
        }
        page
    }

    #[test]
    fn the_organisations_directories_can_only_be_added_to() {
        let dirs = |further: Option<&str>| managed_dirs(further).unwrap();
        let own = [Path::new("/etc/ona"), Path::new("/etc/claude-code")];
        assert_eq!(dirs(None), own);
        assert_eq!(
            dirs(Some("/nope::/more")),
            [&own[..], &["/nope", "/more"].map(Path::new)].concat()
        );
        assert!(
            managed_dirs(Some("/a:b")).unwrap_err().to_string().contains("absolute paths, not `b`")
        );
    }

    #[test]
    fn the_page_is_true() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ENVIRONMENT.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(found, page(), "run `UPDATE_DOCS=1 cargo test -p ona-cli env`");
    }
}
