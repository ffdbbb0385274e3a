//! The vault: named secrets, each in the system's keyring, or else in one sealed file whose key is in another.
//!
//! Which secrets the keyring holds is written down beside the file: nobody has to ask a keyring that holds nothing, and
//! what is written down last counts, whatever else is left in the other place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ona_files::Lock;
use secrecy::{ExposeSecret as _, SecretString};
use zeroize::Zeroizing;

use crate::disk;
use crate::error::VaultError;
use crate::keyring::{Keyring, KeyringError};
use crate::sealed::{self, Key, KeyFrom, Salt, Secrets, Unsealable};

/// The files of a vault's directory.
const VAULT: &str = "vault";
const KEY: &str = "vault.key";
const LOCK: &str = "vault.lock";
/// The names of the secrets in the keyring, one a line.
const IN_KEYRING: &str = "in-keyring";

/// The limit for all secrets together, and for the file.
const MAX_VAULT: usize = 1024 * 1024;
const MAX_NAME: usize = 200;

/// How long to wait for another process that renews a secret: longer than a server may take to answer.
const RENEWAL_PATIENCE: Duration = Duration::from_secs(60);

/// Where a secret is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// In the system's keyring.
    Keyring,
    /// In the encrypted file.
    File,
}

/// Named secrets that outlive a process. It keeps none in memory: every call reads them, so that what another process has
/// stored is seen.
#[derive(Clone)]
pub struct Vault {
    dir: PathBuf,
    keyring: Keyring,
    passphrase: Option<SecretString>,
    /// The key of the passphrase, which takes time to make.
    derived: Arc<Mutex<Option<(Salt, Key)>>>,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Vault {
    /// Opens the vault in a directory, which is created with mode 0700 if missing. Nothing else is created before
    /// the first secret is put in.
    pub fn open(dir: &Path) -> Result<Self, VaultError> {
        disk::directory(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            keyring: Keyring::none(),
            passphrase: None,
            derived: Arc::default(),
        })
    }

    /// The same, with a keyring. New secrets go there, unless there is a passphrase: whoever sets one wants the file.
    #[must_use]
    pub fn with_keyring(self, keyring: Keyring) -> Self {
        Self { keyring, ..self }
    }

    /// The same, with a key that comes from a passphrase instead of a file. What a key file has sealed can still be read; the
    /// next change seals it with the passphrase, and removes the key file.
    #[must_use]
    pub fn with_passphrase(self, passphrase: Option<SecretString>) -> Self {
        Self { passphrase, ..self }
    }

    /// The secret of this name.
    pub fn get(&self, name: &str) -> Result<Option<SecretString>, VaultError> {
        if self.in_keyring()?.contains(name) {
            return self.keyring_secret(name);
        }
        match self.secrets()?.remove(name) {
            // Another process may have moved it just now.
            None if self.in_keyring()?.contains(name) => self.keyring_secret(name),
            found => Ok(found),
        }
    }

    /// The names of all secrets, sorted.
    pub fn names(&self) -> Result<Vec<String>, VaultError> {
        let mut names = self.in_keyring()?;
        names.extend(self.secrets()?.into_keys());
        Ok(names.into_iter().collect())
    }

