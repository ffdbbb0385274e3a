//! Signing in and out, with an authorization server of our own on loopback.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use ona_provider::scripted::{Reply, Server};
use ona_testkit::authority::{Authority, browse, form, value, visit};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;

/// `ona auth login`, and the address that it prints.
fn begun(authority: &Authority, project: &Project, args: &[&str]) -> (Child, url::Url) {
    let args: Vec<&str> = ["auth", "login"].into_iter().chain(args.iter().copied()).collect();
    first_line(authority.known_to(project.ona(args)))
}

/// Starts a sign-in; the address that it prints.
pub fn first_line(mut command: Command) -> (Child, url::Url) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    // Byte by byte: what follows is the child's.
    let out = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while out.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(char::from(byte[0]));
    }
    (child, url::Url::parse(&line).unwrap())
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What the page on loopback answers.
fn come_back(back: &str, query: &str) -> String {
    let mut back = url::Url::parse(back).unwrap();
    assert_eq!(back.host_str(), Some("127.0.0.1"));
    back.set_query(Some(query));
    visit(&back)
}

fn signed_in(authority: &Authority, project: &Project) {
    let (child, page) = begun(authority, project, &[]);
    let answer = browse(&page);
    assert!(answer.contains("You can close this page. ona completes the sign-in"), "{answer}");
    let ran = ended(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

fn status(authority: &Authority, project: &Project) -> Value {
    let ran = run(&mut authority.known_to(project.ona(["auth", "status", "--json"])));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr))
}

/// `ona -p`, signed in.
fn asking(authority: &Authority, project: &Project, server: &Server) -> Command {
    let mut command = authority.known_to(project.ona(["-p", "go"]));
    command.env("ANTHROPIC_BASE_URL", server.base_url());
    command
}

fn sent(server: &Server) -> Vec<String> {
    let requests = server.requests();
    let all = requests.iter().flat_map(|request| &request.headers);
    all.filter(|(name, _)| name == "authorization").map(|(_, value)| value.clone()).collect()
}

#[test]
fn a_browser_signs_in_and_the_login_is_used_renewed_and_forgotten() {
    let (project, authority) = (project(), Authority::start(3600));
    let (child, page) = begun(&authority, &project, &[]);
    let asked = form(page.query().unwrap());
    assert!(page.as_str().starts_with(&format!("{}/authorize?", authority.address)));
    assert_eq!(value(&asked, "client_id"), "the-client");
    assert_eq!(value(&asked, "scope"), "read write");
    assert_eq!(value(&asked, "code_challenge_method"), "S256");
    let back = value(&asked, "redirect_uri");
    // Strangers do not disturb it.
    for query in ["code=good-code", "code=good-code&state=another", "state="] {
        assert!(come_back(&back, query).starts_with("HTTP/1.1 400"), "{query}");
    }
    let _idle =
        TcpStream::connect(back.trim_start_matches("http://").trim_end_matches("/callback"));
    assert!(browse(&page).contains("You can close this page. ona completes the sign-in"));
    let ran = ended(child);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "signed in as who@x.example; the login is kept in an encrypted file\n"),
        "{}",
        ran.stderr
    );

    let said = status(&authority, &project);
    assert_eq!((&said["class"], &said["source"]), (&json!("oauth"), &json!("login")), "{said}");
    assert_eq!(
        (&said["account"], &said["scopes"]),
        (&json!("who@x.example"), &json!(["read", "write"]))
    );
    assert!(
        said["expiry"].as_str().unwrap().ends_with('Z') && !said.to_string().contains("secret-")
    );

    let server = Server::start([Reply::say("done")]).unwrap();
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(sent(&server), ["Bearer access-secret-0"]);

    let ran = run(&mut authority.known_to(project.ona(["auth", "logout"])));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "signed out\n"), "{}", ran.stderr);
    let revoked = form(&authority.office().revoked[0]);
    assert_eq!(value(&revoked, "token"), "refresh-secret-0");
    assert_eq!(value(&revoked, "client_id"), "the-client");
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("`ona auth login`"), "{}", ran.stderr);
    assert_eq!(run(&mut authority.known_to(project.ona(["auth", "logout"]))).code, Some(0));
}

