//! The settings that ona reads, with their types: for `ona config schema`, for the check of every file, and for typed
//! reads. Other keys are kept and ignored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::LazyLock;

use ona_types::hook::HookEvent;
use ona_types::{PermissionMode, SandboxLevel};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The JSON Schema of a settings file.
pub fn schema() -> Value {
    schemars::schema_for!(Settings).to_value()
}

/// The schema, made once.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

/// Whether a key is one of [`Settings`]; any other has no effect.
pub(crate) fn is_setting(key: &str) -> bool {
    SCHEMA["properties"].get(key).is_some()
}

/// Whether a key is one of [`Permissions`].
pub(crate) fn is_permission(key: &str) -> bool {
    SCHEMA["$defs"]["Permissions"]["properties"].get(key).is_some()
}

type Texts = Option<Vec<String>>;
type Flag = Option<bool>;
type Table<T> = Option<BTreeMap<String, T>>;
type Section<T> = Option<Object<T>>;

/// Settings of ona and Claude Code.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// Where this schema is.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,

    /// What tools may do without asking, must ask for, may not do.
    pub permissions: Section<Permissions>,
    /// Whether bypassPermissions starts without a warning. Not in project settings.
    pub skip_dangerous_mode_permission_prompt: Flag,
    /// Managed only: whether permission rules of other scopes are ignored.
    pub allow_managed_permission_rules_only: Flag,
    /// Managed only: whether hooks of other scopes are ignored.
    pub allow_managed_hooks_only: Flag,
    /// Managed only: whether other scopes' lists of allowed MCP servers are ignored.
    pub allow_managed_mcp_servers_only: Flag,
    /// The OS sandbox around shell commands.
    pub sandbox: Section<Sandbox>,

    /// Hooks: event → [{matcher, hooks}], or a list of {hook_event_name, matcher, hooks}, or a list
    /// of {hook_event_name, matcher, command}.
    #[schemars(with = "Option<Hooks>")]
    pub hooks: Option<Value>,
    /// Whether hooks and the status line are off; managed hooks only if managed settings say so.
    pub disable_all_hooks: Flag,
    /// URL patterns that HTTP hooks may call.
    pub allowed_http_hook_urls: Texts,
    /// Environment variables that HTTP hooks may put into headers.
    pub http_hook_allowed_env_vars: Texts,

    /// Provider and model (S0 §2.2).
    #[serde(rename = "model_config")]
    pub model_config: Section<ModelConfig>,
    /// Wire names to use for model ids.
    #[serde(rename = "model_aliases")]
    pub model_aliases: Table<String>,
    /// The model.
    pub model: Option<String>,
    /// Models that may be chosen.
    pub available_models: Texts,
    /// Wire names to use for models.
    pub model_overrides: Table<String>,
    /// The reasoning effort of the model.
    pub effort_level: Option<EffortLevel>,
    /// Whether the model always thinks before it answers.
    pub always_thinking_enabled: Flag,
    /// Whether summaries of its thinking are shown.
    pub show_thinking_summaries: Flag,
    /// The language of its replies.
    pub language: Option<String>,
    /// The style of its replies.
    pub output_style: Option<String>,
    /// The subagent that the main thread runs as.
    pub agent: Option<String>,

    /// Environment variables of every session and its children.
    pub env: Table<String>,
    /// A shell command that prints the API key.
    pub api_key_helper: Option<String>,
    /// The authorization server that `ona auth login` signs in to. Not in project settings.
    pub oauth: Section<OauthSettings>,
    /// The only way to log in.
    pub force_login_method: Option<String>,
    /// The organisation to log in to.
    #[serde(rename = "forceLoginOrgUUID")]
    pub force_login_org_uuid: Option<String>,

    /// What commits and pull requests say about the agent.
    pub attribution: Section<Attribution>,
    /// Deprecated, use attribution.
    pub include_co_authored_by: Flag,
    /// Whether the model is told how to work with git.
    pub include_git_instructions: Flag,
    /// After how many days of inactivity sessions are removed; never if not set.
    pub cleanup_period_days: Option<Positive>,
    /// Where plans are also written to.
    pub plans_directory: Option<String>,
    /// Whether the model is offered memories at all.
    pub auto_memory_enabled: Flag,
    /// How memories are offered to the model.
    pub memory: Section<MemorySettings>,
    /// Where `ona memory import` finds memories if no file is named. Not in project settings.
    pub auto_memory_directory: Option<String>,
    /// Globs of instruction files to leave out.
    pub claude_md_excludes: Texts,
    /// What to do in a new worktree.
    pub worktree: Section<Worktree>,
    /// Whether skills may not run shell commands while they load.
    pub disable_skill_shell_execution: Flag,
    /// Plugins that are on or off.
    pub enabled_plugins: Table<bool>,

    /// MCP servers by name, as in a file of servers. They are checked when servers are loaded.
    pub mcp_servers: Table<Map<String, Value>>,
    /// Whether all servers of `.mcp.json` are approved.
    pub enable_all_project_mcp_servers: Flag,
    /// Servers of `.mcp.json` that are approved.
    pub enabled_mcpjson_servers: Texts,
    /// Servers of `.mcp.json` that are rejected.
    pub disabled_mcpjson_servers: Texts,
    /// The only MCP servers that may be started.
    pub allowed_mcp_servers: Option<Vec<Object<McpServer>>>,
    /// MCP servers that may not be started.
    pub denied_mcp_servers: Option<Vec<Object<McpServer>>>,

    /// How WebFetch fetches pages.
    pub web_fetch: Section<WebFetch>,
    /// The backend of WebSearch if the provider has no search.
    pub web_search: Section<WebSearch>,

    /// The colours: auto, dark, light, dark-daltonized, light-daltonized, dark-ansi or light-ansi.
    pub theme: Option<String>,
    /// The keys of the prompt.
    pub editor_mode: Option<EditorMode>,
    /// Whether the output of tools is shown whole.
    pub verbose: Flag,
    /// How the user is notified: auto, terminal_bell, iterm2, kitty, ghostty or notifications_disabled.
    pub preferred_notif_channel: Option<String>,
    /// A command that prints the status line.
    pub status_line: Section<Helper>,
    /// A command that completes `@` file names.
    pub file_suggestion: Section<Helper>,
    /// Whether `@` completion leaves out ignored files.
    pub respect_gitignore: Flag,
    /// The shell of `!` commands.
    pub default_shell: Option<Shell>,
    /// Texts shown at start.
    pub company_announcements: Texts,
    /// Whether tips are shown while waiting.
    pub spinner_tips_enabled: Flag,
    /// Whether nothing moves on the screen.
    pub prefers_reduced_motion: Flag,
    /// Whether code is shown without colours.
    pub syntax_highlighting_disabled: Flag,
    /// Whether renaming a session renames the terminal's title.
    pub terminal_title_from_rename: Flag,
    /// Whether a next prompt is suggested.
    pub prompt_suggestion_enabled: Flag,
    /// Whether accepting a plan offers to clear the context.
    pub show_clear_context_on_plan_accept: Flag,
}

