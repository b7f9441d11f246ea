//! The shape of the repository: layers, headers, sizes, words, the embedded table, forgotten files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Files over 600 lines, each with its reason.
const LONG: &[(&str, &str)] = &[("src/space/embedded.rs", "generated, one row a file of .ai")];

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn files(below: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(below)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(found.len() > 5, "a rule that finds nothing to look at must fail: {below}");
    found
}

/// The floor of each module, as the table in `lib.rs` says it.
fn floors() -> BTreeMap<String, usize> {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut floors = BTreeMap::new();
    for line in lib.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["//!", floor, modules, ..] = cells[..] else { continue };
        let Ok(floor) = floor.parse() else { continue };
        for module in modules.split('`').filter(|part| !part.trim().is_empty()) {
            assert!(floors.insert(module.to_owned(), floor).is_none(), "`{module}` stands twice");
        }
    }
    assert!(floors.len() > 20, "the rule looked at {} modules only", floors.len());
    floors
}

/// The part of a file that is no test.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap()
}

/// So a module names only modules of lower floors, and no two name each other.
#[test]
fn each_module_stands_one_floor_above_the_highest_that_it_names() {
    let floors = floors();
    let mut stands: BTreeMap<&str, usize> =
        floors.keys().map(|module| (module.as_str(), 0)).collect();
    let mut edges = 0;
    for (name, text) in files("src", "rs") {
        let Some((module, _)) = name["src/".len()..].split_once('/') else { continue };
        let stand =
            stands.get_mut(module).unwrap_or_else(|| panic!("`{module}` is not in the table"));
        for used in text.split("crate::").skip(1) {
            let used: String =
                used.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            if let Some(floor) = floors.get(&used).filter(|_| used != module) {
                edges += 1;
                *stand = (*stand).max(floor + 1);
            }
        }
    }
    assert!(edges > 200, "the rule looked at {edges} edges only");
    for (module, floor) in &floors {
        assert_eq!(stands[module.as_str()], *floor, "the floor of `{module}` in src/lib.rs");
    }
}

#[test]
fn every_module_folder_is_declared_in_lib_rs() {
    let lib = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(lib.contains(&format!("mod {name};")), "src/{name} is not in lib.rs");
            assert!(path.join("mod.rs").is_file(), "src/{name} has no mod.rs");
        }
    }
}

#[test]
fn no_way_around_the_layer_rule() {
    for (name, text) in files("src", "rs") {
        for (number, line) in without_tests(&text).lines().enumerate() {
            let place = format!("{name}:{}", number + 1);
            assert!(!line.contains("super::super"), "{place}: super::super");
            let is_module = name.matches('/').count() > 1;
            assert!(
                !is_module || !line.contains("crate::{"),
                "{place}: several modules in one `use`"
            );
            let is_glob = line.trim_start().starts_with("use ") && line.contains("::*");
            assert!(!is_glob, "{place}: glob import");
        }
    }
}

#[test]
fn every_module_and_every_longer_file_has_a_header() {
    for (name, text) in files("src", "rs") {
        if name.ends_with("/mod.rs") || text.lines().count() > 60 {
            assert!(text.starts_with("//! "), "{name} has no header");
        }
    }
}

#[test]
fn no_file_is_longer_than_one_idea() {
    for (name, text) in files("src", "rs").into_iter().chain(files("tests", "rs")) {
        let lines = text.lines().count();
        let allowed = LONG.iter().any(|(long, _)| *long == name);
        assert!(lines <= 600 || allowed, "{name} has {lines} lines");
    }
}

