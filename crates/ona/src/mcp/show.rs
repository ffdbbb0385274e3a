//! `ona mcp list` and `ona mcp get`.

use std::process::ExitCode;

use ona_cli::output::{plain, print};
use ona_cli::{CliError, Options, secrets};
use ona_config::servers::{ListedServer, Servers, shown};
use ona_mcp::ServerSpec;
use serde_json::{Value, json};

use super::{found, found_and_told};

/// The connection state of servers by name; without those that were not tried.
pub type StatusOf<'a> = &'a dyn Fn(&[ServerSpec]) -> Vec<(String, String)>;

pub fn list(cli: &Options, as_json: bool, status_of: StatusOf<'_>) -> Result<ExitCode, CliError> {
    let Servers { specs, listed, warnings, .. } = match as_json {
        true => found(cli)?,
        false => found_and_told(cli)?,
    };
    let known = status_of(&specs);
    let status = |one: &ListedServer| {
        let known = known.iter().find(|(name, _)| *name == one.name);
        known.map(|(_, status)| status.as_str()).filter(|_| one.state.why().is_none())
    };
    let text = if as_json {
        let rows: Vec<Value> = listed.iter().map(|one| row(one, status(one))).collect();
        let warnings: Vec<String> =
            warnings.iter().map(|warning| format!("warning: {warning}")).collect();
        format!("{}\n", json!({"servers": rows, "warnings": warnings}))
    } else if listed.is_empty() {
        "no servers; `ona mcp add --help` shows how to add one\n".to_owned()
    } else {
        let rows: Vec<[String; 4]> = listed
            .iter()
            .map(|one| {
                let state = status(one).unwrap_or(one.state.as_str()).to_owned();
                [one.name.clone(), one.scope.to_string(), state, how(&one.entry)]
            })
            .collect();
        table(&rows)
    };
    print(&text).map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}

pub fn get(cli: &Options, name: &str, as_json: bool) -> Result<ExitCode, CliError> {
    let found = found(cli)?;
    let of_name: Vec<&ListedServer> = found.listed.iter().filter(|one| one.name == name).collect();
    // The one that counts, if one does.
    let Some(first) = of_name.iter().find(|one| one.state.why().is_none()).or(of_name.first())
    else {
        return Err(unknown(name, &found.listed));
    };
    let others: Vec<&&ListedServer> = of_name.iter().filter(|one| *one != first).collect();
    let text = if as_json {
        let mut said = row(first, None);
        said["also"] = others.iter().map(|one| row(one, None)).collect();
        format!("{said}\n")
    } else {
        let mut text = described(first);
        for one in others {
            text.push_str(&format!(
                "also {} in {}: {}\n",
                one.scope,
                one.origin,
                one.state.as_str()
            ));
        }
        text
    };
    print(&text).map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}

/// The error for an unknown server.
pub fn unknown(name: &str, listed: &[ListedServer]) -> CliError {
    let near = ona_types::nearest(name, listed.iter().map(|one| one.name.as_str()));
    let near = near.map(|near| format!("did you mean `{near}`?"));
    near.into_iter()
        .fold(CliError::failed(format!("unknown server `{name}`")), CliError::hint)
        .hint("`ona mcp list` lists the servers")
}

fn masked(entry: &Value) -> Value {
    shown(entry, secrets::redactor())
}

fn row(one: &ListedServer, status: Option<&str>) -> Value {
    let mut row = json!({
        "name": one.name, "scope": one.scope.as_str(), "origin": one.origin,
        "server": masked(&one.entry), "state": one.state.as_str(),
    });
    if let Some(why) = one.state.why() {
        row["why"] = json!(why);
    }
    if let Some(status) = status {
        row["status"] = json!(status);
    }
    row
}

fn described(one: &ListedServer) -> String {
    let mut text = format!("{}\n", plain(&one.name));
    let mut line = |key: &str, value: &str| {
        text.push_str(&format!("  {key:<9} {}\n", plain(value).replace('\n', " ")));
    };
    line("scope", &format!("{} ({})", one.scope, one.origin));
    line("state", one.state.as_str());
    if let Some(why) = one.state.why() {
        line("because", &why);
    }
    let entry = masked(&one.entry);
    line("type", entry["type"].as_str().unwrap_or("stdio"));
    line(if entry.get("url").is_some() { "url" } else { "command" }, &how(&one.entry));
    for (table, sign) in [("env", "="), ("headers", ": ")] {
        for (name, value) in entry[table].as_object().into_iter().flatten() {
            line(table, &format!("{name}{sign}{}", value.as_str().unwrap_or_default()));
        }
    }
    for key in ["headersHelper", "oauth"] {
        if let Some(value) = entry.get(key) {
            line(key, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
    text
}

/// The command line or the address, in one line.
fn how(entry: &Value) -> String {
    let entry = masked(entry);
    if let Some(url) = entry["url"].as_str() {
        return url.to_owned();
    }
    let args = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<&str> = entry["command"].as_str().into_iter().chain(args).collect();
    words.join(" ")
}

/// Columns under their heads.
fn table(rows: &[[String; 4]]) -> String {
    let heads = ["NAME", "SCOPE", "STATE", "HOW"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(&heads)
        .chain(rows)
        .map(|row| row.clone().map(|cell| plain(&cell).replace(['\n', '\t'], " ")))
        .collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let line = |row: &[String; 4]| {
        let [name, scope, state, how] = row;
        let [a, b, c] = widths;
        format!("{name:<a$}  {scope:<b$}  {state:<c$}  {how}").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unprintable(error: std::io::Error) -> CliError {
    CliError::failed(format!("cannot print the result: {error}"))
}
