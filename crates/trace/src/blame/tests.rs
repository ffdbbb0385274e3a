//! Blame against histories whose answer is known.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::entry::FileChange;
use crate::ranges::{line_hunks, modified_ranges};

/// A ledger, a file, and who wrote each line of it: an entry's id, or nobody.
struct World {
    _dir: tempfile::TempDir,
    ledger: Ledger,
    path: String,
    content: Option<String>,
    owners: Vec<Option<String>>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        Self { _dir: dir, ledger, path: "src/a b.rs".into(), content: None, owners: Vec::new() }
    }

    fn set(&mut self, new: &str, owner: Option<&String>) {
        let old = self.content.clone().unwrap_or_default();
        let (old_lines, new_lines) = (split_lines(old.as_bytes()), split_lines(new.as_bytes()));
        let mut owners = Vec::new();
        let mut at = 0;
        for hunk in line_hunks(&old_lines, &new_lines) {
            owners.extend_from_slice(&self.owners[at..hunk.old.start]);
            owners.extend(hunk.new.clone().map(|_| owner.cloned()));
            at = hunk.old.end;
        }
        owners.extend_from_slice(&self.owners[at..]);
        self.owners = owners;
        self.content = Some(new.to_owned());
    }

    /// A change by an agent, with its entry.
    fn agent(&mut self, new: &str) -> String {
        let mut entry = TraceEntry::new();
        let old = self.content.as_ref().map(String::as_bytes);
        entry.modified_ranges = modified_ranges(&self.path, old, Some(new.as_bytes()));
        let id = entry.id.clone();
        self.ledger.append(entry).unwrap();
        self.set(new, Some(&id));
        id
    }

    /// A change that no entry tells of.
    fn human(&mut self, new: &str) {
        self.set(new, None);
    }

    fn blame_as(&self, content: &str, earlier_names: &[String]) -> Blame {
        let content = content.as_bytes();
        blame(&self.ledger, &Target { path: &self.path, content, earlier_names, commits: None })
            .unwrap()
    }

    fn blame(&self) -> Blame {
        self.blame_as(self.content.as_deref().unwrap_or_default(), &[])
    }

    fn found(&self) -> Vec<Option<String>> {
        let blame = self.blame();
        blame.lines.iter().map(|line| blame.entry(line).map(|entry| entry.id.clone())).collect()
    }
}

fn why(blame: &Blame, line: usize) -> Unknown {
    match &blame.lines[line].origin {
        Origin::Unknown(why) => why.clone(),
        other => panic!("line {line} is known: {other:?}"),
    }
}

#[test]
fn exact_when_nothing_else_happened() {
    let mut world = World::new();
    world.human("one\ntwo\n}\n}\n");
    let first = world.agent("one\n2\n}\nnew\n}\n");
    let second = world.agent("zero\none\n2\n}\nnew\n");
    assert_eq!(world.found(), [Some(second), None, Some(first.clone()), None, Some(first)]);
    let blame = world.blame();
    assert_eq!(why(&blame, 1), Unknown::BeforeTrace);
    assert_eq!(blame.lines[0].origin, Origin::Entry(1, Certainty::Exact));
}

#[test]
fn shifted_by_edits_above_and_below() {
    let mut world = World::new();
    world.human("fn a() {\n}\n\nfn z() {\n}\n");
    let id = world.agent("fn a() {\n}\n\nfn b() {\n    1\n}\n\nfn z() {\n}\n");
    world.human("// new\n\nfn a() {\n}\n\nfn b() {\n    1\n}\n\nfn z() {\n}\n// end\n");
    let blame = world.blame();
    for line in [5, 6, 7] {
        assert_eq!(blame.entry(&blame.lines[line]).unwrap().id, id, "line {line}");
    }
    assert_eq!(blame.lines[5].origin, Origin::Entry(0, Certainty::Content));
    for line in [0, 2, 3, 9, 11] {
        assert!(blame.entry(&blame.lines[line]).is_none(), "line {line}");
    }
    assert_eq!(why(&blame, 0), Unknown::Outside);
}

#[test]
fn a_brace_on_its_own_is_private_variable() {
    let mut world = World::new();
    world.human("a\n}\n");
    world.agent("a\n}\n}\n");
    world.human("x\na\n}\n}\n");
    assert_eq!(why(&world.blame(), 3), Unknown::Ambiguous);
}

