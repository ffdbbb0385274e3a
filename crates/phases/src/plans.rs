//! Plans before and at their approval: their criteria, with ids that stay the same over the versions of a plan, and what is
//! there at the moment of the approval.

use std::path::Path;
use std::time::Duration;

use ona_repo::{Checkout, Digest, git};
use ona_sandbox::Ending;
use ona_store::{PlanApproval, PlanRow, Store, StoreError};
use ona_types::{ContentHash, PlanBaseline};
use tokio_util::sync::CancellationToken;

use crate::contracts::{self, Absent, Contract, Kind};
use crate::criteria::{self, Checked, Criterion};
use crate::room::{Job, Room};

/// How long a command may take to print its help, and how much it may print.
const HELP_TIME: Duration = Duration::from_secs(10);
const HELP_LENGTH: usize = 64 << 10;

/// The root of the work tree that a project belongs to.
pub fn work_tree(project: &Path) -> std::path::PathBuf {
    Checkout::of(project).map_or_else(|| project.to_owned(), |checkout| checkout.top().to_owned())
}

/// Checks a plan that is on the record.
pub fn check(store: &Store, plan: &PlanRow) -> Result<Checked, StoreError> {
    let conversation = ona_types::ConversationId::from_existing(plan.conversation_id.clone());
    let versions = store.conversation_plans(&conversation)?;
    let earlier = versions.iter().filter(|one| one.id < plan.id).map(|one| one.content.as_str());
    Ok(check_after(earlier, &plan.content))
}

/// Checks a plan that comes after others in its conversation: a criterion that one of them had keeps its id.
pub fn check_after<'a>(earlier: impl Iterator<Item = &'a str>, plan: &str) -> Checked {
    let mut known: Vec<Criterion> = Vec::new();
    for version in earlier {
        for criterion in criteria::check(version, &known).criteria {
            match known.iter_mut().find(|one| one.id == criterion.id) {
                Some(one) => *one = criterion,
                None => known.push(criterion),
            }
        }
    }
    criteria::check(plan, &known)
}

/// Reads what is there when a plan is approved. Commands for help run in the room; without one they do not run.
pub async fn baseline(
    project: &Path,
    plan: &str,
    criteria: &[Criterion],
    room: Result<&Room, &str>,
    cancel: &CancellationToken,
) -> PlanBaseline {
    let named = contracts::named(plan);
    let mut found = contracts::read(project, &named.files);
    for command in named.commands {
        let text = match room {
            Ok(room) => help(room, project, &command, cancel).await,
            Err(why) => Err(Absent::NotRun(why.to_owned())),
        };
        found.push(Contract { name: command, kind: Kind::Help, text });
    }
    contracts::fit(&mut found);
    let root = work_tree(project);
    let commit = match Checkout::of(project) {
        Some(_) => git::head(&root).await.ok().flatten(),
        None => None,
    };
    let digest = tokio::task::spawn_blocking(move || Digest::of(&root)).await.unwrap_or_default();
    PlanBaseline {
        criteria: to_json(criteria),
        contracts: to_json(&found),
        commit,
        tree_hash: digest.hash(),
        tree: digest.to_bytes(),
    }
}

/// The contracts that are kept, a line for each.
pub fn contract_lines(baseline: &PlanBaseline) -> Vec<String> {
    let contracts: Vec<Contract> = serde_json::from_str(&baseline.contracts).unwrap_or_default();
    let line = |one: &Contract| match &one.text {
        Ok(text) => format!("{} {} ({} bytes)", one.kind, one.name, text.len()),
        Err(why) => format!("{} {}: not available: {why}", one.kind, one.name),
    };
    contracts.iter().map(line).collect()
}

fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "[]".to_owned())
}

