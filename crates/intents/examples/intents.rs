//! How long the gate, the trace and blame take (S2 §8). `cargo xtask bench` reads the figures.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measure")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ona_effects::{Effects, path};
use ona_intents::file::{INTENTS_FILE, Intents};
use ona_intents::gate::Decision;
use ona_intents::{Asked, Workspace};
use ona_repo::Disk;
use ona_trace::blame::{Target, blame};
use ona_trace::class::Versions;
use ona_trace::entry::LineRange;
use ona_trace::ranges::{modified_ranges, prefixed_hash};
use ona_trace::{Ledger, TraceEntry, mutation};
use ona_types::{ToolKind, WriteAction};

const INTENTS: usize = 1_000;
const ENTRIES: usize = 100_000;
const LINES: usize = 5_000;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir(root.join(".orchestration")).unwrap();
    let mut text = "active_intents:\n".to_owned();
    for n in 0..INTENTS {
        writeln!(
            text,
            "  - id: INT-{n}\n    name: Part {n}\n    status: IN_PROGRESS\n    owned_scope: [\"src/part{n}/**\", \"tests/{{a,b}}{n}*.rs\"]"
        )
        .unwrap();
    }
    fs::write(root.join(INTENTS_FILE), &text).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(10);
    fs::File::options()
        .write(true)
        .open(root.join(INTENTS_FILE))
        .unwrap()
        .set_modified(old)
        .unwrap();
    println!("parse_ms {}", median(21, || drop(Intents::read(&text).unwrap())) * 1e3);
    gate(&root);
    append(&root);
    blamed(&root);
}

/// A write that is in the scope of the last of many intents, which are read already.
fn gate(root: &Path) {
    let workspace = Workspace::at(root).unwrap();
    let selected = format!("INT-{}", INTENTS - 1);
    let target =
        path::Target::of(&Disk, root, format!("src/part{}/deep/a.rs", INTENTS - 1)).unwrap();
    let effects = Effects::replace(target);
    let asked = Asked {
        tool: "Write",
        kind: ToolKind::Write(WriteAction::Write),
        command: None,
        effects: &effects,
        selected: Some(&selected),
        intent_id: None,
        mutation_class: None,
        stale: &[],
    };
    let judged = median(501, || {
        assert!(matches!(workspace.judge(&asked).decision, Decision::Allow(_)));
    });
    println!("gate_us {}", judged * 1e6);
    let content = vec![b'x'; 1 << 20];
    println!("hash_ms {}", median(101, || drop(prefixed_hash(&content))) * 1e3);
}

/// One entry about an edit of a file of usual length, with its symbols.
fn append(root: &Path) {
    let ledger = Ledger::of(root).unwrap();
    let function = |n: usize| format!("fn f{n}(x: u32) -> u32 {{\n    x + {n}\n}}\n\n");
    let before: String = (0..100).map(function).collect();
    let after = before.replace("x + 50", "x * 50");
    let describe = || {
        let mut entry = TraceEntry::new();
        let (old, new) = (Some(before.as_bytes()), Some(after.as_bytes()));
        mutation::describe(&mut entry, &[Versions { path: "src/a.rs", old, new }], None);
        entry
    };
    println!("describe_ms {}", median(101, || drop(describe())) * 1e3);
    let entry = describe();
    println!("append_ms {}", median(1_001, || drop(ledger.append(entry.clone()).unwrap())) * 1e3);
    fs::remove_file(ledger.path()).unwrap();
}

/// A file of 5,000 lines that one in 200 entries of a long trace touches.
fn blamed(root: &Path) {
    let ledger = Ledger::of(root).unwrap();
    let step = 200;
    let mut lines: Vec<String> = (0..LINES).map(|n| format!("    let x{n} = {n};\n")).collect();
    let mut text = Vec::new();
    let version = |n: usize| prefixed_hash(n.to_string().as_bytes());
    for number in 0..ENTRIES {
        let ours = number % step == 0;
        let path =
            if ours { "src/a.rs".to_owned() } else { format!("src/other{}.rs", number % 997) };
        let at = number / step * 7_919 % LINES;
        let line = format!("    call{number}(1);\n");
        let mut entry = TraceEntry::new();
        entry.intent_id = Some("INT-14".into());
        entry.tool_name = "Edit".into();
        entry.timestamp = "2026-05-02T09:14:03.120Z".into();
        entry.seq = Some(number as u64);
        entry.modified_ranges = modified_ranges(&path, Some(b""), Some(line.as_bytes()));
        let range = &mut entry.modified_ranges[0];
        let place = Some(LineRange { start_line: at as u64 + 1, end_line: at as u64 + 1 });
        (range.old_range, range.new_range) = (place, place);
        // Hashes stand in for the content of versions, which nobody looks at here.
        (range.before_hash, range.after_hash) =
            (Some(version(number)), Some(version(number + step)));
        if ours {
            lines[at] = line;
            if number + step >= ENTRIES {
                range.after_hash = Some(prefixed_hash(lines.concat().as_bytes()));
            }
        }
        serde_json::to_writer(&mut text, &entry).unwrap();
        text.push(b'\n');
    }
    fs::write(ledger.path(), &text).unwrap();
    let content = lines.concat().into_bytes();
    let target = Target { path: "src/a.rs", content: &content, earlier_names: &[], commits: None };
    let found = median(7, || assert_eq!(blame(&ledger, &target).unwrap().lines.len(), LINES));
    println!("blame_ms {}", found * 1e3);
}

/// The median time of so many runs, in seconds.
fn median(runs: usize, mut work: impl FnMut()) -> f64 {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[runs / 2].as_secs_f64()
}
