//! Killed at any moment, ona loses nothing it has shown as done.

use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use ona_testkit::{Project, parse_report, run};
use serde_json::{Value, json};

use crate::gate::{governed, pre};
use crate::project;

const WORKERS: usize = 4;
const KILLS_EACH: usize = 50;

/// A little generator of our own: the moments differ, the run does not.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// Starts writes one after another and kills most of them at some moment; returns what was
/// acknowledged: id, file, content.
fn stream(project: &Project, worker: usize) -> Vec<(String, String, String)> {
    let mut dice = Dice(0x9e37_79b9 + worker as u64);
    let mut acknowledged = Vec::new();
    let mut kills = 0;
    // How long a call takes here and now: the moments are spread over all of it.
    let mut lifetime = Duration::from_millis(20);
    for n in 0.. {
        if kills == KILLS_EACH {
            break;
        }
        // Every third file is written twice: the second time over the first.
        let file = format!("w{worker}/{}.txt", n - n % 3 / 2);
        let content = format!("worker {worker} write {n}\n");
        let input = json!({"file_path": file, "content": content});
        let started = Instant::now();
        let mut child =
            project.eval_command("Write", &input).stdout(Stdio::piped()).spawn().unwrap();
        let spared = n % 5 == 0;
        if !spared {
            thread::sleep(lifetime.mul_f64(dice.roll(1100) as f64 / 1000.0));
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        if spared {
            lifetime = started.elapsed();
        }
        if output.status.code().is_none() {
            kills += 1;
        }
        if let Some(report) = parse_report(&String::from_utf8(output.stdout).unwrap())
            && !report.is_error
        {
            acknowledged.push((report.tool_use_id, file, content));
        }
    }
    acknowledged
}

#[test]
fn two_hundred_kills_lose_nothing_that_was_acknowledged() {
    let project = project();
    let acknowledged: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                scope.spawn({
                    let p = &project;
                    move || stream(p, worker)
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(acknowledged.len() >= WORKERS * 10, "only {} got through", acknowledged.len());

    // Nothing acknowledged is missing from the record.
    let results: HashSet<String> = project
        .sql(
            "SELECT tool_use_id FROM transcript_entries WHERE entry_type = 'tool_result'
              AND payload_json LIKE '%\"is_error\":false%'",
        )
        .into_iter()
        .collect();
    for (id, file, _) in &acknowledged {
        assert!(results.contains(id), "{id} ({file}) was acknowledged and is not on the record");
    }
    // Every file is whole: what somebody wrote, all of it.
    for worker in 0..WORKERS {
        for entry in fs::read_dir(project.path(&format!("w{worker}"))).unwrap() {
            let path = entry.unwrap().path();
            let content = fs::read_to_string(&path).unwrap();
            let whole =
                content.starts_with(&format!("worker {worker} write ")) && content.ends_with('\n');
            // A name of its own exists only for the blink of a rename, and holds whole content too.
            assert!(
                whole || path.to_string_lossy().contains(".ona-"),
                "{}: {content:?}",
                path.display()
            );
        }
    }
    for (_, file, _) in &acknowledged {
        assert!(project.path(file).exists(), "{file} was acknowledged and is not there");
    }

    // The record is sound, and every interrupted call shows as such.
    let doctor = |project: &Project| -> Value {
        let ran = run(&mut project.ona(["doctor", "--json"]));
        assert_eq!(ran.code, Some(0), "{}", ran.stdout);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let open: usize = project.sql("SELECT count(*) FROM running_calls")[0].parse().unwrap();
    let started: usize = project
        .sql("SELECT count(*) FROM events WHERE event_type = 'tool.started'")[0]
        .parse()
        .unwrap();
    let ended: usize = project.sql(
        "SELECT count(*) FROM events WHERE event_type IN ('tool.finished', 'tool.interrupted')",
    )[0]
    .parse()
    .unwrap();
    assert_eq!(started, ended + open, "every call has ended or is known to be open");
    let interrupted =
        project.sql("SELECT count(*) FROM events WHERE event_type = 'tool.interrupted'");
    assert_ne!(interrupted, ["0"], "kills hit calls in the middle");
    let findings = doctor(&project);
    if open > 0 {
        let calls: Vec<&Value> = findings["findings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|f| f["check"] == "calls")
            .collect();
        assert!(calls[0]["message"].as_str().unwrap().contains("interrupted"), "{findings}");
    }

    // The next call settles them, and the transcript is whole: every use has its result.
    project.ok("Bash", json!({"command": "true"}));
    assert!(project.sql("SELECT * FROM running_calls").is_empty());
    assert_eq!(doctor(&project)["level"], "ok");
    let unpaired = project.sql(
        "SELECT count(*) FROM transcript_entries u WHERE entry_type = 'tool_use' AND 1 <>
         (SELECT count(*) FROM transcript_entries r
          WHERE r.entry_type = 'tool_result' AND r.tool_use_id = u.tool_use_id)",
    );
    assert_eq!(unpaired, ["0"]);
}

#[test]
fn a_call_that_was_killed_is_settled_as_interrupted() {
    let project = project();
    project.ok("Bash", json!({"command": "mkfifo ready"}));
    let mut child = project
        .eval_command("Bash", &json!({"command": "echo > ready; sleep 60"}))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    fs::read(project.path("ready")).unwrap();
    let shown = run(&mut project.ona(["doctor"])).stdout;
    assert!(shown.contains("ok    calls        running: toolu_"), "{shown}");
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = run(&mut project.ona(["doctor"])).stdout;
    assert!(shown.contains("warn  calls        1 interrupted: toolu_"), "{shown}");
    project.ok("Bash", json!({"command": "true"}));
    let contents = project.sql(
        "SELECT json_extract(payload_json, '$.content') FROM transcript_entries
         WHERE entry_type = 'tool_result' ORDER BY sequence",
    );
    assert!(contents[1].starts_with("[SDLC_INTERNAL] interrupted: ona ended"), "{contents:?}");
}

#[test]
fn a_hook_that_outlives_ona_is_ended_by_the_next_call() {
    // In a session of its own, so that it is nobody's child any more once ona is dead.
    let endless = "setsid sh -c 'echo $$ > pid; echo > ready; sleep 60' & wait";
    let armed = format!("[ -e armed ] || exit 0; rm armed; {endless}");
    for event in ["PreToolUse", "PostToolUse"] {
        let project = governed(&json!({"hooks": {event: [pre("Bash", &armed)]}}));
        project.ok("Bash", json!({"command": "mkfifo ready; touch kept"}));
        project.file("armed", "");
        let mut child = project
            .eval_command("Bash", &json!({"command": "true"}))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        fs::read(project.path("ready")).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let lives = || {
            let stat = format!("/proc/{}/stat", project.content("pid").trim());
            fs::read_to_string(stat).is_ok_and(|stat| !stat.contains(") Z "))
        };
        assert!(lives(), "{event}: it goes on without ona");
        project.ok("Bash", json!({"command": "true"}));
        assert!(!lives(), "{event}: the next call ends it");
    }
}
