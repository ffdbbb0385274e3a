//! `ona mcp add`, `add-json` and `remove`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use ona_cli::output::{complain, print_line};
use ona_cli::{CliError, Options, record};
use ona_config::servers::remove as take_out;
use ona_config::servers::{KeepError, Kept, KeptIn, ListedServer, State, add as keep, kept_in};
use ona_config::settings::Roots;
use ona_store::StoreError;
use serde_json::{Map, Value, json};

use super::{found, roots, scope_of};

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// A program, over standard input and output.
    Stdio,
    /// A URL, with streamable HTTP.
    Http,
    /// A URL, with the older HTTP and server-sent events.
    Sse,
}

#[derive(Debug, Args)]
pub struct Add {
    /// Name of the server: letters, digits, - and _
    name: String,
    /// The program and its arguments, or the URL
    #[arg(value_name = "COMMAND_OR_URL")]
    target: Vec<String>,
    /// More arguments of the program, unchanged
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    /// Scope: local (you, in this project), user (you, everywhere) or project (everybody, in .mcp.json)
    #[arg(long, short, default_value = "local")]
    scope: String,
    /// Transport
    #[arg(long, short, value_enum, default_value = "stdio")]
    transport: Transport,
    /// Environment variable for the program; can be repeated
    #[arg(long, short, value_name = "KEY=VALUE")]
    env: Vec<String>,
    /// HTTP header of every request; can be repeated
    #[arg(long, short = 'H', value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// OAuth client id of ona at the authorization server
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Port of the redirect URL that is registered there
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    callback_port: Option<u16>,
    /// Replace an existing server of this name
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct AddJson {
    /// Name of the server: letters, digits, - and _
    name: String,
    /// The entry, as in .mcp.json
    #[arg(value_name = "JSON")]
    entry: String,
    /// Scope: local, user or project
    #[arg(long, short, default_value = "local")]
    scope: String,
    /// Replace an existing server of this name
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn add(cli: &Options, given: &Add) -> Result<ExitCode, CliError> {
    let entry = entry(given)?;
    let scope = scope_of(&given.scope)?;
    kept(cli, &Adding { name: &given.name, entry, scope, force: given.force, json: given.json })
}

pub fn add_json(cli: &Options, given: &AddJson) -> Result<ExitCode, CliError> {
    let entry = serde_json::from_str(&given.entry).map_err(|error| {
        CliError::usage(format!("invalid JSON: {error}"))
            .hint(r#"for example {"command": "npx", "args": ["-y", "some-server"]}"#)
    })?;
    let scope = scope_of(&given.scope)?;
    kept(cli, &Adding { name: &given.name, entry, scope, force: given.force, json: given.json })
}

/// What a file of servers would say.
fn entry(given: &Add) -> Result<Value, CliError> {
    let words: Vec<&String> = given.target.iter().chain(&given.args).collect();
    let Some((first, rest)) = words.split_first() else {
        return Err(CliError::usage("missing program or URL")
            .hint("for example: ona mcp add files -- npx -y some-server"));
    };
    let is_address = first.starts_with("http://") || first.starts_with("https://");
    match given.transport {
        Transport::Stdio if is_address => {
            Err(CliError::usage(format!("`{first}` is a URL, not a program"))
                .hint("add --transport http, or --transport sse for an older server"))
        }
        Transport::Stdio => {
            let for_http = [
                ("--header", !given.header.is_empty()),
                ("--client-id", given.client_id.is_some()),
                ("--callback-port", given.callback_port.is_some()),
            ];
            if let Some((option, _)) = for_http.iter().find(|(_, given)| *given) {
                return Err(CliError::usage(format!(
                    "{option} applies only to a server with a URL"
                ))
                .hint("add --transport http, or use -e KEY=VALUE for a program"));
            }
            let mut entry = json!({"command": first});
            if !rest.is_empty() {
                entry["args"] = json!(rest);
            }
            if !given.env.is_empty() {
                entry["env"] = Value::Object(pairs("-e", &given.env, '=')?);
            }
            Ok(entry)
        }
        Transport::Http | Transport::Sse => {
            if let Some(more) = rest.first() {
                return Err(CliError::usage(format!(
                    "unexpected argument `{more}`: a URL takes no arguments"
                )));
            }
            if !given.env.is_empty() {
                return Err(CliError::usage("-e applies only to a program")
                    .hint("use -H 'Name: value' for a server with a URL"));
            }
            let kind = if given.transport == Transport::Http { "http" } else { "sse" };
            let mut entry = json!({"type": kind, "url": first});
            if !given.header.is_empty() {
                entry["headers"] = Value::Object(pairs("-H", &given.header, ':')?);
            }
            if let Some(id) = &given.client_id {
                entry["oauth"]["clientId"] = json!(id);
            }
            if let Some(port) = given.callback_port {
                entry["oauth"]["callbackPort"] = json!(port);
            }
            Ok(entry)
        }
    }
}

/// Names and values with a sign between them.
fn pairs(option: &str, given: &[String], sign: char) -> Result<Map<String, Value>, CliError> {
    let pair = |text: &String| {
        let (name, value) = text.split_once(sign).ok_or_else(|| {
            // The value may be a secret, so it is not printed.
            let expected = if sign == '=' { "KEY=VALUE" } else { "'Name: value'" };
            CliError::usage(format!("{option}: a value has no `{sign}`"))
                .hint(format!("expected {option} {expected}"))
        })?;
        // Variables are taken as they are; blanks around a header mean nothing.
        let (name, value) = if sign == '=' { (name, value) } else { (name.trim(), value.trim()) };
        Ok((name.to_owned(), json!(value)))
    };
    given.iter().map(pair).collect()
}

/// A server to be kept.
struct Adding<'a> {
    name: &'a str,
    entry: Value,
    scope: KeptIn,
    force: bool,
    json: bool,
}

fn kept(cli: &Options, adding: &Adding<'_>) -> Result<ExitCode, CliError> {
    let Adding { name, entry, scope, force, json } = adding;
    let roots = roots(cli)?;
    let store = record::open(cli.cwd.as_deref())?;
    let kept = keep(*scope, name, entry, *force, (&roots, &store)).map_err(refused)?;
    let file = kept.file.display().to_string();
    // What was kept may still be something else than what is started.
    let listed = found(cli)?.listed;
    let is_this = |one: &&ListedServer| {
        one.name == **name && one.origin == file && one.scope.as_str() == scope.as_str()
    };
    let state = listed.iter().find(is_this).map(|one| one.state.clone());
    tell(name, &file, *scope, &kept, state.as_ref(), *json)?;
    Ok(ExitCode::SUCCESS)
}

fn tell(
    name: &str,
    file: &str,
    scope: KeptIn,
    kept: &Kept,
    state: Option<&State>,
    as_json: bool,
) -> Result<(), CliError> {
    let word = state.map_or("skipped", State::as_str);
    let why = state
        .map_or(Some("it is ona's own server, which ona does not start".to_owned()), State::why);
    if as_json {
        let said = json!({
            "name": name, "scope": scope.as_str(), "file": file, "state": word, "why": why,
        });
        return print_line(&said.to_string()).map_err(unprintable);
    }
    print_line(&format!("added {name} to {file}, for {}", whom(scope))).map_err(unprintable)?;
    if let Some(why) = why {
        complain(&format!("note: {word}: {why}\n"));
    }
    if !kept.agreed {
        complain(
            "note: the file has entries that are not trusted: review it, then run `ona trust`\n",
        );
    }
    Ok(())
}

fn whom(scope: KeptIn) -> &'static str {
    match scope {
        KeptIn::Local => "you in this project",
        KeptIn::User => "you in every project",
        KeptIn::Project => "everybody on this project",
    }
}

pub fn remove(
    cli: &Options,
    name: &str,
    scope: Option<&str>,
    as_json: bool,
) -> Result<ExitCode, CliError> {
    let roots = roots(cli)?;
    let scope = match scope {
        Some(word) => scope_of(word)?,
        None => only_scope(cli, name, &roots)?,
    };
    let store = record::open(cli.cwd.as_deref())?;
    let Some(kept) = take_out(scope, name, &roots, &store).map_err(refused)? else {
        return Err(nowhere(cli, name, Some(scope), &roots));
    };
    let file = kept.file.display().to_string();
    let said = match as_json {
        true => json!({"name": name, "scope": scope.as_str(), "file": file}).to_string(),
        false => format!("removed {name} from {file}"),
    };
    print_line(&said).map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}

/// The one scope whose file has the server.
fn only_scope(cli: &Options, name: &str, roots: &Roots) -> Result<KeptIn, CliError> {
    let mut scopes = Vec::new();
    for scope in KeptIn::ALL {
        if kept_in(scope, name, roots).map_err(|error| refused(error.into()))? {
            scopes.push(scope);
        }
    }
    match scopes.as_slice() {
        [scope] => Ok(*scope),
        [] => Err(nowhere(cli, name, None, roots)),
        several => {
            let named: Vec<&str> = several.iter().map(|scope| scope.as_str()).collect();
            Err(CliError::usage(format!("several scopes have `{name}`: {}", named.join(", ")))
                .hint("choose one with --scope"))
        }
    }
}

/// The error for a server that none of ona's files has.
fn nowhere(cli: &Options, name: &str, scope: Option<KeptIn>, roots: &Roots) -> CliError {
    let listed = found(cli).map(|found| found.listed).unwrap_or_default();
    let of_name: Vec<&ListedServer> = listed.iter().filter(|one| one.name == name).collect();
    if let Some(one) = of_name.first() {
        let at =
            scope.map_or_else(String::new, |scope| format!(" in {}", scope.file(roots).display()));
        return CliError::failed(format!("ona does not manage a server `{name}`{at}"))
            .hint(format!("it is defined in {} ({}): change that file", one.origin, one.scope));
    }
    super::show::unknown(name, &listed)
}

/// Why a file of servers is not changed.
fn refused(error: KeepError<StoreError>) -> CliError {
    match error {
        KeepError::Entry(_) => CliError::usage(error.to_string()).hint("nothing was changed"),
        KeepError::Exists { .. } => {
            CliError::usage(error.to_string()).hint("--force replaces it; `ona mcp get` shows it")
        }
        KeepError::Edit(error) => CliError::failed(error.to_string()).hint("the file is unchanged"),
        KeepError::Record(error) => error.into(),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unprintable(error: std::io::Error) -> CliError {
    CliError::failed(format!("done, but cannot print the result: {error}"))
}
