//! The walk of one call through the stages, in its three modes, and the permit that only it can make.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use super::{Answer, STAGES, StageName, Verdict};
use crate::ContentHash;

/// An input may be replaced this often before the call is denied, so that the walk always ends.
const MAX_REPLACEMENTS: usize = 8;

/// What a walk is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The call is to run: the walk ends at the first no, or with a permit.
    Run,
    /// The call is only explained. Nothing is run, asked or stored, and every stage answers.
    Explain,
    /// Another agent's host runs the call. The walk ends at the first no, and never gives a permit.
    Foreign,
}

/// A call that is judged.
pub trait Judged: Send {
    /// Why a stage could not be asked.
    type Error: Send;

    /// The tool's name.
    fn tool(&self) -> &str;

    /// The input as the tool will get it.
    fn input(&self) -> Cow<'_, Value>;

    /// Replaces the input, on behalf of a hook or a human.
    fn replace_input(&mut self, input: Value);

    /// Whether the user has interrupted it: a stage that was interrupted has not agreed.
    fn is_interrupted(&self) -> bool;

    /// Receives each answer as it is given.
    fn hear(&self, answer: &Answer);
}

/// A stage's answer, and a replacement for the input if it has one.
#[derive(Debug)]
pub struct Said {
    /// The answer.
    pub answer: Answer,
    /// The input that a hook or a human wants instead.
    pub replaced: Option<Value>,
}

impl From<Answer> for Said {
    fn from(answer: Answer) -> Self {
        Self { answer, replaced: None }
    }
}

/// An answer to be awaited.
pub type Judging<'a, E> = Pin<Box<dyn Future<Output = Result<Said, E>> + Send + 'a>>;

/// A stage of the gate.
pub trait Stage<C: Judged>: Send + Sync {
    /// Which one it is.
    fn name(&self) -> StageName;

    /// Its answer about the call, given the answers of the stages before it. In [`Mode::Explain`] it changes nothing and
    /// asks nobody.
    fn judge<'a>(
        &'a self,
        call: &'a mut C,
        so_far: &'a [Answer],
        mode: Mode,
    ) -> Judging<'a, C::Error>;
}

/// The right to run one tool once with one input. Only [`walk`] makes it.
#[derive(Debug)]
pub struct Permit {
    tool: String,
    input: ContentHash,
}

/// The permit is for another call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the permit is for another call of {permitted}; this is a bug in ona")]
pub struct WrongPermit {
    permitted: String,
}

impl Permit {
    /// The tool it is for.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Refuses any call but the one it was made for.
    pub fn check(&self, tool: &str, input: &Value) -> Result<(), WrongPermit> {
        if self.tool == tool && self.input == hash(input) {
            return Ok(());
        }
        Err(WrongPermit { permitted: self.tool.clone() })
    }
}

fn hash(input: &Value) -> ContentHash {
    ContentHash::of(input.to_string().as_bytes())
}

/// The result of a walk.
#[derive(Debug)]
pub struct Walked<E> {
    /// The answers of the stages, in their order; the latest if a stage was asked twice.
    pub answers: Vec<Answer>,
    /// How it ended.
    pub end: End<E>,
}

/// How a walk ended.
#[derive(Debug)]
pub enum End<E> {
    /// Every stage was asked, none said no, and every question was answered with yes.
    Permitted(Permit),
    /// This stage said no.
    Denied(StageName),
    /// Every stage was asked and none said no, in a mode that permits nothing.
    Judged,
    /// A stage could not be asked.
    Failed(E),
}

impl<E> Walked<E> {
    /// The answers combined: deny over ask, ask over allow. What a human has allowed is not asked again.
    pub fn verdict(&self) -> Verdict {
        verdict(&self.answers)
    }
}

fn verdict(answers: &[Answer]) -> Verdict {
    let any = |verdict| answers.iter().any(|answer| answer.verdict == verdict);
    let settled = answers
        .iter()
        .any(|answer| answer.stage == StageName::Human && answer.verdict == Verdict::Allow);
    if any(Verdict::Deny) {
        Verdict::Deny
    } else if any(Verdict::Ask) && !settled {
        Verdict::Ask
    } else {
        Verdict::Allow
    }
}

