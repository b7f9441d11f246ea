//! The tiers of tools, directives and the rest; and that more reach is never less risk.

use proptest::prelude::{Just, Strategy, any, prop, prop_assert, proptest};

use super::{Risk, RiskBasis, RiskTier};
use crate::host::Net;
use crate::id::Kind;
use crate::parse::item::parse;
use crate::parse::reach::DeclaredReach;
use crate::space::HeaderStyle;

const PYTHON: &str = "executor_id: rye/core/runtimes/python/script";
const HTTP: &str = "executor_id: rye/core/runtimes/http/request";
const MCP: &str = "executor_id: rye/core/runtimes/mcp/tool";
const HOOK: &str = "executor_id: rye/core/runtimes/exec/oneshot\ntool_type: hook\nhook: tool\n\
                    phases: [before_execution]\nexec: {command: ./x}";
const SERVICE: &str = "sandbox: {services: {github: {upstream: 'https://api.github.com', \
                       secret: GITHUB_TOKEN, header: Authorization, format: 'Bearer {}', \
                       allow: ['GET /repos/**'], env: GITHUB_API_URL}}}";

fn basis(kind: Kind) -> RiskBasis {
    RiskBasis { kind, default_net: Net::None, is_let_out: false, is_cut: false }
}

/// The links of a tool whose header is YAML: its own, and those of rye that stand behind it.
fn links(header: &str) -> Vec<DeclaredReach> {
    let end = match header {
        http if http.contains("runtimes/http") => "rye/core/primitives/http_client",
        mcp if mcp.contains("runtimes/mcp") => "rye/core/primitives/mcp",
        _ => "rye/core/primitives/execute",
    };
    let runtime = format!("tool_type: runtime\nexecutor_id: {end}");
    let read = |text: &str| {
        let item = parse(Kind::Tool, &HeaderStyle::Yaml, text, String::new);
        item.unwrap_or_else(|fault| panic!("{text}: {}", fault.why)).reach()
    };
    vec![read(header), read(&runtime), read("tool_type: primitive")]
}

fn tier(header: &str) -> RiskTier {
    Risk::new(&links(header), basis(Kind::Tool)).tier
}

#[test]
fn the_tier_of_a_tool_table() {
    use RiskTier::{L0, L1, L2, L3};
    let py = |rest: &str| format!("{PYTHON}\n{rest}");
    let hook = |rest: &str| format!("{HOOK}\n{rest}");
    let rows = [
        (py("sandbox: {fs: {read: []}}"), L0),
        (py("sandbox: {fs: {read: []}, net: none}\nfiles: ['lib/**']"), L0),
        (py(""), L1),
        (py("sandbox: {net: none}"), L1),
        (py("sandbox: {fs: {read: ['{project_path}']}}"), L1),
        (py("sandbox: {fs: {read: ['{project_path}/src']}}"), L1),
        (py("sandbox: {fs: {read: []}, net: loopback}"), L1),
        (py("sandbox: {net: loopback}"), L1),
        (hook("sandbox: {fs: {read: []}}"), L1),
        (py("sandbox: {net: any}"), L2),
        (py("sandbox: {net: any, fs: {read: []}}"), L2),
        (py("secrets: [TOKEN]"), L2),
        (py("env: [EDITOR]"), L2),
        (py("sandbox: {fs: {write: ['{project_path}/build/']}}"), L2),
        (py("sandbox: {fs: {write: ['{project_path}']}, net: any}"), L2),
        (py("sandbox: {fs: {read: ['/']}}"), L2),
        (py("sandbox: {fs: {read: ['{user_space}/.cache']}}"), L2),
        (py("sandbox: {fs: {read: ['{project_path}', '/var/lib/acme']}}"), L2),
        (format!("{HTTP}\nconfig: {{url: 'https://a.example'}}"), L2),
        (format!("{HTTP}\nsecrets: [T]\nconfig: {{url: 'https://a.example'}}"), L2),
        (format!("{MCP}\nconfig: {{url: 'https://a.example', mcp: {{tool: x}}}}"), L2),
        (format!("{MCP}\nconfig: {{command: uvx, mcp: {{tool: x}}}}"), L1),
        (py("sandbox: {net: {hosts: [api.github.com]}}"), L2),
        (py("sandbox: {net: {listen: [8055]}}"), L2),
        (py("secrets: [T]\nsandbox: {net: {hosts: [api.github.com]}}"), L2),
        (format!("{PYTHON}\n{SERVICE}"), L2),
        (py("secrets: [TOKEN]\nsandbox: {net: any}"), L3),
        (py("env: [TOKEN]\nsandbox: {net: any}"), L3),
        (py("sandbox: {net: any, fs: {read: ['/']}}"), L3),
        (py("sandbox: {net: any, fs: {read: ['/'], write: ['{project_path}']}}"), L3),
        (py("sandbox: {net: any, fs: {read: ['{user_space}/.config/acme']}}"), L3),
        (py("sandbox: {fs: {write: ['{user_space}/.cache/acme/']}}"), L3),
        (py("sandbox: {fs: {write: ['/srv/acme']}}"), L3),
        (py("sandbox: {git: write}"), L3),
        (py("sandbox: {items: write}"), L3),
        (hook("sandbox: {net: any}"), L3),
        (format!("{MCP}\nsecrets: [T]\nsandbox: {{net: any}}\nconfig: {{command: uvx}}"), L3),
    ];
    for (header, want) in rows {
        assert_eq!(tier(&header), want, "{header}");
    }
}

