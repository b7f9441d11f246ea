//! Build script: tells the binary which commit it was built from, and what a debug build is.
//! Nothing is generated here.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=src/build.rs");
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    // The log of HEAD grows with every commit and checkout; a second work tree has it elsewhere.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    // Only if this folder is the repository, not a folder inside another one.
    let here = std::path::Path::new(".git").exists();
    let commit = here.then(|| git(&["show", "-s", "--format=%h %cs", "HEAD"])).flatten();
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let text = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=RYE_VERSION={text}");
    let var = |name| std::env::var(name).unwrap_or_default();
    let is_debug = var("PROFILE") == "debug";
    println!("cargo:rustc-check-cfg=cfg(debug_build)");
    if is_debug {
        println!("cargo:rustc-cfg=debug_build");
    }
    // The tests start a debug build some ten thousand times, and half of each start is writing the
    // program's own addresses, as it may lie anywhere in memory. What is handed out may.
    let is_gnu = var("CARGO_CFG_TARGET_OS") == "linux" && var("CARGO_CFG_TARGET_ENV") == "gnu";
    let is_static = var("CARGO_CFG_TARGET_FEATURE").split(',').any(|name| name == "crt-static");
    if is_gnu && !is_static && is_debug {
        println!("cargo:rustc-link-arg-bin=rye=-no-pie");
    }
}
