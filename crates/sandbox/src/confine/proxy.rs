//! The way of a confined command to the network: a proxy that knows the hosts that may be reached.
//!
//! The command's network namespace has nothing but a loopback. The socket on which the proxy listens was made there and
//! handed out, so that this is the only way out of it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::thread;
use std::time::Duration;

use super::hosts::{HostPattern, allows, may_connect};

/// How long a request may take to arrive, and a connection to be made.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest head of a request.
const MAX_HEAD: usize = 32 * 1024;

/// Where a request wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    host: String,
    port: u16,
    /// What is sent to the server first; `None` for a tunnel.
    head: Option<Vec<u8>>,
}

/// What becomes of a request.
enum Served {
    /// It went through, or failed by itself.
    Done,
    /// The host is not allowed.
    Refused(String),
}

/// Serves one connection of a command. Refused hosts are told before the command hears of it.
pub(super) fn serve(client: &TcpStream, allowed: &[HostPattern], refused: &dyn Fn(String)) {
    // A connection that breaks off concerns nobody but the command.
    if let Ok(Served::Refused(host)) = handle(client, allowed, refused) {
        let text = format!(
            "ona: the sandbox does not allow {host}: add it to sandbox.network.allowedDomains\n"
        );
        let _ = answer(client, "403 Forbidden", &text);
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// Connects a command to a proxy of the user on this machine.
pub(super) fn pass_on(client: &TcpStream, port: u16) {
    if let Ok(server) = TcpStream::connect_timeout(&([127, 0, 0, 1], port).into(), PATIENCE) {
        copy_both(client, &server);
    }
    let _ = client.shutdown(Shutdown::Both);
}

fn handle(
    mut client: &TcpStream,
    allowed: &[HostPattern],
    refused: &dyn Fn(String),
) -> io::Result<Served> {
    client.set_read_timeout(Some(PATIENCE))?;
    let (head, rest) = read_head(client)?;
    let Some(wanted) = wanted(&head) else {
        answer(client, "400 Bad Request", "ona: this is not a request to a proxy\n")?;
        return Ok(Served::Done);
    };
    let name = format!("{}:{}", wanted.host, wanted.port);
    if !allows(allowed, &wanted.host) {
        refused(name.clone());
        return Ok(Served::Refused(name));
    }
    let addresses: Vec<SocketAddr> = match (wanted.host.as_str(), wanted.port).to_socket_addrs() {
        Ok(found) => found.collect(),
        Err(error) => {
            let text = format!("ona: {} cannot be resolved: {error}\n", wanted.host);
            answer(client, "502 Bad Gateway", &text)?;
            return Ok(Served::Done);
        }
    };
    let may = |address: &&SocketAddr| may_connect(allowed, &wanted.host, address.ip());
    let Some(server) = addresses
        .iter()
        .filter(may)
        .find_map(|address| TcpStream::connect_timeout(address, PATIENCE).ok())
    else {
        if let Some(address) = addresses.iter().find(|address| !may(address)) {
            let name = format!("{name} at {}", address.ip());
            refused(name.clone());
            return Ok(Served::Refused(name));
        }
        answer(client, "502 Bad Gateway", &format!("ona: {name} does not answer\n"))?;
        return Ok(Served::Done);
    };
    client.set_read_timeout(None)?;
    let mut to_server = &server;
    match &wanted.head {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        Some(head) => to_server.write_all(head)?,
    }
    to_server.write_all(&rest)?;
    copy_both(client, &server);
    Ok(Served::Done)
}

/// The head of a request, and what came behind it.
fn read_head(mut client: &TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((bytes, rest));
        }
        let count = client.read(&mut piece)?;
        if count == 0 || bytes.len() > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// Where a request wants to go: `CONNECT host:port`, or a method with a whole URL.
fn wanted(head: &[u8]) -> Option<Wanted> {
    let text = std::str::from_utf8(head).ok()?;
    let (line, fields) = text.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = host_and_port(target, None)?;
        return Some(Wanted { host, port, head: None });
    }
    let rest = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"))?;
    let rest = &target[rest.len()..];
    let (authority, path) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let (host, port) = host_and_port(authority, Some(80))?;
    let slash = if path.starts_with('?') { "/" } else { "" };
    let mut head = format!("{method} {slash}{path} {version}\r\nHost: {authority}\r\n");
    let hop = ["host", "connection", "keep-alive", "proxy-connection", "proxy-authorization"];
    for field in fields.split("\r\n").filter(|field| !field.is_empty()) {
        let name = field.split(':').next().unwrap_or_default();
        if !hop.iter().any(|hop| name.eq_ignore_ascii_case(hop)) {
            head.push_str(field);
            head.push_str("\r\n");
        }
    }
    // One request to one server.
    head.push_str("Connection: close\r\n\r\n");
    Some(Wanted { host, port, head: Some(head.into_bytes()) })
}

fn host_and_port(text: &str, usual: Option<u16>) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']')?;
            host.parse::<IpAddr>().ok()?;
            (host, rest.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => usual?,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    (!host.is_empty() && host.chars().all(plain)).then(|| (host.to_owned(), port))
}

