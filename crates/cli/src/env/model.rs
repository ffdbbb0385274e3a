//! The environment variables for models: provider, address, credentials, limits and timeouts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ona_policy::secrets::can_be_secret;
use ona_provider::{Proxies, Transport};
use ona_repo::Disk;

use super::{CliError, Variable, count, key, number, path, switch, text};

macro_rules! variables {
    ($($name:ident = $variable:literal, $default:literal, $meaning:literal;)*) => {
        $(pub(super) const $name: Variable =
            Variable { name: $variable, default: $default, meaning: $meaning };)*
        /// All of them, in the order of the documentation.
        #[cfg(test)]
        pub(super) const READ: &[&Variable] = &[$(&$name),*];
    };
}

variables! {
    ANTHROPIC_KEY = "ANTHROPIC_API_KEY", "unset", "The key for claude_code_subscription, sent as `x-api-key`.";
    ANTHROPIC_TOKEN = "ANTHROPIC_AUTH_TOKEN", "unset", "A bearer token for claude_code_subscription; it wins over the key.";
    OAUTH_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN", "unset", "A token of a sign-in, for claude_code_subscription; the key and apiKeyHelper win over it.";
    OAUTH_DESCRIPTOR = "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", "unset", "The number of an open descriptor from which such a token is read, once, at the start.";
    HELPER_TIMEOUT = "ONA_API_KEY_HELPER_TIMEOUT_MS", "60000", "How long apiKeyHelper may take, in milliseconds.";
    HELPER_TTL = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "300000", "How long a key of apiKeyHelper is used before it is run again, in milliseconds.";
    ANTHROPIC_URL = "ANTHROPIC_BASE_URL", "`https://api.anthropic.com`", "Address of claude_code_subscription; a path in it is kept.";
    ANTHROPIC_SOCKET = "ANTHROPIC_UNIX_SOCKET", "unset", "A unix socket to connect through, without TLS if the base URL is http://.";
    ANTHROPIC_HEADERS = "ANTHROPIC_CUSTOM_HEADERS", "unset", "Additional headers, one `Name: value` per line.";
    ANTHROPIC_MODEL = "ANTHROPIC_MODEL", "unset", "The model, if --model is not given.";
    OPUS = "ANTHROPIC_DEFAULT_OPUS_MODEL", "unset", "The wire name that claude_opus_4 stands for.";
    SONNET = "ANTHROPIC_DEFAULT_SONNET_MODEL", "unset", "The wire name that claude_sonnet_4 stands for.";
    HAIKU = "ANTHROPIC_DEFAULT_HAIKU_MODEL", "unset", "The wire name that claude_3_5_haiku stands for.";
    OPENAI_KEY = "OPENAI_API_KEY", "unset", "The key for openai_compatible.";
    OPENAI_URL = "OPENAI_BASE_URL", "unset", "Address of openai_compatible, such as `https://api.openai.com/v1`.";
    LM_URL = "LM_STUDIO_BASE_URL", "`http://127.0.0.1:1234/v1`", "Address of lm_studio_local.";
    LM_KEY = "LM_STUDIO_API_KEY", "`lm-studio`", "The key for lm_studio_local.";
    LM_MODEL = "LM_STUDIO_MODEL", "unset", "The model that the local server has loaded.";
    RETRIES = "CLAUDE_CODE_MAX_RETRIES", "10", "How often a failed model call is tried again.";
    ANSWER_RETRIES = "MAX_STRUCTURED_OUTPUT_RETRIES", "5", "With --json-schema: how often the model may correct an answer that does not fit.";
    SENT_BACK = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "8", "How often in a turn Stop hooks may send the model back to work, and SubagentStop and TeammateIdle hooks together an agent; 0 means no limit.";
    OUTPUT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "the model's own limit, at most 32000", "How many tokens the model may write in one answer; at most the model's own limit, if that is known.";
    THINKING = "MAX_THINKING_TOKENS", "unset", "How many of those tokens it may spend on thinking, for models with a thinking budget: at least 1024 and less than a whole answer; 0 disables it.";
    TIMEOUT = "API_TIMEOUT_MS", "600000", "Timeout of a model call without streaming, in milliseconds. A stream may be silent for as long, but at most five minutes.";
    WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "the model's own window", "How many tokens of context there are, for compaction.";
    PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "95", "How full the context may get before it is compacted, in percent.";
    NO_COMPACT = "DISABLE_AUTO_COMPACT", "0", "1: the context is compacted only on request.";
    MORE_MD = "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD", "0", "1: instructions of further working directories are read too.";
    EXTRA_CA = "NODE_EXTRA_CA_CERTS", "unset", "A PEM file with certificates to trust besides the system's.";
    HTTP_PROXY = "HTTP_PROXY", "unset", "The proxy for http:// addresses; `http_proxy` is read too.";
    HTTPS_PROXY = "HTTPS_PROXY", "unset", "The proxy for https:// addresses; `https_proxy` is read too.";
    NO_PROXY = "NO_PROXY", "unset", "Hosts that are contacted directly; `no_proxy` is read too.";
}

