//! An example for the end of each help of a verb below a verb, such as `rye trust add`.

use clap::Command;

/// Command lines that are of use; each begins with the words of its own command.
const EXAMPLES: &[&str] = &[
    "rye code run snippet.js --params '{\"n\": 3}'",
    "rye code check snippet.js",
    "rye code stubs --for 'tool:acme/**'",
    "rye eval run acme/mood --content 'Great!' --min-score 0.5",
    "rye git install",
    "rye git uninstall",
    "rye git status",
    "rye git check",
    "rye receipt verify deploy.receipt.json --plan deploy.plan.json",
    "rye pending list --all",
    "rye pending show p-3f9a41c2d07b",
    "rye pending approve p-3f9a41c2d07b",
    "rye pending reject p-3f9a41c2d07b --reason 'too much'",
    "rye thread list",
    "rye thread show rye/examples/research/research-019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10",
    "rye thread tail rye/examples/research/research-019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10",
    "rye thread wait 019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10 --timeout 2m",
    "rye thread cancel rye/examples/research/research-019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10",
    "rye thread kill 019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10",
    "rye thread tree rye/examples/research/research-019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10",
    "rye thread resume rye/examples/research/research-019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10 'go on'",
    "rye thread export rye/examples/research/research-019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10 -o t.json",
    "rye thread verify rye/examples/research/research-019a9b04-1c11-7f0e-8f5a-2a1f3f6f1d10",
    "rye hooks list",
    "rye hooks test hooks/acme/guard --payload @call.json",
    "rye trust review",
    "rye trust propose --owner Ann",
    "rye trust accept 14c4d3c7bd9052ce",
    "rye trust project",
    "rye trust add ann.pem --owner Ann --in .",
    "rye trust remove 14c4d3c7bd9052ce",
    "rye trust revoke 14c4d3c7bd9052cec944334215683eaa --reason stolen",
    "rye trust unrevoke 14c4d3c7bd9052ce",
    "rye trust list",
    "rye trust show 14c4d3c7bd9052ce",
    "rye trust allow-root /srv/team",
    "rye trust allow-interpreter .venv/bin/python3",
    "rye trust allow-deps node_modules",
    "rye trust allow-provider acme/model",
    "rye trust allow-backend https://box.example:8080",
    "rye trust disallow node_modules",
    "rye keys generate",
    "rye keys import private_key.pem",
    "rye keys export > ann.pem",
    "rye keys list",
    "rye keys show",
    "rye keys rotate",
    "rye mcp install cursor --dry-run",
    "rye import runtimeconfig runtime.yaml --pack pack.json --dry-run",
    "rye import rye ../old --dry-run",
    "rye import skill ./pdf-forms",
    "rye import mcp uvx mcp-server-time==2026.10.19 --dry-run",
    "rye export skill skills/pdf_forms --to shared",
    "rye bundle pack tools 'acme/**' --version 1.0.0",
    "rye bundle verify tools-1.0.0.tar.zst",
    "rye bundle install tools-1.0.0.tar.zst",
    "rye bundle list",
    "rye bundle remove tools",
    "rye remote add gpu https://gpu.example:8700",
    "rye remote list",
    "rye remote remove gpu",
    "rye remote plan acme/train",
    "rye remote ping gpu",
    "rye node identity",
    "rye node authorize laptop.pem --scopes 'execute:tool:acme/**,objects'",
    "rye node revoke 14c4d3c7bd9052cec944334215683eaa",
    "rye node list",
    "rye store stat",
    "rye store verify",
    "rye store gc --grace 2h --dry-run",
    "rye store get ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad data.csv",
    "rye store put data.csv",
];

/// The grammar of a verb with an example in the help of each verb below it.
pub(super) fn add(verb: Command) -> Command {
    let path = format!("rye {}", verb.get_name());
    below(verb, &path)
}

fn below(command: Command, path: &str) -> Command {
    command.mut_subcommands(|verb| {
        let path = format!("{path} {}", verb.get_name());
        let is_its_own = |line: &&&str| line.strip_prefix(&path).is_some_and(ends_word);
        let verb = match EXAMPLES.iter().find(is_its_own) {
            Some(line) => verb.after_help(format!("Example: {line}")),
            None => verb,
        };
        below(verb, &path)
    })
}

fn ends_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}
