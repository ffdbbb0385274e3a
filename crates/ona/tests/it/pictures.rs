//! Pictures and documents in prompts: on the record, and in each provider's own words.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ona_provider::scripted::{Reply, Server};
use ona_testkit::Ran;
use serde_json::{Value, json};

use crate::print::{anthropic, asking};
use crate::project;

/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// Enough of a PDF.
const PDF: &str = "JVBERi0xLjcK";

fn shown(command: &mut Command, content: &Value) -> Ran {
    let args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];
    let mut child = command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let line = json!({"type": "user", "message": {"role": "user", "content": content}});
    writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn block(kind: &str, media_type: &str, data: &str) -> Value {
    json!({"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}})
}

#[test]
fn each_provider_is_shown_what_a_prompt_brings() {
    let url = "https://example.com/a.png";
    let linked = json!({"type": "image", "source": {"type": "url", "url": url}});
    let pdf = block("document", "application/pdf", PDF);
    // Called otherwise: the bytes decide.
    let content = json!([
        {"type": "text", "text": "look"}, block("image", "image/jpeg", PNG), linked, pdf,
    ]);
    for provider in ["claude_code_subscription", "openai_compatible", "lm_studio_local"] {
        let project = project();
        let server = Server::start([Reply::say("seen"), Reply::say("still seen")]).unwrap();
        let ran = shown(&mut asking(&project, &server, provider), &content);
        assert_eq!(ran.code, Some(0), "{provider}: {}", ran.stderr);
        let said = ran.stderr.contains("does not support documents");
        assert_eq!(said, provider != "claude_code_subscription", "{}", ran.stderr);
        let kept = "SELECT json_extract(payload_json, '$.attachment.type') FROM transcript_entries
                    WHERE entry_type = 'attachment' AND tool_use_id IS NULL ORDER BY sequence";
        assert_eq!(project.sql(kept), ["image", "image_url", "document"]);
        let ran = ona_testkit::run(asking(&project, &server, provider).args([
            "-p",
            "again",
            "--continue",
        ]));
        assert_eq!(ran.stdout, "still seen\n", "{}", ran.stderr);
        // From the record it is told as it was told at first.
        for request in server.requests() {
            let messages = &request.body["messages"];
            let first = messages.as_array().unwrap().iter().find(|one| one["role"] == "user");
            let mut blocks = first.unwrap()["content"].as_array().unwrap().clone();
            for block in &mut blocks {
                block.as_object_mut().unwrap().remove("cache_control");
            }
            let text = json!({"type": "text", "text": "look"});
            let expected = match provider {
                "claude_code_subscription" => {
                    vec![block("image", "image/png", PNG), linked.clone(), pdf.clone(), text]
                }
                _ => vec![
                    json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}}),
                    json!({"type": "image_url", "image_url": {"url": url}}),
                    json!({"type": "text", "text": "[document of type application/pdf left out: this model does not accept documents]"}),
                    text,
                ],
            };
            assert_eq!(blocks, expected, "{provider}");
        }
    }
}

#[test]
fn a_picture_alone_is_a_prompt_and_one_that_is_none_is_left_out() {
    let project = project();
    let server = Server::start([Reply::say("seen")]).unwrap();
    let picture = json!([block("image", "image/png", PNG)]);
    let ran = shown(&mut anthropic(&project, &server, &[]), &picture);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let broken =
        json!([block("image", "image/png", "bm90aGluZw=="), {"type": "text", "text": "x"}]);
    let ran = shown(&mut anthropic(&project, &server, &[]), &broken);
    assert!(ran.stderr.contains("not a PNG, JPEG, GIF or WebP"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 1);
}
