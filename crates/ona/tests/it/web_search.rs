//! WebSearch: the provider's own search, and backends on loopback.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Report, report, run};
use serde_json::{Value, json};

use crate::print::{anthropic, asking, lines};
use crate::project;
use crate::secrets::record;
use crate::site::{Site, say, user_settings};

const KEY: &str = "key-for-the-search-of-this-test";

fn backend(project: &Project, name: &str, site: &Site) {
    user_settings(project, &json!({"webSearch": {"backend": name, "url": site.url("")}}));
}

fn search(project: &Project, input: &Value) -> Report {
    let mut command = project.eval_command("WebSearch", input);
    report(command.env("BRAVE_API_KEY", KEY).env("TAVILY_API_KEY", format!("{KEY}\n")))
}

/// A site that answers JSON.
fn answering(answer: &Value) -> Site {
    Site::page("application/json", answer.to_string())
}

#[test]
fn searxng_is_asked_for_json() {
    let project = project();
    let site = answering(&json!({"query": "rust async", "results": [
        {"title": "Async\nBook", "url": "https://rust-lang.github.io/async-book/", "content": "About  async.", "engine": "x"},
        {"title": "Other", "url": "https://other.example/", "content": ""},
        {"title": "No page"},
        {"title": "Odd", "url": "javascript:alert(1)"},
    ]}));
    backend(&project, "searxng", &site);
    let found = search(&project, &json!({"query": "rust  async"}));
    assert!(!found.is_error, "{}", found.content);
    assert_eq!(
        found.content,
        "Pages found for \"rust async\":\n\n1. Async Book\n   https://rust-lang.github.io/async-book/\n   About async.\n\
         \n2. Other\n   https://other.example/\n"
    );
    assert_eq!(site.asked()[0].line, "GET /search?q=rust+async&format=json");
    assert_eq!(site.asked()[0].header("user-agent").unwrap().split('/').next(), Some("ona"));
    let only = json!({"query": "rust async", "allowed_domains": ["github.io", "rust-lang.org"]});
    let found = search(&project, &only);
    assert!(
        found.content.contains("async-book") && !found.content.contains("other"),
        "{}",
        found.content
    );
    let asked = &site.asked()[1].line;
    assert!(asked.contains("site%3Agithub.io+OR+site%3Arust-lang.org"), "{asked}");
    let not = json!({"query": "rust async", "blocked_domains": ["github.io", "other.example"]});
    assert!(search(&project, &not).content.starts_with("No pages found for \"rust async\"."));
}

#[test]
fn brave_gets_its_key_in_a_header() {
    let project = project();
    let site = answering(&json!({"type": "search", "web": {"type": "search", "results": [
        {"title": "Rust", "url": "https://www.rust-lang.org/", "description": "A language"},
    ]}}));
    backend(&project, "brave", &site);
    let found = search(&project, &json!({"query": "rust", "blocked_domains": ["evil.example"]}));
    assert!(
        found.content.contains("1. Rust\n   https://www.rust-lang.org/\n   A language\n"),
        "{}",
        found.content
    );
    let asked = &site.asked()[0];
    assert_eq!(
        asked.line,
        "GET /res/v1/web/search?q=rust+-site%3Aevil.example&count=10&text_decorations=false"
    );
    assert_eq!(asked.header("x-subscription-token"), Some(KEY));
    assert!(!record(&project).contains(KEY));
    let nothing = answering(&json!({"type": "search", "query": {}}));
    backend(&project, "brave", &nothing);
    let found = search(&project, &json!({"query": "rust"}));
    assert!(!found.is_error && found.content.starts_with("No pages found"), "{}", found.content);
}

#[test]
fn tavily_takes_domains_by_itself() {
    let project = project();
    let site = answering(&json!({"query": "rust", "answer": null, "results": [
        {"title": "Rust", "url": "https://www.rust-lang.org/", "content": "A language", "score": 0.9},
    ]}));
    backend(&project, "tavily", &site);
    let found = search(&project, &json!({"query": "rust", "allowed_domains": ["rust-lang.org"]}));
    assert!(found.content.contains("https://www.rust-lang.org/"), "{}", found.content);
    let asked = &site.asked()[0];
    assert_eq!(asked.line, "POST /search");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(
        body,
        json!({"query": "rust", "max_results": 10, "include_domains": ["rust-lang.org"], "exclude_domains": []})
    );
}

