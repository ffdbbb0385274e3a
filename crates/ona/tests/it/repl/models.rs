//! `/model`, `/effort` and `/plan`.

use super::*;
use crate::project;

#[test]
fn model_switches_the_model_by_name_alias_and_list() {
    let project = project();
    let server = model([Reply::say("One."), Reply::say("Two."), Reply::say("Three.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "first", "One.");
    ready(&pty);
    answers(&pty, "/model opus", "the model is claude-opus-4");
    pty.wait_for("· claude-opus-4");
    ready(&pty);
    answers(&pty, "second", "Two.");
    ready(&pty);
    pty.line("/model");
    let shown = pty.wait_for("Another model, by its wire name");
    assert!(shown.contains("✔"), "the present one is marked: {shown}");
    assert!(shown.contains("3. claude_3_5_haiku"), "{shown}");
    pty.send("3");
    pty.wait_whole("the model is claude-3-5-haiku");
    ready(&pty);
    answers(&pty, "third", "Three.");
    let models: Vec<String> = server
        .requests()
        .iter()
        .map(|asked| asked.body["model"].as_str().unwrap().to_owned())
        .collect();
    for (model, word) in models.iter().zip(["sonnet", "opus", "haiku"]) {
        assert!(model.contains(word), "{models:?}");
    }
    ready(&pty);
    let shown = answers(&pty, "/model nosuchmodel", "the models are");
    assert!(shown.contains("nosuchmodel"), "{shown}");
}

#[test]
fn model_switches_the_provider_too() {
    let project = project();
    let (first, second) =
        (model([Reply::say("Hello from one.")]), model([Reply::say("Hello from two.")]));
    let options = with(&first)
        .env("OPENAI_API_KEY", "sk-other-key")
        .env("OPENAI_BASE_URL", second.openai_base_url());
    let pty = start_in(&project, &[], options);
    answers(&pty, "hello", "Hello from one.");
    ready(&pty);
    answers(&pty, "/model gpt_4o", "(openai_compatible) from the next request on");
    ready(&pty);
    answers(&pty, "hello again", "Hello from two.");
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
    let asked = &second.requests()[0];
    assert!(asked.body["model"].as_str().unwrap().starts_with("gpt-4o"), "{}", asked.body["model"]);
    assert!(
        asked.body["messages"].to_string().contains("Hello from one."),
        "the conversation goes on"
    );
    assert_eq!(
        project.sql("SELECT provider FROM model_calls ORDER BY rowid"),
        ["claude_code_subscription", "openai_compatible"]
    );
    ready(&pty);
    answers(&pty, "/model claude_code_subscription", "the model is claude-");
}

#[test]
fn a_provider_without_a_credential_says_what_is_missing() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    let shown = answers(&pty, "/model openai_compatible/gpt_4o", "it cannot be used yet");
    assert!(shown.contains("OPENAI_API_KEY"), "{shown}");
}

#[test]
fn config_changes_the_model_of_this_session_and_of_the_next() {
    let (project, server) = (project(), model([Reply::say("One."), Reply::say("Two.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "/config model=nonsense", "unknown model `nonsense`");
    assert_eq!(local_settings(&project), Value::Null, "it would lock the next session out");
    ready(&pty);
    answers(&pty, "/config model=opus", "the model is claude-opus-4-20250514");
    ready(&pty);
    assert_eq!(local_settings(&project), json!({"model": "opus"}));
    answers(&pty, "one", "One.");
    drop(pty);
    let pty = start(&project, &server, &[]);
    answers(&pty, "two", "Two.");
    for request in server.requests() {
        assert_eq!(request.body["model"], "claude-opus-4-20250514");
    }
}

#[test]
fn a_model_that_settings_name_and_nobody_has_is_told_with_its_file() {
    let project = project();
    user_settings(&project, &json!({"model": "nonsense"}));
    let pty = project.pty([""; 0], PtyOptions::default().env("ANTHROPIC_API_KEY", KEY));
    let shown = pty.wait_whole("the model is set in ");
    assert!(
        shown.contains("unknown model `nonsense`") && shown.contains("settings.json"),
        "{shown}"
    );
    assert_eq!(pty.wait_exit(), ona_testkit::pty::Exit::Code(2));
}

#[test]
fn the_chosen_model_goes_on_in_a_new_conversation_and_a_copy() {
    let project = project();
    let server = model([Reply::say("One."), Reply::say("Two."), Reply::say("Three.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "/model opus", "the model is claude-opus-4-20250514");
    ready(&pty);
    answers(&pty, "one", "One.");
    ready(&pty);
    answers(&pty, "/branch", "copy");
    ready(&pty);
    answers(&pty, "two", "Two.");
    ready(&pty);
    answers(&pty, "/clear", "new conversation");
    ready(&pty);
    answers(&pty, "three", "Three.");
    for request in server.requests() {
        assert_eq!(request.body["model"], "claude-opus-4-20250514");
    }
}

#[test]
fn effort_is_set_shown_and_sent() {
    let (project, server) = (project(), model([Reply::say("Done."), Reply::say("Again.")]));
    let options = with(&server)
        .size(40, 160)
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", server.openai_base_url());
    let pty = start_in(&project, &["--provider", "openai_compatible", "--model", "o3"], options);
    pty.line("/effort");
    let shown = pty.wait_for("Reasoning effort");
    assert!(shown.contains("1. low") && shown.contains("auto ✔"), "{shown}");
    close(&pty);
    answers(&pty, "/effort high", "the reasoning effort is high");
    pty.wait_for("· effort high");
    ready(&pty);
    answers(&pty, "go", "Done.");
    assert!(
        server.requests()[0].body.to_string().contains(r#""high""#),
        "{}",
        server.requests()[0].body
    );
    ready(&pty);
    answers(&pty, "/effort enormous", "✗ ");
    ready(&pty);
    let kept = || {
        let text = fs::read_to_string(project.home().join(".claude/settings.json"));
        serde_json::from_str::<Value>(&text.unwrap_or_default()).unwrap_or_default()
    };
    assert_eq!(kept()["effortLevel"], "high");
    answers(&pty, "/effort auto", "the reasoning effort is the model's default");
    pty.wait_gone("· effort high");
    ready(&pty);
    answers(&pty, "go on", "Again.");
    assert!(!server.requests()[1].body.to_string().contains(r#""high""#));
}

#[test]
fn the_list_of_models_shows_and_changes_the_effort() {
    let project = project();
    let options = PtyOptions::default().size(40, 160).env("OPENAI_API_KEY", KEY);
    let pty = start_in(&project, &["--provider", "openai_compatible", "--model", "o3"], options);
    pty.line("/model");
    let shown = pty.wait_for("openai_compatible), effort auto");
    let row = |name: &str| shown.lines().find(|row| row.contains(name)).unwrap_or_default();
    assert!(row("6. o3").contains("effort low to high"), "{shown}");
    assert!(row("claude_sonnet_4").contains("effort not supported"), "{shown}");
    pty.key(Key::Right);
    pty.wait_for("), effort low");
    pty.key(Key::Right);
    pty.wait_for("), effort medium");
    pty.key(Key::Left);
    pty.wait_for("), effort low");
    close(&pty);
    pty.wait_for("· effort low");
    let kept = fs::read_to_string(project.home().join(".claude/settings.json")).unwrap();
    assert!(kept.contains("\"low\""), "{kept}");
    pty.line("/model");
    pty.wait_for("< less effort");
    pty.send("<");
    pty.wait_for("), effort auto");
    close(&pty);
    drop(pty);
    // A model without effort says so, and has no such keys.
    let pty = start_alone(&project);
    pty.line("/model");
    let shown = pty.wait_for("(claude_code_subscription), effort not supported");
    assert!(!shown.contains("more effort"), "{shown}");
}

#[test]
fn a_model_without_effort_says_that_it_is_not_supported() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/effort high", "not supported: claude-sonnet-4");
}

#[test]
fn plan_enters_planning_and_shows_the_plan() {
    let (project, server) = (project(), model([Reply::say("I think about it.")]));
    let pty = start(&project, &server, &[]);
    pty.line("/plan");
    pty.wait_for("phase planning");
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["planning"]);
    ready(&pty);
    answers(&pty, "/plan", "there is no plan yet");
    ready(&pty);
    answers(&pty, "/plan build a shed", "I think about it.");
    assert!(last_told(&server).contains("build a shed"));
}

#[test]
fn thinking_is_switched_by_its_key() {
    let project = project();
    let server = model([Reply::new().thinking("let me see", "sig").text("Done thinking.")]);
    let pty = start(&project, &server, &[]);
    pty.key(Key::Alt('t'));
    pty.wait_whole("thinking is on");
    answers(&pty, "think", "Done thinking.");
    assert_eq!(server.requests()[0].body["thinking"]["type"], "enabled");
}

#[test]
fn thinking_is_mentioned_in_a_line() {
    let project = project();
    let server = model([Reply::new().thinking("let me see", "sig").text("Done thinking.")]);
    let pty = start(&project, &server, &[]);
    let shown = answers(&pty, "think", "Done thinking.");
    assert!(shown.contains("✻ Thought (3 words") && !shown.contains("let me see"), "{shown}");
}

#[test]
fn alt_p_opens_the_list_of_models() {
    let project = project();
    let pty = start_alone(&project);
    typed(&pty, "a draft");
    pty.key(Key::Alt('p'));
    pty.wait_for("Another model, by its wire name");
    pty.key(Key::Esc);
    pty.wait_for("> a draft");
}

#[test]
fn a_name_that_ona_does_not_know_is_sent_as_it_is() {
    let project = project();
    let server = model([Reply::say("Hello from it.")]);
    let options = PtyOptions::default()
        .size(40, 200)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("OPENAI_API_KEY", "sk-other-key")
        .env("OPENAI_BASE_URL", server.openai_base_url());
    let pty = start_in(&project, &[], options);
    for (line, words) in [
        ("/model my-wire", "the model is my-wire (claude_code_subscription)"),
        ("/model Opus", "the model is claude-opus-4"),
        ("/model openai/gpt-5", "unknown provider `openai`"),
        ("/model lm_studio_server_routed", "needs LM_STUDIO_MODEL"),
        ("/model lm_studio_local/mymodel-7b", "the model is mymodel-7b (lm_studio_local)"),
        ("/model openai_compatible/gpt-5-foo", "the model is gpt-5-foo (openai_compatible)"),
    ] {
        answers(&pty, line, words);
        ready(&pty);
    }
    answers(&pty, "hello", "Hello from it.");
    assert_eq!(server.requests()[0].body["model"], "gpt-5-foo");
    ready(&pty);
    answers(&pty, "/config availableModels=[\"haiku\"]", "availableModels = ");
    ready(&pty);
    answers(&pty, "/model opus", "is not among availableModels of the settings: haiku");
    ready(&pty);
    answers(&pty, "/model haiku", "the model is claude-3-5-haiku");
}

#[test]
fn planning_is_left_only_by_a_plan_and_says_so() {
    let (project, server) = (project(), model([]));
    let pty = start_in(&project, &[], with(&server).size(40, 200));
    answers(&pty, "/plan", "nothing is changed until you approve a plan");
    pty.wait_for("plan mode on");
    ready(&pty);
    assert!(!pty.whole().contains("ExitPlanMode"), "{}", pty.whole());
    pty.key(Key::BackTab);
    pty.wait_for("the phase is still planning");
    pty.wait_for("phase planning");
    answers(&pty, "/phase implement", "planning ends when you approve a plan");
    ready(&pty);
    answers(&pty, "/effort silly", "or auto");
    ready(&pty);
    answers(&pty, "/clear", "a new conversation");
    pty.wait_for("phase idle");
    ready(&pty);
    answers(&pty, "/phase planning", "the phase is planning now");
}
