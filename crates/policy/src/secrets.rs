//! Masks what must not be stored: secrets the process knows, and texts that look like one (DESIGN §5, no. 27).
//!
//! A [`Redactor`] puts a mask such as `[REDACTED:github_token]` in a secret's place. The shapes are those whose
//! form alone says what they are; a password in prose cannot be told from a word and stays.

mod cut;
mod forms;
mod known;
mod shapes;
mod stream;
mod view;

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use ona_types::{World, restore_keys};
use regex::Regex;
use serde_json::{Map, Value};

use known::Known;
use shapes::SHAPES;
pub use stream::MaskedBytes;

/// The minimum length of a secret value: a shorter one would match ordinary words.
const MIN_LEN: usize = 8;
/// What every mask begins with.
pub const MASK: &str = "[REDACTED:";
/// The mask of a live value.
const LIVE: &str = "[REDACTED:live]";
/// A longer value is looked for in parts of this length: nothing shows more of it at once by accident.
const MAX_PART: usize = 1024;

/// The patterns, each made when it is first needed: most texts need none.
static PATTERNS: [OnceLock<Option<Regex>>; SHAPES.len()] =
    [const { OnceLock::new() }; SHAPES.len()];

/// Masks secrets.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// The values as they are.
    values: Arc<[String]>,
    /// And in all their forms.
    known: Arc<Known>,
    late: Option<LearnedSecrets>,
}

/// Values that become known only while redactors are in use; all that share this know them at once.
#[derive(Clone, Debug, Default)]
pub struct LearnedSecrets(Arc<RwLock<Option<Arc<Redactor>>>>);

impl LearnedSecrets {
    /// Adds values that are secret from now on.
    pub fn learn(&self, values: impl IntoIterator<Item = String>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = known.as_ref().map_or_else(Vec::new, |known| known.values.to_vec());
        let before = all.len();
        for value in values {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        if all.len() > before {
            *known = Some(Arc::new(Redactor::knowing(all)));
        }
    }

    fn known(&self) -> Option<Arc<Redactor>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Redactor {
    /// A redactor that also masks these values.
    pub fn knowing(live: impl IntoIterator<Item = String>) -> Self {
        let values: Arc<[String]> = live.into_iter().collect();
        let all: Vec<&str> = values.iter().flat_map(|value| parts(value)).collect();
        let known = Arc::new(Known::new(&all));
        Self { values, known, late: None }
    }

    /// The same, which also knows what becomes known later.
    #[must_use]
    pub fn and_later(self, late: LearnedSecrets) -> Self {
        Self { late: Some(late), ..self }
    }

    fn late(&self) -> Option<Arc<Self>> {
        self.late.as_ref().and_then(LearnedSecrets::known)
    }

    /// How much of the beginning of a text can be masked and passed on, before the next piece of it comes: what stands
    /// behind could be the beginning of a live value.
    pub fn certain(&self, text: &[u8]) -> usize {
        let late = self.late();
        let all = [Some(&*self.known), late.as_ref().map(|late| &*late.known)];
        let all = || all.into_iter().flatten().filter(|known| !known.is_empty());
        let mut end = text.len() - all().map(|known| known.open_end(text)).max().unwrap_or(0);
        // A value that is there may end behind the place where another could begin.
        let found: Vec<_> = all().flat_map(|known| known.ranges(text)).collect();
        while let Some(cut) = found.iter().find(|one| one.start < end && end < one.end) {
            end = cut.start;
        }
        end
    }

    /// The live values, for another process of ona that must mask them too.
    pub fn live_values(&self) -> Vec<String> {
        match self.late() {
            None => self.values.to_vec(),
            Some(late) => [&*self.values, &*late.values].concat(),
        }
    }

    /// The text without values the process knows to be secret.
    pub fn mask_live<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let masked = self.mask_known(text);
        match (self.late(), masked) {
            (None, masked) => masked,
            (Some(late), Cow::Borrowed(text)) => late.mask_known(text),
            (Some(late), Cow::Owned(text)) => Cow::Owned(late.mask_known(&text).into_owned()),
        }
    }

    fn mask_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.known.ranges(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut masked, mut copied) = (String::with_capacity(text.len()), 0);
        for Range { start, end } in found {
            let (start, end) = (text.floor_char_boundary(start), text.ceil_char_boundary(end));
            masked.push_str(&text[copied..start]);
            masked.push_str(LIVE);
            copied = end;
        }
        masked.push_str(&text[copied..]);
        Cow::Owned(masked)
    }

