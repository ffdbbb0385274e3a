//! The ledger under bad input, damage, several writers and `kill -9`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::entry::*;

fn entry(intent: &str, path: &str) -> TraceEntry {
    TraceEntry {
        intent_id: Some(intent.to_owned()),
        tool_name: "Edit".to_owned(),
        file: Some(FileChange { relative_path: path.to_owned(), ..Default::default() }),
        ..TraceEntry::new()
    }
}

#[test]
fn a_trace_without_end_is_an_error_at_once() {
    let (_dir, ledger) = ledger_of(1);
    let file = fs::File::options().write(true).open(ledger.path()).unwrap();
    file.set_len(1 << 40).unwrap();
    let said = [
        ledger.verify().map(drop),
        ledger.entries().map(drop),
        ledger.recent(Some("INT-0"), 5).map(drop),
        ledger.find("x").map(drop),
        ledger.lacks(["x"].into_iter()).map(drop),
        crate::blame::History::read(&ledger, "src/a.rs", &[]).map(drop),
        crate::blame::History::read_many(&ledger, &["src/a.rs"]).map(drop),
    ];
    for (at, said) in said.into_iter().enumerate() {
        assert_eq!(said.unwrap_err().to_string(), "it is larger than 1024 MiB", "{at}");
    }
    // Nobody knows where the chain ends, so nothing is appended either.
    assert!(matches!(ledger.append(entry("INT-1", "a")), Err(AppendError::Io(_))));
    // Within the limit it is read to its end, and what is not a line counts as one bad line.
    file.set_len(256 << 20).unwrap();
    assert_eq!(ledger.entries().unwrap().bad, 1);
    assert!(ledger.verify().unwrap().torn_tail);
}

fn ledger_of(count: usize) -> (tempfile::TempDir, Ledger) {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::of(dir.path()).unwrap();
    for index in 0..count {
        ledger.append(entry(&format!("INT-{}", index % 3), "src/a.rs")).unwrap();
    }
    (dir, ledger)
}

#[test]
fn created_on_first_write_and_chained() {
    let (_dir, ledger) = ledger_of(0);
    assert!(!ledger.path().exists());
    assert_eq!(ledger.verify().unwrap(), Verification::default());
    assert_eq!(ledger.read().unwrap().count(), 0);
    let one = ledger.append(entry("INT-1", "a")).unwrap();
    let two = ledger.append(entry("INT-1", "a")).unwrap();
    assert_eq!((one.seq, two.seq), (1, 2));
    let entries = ledger.recent(None, 9).unwrap().entries;
    assert_eq!(entries, [one.entry.clone(), two.entry.clone()]);
    assert_eq!(entries[0].prev_hash, None);
    assert_eq!(entries[1].prev_hash, Some(one.entry_hash));
    assert!(entries[0].timestamp <= entries[1].timestamp);
    let found = ledger.verify().unwrap();
    assert!(found.is_clean());
    assert_eq!((found.entries, found.head), (2, Some(two.entry_hash)));
    assert_eq!(ledger.find(&entries[1].id).unwrap().unwrap().id, entries[1].id);
}

#[test]
fn the_last_of_an_intent() {
    let (_dir, ledger) = ledger_of(30);
    let recent = ledger.recent(Some("INT-2"), 4).unwrap();
    let seqs: Vec<_> = recent.entries.iter().filter_map(|entry| entry.seq).collect();
    assert_eq!(seqs, [21, 24, 27, 30]);
}

#[test]
fn foreign_lines_and_broken_ones_are_read_around() {
    let (_dir, ledger) = ledger_of(2);
    let mut text = fs::read_to_string(ledger.path()).unwrap();
    text = text.replace('\n', "\r\n");
    text.push_str(
        "{\"id\":\"x\",\"intent_id\":\"INT-0\",\"tool_name\":\"edit\",\"file\":null}\r\n\r\n",
    );
    fs::write(ledger.path(), &text).unwrap();
    ledger.append(entry("INT-0", "b")).unwrap();
    let found = ledger.verify().unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!((found.entries, found.foreign), (3, 1));

    let broken =
        fs::read_to_string(ledger.path()).unwrap().replacen("\r\n", "\r\n{\"broken\":\r\n", 1);
    fs::write(ledger.path(), broken).unwrap();
    let found = ledger.verify().unwrap();
    assert_eq!(found.first_bad.unwrap().line, 2);
    let read: Vec<_> = ledger.read().unwrap().map(Result::unwrap).collect();
    assert_eq!(read.iter().filter(|line| line.entry.is_err()).count(), 1);
    assert_eq!(read.iter().filter(|line| line.entry.is_ok()).count(), 4);
    assert_eq!(ledger.recent(Some("INT-0"), 20).unwrap().bad, 1);
}

