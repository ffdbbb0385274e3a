//! Signing in with a browser or a pasted code, and out.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;
use std::time::Duration;

use ona_auth::oauth::{self, Login, OauthConfig, SignIn};
use ona_auth::{Kept, Vault};
use ona_front::{AskRequest, CoreEnd, HumanAnswer, Wants};
use ona_http::callback::Callback;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::bootstrap::runtime;
use crate::env::oauth::sign_in_within;
use crate::output::{complain, plain, print_line};
use crate::{CliError, browser, secrets, tokens};

/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::failed(format!("the sign-in failed: {error}"))
}

fn refused(why: &str) -> CliError {
    CliError::failed(format!("the sign-in was refused: {}", plain(why)))
}

/// `ona auth login`.
pub fn login(config: &OauthConfig, no_browser: bool) -> Result<ExitCode, CliError> {
    let within = sign_in_within()?;
    // What cannot be kept is not asked for.
    let vault = tokens::open_vault()?;
    oauth::stored(&vault).map_err(|error| CliError::failed(error.to_string()))?;
    runtime()?.block_on(async {
        // From now on: somebody may press Ctrl-C as soon as the address is there.
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let signing_in = async {
            let login = match no_browser {
                true => by_code(config, within).await?,
                false => by_browser(config, within).await?,
            };
            keep(&vault, &login)
        };
        tokio::select! {
            done = signing_in => done.map(|()| ExitCode::SUCCESS),
            _ = interrupt.recv() => Ok(ExitCode::from(INTERRUPTED)),
        }
    })
}

fn keep(vault: &Vault, login: &Login) -> Result<(), CliError> {
    print_line(&kept(vault, login)?)
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))
}

/// Stores a login; a line about it.
fn kept(vault: &Vault, login: &Login) -> Result<String, CliError> {
    secrets::learned().learn(login.secrets());
    let kept = oauth::keep(vault, login).map_err(|error| CliError::failed(error.to_string()))?;
    let who = login.account.as_deref().map(|account| format!(" as {}", plain(account)));
    let place = match kept {
        Kept::Keyring => "the system's keyring",
        Kept::File => "an encrypted file",
    };
    Ok(format!("signed in{}; the login is kept in {place}", who.unwrap_or_default()))
}

/// Signs in within an interactive session: the browser comes back here, or its address is pasted into the front-end.
pub async fn login_in_session(
    config: &OauthConfig,
    front: &CoreEnd,
    cancel: &CancellationToken,
) -> Result<String, CliError> {
    let within = sign_in_within()?;
    let vault = tokens::open_vault()?;
    oauth::stored(&vault).map_err(|error| CliError::failed(error.to_string()))?;
    let callback = Callback::listen(0, "127.0.0.1").await.map_err(failed)?;
    let sign_in = SignIn::begin(config, callback.url()).map_err(failed)?;
    browser::open(sign_in.url.as_str())?;
    // When the browser has come back, nobody is asked any more.
    let asking = cancel.child_token();
    let pasted = pasted_in_session(front, &sign_in, &asking);
    let state = sign_in.state.clone();
    let code = tokio::select! {
        came = in_time(within, callback.visited(&state)) => {
            let came = came?.map_err(|denial| refused(&denial.to_string()))?;
            parameter(&came, "code").ok_or_else(|| failed("no code came back"))?
        }
        code = pasted => code?,
    };
    asking.cancel();
    let login = sign_in.redeem(&code).await.map_err(failed)?;
    kept(&vault, &login)
}

/// Asks the front-end for the code until it is one of this sign-in.
async fn pasted_in_session(
    front: &CoreEnd,
    sign_in: &SignIn,
    cancel: &CancellationToken,
) -> Result<String, CliError> {
    let input = json!({"url": sign_in.url.as_str()});
    let mut request =
        AskRequest::new(Wants::Code, "login", input, "the sign-in waits for the browser");
    loop {
        let given = match front.ask(request.clone(), cancel).await {
            HumanAnswer::Allow { input, .. } => input.unwrap_or_default(),
            // Nobody can paste anything; the browser may still come back.
            HumanAnswer::Unasked { .. } => std::future::pending().await,
            HumanAnswer::Deny { .. } => return Err(CliError::failed("not signed in")),
        };
        match pasted(given["code"].as_str().unwrap_or_default()) {
            Some((Pasted::Code(code), state)) if state == sign_in.state => return Ok(code),
            Some((Pasted::Denial(why), state)) if state == sign_in.state => {
                return Err(refused(&why));
            }
            _ => request.checks = vec!["that is not a code of this sign-in".to_owned()],
        }
    }
}

/// Waits for something that a human does.
async fn in_time<T>(within: Duration, what: impl Future<Output = T>) -> Result<T, CliError> {
    let late = |_| {
        let took = within.as_secs_f32();
        CliError::failed(format!("nobody signed in within {took} s"))
            .hint("run it again; ONA_OAUTH_TIMEOUT_MS sets another limit")
    };
    tokio::time::timeout(within, what).await.map_err(late)
}