/// `permissions` (Appendix E).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Rules for calls that are allowed.
    pub allow: Texts,
    /// Rules for calls that need confirmation.
    pub ask: Texts,
    /// Rules for calls that are denied.
    pub deny: Texts,
    /// The mode to start in.
    pub default_mode: Option<PermissionMode>,
    /// More directories to work in.
    pub additional_directories: Texts,
    /// `disable`: there is no bypassPermissions mode.
    pub disable_bypass_permissions_mode: Option<Disable>,
    /// The same as the key of this name at the top.
    pub allow_managed_permission_rules_only: Flag,
}

/// `oauth`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OauthSettings {
    /// Who ona is to it.
    pub client_id: Option<String>,
    /// Where the human signs in.
    pub authorize_url: Option<String>,
    /// Where tokens are issued and renewed.
    pub token_url: Option<String>,
    /// Where they are revoked.
    pub revoke_url: Option<String>,
    /// The page that shows a code to paste.
    pub code_redirect_url: Option<String>,
    /// What is asked for.
    pub scopes: Texts,
}

/// `sandbox`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// Whether commands of Bash run in it.
    pub enabled: Flag,
    /// Whether a session stops if no level works here.
    pub fail_if_unavailable: Flag,
    /// The level below which a command is denied.
    pub minimum: Option<SandboxLevel>,
    /// Fills in what is not set: `sandbox` or `ci-like`.
    pub profile: Option<SandboxProfile>,
    /// Whether commands in it run without asking.
    pub auto_allow_bash_if_sandboxed: Flag,
    /// Commands that run outside.
    pub excluded_commands: Texts,
    /// Whether a call may ask to run outside.
    pub allow_unsandboxed_commands: Flag,
    /// Whether hooks run in it too.
    pub hooks: Flag,
    /// Whether MCP servers over stdio run in it too.
    pub mcp_servers: Flag,
    /// Files.
    pub filesystem: Section<SandboxFiles>,
    /// The network.
    pub network: Section<SandboxNetwork>,
    /// What a command may use up.
    pub limits: Section<SandboxLimits>,
    /// Of Claude Code. Not needed: the strongest level that works is used.
    pub enable_weaker_nested_sandbox: Flag,
    /// Of Claude Code, for macOS. No effect.
    pub enable_weaker_network_isolation: Flag,
}

