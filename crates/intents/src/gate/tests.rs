use proptest::prelude::*;

use super::*;
use crate::ignore::IGNORE_FILES;
use ona_repo::Disk;

const ROOT: &str = "/no/such/work";

const FILE: &str = "\
- {id: INT-1, status: IN_PROGRESS, owned_scope: ['src/**', '!src/gen/**']}
- {id: INT-2, status: COMPLETED, owned_scope: ['**']}
- {id: INT-3, status: BLOCKED, owned_scope: ['**']}
- {id: INT-4, status: PLANNED, owned_scope: ['docs/**', .orchestration/active_intents.yaml]}
- {id: INT-5, owned_scope: ['src/**.ts']}
- {id: INT-6, status: ABANDONED}
- {id: INT-7, status: SHELVED, owned_scope: ['**']}
- {id: INT-8, owned_scope: ['**']}
- {id: INT-9, owned_scope: ['**']}
- {id: INT-9}
";

/// A call under way, to be changed here and there.
struct Case {
    intents: Result<Intents, LoadError>,
    ignore: Ignore,
    policy: HookPolicy,
    selected: Option<&'static str>,
    class: CallClass,
    targets: Vec<Target>,
    unsure: Option<&'static str>,
    elsewhere: Elsewhere,
    metadata: (Option<&'static str>, Option<&'static str>),
    stale: Vec<PathBuf>,
}

fn target(path: &str) -> Target {
    Target::of(&Disk, Path::new(ROOT), path).unwrap()
}

fn case(selected: &'static str, path: &str) -> Case {
    Case {
        intents: Intents::read(FILE).map_err(LoadError::from),
        ignore: Ignore::default(),
        policy: HookPolicy::default(),
        selected: Some(selected),
        class: CallClass::Write,
        targets: vec![target(path)],
        unsure: None,
        elsewhere: Elsewhere::default(),
        metadata: (None, None),
        stale: Vec::new(),
    }
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn judge(&self) -> Decision {
        judge(&Request {
            root: Path::new(ROOT),
            intents: self.intents.as_ref(),
            ignore: &self.ignore,
            policy: &self.policy,
            selected: self.selected,
            class: self.class.clone(),
            targets: match self.unsure {
                None => Targets::Known(&self.targets),
                Some(why) => Targets::Partly(&self.targets, why),
            },
            elsewhere: &self.elsewhere,
            intent_id: self.metadata.0,
            mutation_class: self.metadata.1,
            stale: &self.stale,
        })
    }

    fn refused(&self) -> &'static str {
        match self.judge() {
            Decision::Refuse(refusal) => refusal.kind(),
            other => panic!("{other:?}"),
        }
    }

    fn allowed(&self) -> Allowed {
        match self.judge() {
            Decision::Allow(allowed) => allowed,
            other => panic!("{other:?}"),
        }
    }
}

fn destructive() -> CallClass {
    CallClass::Classified(Classified { class: Class::Destructive, reason: "it may write".into() })
}

fn ignoring(text: &str) -> Ignore {
    let mut ignore = Ignore::default();
    ignore.read(IGNORE_FILES[0], text);
    ignore
}

#[test]
fn a_write_in_scope_passes_and_names_what_to_hash() {
    let allowed = case("INT-1", "src/a/../b.rs").allowed();
    assert_eq!(allowed.intent.as_deref(), Some("INT-1"));
    assert_eq!(allowed.scope(), ScopeValidation::Pass);
    assert_eq!(allowed.files[0].path, "src/b.rs");
    assert_eq!(allowed.files[0].pattern, "src/**");
    assert_eq!(allowed.files[0].real, Path::new(ROOT).join("src/b.rs"));
    assert_eq!(allowed.approval, None);
    assert_eq!(case("INT-4", "docs/x.md").allowed().intent.as_deref(), Some("INT-4"), "planned");
    assert_eq!(case("INT-8", "x").allowed().intent.as_deref(), Some("INT-8"), "without a status");
}

