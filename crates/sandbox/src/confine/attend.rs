//! ona's side while a confined command runs: takes the descriptors from the private pipe, answers the filter that asks,
//! and serves the command's way to the network.

use std::io::{self, PipeWriter};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::pipe::{self, Word};
use super::watch::{Rules, answer_faster, answer_one};
use super::{Network, Refused, proxy};

/// How many refused writes are kept.
pub(super) const MAX_WRITES: usize = 50;
/// How many refused hosts are kept.
const MAX_HOSTS: usize = 5_000;
/// How long the pipe of a command that has ended is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many connections are served at once.
const MAX_CONNECTIONS: usize = 256;

/// Attends to a command until it is dropped.
#[derive(Debug)]
pub(super) struct Attendant {
    seen: Arc<Seen>,
    /// Closing it ends the thread.
    _stop: PipeWriter,
}

/// How far the start of a command has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Start {
    #[default]
    Open,
    Ready,
    Failed,
}

/// What was seen of a command.
#[derive(Debug, Default)]
struct Seen {
    start: Mutex<Start>,
    settled: Condvar,
    refused: Mutex<Vec<Refused>>,
    connections: AtomicUsize,
}

impl Seen {
    fn settle(&self, start: Start) {
        let mut known = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == Start::Open {
            *known = start;
            self.settled.notify_all();
        }
    }

    fn refuse(&self, refused: Refused) {
        let mut all = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        // A flood of one kind does not hide the other.
        let is_write = refused.is_write();
        let most = if is_write { MAX_WRITES } else { MAX_HOSTS };
        let known = all.iter().filter(|one| one.is_write() == is_write).count();
        if known < most && !all.contains(&refused) {
            all.push(refused);
        }
    }
}

impl Attendant {
    /// Begins to attend; also returns the command's end of the pipe.
    pub(super) fn new(rules: Rules, network: Network) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = pipe::pair()?;
        let (stopped, stop) = io::pipe()?;
        let seen = Arc::new(Seen::default());
        let watcher = Watcher {
            pipe: Some(ours),
            watch: None,
            http: None,
            socks: None,
            rules,
            network: Arc::new(network),
            seen: Arc::clone(&seen),
        };
        thread::Builder::new()
            .name("sandbox".to_owned())
            .spawn(move || watcher.attend(&stopped))?;
        Ok((Self { seen, _stop: stop }, theirs))
    }

    /// Whether all was set up and the command has started. To be asked when it has ended.
    pub(super) fn has_started(&self) -> bool {
        let start = self.seen.start.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |start: &mut Start| *start == Start::Open;
        let waited = self.seen.settled.wait_timeout_while(start, PATIENCE, open);
        let (start, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *start == Start::Ready
    }

    /// What was refused so far.
    pub(super) fn refused(&self) -> Vec<Refused> {
        self.seen.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Watcher {
    pipe: Option<OwnedFd>,
    watch: Option<OwnedFd>,
    http: Option<TcpListener>,
    socks: Option<TcpListener>,
    rules: Rules,
    network: Arc<Network>,
    seen: Arc<Seen>,
}

impl Watcher {
    fn attend(mut self, stopped: &impl AsFd) {
        loop {
            let mut fds = vec![PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
            let all = [
                self.pipe.as_ref().map(AsFd::as_fd),
                self.watch.as_ref().map(AsFd::as_fd),
                self.http.as_ref().map(AsFd::as_fd),
                self.socks.as_ref().map(AsFd::as_fd),
            ];
            fds.extend(all.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)));
            match poll(&mut fds, PollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => continue,
                Err(_) => return,
                Ok(_) => {}
            }
            let mut came = fds.iter().map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
            if came.next().is_some_and(|came| !came.is_empty()) {
                return;
            }
            let mut of = |is_there: bool| match is_there {
                true => came.next().unwrap_or(PollFlags::empty()),
                false => PollFlags::empty(),
            };
            let [pipe, watch, http, socks] = all.map(|fd| of(fd.is_some()));
            if !watch.is_empty() {
                self.answer(watch);
            }
            if !pipe.is_empty() {
                self.hear();
            }
            if !http.is_empty() {
                self.accept(self.http.as_ref(), Word::Http);
            }
            if !socks.is_empty() {
                self.accept(self.socks.as_ref(), Word::Socks);
            }
        }
    }

    fn hear(&mut self) {
        let heard = self.pipe.as_ref().map(|pipe| pipe::receive(pipe.as_fd()));
        match heard {
            Some(Ok(Some((Word::Ready, _)))) => self.seen.settle(Start::Ready),
            Some(Ok(Some((Word::Watch, fd)))) => {
                if let Some(fd) = &fd {
                    answer_faster(fd.as_fd());
                }
                self.watch = fd;
            }
            Some(Ok(Some((Word::Http, fd)))) => self.http = fd.map(TcpListener::from),
            Some(Ok(Some((Word::Socks, fd)))) => self.socks = fd.map(TcpListener::from),
            _ => {
                self.pipe = None;
                self.seen.settle(Start::Failed);
            }
        }
    }

    fn answer(&mut self, came: PollFlags) {
        let Some(watch) = &self.watch else { return };
        if !came.contains(PollFlags::POLLIN) {
            // Nobody is left under the filter.
            self.watch = None;
            return;
        }
        // One that was killed meanwhile waits no longer.
        let _ = answer_one(watch.as_fd(), &self.rules, &|refused| self.seen.refuse(refused));
    }

    fn accept(&self, listener: Option<&TcpListener>, word: Word) {
        let Some(Ok((client, _))) = listener.map(TcpListener::accept) else { return };
        let (seen, network) = (Arc::clone(&self.seen), Arc::clone(&self.network));
        if seen.connections.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            seen.connections.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let served = Arc::clone(&seen);
        let serve = move || {
            serve(&client, &network, word, &served);
            served.connections.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().name("proxy".to_owned()).spawn(serve).is_err() {
            seen.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve(client: &TcpStream, network: &Network, word: Word, seen: &Seen) {
    match (network, word) {
        (Network::Hosts(allowed), Word::Http) => {
            proxy::serve(client, allowed, &|host| seen.refuse(Refused::Host(host)));
        }
        (Network::Proxies { http: Some(port), .. }, Word::Http)
        | (Network::Proxies { socks: Some(port), .. }, Word::Socks) => {
            proxy::pass_on(client, *port);
        }
        _ => {}
    }
}