async fn help(
    room: &Room,
    project: &Path,
    command: &str,
    cancel: &CancellationToken,
) -> Result<String, Absent> {
    let job = Job {
        script: command,
        cwd: Some(project),
        record: false,
        timeout: HELP_TIME,
        cap: HELP_LENGTH,
    };
    let failed = |why: String| Err(Absent::Failed(why));
    let done = match room.run(job, cancel).await {
        Ok(done) => done,
        Err(error) => return failed(error.to_string()),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (out, err) = (text(&done.stdout.bytes), text(&done.stderr.bytes));
    match done.ending {
        Ending::Exited(0) if !out.is_empty() => Ok(out),
        Ending::Exited(0) if !err.is_empty() => Ok(err),
        Ending::Exited(0) => failed("it printed nothing".to_owned()),
        Ending::Exited(code) => {
            failed(err.lines().next().map_or(format!("exit code {code}"), str::to_owned))
        }
        Ending::TimedOut => failed(format!("it took more than {} s", HELP_TIME.as_secs())),
        Ending::Signalled(_) | Ending::Interrupted => failed("it was stopped".to_owned()),
    }
}

/// What a plan was approved with, once it is certain that nobody has changed it since.
#[derive(Clone, Debug)]
pub struct Approved {
    /// The criteria.
    pub criteria: Vec<Criterion>,
    /// The public contracts.
    pub contracts: Vec<Contract>,
    /// The work tree at that time.
    pub tree: Digest,
    /// The commit at that time.
    pub commit: Option<String>,
}

/// Why an approval does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    /// Nobody knows what was there.
    #[error(
        "plan {0} was not approved with ona, so nothing is known of the work tree at that time: approve it with `ona plan approve`"
    )]
    NoApproval(i64),
    /// Its text is another.
    #[error(
        "the text of plan {0} is not the one that was approved: `ona plan edit` makes a new version, to be approved again"
    )]
    OtherText(i64),
    /// Somebody has changed it.
    #[error(
        "what plan {0} was approved with has been changed since: `ona plan edit` makes a new version, to be approved again"
    )]
    Unsealed(i64),
    /// The row is damaged.
    #[error("the approval of plan {plan} is damaged: its {part} cannot be read")]
    Damaged {
        /// The plan.
        plan: i64,
        /// What of it.
        part: &'static str,
    },
}

/// Checks that a plan is the one that was approved, and reads what there was.
pub fn approved(plan: &PlanRow, approval: Option<&PlanApproval>) -> Result<Approved, NotApproved> {
    let approval = approval.ok_or(NotApproved::NoApproval(plan.id))?;
    let hash = ContentHash::of(plan.content.as_bytes());
    if hash.as_str() != approval.plan_hash || plan.hash != approval.plan_hash {
        return Err(NotApproved::OtherText(plan.id));
    }
    let damaged = |part| NotApproved::Damaged { plan: plan.id, part };
    if approval.baseline.seal(&approval.plan_hash).as_str() != approval.seal {
        return Err(NotApproved::Unsealed(plan.id));
    }
    let PlanBaseline { criteria, contracts, commit, tree_hash, tree } = &approval.baseline;
    let tree = Digest::from_bytes(tree).map_err(|_| damaged("work tree"))?;
    if tree.hash() != *tree_hash {
        return Err(damaged("work tree"));
    }
    let criteria: Vec<Criterion> =
        serde_json::from_str(criteria).map_err(|_| damaged("list of criteria"))?;
    // Nothing to cover would be covered.
    if criteria.is_empty() {
        return Err(damaged("list of criteria"));
    }
    Ok(Approved {
        criteria,
        contracts: serde_json::from_str(contracts).map_err(|_| damaged("list of contracts"))?,
        tree,
        commit: commit.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_keeps_its_id_over_all_versions() {
        let plan = |items: &str| format!("## Success criteria\n{items}");
        let first = plan("- prints a\n- prints b");
        let second = plan("- prints b");
        let third = plan("- prints c\n- prints a\n- prints b");
        let checked = check_after([first.as_str(), second.as_str()].into_iter(), &third);
        let told: Vec<(&str, &str)> =
            checked.criteria.iter().map(|one| (one.id.as_str(), one.text.as_str())).collect();
        assert_eq!(told, [("SC-3", "prints c"), ("SC-1", "prints a"), ("SC-2", "prints b")]);
    }
}