#[test]
fn a_file_that_moved() {
    let mut world = World::new();
    let made = world.agent("one\ntwo\n");
    // The ledger knows the move.
    let hash = Some(prefixed_hash(b"one\ntwo\n"));
    let mut moved = TraceEntry::new();
    moved.file = Some(FileChange {
        relative_path: "lib/b.rs".into(),
        pre_hash: hash.clone(),
        post_hash: hash,
        previous_path: Some(world.path.clone()),
    });
    world.ledger.append(moved).unwrap();
    world.path = "lib/b.rs".into();
    assert_eq!(world.found(), [Some(made.clone()), Some(made.clone())]);
    // Only git knows of the next one.
    let old = std::mem::replace(&mut world.path, "c.rs".into());
    assert_eq!(why(&world.blame(), 0), Unknown::NeverTraced);
    let blame = world.blame_as("zero\none\ntwo\n", &[old]);
    assert_eq!(blame.entry(&blame.lines[1]).unwrap().id, made);
}

#[test]
fn taken_back_to_an_older_version_or_another_branch() {
    let mut world = World::new();
    let first = world.agent("one\ntwo\n");
    world.agent("one\ntwo\nthree\n");
    let blame = world.blame_as("one\ntwo\n", &[]);
    assert!(blame.lines.iter().all(|line| blame.entry(line).unwrap().id == first));
    assert_eq!(blame.lines[0].origin, Origin::Entry(0, Certainty::Exact));
}

#[test]
fn moved_text_and_other_line_ends() {
    let mut world = World::new();
    let one = world.agent("fn a() {\n    first()\n}\n");
    let two = world.agent("fn a() {\n    first()\n}\nfn b() {\n    second()\n}\n");
    let blame =
        world.blame_as("fn b() {\r\n    second()\r\n}\r\nfn a() {\r\n    first()\r\n}\r\n", &[]);
    let owners: Vec<_> =
        blame.lines.iter().map(|line| blame.entry(line).unwrap().id.clone()).collect();
    let (one, two) = (one.as_str(), two.as_str());
    assert_eq!(owners, [two, two, two, one, one, one]);
}

#[test]
fn records_of_other_writers() {
    let world = World::new();
    fs::create_dir_all(world.ledger.path().parent().unwrap()).unwrap();
    let made = prefixed_hash(b"one\ntwo\n");
    let changed = prefixed_hash(b"one\n2\n");
    let s2 = |id: &str, pre: &str, post: &str| {
        format!(
            r#"{{"id":"{id}","intent_id":"I","tool_name":"w","file":{{"relative_path":"src\/a b.rs","pre_hash":{pre},"post_hash":"{post}"}},"success":true}}"#
        )
    };
    // S2: the file was made, so all of it is known; changed without ranges, so nothing is.
    fs::write(world.ledger.path(), s2("made", "null", &made) + "\n").unwrap();
    let blame = world.blame_as("one\ntwo\n", &[]);
    assert_eq!(blame.entry(&blame.lines[1]).unwrap().id, "made");
    let text = fs::read_to_string(world.ledger.path()).unwrap();
    let second = s2("second", &format!("\"{made}\""), &changed);
    fs::write(world.ledger.path(), format!("{text}{second}\n")).unwrap();
    assert_eq!(why(&world.blame_as("one\n2\n", &[]), 0), Unknown::NotLocated("second".into()));
    // S4: bare hashes of segments, no hashes of lines.
    let segment = prefixed_hash(b"three\nfour").replace("sha256:", "");
    let s4 = format!(
        r#"{{"id":"s4","related_requirements":[],"modified_ranges":[{{"file":"src/a b.rs","old_range":{{"start_line":2,"end_line":1}},"new_range":{{"start_line":2,"end_line":3}},"content_hash":"{segment}"}}]}}"#
    );
    fs::write(world.ledger.path(), s4 + "\n").unwrap();
    let blame = world.blame_as("x\ny\nz\nthree\nfour\nend\n", &[]);
    assert_eq!(blame.entry(&blame.lines[3]).unwrap().id, "s4");
    assert_eq!(blame.entry(&blame.lines[4]).unwrap().id, "s4");
    assert_eq!(why(&blame, 5), Unknown::Outside);
}

#[test]
fn nonsense_in_the_ledger_does_no_harm() {
    let world = World::new();
    fs::create_dir_all(world.ledger.path().parent().unwrap()).unwrap();
    let range = |old: &str, new: &str| {
        format!(
            r#"{{"schema":"ona.trace/1","id":"x","success":true,"modified_ranges":[{{"file":"src/a b.rs","old_range":{old},"new_range":{new},"content_hash":"sha256:00","line_hashes":"zz"}}]}}"#
        )
    };
    let most = r#"{"start_line":18446744073709551615,"end_line":18446744073709551615}"#;
    let far = r#"{"start_line":1,"end_line":9007199254740991}"#;
    let back = r#"{"start_line":9,"end_line":2}"#;
    let mut text = String::from("{\"src/a b.rs\":\nsrc/a b.rs\n");
    for (old, new) in [(most, far), (far, most), (back, back), (far, back), (back, far)] {
        text.push_str(&(range(old, new) + "\n"));
    }
    fs::write(world.ledger.path(), text).unwrap();
    let blame = world.blame_as("one\ntwo\n", &[]);
    assert!(blame.lines.iter().all(|line| blame.entry(line).is_none()));
}

