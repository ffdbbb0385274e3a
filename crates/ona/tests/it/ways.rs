//! Ways to a model server, through the variables that name them: sockets, proxies, authorities, headers, paths.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use ona_provider::scripted::{Reply, Script, Server};
use ona_testkit::run;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::print::anthropic;
use crate::project;
use crate::secrets::record;

pub const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../provider/fixtures/ca.pem");

#[test]
fn a_unix_socket_stands_in_for_the_address() {
    let project = project();
    let path = project.path("model.sock");
    let server = Server::start_on_socket(&path, [Reply::say("through a socket")]).unwrap();
    let mut command = project.ona(["-p", "go"]);
    command
        .env("ANTHROPIC_API_KEY", "sk-test-key-of-this-test")
        .env("ANTHROPIC_BASE_URL", "http://api.example/gate")
        .env("ANTHROPIC_UNIX_SOCKET", &path)
        // A proxy is not for sockets.
        .env("HTTP_PROXY", "http://127.0.0.1:9");
    let ran = run(&mut command);
    assert_eq!(ran.stdout, "through a socket\n", "{}", ran.stderr);
    let asked = &server.requests()[0];
    assert_eq!(
        (asked.header("host"), asked.path.as_str()),
        (Some("api.example"), "/gate/v1/messages")
    );
    drop(server);
    std::fs::remove_file(&path).unwrap();
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("the unix socket") && ran.stderr.contains("No such file"),
        "{}",
        ran.stderr
    );
}

#[test]
fn headers_and_paths_of_ones_own() {
    let project = project();
    let server = Server::start([Reply::say("yes"), Reply::say("yes")]).unwrap();
    let mut command = anthropic(&project, &server, &["-p", "go"]);
    command
        .env("ANTHROPIC_BASE_URL", format!("{}/gate/way/", server.base_url()))
        .env("ANTHROPIC_CUSTOM_HEADERS", "X-Team: ona\n\nX-Route: a: b\nUser-Agent: mine/1");
    assert_eq!(run(&mut command).code, Some(0));
    let asked = server.requests();
    assert_eq!(asked[0].path, "/gate/way/v1/messages");
    for (name, value) in [
        ("x-team", "ona"),
        ("x-route", "a: b"),
        ("user-agent", "mine/1"),
        ("x-api-key", "sk-test-key-of-this-test"),
    ] {
        assert_eq!(asked[0].header(name), Some(value), "{name}");
    }
    // A token wins over a key, and goes where tokens go.
    let mut command = anthropic(&project, &server, &["-p", "go"]);
    run(command.env("ANTHROPIC_AUTH_TOKEN", "token-of-this-test"));
    let asked = server.requests();
    assert_eq!(asked[1].header("authorization"), Some("Bearer token-of-this-test"));
    assert_eq!(asked[1].header("x-api-key"), None);
    for (headers, why) in [
        ("no colon", "has a line without a colon"),
        ("a b: c", "the custom header `a b` cannot be sent"),
    ] {
        let ran = run(command.env("ANTHROPIC_CUSTOM_HEADERS", headers));
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_headers_and_addresses_hold_is_not_shown() {
    let project = project();
    let script = Script::choose(|request| {
        let sent = ["x-gateway", "x-team", "accept"].map(|name| request.header(name).unwrap_or(""));
        match request.last_said().as_str() {
            "fail" => Reply::error(400, "invalid_request_error", &sent.join(" ")),
            _ => Reply::say(sent.join(" ")),
        }
    });
    let server = Server::start(script).unwrap();
    let headers =
        "X-Gateway: Scheme of-this-gateway-1\nX-Team: platform\nAccept: text/event-stream";
    let turn = |prompt: &str| {
        let mut command = anthropic(&project, &server, &["-p", prompt, "--debug"]);
        run(command.env("ANTHROPIC_CUSTOM_HEADERS", headers))
    };
    let failed = turn("fail");
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("[secret]"), "{}", failed.stderr);
    let answered = turn("go");
    // What is told of everywhere is not masked everywhere.
    assert_eq!(answered.stdout, "[REDACTED:live] platform text/event-stream\n");
    for (url, why) in [
        ("http://me:of-this-gateway-1@localhost", "`http://…@localhost` cannot be used"),
        ("http://localhost/?k=of-this-gateway-1", "`http://localhost/?…` cannot be used"),
    ] {
        let mut command = anthropic(&project, &server, &["-p", "go"]);
        let ran = run(command.env("ANTHROPIC_BASE_URL", url));
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        assert!(!ran.stderr.contains("of-this-gateway-1"), "{}", ran.stderr);
    }
    let mut command = anthropic(&project, &server, &["-p", "go"]);
    let ran = run(command.env("ANTHROPIC_CUSTOM_HEADERS", "of-this-gateway-1"));
    let shown = [failed.stderr, answered.stderr, ran.stderr, record(&project)].concat();
    assert!(!shown.contains("of-this-gateway-1"), "{shown}");
}

/// Serves every connection with `serve`; the address.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, serve) = (stream.unwrap(), Arc::clone(&serve));
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Passes bytes both ways until one side has no more.
fn join(one: TcpStream, other: TcpStream) {
    let (mut from, mut to) = (one.try_clone().unwrap(), other.try_clone().unwrap());
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let (mut from, mut to) = (other, one);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Write);
}

