//! Which names agents, skills and plugins may have.

/// The maximum length of a name.
pub(crate) const MAX_NAME: usize = 64;

/// Whether something can be the name of an agent, a skill or a plugin.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.starts_with('-') && (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}
