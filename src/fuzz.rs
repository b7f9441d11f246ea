//! Fuzz targets: what every reader of foreign bytes promises, as plain functions over bytes.
//!
//! A target panics when a promise is broken; it checks more than that nothing panics, mostly
//! against a second, simpler way to the same answer. The functions stand beside what they test, in
//! `<layer>/fuzz.rs`; this file lists them. `cargo test` replays `tests/fuzz/corpus/<target>`, and
//! `tests/fuzz/run.sh` lets libFuzzer search for more. To add a target: write the function, list it
//! here, and put a first input into its corpus.

#[cfg(feature = "lsp")]
use crate::lsp;
use crate::{
    base, bundle, grant, id, import, interpolate, lock, parse, plan, report, signature, trust,
    verify,
};

/// A function that any bytes must satisfy.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also its folder of the corpus; sorted.
pub const TARGETS: &[(&str, Target)] = &[
    ("bundle", bundle::fuzz::bundle),
    ("canonical", base::fuzz::canonical),
    ("directive", parse::fuzz::directive),
    ("dotenv", plan::fuzz::dotenv),
    #[cfg(feature = "lsp")]
    ("edits", lsp::fuzz::edits),
    ("envelope", signature::fuzz::envelope),
    ("files", parse::fuzz::files),
    #[cfg(feature = "lsp")]
    ("frames", lsp::fuzz::frames),
    ("header_block", parse::fuzz::header_block),
    ("javascript", parse::fuzz::javascript),
    ("json", parse::fuzz::json),
    ("key", signature::fuzz::key),
    ("knowledge", parse::fuzz::knowledge),
    ("lock", lock::fuzz::lock),
    ("name", id::fuzz::name),
    ("older", import::fuzz::older),
    ("own_config", trust::fuzz::own_config),
    ("pattern", grant::fuzz::pattern),
    ("placeholder", interpolate::fuzz::placeholder),
    ("plan_file", plan::fuzz::plan_file),
    ("python", parse::fuzz::python),
    ("receipt", report::fuzz::receipt),
    ("signature_line", signature::fuzz::signature_line),
    ("signed_file", verify::fuzz::signed_file),
    ("template", plan::fuzz::template),
    ("text", base::fuzz::text),
    ("tidy", parse::fuzz::tidy),
    ("toml", parse::fuzz::toml),
    ("tool_header", parse::fuzz::tool_header),
    ("trust_document", trust::fuzz::trust_document),
    ("yaml", parse::fuzz::yaml),
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::catch_unwind;
    use std::path::{Path, PathBuf};

    use super::{TARGETS, Target};

    fn corpus() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus")
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn every_target_has_a_corpus_and_every_corpus_a_target() {
        let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        let mut names = names_in(&corpus());
        names.retain(|name| cfg!(feature = "lsp") || !matches!(name.as_str(), "edits" | "frames"));
        assert_eq!(names, targets);
        for target in targets {
            assert!(!names_in(&corpus().join(target)).is_empty(), "{target} has no input");
        }
    }

    /// The inputs of a target that break its promises.
    fn broken(name: &str, target: Target) -> Vec<String> {
        let folder = corpus().join(name);
        let breaks = |file: &String| {
            let input = fs::read(folder.join(file)).unwrap();
            catch_unwind(|| target(&input)).is_err()
        };
        names_in(&folder).into_iter().filter(breaks).map(|file| format!("{name}/{file}")).collect()
    }

    #[test]
    fn every_input_of_the_corpus_satisfies_its_target() {
        let found: Vec<String> = std::thread::scope(|scope| {
            let all = TARGETS.iter().map(|(name, target)| scope.spawn(|| broken(name, *target)));
            let all: Vec<_> = all.collect();
            all.into_iter().flat_map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_target_that_is_not_satisfied_fails() {
        let target: Target = |data| assert!(data.is_empty(), "not empty");
        let all = names_in(&corpus().join("name"));
        let empty = |file: &&String| fs::read(corpus().join("name").join(file)).unwrap().is_empty();
        let want = all.len() - all.iter().filter(empty).count();
        assert!(want > 0);
        assert_eq!(broken("name", target).len(), want);
    }
}
