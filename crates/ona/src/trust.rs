//! `ona trust` and `ona untrust`.

use std::process::ExitCode;

use ona_cli::bootstrap::directory;
use ona_cli::output::{complain, print, print_line, print_list};
use ona_cli::{CliError, Options, env, record};
use ona_config::settings;
use ona_config::trust::{name_of, repository_root};
use ona_extensions::trust_request;
use ona_types::trust::TrustedContent;
use serde_json::json;

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unprintable(error: std::io::Error) -> CliError {
    CliError::failed(format!("done, but cannot print the result: {error}"))
}

pub fn run(cli: &Options, list: bool, as_json: bool) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    if list {
        let trusted = store.all_trusted()?;
        let text: String = if as_json {
            let rows: Vec<_> = trusted
                .iter()
                .map(|t| json!({"root": t.root, "place": t.place, "hash": t.hash, "trusted_at": t.trusted_at}))
                .collect();
            format!("{}\n", json!(rows))
        } else {
            let line = |t: &TrustedContent| format!("{}  {}  {}\n", t.trusted_at, t.root, t.place);
            trusted.iter().map(line).collect()
        };
        print_list(&text, "nothing is trusted").map_err(unprintable)?;
        return Ok(ExitCode::SUCCESS);
    }
    let here = directory(cli.cwd.as_deref())?;
    let roots = env::config(cli)?.roots(&here, &here);
    let loaded = settings::load(&roots, &settings::Given::default());
    for problem in loaded.problems() {
        complain(&format!("warning: {problem}\n"));
    }
    let found = trust_request(&roots, &loaded.layers, true);
    found.trust(&store)?;
    let mut text = format!("trusted {}\n", found.root.display());
    if found.files.is_empty() {
        text = format!("{} has nothing that needs trust\n", found.root.display());
    }
    for what in found.files.iter().flat_map(|file| file.runs.iter().chain(&file.permits)) {
        text.push_str(&format!("  {what}\n"));
    }
    print(&text).map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}

pub fn untrust(cli: &Options) -> Result<ExitCode, CliError> {
    let store = record::open(cli.cwd.as_deref())?;
    let root = repository_root(&directory(cli.cwd.as_deref())?);
    if !store.untrust(&name_of(&root))? {
        return Err(CliError::failed(format!("{} is not trusted", root.display()))
            .hint("`ona trust --list` lists what is trusted"));
    }
    print_line(&format!("no longer trusted: {}", root.display())).map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}