    /// The text without secrets.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = self.mask_live(text);
        for (shape, pattern) in SHAPES.iter().zip(&PATTERNS) {
            if !shape.hints.iter().any(|hint| masked.contains(hint)) {
                continue;
            }
            let pattern = pattern.get_or_init(|| Regex::new(shape.pattern).ok());
            if let Some(changed) =
                pattern.as_ref().and_then(|pattern| replaced(&masked, pattern, shape.name))
            {
                masked = Cow::Owned(changed);
            }
        }
        masked
    }

    /// Masks in place; says whether there was anything to mask.
    pub fn mask_string(&self, text: &mut String) -> bool {
        match self.mask(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(masked) => {
                *text = masked;
                true
            }
        }
    }

    /// Masks a JSON text in place; says whether there was anything to mask. Its strings are masked one by one, because
    /// an escape such as `\/` would hide a secret; then the whole, because a key may say that its value is one.
    pub fn mask_json(&self, text: &mut String) -> bool {
        let value = serde_json::from_str::<Value>(text).ok();
        let masked = value.and_then(|mut value| self.mask_value(&mut value).then_some(value));
        let any = masked.is_some();
        if let Some(masked) = masked {
            *text = masked.to_string();
        }
        self.mask_string(text) | any
    }

    /// Masks live values in every text of a JSON value.
    pub fn mask_live_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.mask_live(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_live_value(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|item| self.mask_live_value(item));
                masked_keys(members, |key| self.mask_live(key));
            }
            _ => {}
        }
    }

    /// Masks live values in a JSON value in place, also in numbers and where a value spans several of them.
    fn mask_scalars(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_scalars(item)),
            Value::Object(members) => {
                members.values_mut().for_each(|item| self.mask_scalars(item));
                masked_keys(members, |key| self.mask_live(key));
            }
            _ => {}
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if let Cow::Owned(masked) = self.mask_live(&text) {
            let whole = || Value::from(format!("{MASK}live]"));
            *value = match value {
                Value::String(_) => Value::from(masked),
                _ => serde_json::from_str(&masked).unwrap_or_else(|_| whole()),
            };
        }
    }

    /// Masks the detail of an event, but for the keys by which it is found.
    pub fn mask_event(&self, detail: &mut Value) {
        let before = detail.clone();
        if self.mask_value(detail) {
            restore_keys(detail, &before);
        }
    }

    /// Masks every text in a JSON value in place; says whether there was anything to mask.
    pub fn mask_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.mask_string(text),
            Value::Array(items) => {
                items.iter_mut().fold(false, |any, item| self.mask_value(item) | any)
            }
            Value::Object(members) => {
                let any = members.values_mut().fold(false, |any, item| self.mask_value(item) | any);
                masked_keys(members, |key| self.mask(key)) | any
            }
            _ => false,
        }
    }
}

/// What of a value is looked for: all of it, and each of its lines. Tools show lines with numbers or names between them,
/// sorted, or one alone. What frames a key in PEM is in every key, and a short line or a single word is anywhere.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let value = value.trim();
    let is_word = |line: &str| {
        line.len() < MIN_SECRET_LEN
            && !line.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    };
    let lines = value
        .lines()
        .map(str::trim)
        .filter(move |line| *line != value && !line.starts_with("-----") && !is_word(line));
    let whole = std::iter::once(value).filter(|value| value.len() <= MAX_PART);
    let pieces = lines.chain((value.len() > MAX_PART).then_some(value)).flat_map(pieces);
    whole.chain(pieces).filter(|part| part.len() >= MIN_LEN)
}

