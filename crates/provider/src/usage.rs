//! What an answer costs.

use ona_types::Usage;

/// List prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of [`Usage::input_tokens`].
    pub input: f64,
    /// Of [`Usage::output_tokens`].
    pub output: f64,
    /// Of [`Usage::cache_creation_input_tokens`], kept for five minutes.
    pub cache_write: f64,
    /// Of [`Usage::cache_read_input_tokens`].
    pub cache_read: f64,
}

impl Price {
    /// What this usage costs, in US dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input_tokens, self.input)
            + part(usage.output_tokens, self.output)
            + part(usage.cache_creation_input_tokens, self.cache_write)
            + part(usage.cache_read_input_tokens, self.cache_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_add_up_and_cost_what_the_list_says() {
        let one = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_creation_input_tokens: 10_000,
            cache_read_input_tokens: 2_000_000,
        };
        let mut two = one;
        two += one;
        assert_eq!(two.context_tokens(), 2 * one.context_tokens());
        let price = Price { input: 3.0, output: 15.0, cache_write: 3.75, cache_read: 0.3 };
        assert!((price.of(&one) - 5.1375).abs() < 1e-9);
        assert!((price.of(&two) - 10.275).abs() < 1e-9);
    }
}