#[test]
fn what_a_backend_says_wrongly_is_told_without_the_key() {
    let project = project();
    let input = json!({"query": "rust"});
    for (name, status, body, expected) in [
        ("searxng", "403 Forbidden", "no", "must list json under search.formats"),
        ("brave", "422 Unprocessable Entity", "{\"error\": \"token\"}", "check BRAVE_API_KEY"),
        ("tavily", "401 Unauthorized", "{}", "check TAVILY_API_KEY"),
        ("tavily", "429 Too Many Requests", "slow", "its rate limit is reached"),
        ("searxng", "302 Found", "", "redirects are not followed"),
        ("searxng", "200 OK", "<html>", "did not answer with JSON"),
        ("brave", "200 OK", "[]", "without a list of results"),
        ("tavily", "200 OK", "{\"results\": {}}", "without a list of results"),
    ] {
        let site = Site::start(move |_, stream| {
            say(stream, status, &[("location", "http://127.0.0.1:1/")], body.as_bytes())
        });
        backend(&project, name, &site);
        let found = search(&project, &input);
        assert!(found.is_error && found.content.contains(expected), "{name}: {}", found.content);
        assert_eq!(site.asked().len(), 1);
    }
    // One that repeats what it was sent.
    let echo = Site::start(|asked, stream| {
        let all = format!("{:?}", asked.headers);
        say(stream, "400 Bad Request", &[], all.as_bytes())
    });
    backend(&project, "brave", &echo);
    let found = search(&project, &input);
    assert!(found.is_error && !found.content.contains(KEY), "{}", found.content);
    assert!(!record(&project).contains(KEY));
    let silent = Site::start(|_, stream| std::io::Read::read(stream, &mut [0; 1]).map(|_| ()));
    backend(&project, "searxng", &silent);
    let mut command = project.eval_command("WebSearch", &input);
    let found = report(command.env("ONA_WEB_TIMEOUT_MS", "300"));
    assert!(
        found.content.starts_with("[SDLC_INTERNAL] searxng did not answer within 0.3 s"),
        "{}",
        found.content
    );
}