/// A proxy for both kinds of addresses; it notes what it was asked for, head and all.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&notes);
    let address = listen(move |stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap() > 2 {}
        noted.lock().unwrap().push(head.clone());
        let target = head.split(' ').nth(1).unwrap();
        let host = target.trim_start_matches("http://").split('/').next().unwrap();
        let mut server = TcpStream::connect(host).unwrap();
        if head.starts_with("CONNECT ") {
            (&stream).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
        } else {
            server.write_all(head.as_bytes()).unwrap();
            server.write_all(reader.buffer()).unwrap();
        }
        join(stream, server);
    });
    (address, notes)
}

/// Takes the encryption off what comes in, one request a connection, and passes it on.
pub fn secured(server: &Server) -> String {
    let chain =
        CertificateDer::from_pem_slice(include_bytes!("../../../provider/fixtures/server.pem"));
    let key =
        PrivateKeyDer::from_pem_slice(include_bytes!("../../../provider/fixtures/server.key"));
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![chain.unwrap()], key.unwrap())
        .unwrap();
    let config = Arc::new(config);
    let target = server.base_url().trim_start_matches("http://").to_owned();
    let address = listen(move |stream| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut secured = BufReader::new(StreamOwned::new(session, stream));
        let mut head = String::new();
        loop {
            match secured.read_line(&mut head) {
                Ok(length) if length > 2 => {}
                Ok(_) => break,
                // A client that does not trust us is gone by now.
                Err(_) => return,
            }
        }
        let length = head
            .to_lowercase()
            .split("content-length: ")
            .nth(1)
            .map(|rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
        let mut body = vec![0; length.unwrap_or(0)];
        secured.read_exact(&mut body).unwrap();
        let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        let mut server = TcpStream::connect(&target).unwrap();
        server.write_all(head.as_bytes()).unwrap();
        server.write_all(&body).unwrap();
        let mut answer = Vec::new();
        server.read_to_end(&mut answer).unwrap();
        let secured = secured.get_mut();
        secured.write_all(&answer).unwrap();
        secured.conn.send_close_notify();
        let _ = secured.flush();
    });
    format!("https://{address}")
}

#[test]
fn an_authority_of_ones_own_is_trusted_and_a_stranger_is_not() {
    let project = project();
    let server = Server::start([Reply::say("in private")]).unwrap();
    let address = secured(&server);
    let mut command = anthropic(&project, &server, &["-p", "go"]);
    command.env("ANTHROPIC_BASE_URL", &address);
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("certificate"), "{}", ran.stderr);
    assert!(server.requests().is_empty());
    let ran = run(command.env("NODE_EXTRA_CA_CERTS", AUTHORITY));
    assert_eq!(ran.stdout, "in private\n", "{}", ran.stderr);
    let file = project.file("no.pem", "nothing");
    for (file, why) in [("/none.pem", "No such file"), (file.as_str(), "no PEM certificate")] {
        let ran = run(command.env("NODE_EXTRA_CA_CERTS", file));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}

#[test]
fn proxies_are_used_for_the_addresses_they_are_named_for() {
    let project = project();
    let server = Server::start(vec![Reply::say("yes"); 5]).unwrap();
    let (address, notes) = proxy();
    let asked = |set: &[(&str, &str)]| {
        let mut command = anthropic(&project, &server, &["-p", "go"]);
        command.env("NODE_EXTRA_CA_CERTS", AUTHORITY).envs(set.iter().copied());
        let ran = run(&mut command);
        assert_eq!(ran.stdout, "yes\n", "{set:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
        std::mem::take(&mut *notes.lock().unwrap())
    };
    // As people write it, without a scheme; and in small letters.
    for name in ["HTTP_PROXY", "http_proxy"] {
        let heads = asked(&[(name, &address)]);
        assert!(
            heads[0].starts_with(&format!("POST {}/v1/messages ", server.base_url())),
            "{heads:?}"
        );
    }
    let direct = asked(&[("HTTP_PROXY", &address), ("NO_PROXY", "example.org,127.0.0.1")]);
    assert_eq!(direct, [""; 0]);
    assert_eq!(asked(&[("HTTPS_PROXY", &address)]), [""; 0], "that is for https://");
    // What is secure goes through a tunnel: the proxy learns the place, and its own credential.
    let secure = secured(&server);
    let tunnel = format!("http://me:hunter2@{address}");
    let heads = asked(&[("HTTPS_PROXY", &tunnel), ("ANTHROPIC_BASE_URL", &secure)]);
    let place = secure.trim_start_matches("https://");
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with(&format!("CONNECT {place} HTTP/1.1\r\n")), "{heads:?}");
    let head = heads[0].to_lowercase();
    assert!(
        head.contains("proxy-authorization: basic ") && !head.contains("x-api-key"),
        "{heads:?}"
    );
}
