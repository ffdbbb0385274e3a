//! SHA-256 throughput, for `cargo xtask bench`.
#![allow(clippy::print_stdout, reason = "prints its one figure")]

use std::time::Instant;

use ona_types::ContentHash;

fn main() {
    let data = vec![0xa5u8; 64 << 20];
    let start = Instant::now();
    for _ in 0..4 {
        std::hint::black_box(ContentHash::of(std::hint::black_box(&data)));
    }
    let megabytes = 4.0 * data.len() as f64 / 1e6;
    println!("sha256_mb_per_second {:.0}", megabytes / start.elapsed().as_secs_f64());
}
