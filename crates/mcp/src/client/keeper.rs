//! The keeper of one server: connects, keeps the connection, reconnects and disconnects.
//!
//! Each server has its own task. Only this task waits for the server.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::child::Program;
use super::connect::{Common, Fault, Link, connect};
use super::error::brief;
use super::lists::{Whose, cut};
use super::reading::Reading;
use super::server::{Command, Retry, Server, ServerInfo, ServerState, View};

/// After a connection that lasted this long, the count of retries starts again.
const LASTING: Duration = Duration::from_secs(60);
/// The longest wait before another try.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The longest that a start may take, whatever the settings say.
const MAX_START: Duration = Duration::from_secs(24 * 3600);
/// How long prompts and resources may delay a server whose tools are known.
const EXTRAS_WITHIN: Duration = Duration::from_secs(5);

/// Keeps a server until the pool is closed.
pub(crate) struct Keeper {
    pub(crate) server: Arc<Server>,
    pub(crate) common: Common,
    pub(crate) retry: Retry,
    pub(crate) commands: mpsc::Receiver<Command>,
    pub(crate) closing: CancellationToken,
    pub(crate) enabled: bool,
}

/// What is to be done next.
enum Next {
    Connect,
    Wait,
    Disabled,
    Close,
}

impl Keeper {
    pub(crate) async fn keep(mut self) {
        let mut next = if self.enabled { Next::Connect } else { Next::Disabled };
        // Tries since a connection broke; none while there has not been one.
        let mut tries = None;
        loop {
            next = match next {
                Next::Connect => self.connected(&mut tries).await,
                Next::Wait => self.told().await,
                Next::Disabled => {
                    self.server.without(ServerState::Disabled, None);
                    self.told().await
                }
                Next::Close => {
                    self.server.without(ServerState::Disabled, None);
                    return;
                }
            };
        }
    }

    /// Waits for a command.
    async fn told(&mut self) -> Next {
        tokio::select! {
            () = self.closing.cancelled() => Next::Close,
            command = self.commands.recv() => match command {
                Some(command) => self.obey(command).unwrap_or(Next::Wait),
                None => Next::Close,
            },
        }
    }

    fn obey(&self, command: Command) -> Option<Next> {
        match command {
            Command::Connect(begun) => {
                self.server.without(ServerState::Pending, None);
                let _ = begun.send(());
                Some(Next::Connect)
            }
            Command::Disable(done) => {
                self.server.without(ServerState::Disabled, None);
                let _ = done.send(());
                Some(Next::Disabled)
            }
            // Of a connection that is over already.
            Command::Broken(..) => None,
        }
    }

    /// Connects, and stays until the connection is over.
    async fn connected(&mut self, tries: &mut Option<u32>) -> Next {
        let server = Arc::clone(&self.server);
        if tries.is_none() {
            server.without(ServerState::Pending, None);
        }
        let made = {
            let mut making = Box::pin(make(&server, &self.common));
            loop {
                tokio::select! {
                    made = &mut making => break made,
                    () = self.closing.cancelled() => return Next::Close,
                    command = self.commands.recv() => match command {
                        Some(command) => if let Some(next) = self.obey(command) {
                            *tries = None;
                            return next;
                        },
                        None => return Next::Close,
                    },
                }
            }
        };
        let (link, program) = match made {
            Ok(made) => made,
            Err(Fault::NeedsAuth(challenge)) => {
                *tries = None;
                server.view().challenge = challenge;
                server.without(ServerState::NeedsAuth, Some("sign in to use it".to_owned()));
                return Next::Wait;
            }
            Err(Fault::Failed(why)) => {
                debug!(target: "ona::mcp", server = server.spec.name, why, "not connected");
                return self.again(tries, why).await;
            }
        };
        *tries = Some(tries.unwrap_or(0));
        let since = Instant::now();
        let (next, why) = self.stay(&link).await;
        // The connection is hidden before it is closed.
        match next {
            Some(Next::Disabled) => {}
            _ => server.without(ServerState::Pending, why.clone()),
        }
        let mut program = program;
        let why = match &mut program {
            Some(program) if next.is_none() => died(program, why.unwrap_or_default()).await,
            _ => why.unwrap_or_default(),
        };
        link.end(program).await;
        if let Some(next) = next {
            *tries = None;
            return next;
        }
        if since.elapsed() >= LASTING {
            *tries = Some(0);
        }
        self.again(tries, why).await
    }

    /// Stays connected. Without a next command the connection was lost, for the reason given.
    async fn stay(&mut self, link: &Arc<Link>) -> (Option<Next>, Option<String>) {
        let reading = Reading::start(&self.server, link);
        let outcome = loop {
            tokio::select! {
                () = self.closing.cancelled() => break (Some(Next::Close), None),
                () = link.gone.cancelled() => {
                    break (None, Some("the connection was lost".to_owned()));
                }
                command = self.commands.recv() => match command {
                    Some(Command::Broken(broken, why)) if Arc::ptr_eq(&broken, link) => {
                        break (None, Some(why));
                    }
                    Some(command) => if let Some(next) = self.obey(command) {
                        break (Some(next), None);
                    },
                    None => break (Some(Next::Close), None),
                },
            }
        };
        drop(reading);
        outcome
    }

