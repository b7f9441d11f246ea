//! How the optimised program is laid out: `.cargo/ordered-cc` and the list that it reads.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::tidy::files;

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
                  --symbol-ordering-file=*) cat -- \"${arg#*=}\" >\"${0%/*}/../given\"\n\
                  [ -z \"$CC_KNOWS_NO_ORDER\" ] || { echo unknown >&2; exit 1; } ;; esac; done\n\
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

    /// `ordered-cc` with these arguments, in the folder.
    fn command(&self, args: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(self.path("ordered-cc"));
        command.args(args).env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.current_dir(self.folder.path());
        command
    }

    /// What the real linker was called with last, the order that it was given, and the status.
    fn link(&self, mut command: Command) -> (Vec<String>, Option<String>, Option<i32>) {
        let ended = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
        let called = fs::read_to_string(self.path("called")).unwrap();
        let given = fs::read_to_string(self.path("given")).ok();
        (called.lines().map(str::to_owned).collect(), given, ended.status.code())
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_linker_is_told_the_order_by_the_names_that_this_compiler_gave() {
    let h = |name: &str, hash: u8| format!("{name}17h{hash:016x}E");
    let list =
        "# words\n_start\n_ZN3rye8dispatch\n_ZN4gone\n_ZN3map4grow\n_ZN3vec4grow\n_ZN3rye4main\n";
    let linking = Linking::with_list(Some(list));
    let many: Vec<String> = (0..5).map(|hash| h("_ZN3map4grow", hash)).collect();
    let names = [
        vec![
            h("_ZN3rye4main", 1),
            // With the number that the optimiser puts behind a name.
            h("_ZN3rye8dispatch", 2) + ".llvm.4711",
            h("_ZN3vec4grow", 3),
            h("_ZN3vec4grow", 4),
            h("_ZN5other", 5),
        ],
        many.clone(),
    ]
    .concat();
    let object = linking.object(&names);
    let args = [&[object.as_str(), "-o", "a program, mine"], LLD].concat();
    let (called, given, status) = linking.link(linking.command(&args));
    assert_eq!(status, Some(0));
    assert_eq!(called[..args.len()], args[..], "what it was called with comes first, unchanged");
    let told = ["--symbol-ordering-file=a program, mine.order", "--no-warn-symbol-ordering"];
    assert_eq!(called[args.len()..], ["-Xlinker", told[0], "-Xlinker", told[1]]);
    // A name of the C library is passed on; one of Rust for many functions is last.
    let [main, dispatch, grow, other_grow] = [0, 1, 2, 3].map(|at: usize| names[at].clone());
    let want = [vec!["_start".into(), dispatch, grow, other_grow, main], many].concat();
    assert_eq!(given.unwrap().lines().collect::<Vec<_>>(), want);
}

#[test]
fn a_linker_that_knows_no_order_is_called_as_if_there_was_none() {
    for (list, args) in [
        (Some("_start\n"), vec!["-o", "out", "-fuse-ld=bfd"]),
        (Some("_start\n"), [&["-o", "out"], LLD, &["-fuse-ld=mold"]].concat()),
        (Some("_start\n"), vec!["-o", "a program"]),
        (Some("_start\n"), LLD.to_vec()),
        (None, [&["-o", "out"], LLD].concat()),
    ] {
        let linking = Linking::with_list(list);
        let mut command = linking.command(&args);
        command.env("CC_STATUS", "3");
        let (called, given, status) = linking.link(command);
        assert_eq!(called, args, "{list:?}");
        assert_eq!((given, status), (None, Some(3)), "{args:?}");
    }
}

#[test]
fn what_goes_wrong_with_the_order_leaves_the_program_linked_without_one() {
    let args = [&["-o", "out"], LLD].concat();
    let linking = Linking::with_list(Some("_start\n"));
    let mut command = linking.command(&args);
    command.env("CC_KNOWS_NO_ORDER", "yes");
    let (called, given, status) = linking.link(command);
    assert_eq!((called, status), (args.iter().map(ToString::to_string).collect(), Some(0)));
    assert_eq!(given.as_deref(), Some("_start\n"), "it was tried first");
    // Whatever is wrong with the program itself is told by the call that has no order.
    let linking = Linking::with_list(Some("_start\n"));
    let mut command = linking.command(&args);
    command.env("CC_STATUS", "3");
    let (called, _, status) = linking.link(command);
    assert_eq!((called.len(), status), (args.len(), Some(3)));
    // Neither `awk` nor `nm`; the shell's own words are all there is.
    let linking = Linking::with_list(Some("_start\n"));
    let mut command = linking.command(&args);
    for tool in ["sh", "cat"] {
        let found = ["/bin", "/usr/bin"].map(|folder| Path::new(folder).join(tool));
        let found = found.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, linking.path("bin").join(tool)).unwrap();
    }
    command.env("PATH", linking.path("bin"));
    let (called, given, status) = linking.link(command);
    assert_eq!((called.len(), given, status), (args.len(), None, Some(0)));
}