/// A text in parts that are not too long.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.ceil_char_boundary(MAX_PART));
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Masks the keys of an object; says whether there was anything to mask. Two that are the same then both stay.
fn masked_keys<'m>(
    members: &'m mut Map<String, Value>,
    mask: impl for<'k> Fn(&'k str) -> Cow<'k, str>,
) -> bool {
    let hidden: Vec<String> =
        members.keys().filter(|key| matches!(mask(key), Cow::Owned(_))).cloned().collect();
    for key in &hidden {
        let Some(value) = members.remove(key) else { continue };
        let name = mask(key).into_owned();
        let mut free = name.clone();
        let mut number = 1;
        while members.contains_key(&free) {
            number += 1;
            free = format!("{name}-{number}");
        }
        members.insert(free, value);
    }
    !hidden.is_empty()
}

/// Where texts stand that have the shape of a secret.
fn shaped(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for (shape, pattern) in SHAPES.iter().zip(&PATTERNS) {
        if !shape.hints.iter().any(|hint| text.contains(hint)) {
            continue;
        }
        let pattern = pattern.get_or_init(|| Regex::new(shape.pattern).ok());
        let secrets = pattern.iter().flat_map(|pattern| pattern.captures_iter(text));
        found.extend(secrets.filter_map(|one| Some(one.get(1).or_else(|| one.get(0))?.range())));
    }
    found
}

fn replaced(text: &str, pattern: &Regex, name: &str) -> Option<String> {
    let mut masked = String::new();
    let mut copied = 0;
    for found in pattern.captures_iter(text) {
        let Some(secret) = found.get(1).or_else(|| found.get(0)) else { continue };
        // What is masked already stays as it is.
        if secret.as_str().starts_with(MASK) {
            continue;
        }
        masked.push_str(&text[copied..secret.start()]);
        masked.push_str(MASK);
        masked.push_str(name);
        masked.push(']');
        copied = secret.end();
    }
    (copied > 0).then(|| {
        masked.push_str(&text[copied..]);
        masked
    })
}

/// Words in a variable's name that mark its value as a secret.
const SECRET_WORDS: [&str; 6] = ["KEY", "APIKEY", "PASS", "PAT", "PWD", "AUTH"];
/// And parts of such words.
const SECRET_PARTS: [&str; 6] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSPHRASE", "PASSWD", "CREDENTIAL"];
/// A shorter value of lower-case letters only counts as an ordinary word.
const MIN_SECRET_LEN: usize = 16;

/// Whether a variable holds a secret, by its name.
pub fn holds_secret(world: &dyn World, name: &str, value: &str) -> bool {
    names_secret(name) && can_be_secret(world, value.trim())
}

/// Whether a name, of words with `_` between them, is one of a secret.
pub fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split('_').any(|word| {
        SECRET_WORDS.contains(&word) || SECRET_PARTS.iter().any(|part| word.contains(part))
    })
}

/// Whether a value can be masked wherever it occurs. A path to a secret is not itself
/// a secret; a common word would match everywhere.
pub fn can_be_secret(world: &dyn World, value: &str) -> bool {
    let is_word = value.len() < MIN_SECRET_LEN && value.bytes().all(|b| b.is_ascii_lowercase());
    let is_path = value.starts_with('/') && world.exists(Path::new(value));
    value.len() >= MIN_LEN && !is_word && !is_path
}

