//! `ona hook HOST`: the same gate around another agent, which starts this as its hook.

use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ona_cli::output::{complain, print_line};
use ona_cli::started_by::{StartedBy, started_by};
use ona_cli::{CliError, Options, bootstrap, env, record};
use ona_config::trust::RunTrust;
use ona_hosts::{Host, HostError, HostOptions, PayloadError, Reply};
use ona_store::{Store, StoreError};

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
    let here = bootstrap::directory(cli.cwd.as_deref()).unwrap_or_else(|_| PathBuf::from("/"));
    let failed = |said: &str, why: &str| ona_hosts::unanswered(host, said, &here, rules, why);
    let reply = match io::stdin().lock().take(LONGEST_INPUT + 1).read_to_string(&mut said) {
        Ok(length) if length as u64 > LONGEST_INPUT => {
            failed(&said, "the hook's input is too long")
        }
        Ok(_) => {
            let project_dir = env::host_project().filter(|_| host == Host::ClaudeCode);
            let options = HostOptions { rules, project_dir, without_record: None };
            answer(cli, (host, &said, &here), options)
        }
        Err(error) => failed(&said, &format!("cannot read the hook's input: {error}")),
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

/// What is asked, and where.
type Heard<'a> = (Host, &'a str, &'a Path);

fn answer(cli: &Options, heard: Heard<'_>, options: HostOptions) -> Reply {
    let (host, said, here) = heard;
    let rules = options.rules;
    let store = env::database().and_then(|database| Ok(record::open_at(&database)?));
    let why = match store.map_err(Unanswered::from).and_then(|store| {
        store.leave_log()?;
        judged(cli, heard, store, options.clone())
    }) {
        Ok(reply) => return reply,
        Err(Unanswered::Host(HostError::Payload(error @ PayloadError::UnknownEvent(_)))) => {
            return Reply { stderr: format!("ona: {error}"), ..Reply::default() };
        }
        Err(why) => why.to_string(),
    };
    let why = why.trim_end();
    let unanswered = ona_hosts::unanswered(host, said, here, rules, why);
    // What the rules forbid is forbidden whether or not it can be recorded.
    if !rules || unanswered.code == 2 || unanswered.stdout.is_none() {
        return unanswered;
    }
    let options = HostOptions { without_record: Some(why.to_owned()), ..options };
    let again = Store::for_judging().map_err(Unanswered::from);
    again.and_then(|store| judged(cli, heard, store, options)).unwrap_or(unanswered)
}

/// Why there is no answer.
enum Unanswered {
    Cli(CliError),
    Host(HostError),
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cli(error) => error.fmt(f),
            Self::Host(error) => error.fmt(f),
        }
    }
}

impl From<CliError> for Unanswered {
    fn from(error: CliError) -> Self {
        Self::Cli(error)
    }
}

impl From<StoreError> for Unanswered {
    fn from(error: StoreError) -> Self {
        Self::Cli(error.into())
    }
}

fn judged(
    cli: &Options,
    (host, said, here): Heard<'_>,
    store: Store,
    options: HostOptions,
) -> Result<Reply, Unanswered> {
    let mut core = bootstrap::core_with(cli, store)?;
    // What a host's agent has written must not loosen anything: only what the record trusts counts.
    core.config.trust = RunTrust::default();
    let core = Arc::new(core);
    let runtime = bootstrap::runtime()?;
    runtime.block_on(ona_hosts::answer(&core, host, said, here, options)).map_err(Unanswered::Host)
}
