//! Where credentials for models come from, and which of them wins (S0 §2.7).

use serde::Serialize;

/// The kind of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A token that was given as it is.
    Bearer,
    /// A key.
    ApiKey,
    /// A key that a command of the operator's prints.
    ApiKeyHelper,
    /// A token of a sign-in.
    Oauth,
    /// None: who listens on a socket adds one.
    Proxy,
    /// None.
    None,
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bearer => "a bearer token",
            Self::ApiKey => "a key",
            Self::ApiKeyHelper => "a command that prints a key",
            Self::Oauth => "a token of a sign-in",
            Self::Proxy => "a proxy that adds the credential",
            Self::None => "none",
        })
    }
}

/// A place that a credential comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `ANTHROPIC_AUTH_TOKEN`.
    AuthToken,
    /// `ANTHROPIC_API_KEY`.
    ApiKey,
    /// The setting `apiKeyHelper`.
    ApiKeyHelper,
    /// `CLAUDE_CODE_OAUTH_TOKEN`.
    OauthToken,
    /// `CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR`.
    OauthDescriptor,
    /// `ona auth login`.
    Login,
    /// `ANTHROPIC_UNIX_SOCKET`.
    UnixSocket,
    /// `OPENAI_API_KEY`.
    OpenAiKey,
    /// `LM_STUDIO_API_KEY`.
    LmStudioKey,
}

/// A row of the table of sources.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The source.
    pub source: Source,
    /// Its name, as the operator knows it.
    pub name: &'static str,
    /// What it gives.
    pub class: Class,
    /// Whether `--bare` uses it (S0 §2.7, A7).
    pub in_bare: bool,
}

const fn row(source: Source, name: &'static str, class: Class, in_bare: bool) -> Row {
    Row { source, name, class, in_bare }
}

/// The sources for Anthropic; the first one that is there wins.
#[rustfmt::skip]
pub const ANTHROPIC: &[Row] = &[
    row(Source::AuthToken,       "ANTHROPIC_AUTH_TOKEN",                    Class::Bearer,       false),
    row(Source::ApiKey,          "ANTHROPIC_API_KEY",                       Class::ApiKey,       true),
    row(Source::ApiKeyHelper,    "apiKeyHelper",                            Class::ApiKeyHelper, true),
    row(Source::OauthToken,      "CLAUDE_CODE_OAUTH_TOKEN",                 Class::Oauth,        false),
    row(Source::OauthDescriptor, "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", Class::Oauth,        false),
    row(Source::Login,           "login",                                   Class::Oauth,        false),
    row(Source::UnixSocket,      "ANTHROPIC_UNIX_SOCKET",                   Class::Proxy,        false),
];

/// The source for a server that speaks OpenAI's protocol.
pub const OPENAI: &[Row] = &[row(Source::OpenAiKey, "OPENAI_API_KEY", Class::ApiKey, true)];

/// The source for a local server.
pub const LM_STUDIO: &[Row] = &[row(Source::LmStudioKey, "LM_STUDIO_API_KEY", Class::ApiKey, true)];

/// The row that wins.
pub fn active(
    rows: &'static [Row],
    bare: bool,
    is_there: impl Fn(Source) -> bool,
) -> Option<&'static Row> {
    rows.iter().find(|row| (!bare || row.in_bare) && is_there(row.source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_there_wins() {
        let name = |there: &[Source], bare: bool| {
            active(ANTHROPIC, bare, |source| there.contains(&source)).map(|row| row.name)
        };
        let all: Vec<Source> = ANTHROPIC.iter().map(|row| row.source).collect();
        for (at, row) in ANTHROPIC.iter().enumerate() {
            assert_eq!(name(&all[at..], false), Some(row.name));
        }
        assert_eq!(name(&[], false), None);
        assert_eq!(name(&all, true), Some("ANTHROPIC_API_KEY"));
        assert_eq!(name(&[Source::AuthToken, Source::Login, Source::UnixSocket], true), None);
        assert_eq!(name(&[Source::AuthToken, Source::ApiKeyHelper], true), Some("apiKeyHelper"));
    }
}