/// Takes a call through the stages, which must be all of [`STAGES`] in their order.
///
/// When a stage replaces the input, the walk starts again at the first stage, and every stage is asked again.
pub async fn walk<C: Judged>(
    stages: [&dyn Stage<C>; STAGES.len()],
    call: &mut C,
    mode: Mode,
) -> Walked<C::Error> {
    assert!(
        stages.iter().map(|stage| stage.name()).eq(STAGES),
        "the stages of the gate are asked in the order of STAGES"
    );
    let mut answers: Vec<Option<Answer>> = vec![None; stages.len()];
    let mut replacements = 0;
    let mut at = 0;
    while let Some(stage) = stages.get(at) {
        let so_far: Vec<Answer> = answers[..at].iter().flatten().cloned().collect();
        let said = match stage.judge(call, &so_far, mode).await {
            Ok(said) => said,
            Err(error) => {
                return Walked { answers: so_far, end: End::Failed(error) };
            }
        };
        let Said { mut answer, replaced } = said;
        if answer.verdict != Verdict::Deny && call.is_interrupted() {
            answer.verdict = Verdict::Deny;
            answer.reason = "interrupted by the user".to_owned();
        }
        if replaced.is_some() && answer.verdict != Verdict::Deny {
            replacements += 1;
            if replacements > MAX_REPLACEMENTS {
                answer.verdict = Verdict::Deny;
                answer.reason =
                    format!("the input was replaced more than {MAX_REPLACEMENTS} times");
            }
        }
        call.hear(&answer);
        let denied = answer.verdict == Verdict::Deny;
        answers[at] = Some(answer);
        if denied && mode != Mode::Explain {
            let answers = answers.into_iter().take(at + 1).flatten().collect();
            return Walked { answers, end: End::Denied(stage.name()) };
        }
        at = match replaced.filter(|_| !denied) {
            Some(input) => {
                call.replace_input(input);
                0
            }
            None => at + 1,
        };
    }
    let answers: Vec<Answer> = answers.into_iter().flatten().collect();
    let denied = answers.iter().find(|answer| answer.verdict == Verdict::Deny);
    let end = match (denied, mode) {
        (Some(answer), _) => End::Denied(answer.stage),
        (None, Mode::Run) if verdict(&answers) == Verdict::Allow => {
            End::Permitted(Permit { tool: call.tool().to_owned(), input: hash(&call.input()) })
        }
        // A question without an answer counts as a no.
        (None, Mode::Run) => End::Denied(StageName::Human),
        (None, Mode::Explain | Mode::Foreign) => End::Judged,
    };
    Walked { answers, end }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// A call whose stages say what a script has them say.
    struct Call {
        input: Value,
        interrupted: bool,
    }

    impl Judged for Call {
        type Error = Infallible;

        fn tool(&self) -> &str {
            "Bash"
        }

        fn input(&self) -> Cow<'_, Value> {
            Cow::Borrowed(&self.input)
        }

        fn replace_input(&mut self, input: Value) {
            self.input = input;
        }

        fn is_interrupted(&self) -> bool {
            self.interrupted
        }

        fn hear(&self, _: &Answer) {}
    }

    /// What a stage says each time it is asked; the last line is said again from then on.
    struct Scripted {
        name: StageName,
        lines: Mutex<Vec<(Verdict, Option<Value>)>>,
        /// The inputs it was asked about.
        heard: Mutex<Vec<Value>>,
    }

    impl Scripted {
        fn new(name: StageName, lines: &[(Verdict, Option<Value>)]) -> Self {
            Self { name, lines: Mutex::new(lines.to_vec()), heard: Mutex::default() }
        }
    }

    impl Stage<Call> for Scripted {
        fn name(&self) -> StageName {
            self.name
        }

        fn judge<'a>(
            &'a self,
            call: &'a mut Call,
            _: &'a [Answer],
            _: Mode,
        ) -> Judging<'a, Infallible> {
            self.heard.lock().unwrap().push(call.input.clone());
            let mut lines = self.lines.lock().unwrap();
            let (verdict, replaced) =
                if lines.len() > 1 { lines.remove(0) } else { lines[0].clone() };
            let answer = Answer::new(self.name, verdict, "as the script says");
            Box::pin(async move { Ok(Said { answer, replaced }) })
        }
    }

    fn run(future: impl Future<Output = Walked<Infallible>>) -> Walked<Infallible> {
        let mut future = Box::pin(future);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(walked) => walked,
            Poll::Pending => panic!("scripted stages answer at once"),
        }
    }

    fn walked(stages: &[Scripted], mode: Mode, interrupted: bool) -> (Walked<Infallible>, Value) {
        let mut call = Call { input: json!({"command": "ls"}), interrupted };
        let list: Vec<&dyn Stage<Call>> =
            stages.iter().map(|stage| stage as &dyn Stage<Call>).collect();
        let walked = run(walk(list.try_into().ok().unwrap(), &mut call, mode));
        (walked, call.input)
    }

    fn scripted(verdicts: &[Verdict]) -> Vec<Scripted> {
        STAGES
            .iter()
            .zip(verdicts)
            .map(|(name, verdict)| Scripted::new(*name, &[(*verdict, None)]))
            .collect()
    }

    #[test]
    fn a_permit_needs_every_stage_and_no_no() {
        use Verdict::{Allow, Ask, Deny, Pass, Silent};
        for (verdicts, permitted) in [
            ([Pass, Pass, Pass, Pass, Allow, Pass, Pass, Pass], true),
            ([Pass, Allow, Pass, Pass, Pass, Pass, Pass, Pass], true),
            ([Pass, Pass, Pass, Pass, Ask, Allow, Pass, Pass], true),
            ([Pass, Pass, Pass, Ask, Allow, Allow, Pass, Pass], true),
            ([Pass, Pass, Pass, Ask, Allow, Pass, Pass, Pass], false),
            ([Pass, Pass, Pass, Pass, Ask, Silent, Pass, Pass], false),
            ([Pass, Ask, Pass, Pass, Allow, Pass, Pass, Pass], false),
            ([Pass, Deny, Pass, Pass, Allow, Allow, Pass, Pass], false),
            ([Pass, Pass, Pass, Pass, Allow, Allow, Pass, Deny], false),
        ] {
            let (walked, _) = walked(&scripted(&verdicts), Mode::Run, false);
            assert_eq!(matches!(walked.end, End::Permitted(_)), permitted, "{verdicts:?}");
        }
    }

    #[test]
    #[should_panic(expected = "in the order of STAGES")]
    fn another_order_is_no_gate() {
        let mut stages = scripted(&[Verdict::Pass; STAGES.len()]);
        stages.swap(1, 2);
        walked(&stages, Mode::Run, false);
    }

    #[test]
    fn a_permit_is_for_one_tool_and_one_input() {
        let (walked, input) = walked(&scripted(&[Verdict::Pass; STAGES.len()]), Mode::Run, false);
        let End::Permitted(permit) = walked.end else { panic!("no permit") };
        assert_eq!(permit.check("Bash", &input), Ok(()));
        assert!(permit.check("Write", &input).is_err());
        assert!(permit.check("Bash", &json!({"command": "rm -rf /"})).is_err());
    }

    #[test]
    fn an_input_that_somebody_replaces_is_judged_by_every_stage() {
        for by in [StageName::Hooks, StageName::Human] {
            let other = json!({"command": "cat"});
            let script = |name: &StageName| match *name == by {
                true => vec![(Verdict::Pass, Some(other.clone())), (Verdict::Pass, None)],
                false => vec![(Verdict::Pass, None)],
            };
            let stages: Vec<Scripted> =
                STAGES.iter().map(|name| Scripted::new(*name, &script(name))).collect();
            let (walked, input) = walked(&stages, Mode::Run, false);
            assert_eq!(input, other);
            for stage in &stages {
                let heard = stage.heard.lock().unwrap();
                let last = heard.last().unwrap();
                assert_eq!(*last, other, "{:?} judges what would run", stage.name);
            }
            let End::Permitted(permit) = walked.end else { panic!("no permit") };
            assert_eq!(permit.check("Bash", &other), Ok(()));
        }
    }

    #[test]
    fn a_no_to_the_replaced_input_counts() {
        let mut stages = scripted(&[Verdict::Pass; STAGES.len()]);
        stages[5] = Scripted::new(
            StageName::Human,
            &[(Verdict::Allow, Some(json!({"command": "rm"}))), (Verdict::Allow, None)],
        );
        stages[4] = Scripted::new(StageName::Rules, &[(Verdict::Ask, None), (Verdict::Deny, None)]);
        let (walked, _) = walked(&stages, Mode::Run, false);
        assert!(matches!(walked.end, End::Denied(StageName::Rules)));
        assert_eq!(walked.answers.len(), 5, "what was said before the no");
    }

    #[test]
    fn an_input_is_not_replaced_for_ever() {
        let mut stages = scripted(&[Verdict::Pass; STAGES.len()]);
        stages[5] = Scripted::new(StageName::Human, &[(Verdict::Allow, Some(json!({})))]);
        let (walked, _) = walked(&stages, Mode::Run, false);
        assert!(matches!(walked.end, End::Denied(StageName::Human)));
    }

    #[test]
    fn an_interrupt_is_a_no_at_the_first_stage_that_answers() {
        let (walked, _) = walked(&scripted(&[Verdict::Allow; STAGES.len()]), Mode::Run, true);
        assert!(matches!(walked.end, End::Denied(StageName::Input)));
    }

    fn any_verdicts() -> impl Strategy<Value = Vec<Verdict>> {
        use Verdict::{Allow, Ask, Deny, Pass, Silent};
        prop::collection::vec(
            prop::sample::select(vec![Pass, Silent, Allow, Ask, Deny]),
            STAGES.len(),
        )
    }

    proptest! {
        #[test]
        fn a_no_is_never_lost(verdicts in any_verdicts()) {
            let (walked, _) = walked(&scripted(&verdicts), Mode::Run, false);
            let permitted = matches!(walked.end, End::Permitted(_));
            prop_assert!(!(permitted && verdicts.contains(&Verdict::Deny)));
            prop_assert_eq!(permitted, walked.verdict() == Verdict::Allow);
        }

        #[test]
        fn explaining_comes_to_what_running_comes_to(verdicts in any_verdicts()) {
            let (run, _) = walked(&scripted(&verdicts), Mode::Run, false);
            let (explained, _) = walked(&scripted(&verdicts), Mode::Explain, false);
            let (foreign, _) = walked(&scripted(&verdicts), Mode::Foreign, false);
            prop_assert_eq!(explained.answers.len(), STAGES.len(), "every stage is heard");
            prop_assert_eq!(explained.verdict(), run.verdict());
            prop_assert_eq!(foreign.verdict(), run.verdict());
            prop_assert!(!matches!(explained.end, End::Permitted(_)));
            prop_assert!(!matches!(foreign.end, End::Permitted(_)));
        }
    }
}