#[test]
fn what_is_not_set_up_is_a_clear_error() {
    let project = project();
    let refused = |settings: &Value| {
        user_settings(&project, settings);
        project.refused("WebSearch", json!({"query": "rust"}))
    };
    for (settings, expected) in [
        (json!({}), "the setting webSearch.backend is not set"),
        (json!({"webSearch": {"backend": "searxng"}}), "webSearch.url is not set"),
        (json!({"webSearch": {"backend": "brave"}}), "BRAVE_API_KEY is not set"),
        (json!({"webSearch": {"backend": "tavily"}}), "TAVILY_API_KEY is not set"),
    ] {
        let content = refused(&settings);
        assert!(content.contains(expected), "{content}");
    }
    user_settings(&project, &json!({"webSearch": {"backend": "google", "url": "nope"}}));
    let ran = run(&mut project.eval_command("WebSearch", &json!({"query": "rust"})));
    assert!(ran.stderr.contains("webSearch.backend: unknown value `google`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("webSearch.url: it is not a valid URL"), "{}", ran.stderr);
    let both = json!({"query": "rust", "allowed_domains": ["a.b"], "blocked_domains": ["c.d"]});
    assert!(project.refused("WebSearch", both).contains("not both"));
}

#[test]
fn a_project_cannot_choose_who_is_asked() {
    let project = project();
    let site = answering(&json!({"results": []}));
    let settings = json!({"webSearch": {"backend": "tavily", "url": site.url("")}});
    project.file(".ona/settings.json", settings.to_string());
    let found = search(&project, &json!({"query": "rust"}));
    assert!(found.content.contains("webSearch.backend is not set"), "{}", found.content);
    assert!(site.asked().is_empty(), "nobody got the key");
}

/// The provider searches while it answers a question beside the turn.
#[test]
fn anthropic_searches_by_itself() {
    let project = project();
    let pages = [("Rust", "https://www.rust-lang.org/"), ("Evil", "https://evil.example/")];
    let server = Server::start([
        Reply::new().call(
            "s1",
            "WebSearch",
            json!({"query": "rust language", "blocked_domains": ["evil.example"]}),
        ),
        Reply::new().search("rust language", &pages).stop("pause_turn"),
        Reply::new()
            .search("rust", &[("Book", "https://doc.rust-lang.org/book/")])
            .cited("A language.", "https://www.rust-lang.org/"),
        Reply::say("Done."),
    ])
    .unwrap();
    let args = ["-p", "go", "--allowedTools", "WebSearch", "--output-format", "json"];
    let ran = run(&mut anthropic(&project, &server, &args));
    let result = &lines(&ran)[0];
    assert_eq!(result["result"], "Done.", "{}", ran.stderr);
    let asked = server.requests();
    assert_eq!(
        asked[1].body["tools"],
        json!([{
            "type": "web_search_20250305", "name": "web_search", "max_uses": 8,
            "blocked_domains": ["evil.example"],
        }])
    );
    assert!(asked[1].last_said().contains("rust language"));
    assert_eq!(
        asked[2].body["messages"][1]["content"][0]["input"],
        json!({"query": "rust language"})
    );
    let told = asked[3].last_said();
    assert_eq!(
        told,
        "Pages found for \"rust language\":\n\n1. Rust\n   https://www.rust-lang.org/\n\
         \n2. Book\n   https://doc.rust-lang.org/book/\n\nA language. [https://www.rust-lang.org/]\n"
    );
    let purposes = project.sql("SELECT purpose FROM model_calls ORDER BY id");
    assert_eq!(purposes, ["turn", "web", "web", "turn"]);
    // Two searches cost more than the tokens of four answers.
    assert!(result["total_cost_usd"].as_f64().unwrap() > 0.02, "{result}");
    let models = result["modelUsage"].as_object().unwrap().values();
    let searches: u64 = models.map(|one| one["webSearchRequests"].as_u64().unwrap()).sum();
    assert_eq!(searches, 2);
}

#[test]
fn a_search_of_the_provider_that_fails_says_why_or_goes_to_the_backend() {
    let project = project();
    let site = answering(&json!({"results": [{"title": "T", "url": "https://t.example/"}]}));
    let failing = || {
        [
            Reply::new().call("s1", "WebSearch", json!({"query": "rust"})),
            Reply::new().failed_search("rust", "unavailable"),
            Reply::say("Done."),
        ]
    };
    let told = |project: &Project, script: [Reply; 3]| {
        let server = Server::start(script).unwrap();
        let ran =
            run(&mut anthropic(project, &server, &["-p", "go", "--allowedTools", "WebSearch"]));
        assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
        server.requests()[2].last_said()
    };
    let content = told(&project, failing());
    assert!(content.contains("it is not available at the moment (unavailable)"), "{content}");
    let content = told(
        &project,
        [
            Reply::new().call("s2", "WebSearch", json!({"query": "rust"})),
            Reply::say("I know that."),
            Reply::say("Done."),
        ],
    );
    assert!(content.contains("answered without searching"), "{content}");
    backend(&project, "searxng", &site);
    let mut again = failing();
    again[0] = Reply::new().call("s3", "WebSearch", json!({"query": "rust"}));
    assert!(told(&project, again).contains("https://t.example/"));
}

#[test]
fn other_providers_ask_the_backend() {
    for provider in ["openai_compatible", "lm_studio_local"] {
        let project = project();
        let site = answering(&json!({"results": [{"title": "T", "url": "https://t.example/"}]}));
        backend(&project, "searxng", &site);
        let server = Server::start([
            Reply::new().call("s1", "WebSearch", json!({"query": "rust"})),
            Reply::say("Done."),
        ])
        .unwrap();
        let args = ["-p", "go", "--allowedTools", "WebSearch"];
        let ran = run(asking(&project, &server, provider).args(args));
        assert_eq!(ran.stdout, "Done.\n", "{provider}: {}", ran.stderr);
        assert!(server.requests()[1].last_said().contains("https://t.example/"), "{provider}");
        assert_eq!(site.asked().len(), 1);
    }
}

#[test]
fn searches_are_asked_for_and_go_through_the_operators_proxy() {
    let project = project();
    let site = answering(&json!({"results": []}));
    user_settings(
        &project,
        &json!({"webSearch": {"backend": "searxng", "url": "http://search.example"}}),
    );
    let server = Server::start([
        Reply::new().call("s1", "WebSearch", json!({"query": "rust"})),
        Reply::say("Done."),
    ])
    .unwrap();
    let ran = run(asking(&project, &server, "openai_compatible").args([
        "-p",
        "go",
        "--output-format",
        "json",
    ]));
    assert_eq!(lines(&ran)[0]["permission_denials"].as_array().unwrap().len(), 1, "{}", ran.stdout);
    let mut command = project.eval_command("WebSearch", &json!({"query": "rust"}));
    let found = report(command.env("HTTP_PROXY", site.url("")).env("NO_PROXY", "127.0.0.1"));
    assert!(!found.is_error, "{}", found.content);
    assert_eq!(site.asked()[0].path(), "http://search.example/search?q=rust&format=json");
}
