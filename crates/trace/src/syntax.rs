//! Facts from a file's syntax tree: which symbols a change touches, which tokens are code, and which
//! signatures others can call.
//!
//! Eleven languages are read, and C# where the feature `c-sharp` is on. Everything is bounded: a text that is too large, takes too long or is of no known
//! language has no tree, and the record says `fallback`.

mod alike;
mod attribute;
mod languages;
mod signatures;
mod tokens;
mod tree;

pub use alike::{only_moved, only_renamed};
pub use attribute::attribute;
pub use languages::left_out;
pub use signatures::{Signature, public_signatures};
pub use tokens::{Token, code_tokens, same_code};
pub use tree::Syntax;