/// `sandbox.limits`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxLimits {
    /// Seconds of computing of each process.
    pub cpu_seconds: Option<u64>,
    /// Memory of each process, in MB.
    pub memory_mb: Option<u64>,
    /// Processes of the user.
    pub processes: Option<u64>,
    /// The size of a file that is written, in MB.
    pub file_size_mb: Option<u64>,
}

/// `sandbox.filesystem`: paths, not rules.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names say it")]
pub struct SandboxFiles {
    pub allow_write: Texts,
    pub deny_write: Texts,
    pub deny_read: Texts,
    pub allow_read: Texts,
}

/// `sandbox.network`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names say it")]
pub struct SandboxNetwork {
    pub allowed_domains: Texts,
    pub allow_unix_sockets: Texts,
    pub allow_all_unix_sockets: Flag,
    pub allow_local_binding: Flag,
    pub http_proxy_port: Option<u16>,
    pub socks_proxy_port: Option<u16>,
}

/// `model_config`: no other keys are allowed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ModelConfig {
    /// One of S0 §2.1.
    pub provider: Option<String>,
    /// One of the provider's.
    pub model_id: Option<String>,
}

/// `memory`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemorySettings {
    /// How many tokens of memories a session starts with; 2000 if not set, 0 for none.
    pub budget_tokens: Option<u32>,
}

/// `attribution`: an empty text hides it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Attribution {
    /// In commits.
    pub commit: Option<String>,
    /// In pull requests.
    pub pr: Option<String>,
}

/// `worktree`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worktree {
    /// Directories that are linked, not copied.
    pub symlink_directories: Texts,
    /// The only paths that are checked out.
    pub sparse_paths: Texts,
}

/// `webFetch`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebFetch {
    /// Whether a small model answers the prompt about a page; false: the page itself is shown.
    pub summarize: Flag,
    /// Hosts, optionally with a port, that may be fetched from although their addresses are not public.
    pub allow_private_hosts: Texts,
}

/// `webSearch`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct WebSearch {
    /// The backend.
    pub backend: Option<SearchBackend>,
    /// Its base URL.
    pub url: Option<String>,
}

/// An MCP server, by its name, command or URL.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names say it")]
pub struct McpServer {
    pub server_name: Option<String>,
    pub server_command: Texts,
    pub server_url: Option<String>,
}

/// A command whose output ona shows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Helper {
    /// Always `command`.
    pub r#type: Option<HelperType>,
    /// The command.
    pub command: Option<String>,
    /// Spaces around its output.
    pub padding: Option<u32>,
}

