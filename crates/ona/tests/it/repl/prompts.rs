//! Commands that are prompts for the model.

use super::*;
use crate::project;

#[test]
fn each_sends_its_prompt_with_the_arguments() {
    for (line, parts) in [
        ("/init", &["CLAUDE.md"][..]),
        ("/review the parser", &["the parser"]),
        ("/security-review", &["vulnerabilit"]),
        ("/simplify the names", &["the names", "agent"]),
        ("/batch rename it everywhere", &["rename it everywhere", "worktree"]),
        ("/debug the prompt is lost", &["the prompt is lost", "agent.db"]),
    ] {
        let (project, server) = (project(), model([Reply::say("At once.")]));
        let pty = start(&project, &server, &[]);
        answers(&pty, line, "At once.");
        let told = last_told(&server);
        for part in parts {
            assert!(told.contains(part), "{line}: {part}: {told}");
        }
        ready(&pty);
    }
}

#[test]
fn batch_and_loop_want_an_instruction() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/batch ", "what should be done?");
    ready(&pty);
    answers(&pty, "/loop ", "which prompt should be repeated?");
    ready(&pty);
    answers(&pty, "/loop 1s check", "the shortest interval is 10 s");
}

#[test]
fn loop_runs_at_once_and_says_how_to_end_it() {
    let (project, server) = (project(), model([Reply::say("All is well.")]));
    let pty = start(&project, &server, &[]);
    let shown = answers(&pty, "/loop 1h check the build", "All is well.");
    assert!(shown.contains("every 3600 s while"), "{shown}");
    assert!(last_told(&server).contains("check the build"));
    ready(&pty);
    answers(&pty, "/loop stop", "is not repeated any more");
}
