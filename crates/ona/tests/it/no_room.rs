//! A disk that fills up during a turn: it ends clearly, the record stays whole, and with room again the turn is
//! finished.

use std::fs;

use ona_provider::scripted::{Recorded, Reply, Script, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::json;

use crate::print::anthropic;
use crate::project;

/// Says much and calls a tool; once that is answered, it is done.
fn talkative() -> Script {
    Script::choose(|request: &Recorded| {
        if request.body["messages"].to_string().contains("tool_result") {
            return Reply::say("done");
        }
        Reply::say("x".repeat(60_000)).call("b", "Bash", json!({"command": "echo ran >> ran.txt"}))
    })
}

/// A turn in which no file can grow beyond a size, as on a disk that is full.
fn with_room(project: &Project, server: &Server, kib: u64) -> Ran {
    let mut command = anthropic(project, server, &[]);
    let script =
        format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" -p go --allowedTools 'Bash(echo *)'");
    let mut bash = project.command("bash");
    bash.args(["-c", &script]).arg(command.get_program());
    bash.envs(command.env("X", "").get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut bash)
}

#[test]
fn a_turn_that_runs_out_of_room_is_finished_when_there_is_some() {
    let (mut failed, mut finished, mut reached) = (0, 0, 0);
    for more in (0..=168).step_by(12) {
        let project = project();
        let server = Server::start(talkative()).unwrap();
        run(&mut project.ona(["--init-db"]));
        let size = fs::metadata(project.database()).unwrap().len() / 1024;
        let ran = with_room(&project, &server, size + more);
        if ran.code == Some(0) {
            assert_eq!(ran.stdout, "done\n", "{more}: {}", ran.stderr);
            reached += 1;
            continue;
        }
        failed += 1;
        assert_eq!(ran.code, Some(1), "{more}: {}", ran.stderr);
        let told = ran.stderr.lines().find(|line| line.starts_with("error: "));
        let told = told.unwrap_or_else(|| panic!("{more}: {}", ran.stderr));
        assert!(told.contains("agent.db"), "{more}: {told}");
        assert!(ran.stderr.contains("hint: "), "{more}: {}", ran.stderr);
        assert_eq!(project.sql("SELECT * FROM pragma_integrity_check"), ["ok"], "{more}");
        let doctor = run(&mut project.ona(["doctor"]));
        assert_eq!(doctor.code, Some(0), "{more}: {}", doctor.stdout);
        // What was shown is what is on the record.
        let said = project.sql(
            "SELECT count(*) FROM transcript_entries
             WHERE entry_type = 'assistant' AND payload_json LIKE '%\"done\"%'",
        );
        assert_eq!(said == ["1"], ran.stdout == "done\n", "{more}: {}", ran.stderr);
        if said == ["1"] {
            finished += 1;
            continue;
        }
        let asked =
            project.sql("SELECT count(*) FROM transcript_entries WHERE entry_type = 'user'");
        if asked == ["0"] {
            assert!(server.requests().is_empty(), "{more}: nobody is asked what is not recorded");
            continue;
        }
        let args = ["-p", "--continue", "--allowedTools", "Bash(echo *)"];
        let ran = run(&mut anthropic(&project, &server, &args));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{more}: {}", ran.stderr);
        let runs = fs::read_to_string(project.path("ran.txt")).unwrap_or_default();
        assert!(runs == "ran\n" || runs.is_empty(), "{more}: {runs:?}");
        let open = project.sql(
            "SELECT (SELECT count(*) FROM transcript_entries WHERE entry_type = 'tool_use')
                  - (SELECT count(*) FROM transcript_entries WHERE entry_type = 'tool_result')",
        );
        assert_eq!(open, ["0"], "{more}");
    }
    assert!(failed > 3 && failed > finished && reached > 0, "{failed} failed, {reached} did not");
}
