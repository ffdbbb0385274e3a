//! `ona mcp serve`: ona's own tools, for another agent.
//!
//! Calls wait in one queue and are taken one by one, in the order they came, by the session that belongs to this
//! server: each goes through the whole gate, and is answered when it is on the record. The session is made with the
//! first of them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use ona_cli::bootstrap::{self, Operator, directory};
use ona_cli::env::model::models;
use ona_cli::output::complain;
use ona_cli::{CliError, Options, asker};
use ona_engine::{Engine, Session, SessionBuilder, Which, Work};
use ona_front::{Human, channel};
use ona_mcp::{Answer, BoxFuture, Call, ToolSet, ToolSpec, UnknownTool, serve_http, serve_stdio};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::serve::{refused, until_signalled};

/// Calls that may wait for their turn.
const MAX_WAITING: usize = 64;

/// Whether a tool speaks to a user: here there is none.
fn is_for_user(name: &str) -> bool {
    ona_tools::find(name).is_some_and(|tool| tool.facts().speaks_to_user)
}

const INSTRUCTIONS: &str = "Every call passes the rules, hooks and intents that its operator has set up, and is \
    recorded. No user is available: calls that need confirmation are refused. A refusal says why and what would change \
    that; do not try to get around it.";

#[derive(Debug, Args)]
pub struct Serve {
    /// Serve streamable HTTP on this port of 127.0.0.1; 0 picks a free port and prints it on standard error
    ///
    /// Every program that can reach the port can call the tools, as far as the rules allow.
    #[arg(long, value_name = "PORT")]
    http: Option<u16>,
}

/// A call that waits for its turn.
struct Job {
    tool: String,
    input: Value,
    /// Cancelled if nobody waits for it any more.
    cancel: CancellationToken,
    reply: oneshot::Sender<Answer>,
}

/// Where clients hand in their calls.
struct Counter {
    jobs: mpsc::Sender<Job>,
    offered: Offered,
}

/// The tools as they are offered at this moment.
type Offered = Arc<Mutex<Vec<ToolSpec>>>;

impl Counter {
    /// Puts a call into the queue; its answer comes when its turn has come.
    fn hand_in(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        cancel: CancellationToken,
    ) -> Result<oneshot::Receiver<Answer>, Refused> {
        let is_known = ona_tools::TOOLS.iter().any(|known| known.name() == tool)
            || offered(&self.offered).iter().any(|known| known.name == tool);
        if !is_known || is_for_user(tool) {
            return Err(Refused::Unknown);
        }
        let (reply, answer) = oneshot::channel();
        let job = Job { tool: tool.to_owned(), input: Value::Object(arguments), cancel, reply };
        self.jobs.try_send(job).map_err(|_| Refused::TooMany)?;
        Ok(answer)
    }
}

/// Why a call does not even wait.
enum Refused {
    Unknown,
    TooMany,
}

fn offered(offered: &Offered) -> std::sync::MutexGuard<'_, Vec<ToolSpec>> {
    offered.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(why: impl Into<String>) -> Answer {
    Answer { texts: vec![why.into()], is_error: true }
}