/// Headers that say where a request goes and how long it is.
const FRAMING: [&str; 6] =
    ["connection", "content-length", "host", "te", "transfer-encoding", "upgrade"];

/// The limit for a file of certificates.
const MAX_CERTIFICATES: u64 = 4 << 20;

/// What the environment says about models.
pub struct Models {
    /// The key of Anthropic.
    pub anthropic_key: Option<String>,
    /// A bearer token for Anthropic; it wins over the key.
    pub anthropic_token: Option<String>,
    /// A token of a sign-in.
    pub oauth_token: Option<String>,
    /// The same, from a descriptor.
    pub oauth_descriptor: Option<String>,
    /// The socket of a proxy that adds the credential.
    pub unix_socket: Option<PathBuf>,
    /// Further headers for Anthropic, one a line.
    pub anthropic_headers: Option<String>,
    /// The address of Anthropic.
    pub anthropic_url: Option<String>,
    /// The key of the OpenAI-compatible server.
    pub openai_key: Option<String>,
    /// Its address.
    pub openai_url: Option<String>,
    /// The address of LM Studio.
    pub lm_url: Option<String>,
    /// The key for it.
    pub lm_key: Option<String>,
    /// The model that it has loaded.
    pub lm_model: Option<String>,
    /// The model, if the command line names none.
    pub model: Option<String>,
    /// Wire names for the three Anthropic ids, by their short words.
    pub aliases: Vec<(&'static str, String)>,
    /// How often a failed call is tried again.
    pub max_retries: Option<u32>,
    /// The output limit in tokens.
    pub max_output: Option<u32>,
    /// How often a structured answer may be corrected.
    pub answer_retries: u32,
    /// How often Stop hooks may send the model back; nothing means no limit.
    pub max_sent_back: Option<u32>,
    /// The thinking budget in tokens; 0 for no thinking.
    pub thinking: Option<u32>,
    /// When the context is compacted.
    pub room: ona_engine::ContextLimit,
    /// Whether instructions of further working directories are read.
    pub read_additional: bool,
}

/// Reads them.
pub fn models() -> Result<Models, CliError> {
    let small = |variable: &Variable| -> Result<Option<u32>, CliError> {
        let number = number(variable)?;
        number
            .map(|number| u32::try_from(number).map_err(|_| variable.refuse("is too large")))
            .transpose()
    };
    let mut aliases = Vec::new();
    for (word, variable) in [("opus", &OPUS), ("sonnet", &SONNET), ("haiku", &HAIKU)] {
        aliases.extend(text(variable)?.map(|wire| (word, wire)));
    }
    let percent = match text(&PERCENT)? {
        None => None,
        Some(given) => match given.parse::<f64>() {
            Ok(percent) if (1.0..=100.0).contains(&percent) => Some(percent),
            _ => return Err(PERCENT.refuse(format!("must be from 1 to 100, not `{given}`"))),
        },
    };
    Ok(Models {
        anthropic_key: key(&ANTHROPIC_KEY)?,
        anthropic_token: key(&ANTHROPIC_TOKEN)?,
        oauth_token: key(&OAUTH_TOKEN)?,
        oauth_descriptor: None,
        unix_socket: path(&ANTHROPIC_SOCKET),
        anthropic_headers: text(&ANTHROPIC_HEADERS)?,
        anthropic_url: text(&ANTHROPIC_URL)?,
        openai_key: key(&OPENAI_KEY)?,
        openai_url: text(&OPENAI_URL)?,
        lm_url: text(&LM_URL)?,
        lm_key: key(&LM_KEY)?,
        lm_model: text(&LM_MODEL)?,
        model: text(&ANTHROPIC_MODEL)?,
        aliases,
        max_retries: count(&RETRIES)?,
        answer_retries: count(&ANSWER_RETRIES)?.unwrap_or(5),
        max_sent_back: Some(count(&SENT_BACK)?.unwrap_or(8)).filter(|most| *most > 0),
        max_output: small(&OUTPUT)?,
        thinking: count(&THINKING)?,
        room: ona_engine::ContextLimit {
            window: number(&WINDOW)?,
            percent,
            disabled: switch(&NO_COMPACT, false)?,
        },
        read_additional: switch(&MORE_MD, false)?,
    })
}

impl Models {
    /// Takes from the operator's settings what the process's own environment does not say.
    pub fn complete(&mut self, settings: &BTreeMap<String, String>) {
        let given = |variable: &Variable| {
            let value = settings.get(variable.name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        for (field, variable) in [
            (&mut self.anthropic_key, &ANTHROPIC_KEY),
            (&mut self.anthropic_token, &ANTHROPIC_TOKEN),
            (&mut self.oauth_token, &OAUTH_TOKEN),
            (&mut self.anthropic_headers, &ANTHROPIC_HEADERS),
            (&mut self.anthropic_url, &ANTHROPIC_URL),
            (&mut self.openai_key, &OPENAI_KEY),
            (&mut self.openai_url, &OPENAI_URL),
            (&mut self.lm_key, &LM_KEY),
            (&mut self.lm_url, &LM_URL),
        ] {
            if field.is_none() {
                *field = given(variable);
            }
        }
        if self.unix_socket.is_none() {
            self.unix_socket = given(&ANTHROPIC_SOCKET).map(PathBuf::from);
        }
    }

    /// Values of the further headers that must not be shown.
    pub fn header_secrets(&self) -> Vec<String> {
        header_secrets(self.anthropic_headers.as_deref().unwrap_or_default())
    }
}

/// How long apiKeyHelper may take, and how long its key is used.
pub fn helper_times() -> Result<(Duration, Duration), CliError> {
    let timeout = number(&HELPER_TIMEOUT)?.unwrap_or(60_000);
    let lasts = number(&HELPER_TTL)?.unwrap_or(300_000);
    Ok((Duration::from_millis(timeout), Duration::from_millis(lasts)))
}

/// Values of the environment's further headers that must not be shown.
pub fn headers_of_environment() -> Vec<String> {
    header_secrets(&text(&ANTHROPIC_HEADERS).ok().flatten().unwrap_or_default())
}

fn header_secrets(text: &str) -> Vec<String> {
    let headers = text.lines().filter_map(|line| line.split_once(':'));
    let secrets = headers.flat_map(|(name, value)| ona_provider::header_secrets(name, value));
    secrets.filter(|value| can_be_secret(&Disk, value)).map(str::to_owned).collect()
}

/// Proxies, and the file of additional certificates.
pub fn ways() -> Result<(Proxies, Option<PathBuf>), CliError> {
    let either = |variable: &Variable| -> Result<Option<String>, CliError> {
        let lower = std::env::var(variable.name.to_ascii_lowercase()).ok();
        Ok(lower.filter(|value| !value.is_empty()).or(text(variable)?))
    };
    let proxies = Proxies {
        http: either(&HTTP_PROXY)?,
        https: either(&HTTPS_PROXY)?,
        none_for: either(&NO_PROXY)?,
    };
    Ok((proxies, path(&EXTRA_CA)))
}

/// The way to a server: proxies, certificates, and for Anthropic's own the socket and further headers.
pub fn transport(base_url: &str, anthropic: Option<&Models>) -> Result<Transport, CliError> {
    let mut transport = Transport::to(base_url);
    let (proxies, extra_ca) = ways()?;
    transport.proxies = proxies;
    if let Some(file) = extra_ca {
        let refuse = |why: &dyn std::fmt::Display| {
            EXTRA_CA.refuse(format!("names {}: {why}", file.display()))
        };
        let pem =
            ona_files::read_at_most(&file, MAX_CERTIFICATES).map_err(|error| refuse(&error))?;
        transport.extra_ca = Some(pem.ok_or_else(|| refuse(&"No such file or directory"))?);
    }
    if let Some(millis) = number(&TIMEOUT)? {
        transport.answer_timeout = Duration::from_millis(millis);
        transport.idle_timeout = transport.idle_timeout.min(transport.answer_timeout);
    }
    if let Some(models) = anthropic {
        transport.unix_socket.clone_from(&models.unix_socket);
        let lines = models.anthropic_headers.as_deref().unwrap_or_default();
        for (at, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            // Not the line itself: it may be a secret.
            let (name, value) = line.split_once(':').ok_or_else(|| {
                ANTHROPIC_HEADERS.refuse(format!("has a line without a colon: line {}", at + 1))
            })?;
            if FRAMING.iter().any(|framing| name.trim().eq_ignore_ascii_case(framing)) {
                return Err(ANTHROPIC_HEADERS
                    .refuse(format!("sets `{}`, which ona sets itself", name.trim())));
            }
            transport.headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    Ok(transport)
}
