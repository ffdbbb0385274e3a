//! How commands are confined: what the settings want ([`terms`]), and what comes of it for a call ([`Runs`]). The stage `sandbox` tells it, and refuses what is below the minimum.

pub mod terms;

use std::sync::Arc;

use ona_sandbox::confine::{Confined, Confinement, LeftOut, Limits, Network, abi};
use ona_types::SandboxLevel;
use serde_json::{Value, json};

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
                let roots = confined.confinement.writable.iter();
                let roots: Vec<String> = roots.map(|root| root.display().to_string()).collect();
                let abi = abi(confined.level).map(|abi| format!(" (version {abi})"));
                let mut words = format!(
                    "{}{}, {}, writable: {}",
                    confined.level,
                    abi.unwrap_or_default(),
                    network_words(confined),
                    roots.join(", ")
                );
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
                    "writable": confinement.writable,
                    "protected": match level {
                        SandboxLevel::Landlock => &[],
                        _ => confinement.protected.as_slice(),
                    },
                    "hidden": confinement.hidden.len(), "temporary": confinement.temporary,
                    "network": confinement.network, "sockets": confinement.sockets,
                    "left_out": left_out,
                })
            }
        }
    }
}

pub(crate) fn network_words(confined: &Confined) -> String {
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

impl Terms {
    /// Not confined, but limited where there are limits.
    pub(crate) fn outside(&self, why: String) -> Runs {
        if self.minimum > SandboxLevel::None {
            return Runs::Refused(format!(
                "sandbox.minimum is {}, and it would run outside: {why}",
                self.minimum
            ));
        }
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
