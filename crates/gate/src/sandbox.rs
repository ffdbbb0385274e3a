//! How commands are confined: what the settings want ([`terms`]), and what a command may touch (`confinement`). The stage `sandbox` tells it, and refuses what is below the minimum.

mod confinement;
pub mod terms;

use std::path::PathBuf;
use std::sync::Arc;

use ona_policy::{Confines, covered_by};
use ona_sandbox::confine::probe::Probed;
use ona_sandbox::confine::{Confined, Confinement, LeftOut, Limits, Network, abi};
use ona_tools::SANDBOX_REFUSED;
use ona_types::{SandboxLevel, ToolOutput};
use serde_json::{Value, json};

use crate::Gate;
use crate::governance::Governance;
use crate::judgement::Judgement;
use terms::Terms;

/// How the command of a call runs.
#[derive(Clone, Debug, Default)]
pub enum Runs {
    /// The call has no command.
    #[default]
    Nothing,
    /// Not confined, for this reason; with limits if there are any.
    Outside(String, Option<Arc<Confined>>),
    /// Confined.
    Inside(Arc<Confined>, Vec<LeftOut>),
    /// It must not run: what is demanded is not to be had.
    Refused(String),
}

impl Runs {
    /// How its command is started.
    pub fn confined(&self) -> Option<&Arc<Confined>> {
        match self {
            Self::Inside(confined, _) => Some(confined),
            Self::Outside(_, limited) => limited.as_ref(),
            Self::Nothing | Self::Refused(_) => None,
        }
    }

    /// The level, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Nothing => "it runs no command".to_owned(),
            Self::Outside(why, _) => format!("outside the sandbox: {why}"),
            Self::Inside(confined, left_out) => {
                let mut words = format!("{}, {}", confined.level, network_words(confined));
                for one in left_out {
                    words.push_str(&format!("; {one}"));
                }
                words
            }
            Self::Refused(why) => why.clone(),
        }
    }

    /// What is recorded.
    pub fn detail(&self) -> Value {
        match self {
            Self::Nothing | Self::Refused(_) => json!({}),
            Self::Outside(why, limited) => {
                let limits = limited.as_ref().map(|confined| confined.limits);
                json!({"level": SandboxLevel::None, "outside": why, "limits": limits})
            }
            Self::Inside(confined, left_out) => {
                let Confined { level, helper, confinement, limits, .. } = &**confined;
                let left_out: Vec<String> = left_out.iter().map(ToString::to_string).collect();
                json!({
                    "level": level, "abi": abi(*level), "helper": helper, "limits": limits,
                    "writable": confinement.writable, "protected": confinement.protected,
                    "hidden": confinement.hidden.len(), "temporary": confinement.temporary,
                    "network": confinement.network, "sockets": confinement.sockets,
                    "left_out": left_out,
                })
            }
        }
    }
}

fn network_words(confined: &Confined) -> String {
    let network = &confined.confinement.network;
    match (confined.level, network) {
        (SandboxLevel::Landlock, Network::Hosts(hosts)) if !hosts.is_empty() => {
            "no network (a list of hosts needs bwrap)".to_owned()
        }
        (SandboxLevel::Landlock, Network::Proxies { .. }) => {
            "no network (a proxy needs bwrap)".to_owned()
        }
        _ => network.to_string(),
    }
}

impl Judgement<'_> {
    /// Finds out how the call's command would run.
    pub(crate) fn find_sandbox(&mut self) {
        self.runs = self.gate.runs_of(self);
    }

    /// Records how the command ran, and what it was refused.
    pub(crate) fn note_sandbox(&mut self, output: &ToolOutput) {
        let enabled = self.gate.governance.sandbox.enabled;
        let is_told = matches!(self.runs, Runs::Inside(..))
            || enabled && matches!(self.runs, Runs::Outside(..));
        if !is_told {
            return;
        }
        let core = &self.gate.record.core;
        if output.task.is_some() && core.settings.background_stays {
            core.machine.keep_temporary();
        }
        self.noted.events.push(("sandbox.run".to_owned(), self.runs.detail()));
        let refused = output.detail.get(SANDBOX_REFUSED).and_then(Value::as_array);
        for one in refused.into_iter().flatten() {
            self.noted.events.push(("sandbox.refused".to_owned(), one.clone()));
        }
    }

    /// What the sandbox sees to, where that replaces questions.
    pub(crate) fn confines(&self) -> Confines {
        let Runs::Inside(confined, _) = &self.runs else { return Confines::Nothing };
        match (self.gate.governance.sandbox.auto_allow, confined.level) {
            (false, _) => Confines::Nothing,
            (true, SandboxLevel::Bwrap | SandboxLevel::BwrapNoproc) => Confines::ProtectedToo,
            (true, _) => Confines::Writing,
        }
    }
}

impl Gate {
    fn runs_of(&self, call: &Judgement<'_>) -> Runs {
        if call.tool.command(&call.input).is_none() {
            return Runs::Nothing;
        }
        let governance = &self.governance;
        let terms = &governance.sandbox;
        if !terms.enabled {
            return match terms.minimum {
                SandboxLevel::None => terms.outside("it is off".to_owned()),
                _ => governance.confined(),
            };
        }
        if call.tool.leaves_sandbox(&call.input) && terms.may_leave {
            return terms.outside("the call asks for it".to_owned());
        }
        if let Some(rule) = covered_by(&terms.excluded, &call.effects) {
            let pattern = rule.text.trim_start_matches("Bash(").trim_end_matches(')');
            return terms.outside(format!("sandbox.excludedCommands has `{pattern}`"));
        }
        governance.confined()
    }
}

