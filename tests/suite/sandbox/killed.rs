//! Nothing of `bwrap` outlives a killed rye.

use std::fs;
use std::time::{Duration, Instant};

use super::{BWRAP, doer, works};
use crate::world::{World, whole};

/// Processes whose command line names this folder.
fn processes(folder: &std::path::Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        Some((entry.file_name(), String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    let named = lines.filter(|(_, line)| line.contains(folder));
    named.map(|(pid, line)| format!("{} {line}", pid.display())).collect()
}

/// 30 kills here; the whole is 600.
#[test]
fn whenever_rye_is_killed_nothing_of_bwrap_is_left() {
    if !works("whenever_rye_is_killed_nothing_of_bwrap_is_left", BWRAP) {
        return;
    }
    let kills: u32 = if whole() { 600 } else { 30 };
    let world = World::new_on_disk().held();
    doer(&world, "sleeps", "[sandbox.fs]\nwrite = [\"{project_path}\"]");
    let args = ["execute", "sleeps", "--sandbox", BWRAP, "-i", "code=open('runs', 'w')"];
    let start = Instant::now();
    assert_eq!(world.rye(&args).status, 0, "it works untouched");
    assert!(world.project().join("runs").exists());
    let usual = start.elapsed();
    let code = "code=import time; time.sleep(1000)";
    let args = ["execute", "sleeps", "--sandbox", BWRAP, "-i", code];
    for kill in 0..kills {
        let mut child = world.start(&args);
        // From before its first call until the tool runs, the middle of it most.
        std::thread::park_timeout(usual.mul_f64(0.2 + 1.1 * f64::from(kill) / f64::from(kills)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let since = Instant::now();
    loop {
        let left = processes(world.outside());
        if left.is_empty() {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{kills} kills left {left:#?}");
        std::thread::park_timeout(Duration::from_millis(100));
    }
}
