//! How the optimised program is laid out: `.cargo/ordered-cc` and the list that it reads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const LLD: &[&str] = &["-fuse-ld=lld", "-static-pie"];

/// `ordered-cc` beside a list of its own, and a `cc` that writes down what it is called with.
struct Linking {
    folder: TempDir,
}

impl Linking {
    fn with_list(list: Option<&str>) -> Self {
        let linking = Self { folder: tempfile::tempdir().unwrap() };
        let script = root().join(".cargo/ordered-cc");
        fs::copy(script, linking.path("ordered-cc")).unwrap();
        if let Some(list) = list {
            fs::write(linking.path("order.txt"), list).unwrap();
        }
        fs::create_dir(linking.path("bin")).unwrap();
        let cc = "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"${0%/*}/../called\"\nfor arg; do case $arg in \
                  -Wl,--symbol-ordering-file=*) cat -- \"${arg#*=}\" >\"${0%/*}/../given\" ;; esac; done\n\
                  exit \"${CC_STATUS:-0}\"\n";
        fs::write(linking.path("bin/cc"), cc).unwrap();
        fs::set_permissions(linking.path("bin/cc"), fs::Permissions::from_mode(0o755)).unwrap();
        linking
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An object file, as rustc names its own, with functions of these names.
    fn object(&self, names: &[String]) -> String {
        let object = self.path("rye.rye.0123-cgu.0.rcgu.o");
        let functions = names.iter().map(|name| format!(".globl \"{name}\"\n\"{name}\": nop\n"));
        fs::write(self.path("a.s"), format!(".text\n{}", functions.collect::<String>())).unwrap();
        let made =
            Command::new("cc").args(["-c", "-o"]).arg(&object).arg(self.path("a.s")).status();
        assert!(made.unwrap().success());
        object.to_str().unwrap().to_owned()
    }

    /// What the real linker was called with, the order that it was given, and the status.
    fn link(&self, args: &[&str], status: &str) -> (Vec<String>, Option<String>, Option<i32>) {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.path("bin").display());
        let mut command = Command::new(self.path("ordered-cc"));
        command.args(args).env("PATH", path).env("CC_STATUS", status);
        let ended = command.current_dir(self.folder.path()).status().unwrap();
        let called = fs::read_to_string(self.path("called")).unwrap();
        let given = fs::read_to_string(self.path("given")).ok();
        (called.lines().map(str::to_owned).collect(), given, ended.code())
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_linker_is_told_the_order_by_the_names_that_this_compiler_gave() {
    let h = |name: &str, hash: u8| format!("{name}17h{hash:016x}E");
    let list = [
        "# words".to_owned(),
        "_start".to_owned(),
        h("_ZN3rye8dispatch", 1),
        h("_ZN4gone", 2),
        h("_ZN3vec4grow", 3),
        h("_ZN3vec4grow", 4),
        h("_ZN3map4grow", 5),
        h("_ZN3map4grow", 6),
        h("_ZN3rye4main", 7),
    ];
    let linking = Linking::with_list(Some(&(list.join("\n") + "\n")));
    let many: Vec<String> = (0x20..0x25).map(|hash| h("_ZN3map4grow", hash)).collect();
    let names = [
        vec![
            // Of another compiler.
            h("_ZN3rye4main", 0x10),
            h("_ZN3rye4main", 0x11),
            // As listed, once with the number that the optimiser puts behind a name.
            h("_ZN3rye8dispatch", 1) + ".llvm.4711",
            h("_ZN3vec4grow", 4),
            // Like one that is there as listed; like none.
            h("_ZN3vec4grow", 0x12),
            h("_ZN5other", 0x13),
        ],
        many.clone(),
    ]
    .concat();
    let object = linking.object(&names);
    let args = [&[object.as_str(), "-o", "a program"], LLD].concat();
    let (called, given, status) = linking.link(&args, "0");
    assert_eq!(status, Some(0));
    assert_eq!(called[..args.len()], args[..], "what it was called with comes first, unchanged");
    let told = ["-Wl,--symbol-ordering-file=a program.order", "-Wl,--no-warn-symbol-ordering"];
    assert_eq!(called[args.len()..], told);
    // A name of the C library is passed on; one of Rust for many functions is last.
    let [main, other_main, dispatch, grow] = [0, 1, 2, 3].map(|at: usize| names[at].clone());
    let want = [vec!["_start".into(), dispatch, grow, main, other_main], many].concat();
    assert_eq!(given.unwrap().lines().collect::<Vec<_>>(), want);
}

#[test]
fn a_linker_that_knows_no_order_is_called_as_if_there_was_none() {
    for (list, args) in [
        (Some("_start\n"), vec!["-o", "out", "-fuse-ld=bfd"]),
        (Some("_start\n"), vec!["-o", "a program"]),
        (Some("_start\n"), LLD.to_vec()),
        (None, [&["-o", "out"], LLD].concat()),
    ] {
        let linking = Linking::with_list(list);
        let (called, given, status) = linking.link(&args, "3");
        assert_eq!(called, args, "{list:?}");
        assert_eq!((given, status), (None, Some(3)), "{args:?}");
    }
}

#[test]
fn the_order_is_one_of_functions_that_there_are() {
    let list = fs::read_to_string(root().join(".cargo/order.txt")).unwrap();
    let mut source = String::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => source.push_str(&fs::read_to_string(path).unwrap_or_default()),
            }
        }
    }
    let ours: Vec<&str> = list.lines().filter(|name| name.starts_with("_ZN3rye")).collect();
    let is_there = |name: &&&str| source.contains(&format!("fn {}", last(name)));
    let there = ours.iter().filter(is_there).count();
    assert!(ours.len() > 300, "{} functions of rye", ours.len());
    assert!(
        there * 4 > ours.len() * 3,
        "{there} of {} functions are still there; write the list anew: tests/bench/order.sh",
        ours.len()
    );
}

/// The last part of a mangled name that is a plain word: each part stands behind its length.
fn last(mangled: &str) -> String {
    let mut rest = mangled[3..].rsplit_once("17h").map_or(&mangled[3..], |(name, _)| name);
    let mut word = String::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&end| end > 0) {
        let Ok(length) = rest[..end].parse::<usize>() else { break };
        let Some(part) = rest.get(end..end + length) else { break };
        if part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !part.starts_with('_') {
            part.clone_into(&mut word);
        }
        rest = &rest[end + length..];
    }
    word
}
