//! The places, hosts and tools that an item may touch by its header: for a person who decides
//! whether they want it.

mod risk;

pub(crate) use risk::{Risk, RiskBasis, RiskLink, RiskTier};

use serde_json::Value;

use super::item::Item;
use super::tool::{EnvBase, Provider, Tool};
use crate::host::DeclaredNet;
use crate::verify::FileList;

/// The access that an item asks for beyond its own files and inputs; templates are not filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct DeclaredReach {
    /// The next link of its chain, which says what runs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<String>,
    /// The program that it names itself, with its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    net: Option<DeclaredNet>,
    /// The services that rye calls for it, with secrets that it never sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    services: Vec<String>,
    /// Names of the host variables that hold those secrets.
    #[serde(skip)]
    service_secrets: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    /// It says what it reads, also where that is nothing.
    #[serde(skip)]
    declares_reads: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
    /// Patterns of the tools that a saved snippet calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<String>,
    /// Names of host variables that are secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets: Vec<String>,
    /// Names of other host variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<String>,
    /// The phases and the tools that it watches.
    #[serde(skip_serializing_if = "Option::is_none")]
    hook: Option<String>,
    /// Paths or patterns of the files that its signature covers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// The permissions of a directive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    permissions: Vec<String>,
    /// The parent whose permissions a directive has, which declares none itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions_of: Option<String>,
}

impl Item {
    /// The reach of the item.
    pub(crate) fn reach(&self) -> DeclaredReach {
        match self {
            Self::Tool(tool) => DeclaredReach::of_tool(tool),
            Self::Directive(directive) => DeclaredReach {
                permissions: directive.permissions.clone().unwrap_or_default(),
                permissions_of: match &directive.permissions {
                    Some(_) => None,
                    None => directive.extends.as_ref().map(ToString::to_string),
                },
                ..DeclaredReach::default()
            },
            Self::Knowledge(_) | Self::Config(_) => DeclaredReach::default(),
        }
    }
}

impl DeclaredReach {
    pub(super) fn of_tool(tool: &Tool) -> Self {
        let text = |key: &str| tool.config.get(key).and_then(Value::as_str).map(str::to_owned);
        let args = tool.config.get("args").and_then(Value::as_array).into_iter().flatten();
        let args = args.map(|arg| arg.as_str().map_or_else(|| arg.to_string(), str::to_owned));
        let of_config = text("command")
            .map(|command| std::iter::once(command).chain(args).collect::<Vec<_>>().join(" "));
        let of_exec = tool.exec.as_ref().map(|exec| {
            let args = exec.args.iter().map(|arg| arg.text.as_str());
            std::iter::once(exec.command.as_str()).chain(args).collect::<Vec<_>>().join(" ")
        });
        let has_all = tool.exec.as_ref().is_some_and(|exec| exec.env_base == EnvBase::Inherit);
        let all = has_all.then(|| "all of the host".to_owned());
        let sandbox = tool.sandbox.as_ref();
        let mut writes = sandbox.and_then(|s| s.write.clone()).unwrap_or_default();
        let more = [
            (sandbox.is_some_and(|s| s.adds_items), "new items"),
            (sandbox.is_some_and(|s| s.writes_git), ".git"),
        ];
        writes.extend(more.iter().filter(|(is, _)| *is).map(|(_, what)| (*what).to_owned()));
        let asked = tool.provider.as_ref().and_then(Provider::http);
        let key = asked.and_then(|http| http.credential_env.clone());
        Self {
            runtime: tool.executor.as_ref().map(ToString::to_string),
            program: of_exec.or(of_config),
            url: text("url").or(asked.map(|http| http.base.as_str().to_owned())),
            net: sandbox.and_then(|s| s.net.clone()),
            services: tool.services().iter().map(ToString::to_string).collect(),
            service_secrets: tool.services().iter().map(|it| it.secret().to_owned()).collect(),
            reads: sandbox.and_then(|s| s.read.clone()).unwrap_or_default(),
            declares_reads: sandbox.is_some_and(|s| s.read.is_some()),
            writes,
            calls: tool.calls.iter().map(|pattern| pattern.as_str().to_owned()).collect(),
            secrets: tool.secrets.iter().cloned().chain(key).collect(),
            env: tool.env_names.iter().cloned().chain(all).collect(),
            hook: tool.hook.as_ref().map(|hook| {
                let phases: Vec<_> = hook.phases.iter().map(|phase| phase.name()).collect();
                let tools = match hook.patterns() {
                    [] => "every tool".to_owned(),
                    patterns => patterns.join(", "),
                };
                format!("{} of {tools}", phases.join(", "))
            }),
            files: tool.files.as_ref().map(names_of).unwrap_or_default(),
            permissions: Vec::new(),
            permissions_of: None,
        }
    }