/// Enums of plain words. serde's own would also accept `{"word": null}`, which in a higher layer would
/// replace the word of a lower one.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
        #[allow(missing_docs, reason = "the words say it")]
        pub enum $name { $(#[schemars(rename = $word)] $variant),+ }

        impl $name {
            /// As settings write it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match String::deserialize(deserializer)?.as_str() {
                    $($word => Ok(Self::$variant),)+
                    other => Err(de::Error::unknown_variant(other, &[$($word),+])),
                }
            }
        }
    )+};
}

words! {
    /// `effortLevel`.
    EffortLevel { Low = "low", Medium = "medium", High = "high", Max = "max" }
    /// `defaultShell`.
    Shell { Bash = "bash", Powershell = "powershell" }
    /// `editorMode`.
    EditorMode { Normal = "normal", Vim = "vim" }
    /// The one thing that `disableBypassPermissionsMode` can be.
    Disable { Disable = "disable" }
    /// `webSearch.backend`.
    SearchBackend { Searxng = "searxng", Brave = "brave", Tavily = "tavily" }
    /// `sandbox.profile`.
    SandboxProfile { Sandbox = "sandbox", CiLike = "ci-like" }
    /// The one type of helper.
    HelperType { Command = "command" }
}

/// The forms of `hooks`, for the schema; the hook plane reads them.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is wanted")]
enum Hooks {
    ByEvent(BTreeMap<HookEvent, Vec<Map<String, Value>>>),
    Listed(Vec<Map<String, Value>>),
}

/// A number, 1 or more, with error messages for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positive(pub NonZeroU32);

impl JsonSchema for Positive {
    fn schema_name() -> Cow<'static, str> {
        NonZeroU32::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        NonZeroU32::schema_id()
    }

    fn inline_schema() -> bool {
        NonZeroU32::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        NonZeroU32::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;

        impl Visitor<'_> for Whole {
            type Value = Positive;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Positive, E> {
                self.visit_u64(u64::try_from(value).unwrap_or_default())
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Positive, E> {
                let number = u32::try_from(value)
                    .map_err(|_| E::custom(format!("it must be at most {}", u32::MAX)))?;
                NonZeroU32::new(number)
                    .map(Positive)
                    .ok_or_else(|| E::custom("it must be at least 1"))
            }
        }

        deserializer.deserialize_u32(Whole)
    }
}

/// A struct that is written as an object. serde would also accept a list of its fields, and a list in one
/// file would then replace the object of another.
#[derive(Clone, Debug, Default)]
pub struct Object<T>(pub T);

impl<T> Deref for Object<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: JsonSchema> JsonSchema for Object<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyMap<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OnlyMap<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(OnlyMap(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_schema_names_and_describes_every_key() {
        let schema = schema();
        let properties = schema["properties"].as_object().unwrap();
        for key in
            ["$schema", "permissions", "hooks", "model_config", "forceLoginOrgUUID", "sandbox"]
        {
            assert!(properties.contains_key(key), "{key}");
        }
        for (key, property) in properties {
            assert!(property["description"].is_string(), "{key} has no description");
        }
        assert_eq!(schema["$defs"]["Hooks"]["anyOf"].as_array().unwrap().len(), 2);
        assert!(schema["$defs"]["Permissions"]["properties"]["defaultMode"].is_object());
        assert!(!schema.to_string().contains("Object"), "the wrapper does not show");
        assert!(schema.get("required").is_none());
        assert!(is_setting("sandbox") && !is_setting("sandboxes"));
        assert!(is_permission("allow") && !is_permission("allows"));
    }

    #[test]
    fn a_list_is_no_object_and_an_object_no_word() {
        let read = |json: Value| {
            serde_json::from_value::<Settings>(json).map_err(|error| error.to_string())
        };
        assert!(read(json!({"attribution": {"commit": "x"}})).is_ok());
        assert_eq!(
            read(json!({"attribution": ["x", "y"]})).unwrap_err(),
            "invalid type: sequence, expected an object"
        );
        assert_eq!(
            read(json!({"effortLevel": {"low": null}})).unwrap_err(),
            "invalid type: map, expected a string"
        );
        assert!(read(json!({"effortLevel": "low", "cleanupPeriodDays": 1})).is_ok());
    }
}
