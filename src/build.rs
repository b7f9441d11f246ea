//! Build script: tells the binary which commit it was built from, and the linker how it may shorten
//! what the binary does at its start. Nothing is generated here.

use std::process::Command;

fn main() {
    // The log of HEAD grows with every commit and checkout.
    println!("cargo:rerun-if-changed=.git/logs/HEAD");
    println!("cargo:rerun-if-changed=src/build.rs");
    // What the linker is told, of which cargo knows nothing.
    println!("cargo:rerun-if-changed=.cargo/ordered-cc");
    println!("cargo:rerun-if-changed=.cargo/order.txt");
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    // Only if this folder is the repository, not a folder inside another one.
    let here = std::path::Path::new(".git").exists();
    let commit = here.then(|| git(&["show", "-s", "--format=%h %cs", "HEAD"])).flatten();
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let text = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=RYE_VERSION={text}");
    if relocates_in_short_form() {
        println!("cargo:rustc-link-arg-bin=rye=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the C library reads the short form of a program's own addresses (since 2.36): a fortieth of
/// the bytes to read at each start. An older one, linked in, would pass over them. Of the library for
/// another target nothing is known.
fn relocates_in_short_form() -> bool {
    if std::env::var("TARGET") != std::env::var("HOST") {
        return false;
    }
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let version =
        text.as_deref().and_then(|text| text.trim().strip_prefix("glibc ")?.split_once('.'));
    let number = |text: &str| text.parse::<u32>().ok();
    let version = version.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
    version.is_some_and(|version| version >= (2, 36))
}