/// What `rustc.sh` gives a compiler beyond what it is given.
fn added(args: &[&str]) -> Vec<String> {
    let script = root().join(".cargo/rustc.sh");
    let output = Command::new(script).arg("printf").arg("%s\n").args(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines[..args.len()], *args, "what it was given comes first, unchanged");
    lines[args.len()..].to_vec()
}

#[test]
fn the_optimised_program_alone_is_linked_in_order_and_by_no_linker_but_its_own() {
    // In the order in which cargo gives it.
    let compile = |name: &str, kind: &str, level: &str, more: &[&str]| {
        let level = format!("opt-level={level}");
        let given = ["--crate-name", name, "--edition=2024", "src/main.rs", "--crate-type", kind];
        added(&[&given, &["--emit=link", "-C", &level][..], more, &["-C", "lto"]].concat())
    };
    let linker = format!("linker={}", root().join(".cargo/ordered-cc").display());
    let gives = |more: &[&str]| {
        let added = compile("rye", "bin", "3", more);
        (added.contains(&linker), added.contains(&"target-feature=+crt-static".to_owned()))
    };
    let can_be_static = gives(&[]).1;
    assert_eq!(gives(&[]), (true, can_be_static));
    assert_eq!(gives(&["--target", "x86_64-unknown-linux-gnu"]), (true, false));
    assert_eq!(gives(&["--target", "aarch64-unknown-linux-gnu"]), (false, false));
    for own in [&["-C", "linker=x"][..], &["-Clinker=x"], &["--codegen", "linker=x"]] {
        assert_eq!(gives(own), (false, can_be_static), "{own:?}");
    }
    assert_eq!(gives(&["-C", "linker-flavor=ld"]), (false, can_be_static));
    for (name, kind, level) in [("rye", "lib", "3"), ("rye", "bin", "0"), ("suite", "bin", "3")] {
        assert_eq!(compile(name, kind, level, &[]), [] as [&str; 0], "{name} {kind} {level}");
    }
}

#[test]
fn the_order_is_one_of_functions_that_there_are() {
    let list = fs::read_to_string(root().join(".cargo/order.txt")).unwrap();
    let ours: Vec<_> = list.lines().filter_map(place).collect();
    assert!(ours.len() > 300, "{} functions of rye", ours.len());
    let sources = files("src", "rs");
    let is_there = |(module, function): &&(String, String)| {
        let (file, folder) = (format!("src/{module}.rs"), format!("src/{module}/"));
        let begins = format!("fn {function}");
        sources.iter().filter(|(name, _)| *name == file || name.starts_with(&folder)).any(
            |(_, source)| source.split(&begins).skip(1).any(|rest| rest.starts_with(['(', '<'])),
        )
    };
    let there = ours.iter().filter(is_there).count();
    assert!(
        there * 4 > ours.len() * 3,
        "{there} of {} functions are still there; write the list anew: tests/bench/order.sh",
        ours.len()
    );
}

/// The first module and the name of a function of rye that stands in a module and is no closure or
/// method of a trait, by its mangled name: each part stands behind its length.
fn place(mangled: &str) -> Option<(String, String)> {
    let mut rest = mangled.strip_prefix("_ZN3rye")?;
    let mut parts = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&end| end > 0) {
        let length: usize = rest[..end].parse().ok()?;
        parts.push(rest.get(end..end + length)?);
        rest = &rest[end + length..];
    }
    let is_plain = |part: &&str| !part.contains('$') && !part.starts_with('_');
    let [module, .., function] = parts.as_slice() else { return None };
    parts.iter().all(is_plain).then(|| ((*module).to_owned(), (*function).to_owned()))
}
