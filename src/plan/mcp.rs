//! The act of a chain that ends at `rye/core/primitives/mcp`: one tool of an MCP server, as that
//! tool was when it was signed.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::http::Bad;
use crate::base::canon::exact;
use crate::base::text::escape_line;
use crate::base::{Address, Digest};
use crate::chain::Chain;
use crate::parse::bound_schema;

/// The item id of the runtime that comes with the primitive.
pub(crate) const MCP_TOOL: &str = "rye/core/runtimes/mcp/tool";

/// The fields pinned in `config.mcp`, beside the tool's name; the input schema is the item's own.
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
    /// Takes the block `mcp` out of the chain's merged keys, which says the rest: how to reach the
    /// server.
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
        let name = name
            .ok_or(("/config/mcp/tool", "is not a valid name of a tool".to_owned()))?
            .to_owned();
        let is_known = |key: &str| key == "tool" || PINNED.contains(&key);
        if let Some(key) = block.keys().find(|key| !is_known(key)) {
            return Err(("/config/mcp", format!("has the unknown key `{}`", escape_line(key))));
        }
        if let Some(Err(why)) = block.get("output_schema").map(|it| bound_schema(it).map(drop)) {
            return Err(("/config/mcp", format!("has an `output_schema` that {why}")));
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

/// Checks that the connection to a server of another machine is encrypted.
pub(super) fn check_encryption(address: &Address) -> Result<(), Bad> {
    if address.is_https() || address.is_loopback() {
        return Ok(());
    }
    let why = "is not encrypted: an MCP server of another machine is reached by `https`";
    Err(("/config/url", why.into()))
}

/// Checks a tool's own `config`; for signing.
///
/// # Errors
/// A pointer and a sentence.
pub(super) fn check(config: &Map<String, Value>) -> Result<(), Bad> {
    let mut config = config.clone();
    McpTool::read(config.remove("mcp").as_ref())?;
    if config.contains_key("url") {
        return super::http::check(&request(config)?);
    }
    super::config::Execution::read(&config).map(|_| ())
}

/// How exactly the words of a command line say which code they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exact {
    /// By digest: no other code can stand behind the words.
    Digest,
    /// One version of each package: who holds the registry decides what that is, and each version
    /// leaves open what it depends on itself.
    Version,
}

/// How exactly the words of a command line of a program that fetches packages say which code they
/// start; `None` where they leave it open. Of what lies on this machine it is not known here.
pub(crate) fn names_exact_code(command: &str, args: &[String]) -> Option<Exact> {
    let (found, is_exact) = fetched(command, args)?;
    let by_digest = found.iter().all(|word| has_digest(word));
    let exact = if by_digest { Exact::Digest } else { Exact::Version };
    found.into_iter().all(is_exact).then_some(exact)
}

/// Returns true if a word of a command line names a package that a program fetches, and no file.
pub(crate) fn names_package(command: &str, args: &[String], word: &str) -> bool {
    let is_place = word.starts_with(['.', '/', '~']) || word.starts_with("file:");
    let is_script = Path::new(word).extension().is_some_and(|extension| extension == "py");
    let found = fetched(command, args).map(|(found, _)| found).unwrap_or_default();
    !is_place && !is_script && found.contains(&word)
}

/// Tells whether a word names exactly one version of what is fetched.
type IsExact = fn(&str) -> bool;

/// The words that a program fetches, and the test whether one of them is exact.
fn fetched<'a>(command: &str, args: &'a [String]) -> Option<(Vec<&'a str>, IsExact)> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (fetcher, rest, is_exact): (_, &[&str], IsExact) =
        match (command.rsplit('/').next().unwrap_or_default(), words.as_slice()) {
            ("npx" | "bunx" | "pnpx", rest) => (NPM, rest, is_npm_exact),
            ("uvx", rest) | ("uv", ["tool", "run", rest @ ..]) => (UV, rest, is_pypi_exact),
            ("pipx", ["run", rest @ ..]) => (PIPX, rest, is_pypi_exact),
            ("docker" | "podman", ["run", rest @ ..]) => (IMAGE, rest, has_digest),
            _ => return None,
        };
    Some((fetcher.wanted(rest)?, is_exact))
}

/// Where the words of a command line name the file that an interpreter runs.
pub(crate) fn script_at(command: &str, args: &[String]) -> Option<usize> {
    let program = command.rsplit('/').next().unwrap_or_default();
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let flags: &[&str] = match program {
        "python" => &["-u", "-B", "-E", "-I", "-s"],
        "node" | "bash" | "sh" | "ruby" | "perl" | "lua" | "php" => &[],
        _ => return None,
    };
    let at = args.iter().position(|word| !flags.contains(&word.as_str()))?;
    (!args[at].starts_with('-')).then_some(at)
}

/// The options of a program that fetches code, before the word that says which. What any other may
/// do is not known: it leaves open what runs.
struct Fetcher {
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    /// Options with a value that name a package; the first word is then a program of one of them.
    packages: &'static [&'static str],
}

