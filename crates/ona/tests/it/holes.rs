//! Replays every attempt of docs/SECURITY.md through the real binary: as a hostile repository, model, server, host and
//! user. One part for each thing that was attacked.

/// Command lines against rules about files and programs, and against the intent gate.
mod commands;
/// The gate: swapped paths, replaced inputs and outputs, agents of skills, servers' resources, hosts, `explain`.
mod gate;
/// git in a hostile clone.
mod git;
/// Hooks that guard: what replaces an input, and what could silence them.
mod hooks;
/// What only looks like a file where git, a walk or the trace would read one, and signals meanwhile.
mod odd_files;
/// The record, the trace, and what scripts rely on.
mod record;
/// Secrets, ids from outside, the terminal, and what only looks like a file.
mod secrets;
/// Trust of a run, settings that cannot be read, helpers under every way to start.
mod trust;
