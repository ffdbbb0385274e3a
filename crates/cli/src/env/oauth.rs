//! The environment variables for the sign-in.

use std::time::Duration;

use super::{CliError, Variable, number, text};

macro_rules! variables {
    ($($name:ident = $variable:literal, $default:literal, $meaning:literal;)*) => {
        $(const $name: Variable =
            Variable { name: $variable, default: $default, meaning: $meaning };)*
        /// All of them, in the order of the documentation.
        #[cfg(test)]
        pub(super) const READ: &[&Variable] = &[$(&$name),*];
    };
}

variables! {
    CLIENT_ID = "ONA_OAUTH_CLIENT_ID", "`oauth.clientId` of the settings", "The client id that `ona auth login` signs in with.";
    AUTHORIZE_URL = "ONA_OAUTH_AUTHORIZE_URL", "`oauth.authorizeUrl`, else Anthropic's", "Where the human signs in.";
    TOKEN_URL = "ONA_OAUTH_TOKEN_URL", "`oauth.tokenUrl`, else Anthropic's", "Where tokens are issued and renewed.";
    REVOKE_URL = "ONA_OAUTH_REVOKE_URL", "`oauth.revokeUrl`, else none", "Where `ona auth logout` revokes a login.";
    CODE_REDIRECT_URL = "ONA_OAUTH_CODE_REDIRECT_URL", "`oauth.codeRedirectUrl`, else Anthropic's", "The page that shows a code to paste, for `ona auth login --no-browser`.";
    SCOPES = "ONA_OAUTH_SCOPES", "`oauth.scopes`", "What is asked for, separated by blanks.";
    TIMEOUT = "ONA_OAUTH_TIMEOUT_MS", "300000", "How long the human may take to sign in, in milliseconds.";
    BROWSER = "BROWSER", "`xdg-open`", "The browser that `ona auth login` and `ona mcp login` open.";
}

/// What they say.
#[derive(Default)]
pub struct OauthVariables {
    /// Who ona is.
    pub client_id: Option<String>,
    /// Where the human signs in.
    pub authorize_url: Option<String>,
    /// Where tokens are issued.
    pub token_url: Option<String>,
    /// Where they are revoked.
    pub revoke_url: Option<String>,
    /// Where a code is shown.
    pub code_redirect_url: Option<String>,
    /// What is asked for.
    pub scopes: Option<Vec<String>>,
}

/// Reads them.
pub fn oauth_variables() -> Result<OauthVariables, CliError> {
    let set = |variable: &Variable| -> Result<Option<String>, CliError> {
        Ok(text(variable)?.filter(|value| !value.trim().is_empty()))
    };
    let scopes = set(&SCOPES)?;
    Ok(OauthVariables {
        client_id: set(&CLIENT_ID)?,
        authorize_url: set(&AUTHORIZE_URL)?,
        token_url: set(&TOKEN_URL)?,
        revoke_url: set(&REVOKE_URL)?,
        code_redirect_url: set(&CODE_REDIRECT_URL)?,
        scopes: scopes.map(|scopes| scopes.split_whitespace().map(str::to_owned).collect()),
    })
}

/// How long the human may take.
pub fn sign_in_within() -> Result<Duration, CliError> {
    Ok(Duration::from_millis(number(&TIMEOUT)?.unwrap_or(300_000)))
}

/// The operator's browser.
pub fn browser() -> Result<Option<String>, CliError> {
    Ok(text(&BROWSER)?.filter(|value| !value.trim().is_empty()))
}
