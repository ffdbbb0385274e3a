//! `ona hook HOST`: the same gate around another agent, which starts this as its hook.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ona_cli::output::{complain, print_line};
use ona_cli::started_by::{StartedBy, started_by};
use ona_cli::{CliError, Options, bootstrap, env, record};
use ona_config::trust::RunTrust;
use ona_hosts::{Host, HostOptions, Reply};

/// Hosts send file contents along; what is larger than this is no hook's input.
const LONGEST_INPUT: u64 = 64 << 20;

/// Reads the host's words, judges, and answers in its own: JSON on standard output, words on standard error and an
/// exit code. Whatever goes wrong on the way is answered too: no exit code of ours may stop an agent by accident.
pub fn run(cli: &Options, host: &str, rules: bool) -> Result<ExitCode, CliError> {
    let Some(host) = Host::from_name(host) else {
        let known: Vec<&str> = Host::ALL.iter().map(|(_, name)| *name).collect();
        // 2 would stop the agent.
        return Err(CliError::failed(format!("unknown host `{host}`"))
            .hint(format!("the hosts are {}", known.join(" and "))));
    };
    if matches!(started_by(), Some(StartedBy::Call(_))) {
        // What such a hook would vouch for is what that very call does, and is judged with it.
        complain("ona: this agent runs inside a call of ona, which is already governed\n");
        return Ok(ExitCode::SUCCESS);
    }
    let mut said = String::new();
    let here = bootstrap::directory(cli.cwd.as_ref()).unwrap_or_else(|_| PathBuf::from("/"));
    let reply = match io::stdin().lock().take(LONGEST_INPUT + 1).read_to_string(&mut said) {
        Ok(length) if length as u64 > LONGEST_INPUT => {
            ona_hosts::unheard(&said, &here, "the hook's input is too long")
        }
        Ok(_) => {
            let project_dir = env::host_project().filter(|_| host == Host::ClaudeCode);
            answer(cli, host, &said, &here, HostOptions { rules, project_dir })
        }
        Err(error) => {
            ona_hosts::unheard(&said, &here, &format!("cannot read the hook's input: {error}"))
        }
    };
    let Reply { stdout, stderr, code } = reply;
    if let Some(stdout) = stdout {
        print_line(&stdout.to_string())
            .map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    }
    if !stderr.is_empty() {
        complain(&format!("{stderr}\n"));
    }
    Ok(ExitCode::from(code))
}

fn answer(cli: &Options, host: Host, said: &str, here: &Path, options: HostOptions) -> Reply {
    let unheard = |why: String| ona_hosts::unheard(said, here, why.trim_end());
    let core = env::database()
        .and_then(|database| Ok(record::open(&database)?))
        .and_then(|store| bootstrap::core_with(cli, store));
    let mut core = match core {
        Ok(core) => core,
        Err(error) => return unheard(error.to_string()),
    };
    // What a host's agent has written must not loosen anything: only what the record trusts counts.
    core.config.trust = RunTrust::default();
    let core = Arc::new(core);
    if let Err(error) = core.store.leave_log() {
        return unheard(error.to_string());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return unheard(format!("cannot start the runtime: {error}")),
    };
    match runtime.block_on(ona_hosts::answer(&core, host, said, here, options)) {
        Ok(reply) => reply,
        Err(error) => ona_hosts::unanswered(said, here, &error),
    }
}
