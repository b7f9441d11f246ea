//! What a chain that ends at `rye/core/primitives/mcp` asks for: one tool of an MCP server, and what
//! that tool was when it was signed.

use serde_json::{Map, Value, json};

use super::http::Bad;
use crate::base::Digest;
use crate::base::canon::exact;
use crate::base::text::escape_line;
use crate::chain::Chain;

/// The item id of the primitive.
pub(crate) const MCP_CLIENT: &str = "rye/core/primitives/mcp";

/// The item id of the runtime that comes with it.
pub(crate) const MCP_TOOL: &str = "rye/core/runtimes/mcp/tool";

/// What is pinned in `config.mcp`, beside the tool's name; the input schema is the item's own.
pub(crate) const PINNED: [&str; 5] =
    ["title", "description", "output_schema", "annotations", "icons"];

/// One tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct McpTool {
    /// Its name on the server.
    pub(crate) name: String,
    /// Each field as it was signed; what is not in it must not be there.
    pub(crate) pins: Map<String, Value>,
}

impl McpTool {
    /// Takes the block `mcp` out of the chain's merged keys, which says the rest: how to reach the server.
    pub(super) fn take(chain: &Chain, config: &mut Map<String, Value>) -> Result<Self, Bad> {
        let block = config.remove("mcp");
        let mut tool = Self::read(block.as_ref())?;
        tool.pins.extend(chain.tool().tool.schema.clone().map(|it| ("input_schema".into(), it)));
        Ok(tool)
    }

    fn read(block: Option<&Value>) -> Result<Self, Bad> {
        let block = block.and_then(Value::as_object);
        let block =
            block.ok_or(("/config/mcp", "is missing: it names the server's tool".into()))?;
        let name = block.get("tool").and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name.ok_or(("/config/mcp/tool", "is no name of a tool".to_owned()))?.to_owned();
        let is_known = |key: &str| key == "tool" || PINNED.contains(&key);
        if let Some(key) = block.keys().find(|key| !is_known(key)) {
            return Err(("/config/mcp", format!("has the unknown key `{}`", escape_line(key))));
        }
        let pins = block.iter().filter(|(key, value)| *key != "tool" && !value.is_null());
        Ok(Self { name, pins: pins.map(|(key, value)| (key.clone(), value.clone())).collect() })
    }

    /// As the plan's data.
    pub(super) fn to_json(&self) -> Value {
        let pins = exact(&Value::Object(self.pins.clone()));
        json!({"tool": self.name, "pins_sha256": Digest::of(pins.as_bytes())})
    }
}

/// The keys of a request of a server that is reached by its `url`; the messages are rye's own.
pub(super) fn request(mut config: Map<String, Value>) -> Result<Map<String, Value>, Bad> {
    for key in ["command", "args", "method", "body", "retry", "max_redirects", "cleartext"] {
        if config.remove(key).is_some_and(|value| !value.is_null()) {
            return Err(("/config", format!("has `{key}`, which does not go with `url`")));
        }
    }
    // What a process would be started with.
    config.retain(|key, _| key != "cwd" && key != "input_data");
    config.insert("method".into(), "POST".into());
    config.insert("max_redirects".into(), 0.into());
    config.insert("retry".into(), json!({"attempts": 1}));
    Ok(config)
}

/// What is wrong with a tool's own `config`; for signing.
///
/// # Errors
/// One sentence.
pub(super) fn check(config: &Map<String, Value>) -> Result<(), String> {
    let said = |(pointer, why): Bad| format!("`{pointer}` {why}");
    let mut config = config.clone();
    McpTool::read(config.remove("mcp").as_ref()).map_err(said)?;
    if config.contains_key("url") {
        return super::http::check(&request(config).map_err(said)?);
    }
    let read = super::config::Execution::read(&config);
    read.map(|_| ()).map_err(|(pointer, why)| format!("`{pointer}` {why}"))
}

/// Whether the words of a command line say exactly which code they start: a version or a digest for a
/// program that fetches packages. Of what lies on this machine it is not known here.
pub(crate) fn names_exact_code(command: &str, args: &[String]) -> bool {
    let program = command.rsplit('/').next().unwrap_or_default();
    let words = || args.iter().map(String::as_str);
    match program {
        "npx" | "bunx" | "pnpx" => package(args, &["-p", "--package"]).is_some_and(is_npm_exact),
        "uvx" => package(args, &["--from"]).is_some_and(is_pypi_exact),
        "uv" | "pipx" => {
            let at = words().position(|word| word == "run").map_or(args.len(), |at| at + 1);
            package(&args[at..], &["--from", "--spec"]).is_some_and(is_pypi_exact)
        }
        "docker" | "podman" => words().any(|word| {
            let digest = word.split_once("@sha256:").map(|(_, digest)| digest);
            digest.is_some_and(|it| it.len() == 64 && it.bytes().all(|b| b.is_ascii_hexdigit()))
        }),
        _ => false,
    }
}

/// The package that is fetched: behind one of `options`, or the first word that is no option.
fn package<'a>(args: &'a [String], options: &[&str]) -> Option<&'a str> {
    let mut first = None;
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if first.is_none() && options.contains(&word) {
            return words.next();
        }
        let attached = options.iter().find_map(|o| word.strip_prefix(o)?.strip_prefix('='));
        if first.is_none() && attached.is_some() {
            return attached;
        }
        if !word.starts_with('-') {
            first = first.or(Some(word));
        }
    }
    first
}

fn is_npm_exact(package: &str) -> bool {
    let version = package.get(1..).and_then(|rest| rest.rsplit_once('@')).map(|(_, v)| v);
    version.is_some_and(|version| semver::Version::parse(version).is_ok())
}

fn is_pypi_exact(package: &str) -> bool {
    let version = package.split_once("==").or_else(|| package.split_once('@')).map(|(_, v)| v);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '!' | '-' | '_');
    version.is_some_and(|version| {
        version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::names_exact_code;

    #[test]
    fn i01_a_version_or_a_digest_is_exact_and_everything_else_is_not() {
        let digest = format!("acme/x@sha256:{}", "a".repeat(64));
        for (line, want) in [
            ("npx -y @acme/server@1.2.3", true),
            ("/usr/bin/npx -y acme@1.2.3-rc.1 --flag", true),
            ("npx --package=@acme/server@1.2.3 server", true),
            ("npx -p acme@1.2.3 server", true),
            ("npx -y @acme/server", false),
            ("npx acme", false),
            ("npx acme@latest", false),
            ("npx acme@^1.2.3", false),
            ("npx acme@1", false),
            ("npx acme x@1.2.3", false),
            ("uvx mcp-server-time==2025.9.25", true),
            ("uvx mcp-server-time@2025.9.25", true),
            ("uvx --from acme==1.2 serve", true),
            ("uvx --from acme serve==1.2", false),
            ("uvx mcp-server-time", false),
            ("uvx mcp-server-time@latest", false),
            ("uvx mcp-server-time>=1", false),
            ("uvx acme==1.*", false),
            ("uv tool run acme==1.2", true),
            ("pipx run acme==1.2", true),
            ("pipx run acme", false),
            ("docker run --rm -i acme/x:1.2", false),
            (&format!("docker run --rm -i {digest}"), true),
            ("docker run --rm -i acme/x@sha256:abc", false),
            ("python3 -m server", false),
            ("./server", false),
        ] {
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            assert_eq!(names_exact_code(&command, &words.collect::<Vec<_>>()), want, "{line}");
        }
    }
}