const NPM: Fetcher = Fetcher {
    flags: &["-y", "--yes", "-q", "--quiet"],
    valued: &[],
    packages: &["-p", "--package"],
};
const UV: Fetcher = Fetcher {
    flags: &["-q", "--quiet", "--isolated", "--offline", "-n", "--no-cache"],
    valued: &["-p", "--python"],
    packages: &["--from", "--with"],
};
const PIPX: Fetcher = Fetcher {
    flags: &["-q", "--quiet", "--no-cache"],
    valued: &["--python"],
    packages: &["--spec"],
};
const IMAGE: Fetcher = Fetcher {
    flags: &["-i", "-t", "-it", "-ti", "--interactive", "--tty", "--rm", "--init", "--read-only"],
    valued: &[
        "-e",
        "--env",
        "--env-file",
        "-v",
        "--volume",
        "--mount",
        "--tmpfs",
        "-w",
        "--workdir",
        "-u",
        "--user",
        "--name",
        "-l",
        "--label",
        "--network",
        "--net",
        "-p",
        "--publish",
        "-m",
        "--memory",
        "--cpus",
        "--cap-drop",
        "--security-opt",
        "--pull",
    ],
    packages: &[],
};

impl Fetcher {
    /// The words to fetch; `None` if an option is not known, or nothing is named.
    fn wanted<'a>(&self, args: &[&'a str]) -> Option<Vec<&'a str>> {
        let mut found = Vec::new();
        let mut is_from = false;
        let mut words = args.iter();
        while let Some(&word) = words.next() {
            if !word.starts_with('-') {
                // Beside `--with` the first word names one more.
                if !is_from {
                    found.push(word);
                }
                return Some(found);
            }
            if self.flags.contains(&word) {
                continue;
            }
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, None),
            };
            let is_package = self.packages.contains(&option);
            if !is_package && !self.valued.contains(&option) {
                return None;
            }
            let value = attached.or_else(|| words.next().copied())?;
            if is_package {
                found.push(value);
                is_from |= option != "--with";
            }
        }
        None
    }
}

/// A name of the registry and a version: no address, no other name, no range.
fn is_npm_exact(package: &str) -> bool {
    let Some((name, version)) = package.rsplit_once('@') else { return false };
    let is_name = match name.split('/').collect::<Vec<_>>().as_slice() {
        [name] => is_plain(name),
        [scope, name] => scope.strip_prefix('@').is_some_and(is_plain) && is_plain(name),
        _ => false,
    };
    is_name && semver::Version::parse(version).is_ok()
}

fn is_pypi_exact(package: &str) -> bool {
    let Some((name, version)) = package.split_once("==").or_else(|| package.split_once('@')) else {
        return false;
    };
    let name = match name.strip_suffix(']') {
        Some(name) => name.split_once('[').map_or("", |(name, _)| name),
        None => name,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '!' | '-' | '_');
    is_plain(name)
        && version.starts_with(|c: char| c.is_ascii_digit())
        && version.chars().all(plain)
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !name.is_empty() && name.chars().all(plain)
}

fn has_digest(image: &str) -> bool {
    let digest = image.split_once("@sha256:").map(|(_, digest)| digest);
    digest.is_some_and(|it| it.len() == 64 && it.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::{Exact, names_exact_code, script_at};

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
            ("npx -p acme@1.2.3 -p other serve", false),
            ("npx -p acme@1.2.3 -p other@2.0.0 serve", true),
            ("npx --call=other acme@1.2.3", false),
            ("npx --registry=https://acme.example acme@1.2.3", false),
            ("npx https://acme.example/x@1.2.3", false),
            ("npx acme@npm:other@1.2.3", false),
            ("npx @acme/x/y@1.2.3", false),
            ("npx @1.2.3", false),
            ("uvx acme[cli]==1.2", true),
            ("uvx --python 3.12 --from acme==1.2 serve", true),
            ("uvx --from git+https://acme.example/x@1.2.0 serve", false),
            ("uvx --with other acme==1.2", false),
            ("uvx --with other==2 acme==1.2", true),
            ("uvx --with=other acme==1.2", false),
            ("uv run acme==1.2", false),
            ("docker run --rm -i acme/x", false),
            (&format!("docker run -i -v /srv:/srv {digest} /srv"), true),
            (&format!("docker run -i --label a={digest} acme/x"), false),
            (&format!("docker run -i -e {digest} acme/x"), false),
            (&format!("docker run -i acme/x {digest}"), false),
            (&format!("docker run --unknown acme/x {digest}"), false),
            (&format!("docker build {digest}"), false),
            ("python3 -m server", false),
            ("./server", false),
        ] {
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            let by = if command == "docker" { Exact::Digest } else { Exact::Version };
            let want = want.then_some(by);
            assert_eq!(names_exact_code(&command, &words.collect::<Vec<_>>()), want, "{line}");
        }
    }

    #[test]
    fn an_interpreter_runs_its_first_word_unless_an_option_says_otherwise() {
        for (line, want) in [
            ("python3 server.py", Some(0)),
            ("/usr/bin/python3.12 -u -B server.py x.py", Some(2)),
            ("node server.js", Some(0)),
            ("python3 -m server", None),
            ("python3 -c x server.py", None),
            ("node --require=./x.js server.js", None),
            ("bash -s x.sh", None),
            ("python3", None),
            ("acme-server conf.json", None),
        ] {
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            assert_eq!(script_at(&command, &words.collect::<Vec<_>>()), want, "{line}");
        }
    }
}