    /// Stores a secret, and replaces one of the same name. A keyring that cannot be used counts as none.
    pub fn put(&self, name: &str, secret: &SecretString) -> Result<Kept, VaultError> {
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(VaultError::BadName(name.to_owned()));
        }
        let _lock = self.lock()?;
        let mut secrets = self.secrets()?;
        if self.passphrase.is_none() && self.keyring.put(&self.entry(name), secret).is_ok() {
            self.note(name, Kept::Keyring)?;
            if secrets.remove(name).is_some() {
                self.keep(&secrets)?;
            }
            return Ok(Kept::Keyring);
        }
        secrets.insert(name.to_owned(), secret.clone());
        self.keep(&secrets)?;
        if self.note(name, Kept::File)? {
            // What it replaces stays behind only if the keyring does not answer.
            let _ = self.keyring.remove(&self.entry(name));
        }
        Ok(Kept::File)
    }

    /// Removes a secret; false if there was none of this name.
    pub fn remove(&self, name: &str) -> Result<bool, VaultError> {
        let _lock = self.lock()?;
        let in_keyring = self.in_keyring()?.contains(name);
        if in_keyring {
            self.keyring.remove(&self.entry(name)).map_err(no_keyring(name))?;
            self.note(name, Kept::File)?;
        }
        let mut secrets = self.secrets()?;
        if secrets.remove(name).is_none() {
            return Ok(in_keyring);
        }
        self.keep(&secrets)?;
        Ok(true)
    }

    fn keyring_secret(&self, name: &str) -> Result<Option<SecretString>, VaultError> {
        self.keyring.get(&self.entry(name)).map_err(no_keyring(name))
    }

    /// What a secret is called in the keyring, which other vaults of this user share.
    fn entry(&self, name: &str) -> String {
        format!("{name} {}", self.dir.display())
    }

    /// The names of what the keyring holds.
    fn in_keyring(&self) -> Result<BTreeSet<String>, VaultError> {
        let path = self.file(IN_KEYRING);
        let Some(bytes) = disk::read(&path, MAX_VAULT)? else { return Ok(BTreeSet::new()) };
        let text = std::str::from_utf8(&bytes).map_err(|_| VaultError::Damaged(path.clone()))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Writes down where a secret is kept now; false if that is where it was. The caller holds the lock.
    fn note(&self, name: &str, kept: Kept) -> Result<bool, VaultError> {
        let mut names = self.in_keyring()?;
        let changed = match kept {
            Kept::Keyring => names.insert(name.to_owned()),
            Kept::File => names.remove(name),
        };
        if changed {
            let text: String = names.iter().flat_map(|name| [name.as_str(), "\n"]).collect();
            disk::replace(&self.file(IN_KEYRING), text.as_bytes())?;
        }
        Ok(changed)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn lock(&self) -> Result<Lock, VaultError> {
        disk::lock(&self.file(LOCK), disk::PATIENCE)
    }

    /// Waits until nobody else renews the secret of this name. It can be read and written meanwhile.
    pub fn renewing(&self, name: &str) -> Result<Renewal, VaultError> {
        let asked = now();
        let lock = disk::lock(&self.renewal(name, "lock"), RENEWAL_PATIENCE)?;
        Ok(Renewal { _lock: lock, failures: self.renewal(name, "failed"), asked })
    }

    fn renewal(&self, name: &str, what: &str) -> PathBuf {
        let hash = ona_types::ContentHash::of(name.as_bytes());
        self.file(&format!("renewal-{}.{what}", &hash.as_str()[..16]))
    }

    /// The secrets in the vault. No lock is needed: the file is replaced atomically, and only after its key exists.
    fn secrets(&self) -> Result<Secrets, VaultError> {
        let vault = self.file(VAULT);
        let Some(bytes) = disk::read(&vault, 2 * MAX_VAULT)? else { return Ok(Secrets::new()) };
        let failed = |why: Unsealable, from: Option<KeyFrom>| match (why, from) {
            (Unsealable::Newer, _) => VaultError::Newer(vault.clone()),
            (_, Some(KeyFrom::Passphrase(_))) => VaultError::WrongPassphrase(vault.clone()),
            (Unsealable::Damaged, _) => VaultError::Damaged(vault.clone()),
        };
        let (from, _) = KeyFrom::of(&bytes).map_err(|why| failed(why, None))?;
        let key = match from {
            KeyFrom::File => self
                .key()?
                .ok_or_else(|| VaultError::NoKey { key: self.file(KEY), vault: vault.clone() })?,
            KeyFrom::Passphrase(salt) => {
                self.derived(&salt)?.ok_or_else(|| VaultError::Locked(vault.clone()))?
            }
        };
        sealed::unseal(&bytes, &key).map_err(|why| failed(why, Some(from)))
    }

    /// The key of the passphrase, if there is one.
    fn derived(&self, salt: &Salt) -> Result<Option<Key>, VaultError> {
        let Some(passphrase) = &self.passphrase else { return Ok(None) };
        let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, key)) = derived.as_ref()
            && known == salt
        {
            return Ok(Some(key.clone()));
        }
        let key = sealed::derived(passphrase.expose_secret(), salt)?;
        *derived = Some((*salt, key.clone()));
        Ok(Some(key))
    }

    fn key(&self) -> Result<Option<Key>, VaultError> {
        let path = self.file(KEY);
        let Some(bytes) = disk::read(&path, size_of::<Key>())? else { return Ok(None) };
        match <[u8; 32]>::try_from(bytes.as_slice()) {
            Ok(key) => Ok(Some(Zeroizing::new(key))),
            Err(_) => Err(VaultError::BadKey(path)),
        }
    }

    /// Seals the secrets, with a new key if there is none yet. The caller holds the lock and has read the vault:
    /// secrets whose key is missing are never overwritten.
    fn keep(&self, secrets: &Secrets) -> Result<(), VaultError> {
        if sealed::size(secrets) > MAX_VAULT {
            return Err(VaultError::TooLarge(MAX_VAULT));
        }
        let from = self.key_from()?;
        let key = match from {
            KeyFrom::Passphrase(salt) => self.derived(&salt)?,
            KeyFrom::File => self.key()?,
        };
        let key = match key {
            Some(key) => key,
            None => {
                let key = sealed::random()?;
                disk::replace(&self.file(KEY), key.as_slice())?;
                key
            }
        };
        let bytes = sealed::seal(secrets, from, &key)?;
        disk::replace(&self.file(VAULT), &bytes)?;
        match from {
            KeyFrom::File => Ok(()),
            KeyFrom::Passphrase(_) => disk::remove(&self.file(KEY)),
        }
    }

    /// Where the key is to come from: a passphrase keeps its salt.
    fn key_from(&self) -> Result<KeyFrom, VaultError> {
        if self.passphrase.is_none() {
            return Ok(KeyFrom::File);
        }
        let bytes = disk::read(&self.file(VAULT), 2 * MAX_VAULT)?;
        match bytes.as_deref().map(|bytes| KeyFrom::of(bytes)) {
            Some(Ok((from @ KeyFrom::Passphrase(_), _))) => Ok(from),
            _ => Ok(KeyFrom::passphrase()?),
        }
    }
}