fn answer(mut client: &TcpStream, status: &str, text: &str) -> io::Result<()> {
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

/// Copies in both directions until one side has ended both.
fn copy_both(client: &TcpStream, server: &TcpStream) {
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    thread::scope(|scope| {
        scope.spawn(|| copy(client, server));
        copy(server, client);
        // The server has ended: what the command still sends goes nowhere.
        let _ = client.shutdown(Shutdown::Read);
    });
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_request_says_where_it_wants_to_go() {
        let of = |text: &str| wanted(text.as_bytes());
        let tunnel = |host: &str, port| Some(Wanted { host: host.to_owned(), port, head: None });
        assert_eq!(of("CONNECT example.com:443 HTTP/1.1\r\n\r\n"), tunnel("example.com", 443));
        assert_eq!(of("CONNECT [::1]:443 HTTP/1.1\r\n\r\n"), tunnel("::1", 443));
        let plain = of(
            "GET http://a.example:8080?q=1 HTTP/1.1\r\nHost: other\r\nA: b\r\nConnection: keep-alive\r\n\r\n",
        );
        let head =
            "GET /?q=1 HTTP/1.1\r\nHost: a.example:8080\r\nA: b\r\nConnection: close\r\n\r\n";
        let wanted = Wanted { host: "a.example".into(), port: 8080, head: Some(head.into()) };
        assert_eq!(plain, Some(wanted));
        for odd in [
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
            "CONNECT a b:1 HTTP/1.1\r\n\r\n",
            "CONNECT a@b:1 HTTP/1.1\r\n\r\n",
            "GET ftp://x/ HTTP/1.1\r\n\r\n",
            "GET http://a\u{e9}/ HTTP/1.1\r\n\r\n",
            "CONNECT [evil]:1 HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }

    /// What the proxy answers to a request, and which hosts it has refused.
    fn asked(request: &str, allowed: &[&str]) -> (String, Vec<String>) {
        let allowed: Vec<HostPattern> = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let refused = Mutex::new(Vec::new());
        serve(&listener.accept().unwrap().0, &allowed, &|host| refused.lock().unwrap().push(host));
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        (said, refused.into_inner().unwrap())
    }

    #[test]
    fn only_listed_hosts_are_reached() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let serving = thread::spawn(move || {
            for _ in 0..2 {
                let (mut client, _) = server.accept().unwrap();
                let mut said = String::new();
                client.read_to_string(&mut said).unwrap();
                write!(client, "heard: {said}").unwrap();
            }
        });
        let (said, refused) = asked(
            &format!("GET http://localhost:{port}/x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            &["localhost"],
        );
        assert!(said.starts_with("heard: GET /x HTTP/1.1\r\nHost: localhost:"), "{said}");
        assert!(refused.is_empty());
        let tunnel = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello");
        let (said, _) = asked(&tunnel, &["127.0.0.1"]);
        assert_eq!(said, "HTTP/1.1 200 Connection established\r\n\r\nheard: hello");
        serving.join().unwrap();
        let (said, refused) = asked(&tunnel, &["example.com"]);
        assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
        assert!(said.contains("sandbox.network.allowedDomains"), "{said}");
        assert_eq!(refused, [format!("127.0.0.1:{port}")]);
    }

    #[test]
    fn a_name_below_an_allowed_one_does_not_lead_to_this_machine() {
        // `*` stands for whatever resolves; a name that leads to a loopback is not reached by it.
        let (said, refused) = asked("CONNECT localhost:1 HTTP/1.1\r\n\r\n", &["*"]);
        assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
        assert!(refused[0].starts_with("localhost:1 at "), "{refused:?}");
    }

    #[test]
    fn what_is_no_request_is_answered() {
        let (said, refused) = asked("nonsense\r\n\r\n", &["*"]);
        assert!(said.starts_with("HTTP/1.1 400 ") && refused.is_empty(), "{said}");
    }
}
