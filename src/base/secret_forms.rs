//! Texts that have the form of a secret of a known service: its own prefix, alphabet and length.
//!
//! The forms are those that the services document for secret scanning. A text of another form, such
//! as a password, is not found: this keeps people from slips and is no line of defence.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

/// The kinds of secrets, each with its form. Letters outside ASCII are in none of them, so all are
/// plain bytes.
const FORMS: [(&str, &str); 17] = [
    ("an Anthropic API key", r"\bsk-ant-[a-z0-9]+-[A-Za-z0-9_-]{32,}"),
    ("an AWS access key", r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    ("a DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("a GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    ("a GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{40,}\b"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{34,}\b"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("an OpenAI API key", r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}"),
    ("an OpenAI API key", r"\bsk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}\b"),
    ("a PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("a SendGrid API key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("a Stripe key", r"\b[rs]k_live_[A-Za-z0-9]{20,}\b"),
    ("an age identity", r"\bAGE-SECRET-KEY-1[A-Z0-9]{58}\b"),
    (
        "a private key",
        r"-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH) )?PRIVATE KEY-----(?:\s|\\r|\\n)*[A-Za-z0-9+/]{32,}",
    ),
];

/// A text with fewer different characters than this, such as `ghp_xxxx…`, stands for a secret.
const DIFFERENT: usize = 10;

/// The word that documentation writes in example secrets.
const EXAMPLE: &[u8] = b"EXAMPLE";

/// The places in bytes of what has the form of a secret, in order, and what each is.
pub(crate) fn secret_forms(text: &str) -> Vec<(usize, &'static str)> {
    static COMPILED: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
        let compile = |form: &str| Regex::new(&format!("(?-u){form}")).expect("a table of forms");
        FORMS.iter().map(|(what, form)| (*what, compile(form))).collect()
    });
    let is_one = |found: &[u8]| {
        let different: BTreeSet<&u8> = found.iter().collect();
        let is_example =
            found.windows(EXAMPLE.len()).any(|part| part.eq_ignore_ascii_case(EXAMPLE));
        different.len() >= DIFFERENT && !is_example
    };
    let mut all: Vec<_> = COMPILED
        .iter()
        .flat_map(|(what, form)| {
            let found = form.find_iter(text.as_bytes()).filter(|found| is_one(found.as_bytes()));
            found.map(|found| (found.start(), *what))
        })
        .collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::secret_forms;

    /// As long as asked, of many characters. No test holds a whole secret, so that who scans this
    /// repository for secrets finds none.
    fn of(length: usize) -> String {
        "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8".chars().cycle().take(length).collect()
    }

    #[test]
    fn each_form_is_found_where_it_begins_table() {
        let upper = |length| of(length).to_uppercase().replace(['1', '8', '9'], "Q");
        let hex: String = "0123456789abcdef".chars().cycle().take(64).collect();
        for (text, want) in [
            (format!("sk-ant-{}-{}", "api03", of(40)), "an Anthropic API key"),
            (format!("AKIA{}", upper(16)), "an AWS access key"),
            (format!("dop_v1_{hex}"), "a DigitalOcean token"),
            (format!("ghp_{}", of(36)), "a GitHub token"),
            (format!("github_pat_{}", of(82)), "a GitHub token"),
            (format!("glpat-{}", of(20)), "a GitLab token"),
            (format!("AIza{}", of(35)), "a Google API key"),
            (format!("hf_{}", of(34)), "a Hugging Face token"),
            (format!("npm_{}", of(36)), "an npm token"),
            (format!("sk-proj-{}", of(48)), "an OpenAI API key"),
            (format!("sk-{}T3BlbkFJ{}", of(20), of(20)), "an OpenAI API key"),
            (format!("pypi-AgE{}", of(60)), "a PyPI token"),
            (format!("SG.{}.{}", of(22), of(43)), "a SendGrid API key"),
            (format!("xoxb-{}", of(40)), "a Slack token"),
            (format!("sk_live_{}", of(24)), "a Stripe key"),
            (format!("AGE-SECRET-KEY-1{}", of(58).to_uppercase()), "an age identity"),
            (format!("-----BEGIN {}KEY-----\n{}", "PRIVATE ", of(64)), "a private key"),
            (format!("-----BEGIN RSA {}KEY-----\\n{}", "PRIVATE ", of(64)), "a private key"),
        ] {
            let line = format!("x = \"{text}\"\n");
            assert_eq!(secret_forms(&line), [(5, want)], "{want}");
        }
    }

    #[test]
    fn what_stands_for_a_secret_or_only_begins_like_one_is_none_table() {
        for text in [
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_owned(),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            format!("ghp_{}", of(20)),
            format!("highp_{}", of(36)),
            "sk-ant-your-key-goes-here".to_owned(),
            format!("-----BEGIN {}KEY-----\n…\n-----END PRIVATE KEY-----", "PRIVATE "),
            format!("-----BEGIN ENCRYPTED {}KEY-----\n{}", "PRIVATE ", of(64)),
            format!("-----BEGIN {}KEY-----\n{}", "PUBLIC ", of(64)),
            of(4000),
        ] {
            assert_eq!(secret_forms(&text), [], "{text}");
        }
    }
}