#[test]
fn what_the_header_does_not_say_counts_as_it_is_in_effect() {
    use RiskTier::{L1, L2, L3};
    let plain = basis(Kind::Tool);
    let any = RiskBasis { default_net: Net::Any, ..plain };
    let out = RiskBasis { is_let_out: true, ..plain };
    let cut = RiskBasis { is_cut: true, ..plain };
    let rows = [
        ("", plain, L1),
        ("", any, L2),
        ("sandbox: {net: none}", any, L1),
        ("secrets: [T]", any, L3),
        ("", out, L3),
        ("", cut, L3),
    ];
    for (rest, basis, want) in rows {
        let links = links(&format!("{PYTHON}\n{rest}"));
        assert_eq!(Risk::new(&links, basis).tier, want, "{rest} {basis:?}");
    }
    // Rye itself sends the request: there is no process, and no sandbox that could be off.
    let http = links(&format!("{HTTP}\nconfig: {{url: 'https://a.example'}}"));
    assert_eq!(Risk::new(&http, RiskBasis { is_let_out: true, ..any }).tier, L2);
}

#[test]
fn a_runtime_adds_what_it_declares_itself_and_a_url_hides_no_process() {
    let mut own = links(PYTHON);
    assert_eq!(Risk::new(&own, basis(Kind::Tool)).tier, RiskTier::L1, "as rye ships it");
    own[1].writes = vec!["/etc/acme".into()];
    assert_eq!(Risk::new(&own, basis(Kind::Tool)).tier, RiskTier::L3);
    let mut sends = links(&format!("{PYTHON}\nsecrets: [T]\nsandbox: {{net: any}}"));
    assert_eq!(Risk::new(&sends, basis(Kind::Tool)).tier, RiskTier::L3);
    sends[0].url = Some("https://a.example".into());
    assert_eq!(Risk::new(&sends, basis(Kind::Tool)).tier, RiskTier::L3);
}

