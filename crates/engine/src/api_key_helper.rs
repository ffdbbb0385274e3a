//! `apiKeyHelper` (S0 §2.7, A6): a command of the operator's that prints a key.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ona_policy::secrets::LearnedSecrets;
use ona_provider::{Credential, CredentialError, Credentials, Fetching};
use ona_sandbox::{ChildSpec, Ending};
use secrecy::SecretString;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// How it is called in messages.
pub const API_KEY_HELPER: &str = "apiKeyHelper";

/// The limit for what it prints.
const MAX_KEY: usize = 16 * 1024;

/// How the command is run.
#[derive(Clone)]
pub struct HelperOptions {
    /// The command line, for `/bin/sh`.
    pub command: String,
    /// Where it runs.
    pub dir: PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// When the operator is told that it takes long.
    pub slow: Duration,
    /// How long its key is used.
    pub lasts: Duration,
    /// Learns the key.
    pub learned: LearnedSecrets,
    /// Tells the operator something.
    pub notice: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
enum HelperError {
    #[error("{0}")]
    NotRun(#[from] ona_sandbox::SpawnError),
    #[error("it took longer than {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("it failed with exit code {0}")]
    Failed(i32),
    #[error("it was ended by signal {0}")]
    Signalled(i32),
    #[error("it was interrupted")]
    Interrupted,
    #[error("it printed no key: expected one line of printable characters, at most 16 KiB")]
    NoKey,
}

/// A key that is printed whenever it is needed.
pub struct ApiKeyHelper {
    options: HelperOptions,
    /// The last key, and when it was printed.
    printed: Mutex<Option<(Instant, SecretString)>>,
}

impl ApiKeyHelper {
    /// Nothing is run yet.
    pub fn new(options: HelperOptions) -> Self {
        Self { options, printed: Mutex::default() }
    }

    async fn run(&self) -> Result<SecretString, HelperError> {
        let HelperOptions { command, dir, timeout, slow, notice, .. } = &self.options;
        let spec = ChildSpec {
            program: Path::new("/bin/sh"),
            args: vec!["-c".into(), command.into()],
            cwd: dir,
            env: Vec::new(),
            inherits: ona_sandbox::Inherits::AllButCredentials,
            confined: None,
            marker: None,
            stdin: Vec::new(),
            timeout: *timeout,
            cap: MAX_KEY,
        };
        let cancel = CancellationToken::new();
        let mut running = std::pin::pin!(ona_sandbox::run(spec, &cancel));
        let outcome = tokio::select! {
            outcome = &mut running => outcome,
            () = tokio::time::sleep(*slow) => {
                let after = slow.as_secs_f32();
                notice(&format!("still waiting for {API_KEY_HELPER} after {after} s"));
                running.await
            }
        }?;
        match outcome.ending {
            Ending::Exited(0) if outcome.stdout.truncated => Err(HelperError::NoKey),
            Ending::Exited(0) => key(&outcome.stdout.bytes).ok_or(HelperError::NoKey),
            Ending::Exited(code) => Err(HelperError::Failed(code)),
            Ending::Signalled(signal) => Err(HelperError::Signalled(signal)),
            Ending::TimedOut => Err(HelperError::TimedOut(*timeout)),
            Ending::Interrupted => Err(HelperError::Interrupted),
        }
    }
}

/// The one line that was printed.
fn key(printed: &[u8]) -> Option<SecretString> {
    let text = std::str::from_utf8(printed).ok()?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let text = text.strip_suffix('\r').unwrap_or(text).trim_matches(' ');
    let printable = |c: char| c.is_ascii_graphic() || c == ' ';
    (!text.is_empty() && text.chars().all(printable)).then(|| SecretString::from(text))
}

impl Credentials for ApiKeyHelper {
    fn credential(&self) -> Fetching<'_, Credential> {
        Box::pin(async {
            let mut printed = self.printed.lock().await;
            if let Some((when, key)) = printed.as_ref()
                && when.elapsed() < self.options.lasts
            {
                return Ok(Credential::KeyAndBearer(key.clone()));
            }
            *printed = None;
            let key = self.run().await.map_err(|error| CredentialError {
                source_name: API_KEY_HELPER.to_owned(),
                reason: error.to_string(),
            })?;
            // It is masked from now on, in every session of the process.
            let text = secrecy::ExposeSecret::expose_secret(&key).to_owned();
            self.options.learned.learn([text]);
            *printed = Some((Instant::now(), key.clone()));
            Ok(Credential::KeyAndBearer(key))
        })
    }

    fn refused(&self) -> Fetching<'_, bool> {
        Box::pin(async {
            *self.printed.lock().await = None;
            Ok(true)
        })
    }

    fn source(&self) -> &str {
        API_KEY_HELPER
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn helper(command: &str, dir: &Path) -> ApiKeyHelper {
        ApiKeyHelper::new(HelperOptions {
            command: command.to_owned(),
            dir: dir.to_owned(),
            timeout: Duration::from_secs(20),
            slow: Duration::from_secs(20),
            lasts: Duration::from_secs(3600),
            learned: LearnedSecrets::default(),
            notice: Arc::new(|_| {}),
        })
    }

    #[test]
    fn one_printable_line_is_a_key() {
        let shown = |bytes: &[u8]| key(bytes).map(|key| key.expose_secret().to_owned());
        for bytes in [&b"k-1"[..], b"k-1\n", b"k-1\r\n", b" k-1 \n"] {
            assert_eq!(shown(bytes).as_deref(), Some("k-1"));
        }
        for bytes in [&b""[..], b"\n", b"a\nb\n", b"a\n\n", b"a\tb", b"\xff", "ä".as_bytes()] {
            assert_eq!(shown(bytes), None, "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn it_runs_once_until_its_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let helper = helper("echo run >> runs; echo key-$(wc -l < runs | tr -d ' ')", dir.path());
        let secret = async || match helper.credential().await.unwrap() {
            Credential::KeyAndBearer(key) => key.expose_secret().to_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!((secret().await, secret().await), ("key-1".to_owned(), "key-1".to_owned()));
        assert!(helper.refused().await.unwrap());
        assert_eq!(secret().await, "key-2");
    }

    #[tokio::test]
    async fn the_operator_is_told_that_it_takes_long() {
        let dir = tempfile::tempdir().unwrap();
        let told = dir.path().join("told");
        // It ends when the notice is there.
        let mut slow = helper("until [ -e told ]; do :; done; echo key-1", dir.path());
        slow.options.slow = Duration::from_millis(10);
        slow.options.notice = Arc::new(move |text| std::fs::write(&told, text).unwrap());
        slow.credential().await.unwrap();
        let said = std::fs::read_to_string(dir.path().join("told")).unwrap();
        assert_eq!(said, "still waiting for apiKeyHelper after 0.01 s");
    }

    #[tokio::test]
    async fn a_failure_says_nothing_of_what_was_printed() {
        let dir = tempfile::tempdir().unwrap();
        for (command, why) in [
            ("echo s3cret-text >&2; exit 3", "it failed with exit code 3"),
            ("echo s3cret-text; echo more", "it printed no key"),
            ("kill -9 $$", "it was ended by signal 9"),
            ("true", "it printed no key"),
        ] {
            let error = helper(command, dir.path()).credential().await.unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("s3cret"), "{command}: {error}");
            assert!(error.starts_with("no credential from apiKeyHelper: "), "{error}");
        }
    }
}