/// A page without a row would be shown to nobody, and a row that nothing answers explains nothing.
/// A row without a page does not compile.
#[test]
fn each_page_of_a_code_has_its_row_and_each_row_is_answered_somewhere() {
    let sources = files("src", "rs");
    let texts = files("src", "md").into_iter().map(|(name, _)| name);
    let mut pages: BTreeSet<String> = texts.filter(|name| name.contains("/errors/")).collect();
    assert!(pages.len() > 200, "{}", pages.len());
    for (name, text) in &sources {
        let Some((_, table)) = text.split_once("\ncodes! {\n") else { continue };
        let (table, _) = table.split_once("\n}").unwrap();
        let folder = Path::new(name).parent().unwrap();
        for row in table.lines() {
            let (code, rest) =
                row.trim().split_once(" = \"").unwrap_or_else(|| panic!("{name}: {row}"));
            let (code_name, _) = rest.split_once('"').unwrap();
            assert_eq!(code.to_lowercase(), code_name.replace('.', "_"), "{name}");
            let page = folder.join(format!("errors/{code_name}.md"));
            assert!(pages.remove(page.to_str().unwrap()), "{code_name} has two rows");
            let answers = |text: &str| {
                let mut uses = text.match_indices(code).filter(|(at, _)| {
                    let rest = text[at + code.len()..].chars().next();
                    let before = text[..*at].chars().next_back();
                    ![rest, before]
                        .into_iter()
                        .flatten()
                        .any(|c| c.is_ascii_uppercase() || c == '_')
                });
                uses.any(|(at, _)| !text[at + code.len()..].starts_with(" = \""))
            };
            assert!(sources.iter().any(|(_, text)| answers(text)), "nothing answers {code_name}");
        }
    }
    assert_eq!(pages, BTreeSet::new(), "pages without a row");
}

/// The threat model names the tests that prove each claim: they are there, and none is without one.
#[test]
fn each_claim_of_the_threat_model_names_tests_that_are_there() {
    let page = fs::read_to_string(root().join(".ai/knowledge/rye/threat-model.md")).unwrap();
    let scope = page.split("## In scope").nth(1).unwrap().split("\n## ").next().unwrap();
    let sources = files("tests/suite", "rs").into_iter().chain(files("src", "rs"));
    let sources: String = sources.map(|(_, text)| text.replace("\n    ", "\n")).collect();
    let mut claims = 0;
    for claim in scope.split("\n- ").skip(1) {
        claims += 1;
        let (said, proof) =
            claim.split_once("\n  `").unwrap_or_else(|| panic!("no proof: {claim}"));
        let proof = proof.lines().next().unwrap();
        for name in proof.split('`').filter(|part| part.contains('_')) {
            let test = format!("#[test]\nfn {name}()");
            assert!(sources.contains(&test), "`{name}` is not a test, for: {said}");
        }
    }
    assert!(claims > 30, "the rule looked at {claims} claims only");
}

/// The page of attacks and the tests named by its rows: no row is without a test, and no test is
/// named by a row that is not there.
#[test]
fn each_attack_row_has_tests_and_each_attack_test_has_its_row() {
    let page = fs::read_to_string(root().join(".ai/knowledge/rye/spec/attacks.md")).unwrap();
    let rows: BTreeSet<&str> =
        page.lines().filter_map(|line| row_id(line.strip_prefix("| ")?)).collect();
    assert!(rows.len() > 60, "the rule looked at {} rows only", rows.len());
    let mut named = BTreeSet::new();
    for (path, text) in files("tests/suite", "rs").into_iter().chain(files("src", "rs")) {
        let tests = text.split("#[test]").skip(1).filter_map(|test| test.split("fn ").nth(1));
        for test in tests {
            let mut rest = test;
            while let Some(id) = row_id(rest) {
                assert!(rows.contains(id), "{path}: `{id}` is not a row of the page");
                named.insert(id.to_owned());
                rest = &rest[id.len() + 1..];
            }
        }
    }
    let without: Vec<_> = rows.iter().filter(|row| !named.contains(**row)).collect();
    assert!(without.is_empty(), "no test is named by {without:?}");
}

/// The id that a row of the page or the name of a test begins with, such as `a05` in
/// `a05_a_changed…`.
fn row_id(text: &str) -> Option<&str> {
    let id = text.get(..3)?;
    let is_id = matches!(id.as_bytes(), [b'a'..=b'm', b'0'..=b'9', b'0'..=b'9']);
    (is_id && text[3..].starts_with(['_', ' '])).then_some(id)
}

/// The comparison names, for each thing that rye does and others do or do not, the test that shows
/// it.
#[test]
fn each_feature_that_the_comparison_claims_names_tests_that_are_there() {
    let table = fs::read_to_string(root().join(".ai/knowledge/rye/comparison.md")).unwrap();
    let sources: String = files("tests/suite", "rs").into_iter().map(|(_, text)| text).collect();
    let mut claims = 0;
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let ours = cells[2];
        let names: Vec<_> = ours.split('`').filter(|part| part.contains('_')).collect();
        let denies = ours.starts_with("no");
        assert_eq!(names.is_empty(), denies, "{row}");
        for name in names {
            claims += 1;
            let test = format!("#[test]\nfn {name}()");
            assert!(sources.contains(&test), "`{name}` is not a test, for: {row}");
        }
    }
    assert!(claims > 10, "the rule looked at {claims} claims only");
}

