//! The environment variables that hold ona's own credentials.

/// Nothing that ona starts inherits them, hooks excepted (S0 §5.11): a command, a server or a helper that needs one is
/// given it by its own settings.
pub const CREDENTIAL_VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "BRAVE_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    CREDENTIAL_DESCRIPTOR,
    CREDENTIAL_HANDOVER,
    "LM_STUDIO_API_KEY",
    "ONA_VAULT_PASSPHRASE",
    "OPENAI_API_KEY",
    "TAVILY_API_KEY",
];

/// The number of a descriptor that a token is read from.
pub const CREDENTIAL_DESCRIPTOR: &str = "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR";

/// The number of the descriptor by which ona hands over all of them when it starts itself again.
pub const CREDENTIAL_HANDOVER: &str = "ONA_HANDOVER";
