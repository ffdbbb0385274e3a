//! Folds functions that are the same into one, where the linker can: Rust's own on 64-bit Linux. Generic code is compiled
//! many times, and a twentieth of the program is copies.
#![allow(clippy::disallowed_methods, reason = "cargo tells the target in the environment")]

fn main() {
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|value| value == wanted);
    let own_linker = is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu");
    // A debug build is linked often, and its size does not matter.
    if own_linker && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
