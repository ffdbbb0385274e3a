//! Ways to a server: paths, headers, sockets, proxies.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ona_provider::scripted::{Reply, Script, Server};
use ona_provider::{FailureWord, ProviderKind, Proxies, Retry, Transport};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::{BOTH, Pair, client_by, quick, request};

#[tokio::test]
async fn a_base_url_may_have_a_path_and_headers_of_its_own() {
    for provider in BOTH {
        for slash in ["", "/"] {
            let pair = Pair::with(provider, [Reply::say("yes")], quick(), |transport| {
                transport.base_url.push_str("/gate/way");
                transport.base_url.push_str(slash);
                transport.headers =
                    [("X-Team", "ona"), ("User-Agent", "mine/1"), ("X-Api-Key", "own")]
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .into();
            });
            assert_eq!(pair.text().await, ("yes".to_owned(), 1));
            let seen = &pair.server.requests()[0];
            let tail = if provider == BOTH[0] {
                "/gate/way/v1/messages"
            } else {
                "/v1/gate/way/chat/completions"
            };
            assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", tail));
            let header = |name: &str| seen.header(name);
            assert_eq!(header("x-team"), Some("ona"));
            assert_eq!(header("user-agent"), Some("mine/1"));
            assert_eq!(header("x-api-key"), Some("own"));
            assert_eq!(header("content-type"), Some("application/json"));
        }
    }
}

#[tokio::test]
async fn a_unix_socket_stands_in_for_the_address() {
    for provider in BOTH {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.sock");
        let server = Server::start_on_socket(&path, [Reply::say("through a socket")]).unwrap();
        let mut transport = Transport::to("http://api.example/v1");
        // A proxy is not for sockets.
        transport.proxies.http = Some("http://127.0.0.1:9".to_owned());
        transport.unix_socket = Some(path);
        let client = client_by(provider, &transport, quick());
        let answer =
            client.ask(&request(provider), &mut |_| (), &CancellationToken::new()).await.unwrap();
        assert_eq!(answer.text(), "through a socket");
        assert_eq!(server.requests()[0].header("host"), Some("api.example"));
    }
}

/// A proxy that passes one request after the other on, and notes what it was asked for. A tunnel it refuses.
async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&notes);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                let mut from_client = BufReader::new(stream);
                let mut first = String::new();
                from_client.read_line(&mut first).await.unwrap();
                noted.lock().unwrap().push(first.trim().to_owned());
                let target = first.split(' ').nth(1).and_then(|url| url.strip_prefix("http://"));
                let Some(target) = target.and_then(|rest| rest.split('/').next()) else {
                    let refusal = b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
                    from_client.write_all(refusal).await.unwrap();
                    return;
                };
                let mut to_server = TcpStream::connect(target).await.unwrap();
                to_server.write_all(first.as_bytes()).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut from_client, &mut to_server).await;
            });
        }
    });
    (address, notes)
}

#[tokio::test]
async fn a_proxy_is_used_where_it_is_named_and_not_where_it_is_not() {
    for provider in BOTH {
        let (address, notes) = proxy().await;
        let by = |proxies: Proxies| {
            Pair::with(provider, [Reply::say("yes")], quick(), |transport| {
                transport.proxies = proxies
            })
        };
        // As people write it, without a scheme.
        let pair = by(Proxies { http: Some(address.clone()), ..Proxies::default() });
        assert_eq!(pair.text().await, ("yes".to_owned(), 1));
        let asked = notes.lock().unwrap().drain(..).collect::<Vec<_>>();
        assert_eq!(asked.len(), 1);
        assert!(asked[0].starts_with(&format!("POST {}/", pair.server.base_url())), "{asked:?}");

        for none_for in ["127.0.0.1", "*", "example.org,127.0.0.0/8"] {
            let http = Some(format!("http://{address}"));
            let pair = by(Proxies { http, none_for: Some(none_for.to_owned()), https: None });
            assert_eq!(pair.text().await, ("yes".to_owned(), 1));
        }
        let https_only = Proxies { https: Some(format!("http://{address}")), ..Proxies::default() };
        assert_eq!(by(https_only).text().await, ("yes".to_owned(), 1));
        assert!(notes.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_secure_address_is_tunnelled_through_its_proxy() {
    let (address, notes) = proxy().await;
    let mut transport = Transport::to("https://api.example");
    transport.proxies.https = Some(format!("http://me:hunter22@{address}"));
    let provider = ProviderKind::ClaudeCodeSubscription;
    let client = client_by(provider, &transport, Retry { max_retries: 0, ..quick() });
    let error =
        client.ask(&request(provider), &mut |_| (), &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.word(), Some(FailureWord::Unknown));
    assert!(!error.to_string().contains("hunter22"), "{error}");
    assert_eq!(*notes.lock().unwrap(), ["CONNECT api.example:443 HTTP/1.1"]);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let (address, notes) = proxy().await;
    let proxies = Proxies { http: Some(address), ..Proxies::default() };
    // The end of the response comes a little after that of the answer.
    let script = Script::choose(|_| Reply::say("again").slow(Duration::from_millis(1)));
    let pair = Pair::with(BOTH[0], script, quick(), |transport| transport.proxies = proxies);
    for asked in 1..=20 {
        assert_eq!(pair.text().await, ("again".to_owned(), asked));
    }
    assert!(notes.lock().unwrap().len() < 20, "{notes:?}");
}