/// The page beside the OWASP list answers each of its questions once; a yes names its tests.
#[test]
fn each_answer_to_the_checklist_names_tests_that_are_there() {
    let page = fs::read_to_string(root().join(".ai/knowledge/rye/ast10.md")).unwrap();
    let sources = files("tests/suite", "rs").into_iter().chain(files("src", "rs"));
    let sources: String = sources.map(|(_, text)| text.replace("\n    ", "\n")).collect();
    let mut asked = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let Some((part, number)) = cells[1].split_once('.') else { continue };
        asked.push((part.parse::<u32>().unwrap(), number.parse::<u32>().unwrap()));
        let words = cells[3];
        let is_no = words.starts_with("no:");
        assert!(is_no || words.starts_with("yes") || words.starts_with("in part:"), "{row}");
        let named = words.split('`').filter(|part| {
            part.contains('_')
                && part.bytes().all(|b| b"_".contains(&b) || b.is_ascii_alphanumeric())
        });
        let names: Vec<_> = named.filter(|name| *name != "node_modules").collect();
        assert_eq!(names.is_empty(), is_no, "{row}");
        for name in names {
            assert!(sources.contains(&format!("#[test]\nfn {name}()")), "`{name}`: {row}");
        }
    }
    let counts = [6, 6, 8, 6, 6, 7, 6, 6, 7, 6];
    let want = (1..).zip(counts).flat_map(|(part, of)| (1..=of).map(move |it| (part, it)));
    assert_eq!(asked, want.collect::<Vec<_>>());
}

#[test]
fn no_unfinished_marks() {
    // Written in two parts, so that this file is not its own finding.
    let marks =
        [["TO", "DO"], ["FIX", "ME"], ["dbg", "!("], ["unimplemented", "!("], ["#[ign", "ore"]];
    for (name, text) in files("src", "rs").into_iter().chain(files("tests", "rs")) {
        for mark in marks.map(|parts| parts.concat()) {
            assert!(!text.contains(&mark), "{name} holds `{mark}`");
        }
    }
}

#[test]
fn unsafe_stands_in_five_files() {
    let these = ["unix", "signals", "kernel", "namespaces", "ptrace"];
    let these = these.map(|name| format!("src/host/{name}.rs"));
    for (name, text) in files("src", "rs") {
        if !these.contains(&name) {
            assert!(!text.contains("unsafe {") && !text.contains("unsafe fn"), "{name}");
        }
    }
}

/// Every file of `.ai` that is embedded, sorted by path.
fn system_files() -> Vec<String> {
    let mut found = Vec::new();
    let top = root().join(".ai");
    let mut folders: Vec<PathBuf> =
        ["config", "directives", "knowledge", "tools"].iter().map(|f| top.join(f)).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.to_str().unwrap().ends_with(".test.yaml") {
                // A test spec is no item: it is for whoever works on one.
                found.push(path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The table in the binary. `UPDATE=1 cargo test embedded` writes it.
#[test]
fn the_embedded_table_is_the_folder() {
    let mut table = String::from(
        "//! The system space: every file of the repository's `.ai`, in the binary.\n//!\n\
         //! Generated: `UPDATE=1 cargo test` writes it, and a test compares it with the folder.\n\
         //! Sorted by path.\n\n\
         /// One file, with its path below `.ai`.\n\
         pub(super) struct File {\n    pub(super) path: &'static str,\n    \
         pub(super) bytes: &'static [u8],\n}\n\n\
         #[rustfmt::skip]\npub(super) const EMBEDDED: &[File] = &[\n",
    );
    for path in system_files() {
        table.push_str(&format!(
            "    File {{ path: \"{path}\", bytes: include_bytes!(\"../../.ai/{path}\") }},\n"
        ));
    }
    table.push_str("];\n");
    let file = root().join("src/space/embedded.rs");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &table).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == table, "run `UPDATE=1 cargo test embedded`");
}

#[test]
fn the_repository_holds_no_private_key_but_the_example() {
    let begin = ["-----BEGIN PRIV", "ATE KEY-----\n"].concat();
    for folder in ["src", "tests", ".ai"] {
        let mut folders = vec![root().join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                let body = text.split(&begin).nth(1).and_then(|rest| rest.lines().next());
                assert!(body.is_none_or(|line| line.len() < 60), "{}", path.display());
            }
        }
    }
}

