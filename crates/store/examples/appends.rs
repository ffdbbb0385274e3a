//! Durable transcript appends a second, one transaction each, for `cargo xtask bench`.
#![allow(clippy::print_stdout, reason = "prints its one figure")]

use std::error::Error;
use std::time::Instant;

use ona_store::{Join, Store};
use ona_types::{ContentBlock, Entry, EntryType};

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::temp_dir().join(format!("ona-appends-{}", std::process::id()));
    let store = Store::open(&dir.join("agent.db"))?;
    let seat = store.join(&Join { project_dir: "/bench", conversation: None })?;
    let block = ContentBlock::Text { text: "x".repeat(800) };
    let entry = [Entry::message(EntryType::User, "u", &[block])];
    const ROWS: u32 = 3000;
    let start = Instant::now();
    for _ in 0..ROWS {
        store.append(&seat.session, &entry)?;
    }
    println!("appends_per_second {:.0}", f64::from(ROWS) / start.elapsed().as_secs_f64());
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
