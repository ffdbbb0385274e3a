//! An authorization server (OAuth 2.0 with PKCE) on loopback, and a browser that goes there and comes back.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

/// The code that every human gets who agrees.
const CODE: &str = "good-code";

/// What the server was told, and what it says.
#[derive(Default)]
pub struct Office {
    /// Seconds that a token is good for.
    pub lasts: u64,
    /// What it answers to a renewal, if not with a token.
    pub refuses: Option<(u16, &'static str)>,
    /// It takes requests for tokens and never answers.
    pub silent: bool,
    /// It takes requests for tokens, and answers when this is false again.
    pub waits: bool,
    /// Tokens come without a refresh token.
    pub no_refresh: bool,
    /// The status of its answers to requests for tokens; another one than 200 comes without words.
    pub status: u16,
    /// Renewed tokens come without a refresh token.
    pub keeps_refresh: bool,
    /// It answers a revocation with an error.
    pub cannot_revoke: bool,
    /// The human says no.
    pub denies: bool,
    /// The access token, instead of one with a number.
    pub access: Option<String>,
    /// How many tokens were renewed.
    pub renewals: usize,
    /// The forms that came to the token endpoint.
    pub asked: Vec<String>,
    /// The forms that came to the revocation endpoint.
    pub revoked: Vec<String>,
    /// The refresh token that is good now.
    refresh: String,
    /// Of the last request of a browser.
    challenge: String,
}

/// The server. It ends with the process.
pub struct Authority {
    /// Where it is, without a path.
    pub address: String,
    office: Arc<Mutex<Office>>,
}

impl Authority {
    /// Starts one whose tokens are good for so many seconds.
    pub fn start(lasts: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let office = Arc::new(Mutex::new(Office { lasts, status: 200, ..Office::default() }));
        let served = Arc::clone(&office);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let office = Arc::clone(&served);
                std::thread::spawn(move || serve(stream, &office));
            }
        });
        Self { address, office }
    }

    /// What it was told, and what it will say.
    pub fn office(&self) -> MutexGuard<'_, Office> {
        self.office.lock().unwrap()
    }

    /// A command that knows the server, and has a browser that does nothing.
    pub fn known_to(&self, mut command: Command) -> Command {
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

/// The pairs of a form or a query.
pub fn form(text: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// One value of it; empty if it is not there.
pub fn value(pairs: &[(String, String)], name: &str) -> String {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap_or_default()
}

/// What a page on loopback answers, with its head.
pub fn visit(page: &Url) -> String {
    let (host, port) = (page.host_str().unwrap(), page.port().unwrap());
    let mut stream = TcpStream::connect((host, port)).unwrap();
    let query = page.query().map(|query| format!("?{query}")).unwrap_or_default();
    write!(stream, "GET {}{query} HTTP/1.1\r\nhost: x\r\n\r\n", page.path()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Opens the page of a sign-in, as a browser does, and the page that it leads back to.
pub fn browse(page: &Url) -> String {
    let answer = visit(page);
    let back = answer.lines().find_map(|line| line.strip_prefix("location: "));
    visit(&Url::parse(back.unwrap_or_else(|| panic!("{answer}"))).unwrap())
}

fn serve(mut stream: TcpStream, shared: &Mutex<Office>) {
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
    let mut words = head.split_whitespace().skip(1);
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut office = shared.lock().unwrap();
    let (status, location, answer) = match path {
        "/authorize" => (302, authorized(&form(query), &mut office), json!({})),
        "/revoke" => {
            office.revoked.push(body);
            (if office.cannot_revoke { 500 } else { 200 }, String::new(), json!({}))
        }
        _ => {
            office.asked.push(body.clone());
            if office.silent {
                // Until whoever asked has had enough.
                drop(office);
                let _ = reader.read(&mut [0]);
                return;
            }
            while office.waits {
                drop(office);
                std::thread::yield_now();
                office = shared.lock().unwrap();
            }
            let (status, answer) = token(&form(&body), &mut office);
            (status, String::new(), answer)
        }
    };
    drop(office);
    let answer = answer.to_string();
    let location = match location.as_str() {
        "" => String::new(),
        location => format!("location: {location}\r\n"),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\n{location}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
}

/// Where the browser is sent.
fn authorized(asked: &[(String, String)], office: &mut Office) -> String {
    assert_eq!(value(asked, "code_challenge_method"), "S256");
    office.challenge = value(asked, "code_challenge");
    let mut back = Url::parse(&value(asked, "redirect_uri")).unwrap();
    let (name, answer) = if office.denies { ("error", "access_denied") } else { ("code", CODE) };
    back.query_pairs_mut().append_pair(name, answer).append_pair("state", &value(asked, "state"));
    back.into()
}

fn token(asked: &[(String, String)], office: &mut Office) -> (u16, Value) {
    if office.status != 200 {
        return (office.status, Value::Null);
    }
    let renews = value(asked, "grant_type") == "refresh_token";
    if renews {
        if let Some((status, error)) = office.refuses {
            return (status, json!({"error": error}));
        }
        if value(asked, "refresh_token") != office.refresh {
            return (400, json!({"error": "invalid_grant"}));
        }
        office.renewals += 1;
    } else {
        let proof = Sha256::digest(value(asked, "code_verifier"));
        let proven = URL_SAFE_NO_PAD.encode(proof) == office.challenge;
        if value(asked, "code") != CODE || !proven {
            return (400, json!({"error": "invalid_request", "error_description": "no such code"}));
        }
    }
    let numbered = || format!("access-secret-{}", office.renewals);
    let mut answer = json!({
        "access_token": office.access.clone().unwrap_or_else(numbered), "token_type": "Bearer",
        "expires_in": office.lasts, "account": {"email_address": "who@x.example"},
    });
    if !(office.no_refresh || renews && office.keeps_refresh) {
        office.refresh = format!("refresh-secret-{}", office.renewals);
        answer["refresh_token"] = office.refresh.as_str().into();
    }
    (200, answer)
}