fn tell(sign_in: &SignIn) -> Result<(), CliError> {
    complain("open this address to sign in:\n");
    print_line(sign_in.url.as_str()).map_err(failed)
}

async fn by_browser(config: &OauthConfig, within: Duration) -> Result<Login, CliError> {
    let callback = Callback::listen(0, "127.0.0.1").await.map_err(failed)?;
    let sign_in = SignIn::begin(config, callback.url()).map_err(failed)?;
    tell(&sign_in)?;
    browser::open(sign_in.url.as_str())?;
    let came = in_time(within, callback.visited(&sign_in.state)).await?;
    let came = came.map_err(|denial| refused(&denial.to_string()))?;
    let code = parameter(&came, "code").ok_or_else(|| failed("no code came back"))?;
    sign_in.redeem(&code).await.map_err(failed)
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

async fn by_code(config: &OauthConfig, within: Duration) -> Result<Login, CliError> {
    let sign_in = SignIn::begin(config, config.code_redirect_url.as_str()).map_err(failed)?;
    tell(&sign_in)?;
    let mut lines = typed();
    let asked_again = std::io::stdin().is_terminal();
    let code = in_time(within, async {
        loop {
            complain("paste the code, or the address of the page it is on: ");
            let line = lines.recv().await.ok_or_else(|| failed("no code was given"))?;
            match pasted(&line) {
                Some((Pasted::Code(code), state)) if state == sign_in.state => {
                    return Ok(code);
                }
                Some((Pasted::Denial(why), state)) if state == sign_in.state => {
                    return Err(refused(&why));
                }
                _ if asked_again => complain("that is not a code of this sign-in\n"),
                _ => return Err(failed("that is not a code of this sign-in")),
            }
        }
    });
    let code = code.await??;
    sign_in.redeem(&code).await.map_err(failed)
}

/// The lines of standard input. The process does not wait for whoever reads them.
fn typed() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { break };
            if sender.blocking_send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// What a human pastes.
#[derive(Debug, PartialEq)]
enum Pasted {
    Code(String),
    /// Why there is none.
    Denial(String),
}

/// `code#state`, or the address of a page with both.
fn pasted(line: &str) -> Option<(Pasted, String)> {
    let line = line.trim();
    if let Ok(url) = Url::parse(line)
        && let Some(state) = parameter(&url, "state")
    {
        let found = match (parameter(&url, "error"), parameter(&url, "code")) {
            (Some(error), _) => Pasted::Denial(error),
            (None, code) => Pasted::Code(code.filter(|code| !code.is_empty())?),
        };
        return Some((found, state));
    }
    let (code, state) = line.split_once('#').filter(|(code, _)| !code.is_empty())?;
    Some((Pasted::Code(code.to_owned()), state.to_owned()))
}

/// `ona auth logout`. Without a configuration no server is told.
pub fn logout(config: &Result<OauthConfig, CliError>, as_json: bool) -> Result<ExitCode, CliError> {
    let vault = tokens::open_vault()?;
    let stored = || oauth::stored(&vault).map_err(|error| CliError::failed(error.to_string()));
    let revoked = match stored()? {
        None => None,
        Some(_) => {
            // Whoever renews it now would store it again.
            let _alone = oauth::renewing(&vault);
            let revoked = stored()?.map(|login| revoked(config, &login)).transpose()?;
            oauth::forget(&vault).map_err(|error| CliError::failed(error.to_string()))?;
            revoked
        }
    };
    let said = match (as_json, revoked) {
        (true, revoked) => {
            let done = json!({"signed_out": revoked.is_some(), "revoked": revoked == Some(true)});
            done.to_string()
        }
        (false, Some(_)) => "signed out".to_owned(),
        (false, None) => "nobody is signed in".to_owned(),
    };
    print_line(&said)
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Revokes a login where the server offers that. Where it cannot be done, the operator is told.
fn revoked(config: &Result<OauthConfig, CliError>, login: &Login) -> Result<bool, CliError> {
    let why = match config {
        Ok(config) => match runtime()?.block_on(oauth::revoke(config, login)) {
            Ok(revoked) => return Ok(revoked),
            Err(error) => error.to_string(),
        },
        Err(error) => error.message().to_owned(),
    };
    complain(&format!("warning: the login was not revoked: {why}\n"));
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_found_in_what_is_pasted() {
        let pair =
            |code: &str, state: &str| Some((Pasted::Code(code.to_owned()), state.to_owned()));
        for (line, found) in [
            ("abc#xyz", pair("abc", "xyz")),
            (" abc#xyz \n", pair("abc", "xyz")),
            ("https://x.example/cb?code=abc&state=xyz", pair("abc", "xyz")),
            ("https://x.example/cb?state=x%20z&code=a", pair("a", "x z")),
            ("https://x.example/cb?state=s&code=", None),
            ("#xyz", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(pasted(line), found, "{line}");
        }
        let (denied, _) = pasted("https://x.example/cb?error=access_denied&state=s").unwrap();
        assert_eq!(denied, Pasted::Denial("access_denied".to_owned()));
    }
}
