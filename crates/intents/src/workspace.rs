//! A workspace with intents: its files, read again when they change, and the judgement of calls.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ona_effects::Effects;
use ona_trace::Ledger;
use ona_trace::paths::UnsafePath;
use ona_types::ToolKind;

use crate::file::{self, Intents, LoadError, Loader, Stamp, stamp};
use crate::gate::{CallClass, Decision, Elsewhere, Request, Targets, judge, written};
use crate::hook_policy::{Class, Classified, HookPolicy, POLICY_FILE};
use crate::ignore::{IGNORE_FILES, Ignore};

/// A workspace and what its files say.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    loader: Loader,
    policy: Kept<HookPolicy>,
    ignore: Kept<Ignore>,
}

/// A call to be judged.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The tool, by its name at any host.
    pub tool: &'a str,
    /// What the tool says that it does.
    pub kind: ToolKind,
    /// The command line, where the tool runs one.
    pub command: Option<&'a str>,
    /// What it would touch.
    pub effects: &'a Effects,
    /// The intent the session works for.
    pub selected: Option<&'a str>,
    /// The intent the call itself names.
    pub intent_id: Option<&'a str>,
    /// The class of change the call itself names.
    pub mutation_class: Option<&'a str>,
    /// Of the files it would write, by their real path, those that have changed since they were seen.
    pub stale: &'a [PathBuf],
}

/// What was found about a call.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The gate's answer.
    pub decision: Decision,
    /// What kind of call it is.
    pub class: CallClass,
    /// The intents it was judged by, if they could be read.
    pub intents: Option<Arc<Intents>>,
    /// How strict the gate was.
    pub policy: Arc<HookPolicy>,
}

impl Workspace {
    /// The workspace that a directory belongs to, if it has intents.
    pub fn around(dir: &Path) -> io::Result<Option<Self>> {
        file::workspace(dir).map(|root| Self::at(&root)).transpose()
    }

    /// The workspace with this root.
    pub fn at(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        Ok(Self {
            loader: Loader::new(&root),
            policy: Kept::new(vec![root.join(POLICY_FILE)]),
            ignore: Kept::new(IGNORE_FILES.iter().map(|name| root.join(name)).collect()),
            root,
        })
    }

    /// Its root, resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its trace.
    pub fn ledger(&self) -> Result<Ledger, UnsafePath> {
        Ledger::of(&self.root)
    }

    /// Its intents as the file has them now.
    pub fn intents(&self) -> Result<Arc<Intents>, LoadError> {
        self.loader.load()
    }

    /// Its policy. A removed policy stays in force for this process: removing it must not loosen anything for
    /// a session that works under it.
    pub fn policy(&self) -> Arc<HookPolicy> {
        self.policy.get(|gone, before| match before {
            Some(before) if gone => before,
            _ => Arc::new(HookPolicy::load(&self.root)),
        })
    }

    /// What may not be touched.
    pub fn ignore(&self) -> Arc<Ignore> {
        self.ignore.get(|_, _| Arc::new(Ignore::load(&self.root)))
    }

    /// Judges a call.
    pub fn judge(&self, asked: &Asked<'_>) -> Judged {
        let (intents, policy, ignore) = (self.intents(), self.policy(), self.ignore());
        let class = class_of(&policy, asked, &self.root);
        let (certain, unknown) = match class {
            CallClass::Classified(_) => written(asked.effects),
            _ => (asked.effects.writes.clone(), asked.effects.opaque.clone()),
        };
        let elsewhere = Elsewhere::of(asked.effects, &self.root);
        let request = Request {
            root: &self.root,
            intents: intents.as_deref(),
            ignore: &ignore,
            policy: &policy,
            selected: asked.selected,
            class: class.clone(),
            targets: match &unknown {
                Some(why) => Targets::Partly(&certain, why),
                None => Targets::Known(&certain),
            },
            elsewhere: &elsewhere,
            intent_id: asked.intent_id,
            mutation_class: asked.mutation_class,
            stale: asked.stale,
        };
        let decision = judge(&request);
        Judged { decision, class, intents: intents.ok(), policy }
    }
}

/// What kind of call it is: by its name where that is known, else by what it would touch.
fn class_of(policy: &HookPolicy, asked: &Asked<'_>, root: &Path) -> CallClass {
    let by_command = || {
        CallClass::Classified(match asked.command {
            Some(line) => policy.classify_effects(line, asked.effects, root),
            None => policy.classify_mcp(asked.tool),
        })
    };
    match policy.kind_of(asked.tool, asked.kind) {
        ToolKind::Read => CallClass::Read,
        ToolKind::SelectIntent => CallClass::Exempt,
        ToolKind::Write(_) => CallClass::Write,
        ToolKind::Command | ToolKind::Server => by_command(),
        ToolKind::Other if asked.command.is_some() => by_command(),
        ToolKind::Other if !asked.effects.writes.is_empty() => CallClass::Write,
        ToolKind::Other if asked.effects.opaque.is_some() => {
            let reason = asked.effects.opaque.clone().unwrap_or_default();
            CallClass::Classified(Classified { class: Class::Destructive, reason })
        }
        ToolKind::Other => CallClass::Read,
    }
}

