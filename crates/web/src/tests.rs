//! Where requests really go, against a server on loopback and names that lead where a test wants them to.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ona_http::private_host::PrivateHost;
use reqwest::dns::Resolve as _;
use url::Url;

use super::names::{Checked, LookedUp};
use super::*;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));

/// Leads a name to one list of addresses after the other; the last one stays.
struct Told {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Told {
    fn new(answers: &[&[IpAddr]]) -> Arc<Self> {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Arc::new(Self { answers, asked: AtomicUsize::new(0) })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Names for Told {
    fn look_up(&self, _name: &str) -> LookedUp {
        let at = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let answer = self.answers[at].clone();
        Box::pin(async move { Ok(answer) })
    }
}

/// A server that answers `/` with a redirect to `location` and anything else with a page.
struct Site {
    port: u16,
    served: Arc<AtomicUsize>,
}

impl Site {
    fn start(location: impl Fn(u16) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&served);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().unwrap_or(Ok(String::new())).unwrap_or_default();
                let answer = if first.starts_with("GET / ") {
                    let location = location(port);
                    format!(
                        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    )
                } else {
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\npage".to_owned()
                };
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { port, served }
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }
}

fn web(names: &Arc<Told>) -> Web {
    Web { names: Arc::clone(names) as Arc<dyn Names>, ..Web::default() }
}

fn hosts(hosts: &[String]) -> Vec<PrivateHost> {
    hosts.iter().map(|host| PrivateHost::parse(host).unwrap()).collect()
}

async fn got(web: &Web, url: &str, private: &[String]) -> Result<Got, GetError> {
    get(web, &Url::parse(url).unwrap(), &hosts(private)).await
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_the_second_time_does_not_get_past_the_check() {
    let names = Told::new(&[&[PUBLIC], &[HERE]]);
    let resolver = Checked { names: Arc::clone(&names) as Arc<dyn Names>, is_private: false };
    let first = resolver.resolve("rebound.test".parse().unwrap()).await.unwrap();
    assert_eq!(first.map(|address| address.ip()).collect::<Vec<_>>(), [PUBLIC], "what was checked");
    assert_eq!(names.asked(), 1, "one look serves the check and the connection");
    let Err(refused) = resolver.resolve("rebound.test".parse().unwrap()).await else {
        panic!("it was let through");
    };
    let refused = refused.downcast::<NotPublic>().unwrap();
    assert!(refused.to_string().starts_with("rebound.test resolves to 127.0.0.1"), "{refused}");
}

#[tokio::test]
async fn one_closed_address_among_open_ones_is_enough() {
    let site = Site::start(|_| String::new());
    for addresses in [&[PUBLIC, HERE][..], &[HERE, PUBLIC]] {
        let names = Told::new(&[addresses]);
        let url = format!("https://mixed.test:{}/x", site.port);
        let refused = got(&web(&names), &url, &[]).await.unwrap_err();
        assert!(matches!(refused, GetError::NotPublic(NotPublic::Leads { .. })), "{refused}");
        assert_eq!(names.asked(), 1);
    }
    assert_eq!(site.served(), 0, "nobody was asked");
}

#[tokio::test]
async fn what_the_operator_opened_is_looked_up_once_for_each_request() {
    let site = Site::start(|_| "/x".to_owned());
    let names = Told::new(&[&[HERE]]);
    let url = format!("http://wiki.test:{}/", site.port);
    let page = got(&web(&names), &url, &["wiki.test".to_owned()]).await.unwrap();
    let Got::Page(body) = page else { panic!("{page:?}") };
    assert_eq!((body.bytes.as_slice(), body.url.path()), (&b"page"[..], "/x"));
    assert_eq!((names.asked(), site.served()), (2, 2));
}

#[tokio::test]
async fn a_redirect_is_checked_like_the_first_address() {
    // The same host by a port that is not open.
    let closed = Site::start(|_| String::new());
    let port = closed.port;
    let site = Site::start(move |_| format!("http://wiki.test:{port}/x"));
    let names = Told::new(&[&[HERE]]);
    let (url, open) =
        (format!("http://wiki.test:{}/", site.port), format!("wiki.test:{}", site.port));
    let refused = got(&web(&names), &url, &[open]).await.unwrap_err();
    assert!(matches!(refused, GetError::NotPublic(NotPublic::Leads { .. })), "{refused}");
    assert_eq!((site.served(), closed.served()), (1, 0));
}

#[tokio::test]
async fn an_address_is_refused_in_every_form() {
    let site = Site::start(|_| String::new());
    let names = Told::new(&[&[HERE]]);
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "100.100.100.200",
        "[fd00:ec2::254]",
        "10.0.0.1",
        "224.0.0.1",
    ] {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{}/x", site.port);
            let refused = got(&web(&names), &url, &[]).await.unwrap_err();
            let is_refused = matches!(refused, GetError::NotPublic(NotPublic::Is { .. }));
            assert!(is_refused, "{url}: {refused}");
        }
    }
    assert_eq!((site.served(), names.asked()), (0, 0));
}

#[test]
fn keys_do_not_show() {
    let access = WebAccess { brave_key: Some("hunter22hunter22".into()), ..WebAccess::default() };
    assert!(!format!("{:?}", Web::new(access)).contains("hunter22"));
}