#[test]
fn a_torn_line_is_ended_and_noted() {
    let (_dir, ledger) = ledger_of(2);
    let cut = fs::read(ledger.path()).unwrap().len() - 40;
    fs::OpenOptions::new().write(true).open(ledger.path()).unwrap().set_len(cut as u64).unwrap();
    let torn = ledger.verify().unwrap();
    assert!(torn.is_clean() && torn.torn_tail);
    let appended = ledger.append(entry("INT-9", "c")).unwrap();
    assert_eq!((appended.seq, appended.repaired), (2, 1));
    let found = ledger.verify().unwrap();
    assert!(found.is_clean() && !found.torn_tail, "{found:?}");
    assert_eq!((found.entries, found.torn), (2, 1));

    // What was noted cannot be changed any more.
    let text = fs::read_to_string(ledger.path()).unwrap().replacen("INT-1", "INT-7", 1);
    fs::write(ledger.path(), text).unwrap();
    assert_eq!(ledger.verify().unwrap().first_bad.unwrap().line, 2);
}

#[test]
fn a_whole_record_without_an_end_is_kept() {
    let (_dir, ledger) = ledger_of(2);
    let mut bytes = fs::read(ledger.path()).unwrap();
    bytes.pop();
    fs::write(ledger.path(), bytes).unwrap();
    assert_eq!(ledger.append(entry("INT-9", "c")).unwrap().seq, 3);
    let found = ledger.verify().unwrap();
    assert!(found.is_clean());
    assert_eq!((found.entries, found.torn), (3, 0));
}

#[test]
fn a_line_taken_out_or_moved_is_named() {
    let (_dir, ledger) = ledger_of(5);
    let text = fs::read_to_string(ledger.path()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut without = lines.clone();
    without.remove(2);
    fs::write(ledger.path(), without.join("\n") + "\n").unwrap();
    let found = ledger.verify().unwrap().first_bad.unwrap();
    assert_eq!(found.line, 3);
    assert!(found.why.contains("missing"), "{}", found.why);
    let mut moved = lines.clone();
    moved.swap(1, 2);
    fs::write(ledger.path(), moved.join("\n") + "\n").unwrap();
    assert_eq!(ledger.verify().unwrap().first_bad.unwrap().line, 2);
    // The beginning cut off: the first line that is left names one that is not there.
    fs::write(ledger.path(), lines[1..].join("\n") + "\n").unwrap();
    assert_eq!(ledger.verify().unwrap().first_bad.unwrap().line, 1);
}

#[test]
fn two_merged_branches_are_a_fork_and_not_damage() {
    let (_dir, ledger) = ledger_of(2);
    let base = fs::read_to_string(ledger.path()).unwrap();
    ledger.append(entry("INT-A", "a")).unwrap();
    let ours = fs::read_to_string(ledger.path()).unwrap();
    fs::write(ledger.path(), &base).unwrap();
    ledger.append(entry("INT-B", "b")).unwrap();
    let theirs = fs::read_to_string(ledger.path()).unwrap();
    fs::write(ledger.path(), format!("{ours}{}", &theirs[base.len()..])).unwrap();
    ledger.append(entry("INT-C", "c")).unwrap();
    let found = ledger.verify().unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!((found.entries, found.forks), (5, vec![4]));
}

#[test]
fn two_branches_that_each_began_a_trace_are_two_roots() {
    let (_dir, ledger) = ledger_of(2);
    let ours = fs::read_to_string(ledger.path()).unwrap();
    fs::remove_file(ledger.path()).unwrap();
    for path in ["a", "b", "c"] {
        ledger.append(entry("INT-B", path)).unwrap();
    }
    let theirs = fs::read_to_string(ledger.path()).unwrap();
    fs::write(ledger.path(), format!("{ours}{theirs}")).unwrap();
    ledger.append(entry("INT-C", "c")).unwrap();
    let found = ledger.verify().unwrap();
    assert!(found.is_clean(), "{found:?}");
    assert_eq!((found.entries, found.forks, found.roots), (6, vec![3], vec![3]));

    // Within each chain nothing may be missing, changed, moved or there twice.
    let whole = fs::read_to_string(ledger.path()).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let changed = lines[2].replacen("INT-B", "INT-X", 1);
    for (bad, line, why) in [
        ([&lines[..2], &lines[3..]].concat(), 3, "missing"),
        ([&lines[..3], &lines[4..]].concat(), 4, "missing"),
        ([&lines[1..], &lines[..1]].concat(), 1, "missing"),
        ([&lines[..2], &[lines[3], lines[2]], &lines[4..]].concat(), 3, "missing"),
        ([&lines[..2], &[&changed[..]], &lines[3..]].concat(), 3, "its content"),
        ([&lines[..], &lines[..1]].concat(), 7, "repeats an earlier line"),
    ] {
        fs::write(ledger.path(), bad.join("\n") + "\n").unwrap();
        let found = ledger.verify().unwrap().first_bad.unwrap();
        assert_eq!(found.line, line, "{}", found.why);
        assert!(found.why.contains(why), "{}", found.why);
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "another program holds the lock")]
fn a_held_lock_is_a_gap_and_soon() {
    let (_dir, ledger) = ledger_of(1);
    let lock = fs::File::open(ledger.path().with_file_name("agent_trace.lock")).unwrap();
    lock.lock().unwrap();
    let started = Instant::now();
    assert!(matches!(ledger.append(entry("INT-1", "a")), Err(AppendError::Held)));
    assert!(started.elapsed() >= Duration::from_millis(100));
    assert!(started.elapsed() < Duration::from_secs(5));
    lock.unlock().unwrap();
    assert_eq!(ledger.append(entry("INT-1", "a")).unwrap().seq, 2);
}

#[test]
fn a_ledger_that_leads_out_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".orchestration")).unwrap();
    symlink(outside.path().join("x"), dir.path().join(LEDGER_PATH)).unwrap();
    assert!(matches!(Ledger::of(dir.path()), Err(UnsafePath::Outside { .. })));

    let dir = tempfile::tempdir().unwrap();
    symlink(outside.path(), dir.path().join(".orchestration")).unwrap();
    assert!(matches!(Ledger::of(dir.path()), Err(UnsafePath::Outside { .. })));

    // A directory that stays inside is the user's choice.
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("kept")).unwrap();
    symlink("kept", dir.path().join(".orchestration")).unwrap();
    Ledger::of(dir.path()).unwrap().append(entry("INT-1", "a")).unwrap();
    assert!(dir.path().join("kept/agent_trace.jsonl").is_file());
}

