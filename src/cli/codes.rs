//! Every code that rye can fail with: the union of what the layers export.

use crate::diag::Code;

/// All codes, sorted. Each has a page at `knowledge:rye/errors/<code>`.
pub(super) fn all() -> Vec<Code> {
    let layers: &[&[Code]] = &[
        crate::id::CODES,
        crate::space::CODES,
        crate::resolve::CODES,
        crate::trust::CODES,
        crate::verify::CODES,
        crate::parse::CODES,
        crate::interpolate::CODES,
        crate::chain::CODES,
        crate::validate::CODES,
        crate::plan::CODES,
        crate::plan::MATRIX_CODES,
        crate::execute::CODES,
        crate::host::CODES,
        crate::lock::CODES,
        crate::registry::CODES,
        crate::search::CODES,
        crate::report::CODES,
        crate::pipeline::CODES,
        crate::author::CODES,
        crate::bundle::CODES,
        crate::dev::CODES,
        crate::git::CODES,
        crate::import::CODES,
        crate::learn::CODES,
        crate::trial::CODES,
        crate::eval::CODES,
        #[cfg(feature = "lsp")]
        crate::lsp::CODES,
        #[cfg(feature = "mcp")]
        crate::mcp::CODES,
        super::error::CODES,
    ];
    let mut all: Vec<Code> = layers.concat();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::cli::exit::status;
    use std::path::Path;

    fn pages() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ai/knowledge/rye/errors");
        let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name());
        let mut pages: Vec<_> = names
            .map(|name| name.to_str().unwrap().strip_suffix(".md").unwrap().to_owned())
            .collect();
        pages.sort();
        pages
    }

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let codes: Vec<_> = all().iter().map(|code| code.0.to_owned()).collect();
        assert_eq!(codes, pages());
    }

    #[test]
    fn the_page_says_the_exit_status_of_its_code() {
        for code in all() {
            let path = format!(".ai/knowledge/rye/errors/{code}.md");
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            let text = std::fs::read_to_string(page).unwrap();
            let line = format!("Exit status: {}", status(code.0));
            assert!(text.lines().any(|l| l.trim_end_matches('.') == line), "{code}: `{line}`");
        }
    }

    #[test]
    fn no_code_is_a_bug_by_accident() {
        for code in all() {
            assert_ne!(status(code.0), 70, "{code} has no exit status");
        }
    }
}
