//! A permit is for the place that was judged: targets are resolved again right before the call runs.

use std::path::Path;

use ona_effects::Effects;
use ona_effects::path::Target;
use ona_types::gate::{Answer, StageName, Verdict};

use super::judgement::Judgement;

impl Judgement<'_> {
    /// A refusal if the call would touch something else by now: somebody may have put a link in the place of a file while
    /// a hook ran or the human was asked.
    pub(super) fn moved(&self) -> Option<Answer> {
        let why = match self.prepare() {
            Ok(now) if now == self.effects => return None,
            Ok(now) => difference(&self.effects, &now),
            Err(error) => error.to_string(),
        };
        let reason = format!("not run, because it is not what was judged: {why}; call it again");
        Some(Answer::new(StageName::Rules, Verdict::Deny, reason))
    }
}

/// What has changed, in words.
fn difference(judged: &Effects, now: &Effects) -> String {
    let elsewhere = targets(judged).find_map(|was| {
        let is = targets(now).find(|is| is.named == was.named && is.real != was.real)?;
        Some((was, is))
    });
    let shown = Path::display;
    match elsewhere {
        Some((was, is)) => {
            let (named, now, then) = (shown(&was.named), shown(&is.real), shown(&was.real));
            format!("{named} now leads to {now}, not to {then}")
        }
        None => "what the call would touch has changed meanwhile".to_owned(),
    }
}

fn targets(effects: &Effects) -> impl Iterator<Item = &Target> {
    let lists = [&effects.writes, &effects.reads, &effects.redirected, &effects.fed];
    let trees = effects.trees.iter().map(|tree| &tree.root);
    let given = effects.given.iter().map(|given| &given.target);
    let tracked = effects.tracked.iter().flat_map(|tracked| &tracked.below);
    lists.into_iter().flatten().chain(trees).chain(given).chain(tracked)
}