#[test]
fn nothing_is_appended_to_a_file_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("a.rs");
    fs::write(&source, "fn f() {}\n").unwrap();
    fs::create_dir(dir.path().join(".orchestration")).unwrap();
    let before = Ledger::of(dir.path()).unwrap();
    symlink("../a.rs", dir.path().join(LEDGER_PATH)).unwrap();
    assert!(matches!(Ledger::of(dir.path()), Err(UnsafePath::Link { .. })));
    // Nor through one that came after the ledger was found.
    assert!(matches!(before.append(entry("INT-1", "a")), Err(AppendError::Open(_))));
    assert_eq!(fs::read_to_string(&source).unwrap(), "fn f() {}\n");
    // One that leads nowhere makes no file either.
    fs::remove_file(dir.path().join(LEDGER_PATH)).unwrap();
    symlink("../b.rs", dir.path().join(LEDGER_PATH)).unwrap();
    assert!(matches!(Ledger::of(dir.path()), Err(UnsafePath::Link { .. })));
}

#[test]
fn an_entry_that_is_too_long_loses_details_and_says_so() {
    let (_dir, ledger) = ledger_of(1);
    let mut entry = entry("INT-1", "a");
    entry.error = Some("ä".repeat(3 << 20));
    let range = ModifiedRange {
        file: "a".repeat(1_000),
        line_hashes: Some("0".repeat(1_000)),
        ..ModifiedRange::default()
    };
    entry.modified_ranges = vec![range; 9_000];
    ledger.append(entry).unwrap();
    let found = ledger.verify().unwrap();
    assert!(found.is_clean(), "{found:?}");
    let kept = ledger.recent(None, 1).unwrap().entries.remove(0);
    assert_eq!(kept.warnings, [DETAILS_DROPPED, RANGES_CUT]);
    assert_eq!(kept.modified_ranges.len(), 1_000);
    assert!(fs::metadata(ledger.path()).unwrap().len() < 4 << 20);
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(LEDGER_PATH)).unwrap();
    assert!(Ledger::of(dir.path()).unwrap().append(entry("INT-1", "a")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_changed_byte_is_found(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        thread_local! { static LEDGER: (tempfile::TempDir, Ledger, Vec<u8>) = {
            let (dir, ledger) = ledger_of(4);
            let bytes = fs::read(ledger.path()).unwrap();
            (dir, ledger, bytes)
        } }
        LEDGER.with(|(_dir, ledger, bytes)| {
            let mut changed = bytes.clone();
            let at = at.index(changed.len());
            prop_assume!(changed[at] != byte);
            changed[at] = byte;
            // A line end before a line end says nothing.
            prop_assume!(!(byte == b'\r' && changed.get(at + 1) == Some(&b'\n')));
            fs::write(ledger.path(), &changed).unwrap();
            let found = ledger.verify().unwrap();
            prop_assert!(!found.is_clean() || found.torn_tail, "byte {at} became {byte}: {found:?}");
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn killed_at_any_byte_and_more_than_once(cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
        let (_dir, ledger) = ledger_of(2);
        let mut whole = fs::metadata(ledger.path()).unwrap().len();
        for cut in cuts {
            ledger.append(entry("INT-1", "cut")).unwrap();
            let end = fs::metadata(ledger.path()).unwrap().len();
            // Some of the last write is there, at least its first byte.
            let kept = whole + 1 + cut.index(usize::try_from(end - whole).unwrap()) as u64;
            fs::OpenOptions::new().write(true).open(ledger.path()).unwrap().set_len(kept).unwrap();
            whole = kept;
        }
        ledger.append(entry("INT-1", "after")).unwrap();
        let found = ledger.verify().unwrap();
        prop_assert!(found.is_clean() && !found.torn_tail, "{found:?}");
    }
}

/// Where a child of the test below writes, and how much.
const DIR: &str = "ONA_TEST_TRACE_DIR";
const APPENDS: &str = "ONA_TEST_TRACE_APPENDS";

#[expect(clippy::disallowed_methods, reason = "a test that starts itself tells itself so")]
fn given(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test of its own: what the children of the next one do.
#[test]
fn a_writer_among_others() {
    let Some(dir) = given(DIR) else { return };
    let ledger = Ledger::of(Path::new(&dir)).unwrap();
    let appends: usize = given(APPENDS).unwrap().parse().unwrap();
    let mut done = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(Path::new(&dir).join(format!("done-{}", std::process::id())))
        .unwrap();
    for index in 0..appends {
        let mut entry = entry("INT-1", "src/a.rs");
        // Of very different lengths, some far beyond a page.
        entry.error = Some("x".repeat(index * 7919 % 6_000));
        let id = entry.id.clone();
        // A gap is the caller's to deal with; this one is stubborn.
        while ledger.append(entry.clone()).is_err() {}
        writeln!(done, "{id}").unwrap();
    }
}

/// Eight writers of a thousand entries each, some of them killed at random.
#[test]
#[expect(clippy::disallowed_methods, reason = "children that are killed are the point")]
fn eight_writers_and_kill_9() {
    if given(DIR).is_some() {
        return;
    }
    let appends = "1000";
    let dir = tempfile::tempdir().unwrap();
    let start = || {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["ledger::tests::a_writer_among_others", "--exact"])
            .env(DIR, dir.path())
            .env(APPENDS, appends)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut seed = 0x2545_F491_4F6C_DD1D_u64 ^ u64::from(std::process::id());
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut writers: Vec<_> = (0..8).map(|_| start()).collect();
    // Every second writer is killed somewhere on its way, and another takes its place.
    for victim in [1, 3, 5, 7] {
        std::thread::sleep(Duration::from_millis(20 + random(120)));
        writers[victim].kill().unwrap();
        writers[victim].wait().unwrap();
        writers[victim] = start();
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let ledger = Ledger::of(dir.path()).unwrap();
    ledger.append(entry("INT-1", "last")).unwrap();
    let found = ledger.verify().unwrap();
    assert!(found.is_clean() && !found.torn_tail, "{found:?}");
    assert!(found.forks.is_empty());
    let written: std::collections::HashSet<String> = ledger
        .read()
        .unwrap()
        .filter_map(|line| line.unwrap().entry.ok())
        .map(|(_, entry)| entry.id)
        .collect();
    let mut reported = 0;
    for file in fs::read_dir(dir.path()).unwrap().map(Result::unwrap) {
        if file.file_name().to_string_lossy().starts_with("done-") {
            for id in fs::read_to_string(file.path()).unwrap().lines().filter(|id| id.len() == 36) {
                reported += 1;
                assert!(written.contains(id), "an entry reported as written is gone: {id}");
            }
        }
    }
    assert!(reported >= 8 * appends.parse::<usize>().unwrap());
    assert_eq!(found.entries as usize, written.len());
}
