//! Killed at any moment, ona loses nothing it has shown as done.

use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use ona_provider::scripted::{Reply, Script, Server};
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

/// A model that asks for one line after another to be written, and counts what it has asked for.
fn counting_model(calls: usize) -> Server {
    Server::start(Script::choose(move |request| {
        let asked = request.body["messages"].to_string().matches("\"type\":\"tool_use\"").count();
        if asked == calls {
            return Reply::say("all done");
        }
        let command = format!("echo {asked} >> log");
        Reply::new().call(&format!("call_{asked}"), "Bash", json!({"command": command}))
    }))
    .unwrap()
}

#[test]
fn a_turn_killed_a_hundred_times_completes_and_nothing_is_lost_or_doubled() {
    const CALLS: usize = 20;
    const KILLS: usize = 100;
    let server = counting_model(CALLS);
    let mut dice = Dice(0x5eed);
    let (mut kills, mut turns) = (0, 0);
    while kills < KILLS {
        turns += 1;
        let project = project();
        let ona = |args: &[&str]| {
            let mut command = project.ona(["-p", "--allowedTools", "Bash(echo *)"]);
            command
                .args(args)
                .env("ANTHROPIC_API_KEY", "key")
                .env("ANTHROPIC_BASE_URL", server.base_url());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        };
        let mut args: Vec<&str> = vec!["--output-format", "text"];
        let mut child = ona(&["--", "count"]).spawn().unwrap();
        let mut lifetime = Duration::from_millis(400);
        // Killed again and again, then left to finish.
        for round in 0..6 {
            thread::sleep(lifetime.mul_f64(dice.roll(1000) as f64 / 1000.0));
            let _ = child.kill();
            if child.wait().unwrap().code().is_none() {
                kills += 1;
            }
            lifetime = Duration::from_millis(100 + 50 * round);
            let sessions = project.database().exists()
                && project
                    .sql("SELECT count(*) FROM sqlite_schema WHERE name = 'transcript_entries'")
                    == ["1"];
            let heard = sessions
                && project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'user'")
                    == ["1"];
            args = if heard { vec!["--continue"] } else { vec!["--", "count"] };
            child = ona(&args).spawn().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        let finished = said == "all done\n" || complaint.contains("nothing to continue");
        assert!(finished, "{args:?}: {said:?} {complaint}");

        let log = fs::read_to_string(project.path("log")).unwrap_or_default();
        let results = project.sql(
            "SELECT tool_use_id, payload_json LIKE '%\"is_error\":false%' FROM transcript_entries
             WHERE entry_type = 'tool_result' ORDER BY sequence",
        );
        assert_eq!(results.len(), CALLS, "every call has one result: {results:?}");
        for result in &results {
            let (id, ok) = result.split_once('|').unwrap();
            let number = project.sql(&format!(
                "SELECT json_extract(payload_json, '$.input.command') FROM transcript_entries
                 WHERE entry_type = 'tool_use' AND tool_use_id = '{id}'"
            ));
            let number = number[0].split(' ').nth(1).unwrap().to_owned();
            let written = log.lines().filter(|line| **line == number).count();
            if ok == "1" {
                assert_eq!(written, 1, "{number} was acknowledged: {log:?}");
            } else {
                assert!(written <= 1, "{number} ran twice: {log:?}");
            }
        }
        let doctor = run(&mut project.ona(["doctor"]));
        assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    }
    assert!(turns >= 5);
}
