//! What goes over the wire, to the letter. Whatever changes it changes a file in `snapshots/`, and is looked at.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use crate::print::asking;
use crate::project;

/// A small turn with tools.
fn turn(provider: &str, args: &[&str]) -> String {
    let replies = [
        Reply::say("I look.")
            .thinking("Where could it be?", "signature")
            .call("call_1", "Read", json!({"file_path": "a.txt"}))
            .call("call_2", "Bash", json!({"command": "touch made"})),
        Reply::say("It is 42."),
    ];
    questions(provider, args, replies)
}

/// The bodies of a turn's questions, without what is different every time.
fn questions<const N: usize>(provider: &str, args: &[&str], replies: [Reply; N]) -> String {
    let project = project();
    project.file("a.txt", "the answer is 42\n");
    project.file("CLAUDE.md", "Be brief.");
    let server = Server::start(replies).unwrap();
    let mut command = asking(&project, &server, provider);
    let ran = run(command.args(["-p", "what is the answer?"]).args(args));
    assert_eq!((ran.code, server.requests().len()), (Some(0), N), "{}", ran.stderr);
    let dir = project.dir().display().to_string();
    let asked = server.requests();
    let mut shown = Vec::new();
    for (request, number) in asked.iter().zip(1..) {
        let mut body = request.body.clone();
        // The tools are the same in every question, and have their own schemas.
        if number > 1 {
            assert_eq!(body["tools"], asked[0].body["tools"]);
            body["tools"] = "as before".into();
        }
        mask(&mut body, &dir);
        let body = serde_json::to_string_pretty(&body).unwrap();
        shown.push(format!("{} {}\n{body}", request.method, request.path));
    }
    shown.join("\n\n")
}

/// Takes the project's place and the date out of every text.
fn mask(value: &mut Value, dir: &str) {
    match value {
        Value::String(text) => {
            let lines: Vec<String> = text
                .replace(dir, "PROJECT")
                .split('\n')
                .map(|line| match line.split_once(": ") {
                    Some((name @ ("Date" | "System"), _)) => format!("{name}: …"),
                    _ => line.to_owned(),
                })
                .collect();
            *text = lines.join("\n");
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, dir)),
        Value::Object(members) => members.values_mut().for_each(|member| mask(member, dir)),
        _ => {}
    }
}

#[test]
fn questions_to_anthropic() {
    insta::assert_snapshot!("anthropic", turn("claude_code_subscription", &[]));
}

#[test]
fn questions_to_an_openai_compatible_server() {
    insta::assert_snapshot!("openai", turn("openai_compatible", &["--tools", "Read"]));
}

#[test]
fn questions_to_a_local_server() {
    insta::assert_snapshot!("lm_studio", turn("lm_studio_local", &["--tools", "Read"]));
}

#[test]
fn questions_for_an_answer_of_a_certain_shape() {
    let schema = r#"{"type":"object","properties":{"answer":{"type":"integer"}}}"#;
    let answer = |id: &str, answer: Value| {
        Reply::new().call(id, "StructuredOutput", json!({"answer": answer}))
    };
    let replies =
        [Reply::say("It is 42."), answer("call_1", json!("42")), answer("call_2", json!(42))];
    let args = ["--tools", "", "--system-prompt", "Answer.", "--bare", "--json-schema", schema];
    insta::assert_snapshot!("shape", questions("claude_code_subscription", &args, replies));
}