/// The masks in a text, for callers that must not write a mask in place of its secret.
pub fn masks(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(MASK).filter_map(|(start, _)| {
        let name = &text[start + MASK.len()..];
        let end = name.find(']')?;
        let known = name[..end] == *"live" || SHAPES.iter().any(|shape| shape.name == &name[..end]);
        known.then(|| &text[start..start + MASK.len() + end + 1])
    })
}

#[cfg(test)]
mod tests {
    use ona_testkit::Disk;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_becomes_known_later_is_masked_from_then_on() {
        let late = LearnedSecrets::default();
        let redactor =
            Redactor::knowing(["known-from-the-start".to_owned()]).and_later(late.clone());
        let text = "known-from-the-start, renewed-1 and renewed-2";
        assert_eq!(redactor.mask(text), "[REDACTED:live], renewed-1 and renewed-2");
        late.learn(["renewed-1".to_owned()]);
        late.learn(["renewed-2".to_owned()]);
        assert_eq!(redactor.mask(text), "[REDACTED:live], [REDACTED:live] and [REDACTED:live]");
        assert_eq!(redactor.mask("renewed-1"), "[REDACTED:live]");
        assert_eq!(redactor.certain(b"it is rene"), 6);
    }

    #[test]
    fn an_escape_hides_no_secret() {
        let redactor = Redactor::knowing(["pass/word\"1".to_owned()]);
        for (text, expected) in [
            (r#"{"a": "x pass\/word\"1"}"#, r#"{"a":"x [REDACTED:live]"}"#),
            (r#"{"a": "\u0070ass/word\"1"}"#, r#"{"a":"[REDACTED:live]"}"#),
            (r#"{"a": "plain \/"}"#, r#"{"a": "plain \/"}"#),
            (r#"{"a": "pass/word"1"#, r#"{"a": "[REDACTED:live]"#),
            (
                r#"{"authorization": "Bearer 0123456789abcdef"}"#,
                r#"{"authorization": "Bearer [REDACTED:authorization]"}"#,
            ),
        ] {
            let mut masked = text.to_owned();
            assert_eq!(redactor.mask_json(&mut masked), text != expected, "{text}");
            assert_eq!(masked, expected);
        }
    }

    fn masked(text: &str) -> String {
        Redactor::default().mask(text).into_owned()
    }

    /// Put together at run time: a scanner of this repository should find nothing.
    fn of(prefix: &str, body: &str, times: usize) -> String {
        format!("{prefix}{}", body.repeat(times))
    }

    #[test]
    fn every_shape_is_masked_and_nothing_around_it() {
        let key = format!(
            "-----BEGIN RSA {0}-----\n{1}\n-----END RSA {0}-----",
            "PRIVATE KEY",
            "QUJD".repeat(30)
        );
        let cut = format!("-----BEGIN {}-----\n{}", "PRIVATE KEY", "QUJD".repeat(30));
        let cases = [
            (key, "private_key"),
            (cut, "private_key"),
            (of("AKIA", "ABCDEFGH", 2), "aws_access_key"),
            (of("ghp_", "aB3dE6", 6), "github_token"),
            (of("github_pat_", "aB3dE_", 6), "github_token"),
            (of("glpat-", "aB3dE", 4), "gitlab_token"),
            (of("sk-ant-", "api03-aB3_", 4), "anthropic_key"),
            (of("sk-proj-", "aB3_d", 5), "openai_key"),
            (of("sk-", "aB3d", 12), "openai_key"),
            (of("xoxb-", "123456789012-", 2), "slack_token"),
            (of("AIza", "aB3dE-_", 5), "google_key"),
            (of("sk_live_", "aB3d", 6), "stripe_key"),
            (of("npm_", "aB3dE6", 6), "npm_token"),
            (of("pypi-", "aB3dE_", 10), "pypi_token"),
            (format!("{0}.{0}.{1}", of("eyJ", "aB3d", 4), "aB3d".repeat(4)), "jwt"),
        ];
        for (secret, name) in cases {
            for (before, after) in [("", ""), ("a = \"", "\";\n"), ("x: ", "\nrest of the text")] {
                let text = format!("{before}{secret}{after}");
                let expected = format!("{before}[REDACTED:{name}]{after}");
                // A private key that was cut off has no end to be seen.
                if secret.ends_with("QUJD") && after.contains("rest") {
                    assert!(masked(&text).starts_with("x: [REDACTED:private_key]"));
                    continue;
                }
                assert_eq!(masked(&text), expected, "{name}");
            }
        }
    }

    #[test]
    fn of_a_pair_only_the_secret_is_masked() {
        for (text, expected) in [
            ("postgres://bob:hunter22@db/x", "postgres://bob:[REDACTED:url_password]@db/x"),
            (
                "https://user:abc123@h https://h/x",
                "https://user:[REDACTED:url_password]@h https://h/x",
            ),
            (
                "Authorization: Bearer abcdefghijklmnop1",
                "Authorization: Bearer [REDACTED:authorization]",
            ),
            (
                r#"{\"authorization\": \"Bearer abcdefghijklmnop1\"}"#,
                r#"{\"authorization\": \"Bearer [REDACTED:authorization]\"}"#,
            ),
            (
                "\"authorization\": \"Basic dXNlcjpwYXNzd29yZA==\"",
                "\"authorization\": \"Basic [REDACTED:authorization]\"",
            ),
        ] {
            assert_eq!(masked(text), expected);
            assert_eq!(masked(expected), expected, "once is enough");
        }
        let key = of("aws_secret_access_key = ", "aB3dE/+9", 5);
        assert_eq!(masked(&key), "aws_secret_access_key = [REDACTED:aws_secret_key]");
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "sk-loading-spinner-container-large-screens",
            "https://example.com:8080/a@b http://${USER}:${PASS}@host git@github.com:a/b.git",
            "ssh://git@host:22/x?y=a@b",
            "if text.contains(\"-----BEGIN PRIVATE KEY-----\") { ghp_ AKIA eyJ npm_install_the_thing }",
            "authorization: none of your business",
            "the secret of aws is its people",
            "[REDACTED:live] and [REDACTED:jwt]",
        ] {
            assert!(
                matches!(Redactor::default().mask(text), Cow::Borrowed(_)),
                "{text}: {}",
                masked(text)
            );
        }
    }

    #[test]
    fn live_values_are_masked_wherever_they_stand() {
        let redactor = Redactor::knowing([
            "hunter2hunter2".into(),
            "with\"quote".into(),
            "short".into(),
            String::new(),
        ]);
        assert_eq!(redactor.mask("key=hunter2hunter2;short"), "key=[REDACTED:live];short");
        let mut value =
            json!({"a": ["x hunter2hunter2"], "b": 1, "c": "{\"k\":\"with\\\"quote\"}"});
        assert!(redactor.mask_value(&mut value));
        assert_eq!(
            value,
            json!({"a": ["x [REDACTED:live]"], "b": 1, "c": "{\"k\":\"[REDACTED:live]\"}"})
        );
        assert!(!redactor.mask_value(&mut value), "nothing is left");
        assert_eq!(redactor.mask_live(&of("ghp_", "aB3dE6", 6)), of("ghp_", "aB3dE6", 6));
    }

    #[test]
    fn each_line_of_a_value_is_a_secret_too() {
        let key = "-----BEGIN KEY-----\nQUJDREVGR0hJSktM\nTU5PUFFSU1RVVldY\n-----END KEY-----\n";
        let redactor = Redactor::knowing([key.to_owned(), "  one-Value-2\n".to_owned()]);
        assert_eq!(redactor.mask_live(key.trim()), "[REDACTED:live]");
        assert_eq!(
            redactor.mask_live("     1\tQUJDREVGR0hJSktM\n     2\tTU5PUFFSU1RVVldY"),
            "     1\t[REDACTED:live]\n     2\t[REDACTED:live]"
        );
        assert_eq!(redactor.mask_live("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
        assert_eq!(redactor.mask_live("x one-Value-2y"), "x [REDACTED:live]y");
        let text = Redactor::knowing(["a key of\nseveral\n{\n}\nlines".to_owned()]);
        assert_eq!(text.mask_live("several { lines of"), "several { lines of");
    }

    #[test]
    fn a_long_value_is_found_in_parts() {
        for value in ["ab".repeat(50_000), (0..20_000).map(|n| format!("{n}-")).collect()] {
            let redactor = Redactor::knowing([value.clone()]);
            let masked = redactor.mask_live(&value).into_owned();
            assert_eq!(masked.replace("[REDACTED:live]", ""), "", "{} bytes", value.len());
            let shown = format!("x {} y", &value[1024..2048]);
            assert_eq!(redactor.mask_live(&shown), "x [REDACTED:live] y");
        }
    }

    #[test]
    fn keys_of_objects_are_masked_and_none_is_lost() {
        let redactor = Redactor::knowing(["hunter2hunter2".into(), "hunter3hunter3".into()]);
        let value = json!({"hunter2hunter2": 1, "hunter3hunter3": {"hunter2hunter2": "x"}, "b": 2});
        let masked =
            json!({"[REDACTED:live]": 1, "[REDACTED:live]-2": {"[REDACTED:live]": "x"}, "b": 2});
        let mut live = value.clone();
        redactor.mask_live_value(&mut live);
        assert_eq!(live, masked);
        let mut all = value;
        assert!(redactor.mask_value(&mut all));
        assert_eq!(all, masked);
    }

    #[test]
    fn a_variable_says_by_its_name_that_it_holds_a_secret() {
        for (name, value, expected) in [
            ("ANTHROPIC_API_KEY", "abcdefgh1", true),
            ("github_token", "abcdefgH", true),
            ("DB_PASSWORD", "abc-defgh", true),
            ("PGPASSWORD", "correct-horse", true),
            ("ONA_VAULT_PASSPHRASE", "correct-horse", true),
            ("AWS_SECRET_ACCESS_KEY", "/Jalr+notAPath", true),
            ("DB_PASSWORD", "postgres", false),
            ("PWD", "/", false),
            ("GIT_AUTHOR_NAME", "Jane Developer", false),
            ("SSH_AUTH_SOCK", "abcdefgh", false),
            ("AWS_SECRET_FILE", "/etc/hostname", false),
            ("API_KEY", "short", false),
            ("MONKEY", "abcdefgh", false),
        ] {
            assert_eq!(holds_secret(&Disk, name, value), expected, "{name}");
        }
    }

    #[test]
    fn masks_are_recognised() {
        let text = "a [REDACTED:live] b [REDACTED:jwt][REDACTED:unheard_of] [REDACTED:";
        assert_eq!(masks(text).collect::<Vec<_>>(), ["[REDACTED:live]", "[REDACTED:jwt]"]);
    }

    #[test]
    fn every_pattern_compiles() {
        for shape in &SHAPES {
            assert!(Regex::new(shape.pattern).is_ok(), "{}", shape.name);
        }
    }

    proptest! {
        #[test]
        fn masking_twice_is_masking_once(text in "(sk-ant-|ghp_|://|a:b@|AKIA|eyJ\\.|Authorization: Bearer |[A-Za-z0-9 \n]{1,40}){0,8}") {
            let once = masked(&text);
            prop_assert_eq!(masked(&once), once);
        }

        #[test]
        fn a_live_secret_never_comes_through(before in ".{0,20}", after in ".{0,20}") {
            let secret = "correct-horse-battery";
            let redactor = Redactor::knowing([secret.to_owned()]);
            let text = format!("{before}{secret}{after}");
            prop_assert!(!redactor.mask(&text).contains(secret));
        }
    }
}