#[test]
fn a_code_is_pasted_where_there_is_no_browser() {
    for whole in [false, true] {
        let (project, authority) = (project(), Authority::start(3600));
        let (mut child, page) = begun(&authority, &project, &["--no-browser"]);
        let asked = form(page.query().unwrap());
        assert_eq!(value(&asked, "redirect_uri"), "https://codes.example/show");
        let state = value(&asked, "state");
        // The human signs in elsewhere.
        visit(&page);
        let line = match whole {
            true => format!("https://codes.example/show?code=good-code&state={state}\n"),
            false => format!("good-code#{state}\n"),
        };
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let ran = ended(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(status(&authority, &project)["source"], "login");
    }
    let (project, authority) = (project(), Authority::start(3600));
    for line in ["good-code#another\n", "nonsense\n", ""] {
        let (mut child, _) = begun(&authority, &project, &["--no-browser"]);
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let ran = ended(child);
        assert_eq!(ran.code, Some(1), "{line}: {}", ran.stderr);
    }
    assert!(authority.office().asked.is_empty(), "nothing is redeemed");
}

#[test]
fn what_goes_wrong_is_told_before_or_after() {
    let (project, authority) = (project(), Authority::start(3600));
    for (name, value) in [
        ("ONA_OAUTH_CLIENT_ID", ""),
        ("ONA_OAUTH_TOKEN_URL", "http://x.example/token"),
        ("ONA_OAUTH_AUTHORIZE_URL", "nonsense"),
    ] {
        let ran = run(authority.known_to(project.ona(["auth", "login"])).env(name, value));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(name) && ran.stderr.contains("oauth."), "{}", ran.stderr);
    }
    let mut late = authority.known_to(project.ona(["auth", "login"]));
    let ran = run(late.env("ONA_OAUTH_TIMEOUT_MS", "200"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("nobody signed in within 0.2 s"), "{}", ran.stderr);
    let (child, page) = begun(&authority, &project, &[]);
    let asked = form(page.query().unwrap());
    let query = format!("code=bad&state={}", value(&asked, "state"));
    come_back(&value(&asked, "redirect_uri"), &query);
    let ran = ended(child);
    assert!(ran.code == Some(1) && ran.stderr.contains("no such code"), "{}", ran.stderr);
    authority.office().denies = true;
    let (child, page) = begun(&authority, &project, &[]);
    assert!(!browse(&page).contains("You can close this page. ona completes the sign-in"));
    let ran = ended(child);
    assert!(ran.code == Some(1) && ran.stderr.contains("access_denied"), "{}", ran.stderr);
    let (child, _) = begun(&authority, &project, &[]);
    run(project.command("kill").args(["-INT", &child.id().to_string()]));
    assert_eq!(ended(child).code, Some(130));
    assert_eq!(status(&authority, &project)["class"], "none");
}

#[test]
fn all_who_need_a_new_token_renew_once() {
    let (project, authority) = (project(), Authority::start(5));
    signed_in(&authority, &project);
    authority.office().lasts = 3600;
    let server = Server::start([(); 3].map(|()| Reply::say("done"))).unwrap();
    let started: Vec<Child> = (0..3)
        .map(|_| {
            let mut command = asking(&authority, &project, &server);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in started {
        let ran = ended(child);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    assert_eq!(authority.office().renewals, 1);
    assert!(
        sent(&server).iter().all(|header| header == "Bearer access-secret-1"),
        "{:?}",
        sent(&server)
    );
}

#[test]
fn a_refused_token_is_renewed_once_and_an_ended_login_says_so() {
    let (project, authority) = (project(), Authority::start(3600));
    signed_in(&authority, &project);
    let refusal =
        || Reply::status(401, json!({"error": {"type": "authentication_error", "message": "no"}}));
    let server = Server::start([refusal(), Reply::say("done"), refusal(), refusal()]).unwrap();
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(sent(&server), ["Bearer access-secret-0", "Bearer access-secret-1"]);
    // A server that is busy loses nothing; one that says no ends the login.
    authority.office().refuses = Some((503, "temporarily_unavailable"));
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(status(&authority, &project)["source"], "login");
    authority.office().refuses = Some((400, "invalid_grant"));
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("`ona auth login`"), "{}", ran.stderr);
    let kept = project.sql("select detail from events where detail like '%authentication_failed%'");
    assert!(!kept.is_empty());
}

#[test]
fn nothing_of_a_login_is_stored_or_shown() {
    let (project, authority) = (project(), Authority::start(3600));
    signed_in(&authority, &project);
    let settings = json!({"permissions": {"allow": ["Bash"]}});
    fs::create_dir_all(project.home().join(".claude")).unwrap();
    fs::write(project.home().join(".claude/settings.json"), settings.to_string()).unwrap();
    // A tool that knows a token by other means shows a mask.
    let echo = project.eval("Bash", json!({"command": "echo access-secret-0 refresh-secret-0"}));
    assert_eq!(echo.content, "[REDACTED:live] [REDACTED:live]\n");
    let state = project.home().join(".local/state/ona");
    let mut pending = vec![state, project.database().parent().unwrap().to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => pending.push(path),
                false => {
                    let bytes = fs::read(&path).unwrap();
                    let text = String::from_utf8_lossy(&bytes);
                    assert!(
                        !text.contains("access-secret") && !text.contains("refresh-secret"),
                        "{}",
                        path.display()
                    );
                }
            }
        }
    }
    // A project's settings have no say in where it is.
    project.file(".claude/settings.json", json!({"oauth": {"clientId": "evil"}}).to_string());
    let mut command = project.ona(["auth", "login"]);
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn a_prompt_asks_for_the_status_and_signs_out_without_a_model() {
    let (project, authority) = (project(), Authority::start(3600));
    signed_in(&authority, &project);
    let server = Server::start([]).unwrap();
    let slash = |args: &[&str]| {
        let mut command = authority.known_to(project.ona(args));
        run(command.env("ANTHROPIC_BASE_URL", server.base_url()))
    };
    let ran = slash(&["-p", "/status"]);
    assert!(
        ran.stdout.contains("source    login (a token of a sign-in)\naccount   who@x.example"),
        "{}",
        ran.stdout
    );
    let ran = slash(&["-p", "/status", "--output-format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["source"], "login");
    assert_eq!(slash(&["-p", "/logout"]).stdout, "signed out\n");
    assert_eq!(slash(&["-p", "/status"]).code, Some(1));
    assert_eq!(authority.office().revoked.len(), 1);
    assert!(server.requests().is_empty());
}

#[test]
fn a_server_that_is_silent_or_points_elsewhere_gets_and_loses_nothing() {
    let (project, authority) = (project(), Authority::start(3600));
    authority.office().status = 302;
    let (child, page) = begun(&authority, &project, &[]);
    browse(&page);
    assert_eq!(ended(child).code, Some(1), "no redirect is followed");
    authority.office().status = 200;
    signed_in(&authority, &project);
    authority.office().silent = true;
    // As long as the human may take at most, for requests too.
    let (child, page) = {
        let mut command = authority.known_to(project.ona(["auth", "login"]));
        command.env("ONA_OAUTH_TIMEOUT_MS", "700");
        first_line(command)
    };
    browse(&page);
    let ran = ended(child);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let refusal =
        || Reply::status(401, json!({"error": {"type": "authentication_error", "message": "no"}}));
    let server = Server::start([refusal(), Reply::say("done")]).unwrap();
    let mut command = asking(&authority, &project, &server);
    let ran = run(command.env("ONA_OAUTH_TIMEOUT_MS", "200"));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    authority.office().silent = false;
    // The old login is still there, and its refresh token good.
    let server = Server::start([refusal(), Reply::say("done")]).unwrap();
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(sent(&server), ["Bearer access-secret-0", "Bearer access-secret-1"]);
}

#[test]
fn a_renewal_without_a_refresh_token_keeps_the_old_one() {
    let (project, authority) = (project(), Authority::start(5));
    signed_in(&authority, &project);
    authority.office().keeps_refresh = true;
    for renewal in 1..3 {
        let server = Server::start([Reply::say("done")]).unwrap();
        let ran = run(&mut asking(&authority, &project, &server));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(sent(&server), [format!("Bearer access-secret-{renewal}")]);
    }
    // And a login goes away whatever the server says.
    authority.office().cannot_revoke = true;
    let ran = run(&mut authority.known_to(project.ona(["auth", "logout"])));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "signed out\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("was not revoked"), "{}", ran.stderr);
    assert_eq!(value(&form(&authority.office().revoked[0]), "token"), "refresh-secret-0");
    assert_eq!(status(&authority, &project)["class"], "none");
}

#[test]
fn a_logout_ends_what_is_just_being_renewed() {
    let (project, authority) = (project(), Authority::start(5));
    signed_in(&authority, &project);
    authority.office().waits = true;
    let server = Server::start([Reply::say("done")]).unwrap();
    let spawned = |mut command: Command| {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let turn = spawned(asking(&authority, &project, &server));
    while authority.office().asked.len() < 2 {
        std::thread::yield_now();
    }
    let logout = spawned(authority.known_to(project.ona(["auth", "logout", "--json"])));
    authority.office().waits = false;
    let ran = ended(logout);
    assert_eq!(ran.stdout, "{\"signed_out\":true,\"revoked\":true}\n", "{}", ran.stderr);
    ended(turn);
    assert_eq!(status(&authority, &project)["class"], "none");
    // Whichever came first: what was good last is revoked.
    let office = authority.office();
    let last = format!("refresh-secret-{}", office.renewals);
    assert_eq!(value(&form(&office.revoked[0]), "token"), last);
}

#[test]
fn a_login_is_used_as_long_as_it_lasts() {
    let (project, authority) = (project(), Authority::start(30));
    authority.office().no_refresh = true;
    signed_in(&authority, &project);
    let server = Server::start([Reply::say("done")]).unwrap();
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = run(&mut authority.known_to(project.ona(["auth", "status"]))).stdout;
    assert!(said.contains("; it cannot be renewed\n"), "{said}");
    // And one that the server does not renew is said to have ended.
    authority.office().no_refresh = false;
    signed_in(&authority, &project);
    authority.office().refuses = Some((400, "invalid_grant"));
    let ran = run(&mut asking(&authority, &project, &server));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let ran = run(&mut authority.known_to(project.ona(["auth", "status"])));
    assert!(ran.code == Some(1) && ran.stdout.contains("it has ended"), "{}", ran.stdout);
}

#[test]
fn answers_of_no_use_are_told_and_visitors_without_one_do_not_count() {
    let (project, authority) = (project(), Authority::start(3600));
    for (access, status, why) in [
        (Some(""), 200, "its access token is empty, too long or not printable"),
        (Some("a\r\nb: c"), 200, "its access token is empty, too long or not printable"),
        (None, 503, "cannot be used: its status is 503"),
        (None, 302, "cannot be used: its status is 302, and redirects are not followed"),
    ] {
        let mut office = authority.office();
        (office.access, office.status) = (access.map(str::to_owned), status);
        drop(office);
        let (child, page) = begun(&authority, &project, &[]);
        browse(&page);
        let ran = ended(child);
        assert_eq!(ran.code, Some(1), "{access:?} {status}: {}", ran.stderr);
        assert!(ran.stderr.contains(why) && ran.stderr.contains("/token"), "{}", ran.stderr);
    }
    authority.office().access = None;
    authority.office().status = 200;
    let (child, page) = begun(&authority, &project, &[]);
    let back = url::Url::parse(&value(&form(page.query().unwrap()), "redirect_uri")).unwrap();
    let state = value(&form(page.query().unwrap()), "state");
    let idle: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(("127.0.0.1", back.port().unwrap())).unwrap()).collect();
    assert!(come_back(back.as_str(), &format!("state={state}")).starts_with("HTTP/1.1 400"));
    assert!(browse(&page).contains("You can close this page"));
    assert_eq!(ended(child).code, Some(0));
    drop(idle);
}