/// The right to renew a secret. Nobody else has it until it is dropped.
pub struct Renewal {
    _lock: Lock,
    /// Says when the last attempt failed, and why.
    failures: PathBuf,
    asked: u128,
}

impl Renewal {
    /// Why an attempt failed while this right was waited for. All who wait together try once.
    pub fn failed_meanwhile(&self) -> Option<String> {
        let bytes = disk::read(&self.failures, MAX_VAULT).ok().flatten()?;
        let (when, why) = std::str::from_utf8(&bytes).ok()?.split_once('\n')?;
        (when.parse::<u128>().ok()? >= self.asked).then(|| why.to_owned())
    }

    /// Tells those who wait that an attempt failed. If that cannot be written, they try for themselves.
    pub fn failed(&self, why: &str) {
        let _ = disk::replace(&self.failures, format!("{}\n{why}", now()).as_bytes());
    }
}

/// Nanoseconds since 1970.
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

fn no_keyring(name: &str) -> impl FnOnce(KeyringError) -> VaultError {
    let name = name.to_owned();
    move |error| VaultError::Keyring { name, error }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::keyring::tests::{in_memory, silent};

    fn vault() -> (tempfile::TempDir, Vault) {
        let dir = tempfile::tempdir().unwrap();
        let vault = Vault::open(&dir.path().join("below/secrets")).unwrap();
        (dir, vault)
    }

    fn put(vault: &Vault, name: &str, secret: &str) {
        vault.put(name, &SecretString::from(secret)).unwrap();
    }

    fn shown(vault: &Vault, name: &str) -> Option<String> {
        vault.get(name).unwrap().map(|secret| secret.expose_secret().to_owned())
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn secrets_are_kept_replaced_and_removed() {
        let (_dir, vault) = vault();
        assert_eq!(vault.names().unwrap(), Vec::<String>::new());
        assert!(!vault.remove("a").unwrap());
        assert!(
            !vault.file(KEY).exists() && !vault.file(VAULT).exists(),
            "nothing is made for nothing"
        );
        put(&vault, "b", "two");
        put(&vault, "a", "one");
        put(&vault, "b", "three");
        let again = Vault::open(&vault.dir).unwrap();
        assert_eq!(again.names().unwrap(), ["a", "b"]);
        assert_eq!(
            (shown(&again, "a"), shown(&again, "b")),
            (Some("one".into()), Some("three".into()))
        );
        assert_eq!(shown(&again, "c"), None);
        assert!(vault.remove("a").unwrap());
        assert_eq!(again.names().unwrap(), ["b"]);
    }

    #[test]
    fn nothing_on_the_disk_or_in_debug_shows_a_secret() {
        let (dir, vault) = vault();
        put(&vault, "the-name", "the-secret");
        for file in fs::read_dir(&vault.dir).unwrap() {
            let path = file.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(
                !text.contains("the-secret") && !text.contains("the-name"),
                "{}",
                path.display()
            );
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
        assert_eq!((mode(&vault.dir), mode(&dir.path().join("below"))), (0o700, 0o700));
        assert_eq!(
            fs::read_dir(&vault.dir).unwrap().count(),
            3,
            "nothing is left of what was written aside"
        );
        let debug = format!("{vault:?} {:?}", vault.get("the-name").unwrap());
        assert!(!debug.contains("the-secret"), "{debug}");
    }

    #[test]
    fn what_cannot_be_unsealed_is_told_and_left_as_it_is() {
        let (_dir, vault) = vault();
        put(&vault, "a", "one");
        let (file, key) = (vault.file(VAULT), vault.file(KEY));
        let (sound, own_key) = (fs::read(&file).unwrap(), fs::read(&key).unwrap());
        let mut changed = sound.clone();
        *changed.last_mut().unwrap() ^= 1;
        let cut = &sound[..sound.len() / 2];
        for bytes in [&changed[..], cut, b"", b"something else"] {
            fs::write(&file, bytes).unwrap();
            for error in [
                vault.get("a").unwrap_err(),
                vault.put("b", &SecretString::from("x")).unwrap_err(),
                vault.remove("a").unwrap_err(),
            ] {
                assert!(matches!(error, VaultError::Damaged(_)), "{error}");
            }
            assert_eq!(fs::read(&file).unwrap(), bytes);
        }
        fs::write(&file, "ona-vault 3\n…").unwrap();
        assert!(matches!(vault.names().unwrap_err(), VaultError::Newer(_)));
        fs::write(&file, &sound).unwrap();

        fs::write(&key, [7; 32]).unwrap();
        assert!(matches!(vault.get("a").unwrap_err(), VaultError::Damaged(_)), "another key");
        for bytes in [&b"short"[..], &[7; 33]] {
            fs::write(&key, bytes).unwrap();
            assert!(matches!(vault.get("a").unwrap_err(), VaultError::BadKey(_)));
        }
        fs::remove_file(&key).unwrap();
        assert!(matches!(vault.get("a").unwrap_err(), VaultError::NoKey { .. }));
        let put_anyway = vault.put("b", &SecretString::from("x"));
        assert!(matches!(put_anyway.unwrap_err(), VaultError::NoKey { .. }));
        assert!(!key.exists(), "no new key for old secrets");
        fs::write(&key, own_key).unwrap();
        fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(shown(&vault, "a").as_deref(), Some("one"), "nothing was lost");
    }

    #[test]
    fn a_passphrase_takes_the_place_of_the_key_file() {
        let (_dir, vault) = vault();
        put(&vault, "a", "one");
        let with = |word: &str| {
            let vault = Vault::open(&vault.dir).unwrap();
            vault.with_passphrase(Some(SecretString::from(word)))
        };
        assert_eq!(shown(&with("word"), "a").as_deref(), Some("one"), "the key file still counts");
        put(&with("word"), "b", "two");
        assert!(!vault.file(KEY).exists());
        assert_eq!(shown(&with("word"), "a").as_deref(), Some("one"));
        let before = fs::read(vault.file(VAULT)).unwrap();
        for (other, locked) in [(vault.clone(), true), (with("another"), false)] {
            let errors = [
                other.get("a").unwrap_err(),
                other.put("c", &SecretString::from("x")).unwrap_err(),
                other.remove("a").unwrap_err(),
            ];
            for error in errors {
                assert_eq!(matches!(error, VaultError::Locked(_)), locked, "{error}");
                assert!(error.to_string().contains("passphrase"), "{error}");
            }
        }
        assert_eq!(fs::read(vault.file(VAULT)).unwrap(), before);
        assert!(!vault.file(KEY).exists());
        // And from the beginning.
        let new = Vault::open(&vault.dir.join("new")).unwrap();
        let new = new.with_passphrase(Some(SecretString::from("word")));
        put(&new, "a", "one");
        assert!(!new.file(KEY).exists() && shown(&new, "a").is_some());
        assert!(!format!("{new:?}").contains("word"));
    }

    #[test]
    fn a_keyring_takes_what_is_stored_from_then_on() {
        let (_dir, plain) = vault();
        put(&plain, "a", "one");
        put(&plain, "b", "two");
        let vault = plain.clone().with_keyring(in_memory());
        assert_eq!(shown(&vault, "a").as_deref(), Some("one"), "the file still counts");
        assert_eq!(vault.put("a", &SecretString::from("new")).unwrap(), Kept::Keyring);
        assert_eq!((shown(&vault, "a").as_deref(), vault.names().unwrap().len()), (Some("new"), 2));
        assert_eq!(plain.secrets().unwrap().into_keys().collect::<Vec<_>>(), ["b"]);
        let index = fs::read_to_string(vault.file(IN_KEYRING)).unwrap();
        assert_eq!((index.as_str(), mode(&vault.file(IN_KEYRING))), ("a\n", 0o600));
        // Another vault of the same user has its own.
        let other = Vault::open(&vault.dir.join("other")).unwrap();
        let other = other.with_keyring(vault.keyring.clone());
        assert_eq!(shown(&other, "a"), None);
        put(&other, "a", "another");
        assert_eq!(shown(&vault, "a").as_deref(), Some("new"));
        assert!(vault.remove("a").unwrap() && !vault.remove("a").unwrap());
        assert_eq!((shown(&vault, "a"), vault.names().unwrap().len()), (None, 1));
    }

    #[test]
    fn a_passphrase_wants_the_file() {
        let (_dir, vault) = vault();
        let keyring = vault.with_keyring(in_memory());
        put(&keyring, "a", "one");
        let both = keyring.clone().with_passphrase(Some(SecretString::from("word")));
        assert_eq!(shown(&both, "a").as_deref(), Some("one"), "it is still found");
        assert_eq!(both.put("a", &SecretString::from("two")).unwrap(), Kept::File);
        assert_eq!(shown(&both, "a").as_deref(), Some("two"));
        assert!(keyring.keyring_secret("a").unwrap().is_none(), "nothing is left in the keyring");
        // Locked: nothing goes past the passphrase into the keyring.
        let error = keyring.put("a", &SecretString::from("x")).unwrap_err();
        assert!(error.to_string().contains("passphrase"), "{error}");
    }

    #[test]
    fn a_silent_keyring_counts_as_none_and_loses_nothing() {
        let (_dir, vault) = vault();
        let (heard, silent) =
            (vault.clone().with_keyring(in_memory()), vault.with_keyring(silent()));
        put(&heard, "a", "one");
        for error in [silent.get("a").unwrap_err(), silent.remove("a").unwrap_err()] {
            assert!(matches!(error, VaultError::Keyring { .. }), "{error}");
            assert!(error.to_string().contains("keyring"), "{error}");
        }
        assert_eq!(shown(&heard, "a").as_deref(), Some("one"));
        assert_eq!(shown(&silent, "b"), None, "it is not asked for what it does not hold");
        assert_eq!(silent.put("a", &SecretString::from("two")).unwrap(), Kept::File);
        for vault in [&silent, &heard] {
            assert_eq!(shown(vault, "a").as_deref(), Some("two"), "the last one counts");
        }
    }

    #[test]
    fn one_renews_and_the_others_wait() {
        let (_dir, vault) = vault();
        let held = vault.renewing("mcp/a").unwrap();
        let at_once = |name: &str| disk::lock(&vault.renewal(name, "lock"), Duration::ZERO);
        assert!(at_once("mcp/a").is_err());
        assert!(at_once("mcp/b").is_ok(), "of another secret");
        put(&vault, "mcp/a", "new");
        drop(held);
        assert!(at_once("mcp/a").is_ok());
    }

    #[test]
    fn those_who_wait_learn_that_it_failed() {
        let (_dir, vault) = vault();
        let first = vault.renewing("a").unwrap();
        let waits = Renewal {
            _lock: disk::lock(&vault.file("another.lock"), Duration::ZERO).unwrap(),
            failures: first.failures.clone(),
            asked: now(),
        };
        assert_eq!(waits.failed_meanwhile(), None);
        first.failed("the server is silent");
        assert_eq!(waits.failed_meanwhile().as_deref(), Some("the server is silent"));
        drop(first);
        assert_eq!(vault.renewing("a").unwrap().failed_meanwhile(), None, "it is news no more");
    }

    #[test]
    fn what_others_can_read_is_refused() {
        let (_dir, vault) = vault();
        put(&vault, "a", "one");
        for name in [VAULT, KEY] {
            let path = vault.file(name);
            for open in [0o640, 0o604, 0o660, 0o610] {
                fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
                let error = vault.get("a").unwrap_err();
                assert!(matches!(error, VaultError::Open { .. }), "{error}");
                assert!(error.to_string().contains("chmod 600"), "{error}");
            }
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        fs::set_permissions(&vault.dir, Permissions::from_mode(0o750)).unwrap();
        let error = Vault::open(&vault.dir).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }

    #[test]
    fn links_and_pipes_are_not_followed() {
        let (dir, vault) = vault();
        put(&vault, "a", "one");
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(vault.file(VAULT), &elsewhere).unwrap();
        symlink(&elsewhere, vault.file(VAULT)).unwrap();
        assert!(matches!(vault.get("a").unwrap_err(), VaultError::NotAFile(_)));
        fs::remove_file(vault.file(VAULT)).unwrap();
        nix::unistd::mkfifo(&vault.file(VAULT), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(matches!(vault.get("a").unwrap_err(), VaultError::NotAFile(_)));
        fs::write(dir.path().join("file"), "").unwrap();
        let error = Vault::open(&dir.path().join("file")).unwrap_err();
        assert!(matches!(error, VaultError::NotADirectory(_)), "{error}");
    }

    #[test]
    fn names_and_sizes_have_bounds() {
        let (_dir, vault) = vault();
        for name in ["", "a\nb", "\0", &"n".repeat(201)] {
            let error = vault.put(name, &SecretString::from("x")).unwrap_err();
            assert!(matches!(error, VaultError::BadName(_)), "{error}");
        }
        put(&vault, &"n".repeat(200), "");
        let large = SecretString::from("x".repeat(MAX_VAULT));
        assert!(matches!(vault.put("a", &large).unwrap_err(), VaultError::TooLarge(_)));
        put(&vault, "a", &"x".repeat(MAX_VAULT / 2));
        assert_eq!(vault.names().unwrap().len(), 2);
    }

    /// Where the other process of the next test is told to write.
    const TOLD: &str = "ONA_VAULT_TEST_DIR";

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test starts itself a second time")]
    fn many_who_write_at_once_lose_nothing() {
        let write = |vault: &Vault, who: &str| {
            for n in 0..10 {
                put(vault, &format!("{who}-{n}"), "x");
                assert!(shown(vault, &format!("{who}-{n}")).is_some());
            }
        };
        if let Some(dir) = std::env::var_os(TOLD) {
            write(&Vault::open(Path::new(&dir)).unwrap(), "process");
            return;
        }
        let (_dir, vault) = vault();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "vault::tests::many_who_write_at_once_lose_nothing"])
            .env(TOLD, &vault.dir)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::scope(|scope| {
            for who in ["one", "two", "three"] {
                let vault = &vault;
                scope.spawn(move || write(&Vault::open(&vault.dir).unwrap(), who));
            }
        });
        assert!(child.wait().unwrap().success());
        assert_eq!(vault.names().unwrap().len(), 40);
    }
}