#[test]
fn each_step_refuses_in_its_own_words() {
    for (case, expected) in [
        (case("INT-1", "src/a").with(|case| case.selected = None), "intent_required"),
        (case("", "src/a"), "intent_required"),
        (case("INT-99", "src/a"), "invalid_intent"),
        (case("INT-9", "src/a"), "invalid_intent"),
        (case("INT-2", "src/a"), "intent_inactive"),
        (case("INT-3", "src/a"), "intent_inactive"),
        (case("INT-6", "src/a"), "intent_inactive"),
        (case("INT-7", "src/a"), "intent_inactive"),
        (case("INT-1", "src/a").with(|case| case.ignore = ignoring("INT-1")), "intent_blocked"),
        (case("INT-1", "src/a").with(|case| case.ignore = ignoring("src/**")), "path_blocked"),
        (case("INT-1", "src/a").with(|case| case.metadata.0 = Some("INT-4")), "intent_mismatch"),
        (
            case("INT-1", "src/a").with(|case| case.metadata.1 = Some("CHANGE")),
            "missing_mutation_class",
        ),
        (case("INT-1", "lib/a"), "scope_violation"),
        (case("INT-1", "src/gen/a"), "scope_violation"),
        (case("INT-1", "../a"), "scope_violation"),
        (case("INT-1", "/etc/passwd"), "scope_violation"),
        (case("INT-8", "."), "scope_violation"),
        (case("INT-1", ".orchestration/active_intents.yaml"), "scope_violation"),
        (case("INT-5", "src/a.ts"), "scope_validation_failed"),
        (case("INT-1", "src/a").with(|case| case.targets.clear()), "scope_validation_failed"),
        (
            case("INT-1", "src/a").with(|case| case.unsure = Some("patch")),
            "scope_validation_failed",
        ),
        (case("INT-1", "src/a").with(|case| case.targets.push(target("lib/a"))), "scope_violation"),
        (
            case("INT-1", "src/a").with(|case| case.stale.push(Path::new(ROOT).join("src/a"))),
            "stale_file",
        ),
    ] {
        assert_eq!(case.refused(), expected, "{:?} {:?}", case.selected, case.targets);
    }
    assert!(case("INT-4", ".orchestration/active_intents.yaml").allowed().intent.is_some());
}

#[test]
fn an_id_that_is_there_twice_is_not_offered() {
    let Decision::Refuse(refusal) = case("INT-9", "src/a").judge() else {
        panic!("it is nobody's")
    };
    let error = refusal.to_json();
    assert_eq!(error["available_intents"], serde_json::json!(["INT-1", "INT-4", "INT-5", "INT-8"]));
    assert!(error["hint"].as_str().unwrap().contains("`ona intent lint`"), "{error}");
    let Decision::Refuse(unknown) = case("INT-99", "src/a").judge() else { panic!("no such") };
    assert!(unknown.hint().contains("Select one of"), "{}", unknown.hint());
}

#[test]
fn the_trace_is_private_variable_to_write() {
    for path in [LEDGER_PATH, "src/../.orchestration/agent_trace.jsonl", ".orchestration"] {
        for class in [CallClass::Write, destructive()] {
            let Decision::Refuse(refusal) =
                case("INT-8", path).with(|case| case.class = class.clone()).judge()
            else {
                panic!("{path}: {class:?}")
            };
            let file = if path == ".orchestration" { path } else { LEDGER_PATH };
            let entry = "ona itself: the trace is only ever appended to".to_owned();
            assert_eq!(refusal, Refusal::PathBlocked { file: file.to_owned(), entry });
            assert!(!refusal.hint().contains("the list"), "{}", refusal.hint());
        }
    }
    for path in [".orchestration/agent_trace.jsonl.bak", ".orchestration/notes.md", "agent_trace"] {
        case("INT-8", path).allowed();
    }
}

#[test]
fn the_steps_come_in_order() {
    // Everything is wrong at once; each correction shows the next step.
    let mut all = case("INT-2", "lib/a").with(|case| {
        case.selected = None;
        case.ignore = ignoring("INT-1\nsrc/secret");
        case.metadata = (Some("INT-9"), Some("x"));
        case.stale.push(Path::new(ROOT).join("src/a"));
    });
    assert_eq!(all.refused(), "intent_required");
    all.selected = Some("INT-99");
    assert_eq!(all.refused(), "invalid_intent");
    all.selected = Some("INT-2");
    assert_eq!(all.refused(), "intent_inactive");
    all.selected = Some("INT-1");
    assert_eq!(all.refused(), "intent_blocked");
    all.ignore = ignoring("src/secret");
    assert_eq!(all.refused(), "intent_mismatch");
    all.metadata.0 = Some("INT-1");
    assert_eq!(all.refused(), "missing_mutation_class");
    all.metadata.1 = Some("BUG_FIX");
    assert_eq!(all.refused(), "scope_violation");
    all.targets = vec![target("src/secret")];
    assert_eq!(all.refused(), "path_blocked");
    all.targets = vec![target("src/a")];
    assert_eq!(all.refused(), "stale_file");
    all.stale.clear();
    assert_eq!(all.allowed().scope(), ScopeValidation::Pass);
}

