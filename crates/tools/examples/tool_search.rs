//! ToolSearch over 2,000 tools, for `cargo xtask bench`.
#![allow(clippy::print_stdout, reason = "prints its figure")]

use std::hint::black_box;
use std::time::Instant;

use ona_tools::{Deferred, rank};

const TOOLS: usize = 2_000;
const RUNS: usize = 51;
const QUERIES: [&str; 4] =
    ["create an issue", "list files of a repository", "word17 word42 word99", "nothing fits this"];

fn main() {
    let about = |n: usize| -> String {
        let words = (0..30).map(|at| format!("word{}", (n * 31 + at * 17) % 500));
        let words: Vec<String> = words.collect();
        format!("Creates or lists the issues and files of a repository: {}", words.join(" "))
    };
    let tools: Vec<Deferred> = (0..TOOLS)
        .map(|n| Deferred {
            name: format!("mcp__server{}__tool_{n}", n % 20),
            description: about(n),
        })
        .collect();
    let mut slowest = 0.0_f64;
    for query in QUERIES {
        let mut times: Vec<f64> = (0..RUNS)
            .map(|_| {
                let start = Instant::now();
                black_box(rank(black_box(query), &tools, 5));
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        times.sort_by(f64::total_cmp);
        slowest = slowest.max(times[RUNS / 2]);
    }
    println!("search_ms {slowest:.4}");
}
