//! Signing in, with an authorization server of our own on loopback.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HOST, LOCATION, WWW_AUTHENTICATE};
use ona_mcp::{
    AuthorizeError, Browser, McpError, OauthClient, Pool, PoolOptions, Remote, ServerSpec,
    ServerState, TokenStore, Way, token_key,
};
use ona_types::{BoxError, ContentHash};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use url::Url;

use crate::web::{Answer, answer, body, empty, events, listen};
use crate::{Answers, call, quick, said, settled_with, spec, state};

/// What the authorization server knows.
#[derive(Default)]
struct Office {
    /// The challenge of the sign-in under way, and where it goes back to.
    challenge: Option<(String, String)>,
    /// What is good now.
    token: Option<String>,
    issued: usize,
    registered: usize,
    refreshed: usize,
    /// Each refresh token is good for one renewal: the last one counts.
    rotates: bool,
    refresh: String,
    /// Seconds that a token is good for.
    lasts: u64,
    /// The human says no.
    refuses: bool,
    /// The refresh token is worth nothing any more.
    revoked: bool,
    /// Nothing is said of where one signs in but at an address that only settings know.
    hidden: bool,
    /// What a client must prove to be to get tokens.
    secret: Option<&'static str>,
    /// Where a token is to be had, if that is elsewhere.
    token_endpoint: Option<&'static str>,
    /// The client ids and scopes that were asked with.
    asked: Vec<(String, String)>,
    /// The stream of the server that speaks HTTP+SSE.
    stream: Option<mpsc::UnboundedSender<String>>,
}

type Shared = Arc<Mutex<Office>>;

