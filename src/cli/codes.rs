//! Every code that rye can fail with: the tables of the layers.

use crate::diagnostic::Code;

/// All codes, sorted by their names.
pub(super) fn all() -> Vec<Code> {
    let layers: &[&[Code]] = &[
        crate::id::CODES,
        crate::space::CODES,
        crate::store::CODES,
        crate::resolve::CODES,
        crate::trust::CODES,
        crate::verify::CODES,
        crate::parse::CODES,
        crate::interpolate::CODES,
        crate::chain::CODES,
        crate::validate::CODES,
        crate::plan::CODES,
        crate::execute::CODES,
        crate::host::CODES,
        crate::oms::CODES,
        crate::lock::CODES,
        crate::registry::CODES,
        crate::search::CODES,
        crate::report::CODES,
        crate::rye::CODES,
        crate::runs::DETACHED_CODES,
        crate::scaffold::CODES,
        crate::bundle::CODES,
        crate::dev::CODES,
        crate::git::CODES,
        crate::import::CODES,
        crate::learn::CODES,
        crate::testing::CODES,
        crate::eval::CODES,
        crate::remote::CODES,
        crate::thread::CODES,
        crate::thread::PROVIDER_CODES,
        #[cfg(feature = "code")]
        crate::code::CODES,
        #[cfg(feature = "lsp")]
        crate::lsp::CODES,
        #[cfg(feature = "mcp")]
        crate::mcp::CODES,
        super::error::CODES,
    ];
    let mut all: Vec<Code> = layers.concat();
    all.sort_unstable();
    all
}

/// The code of that name.
pub(super) fn find(name: &str) -> Option<Code> {
    all().into_iter().find(|code| code.name() == name)
}

/// The exit status for the code with that name, which another version of rye may have written.
pub(super) fn exit_status(name: &str) -> u8 {
    find(name).map_or(70, Code::exit_status)
}
