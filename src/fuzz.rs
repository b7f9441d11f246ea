//! Fuzz targets: what every reader of foreign bytes promises, as plain functions over bytes.
//!
//! A target panics when a promise is broken; it checks more than that nothing panics, mostly
//! against a second, simpler way to the same answer. The functions stand beside what they test, in
//! `<layer>/fuzz.rs`; this file lists them. `cargo test` replays the inputs in
//! `tests/fuzz/corpus/<target>.tar` and `tests/fuzz/corpus/<target>/`, and `tests/fuzz/run.sh` lets
//! libFuzzer search for more. To add a target: write the function, list it here, and put a first
//! input into its folder.

#[cfg(feature = "lsp")]
use crate::lsp;
#[cfg(feature = "http")]
use crate::proxy;
#[cfg(feature = "http")]
use crate::web_page;
use crate::{
    base, bundle, id, import, interpolate, lock, oms, parse, plan, report, signature, store,
    thread, trust, verify,
};

/// A function that any bytes must satisfy.
pub type FuzzTarget = fn(&[u8]);

/// Every target by its name, which its corpus has too; sorted.
pub const TARGETS: &[(&str, FuzzTarget)] = &[
    ("bundle", bundle::fuzz::bundle),
    ("canonical", base::fuzz::canonical),
    ("directive", parse::fuzz::directive),
    ("dotenv", plan::fuzz::dotenv),
    #[cfg(feature = "lsp")]
    ("edits", lsp::fuzz::edits),
    ("envelope", signature::fuzz::envelope),
    ("event_stream", base::fuzz::event_stream),
    ("files", parse::fuzz::files),
    #[cfg(feature = "http")]
    ("first_head", proxy::fuzz::first_head),
    #[cfg(feature = "lsp")]
    ("frames", lsp::fuzz::frames),
    ("git_index", plan::fuzz::git_index),
    ("header_block", parse::fuzz::header_block),
    ("host_rule", base::fuzz::host_rule),
    ("http_message", signature::fuzz::http_message),
    #[cfg(feature = "code")]
    ("javascript", parse::fuzz::javascript),
    ("json", parse::fuzz::json),
    ("key", signature::fuzz::key),
    ("knowledge", parse::fuzz::knowledge),
    ("lock", lock::fuzz::lock),
    ("manifest", store::fuzz::manifest),
    ("model_answer", thread::fuzz::model_answer),
    ("name", id::fuzz::name),
    ("older", import::fuzz::older),
    ("oms", oms::fuzz::signature),
    ("own_config", trust::fuzz::own_config),
    ("pattern", id::pattern_fuzz::pattern),
    ("placeholder", interpolate::fuzz::placeholder),
    ("plan_file", plan::fuzz::plan_file),
    ("python", parse::fuzz::python),
    ("receipt", report::fuzz::receipt),
    ("signature_line", signature::fuzz::signature_line),
    ("signed_file", verify::fuzz::signed_file),
    ("template", plan::fuzz::template),
    ("text", base::fuzz::text),
    ("toml", parse::fuzz::toml),
    ("tool_header", parse::fuzz::tool_header),
    ("trust_document", trust::fuzz::trust_document),
    #[cfg(feature = "http")]
    ("web_page", web_page::fuzz::page),
    ("yaml", parse::fuzz::yaml),
];

/// The inputs of a target that are kept, each with its name: what the search found, in an archive,
/// and beside it the inputs that a person named.
#[cfg(test)]
pub(crate) fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    use std::fs;
    use std::io::Read;

    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let mut inputs = Vec::new();
    if let Ok(file) = fs::File::open(corpus.join(format!("{target}.tar"))) {
        for entry in tar::Archive::new(file).entries().unwrap() {
            let (mut entry, mut bytes) = (entry.unwrap(), Vec::new());
            entry.read_to_end(&mut bytes).unwrap();
            inputs.push((entry.path().unwrap().display().to_string(), bytes));
        }
    }
    for file in fs::read_dir(corpus.join(target)).into_iter().flatten() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        inputs.push((name, fs::read(path).unwrap()));
    }
    inputs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::panic::catch_unwind;

    use super::{FuzzTarget, TARGETS, inputs};

    #[test]
    fn every_target_has_a_corpus_and_every_corpus_a_target() {
        let targets: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).into()).collect();
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/corpus");
        let names = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        let mut names: BTreeSet<String> =
            names.map(|name| name.trim_end_matches(".tar").to_owned()).collect();
        names.retain(|name| cfg!(feature = "http") || name != "first_head");
        names.retain(|name| cfg!(feature = "code") || name != "javascript");
        names.retain(|name| cfg!(feature = "lsp") || !matches!(name.as_str(), "edits" | "frames"));
        names.retain(|name| cfg!(feature = "http") || name != "web_page");
        assert_eq!(names, targets);
        for target in targets {
            assert!(!inputs(&target).is_empty(), "{target} has no input");
        }
    }

    /// The inputs of a target that break its promises.
    fn broken(name: &str, target: FuzzTarget) -> Vec<String> {
        let breaks = |(_, input): &(String, Vec<u8>)| catch_unwind(|| target(input)).is_err();
        let broken = inputs(name).into_iter().filter(breaks);
        broken.map(|(input, _)| format!("{name}/{input}")).collect()
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
        let target: FuzzTarget = |data| assert!(data.is_empty(), "not empty");
        let want = inputs("name").iter().filter(|(_, input)| !input.is_empty()).count();
        assert!(want > 100);
        assert_eq!(broken("name", target).len(), want);
    }
}
