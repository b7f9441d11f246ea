//! The texts of the items that tests write again and again.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::World;

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

/// A tool that is a program of the machine: the rest of its YAML.
pub fn native(rest: &str) -> String {
    format!("version: 1.0.0\nexecutor_id: rye/core/runtimes/native/program\ndescription: x\n{rest}")
}

impl World {
    /// Signs the tool `acme/<name>`, a shell program that speaks the exec protocol as `oneshot` or
    /// as `server`; `exec` are more lines of its block.
    #[track_caller]
    pub fn signed_exec(&self, name: &str, mode: &str, exec: &str, script: &str) {
        let program = self.write(&format!(".ai/tools/acme/{name}.files/run.sh"), script);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("chmod");
        let runtime = if mode == "server" { "server" } else { "exec" };
        let lines: String = exec.lines().map(|line| format!("  {}\n", line.trim())).collect();
        let text = format!(
            "version: \"1.0.0\"\ntool_type: exec\nexecutor_id: rye/core/runtimes/exec/{mode}\n\
             category: acme\ndescription: x\nexec:\n  command: ./{name}.files/run.sh\n  \
             runtime: {runtime}\n  files: [{name}.files/run.sh]\n{lines}"
        );
        self.signed(&format!(".ai/tools/acme/{name}.yaml"), &text);
    }
}
