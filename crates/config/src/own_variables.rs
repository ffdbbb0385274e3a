//! Environment variables of ona itself, which no settings set.

/// Why one is refused.
pub(crate) const OWN_VARIABLE: &str =
    "variables of ona itself are not set here, but in its environment";

/// Whether a variable is one of them.
pub(crate) fn is_own_variable(name: &str) -> bool {
    name == "AGENT_SDLC_DB" || name.starts_with("ONA_") || name.starts_with("SDLC_")
}