fn query(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// The server and its authorization server, at one address.
async fn serve(office: Shared) -> String {
    listen(move |request: Request<Incoming>| {
        let office = Arc::clone(&office);
        async move {
            let base = format!("http://{}", request.headers()[HOST].to_str().unwrap());
            let path = request.uri().path().to_owned();
            let asked = query(request.uri().query().unwrap_or_default());
            if path.starts_with("/.well-known/") && office.lock().unwrap().hidden {
                return empty(404);
            }
            match path.as_str() {
                "/.well-known/oauth-protected-resource/mcp"
                | "/.well-known/oauth-protected-resource/sse" => crate::web::json(&json!({
                    "resource": format!("{base}{}", &path[path.len() - 4..]),
                    "authorization_servers": [base],
                })),
                "/.well-known/oauth-authorization-server" | "/told" => crate::web::json(&json!({
                    "issuer": base,
                    "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": office.lock().unwrap().token_endpoint.map_or(format!("{base}/token"), str::to_owned),
                    "registration_endpoint": format!("{base}/register"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                })),
                "/register" => {
                    office.lock().unwrap().registered += 1;
                    let wanted: Value = serde_json::from_slice(&body(request).await).unwrap();
                    let uris = &wanted["redirect_uris"];
                    let mut made = json!({"client_id": "registered", "redirect_uris": uris});
                    if let Some((_, secret)) =
                        office.lock().unwrap().secret.and_then(|proof| proof.split_once(':'))
                    {
                        made["client_secret"] = json!(secret);
                    }
                    answer(201, "application/json", made.to_string())
                }
                "/authorize" => office.lock().unwrap().authorize(&asked),
                "/token" => {
                    let proof = office.lock().unwrap().secret;
                    let proof = proof.map(|proof| format!("Basic {}", STANDARD.encode(proof)));
                    let given = request.headers().get(AUTHORIZATION);
                    if given.map(|given| given.to_str().unwrap()) != proof.as_deref() {
                        let why = json!({"error": "invalid_client"});
                        return answer(401, "application/json", why.to_string());
                    }
                    let text = String::from_utf8(body(request).await).unwrap();
                    office.lock().unwrap().exchange(&query(&text))
                }
                "/open" => serve_open(request).await,
                "/mcp" | "/sse" | "/post" => serve_mcp(office, request, &base).await,
                _ => empty(404),
            }
        }
    })
    .await
}

impl Office {
    /// The page on which the human says yes; here that is no page, but the way back at once.
    fn authorize(&mut self, asked: &HashMap<String, String>) -> Answer {
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["code_challenge_method"], "S256");
        let back = &asked["redirect_uri"];
        self.challenge = Some((asked["code_challenge"].clone(), back.clone()));
        let scope = asked.get("scope").cloned().unwrap_or_default();
        self.asked.push((asked["client_id"].clone(), scope));
        let mut url = Url::parse(back).unwrap();
        let said: &[(&str, &str)] = match self.refuses {
            true => &[("error", "access_denied"), ("error_description", "not today")],
            false => &[("code", "the-code")],
        };
        url.query_pairs_mut().extend_pairs(said).append_pair("state", &asked["state"]);
        let mut back = empty(302);
        back.headers_mut().insert(LOCATION, url.as_str().parse().unwrap());
        back
    }

    fn exchange(&mut self, asked: &HashMap<String, String>) -> Answer {
        let refused = |why| answer(400, "application/json", json!({"error": why}).to_string());
        match asked["grant_type"].as_str() {
            "authorization_code" => {
                let (challenge, back) = self.challenge.take().unwrap();
                let hex = ContentHash::of(asked["code_verifier"].as_bytes());
                let bytes: Vec<u8> = (0..32)
                    .map(|n| u8::from_str_radix(&hex.as_str()[2 * n..2 * n + 2], 16).unwrap())
                    .collect();
                let proven = URL_SAFE_NO_PAD.encode(bytes) == challenge;
                if !proven || asked["code"] != "the-code" || asked["redirect_uri"] != back {
                    return refused("invalid_grant");
                }
            }
            "refresh_token" if self.revoked => return refused("invalid_grant"),
            "refresh_token" => {
                if asked["refresh_token"] != self.refresh() {
                    return refused("invalid_grant");
                }
                self.refreshed += 1;
                if self.rotates {
                    self.refresh = format!("refresh-{}", self.refreshed);
                }
            }
            other => panic!("{other}"),
        }
        self.issued += 1;
        let token = format!("token-{}", self.issued);
        self.token = Some(token.clone());
        crate::web::json(&json!({
            "access_token": token, "token_type": "Bearer", "expires_in": self.lasts,
            "refresh_token": self.refresh(),
        }))
    }

    fn refresh(&self) -> String {
        if self.refresh.is_empty() { "refresh".to_owned() } else { self.refresh.clone() }
    }
}

/// A server that is there for everybody.
async fn serve_open(request: Request<Incoming>) -> Answer {
    let message: Value = match serde_json::from_slice(&body(request).await) {
        Ok(message) => message,
        Err(_) => return empty(405),
    };
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "serverInfo": {"name": "open", "version": "1"},
        }),
        _ => return empty(202),
    };
    crate::web::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// The server: whoever has no good token is sent away.
async fn serve_mcp(office: Shared, request: Request<Incoming>, base: &str) -> Answer {
    let given =
        request.headers().get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    let good = office.lock().unwrap().token.as_ref().map(|token| format!("Bearer {token}"));
    if good.is_none() || given != good {
        let mut away = empty(401);
        let said = format!(
            "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource{}\", scope=\"use\"",
            request.uri().path(),
        );
        away.headers_mut().insert(WWW_AUTHENTICATE, said.parse().unwrap());
        return away;
    }
    let by_stream = request.uri().path() == "/post";
    if request.method() == "GET" {
        if request.uri().path() == "/mcp" {
            return empty(405);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        sender.send("event: endpoint\ndata: /post\n\n".to_owned()).unwrap();
        office.lock().unwrap().stream = Some(sender);
        return events(receiver);
    }
    let message: Value = serde_json::from_slice(&body(request).await).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "guarded", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": given.unwrap()}]}),
        _ => return empty(202),
    };
    let said = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    if by_stream {
        let stream = office.lock().unwrap().stream.clone().unwrap();
        stream.send(format!("data: {said}\n\n")).unwrap();
        return empty(202);
    }
    crate::web::json(&said)
}