impl Terms {
    /// Not confined, but limited where there are limits.
    fn outside(&self, why: String) -> Runs {
        let limited = (self.limits != Limits::default()).then(|| {
            Arc::new(Confined {
                level: SandboxLevel::None,
                helper: None,
                own_program: None,
                confinement: Confinement::default(),
                limits: self.limits,
            })
        });
        Runs::Outside(why, limited)
    }
}

impl Governance {
    /// Confined as the settings want, as strongly as this machine can.
    pub(crate) fn confined(&self) -> Runs {
        let (core, terms) = (self.core(), &self.sandbox);
        let temporary = match core.machine.temporary_of(self.conversation()) {
            Ok(dir) => dir,
            Err(error) => {
                return Runs::Refused(format!("no directory for temporary files: {error}"));
            }
        };
        let (mut confinement, left_out) = confinement::confinement(self, temporary).resolved();
        let levels = core.machine.levels(&core.host.program, &confinement.writable);
        let Some(best) = levels.iter().find(|one| one.problem.is_none()) else {
            return Runs::Refused("no sandbox level works here".to_owned());
        };
        if best.level < terms.minimum {
            return Runs::Refused(below(terms.minimum, &levels));
        }
        if best.level == SandboxLevel::None && terms.fail_if_unavailable {
            return Runs::Refused(format!(
                "sandbox.failIfUnavailable is set, and {}",
                unavailable(&levels)
            ));
        }
        if best.level == SandboxLevel::None {
            return terms.outside(unavailable(&levels));
        }
        if best.level == SandboxLevel::Landlock {
            confinement.network = without_namespaces(confinement.network);
        }
        Runs::Inside(
            Arc::new(Confined {
                level: best.level,
                helper: best.helper.clone(),
                own_program: Some(core.host.program.clone()),
                confinement,
                limits: terms.limits,
            }),
            left_out,
        )
    }

    /// What programs of servers may touch; everything if `None`.
    pub(crate) fn confined_servers(&self) -> Option<Confined> {
        if !self.sandbox.enabled || !self.sandbox.servers {
            return None;
        }
        self.confined().confined().map(|confined| Confined::clone(confined))
    }

    /// How commands of this session run, a line for each part.
    pub fn sandbox_words(&self) -> String {
        let terms = &self.sandbox;
        let runs = match terms.enabled {
            false => terms.outside("sandbox.enabled is not set".to_owned()),
            true => self.confined(),
        };
        let Runs::Inside(confined, _) = &runs else {
            return format!(
                "level     none\nwhy       {}\nCommands run with your permissions, in a process group that is killed as a whole.",
                runs.words()
            );
        };
        let list = |paths: &[PathBuf]| {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            names.join(", ")
        };
        let Confinement { writable, hidden, temporary, .. } = &confined.confinement;
        let mut text = format!(
            "level     {}\nwritable  {}\ntemporary {}\nhidden    {} paths, such as credentials and ona's record\nnetwork   {}",
            confined.level,
            list(writable),
            temporary.display(),
            hidden.len(),
            network_words(confined)
        );
        if !terms.excluded.is_empty() {
            let names: Vec<&str> = terms.excluded.iter().map(|rule| rule.text.as_str()).collect();
            text.push_str(&format!("\noutside   {}", names.join(", ")));
        }
        let asks = match terms.auto_allow {
            true => "no question for commands in it, where no rule says otherwise",
            false => "as for other commands (autoAllowBashIfSandboxed is off)",
        };
        text.push_str(&format!("\nquestions {asks}"));
        if let Runs::Inside(_, left_out) = &runs {
            left_out.iter().for_each(|one| text.push_str(&format!("\nnote      {one}")));
        }
        text
    }

    /// How commands of this session run, for programs.
    pub fn sandbox_detail(&self) -> Value {
        match self.sandbox.enabled {
            true => self.confined().detail(),
            false => self.sandbox.outside("sandbox.enabled is not set".to_owned()).detail(),
        }
    }

    /// The level at which commands of this session run, and why it is not a stronger one.
    pub fn sandbox_level(&self) -> (SandboxLevel, Option<String>) {
        if !self.sandbox.enabled {
            return (SandboxLevel::None, None);
        }
        match self.confined() {
            Runs::Inside(confined, _) => (confined.level, None),
            Runs::Outside(why, _) | Runs::Refused(why) => (SandboxLevel::None, Some(why)),
            Runs::Nothing => (SandboxLevel::None, None),
        }
    }
}

/// Without a network namespace there is everything or nothing.
fn without_namespaces(network: Network) -> Network {
    let everything = |network: &Network| network.to_string() == "network: *";
    if everything(&network) { Network::Everything } else { network }
}

/// Why no level works.
fn unavailable(levels: &[Probed]) -> String {
    let why = levels
        .iter()
        .filter_map(|one| one.problem.as_ref().map(|problem| format!("{}: {problem}", one.level)));
    let why: Vec<String> = why.collect();
    format!("no level works here ({})", why.join("; "))
}

/// Why the level that is demanded is not there.
fn below(minimum: SandboxLevel, levels: &[Probed]) -> String {
    let why = levels
        .iter()
        .filter(|one| one.level >= minimum)
        .filter_map(|one| one.problem.as_ref().map(|problem| format!("{}: {problem}", one.level)));
    let why: Vec<String> = why.collect();
    let why =
        if why.is_empty() { "this system has no such level".to_owned() } else { why.join("; ") };
    format!("sandbox.minimum is {minimum}, which does not work here ({why})")
}
