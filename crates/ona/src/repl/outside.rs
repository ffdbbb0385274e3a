//! The program around the console: how sessions start, ona's own command lines, signing in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_cli::bootstrap;
use ona_cli::interrupts::Interrupts;
use ona_cli::login::oauth_config;
use ona_cli::model::{connect_model, model_words, unconnected_model};
use ona_cli::{CliError, Options, env, output, sign_in, tokens};
use ona_commands::{NotSignedIn, Outside, Printed, SigningIn};
use ona_config::settings::{Layer, Settings};
use ona_editor::keymap::Keymap;
use ona_engine::{ModelAccess, ModelHandle, ModelWords, ServerOptions, Starter};
use ona_front::{AskRequest, CoreEnd, HumanAnswer, Wants};
use ona_provider::Model;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{args, dispatch};

/// The changes of each release.
const CHANGES: &str = include_str!("../../../../CHANGELOG.md");

/// Words that the shell runs itself.
const SHELL_WORDS: [&str; 8] = ["cat", "cd", "echo", "if", "printf", "read", "test", "true"];

/// This program.
#[derive(Clone)]
pub(super) struct Program {
    options: Arc<Options>,
    front: Arc<CoreEnd>,
    interrupts: Interrupts,
}

impl Program {
    pub(super) fn new(options: Arc<Options>, front: CoreEnd, interrupts: Interrupts) -> Self {
        Self { options, front: Arc::new(front), interrupts }
    }

    /// An end of the channel to the front-end.
    pub(super) fn front(&self) -> CoreEnd {
        self.front.another()
    }

    /// Asks before a session is open. Nothing else runs meanwhile.
    fn asks(&self, request: AskRequest) -> bool {
        let Ok(runtime) = bootstrap::runtime() else { return false };
        let answer = runtime.block_on(self.front.ask(request, &self.front.running()));
        matches!(answer, HumanAnswer::Allow { .. })
    }
}

impl Starter for Program {
    type Error = CliError;

    fn warn(&self, warning: &str) {
        self.front.warn(warning);
    }

    fn warn_without(&self, error: &CliError, without: &str) {
        self.front.warn(format!("{without}: {}", error.words()));
    }

    fn trusts(&self, folder: &Path, runs: &[String], also: &[String]) -> bool {
        let input = json!({"root": folder.display().to_string(), "runs": runs, "also": also});
        self.asks(AskRequest::new(Wants::Trust, "trust", input, "the folder is not trusted"))
    }

    fn goes_on_without(&self, unread: &[String]) -> bool {
        let input = json!({"unread": unread});
        self.asks(AskRequest::new(Wants::Unread, "settings", input, "a guard cannot be read"))
    }

    fn model_words(&self) -> Result<ModelWords, CliError> {
        model_words(&self.options.agent)
    }

    fn connect_model(&self, model: Model, access: &ModelAccess) -> Result<ModelHandle, CliError> {
        connect_model(&self.options.agent, model, access)
    }

    fn unconnected(&self, model: Model, error: &CliError) -> Option<ModelHandle> {
        let hint = match env::commands::switched_off_by("login") {
            None => "\n/login signs in",
            Some(_) => "",
        };
        let reason = format!("{}{hint}", error.words());
        unconnected_model(&self.options.agent, model, &Settings::default(), reason)
    }

    fn message(&self, error: &CliError) -> String {
        error.message().to_owned()
    }

    fn server_options(&self) -> Result<ServerOptions, CliError> {
        Ok(ServerOptions {
            tokens: tokens::vault()?,
            deferral: env::servers::deferral()?,
            wait: env::servers::wait()?,
        })
    }
}

impl Outside for Program {
    fn run(&self, words: &[String]) -> Printed {
        let (done, told) = output::capture(|| {
            let mut cli = args::parse_words(words)?;
            inherit(&mut cli.options, &self.options);
            dispatch(&cli)
        });
        match done {
            Ok(std::process::ExitCode::SUCCESS) => Printed { text: told, ok: true },
            // The front-end marks an error itself.
            Ok(_) => {
                let text = told.strip_prefix("error: ").unwrap_or(&told).to_owned();
                Printed { text, ok: false }
            }
            // The error first: what was told before it are warnings.
            Err(error) => Printed { text: format!("{}\n{told}", error.words()), ok: false },
        }
    }

    fn sign_in<'a>(
        &'a self,
        layers: Vec<Layer>,
        front: &'a CoreEnd,
        cancel: &'a CancellationToken,
    ) -> SigningIn<'a> {
        Box::pin(async move {
            let failed = |error: CliError| NotSignedIn(error.words());
            let config = oauth_config(&layers).map_err(failed)?;
            let signed_in = sign_in::login_in_session(&config, front, cancel).await;
            signed_in.map_err(failed)
        })
    }

    fn words(&self, error: &CliError) -> String {
        error.words()
    }

    fn keybindings(&self) -> PathBuf {
        match env::config(&self.options) {
            Ok(config) => config.claude_dir.join("keybindings.json"),
            Err(_) => PathBuf::from("keybindings.json"),
        }
    }

    fn keybindings_problems(&self, text: &str) -> Vec<String> {
        let (_, problems) = Keymap::with_file(text);
        problems.iter().map(ToString::to_string).collect()
    }

    fn release_notes(&self) -> &'static str {
        CHANGES
    }

    fn default_keybindings(&self) -> String {
        Keymap::sample()
    }

    fn is_command(&self, word: &str) -> bool {
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        !is_plain || SHELL_WORDS.contains(&word) || env::has_program(word)
    }

    fn switched_off_by(&self, command: &str) -> Option<&'static str> {
        env::commands::switched_off_by(command)
    }

    fn is_ended_by_signal(&self) -> bool {
        self.interrupts.signal().is_some()
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// A command line within a session means the same settings as the session.
fn inherit(own: &mut Options, session: &Options) {
    own.cwd.clone_from(&session.cwd);
    own.settings.clone_from(&session.settings);
    own.setting_sources.clone_from(&session.setting_sources);
    own.plugin_dir.clone_from(&session.plugin_dir);
    own.agents.clone_from(&session.agents);
    own.trust = session.trust;
    own.agent.mcp_config.clone_from(&session.agent.mcp_config);
    own.agent.strict_mcp_config = session.agent.strict_mcp_config;
    own.agent.bare = session.agent.bare;
}
