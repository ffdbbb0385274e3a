//! Search over 50,000 memories, half of them of one project, for `cargo xtask bench`. With a path it leaves the record there, for
//! whole processes to search.
#![allow(clippy::print_stdout, reason = "prints its figures")]

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ona_store::{Author, ImportedMemory, Memory, Store, Within};

const MEMORIES: u64 = 50_000;
const PROJECTS: u64 = 10;
const RUNS: usize = 15;

/// What is looked for: rare words, common ones, two that no memory holds together, one that every memory holds.
const QUERIES: [&str; 5] = ["word900", "word3 word20", "word1", "word900 word901 word902", "note"];

/// Numbers that only look random: the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Words as texts have them: the n-th is half as common as the one twice as far up.
    fn words(&mut self, count: u64) -> String {
        let words = (0..count).map(|_| {
            let at = (self.roll() % 10_000) as f64 / 10_000.0;
            format!("word{}", 20_000_f64.powf(at) as u64)
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let passing = std::env::temp_dir().join(format!("ona-memories-{}", std::process::id()));
    let path = given.clone().unwrap_or_else(|| passing.join("agent.db"));
    let store = Store::open(&path)?;
    let mut dice = Dice(1);
    let memories: Vec<ImportedMemory> = (0..MEMORIES)
        .map(|n| ImportedMemory {
            memory: Memory {
                id: format!("mem_{n:032x}"),
                kind: "lesson".into(),
                title: format!("note {}", dice.words(6)),
                content: Some(dice.words(40)),
                keywords: Some(dice.words(4)),
                anticipated_queries: None,
                project_scope: Some(format!(
                    "/bench/{}",
                    if n % 2 == 0 { 0 } else { n % PROJECTS }
                )),
            },
            source: "/bench".into(),
            source_hash: "1".into(),
        })
        .collect();
    store.import_memories(&memories, &Author::human())?;

    let now = 2_000_000_000;
    let mut slowest = Duration::ZERO;
    for project in ["/bench/0", "/bench/3", "/nowhere", ""] {
        let within = if project.is_empty() { Within::All } else { Within::Project(project) };
        for query in QUERIES {
            let time = median(|| {
                let hits = store.search_memories(query, within, 10, now)?;
                let ids: Vec<&str> = hits.iter().map(|hit| hit.row.memory.id.as_str()).collect();
                Ok(store.touch_memories(&ids, now)?)
            })?;
            println!("{query} in {within:?}: {:.2} ms", ms(time));
            slowest = slowest.max(time);
        }
    }
    println!("search_ms {:.3}", ms(slowest));
    let best = median(|| {
        black_box(store.best_memories(Within::Project("/bench/0"), 200, now)?);
        Ok(())
    })?;
    println!("best_ms {:.3}", ms(best));
    let mut n = 0;
    let write = median(|| {
        n += 1;
        let memory = Memory {
            id: format!("mem_{:032x}", MEMORIES + n),
            title: dice.words(6),
            content: Some(dice.words(40)),
            ..Memory::default()
        };
        store.save_memory(&memory, &Author::human())?;
        Ok(())
    })?;
    println!("write_ms {:.3}", ms(write));
    if given.is_none() {
        std::fs::remove_dir_all(&passing)?;
    }
    Ok(())
}

fn median(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[RUNS / 2])
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
