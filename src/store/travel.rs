//! Files that never leave this machine, whatever an item asks for, and are never written here by
//! another one.

use memchr::memmem;

use crate::space::folded;

/// How far into a file the head of a private key is looked for, in bytes: attributes may stand
/// before it.
const KEY_HEAD_BYTES: usize = 8 << 10;

/// How the names of SSH's private keys begin.
const SSH_KEYS: [&str; 4] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"];

const SECRETS: &str = "it may hold secrets";
const KEY: &str = "it may be a private key";
const OTHERS: &str = "it holds credentials of another program";
const MADE: &str = "it is made anew on each machine";
const RYE: &str = "rye decides by it";

/// Why the file at a plain path below a project never travels; `None` if it may. Neither case
/// counts nor how a letter is composed.
pub(crate) fn never_travels(path: &str) -> Option<&'static str> {
    let path = folded(path);
    let names: Vec<&str> = path.split('/').collect();
    names.iter().enumerate().find_map(|(at, name)| by_name(name, &names[at + 1..]))
}

/// Says why nothing at or below a name travels; `behind` is the rest of the path.
fn by_name(name: &str, behind: &[&str]) -> Option<&'static str> {
    // An item's name stands before its extension.
    let is = |name: &&str, word: &str| {
        name.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    match (name, behind) {
        (".git" | ".hg" | ".svn", _) => Some("it is the history of the project"),
        ("node_modules" | ".venv", _) => Some(MADE),
        (
            ".aws" | ".azure" | ".gnupg" | ".kube" | ".oci" | ".password-store" | ".ssh" | ".boto"
            | ".dockercfg" | ".git-credentials" | ".htpasswd" | ".my.cnf" | ".netrc" | "_netrc"
            | ".npmrc" | ".pgpass" | ".pypirc" | ".s3cfg" | ".terraformrc" | ".vault-token",
            _,
        ) => Some(OTHERS),
        (".config", ["gcloud" | "gh" | "git" | "hub" | "rclone", ..]) => Some(OTHERS),
        (".docker", ["config.json", ..]) | (".m2", ["settings.xml", ..]) => Some(OTHERS),
        (".cargo" | ".gem" | ".terraform.d", [file, ..]) if file.starts_with("credentials") => {
            Some(OTHERS)
        }
        (".ai", ["state" | "config" | "rye.lock", ..]) => Some(RYE),
        (".ai", ["tools", hooks, ..]) if is(hooks, "hooks") => Some(RYE),
        (".ai", [_, rye, ..]) if is(rye, "rye") => Some(RYE),
        (name, _) if is(&name, ".env") || is(&name, ".envrc") => Some(SECRETS),
        (name, _) if SSH_KEYS.iter().any(|key| name.starts_with(key)) => Some(KEY),
        (name, _) => match name.rsplit_once('.')?.1 {
            "env" | "tfstate" => Some(SECRETS),
            "pem" | "key" | "p12" | "pfx" | "pkcs12" | "ppk" | "jks" | "keystore" | "kdbx" => {
                Some(KEY)
            }
            _ => None,
        },
    }
}

/// Why a file with these bytes never travels, whatever its name is.
pub(crate) fn never_travels_for_bytes(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(KEY_HEAD_BYTES)];
    let is_key = |at: usize| {
        let line = head[at..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let ends = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
        ends.iter().any(|end| memmem::find(line, end.as_bytes()).is_some())
    };
    let is_one = memmem::find_iter(head, b"-----BEGIN ").any(is_key)
        || memmem::find(head, b"AGE-SECRET-KEY-1").is_some()
        || head.starts_with(b"PuTTY-User-Key-File-");
    is_one.then_some("it holds a private key")
}

#[cfg(test)]
mod tests {
    use super::{never_travels, never_travels_for_bytes};

    #[test]
    fn h04_secrets_keys_and_what_rye_decides_by_never_travel_table() {
        let never = ".env app/.ENV .env.local .env/x .git/config sub/.Git .g\u{131}t/config \
            web/node_modules/a/b.js .venv/bin/python .ai/state/objects/ab/c sub/.ai/state/x \
            .ai/config/keys/signing/private.pem .AI/Config/rye/policy.yaml .ai/rye.lock \
            .ai/tools/hooks/a.py .ai/tools/hooks.py .ai/tools/rye/bash.yaml \
            .ai/knowledge/Rye/x.md certs/server.PEM a.key id_rsa id_rsa.pub home/id_ed25519_work \
            a.p12 a.pfx .netrc .npmrc .pypirc .aws/credentials .ssh/known_hosts .gnupg/x \
            .kube/config .docker/config.json .envrc prod.env .pgpass home/.Git-Credentials \
            .azure/x .config/gcloud/x .config/gh/hosts.yml _netrc .cargo/credentials.toml \
            .m2/settings.xml id_ecdsa a.ppk a.jks a.kdbx .hg/hgrc a.tfstate";
        for path in never.split_whitespace() {
            assert!(never_travels(path).is_some(), "{path}");
        }
        let may = "env .environment .gitignore .github/x.yml venv/x .ai/tools/acme/x.py \
            .ai/tools/hooked/x.py .ai/directives/hooks/x.md .ai/tools/ryes/x.py state/x \
            config/rye/x key pem monkey.txt docker/config.json .docker/other.json .config/x \
            environment.yml .cargo/config.toml credentials.md _netrc_notes hg/x";
        for path in may.split_whitespace() {
            assert_eq!(never_travels(path), None, "{path}");
        }
    }

    #[test]
    fn h04_a_private_key_does_not_travel_under_another_name() {
        let head = |kind: &str| format!("-----BEGIN {kind}PRIVATE KEY-----\n");
        for text in [
            head(""),
            head("OPENSSH "),
            format!("Bag Attributes\r\n  x\r\n{}", head("RSA ")),
            format!("-----BEGIN PGP PRIVATE KEY {}-----\n", "BLOCK"),
            "PuTTY-User-Key-File-3: ssh-ed25519\n".into(),
            "# public key: age1x\nAGE-SECRET-KEY-1X\n".into(),
        ] {
            assert!(never_travels_for_bytes(text.as_bytes()).is_some(), "{text}");
        }
        for text in [
            "-----BEGIN PUBLIC KEY-----\n",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
            "x PuTTY-User-Key-File-3",
            "PRIVATE KEY-----",
            "-----BEGIN A\nPRIVATE KEY-----",
            "",
        ] {
            assert_eq!(never_travels_for_bytes(text.as_bytes()), None, "{text}");
        }
    }
}
