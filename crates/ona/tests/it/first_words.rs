//! What the model is told first: `--system-prompt` and `--append-system-prompt`, as text and as files.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;

use crate::print::anthropic;
use crate::project;

#[test]
fn first_words_come_from_text_and_files() {
    let project = project();
    let file = project.file("words/poet.txt", "Be a poet.\n");
    project.file("rhyme.txt", "In rhymes.");
    let told = |args: &[&str]| {
        let server = Server::start([Reply::say("ok")]).unwrap();
        let ran = run(anthropic(&project, &server, &["-p", "go"]).args(args));
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        server.requests()[0].body["system"].to_string()
    };
    let own = "You are ona";
    let both = told(&["--system-prompt-file", &file, "--append-system-prompt-file", "rhyme.txt"]);
    assert!(both.contains("Be a poet.") && both.contains("In rhymes.") && !both.contains(own));
    let mixed = told(&["--system-prompt", "Be brief.", "--append-system-prompt-file", "rhyme.txt"]);
    assert!(mixed.contains("Be brief.") && mixed.contains("In rhymes.") && !mixed.contains(own));
    let added = told(&["--append-system-prompt-file", "rhyme.txt"]);
    assert!(added.contains(own) && added.contains("In rhymes."));
    // A path is meant from where ona acts.
    let elsewhere = project.path("words").display().to_string();
    assert!(
        told(&["--cwd", &elsewhere, "--system-prompt-file", "poet.txt"]).contains("Be a poet.")
    );
}

#[test]
fn files_that_cannot_be_used_are_told_before_anything_is_sent() {
    let project = project();
    project.file("odd.txt", b"abc\xff");
    project.file("large.txt", vec![b'x'; 1024 * 1024 + 1]);
    std::fs::create_dir(project.path("dir")).unwrap();
    let server = Server::start([Reply::say("never")]).unwrap();
    for option in ["--system-prompt-file", "--append-system-prompt-file"] {
        for (file, expected) in [
            ("none.txt", "No such file"),
            ("dir", "it is a directory"),
            ("odd.txt", "byte 4 is not UTF-8"),
            ("large.txt", "it is larger than 1 MiB"),
        ] {
            let ran = run(&mut anthropic(&project, &server, &["-p", "go", option, file]));
            assert_eq!(ran.code, Some(2), "{file}: {}", ran.stderr);
            let expected = format!("error: {option} {file}: {expected}");
            assert!(ran.stderr.starts_with(&expected), "{expected}: {}", ran.stderr);
            assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
        }
    }
    for (text, file) in [
        ("--system-prompt", "--system-prompt-file"),
        ("--append-system-prompt", "--append-system-prompt-file"),
    ] {
        let ran = run(&mut anthropic(&project, &server, &["-p", "go", text, "a", file, "b"]));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
    }
    assert!(server.requests().is_empty() && !project.database().exists());
}

#[test]
fn an_import_that_leads_out_of_the_project_says_what_would_let_it_in() {
    let project = project();
    let home = project.home();
    std::fs::write(home.join("style.md"), "Write in rhymes.").unwrap();
    project.file("CLAUDE.md", "Mind @~/style.md");
    let server = Server::start([Reply::say("1"), Reply::say("2")]).unwrap();
    let said = run(&mut anthropic(&project, &server, &["-p", "go"])).stderr;
    let advice = format!("(--add-dir {}, or", home.display());
    assert!(said.contains("it leads out of the project") && said.contains(&advice), "{said}");
    // It can be done as it is said.
    let dir = home.to_str().unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--add-dir", dir]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let told = server.requests().into_iter().map(|request| request.body.to_string());
    let told: Vec<bool> = told.map(|body| body.contains("Write in rhymes.")).collect();
    assert_eq!(told, [false, true]);
}
