//! OpenAI Chat Completions, as OpenAI and the many servers that imitate it speak it.

mod calls;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::Decoder;
pub(crate) use encode::{encode, write};

/// The path of the endpoint, under the base URL.
pub(crate) const PATH: &str = "chat/completions";