#[test]
fn the_six_top_level_names_are_all_there_is() {
    let allowed: BTreeSet<&str> =
        ["Cargo.toml", "Cargo.lock", "src", ".ai", "tests", "keys-example", "README.md", "target"]
            .into();
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(allowed.contains(name.as_str()) || name.starts_with('.'), "{name}");
    }
}

/// Where a comment, a page or a test cites the specification, the place is there.
#[test]
fn each_citation_of_the_specification_resolves() {
    let pages = files(".ai/knowledge/rye/spec", "md");
    let mut places = BTreeSet::new();
    for (path, text) in &pages {
        let page = Path::new(path).file_stem().unwrap().to_str().unwrap();
        for line in text.lines() {
            let number = line.trim_start_matches("## ").split([' ', '.']).next().unwrap();
            let whole = line.trim_start_matches("## ").split(' ').next().unwrap();
            if number.parse::<u32>().is_ok() {
                places.insert(format!("{page} {}", whole.trim_end_matches('.')));
            }
        }
    }
    assert!(places.len() > 60, "{places:?}");
    let names: BTreeSet<&str> =
        places.iter().map(|place| place.split_once(' ').unwrap().0).collect();
    let mut cited = 0;
    for (path, text) in files("src", "rs").into_iter().chain(files("tests/suite", "rs")) {
        let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
        let words: Vec<&str> = comments.flat_map(str::split_whitespace).collect();
        for pair in words.windows(2) {
            let page = pair[0].trim_start_matches(['(', '`', '[']);
            let number = pair[1].trim_end_matches(|c: char| !c.is_ascii_digit());
            let is_number = number.split('.').all(|part| part.parse::<u32>().is_ok());
            if names.contains(page) && is_number {
                cited += 1;
                let place = format!("{page} {number}");
                assert!(places.contains(&place), "{path}: there is no `{place}`");
            }
        }
    }
    assert!(cited > 100, "the rule looked at {cited} citations only");
}

/// What a contributor changed is listed until the publisher signs it, and nothing else is.
#[test]
fn each_shipped_item_bears_the_signature_of_the_publisher_or_is_listed_as_awaiting_it() {
    let list = fs::read_to_string(root().join("src/space/awaiting.txt")).unwrap();
    let mut awaiting: BTreeSet<&str> = list.lines().collect();
    for path in system_files() {
        let text = fs::read_to_string(root().join(".ai").join(&path)).unwrap();
        let Some(line) = text.lines().take(2).find(|line| line.contains("rye:signed:v2 ")) else {
            continue;
        };
        let field = |name: &str| line.split(name).nth(1).unwrap().split(' ').next().unwrap();
        let (item, key) = (field(" item="), field(" key="));
        match awaiting.remove(item) {
            true => assert_eq!(key, "81936d6f35f017b496e4a8a7af804ffd", "{path}: the example key"),
            false => assert_eq!(key, "78f7dae3a0d000131c0889808c8c822d", "{path}: the publisher's"),
        }
    }
    assert!(awaiting.is_empty(), "nothing was signed for {awaiting:?}");
}

/// Older ones of that server cannot be started any more.
#[test]
fn the_examples_name_the_version_of_a_server_that_a_check_calls() {
    const SERVER: &str = "mcp-server-time==";
    let check = fs::read_to_string(root().join("tests/mcp/client.py")).unwrap();
    let version = check.split(SERVER).nth(1).unwrap().split('"').next().unwrap();
    let texts = [files("src/cli", "rs"), files(".ai", "md"), files(".ai/tools", "yaml")].concat();
    let mut count = 0;
    for (name, text) in texts {
        for named in text.split(SERVER).skip(1) {
            assert!(named.starts_with(version), "{name}: {SERVER}{}", &named[..version.len()]);
            count += 1;
        }
    }
    assert!(count > 4, "the rule looked at {count} names only");
}
