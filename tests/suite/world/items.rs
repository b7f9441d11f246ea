//! The texts of the items that tests write again and again.

/// A tool in shell: these lines in its header, and its program.
pub fn tool_sh(header: &str, program: &str) -> String {
    tool_by("rye/core/runtimes/shell/script", header, program)
}

/// A tool in Python: these lines in its header, and its program.
pub fn tool_py(header: &str, program: &str) -> String {
    tool_by("rye/core/runtimes/python/script", header, program)
}

/// A tool of this runtime, with a version and, where the header says none, a description.
pub fn tool_by(runtime: &str, header: &str, program: &str) -> String {
    let mut text = format!("# /// rye\n# version = \"1.0.0\"\n# executor_id = \"{runtime}\"\n");
    if !header.contains("description = ") {
        text.push_str("# description = \"x\"\n");
    }
    // Lines that are comments already stay as they are.
    let lines = header.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    text.extend(lines.map(|line| format!("# {line}\n")));
    format!("{text}# ///\n{program}")
}
