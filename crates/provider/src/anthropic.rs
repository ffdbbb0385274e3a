//! The Anthropic Messages API.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::Decoder;
pub(crate) use encode::{encode, write};

/// The path of the endpoint, under the base URL.
pub(crate) const PATH: &str = "v1/messages";
/// The version of the API that is spoken.
pub(crate) const VERSION: &str = "2023-06-01";
