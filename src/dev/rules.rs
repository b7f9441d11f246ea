//! When a person has to look first (core 5.2).

use crate::parse::{Directive, Item, Tool};
use crate::verify::FileList;

/// A reason not to sign an item without a key press.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HoldReason {
    /// The item was not there when the session began.
    New,
    /// The item was not admitted when the session began.
    NotAdmitted,
    /// Another person's signature admitted the item.
    OtherSigner(String),
    /// Its signature line names a key that is neither yours nor the dev key, or is damaged.
    SignatureLine,
    /// The item changed while this one ran.
    During(String),
    /// The item changed during another run of rye.
    OtherRun,
    /// Its signature line is gone.
    LineGone,
    /// git went to another commit, changed its index, may have written files, or is in the middle
    /// of a merge.
    GitMoved,
    /// The state of git cannot be seen.
    GitUnclear,
    /// git is at work for longer than it should be.
    GitBusy,
    /// This many files changed at once.
    Many(usize),
    /// This listed file holds invisible text.
    Invisible(String),
    /// This part of its header changed.
    Field(&'static str),
    /// No person is at a terminal, and `--unattended` was not given.
    NoTerminal,
}

impl HoldReason {
    /// The stable word for this reason.
    pub(crate) fn word(&self) -> String {
        match self {
            Self::New => "new".into(),
            Self::NotAdmitted => "not_admitted".into(),
            Self::OtherSigner(_) => "other_signer".into(),
            Self::SignatureLine => "signature_line".into(),
            Self::During(_) => "during_run".into(),
            Self::OtherRun => "other_run".into(),
            Self::LineGone => "line_gone".into(),
            Self::GitMoved => "git_moved".into(),
            Self::GitUnclear => "git_unclear".into(),
            Self::GitBusy => "git_busy".into(),
            Self::Many(_) => "many_files".into(),
            Self::Invisible(_) => "invisible_text".into(),
            Self::Field(name) => format!("field:{name}"),
            Self::NoTerminal => "no_terminal".into(),
        }
    }
}

impl std::fmt::Display for HoldReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::New => write!(f, "it is new"),
            Self::NotAdmitted => write!(f, "it was not signed when this session began"),
            Self::OtherSigner(name) => {
                write!(f, "it was signed by `{}`", crate::base::text::escape_line(name))
            }
            Self::SignatureLine => write!(f, "its signature line is not yours"),
            Self::During(item) => write!(f, "it changed while `{item}` ran"),
            Self::OtherRun => write!(f, "it changed while another run of rye was under way"),
            Self::LineGone => write!(f, "its signature line is gone"),
            Self::GitMoved => write!(f, "git went to another commit, or may have written it"),
            Self::GitUnclear => write!(f, "`.git` leads to no repository"),
            Self::GitBusy => write!(f, "git is at work"),
            Self::Many(count) => write!(f, "{count} files changed at once"),
            Self::Invisible(file) => {
                let file = crate::base::text::escape_line(file);
                write!(f, "`{file}` beside it is not text, or holds text that nobody sees")
            }
            Self::Field(name) => write!(f, "its `{name}` changed"),
            Self::NoTerminal => write!(f, "nobody is at a terminal"),
        }
    }
}

/// The parts of a header that decide what an item may reach, where they differ.
pub(super) fn fields(was: &Item, is: &Item) -> Vec<&'static str> {
    let rows = match (was, is) {
        (Item::Tool(was), Item::Tool(is)) => tool(was, is),
        (Item::Directive(was), Item::Directive(is)) => directive(was, is),
        _ => Vec::new(),
    };
    rows.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

fn tool(was: &Tool, is: &Tool) -> Vec<(&'static str, bool)> {
    let env =
        was.env_names != is.env_names || was.env != is.env || was.interpreter != is.interpreter;
    // The anchor says where the listed paths begin, and which other files must be covered.
    let files = !lists_same(was.files.as_ref(), is.files.as_ref())
        || was.anchor != is.anchor
        || was.verify_deps != is.verify_deps;
    vec![
        ("executor_id", was.executor != is.executor),
        ("env", env),
        ("secrets", was.secrets != is.secrets),
        ("files", files),
        ("sandbox", was.sandbox != is.sandbox),
    ]
}

fn directive(was: &Directive, is: &Directive) -> Vec<(&'static str, bool)> {
    let permissions = was.permissions != is.permissions || was.acknowledged != is.acknowledged;
    vec![
        ("permissions", permissions),
        // Without permissions of its own it has those of its parent.
        ("extends", was.extends != is.extends),
        ("hooks", was.hooks != is.hooks),
    ]
}

/// Returns true if both list the same files, whatever is in them.
fn lists_same(was: Option<&FileList>, is: Option<&FileList>) -> bool {
    let (Some(was), Some(is)) = (was, is) else { return was.is_none() && is.is_none() };
    was.root == is.root
        && was.patterns == is.patterns
        && was.programs == is.programs
        && was.digests.keys().eq(is.digests.keys())
}

#[cfg(test)]
mod tests {
    use super::HoldReason;

    #[test]
    fn the_page_names_every_word() {
        let page = include_str!("../../.ai/knowledge/rye/dev.md");
        let text = String::new;
        let all = [
            HoldReason::New,
            HoldReason::NotAdmitted,
            HoldReason::OtherSigner(text()),
            HoldReason::SignatureLine,
            HoldReason::During(text()),
            HoldReason::OtherRun,
            HoldReason::LineGone,
            HoldReason::GitMoved,
            HoldReason::GitUnclear,
            HoldReason::GitBusy,
            HoldReason::Many(6),
            HoldReason::Invisible(text()),
            HoldReason::Field("NAME"),
            HoldReason::NoTerminal,
        ];
        for why in all {
            // A new reason must be added to the list above as well.
            match why {
                HoldReason::New
                | HoldReason::NotAdmitted
                | HoldReason::OtherSigner(_)
                | HoldReason::SignatureLine
                | HoldReason::During(_)
                | HoldReason::OtherRun
                | HoldReason::LineGone
                | HoldReason::GitMoved
                | HoldReason::GitUnclear
                | HoldReason::GitBusy
                | HoldReason::Many(_)
                | HoldReason::Invisible(_)
                | HoldReason::Field(_)
                | HoldReason::NoTerminal => {}
            }
            let word = why.word();
            assert!(page.contains(&format!("`{word}`")), "{word}");
        }
    }
}
