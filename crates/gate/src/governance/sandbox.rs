//! The sandbox of a session: what its commands may touch, at the strongest level that works here.

mod confinement;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_phases::room::Room;
use ona_sandbox::confine::probe::Probed;
use ona_sandbox::confine::{Confined, Confinement, Network, Sockets};
use ona_types::SandboxLevel;
use serde_json::{Value, json};

use super::Governance;
use crate::sandbox::terms::Terms;
use crate::sandbox::{Runs, network_words};

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
        let (wanted, partly) = confinement::confinement(self, temporary);
        let (mut confinement, mut left_out) = wanted.resolved();
        left_out.extend(partly);
        let record = core.store.path();
        if let Some(root) = confinement.writable.iter().find(|root| record.starts_with(root)) {
            return Runs::Refused(format!(
                "ona's record {} lies in {}, which commands may write: move it (AGENT_SDLC_DB)",
                record.display(),
                root.display()
            ));
        }
        let best = match self.best(&confinement) {
            Ok(best) => best,
            Err(why @ NoLevel::StrongEnough { .. }) => return Runs::Refused(why.to_string()),
            Err(why) if terms.fail_if_unavailable => {
                return Runs::Refused(format!("sandbox.failIfUnavailable is set, and {why}"));
            }
            Err(why) => return terms.outside(why.to_string()),
        };
        if best.level == SandboxLevel::Landlock {
            confinement.network = without_namespaces(confinement.network);
            // No socket can be told from another there: all or none.
            if matches!(confinement.sockets, Sockets::These(_)) {
                confinement.sockets = Sockets::None;
            }
        }
        Runs::Inside(
            Arc::new(Confined {
                level: best.level,
                helper: best.helper,
                own_program: Some(core.host.program.clone()),
                confinement,
                limits: terms.limits,
            }),
            left_out,
        )
    }

    /// Where behavioural tests of a project run: whatever the settings say, not without a sandbox, as a test may do anything.
    pub fn test_room(&self, project: &Path) -> Result<Room, NoLevel> {
        let core = self.core();
        let (mut confinement, _) = confinement::confinement(self, PathBuf::new()).0.resolved();
        confinement.writable.clear();
        let best = self
            .best(&Confinement { writable: vec![project.to_owned()], ..Confinement::default() })?;
        let confined = Confined {
            level: best.level,
            helper: best.helper,
            own_program: Some(core.host.program.clone()),
            confinement,
            limits: self.sandbox.limits,
        };
        Ok(Room { confined, project: project.to_owned(), env: self.host.child_env.clone() })
    }

    /// What programs of servers may touch; everything if `None`.
    pub(crate) fn confined_servers(&self) -> Option<Confined> {
        if !self.sandbox.enabled || !self.sandbox.servers {
            return None;
        }
        match self.confined() {
            Runs::Refused(_) => Some(Confined::impossible()),
            runs => runs.confined().map(|confined| Confined::clone(confined)),
        }
    }

    /// Which programs besides commands the settings confine, if any.
    pub(super) fn also_confined(&self) -> Option<&'static str> {
        match (self.sandbox.hooks, self.sandbox.servers) {
            (true, true) => Some("sandbox.hooks and sandbox.mcpServers are set"),
            (true, false) => Some("sandbox.hooks is set"),
            (false, true) => Some("sandbox.mcpServers is set"),
            (false, false) => None,
        }
    }

    /// Why the settings keep commands from a stronger level that works here.
    pub(super) fn weaker_than_possible(&self) -> Option<String> {
        if !self.sandbox.enabled {
            return None;
        }
        let wanted =
            Confinement { writable: confinement::writable(self), ..Confinement::default() };
        let why = self.core().machine.unused_helper(&wanted.resolved().0.writable)?;
        let hint = match self.core().machine.unused_helper(&[]) {
            None => ": open less with sandbox.filesystem.allowWrite",
            Some(_) => "",
        };
        Some(format!("{why}{hint}"))
    }

    /// How commands of this session run, a line for each part.
    pub fn sandbox_words(&self) -> String {
        let terms = &self.sandbox;
        let runs = match terms.enabled {
            false => terms.outside("sandbox.enabled is not set".to_owned()),
            true => self.confined(),
        };
        if let Runs::Refused(why) = &runs {
            return format!("level     none\nwhy       {why}\nNo command runs.");
        }
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
        let weaker = self.weaker_than_possible();
        let left_out = match &runs {
            Runs::Inside(_, left_out) => left_out.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        for note in left_out.into_iter().chain(weaker) {
            text.push_str(&format!("\nnote      {note}"));
        }
        text
    }

    /// Settings of the sandbox that have no effect here, and why.
    pub fn idle_sandbox_settings(&self) -> Vec<String> {
        let mut idle = self.sandbox.idle.clone();
        if self.sandbox_level().0 != SandboxLevel::Landlock {
            return idle;
        }
        let network = without_namespaces(self.sandbox.network.clone());
        let is_list = matches!(&network, Network::Hosts(hosts) if !hosts.is_empty());
        if is_list || matches!(network, Network::Proxies { .. }) {
            idle.push(
                "sandbox.network: at the level landlock there is no network but all of it (`*`)"
                    .to_owned(),
            );
        }
        if matches!(self.sandbox.sockets, Sockets::These(_)) {
            idle.push("sandbox.network.allowUnixSockets: a list needs a bwrap level".to_owned());
        }
        if !self.sandbox.deny_write.is_empty() {
            idle.push(
                "sandbox.filesystem.denyWrite: inside a writable directory it needs a bwrap level"
                    .to_owned(),
            );
        }
        idle
    }

    /// How the programs of this session run, for the record of its start; `None` without a sandbox.
    pub fn sandbox_of_session(&self) -> Option<Value> {
        let Terms { enabled, hooks, servers, .. } = &*self.sandbox;
        enabled.then(
            || json!({"commands": self.sandbox_detail(), "hooks": hooks, "mcpServers": servers}),
        )
    }

    /// How commands of this session run, for programs.
    pub fn sandbox_detail(&self) -> Value {
        match self.sandbox.enabled {
            true => self.confined().detail(),
            false => self.sandbox.outside("sandbox.enabled is not set".to_owned()).detail(),
        }
    }

    /// The level at which commands of this session run, and why it is none although one is wanted.
    pub fn sandbox_level(&self) -> (SandboxLevel, Option<String>) {
        if !self.sandbox.enabled {
            return (SandboxLevel::None, None);
        }
        let wanted =
            Confinement { writable: confinement::writable(self), ..Confinement::default() };
        match self.best(&wanted.resolved().0) {
            Ok(best) => (best.level, None),
            Err(why) => (SandboxLevel::None, Some(why.to_string())),
        }
    }

    /// The strongest level that works, if it is strong enough.
    fn best(&self, confinement: &Confinement) -> Result<Probed, NoLevel> {
        let (core, terms) = (self.core(), &self.sandbox);
        let levels = core.machine.levels(&core.host.program, &confinement.writable);
        let best =
            levels.iter().find(|one| one.problem.is_none() && one.level > SandboxLevel::None);
        match best {
            Some(best) if best.level >= terms.minimum => Ok(best.clone()),
            _ if terms.minimum > SandboxLevel::None => Err(NoLevel::of(terms.minimum, &levels)),
            _ => Err(NoLevel::Any(problems(&levels, SandboxLevel::None))),
        }
    }
}

