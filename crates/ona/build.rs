//! Makes the release binary smaller where the linker can: Rust's own on 64-bit Linux.
//!
//! - Functions that are the same become one. Generic code is compiled many times, and a twentieth of the program is copies.
//! - Relocations are packed: 3 MB of them become some kilobytes. The C library reads them since 2.36, and a program that has
//!   them does not start with an older one.
#![allow(
    clippy::disallowed_methods,
    reason = "cargo tells the target in the environment, and only a program knows the C library's version"
)]

use std::process::Command;

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let own_linker = variable("CARGO_CFG_TARGET_ARCH") == "x86_64"
        && variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    // A debug build is linked often, and its size does not matter.
    if own_linker && variable("PROFILE") == "release" {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        if variable("HOST") == variable("TARGET") && c_library().is_some_and(|is| is >= (2, 36)) {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// The version of the C library here: "glibc 2.36".
fn c_library() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