/// Keeps tokens in memory, with a lock for renewals.
#[derive(Default)]
struct Drawer(Mutex<HashMap<String, String>>, Arc<tokio::sync::Mutex<()>>);

impl TokenStore for Drawer {
    fn load(&self, key: &str) -> Result<Option<String>, BoxError> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    fn save(&self, key: &str, secret: &str) -> Result<(), BoxError> {
        self.0.lock().unwrap().insert(key.to_owned(), secret.to_owned());
        Ok(())
    }

    fn forget(&self, key: &str) -> Result<(), BoxError> {
        self.0.lock().unwrap().remove(key);
        Ok(())
    }

    fn lock(&self, _key: &str) -> Result<Option<Box<dyn Send>>, BoxError> {
        Ok(Some(Box::new(Arc::clone(&self.1).blocking_lock_owned())))
    }
}

/// A browser whose human says yes to everything; before that a stranger comes with a state of their own.
#[derive(Default)]
struct Human {
    pages: Mutex<Vec<String>>,
}

impl Browser for Human {
    fn open(&self, url: &str) -> std::io::Result<()> {
        self.pages.lock().unwrap().push(url.to_owned());
        let page = Url::parse(url).unwrap();
        let back = query(page.query().unwrap())["redirect_uri"].clone();
        tokio::spawn(async move {
            let forged = reqwest::get(format!("{back}?code=stolen&state=forged")).await.unwrap();
            assert_eq!(forged.status(), 400);
            let elsewhere = reqwest::get(back.replace("/callback", "/")).await.unwrap();
            assert_eq!(elsewhere.status(), 404);
            let shown = reqwest::get(page).await.unwrap();
            assert_eq!(shown.status(), 200);
        });
        Ok(())
    }
}

struct Scene {
    office: Shared,
    base: String,
    drawer: Arc<Drawer>,
}

impl Scene {
    async fn new(lasts: u64) -> Self {
        let office = Shared::default();
        office.lock().unwrap().lasts = lasts;
        let base = serve(Arc::clone(&office)).await;
        Self { office, base, drawer: Arc::default() }
    }

    fn spec(&self, oauth: Option<OauthClient>) -> ServerSpec {
        let url = format!("{}/mcp", self.base);
        spec("s", Way::Http(Remote { url, oauth, ..Remote::default() }))
    }

    async fn pool(&self, spec: ServerSpec) -> Pool {
        let tokens: Arc<dyn TokenStore> = Arc::<Drawer>::clone(&self.drawer);
        let options = PoolOptions { tokens: Some(tokens), ..quick() };
        settled_with(vec![spec], Arc::new(Answers::default()), options).await
    }