/// Why commands cannot be confined as the settings want.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLevel {
    /// None of the levels works, for these reasons.
    #[error("no level works here ({0})")]
    Any(String),
    /// None that is strong enough.
    #[error("sandbox.minimum is {minimum}, which does not work here ({why})")]
    StrongEnough {
        /// The level that is demanded.
        minimum: SandboxLevel,
        /// Why it and those above it do not work.
        why: String,
    },
}

impl NoLevel {
    fn of(minimum: SandboxLevel, levels: &[Probed]) -> Self {
        let why = match problems(levels, minimum) {
            why if why.is_empty() => "this system has no such level".to_owned(),
            why => why,
        };
        Self::StrongEnough { minimum, why }
    }
}

/// What is wrong with the levels from this one on.
fn problems(levels: &[Probed], least: SandboxLevel) -> String {
    let why = levels
        .iter()
        .filter(|one| one.level >= least)
        .filter_map(|one| one.problem.as_ref().map(|problem| format!("{}: {problem}", one.level)));
    why.collect::<Vec<_>>().join("; ")
}

/// Without a network namespace there is everything or nothing.
fn without_namespaces(network: Network) -> Network {
    let everything = |network: &Network| network.to_string() == "network: *";
    if everything(&network) { Network::Everything } else { network }
}