/// What files say, until one of them changes.
#[derive(Debug)]
struct Kept<T> {
    files: Vec<PathBuf>,
    kept: Mutex<Option<Then<T>>>,
}

/// The state of files, and what they said.
type Then<T> = (Vec<Option<Stamp>>, Arc<T>);

impl<T> Kept<T> {
    fn new(files: Vec<PathBuf>) -> Self {
        Self { files, kept: Mutex::new(None) }
    }

    /// What they say now; `read` gets whether all are gone, and what they said before.
    fn get(&self, read: impl FnOnce(bool, Option<Arc<T>>) -> Arc<T>) -> Arc<T> {
        let now: Vec<Option<Stamp>> = self.files.iter().map(|file| stamp(file)).collect();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, value)) = kept.as_ref()
            && then.iter().zip(&now).all(|pair| match pair {
                (Some(then), Some(now)) => then.still_holds(now),
                (then, now) => then.is_none() && now.is_none(),
            })
        {
            return Arc::clone(value);
        }
        let gone = now.iter().all(Option::is_none);
        let value = read(gone, kept.take().map(|(_, value)| value));
        *kept = Some((now, Arc::clone(&value)));
        value
    }
}

#[cfg(test)]
mod tests {
    use ona_repo::Disk;

    use std::fs;

    use super::*;
    use crate::gate::Allowed;
    use crate::hook_policy::FailureMode;
    use crate::refusal::Refusal;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".orchestration")).unwrap();
        fs::write(
            dir.path().join(file::INTENTS_FILE),
            "active_intents:\n  - {id: INT-1, status: IN_PROGRESS, owned_scope: ['src/**']}\n",
        )
        .unwrap();
        let workspace = Workspace::around(dir.path()).unwrap().unwrap();
        (dir, workspace)
    }

    fn asked<'a>(
        (tool, kind): (&'a str, ToolKind),
        command: Option<&'a str>,
        effects: &'a Effects,
    ) -> Asked<'a> {
        Asked {
            tool,
            kind,
            command,
            effects,
            selected: Some("INT-1"),
            intent_id: None,
            mutation_class: None,
            stale: &[],
        }
    }

    #[test]
    fn what_a_call_is_follows_from_its_tool_and_its_effects() {
        let (_dir, workspace) = workspace();
        let shell = |line: &str| Effects::of_shell(&Disk, line, workspace.root()).unwrap();
        let (bash, other) = (("Bash", ToolKind::Command), ("own_shell", ToolKind::Other));
        for (tool, line, allowed) in [
            (bash, "ls", true),
            (bash, "echo a > src/b", true),
            (bash, "echo a > lib/b", false),
            (bash, "cd src && echo a > b", true),
            (bash, "rm lib/b", false),
            (other, "rm lib/b", false),
            (("Read", ToolKind::Read), "", true),
            (("select_active_intent", ToolKind::SelectIntent), "", true),
        ] {
            let effects = shell(line);
            let line = Some(line).filter(|line| !line.is_empty());
            let judged = workspace.judge(&asked(tool, line, &effects));
            assert_eq!(matches!(judged.decision, Decision::Allow(_)), allowed, "{tool:?} {line:?}");
        }
        let effects = shell("git log --oneline");
        let judged = workspace.judge(&asked(bash, Some("git log --oneline"), &effects));
        assert_eq!(judged.decision, Decision::Allow(Allowed::default()), "it only reads");
        let nothing = Effects::default();
        let judged = workspace.judge(&asked(("TodoWrite", ToolKind::Other), None, &nothing));
        assert!(matches!(judged.class, CallClass::Read));
        let judged = workspace.judge(&asked(("mcp__x__y", ToolKind::Server), None, &nothing));
        let Decision::Allow(allowed) = judged.decision else { panic!("{judged:?}") };
        assert!(allowed.approval.is_some(), "a human has to agree");
    }

    #[test]
    fn a_policy_that_is_taken_away_goes_on_holding() {
        let (dir, workspace) = workspace();
        assert_eq!(workspace.policy().failure_mode, FailureMode::Open);
        fs::write(dir.path().join(POLICY_FILE), "failure_mode: closed\n").unwrap();
        assert_eq!(workspace.policy().failure_mode, FailureMode::Closed);
        fs::remove_dir_all(dir.path().join(".orchestration")).unwrap();
        assert_eq!(workspace.policy().failure_mode, FailureMode::Closed);
        let effects = Effects::of_shell(&Disk, "echo a > src/b", workspace.root()).unwrap();
        let judged =
            workspace.judge(&asked(("Bash", ToolKind::Command), Some("echo a > src/b"), &effects));
        assert_eq!(judged.decision, Decision::Refuse(Refusal::MissingIntents));
    }
}