#[test]
fn the_tier_of_what_is_not_a_tool_table() {
    let asks = |asked: &[&str]| DeclaredReach {
        permissions: asked.iter().map(|&asked| asked.to_owned()).collect(),
        ..DeclaredReach::default()
    };
    let rows: [(Kind, &[&str], RiskTier); 16] = [
        (Kind::Knowledge, &[], RiskTier::L0),
        (Kind::Config, &[], RiskTier::L0),
        (Kind::Directive, &[], RiskTier::L0),
        (Kind::Directive, &["rye.fetch.*"], RiskTier::L1),
        (Kind::Directive, &["rye.fetch.knowledge.acme.notes"], RiskTier::L1),
        (Kind::Directive, &["rye.execute.tool.acme.deploy"], RiskTier::L2),
        (Kind::Directive, &["rye.execute.tool.acme.*"], RiskTier::L2),
        (Kind::Directive, &["rye.execute.tool.rye.git.status"], RiskTier::L2),
        (Kind::Directive, &["rye.execute.tool.rye.bash"], RiskTier::L3),
        (Kind::Directive, &["rye.execute.tool.rye.git.*"], RiskTier::L3),
        (Kind::Directive, &["rye.execute.directive.rye.core.create_tool"], RiskTier::L3),
        (Kind::Directive, &["rye.execute.tool.*"], RiskTier::L3),
        (Kind::Directive, &["rye.execute.tool.a*.deploy"], RiskTier::L3),
        (Kind::Directive, &["rye.execute.*"], RiskTier::L3),
        (Kind::Directive, &["rye.sign.tool.acme.x"], RiskTier::L3),
        (Kind::Directive, &["rye.fetch.*", "rye.execute.tool.acme.x"], RiskTier::L2),
    ];
    for (kind, asked, want) in rows {
        assert_eq!(Risk::new(&[asks(asked)], basis(kind)).tier, want, "{kind} {asked:?}");
    }
}

/// Anything that a link may declare.
fn any_reach() -> impl Strategy<Value = DeclaredReach> {
    let path = || {
        prop::collection::vec(
            prop::sample::select(vec![
                "{project_path}",
                "{project_path}/x",
                "{project_pathx}",
                "{user_space}/y",
                "/z",
                ".git",
                "new items",
            ])
            .prop_map(str::to_owned),
            0..3,
        )
    };
    let name = || prop::collection::vec("[A-Z]{1,3}", 0..2);
    let maybe = |text: &'static str| prop::option::of(Just(text.to_owned()));
    (path(), path(), name(), name(), maybe("https://a.example"), maybe("pre of every tool"))
        .prop_map(|(reads, writes, secrets, env, url, hook)| DeclaredReach {
            url,
            declares_reads: !reads.is_empty(),
            reads,
            writes,
            secrets,
            env,
            hook,
            ..DeclaredReach::default()
        })
}

fn any_net() -> impl Strategy<Value = Net> {
    prop::sample::select(vec![Net::None, Net::Loopback, Net::Hosts, Net::Any])
}

proptest! {
    #[test]
    fn more_reach_never_gives_a_lower_tier(
        mut less in any_reach(),
        more in any_reach(),
        end in prop::sample::select(vec![
            "rye/core/primitives/execute",
            "rye/core/primitives/http_client",
            "rye/core/primitives/mcp",
        ]),
        nets in (any_net(), any_net()),
        truths in any::<(bool, bool, bool, bool)>(),
    ) {
        // The chain of an MCP server over HTTP is another case than one that starts a process.
        less.url = less.url.filter(|_| end != "rye/core/primitives/mcp");
        let url = less.url.clone().or(more.url).filter(|_| end != "rye/core/primitives/mcp");
        let joined = |a: &[String], b: Vec<String>| [a.to_vec(), b].concat();
        let more = DeclaredReach {
            runtime: Some(end.to_owned()),
            net: Some(nets.0.max(nets.1).into()),
            declares_reads: less.declares_reads || more.declares_reads,
            reads: joined(&less.reads, more.reads),
            writes: joined(&less.writes, more.writes),
            secrets: joined(&less.secrets, more.secrets),
            env: joined(&less.env, more.env),
            hook: less.hook.clone().or(more.hook),
            url,
            ..DeclaredReach::default()
        };
        let less = DeclaredReach { runtime: Some(end.to_owned()), net: Some(nets.0.into()), ..less };
        let (out, cut, more_out, more_cut) = truths;
        let small = RiskBasis { is_let_out: out, is_cut: cut, ..basis(Kind::Tool) };
        let great = RiskBasis { is_let_out: out || more_out, is_cut: cut || more_cut, ..small };
        let (small, great) = (Risk::new(&[less], small), Risk::new(&[more], great));
        prop_assert!(small.tier <= great.tier, "{small} and then {great}");
    }
}
