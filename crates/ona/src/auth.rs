//! `ona auth`: signing in and out, and which credential is used.

use std::process::ExitCode;

use clap::Subcommand;
use ona_auth::oauth::Login;
use ona_auth::sources::Row;
use ona_cli::agent_args::OutputFormat;
use ona_cli::bootstrap::directory;
use ona_cli::credentials::Available;
use ona_cli::env::model::models;
use ona_cli::login::oauth_config;
use ona_cli::output::{plain, print_line};
use ona_cli::started_by::started_by;
use ona_cli::{CliError, Options, env, model, sign_in};
use ona_config::settings::{Layer, Settings};

use crate::config::in_force;
use crate::governed;

#[derive(Debug, Subcommand)]
pub enum Auth {
    /// Sign in with the browser
    ///
    /// Opens $BROWSER, else xdg-open, and prints the address too. The login is kept in the system's keyring, else in an
    /// encrypted file (`ona help credentials`). The exit code is 1 if the sign-in is refused or takes too long, 2 if it
    /// is not configured.
    #[command(after_help = "Examples:\n  ona auth login\n  ona auth login --no-browser")]
    Login {
        /// Print the address only, and read the code that its page shows, or its whole address, from standard input
        #[arg(long)]
        no_browser: bool,
    },
    /// Sign out: revoke the login where the server offers that, and forget it
    #[command(after_help = "Examples:\n  ona auth logout\n  ona auth logout --json")]
    Logout {
        /// Print JSON: whether somebody was signed in, and whether the login was revoked
        #[arg(long)]
        json: bool,
    },
    /// Show which credential is used, and where it comes from; never the secret
    ///
    /// The exit code is 1 if there is none. apiKeyHelper is not run.
    #[command(
        after_help = "Examples:\n  ona auth status\n  ona auth status --json | jq -r .source\n  ona auth status --provider lm_studio_local"
    )]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The provider, instead of the one in the settings
        #[arg(long, value_name = "PROVIDER")]
        provider: Option<String>,
    },
}

pub fn run(cli: &Options, command: &Auth) -> Result<ExitCode, CliError> {
    match command {
        Auth::Login { no_browser } => sign_in::login(&oauth_config(&layers(cli)?)?, *no_browser),
        Auth::Logout { json } => logout(cli, *json),
        Auth::Status { json, provider } => status(cli, provider.as_deref(), *json),
    }
}

/// `ona -p /status` and `/logout`: no model is asked, and nothing goes on the record.
pub fn by_slash(cli: &Options) -> Result<Option<ExitCode>, CliError> {
    let args = &cli.agent;
    let as_json = args.output_format != OutputFormat::Text;
    let prompt = args.prompt.as_deref().map(str::trim).filter(|_| !args.disable_slash_commands);
    match prompt {
        Some("/status") => status(cli, None, as_json).map(Some),
        Some("/logout") if let Some(variable) = env::commands::switched_off_by("logout") => {
            Err(CliError::usage(format!("/logout is switched off by {variable}")))
        }
        Some("/logout") => match started_by() {
            Some(starter) => Err(governed::refused(SIGNED_IN, &starter)),
            None => logout(cli, as_json).map(Some),
        },
        _ => Ok(None),
    }
}

/// The providers there are.
const PROVIDERS: &str = "claude_code_subscription, openai_compatible or lm_studio_local";

/// What an agent does not decide.
pub const SIGNED_IN: &str = "who is signed in";

impl Auth {
    /// Whether only the operator may do that.
    pub fn is_the_operators(&self) -> bool {
        matches!(self, Self::Login { .. } | Self::Logout { .. })
    }
}

/// The settings in force where the command runs.
fn layers(cli: &Options) -> Result<Vec<Layer>, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    in_force(cli, &env::config(cli)?.roots(&here, &here), None)
}

fn logout(cli: &Options, as_json: bool) -> Result<ExitCode, CliError> {
    sign_in::logout(&layers(cli).and_then(|layers| oauth_config(&layers)), as_json)
}

fn status(cli: &Options, provider: Option<&str>, as_json: bool) -> Result<ExitCode, CliError> {
    let layers = layers(cli)?;
    let provider = match provider {
        Some(name) => name
            .parse()
            .map_err(|error| CliError::usage(format!("--provider: {error}")).hint(PROVIDERS))?,
        None => model::provider(&cli.agent, &Settings::merged(&layers))?,
    };
    let available = Available::find(provider, models()?, &layers, cli.agent.bare)?;
    let active = available.active();
    let printed = match as_json {
        true => print_line(&available.status().to_string()),
        false => print_line(&words(&available, active)),
    };
    printed.map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    if let Some(locked) = available.locked() {
        return Err(locked);
    }
    let has_ended = available.active_login().is_some_and(Login::has_ended);
    Ok(if active.is_some() && !has_ended { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The same for people.
fn words(available: &Available, active: Option<&'static Row>) -> String {
    let mut text = format!("provider  {}\n", available.provider());
    text.push_str(&match active {
        Some(row) => format!("source    {} ({})", row.name, row.class),
        None => "source    none: no credential is known".to_owned(),
    });
    if let Some(login) = available.active_login() {
        let account = login.account.as_deref().map(plain);
        text.push_str(&format!("\naccount   {}", account.as_deref().unwrap_or("unknown")));
        let end = login.expires_at.and_then(ona_types::rfc3339);
        text.push_str(&match (end, login.is_renewable()) {
            _ if login.has_ended() => {
                "\nuntil     it has ended: `ona auth login` signs in again".to_owned()
            }
            (Some(end), true) => format!("\nuntil     {end}, then it is renewed"),
            (Some(end), false) => format!("\nuntil     {end}; it cannot be renewed"),
            (None, _) => String::new(),
        });
    }
    for (row, present) in available.sources() {
        let state = match (present, active.is_some_and(|one| one.source == row.source)) {
            (_, true) => "used",
            (true, false) => "set, not used",
            (false, false) if available.is_locked(row.source) => "not known: the store is locked",
            (false, false) => "not set",
        };
        text.push_str(&format!("\n  {:40} {state}", row.name));
    }
    text
}