    /// After a failure: another try later, if there was a connection and there are tries left.
    async fn again(&mut self, tries: &mut Option<u32>, why: String) -> Next {
        let done = match tries {
            Some(done) if *done < self.retry.most => done,
            _ => {
                *tries = None;
                self.server.without(ServerState::Failed, Some(why));
                return Next::Wait;
            }
        };
        let wait = self.retry.first.saturating_mul(1 << (*done).min(16)).min(MAX_WAIT);
        *done += 1;
        let next = format!("{why}; trying again ({done} of {})", self.retry.most);
        self.server.without(ServerState::Pending, Some(next));
        let until = Instant::now() + wait;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Next::Connect,
                () = self.closing.cancelled() => return Next::Close,
                command = self.commands.recv() => match command {
                    Some(command) => if let Some(next) = self.obey(command) {
                        *tries = None;
                        return next;
                    },
                    None => return Next::Close,
                },
            }
        }
    }
}

/// Why a program's connection is over, with its last output.
async fn died(program: &mut Program, why: String) -> String {
    let mut said = match program.ending().await {
        Some(ending) => format!("the program ended ({ending})"),
        None => why,
    };
    let words = program.last_words();
    if !words.is_empty() {
        said.push_str(&format!("; its last output: {words}"));
    }
    said
}

/// Makes a connection, and reads what the server offers.
async fn make(server: &Server, common: &Common) -> Result<(Arc<Link>, Option<Program>), Fault> {
    let deadline = Instant::now() + server.spec.start_timeout.min(MAX_START);
    let (link, mut program) = connect(&server.spec, common, deadline).await?;
    let peer = link.running.peer();
    let info = peer.peer_info();
    let capabilities = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
    let whose = Whose { server: &server.spec.name, slug: &server.slug, peer };
    let (tools, left_out) = match capabilities.tools {
        None => Default::default(),
        Some(_) => match tokio::time::timeout_at(deadline, whose.tools()).await {
            Ok(Ok(tools)) => tools,
            outcome => {
                let seconds = server.spec.start_timeout.as_secs_f64();
                let why = match outcome {
                    Ok(Err(error)) => {
                        format!("its tools could not be read: {}", brief(&error.to_string()))
                    }
                    _ => format!("it did not list its tools within {seconds} s"),
                };
                let why = match &mut program {
                    Some(program) => died(program, why).await,
                    None => why,
                };
                link.end(program).await;
                return Err(Fault::Failed(why));
            }
        },
    };
    // A server without the rest is still one.
    let extras = (deadline.saturating_duration_since(Instant::now())).min(EXTRAS_WITHIN);
    let prompts = async {
        let asked = capabilities.prompts.is_some().then(|| Box::pin(whose.prompts()));
        in_time(extras, asked).await
    };
    let resources = async {
        let asked = capabilities.resources.is_some().then(|| Box::pin(whose.resources()));
        in_time(extras, asked).await
    };
    let templates = async {
        let asked = capabilities.resources.is_some().then(|| Box::pin(whose.templates()));
        in_time(extras, asked).await
    };
    let (prompts, resources, templates) = tokio::join!(prompts, resources, templates);
    let instructions = info.as_ref().and_then(|info| info.instructions.as_deref()).map(cut);
    let info = info.map(|info| ServerInfo {
        name: info.server_info.as_ref().map(|own| own.name.clone()).unwrap_or_default(),
        title: info.server_info.as_ref().and_then(|own| own.title.clone()),
        version: info.server_info.as_ref().map(|own| own.version.clone()).unwrap_or_default(),
        protocol: info.protocol_version.to_string(),
    });
    let link = Arc::new(link);
    server.change(|view| {
        *view = View {
            state: Some(ServerState::Connected),
            error: None,
            link: Some(Arc::clone(&link)),
            info,
            instructions: instructions.filter(|text| !text.is_empty()),
            tools: Arc::new(tools),
            left_out,
            prompts: Arc::new(prompts),
            resources: Arc::new(resources),
            templates: Arc::new(templates),
            challenge: None,
        };
    });
    Ok((link, program))
}

/// A list; empty if it does not arrive.
async fn in_time<T, E>(
    within: Duration,
    asked: Option<impl Future<Output = Result<Vec<T>, E>>>,
) -> Vec<T> {
    match asked {
        Some(asked) => match tokio::time::timeout(within, asked).await {
            Ok(Ok(list)) => list,
            _ => Vec::new(),
        },
        None => Vec::new(),
    }
}
