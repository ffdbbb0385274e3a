//! Tokens, by the provider's own count.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens of one answer, or of many. The four figures never overlap: what came from the cache is not
/// counted as input again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Read, and not from the cache.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Read and put into the cache.
    pub cache_creation_input_tokens: u64,
    /// Read from the cache.
    pub cache_read_input_tokens: u64,
}

impl Usage {
    /// Everything that stands in the model's context window after this answer.
    pub fn context_tokens(&self) -> u64 {
        self.input_tokens
            + self.output_tokens
            + self.cache_creation_input_tokens
            + self.cache_read_input_tokens
    }
}

impl Add for Usage {
    type Output = Usage;

    fn add(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cache_creation_input_tokens: self.cache_creation_input_tokens
                + other.cache_creation_input_tokens,
            cache_read_input_tokens: self.cache_read_input_tokens + other.cache_read_input_tokens,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}