#[test]
fn reading_and_the_handshake_need_nothing() {
    let safe = CallClass::Classified(Classified { class: Class::Safe, reason: String::new() });
    for class in [CallClass::Read, CallClass::Exempt, safe] {
        let allowed = case("INT-1", "/etc/passwd")
            .with(|case| {
                case.class = class;
                case.selected = None;
                case.intents = Err(LoadError::NotAFile);
                case.policy.failure_mode = FailureMode::Closed;
            })
            .allowed();
        assert_eq!(allowed, Allowed::default());
        assert_eq!(allowed.scope(), ScopeValidation::Exempt);
    }
}

#[test]
fn destructive_calls_need_an_intent_and_a_human() {
    let command = |selected| {
        case("INT-1", "src/a").with(|case| {
            case.class = destructive();
            case.selected = selected;
        })
    };
    assert_eq!(command(None).refused(), "intent_required");
    assert_eq!(command(Some("INT-1")).allowed().approval.as_deref(), Some("it may write"));
    assert_eq!(command(Some("INT-4")).refused(), "scope_violation");
    let unsure = command(Some("INT-1")).with(|case| case.unsure = Some("a script runs")).allowed();
    assert_eq!(unsure.unknown.as_deref(), Some("a script runs"));
    let none = command(Some("INT-1")).with(|case| case.targets.clear()).allowed();
    assert_eq!(none.scope(), ScopeValidation::Exempt);
}

#[test]
fn metadata_is_wanted_where_the_policy_says_so() {
    let strict = || {
        case("INT-1", "src/a").with(|case| {
            case.policy = HookPolicy::read(
                "write_metadata: required\nmutation_classes: [AST_REFACTOR, INTENT_EVOLUTION]\n",
            );
        })
    };
    assert_eq!(strict().refused(), "missing_intent_metadata");
    assert_eq!(
        strict().with(|case| case.metadata.0 = Some("INT-1")).refused(),
        "missing_mutation_class"
    );
    let bug = strict().with(|case| case.metadata = (Some("INT-1"), Some("BUG_FIX")));
    assert_eq!(bug.refused(), "missing_mutation_class", "narrowed to S4's two");
    strict().with(|case| case.metadata = (Some("INT-1"), Some("AST_REFACTOR"))).allowed();
    strict().with(|case| case.class = destructive()).allowed();
}

#[test]
fn a_gate_that_cannot_judge_does_what_the_policy_says() {
    for (error, kind) in
        [(LoadError::Missing, "missing_intents"), (LoadError::TooLarge(9), "intent_parse_failed")]
    {
        let broken = case("INT-1", "src/a").with(|case| case.intents = Err(error));
        assert!(matches!(broken.judge(), Decision::Degraded(refusal) if refusal.kind() == kind));
        let closed = broken.with(|case| case.policy.failure_mode = FailureMode::Closed);
        assert_eq!(closed.refused(), kind);
    }
    let ignore = case("INT-1", "src/a").with(|case| {
        case.ignore = ignoring("+(a|b)");
        case.policy.failure_mode = FailureMode::Closed;
    });
    assert_eq!(ignore.refused(), "scope_validation_failed");
}

#[test]
fn what_may_be_written_elsewhere_goes_by_the_failure_mode() {
    let mut call = case("INT-1", "src/a").with(|case| {
        case.class = destructive();
        case.elsewhere.unseen = vec!["`make` runs in /else".to_owned()];
    });
    call.policy.failure_mode = FailureMode::Closed;
    assert_eq!(call.allowed().unseen.len(), 1, "nobody has seen it write");
    call.elsewhere.possible = Some("it may write /else/f".to_owned());
    assert_eq!(call.refused(), "scope_validation_failed");
    call.policy.failure_mode = FailureMode::Open;
    assert_eq!(call.allowed().unseen, ["it may write /else/f", "`make` runs in /else"]);
}

proptest! {
    #[test]
    fn nothing_outside_the_scope_is_ever_allowed(path in "(\\.\\./|src/|gen/|\\./|/|docs/){0,5}[ab.]{1,2}") {
        let case = case("INT-1", &path);
        let inside = Path::new(ROOT).join("src");
        let generated = inside.join("gen");
        let real = &case.targets[0].real;
        match case.judge() {
            Decision::Allow(_) => prop_assert!(real.starts_with(&inside) && *real != inside && (!real.starts_with(&generated) || *real == generated)),
            Decision::Refuse(refusal) => prop_assert_eq!(refusal.kind(), "scope_violation"),
            other @ Decision::Degraded(_) => return Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }
}
