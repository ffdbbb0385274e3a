//! A web site on loopback: real HTTP, said byte by byte, so that it can misbehave in every way.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use ona_testkit::Project;
use serde_json::{Value, json};

/// A question as the site heard it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `GET /path?query`, without the version.
    pub line: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }
}

/// The site; it goes on until the test has ended.
pub struct Site {
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    /// Answers each question on a connection of its own; errors of writing end the connection and nothing else.
    pub fn start(
        answer: impl Fn(&Asked, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (Arc::clone(&asked), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some(question) = hear(&stream) else { return };
                    log.lock().unwrap().push(question.clone());
                    let _ = answer(&question, &mut stream);
                });
            }
        });
        Self { port, asked }
    }

    /// Answers every question with this page.
    pub fn page(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::start(move |_, stream| {
            say(stream, "200 OK", &[("content-type", content_type)], &body)
        })
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn hear(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { line, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

/// A whole answer.
pub fn say(
    stream: &mut impl Write,
    status: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut head =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    stream.write_all(body)
}

/// The user's settings: loopback is open, and pages are shown as they are; with what is added.
pub fn open_loopback(project: &Project, more: &Value) {
    let mut settings =
        json!({"webFetch": {"summarize": false, "allowPrivateHosts": ["127.0.0.1"]}});
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    user_settings(project, &settings);
}

/// The user's settings.
pub fn user_settings(project: &Project, settings: &Value) {
    let dir = project.home().join(".config/ona");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("settings.json"), settings.to_string()).unwrap();
}
