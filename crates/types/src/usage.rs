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
    /// All tokens in the model's context window after this answer.
    pub fn context_tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.output_tokens)
            .saturating_add(self.cache_creation_input_tokens)
            .saturating_add(self.cache_read_input_tokens)
    }
}

impl Add for Usage {
    type Output = Usage;

    /// Saturates: the figures come from a server, and a wrong figure must not crash ona.
    fn add(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .saturating_add(other.cache_creation_input_tokens),
            cache_read_input_tokens: self
                .cache_read_input_tokens
                .saturating_add(other.cache_read_input_tokens),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_is_too_large_to_be_added() {
        let most = Usage {
            input_tokens: u64::MAX,
            output_tokens: i64::MAX.cast_unsigned(),
            cache_creation_input_tokens: u64::MAX,
            cache_read_input_tokens: 1,
        };
        assert_eq!(most.context_tokens(), u64::MAX);
        let mut sum = most;
        sum += most;
        assert_eq!((sum.input_tokens, sum.cache_read_input_tokens), (u64::MAX, 2));
    }
}
