//! Signing in and out, with an authorization server of our own on loopback.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;

/// What the authorization server knows and was told.
#[derive(Default)]
struct Office {
    /// Seconds that a token is good for.
    lasts: u64,
    /// What it answers to the next renewal, if not with a token.
    refuses: Option<(u16, &'static str)>,
    renewals: usize,
    /// The refresh token that is good now.
    refresh: String,
    asked: Vec<String>,
    revoked: Vec<String>,
}

struct Authority {
    address: String,
    office: Arc<Mutex<Office>>,
}

impl Authority {
    fn start(lasts: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let office = Arc::new(Mutex::new(Office { lasts, ..Office::default() }));
        let served = Arc::clone(&office);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let office = Arc::clone(&served);
                std::thread::spawn(move || serve(stream, &office));
            }
        });
        Self { address, office }
    }

    fn office(&self) -> std::sync::MutexGuard<'_, Office> {
        self.office.lock().unwrap()
    }

    /// A command that knows the server.
    fn known_to(&self, mut command: Command) -> Command {
        command
            .env("ONA_OAUTH_CLIENT_ID", "the-client")
            .env("ONA_OAUTH_AUTHORIZE_URL", format!("{}/authorize", self.address))
            .env("ONA_OAUTH_TOKEN_URL", format!("{}/token", self.address))
            .env("ONA_OAUTH_REVOKE_URL", format!("{}/revoke", self.address))
            .env("ONA_OAUTH_CODE_REDIRECT_URL", "https://codes.example/show")
            .env("ONA_OAUTH_SCOPES", "read write")
            .env("BROWSER", "true");
        command
    }
}

fn form(text: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn value(pairs: &[(String, String)], name: &str) -> String {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

fn serve(mut stream: TcpStream, office: &Mutex<Office>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    reader.read_line(&mut head).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let asked = form(&body);
    let mut office = office.lock().unwrap();
    let (status, answer) = if head.starts_with("POST /revoke") {
        office.revoked.push(body);
        (200, json!({}))
    } else {
        office.asked.push(body);
        token(&asked, &mut office)
    };
    let answer = answer.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
}

fn token(asked: &[(String, String)], office: &mut Office) -> (u16, Value) {
    if value(asked, "grant_type") == "refresh_token" {
        if let Some((status, error)) = office.refuses {
            return (status, json!({"error": error}));
        }
        if value(asked, "refresh_token") != office.refresh {
            return (400, json!({"error": "invalid_grant"}));
        }
        office.renewals += 1;
    } else if value(asked, "code") != "good-code" || value(asked, "code_verifier").is_empty() {
        return (400, json!({"error": "invalid_request", "error_description": "no such code"}));
    }
    office.refresh = format!("refresh-secret-{}", office.renewals);
    (
        200,
        json!({
            "access_token": format!("access-secret-{}", office.renewals), "token_type": "Bearer",
            "expires_in": office.lasts, "refresh_token": office.refresh,
            "account": {"email_address": "who@x.example"},
        }),
    )
}

/// `ona auth login`, and the address that it prints.
fn begun(authority: &Authority, project: &Project, args: &[&str]) -> (Child, url::Url) {
    let args: Vec<&str> = ["auth", "login"].into_iter().chain(args.iter().copied()).collect();
    let mut command = authority.known_to(project.ona(args));
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
fn visit(back: &str, query: &str) -> String {
    let back = url::Url::parse(back).unwrap();
    assert_eq!(back.host_str(), Some("127.0.0.1"));
    let mut stream = TcpStream::connect(("127.0.0.1", back.port().unwrap())).unwrap();
    write!(stream, "GET {}?{query} HTTP/1.1\r\nhost: x\r\n\r\n", back.path()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn signed_in(authority: &Authority, project: &Project) {
    let (child, page) = begun(authority, project, &[]);
    let asked = form(page.query().unwrap());
    let (back, state) = (value(&asked, "redirect_uri"), value(&asked, "state"));
    let answer = visit(&back, &format!("code=good-code&state={state}"));
    assert!(answer.contains("You are signed in"), "{answer}");
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
    let (back, state) = (value(&asked, "redirect_uri"), value(&asked, "state"));
    // Strangers do not disturb it.
    for query in ["code=good-code", "code=good-code&state=another", "state="] {
        assert!(visit(&back, query).starts_with("HTTP/1.1 400"), "{query}");
    }
    let _idle =
        TcpStream::connect(back.trim_start_matches("http://").trim_end_matches("/callback"));
    visit(&back, &format!("code=good-code&state={state}"));
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
    for (query, why) in [("error=access_denied", "access_denied"), ("code=bad", "no such code")] {
        let (child, page) = begun(&authority, &project, &[]);
        let asked = form(page.query().unwrap());
        visit(&value(&asked, "redirect_uri"), &format!("{query}&state={}", value(&asked, "state")));
        let ran = ended(child);
        assert_eq!(ran.code, Some(1), "{query}: {}", ran.stderr);
        assert!(ran.stderr.contains(why), "{query}: {}", ran.stderr);
    }
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