    /// The names of the host variables that it asks for, also those that rye uses in its place.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().chain(&self.service_secrets).chain(&self.env).map(String::as_str)
    }

    /// A word and what it is about, for each thing, the gravest first; not escaped.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let list = |items: &[String]| (!items.is_empty()).then(|| items.join(", "));
        let rows = [
            ("is asked", self.hook.clone()),
            ("secrets", list(&self.secrets)),
            ("net", self.net.as_ref().map(DeclaredNet::to_string)),
            ("services", (!self.services.is_empty()).then(|| self.services.join("; "))),
            ("calls", self.url.clone()),
            ("calls tools", list(&self.calls)),
            ("writes", list(&self.writes)),
            ("reads", list(&self.reads)),
            ("may", list(&self.permissions)),
            ("may", self.permissions_of.as_ref().map(|parent| format!("what {parent} may"))),
            ("variables", list(&self.env)),
            ("starts", self.program.clone()),
            ("with", few(&self.files)),
            ("through", self.runtime.clone()),
        ];
        rows.into_iter().filter_map(|(what, value)| Some((what, value?))).collect()
    }

    /// The same, each as one phrase.
    pub(crate) fn words(&self) -> Vec<String> {
        self.rows().into_iter().map(|(what, value)| format!("{what} {value}")).collect()
    }

    /// All that it asks for beyond an item that asks for nothing, in the phrases of
    /// [`Self::beyond`].
    pub(crate) fn all(&self) -> Vec<String> {
        self.beyond(&Self::default())
    }

    /// The access that this item asks for and the other did not, in the phrases of [`Self::all`].
    pub(crate) fn beyond(&self, other: &Self) -> Vec<String> {
        let more = |new: &[String], old: &[String]| {
            new.iter().filter(|item| !old.contains(item)).cloned().collect::<Vec<_>>()
        };
        let other_than =
            |new: &Option<String>, old: &Option<String>| new.clone().filter(|_| new != old);
        let beyond = Self {
            runtime: other_than(&self.runtime, &other.runtime),
            program: other_than(&self.program, &other.program),
            url: other_than(&self.url, &other.url),
            net: self.net.as_ref().and_then(|net| net.beyond(other.net.as_ref())),
            services: more(&self.services, &other.services),
            service_secrets: more(&self.service_secrets, &other.service_secrets),
            reads: more(&self.reads, &other.reads),
            declares_reads: self.declares_reads,
            writes: more(&self.writes, &other.writes),
            calls: more(&self.calls, &other.calls),
            secrets: more(&self.secrets, &other.secrets),
            env: more(&self.env, &other.env),
            hook: other_than(&self.hook, &other.hook),
            files: Vec::new(),
            permissions: more(&self.permissions, &other.permissions),
            permissions_of: other_than(&self.permissions_of, &other.permissions_of),
        };
        beyond.words()
    }
}

fn names_of(listed: &FileList) -> Vec<String> {
    let patterns = listed.patterns.iter().map(|pattern| pattern.text().to_owned());
    match listed.digests.is_empty() {
        true => patterns.collect(),
        false => listed.digests.keys().map(ToString::to_string).collect(),
    }
}

/// The first of many names, and how many more there are.
fn few(names: &[String]) -> Option<String> {
    match names.len() {
        0 => None,
        1..=4 => Some(names.join(", ")),
        many => Some(format!("{} and {} more files", names[..3].join(", "), many - 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::{DeclaredReach, RiskLink};
    use crate::id::Kind;
    use crate::space::HeaderStyle;

    fn reach(text: &str) -> DeclaredReach {
        let link = RiskLink::of_unverified(Kind::Tool, text, &HeaderStyle::Yaml);
        link.expect("it parses").reach
    }

    #[test]
    fn each_thing_that_a_header_asks_for_has_its_phrase() {
        let all = reach(
            "executor_id: a/b\nsecrets: [T]\nenv: [E]\nconfig: {command: curl, args: [-s, '{x}'], \
             url: 'https://a.example'}\nsandbox: {net: any, git: write, fs: {read: [/r], write: [/w]}}",
        );
        let words = [
            "secrets T",
            "net any",
            "calls https://a.example",
            "writes /w, .git",
            "reads /r",
            "variables E",
            "starts curl -s {x}",
            "through a/b",
        ];
        assert_eq!(all.words(), words);
        assert_eq!(all.all(), words);
        assert!(all.beyond(&all).is_empty());
        let less = reach("executor_id: a/b\nsandbox: {net: loopback}");
        assert!(less.beyond(&all).is_empty(), "what was taken away is not more");
        assert_eq!(all.beyond(&less)[1], "net any");
        let hosts =
            |list: &str| reach(&format!("executor_id: a/b\nsandbox: {{net: {{hosts: [{list}]}}}}"));
        let two = hosts("a.example.org, '*.b.example.org'");
        assert_eq!(two.words()[0], "net a.example.org, *.b.example.org");
        assert_eq!(two.beyond(&less)[0], "net a.example.org, *.b.example.org");
        assert!(two.beyond(&all).is_empty(), "a list is less than all");
        let more = hosts("x.b.example.org, c.example.org, a.example.org");
        assert_eq!(more.beyond(&two), ["net c.example.org"], "what a wildcard gave is not more");
        let ports = |net: &str| reach(&format!("executor_id: a/b\nsandbox: {{net: {net}}}"));
        let one = ports("{listen: [8055]}");
        let words = ["net loopback; reached on this machine at port 8055"];
        assert_eq!(one.beyond(&less), words);
        assert!(less.beyond(&one).is_empty() && one.beyond(&all).is_empty());
        let more = ports("{hosts: [a.example.org], listen: [8055, 8056]}");
        assert_eq!(more.beyond(&two), ["net reached on this machine at port 8055, 8056"]);
        let service = reach(
            "executor_id: a/b\nsandbox: {services: {hub: {upstream: 'https://a.example.org', \
             secret: T, allow: [GET /x/**], env: HUB}}}",
        );
        let words = [
            "net its services alone",
            "services hub: T to https://a.example.org, GET /x/**, at HUB",
        ];
        assert_eq!(service.words()[..2], words);
        assert_eq!(service.beyond(&all)[0], words[1], "a secret that is sent is told");
    }
}
