//! Exit statuses: one table by code (core 11).

use std::process::ExitCode;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    Status(u8),
    /// By the signal that interrupted the run, as whoever sent it expects.
    Signal(i32),
}

impl Exit {
    pub(super) const DONE: Self = Self::Status(0);

    pub(super) fn end(self) -> ExitCode {
        match self {
            Self::Status(status) => ExitCode::from(status),
            Self::Signal(signal) => {
                crate::host::raise(signal);
                // Only where the signal is ignored.
                ExitCode::from(6)
            }
        }
    }
}

/// The exit status that a code stands for; the layer is only the default.
pub(crate) fn status(code: &str) -> u8 {
    match code {
        "execute.tool_failed" | "test.failed" | "eval.failed" => 1,
        "plan.invalid_parameters"
        | "interpolate.missing_inputs"
        | "interpolate.unknown_input"
        | "interpolate.wrong_type" => 2,
        "resolve.not_found"
        | "resolve.ambiguous_kind"
        | "resolve.ambiguous_space"
        | "resolve.ambiguous_file"
        | "chain.executor_not_found"
        | "trust.not_found"
        | "diff.no_baseline"
        | "diff.unknown_version"
        | "diff.ambiguous_version"
        | "git.no_repository"
        | "test.no_item"
        | "test.no_spec" => 3,
        "plan.drifted" | "plan.malformed" | "import.exists" | "learn.cannot_write" => 4,
        "bundle.not_found" => 3,
        "bundle.io" => 6,
        "pending.not_found" => 3,
        "eval.not_an_eval" | "hook.not_a_hook" => 2,
        "plan.not_a_tool" | "author.language" | "learn.no_process" => 2,
        "mcp.arguments" => 2,
        "mcp.dev_mode" | "mcp.name_taken" | "mcp.outside_roots" | "mcp.sign_refused"
        | "mcp.tool_changed" => 4,
        "author.io" | "dev.watch" | "git.failed" | "git.io" | "import.io" | "receipt.io"
        | "test.io" => 6,
        _ => match code.split('.').next().unwrap_or_default() {
            "cli" | "search" => 2,
            "id" => 3,
            "bundle" | "hook" | "pending" | "dev" | "verify" | "validate" | "resolve"
            | "matrix" | "lock" | "space" | "sign" | "key" | "trust" | "receipt" | "author"
            | "git" => 4,
            "parse" | "interpolate" | "chain" | "test" | "import" => 5,
            "plan" | "execute" | "registry" | "sandbox" | "learn" => 6,
            "lsp" | "protocol" | "eval" | "remote" | "mcp" | "thread" => 7,
            _ => 70,
        },
    }
}