    fn office(&self) -> std::sync::MutexGuard<'_, Office> {
        self.office.lock().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_human_signs_in_once() {
    let scene = Scene::new(3600).await;
    let pool = scene.pool(scene.spec(None)).await;
    assert_eq!(state(&pool, "s"), ServerState::NeedsAuth, "{:?}", pool.statuses());
    let refused = call(&pool, "echo", "").await.unwrap_err();
    assert_eq!(refused, McpError::NeedsAuth { server: "s".into() });

    let status = pool.authorize("s", &Human::default()).await.unwrap();
    assert_eq!(status.state, ServerState::Connected, "{status:?}");
    assert_eq!(said(&pool, "echo", "").await, "Bearer token-1");
    assert_eq!(scene.office().asked, [("registered".to_owned(), "use".to_owned())]);
    let key = token_key("s", &format!("{}/mcp", scene.base));
    assert!(scene.drawer.load(&key).unwrap().unwrap().contains("token-1"));
    pool.close().await;

    let pool = scene.pool(scene.spec(None)).await;
    assert_eq!(state(&pool, "s"), ServerState::Connected, "the next session is signed in");
    assert_eq!(said(&pool, "echo", "").await, "Bearer token-1");
    assert_eq!(scene.office().registered, 1);
    assert_eq!(scene.office().refreshed, 0);

    let status = pool.sign_out("s").await.unwrap();
    assert_eq!(status.state, ServerState::NeedsAuth, "{status:?}");
    assert_eq!(scene.drawer.load(&key).unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_renewed_until_that_is_over() {
    // Good for less than is left as a margin: each is renewed before it is used.
    let scene = Scene::new(5).await;
    let pool = scene.pool(scene.spec(None)).await;
    pool.authorize("s", &Human::default()).await.unwrap();
    said(&pool, "echo", "").await;
    assert!(scene.office().refreshed > 0);

    // One that the server will not have any more, whatever was said of how long it is good.
    scene.office().lasts = 3600;
    said(&pool, "echo", "").await;
    let before = scene.office().refreshed;
    scene.office().token = Some("another".to_owned());
    let renewed = said(&pool, "echo", "").await;
    assert!(renewed.starts_with("Bearer token-"), "{renewed}");
    assert_eq!(scene.office().refreshed, before + 1);

    scene.office().revoked = true;
    scene.office().token = None;
    let refused = call(&pool, "echo", "").await.unwrap_err();
    assert_eq!(refused, McpError::NeedsAuth { server: "s".into() });
    crate::until(&pool, |pool| state(pool, "s") == ServerState::NeedsAuth).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_renew_at_once_renew_once() {
    let scene = Scene::new(5).await;
    scene.office().rotates = true;
    let pool = scene.pool(scene.spec(None)).await;
    pool.authorize("s", &Human::default()).await.unwrap();
    pool.close().await;
    // Before it ends, and once the server refuses it.
    for lasts in [3600, 3600] {
        let before = scene.office().refreshed;
        scene.office().lasts = lasts;
        let pools = tokio::join!(
            scene.pool(scene.spec(None)),
            scene.pool(scene.spec(None)),
            scene.pool(scene.spec(None))
        );
        for pool in [&pools.0, &pools.1, &pools.2] {
            assert_eq!(state(pool, "s"), ServerState::Connected, "{:?}", pool.statuses());
        }
        assert_eq!(scene.office().refreshed, before + 1);
        for pool in [pools.0, pools.1, pools.2] {
            pool.close().await;
        }
        scene.office().token = Some("another".to_owned());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_known_is_not_registered() {
    let scene = Scene::new(3600).await;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let client = OauthClient {
        client_id: Some("by-hand".into()),
        client_secret: Some("s3cret".into()),
        callback_port: Some(port),
        scopes: vec!["read".into(), "write".into()],
        metadata_url: None,
    };
    scene.office().secret = Some("by-hand:s3cret");
    let pool = scene.pool(scene.spec(Some(client))).await;
    let human = Human::default();
    pool.authorize("s", &human).await.unwrap();
    let page = Url::parse(&human.pages.lock().unwrap()[0]).unwrap();
    let asked = query(page.query().unwrap());
    assert_eq!(asked["redirect_uri"], format!("http://localhost:{port}/callback"));
    assert_eq!(scene.office().asked, [("by-hand".to_owned(), "read write".to_owned())]);
    assert_eq!(scene.office().registered, 0);
    assert_eq!(state(&pool, "s"), ServerState::Connected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_secret_renews_its_tokens_with_it() {
    let scene = Scene::new(3600).await;
    scene.office().secret = Some("registered:s3cret");
    let pool = scene.pool(scene.spec(None)).await;
    pool.authorize("s", &Human::default()).await.unwrap();
    pool.close().await;
    scene.office().token = Some("another".to_owned());
    for _ in 0..2 {
        let pool = scene.pool(scene.spec(None)).await;
        assert_eq!(state(&pool, "s"), ServerState::Connected, "{:?}", pool.statuses());
        pool.close().await;
        scene.office().token = Some("another".to_owned());
    }
    assert_eq!(scene.office().refreshed, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_signs_in_where_others_could_read_along() {
    let scene = Scene::new(3600).await;
    let pool = scene.pool(scene.spec(None)).await;
    pool.authorize("s", &Human::default()).await.unwrap();
    pool.close().await;
    scene.office().token_endpoint = Some("http://sign-in.example/token?x=s3cret");
    let human = Human::default();
    let pool = scene.pool(scene.spec(None)).await;
    let why = crate::failure(&pool, "s");
    let refused = pool.authorize("s", &human).await.unwrap_err().to_string();
    for said in [why, refused] {
        let part =
            "its token_endpoint is `http://sign-in.example/token`, which must begin with https://";
        assert!(said.contains(part) && !said.contains("s3cret"), "{said}");
    }
    assert!(human.pages.lock().unwrap().is_empty(), "nobody was sent anywhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_say_where_the_authorization_server_tells_of_itself() {
    let scene = Scene::new(3600).await;
    scene.office().hidden = true;
    let told = |path: &str| {
        let metadata_url = Some(format!("{}{path}", scene.base));
        Some(OauthClient { metadata_url, ..OauthClient::default() })
    };
    let pool = scene.pool(scene.spec(told("/elsewhere"))).await;
    let nowhere = pool.authorize("s", &Human::default()).await.unwrap_err().to_string();
    assert!(nowhere.contains("/elsewhere: ") && nowhere.contains("404"), "{nowhere}");
    let pool = scene.pool(scene.spec(told("/told"))).await;
    pool.authorize("s", &Human::default()).await.unwrap();
    assert_eq!(said(&pool, "echo", "").await, "Bearer token-1");
    pool.close().await;
    let pool = scene.pool(scene.spec(told("/told"))).await;
    assert_eq!(said(&pool, "echo", "").await, "Bearer token-1", "the next session knows it too");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_nobody_is_not_signed_in_to() {
    let scene = Scene::new(3600).await;
    scene.office().hidden = true;
    let url = format!("{}/open", scene.base);
    let pool = scene.pool(spec("s", Way::Http(Remote { url, ..Remote::default() }))).await;
    assert_eq!(state(&pool, "s"), ServerState::Connected, "{:?}", pool.statuses());
    let human = Human::default();
    let refused = pool.authorize("s", &human).await.unwrap_err();
    assert_eq!(refused, AuthorizeError::NotNeeded("s".into()));
    assert!(human.pages.lock().unwrap().is_empty(), "nobody was sent anywhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_one_stream_is_signed_in_to_as_well() {
    let scene = Scene::new(3600).await;
    let url = format!("{}/sse", scene.base);
    let old = spec("s", Way::Sse(Remote { url, ..Remote::default() }));
    let pool = scene.pool(old).await;
    assert_eq!(state(&pool, "s"), ServerState::NeedsAuth, "{:?}", pool.statuses());
    let status = pool.authorize("s", &Human::default()).await;
    let status = status.unwrap();
    assert_eq!(status.state, ServerState::Connected, "{status:?}");
    assert_eq!(said(&pool, "echo", "").await, "Bearer token-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_that_fails_says_why() {
    struct Closed;
    impl Browser for Closed {
        fn open(&self, _url: &str) -> std::io::Result<()> {
            Err(std::io::Error::other("there is none"))
        }
    }
    let scene = Scene::new(3600).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let client = OauthClient { callback_port: Some(port), ..OauthClient::default() };
    let pool = scene.pool(scene.spec(Some(client))).await;
    let occupied = pool.authorize("s", &Human::default()).await.unwrap_err();
    assert!(matches!(occupied, AuthorizeError::Port { port: at, .. } if at == port), "{occupied}");
    drop(taken);
    let unseen = pool.authorize("s", &Closed).await.unwrap_err();
    assert_eq!(unseen, AuthorizeError::Browser("there is none".into()));
    scene.office().refuses = true;
    let denied = pool.authorize("s", &Human::default()).await.unwrap_err();
    assert_eq!(denied, AuthorizeError::Denied("access_denied: not today".into()));
    assert_eq!(state(&pool, "s"), ServerState::NeedsAuth);

    let pool = crate::settled(vec![crate::fixture("s", &["--die"])]).await;
    let local = pool.authorize("s", &Human::default()).await.unwrap_err();
    assert_eq!(local, AuthorizeError::NotRemote("s".into()));
}