#[test]
fn names_that_are_written_in_other_ways() {
    let mut world = World::new();
    world.path = "ä/\"q\" ünd.rs".into();
    let id = world.agent("one\n");
    assert_eq!(world.found(), [Some(id)]);
    world.path = "é".into();
    let id = world.agent("two\n");
    assert_eq!(world.found(), [Some(id)]);
}

/// An edit: where, how many lines go, which come, and whether the ledger tells of it.
type Edit = (prop::sample::Index, usize, Vec<u8>, bool);

fn edits(humans: bool) -> impl Strategy<Value = Vec<Edit>> {
    let lines = prop::collection::vec(0u8..4, 0..4);
    let agent = if humans { any::<bool>().boxed() } else { Just(true).boxed() };
    prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, lines, agent), 1..10)
}

fn play(world: &mut World, edits: Vec<Edit>, mut text: impl FnMut(u8, bool) -> String) {
    for (at, gone, new, agent) in edits {
        let content = world.content.clone().unwrap_or_default();
        let mut lines: Vec<String> = content.split_inclusive('\n').map(str::to_owned).collect();
        let at = at.index(lines.len() + 1);
        let end = (at + gone).min(lines.len());
        lines.splice(at..end, new.into_iter().map(|kind| text(kind, agent)));
        let new = lines.concat();
        if agent {
            world.agent(&new);
        } else {
            world.human(&new);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Few different lines, so that many are alike: only the exact way can tell them apart.
    #[test]
    fn every_line_of_a_traced_history(base in prop::collection::vec(0u8..4, 0..8), edits in edits(false)) {
        let mut world = World::new();
        world.human(&base.iter().map(|kind| format!("{kind}\n")).collect::<String>());
        play(&mut world, edits, |kind, _| format!("{kind}\n"));
        prop_assert_eq!(world.found(), world.owners);
    }

    /// Others edit in between: every line is given to the one who wrote it, and theirs to nobody.
    #[test]
    fn every_line_that_exists_once(base in 0usize..8, edits in edits(true)) {
        let mut world = World::new();
        world.human(&(0..base).map(|n| format!("base {n}\n")).collect::<String>());
        let mut number = 0;
        play(&mut world, edits, |kind, agent| {
            number += 1;
            format!("{} {number} {kind}\n", if agent { "agent" } else { "human" })
        });
        prop_assert_eq!(world.found(), world.owners);
    }

    /// Alike lines, edits in between: what no entry ever wrote is given to none.
    #[test]
    fn nothing_is_made_up(edits in edits(true)) {
        let mut world = World::new();
        world.human("base\n");
        play(&mut world, edits, |kind, agent| {
            if agent { format!("{kind}\n") } else { format!("human {kind}\n") }
        });
        let content = world.content.clone().unwrap();
        for (line, owner) in content.lines().zip(world.found()) {
            prop_assert!(owner.is_none() || line.len() == 1, "{line}");
        }
    }
}

#[test]
fn blocks_are_runs_of_one_origin() {
    let line = |line, origin, commit: Option<&str>| BlamedLine {
        line,
        origin,
        commit: commit.map(str::to_owned),
    };
    let known = Origin::Entry(0, Certainty::Exact);
    let unknown = Origin::Unknown(Unknown::Outside);
    let mut blame = Blame {
        lines: vec![
            line(1, known.clone(), Some("c1")),
            line(2, known.clone(), Some("c2")),
            line(3, unknown.clone(), Some("c1")),
            line(4, unknown.clone(), Some("c2")),
            line(5, unknown, Some("c2")),
            line(6, known, None),
        ],
        entries: Vec::new(),
    };
    let blocks = |blame: &Blame| -> Vec<(u64, u64, Option<String>)> {
        let row =
            |block: &Block<'_>| (block.start_line, block.end_line, block.commit.map(str::to_owned));
        blame.blocks().iter().map(row).collect()
    };
    let commit = |name: &str| Some(name.to_owned());
    assert_eq!(
        blocks(&blame),
        [(1, 2, None), (3, 3, commit("c1")), (4, 5, commit("c2")), (6, 6, None)]
    );
    blame.keep(2..=4);
    assert_eq!(blocks(&blame), [(2, 2, None), (3, 3, commit("c1")), (4, 4, commit("c2"))]);
}
