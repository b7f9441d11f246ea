//! The signature that an item had, by its own words, before it was imported.

use crate::base::text::escape_line;

/// The beginning of the preamble of a directive whose block and body are a skill's to the byte.
pub(crate) const MADE_OF_SKILL: &str =
    "Made of an Agent Skill, which is kept here to the byte; `rye export skill` gives it back.";

/// The beginning of the line that an import writes; behind it stands who signed.
pub(crate) const SIGNED_BEFORE: &str =
    "Signed by others before it was imported, and checked then (OpenSSF Model Signing): ";

/// The signer of what an item was made of, by the item's own words; only the item's signer vouches
/// for them. It counts at the one place where an import writes it, which nothing of a skill
/// reaches: right behind [`MADE_OF_SKILL`] below the title of a directive, or behind the header of
/// a tool.
pub(crate) fn signed_before(text: &str) -> Option<String> {
    let mut words = text.lines().filter(|line| !line.is_empty() && !line.starts_with("<!-- "));
    let is_made = words.next()?.starts_with("# ") && words.next() == Some(MADE_OF_SKILL);
    let line = match is_made {
        true => words.next()?,
        false => {
            let mut lines = text.lines().skip_while(|line| *line != "# ///");
            lines.nth(1)?.strip_prefix("# ")?
        }
    };
    let said = line.strip_prefix(SIGNED_BEFORE)?;
    Some(escape_line(said.strip_suffix('.').unwrap_or(said)))
}

#[cfg(test)]
mod tests {
    use super::{MADE_OF_SKILL, SIGNED_BEFORE, signed_before};

    #[test]
    fn who_signed_counts_at_one_place_alone() {
        let said = format!("{SIGNED_BEFORE}key 12.");
        let directive = format!("<!-- rye:signed:v2 x -->\n# x\n\n{MADE_OF_SKILL}\n\n{said}\n\n");
        let tool = format!("# rye:signed:v2 x\n# /// rye\n# x = 1\n# ///\n# {said}\nimport os\n");
        for good in [&directive, &tool] {
            assert_eq!(signed_before(good).as_deref(), Some("key 12"), "{good}");
        }
        for bad in [
            said.clone(),
            format!("# x\n\n{said}\n"),
            format!("# x\n\n{MADE_OF_SKILL}\n\n```yaml\n{said}\n```\n{said}\n"),
            format!("# x\n\n{MADE_OF_SKILL}\n\n```yaml\n# ///\n{said}\n```\n"),
            format!("# /// rye\n# ///\nimport os\n# {said}\n"),
            format!("# /// rye\n# ///\n{said}\n"),
            format!("# /// rye\n# ///\n# {SIGNED_BEFORE}").replace(": ", ""),
        ] {
            assert_eq!(signed_before(&bad), None, "{bad}");
        }
    }
}