impl ToolSet for Counter {
    fn name(&self) -> &str {
        "ona"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn instructions(&self) -> &str {
        INSTRUCTIONS
    }

    fn tools(&self) -> Vec<ToolSpec> {
        offered(&self.offered).clone()
    }

    fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Result<Answer, UnknownTool>> {
        let Call { name, arguments, cancel, .. } = call;
        // Not only when it is awaited: calls are taken in the order they came.
        let handed_in = self.hand_in(&name, arguments, cancel);
        Box::pin(async move {
            match handed_in {
                Ok(answer) => Ok(answer.await.unwrap_or_else(|_| failed("the server has ended"))),
                Err(Refused::Unknown) => Err(UnknownTool),
                Err(Refused::TooMany) => Ok(failed(format!(
                    "{MAX_WAITING} calls are already waiting: wait for answers before you call again"
                ))),
            }
        })
    }
}

pub fn run(cli: &Options, serve: &Serve) -> Result<ExitCode, CliError> {
    let engine = bootstrap::engine(cli)?;
    // What is wrong with the settings, or is not trusted, is said before anybody connects.
    let first = bootstrap::look_new(&engine, cli)?;
    let (jobs, waiting) = mpsc::channel(MAX_WAITING);
    let tools = Offered::default();
    tell_tools(&first, &tools);
    drop(first);
    let counter = Arc::new(Counter { jobs, offered: Arc::clone(&tools) });
    let here = directory(cli.cwd.as_deref())?;
    let worker = Worker { cli, engine, here, tools, ending: CancellationToken::new() };
    let runtime = bootstrap::runtime()?;
    let served = runtime.block_on(async {
        let cancel = until_signalled()?;
        let ending = worker.ending.clone();
        let serving = async {
            let outcome = match serve.http {
                None => serve_stdio(counter, cancel).await,
                Some(port) => {
                    let said = |address: &str| complain(&format!("listening on {address}\n"));
                    serve_http(counter, port, cancel, said).await
                }
            };
            // Nobody waits for an answer any more; what came of the call is still recorded.
            ending.cancel();
            outcome
        };
        let (outcome, ()) = tokio::join!(serving, worker.work(waiting));
        outcome.map_err(|error| refused(&error, serve.http))
    });
    // A thread that waits for a line that does not come must not keep us.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Takes calls out of the queue.
struct Worker<'a> {
    cli: &'a Options,
    engine: Engine,
    here: PathBuf,
    tools: Offered,
    /// Cancelled when there is no client any more.
    ending: CancellationToken,
}

impl Worker<'_> {
    async fn work(&self, mut waiting: mpsc::Receiver<Job>) {
        let mut session = None;
        loop {
            let job = tokio::select! {
                biased;
                () = self.ending.cancelled() => break,
                job = waiting.recv() => job,
            };
            let Some(job) = job else { break };
            // What was taken back before its turn has not happened.
            if job.cancel.is_cancelled() {
                continue;
            }
            let answer = match self.session(&mut session).await {
                Ok(session) => Box::pin(self.call(session, &job)).await,
                Err(error) => failed(error.to_string()),
            };
            // Whoever asked may have gone.
            let _ = job.reply.send(answer);
        }
        // Nobody goes on with this session: what it left running would have nobody who looks after it.
        if let Some(session) = session {
            for left in session.stop_tasks().await {
                complain(&format!("warning: {left}\n"));
            }
        }
    }

    /// The session of this server, made when it is first needed.
    async fn session<'s>(
        &self,
        made: &'s mut Option<Session>,
    ) -> Result<&'s mut Session, CliError> {
        Ok(match made {
            Some(session) => session,
            None => made.insert(self.begin().await?),
        })
    }

    async fn begin(&self) -> Result<Session, CliError> {
        let prepared = SessionBuilder {
            engine: &self.engine,
            starter: Operator { cli: self.cli },
            cwd: &self.here,
            which: Which::New(None),
            work: Work::Calls,
            origin: "mcp",
            name: None,
        }
        .prepare()?;
        let (front, remote, events) = channel(Human::Nobody);
        tokio::spawn(asker::show(events, remote));
        let options = bootstrap::agent_options(&self.cli.agent, &models()?)?;
        prepared.session(front, options).await
    }

    async fn call(&self, session: &mut Session, job: &Job) -> Answer {
        let cancel = self.ending.child_token();
        if let Err(error) = session.refresh(&cancel).await {
            return failed(CliError::from(error).to_string());
        }
        let report = {
            let call = session.gate.call(&job.tool, &job.input, &cancel);
            tokio::pin!(call);
            tokio::select! {
                biased;
                report = &mut call => report,
                () = job.cancel.cancelled() => {
                    cancel.cancel();
                    call.await
                }
            }
        };
        tell_tools(session, &self.tools);
        match report {
            Ok(report) => {
                let mut texts = vec![report.content];
                texts.extend(report.stop.map(|why| format!("Stop here: {why}")));
                Answer { texts, is_error: report.is_error }
            }
            Err(error) => failed(CliError::from(error).to_string()),
        }
    }
}

/// Tells clients of the tools as the session offers them now.
fn tell_tools(session: &Session, tools: &Offered) {
    let mut known = offered(tools);
    let mut names = session.gate.offered();
    names.retain(|name| !is_for_user(name));
    let specs = session.tool_specs(&names);
    let same = |(one, other): (&ToolSpec, &ona_provider::ToolSpec)| {
        one.name == other.name && Value::Object(one.schema.clone()) == bare(&other.input_schema)
    };
    if known.len() == specs.len() && known.iter().zip(&specs).all(same) {
        return;
    }
    *known = specs.into_iter().map(|tool| spec(session, tool)).collect();
}

fn spec(session: &Session, tool: ona_provider::ToolSpec) -> ToolSpec {
    let schema = match bare(&tool.input_schema) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    let hints = session.hints(&tool.name);
    let (name, description) = (tool.name.into(), tool.description.into());
    ToolSpec { name, description, schema, hints }
}

/// A schema without its name and its dialect, which are of no use to a client.
fn bare(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(schema) = &mut schema {
        schema.shift_remove("$schema");
        schema.shift_remove("title");
    }
    schema
}
