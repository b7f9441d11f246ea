//! A YAML mapping, entry by entry; what an entry holds below its first line keeps its bytes.

use super::rank;

/// Keys whose text is always in double quotes, so that a version is not read as a number, nor a
/// sentence as a mapping.
const QUOTED: [&str; 2] = ["version", "description"];
/// Keys whose text needs no quotes if it is a plain word or path.
const PLAIN: [&str; 3] = ["tool_type", "executor_id", "category"];

/// A whole file that is one mapping.
///
/// # Errors
/// A sentence that says why the text cannot be formatted line by line.
pub(super) fn mapping(text: &str, order: &[&str]) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_key = |line: &&str| key(line).is_some();
    let first = lines.iter().position(is_key);
    let first = first.ok_or("it is not a mapping with one key a line")?;
    let is_lead = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    if !lines[..first].iter().all(is_lead) {
        return Err("something that is not a comment stands before its first key".into());
    }
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut above: Vec<&str> = Vec::new();
    for line in &lines[first..] {
        match (key(line), entries.last_mut()) {
            (Some(key), _) => {
                let above = std::mem::take(&mut above);
                entries.push(Entry { key, above, lines: vec![line] });
            }
            _ if is_lead(line) => above.push(line),
            (None, Some(entry)) if line.starts_with([' ', '\t', '-', ']', '}']) => {
                // The supposed gap lies inside an entry.
                entry.lines.append(&mut above);
                entry.lines.push(line);
            }
            _ => return Err("a line at its margin is neither a key nor a comment".into()),
        }
    }
    if entries.iter().any(Entry::keeps_blanks) {
        return Err("a text in it keeps the empty lines at its end".into());
    }
    entries.sort_by_key(|entry| rank(order, entry.key));
    let mut out = lines[..first].concat();
    for (at, entry) in entries.iter().enumerate() {
        entry.print(&mut out, at > 0);
    }
    out.push_str(&above.concat());
    Ok(out)
}

/// The mapping between the two rules at the beginning of a Markdown text, if there is one.
///
/// # Errors
/// As [`mapping`].
pub(super) fn front_matter(text: &str, order: &[&str]) -> Result<String, String> {
    let Some(rest) = text.strip_prefix("---\n") else { return Ok(text.to_owned()) };
    let Some((front, body)) = rest.split_once("\n---\n") else { return Ok(text.to_owned()) };
    let front = mapping(&format!("{front}\n"), order)?;
    Ok(format!("---\n{front}---\n{body}"))
}

struct Entry<'t> {
    key: &'t str,
    /// Comments and empty lines in front of it.
    above: Vec<&'t str>,
    lines: Vec<&'t str>,
}

impl Entry<'_> {
    /// Whether the line feeds behind it are part of a text in it.
    fn keeps_blanks(&self) -> bool {
        self.lines.iter().any(|line| {
            let line = line.trim_end();
            ["|+", ">+", "|2+", ">2+", "|+2", ">+2"].iter().any(|mark| line.ends_with(mark))
        })
    }

    fn print(&self, out: &mut String, gap: bool) {
        let mut empty = !gap;
        for line in &self.above {
            let is_empty = line.trim().is_empty();
            // Several empty lines count as one gap.
            if !(is_empty && empty) {
                out.push_str(line.trim_end());
                out.push('\n');
            }
            empty = is_empty;
        }
        let (first, rest) = self.lines.split_at(1);
        let value = first[0][self.key.len() + 1..].trim();
        out.push_str(self.key);
        out.push(':');
        if !value.is_empty() {
            out.push(' ');
            let alone = rest.is_empty();
            out.push_str(&if alone { quoted(self.key, value) } else { value.to_owned() });
        }
        out.push('\n');
        for line in rest {
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push('\n');
            }
        }
    }
}

/// The plain key at the margin that a line begins with.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_key = !key.is_empty() && key.chars().all(plain) && !key.starts_with('-');
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\t', '\n']))).then_some(key)
}

/// The scalar, quoted as its key demands; anything that is not plainly a scalar stays as it is.
fn quoted(key: &str, value: &str) -> String {
    let same = || value.to_owned();
    let Some((text, comment)) = split(value) else { return same() };
    let simple = !text.is_empty() && !text.contains(['"', '\\', '\'']);
    if !simple {
        return same();
    }
    if QUOTED.contains(&key) {
        return format!("\"{text}\"{comment}");
    }
    if PLAIN.contains(&key) && is_plain(text) {
        return format!("{text}{comment}");
    }
    match value.starts_with('\'') {
        true => format!("\"{text}\"{comment}"),
        false => same(),
    }
}

/// The text of a scalar on one line, and the comment behind it with the space before it.
fn split(value: &str) -> Option<(&str, &str)> {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            let (text, behind) = rest.split_once(quote)?;
            let is_end = behind.is_empty() || behind.trim_start().starts_with('#');
            return is_end.then_some((text, behind));
        }
    }
    // A text that begins with any other special character is not plain.
    let starts = value.starts_with(|c: char| c.is_alphanumeric());
    let end = value.find(" #").unwrap_or(value.len());
    let text = value[..end].trim_end();
    let unclear = text.contains(": ") || text.ends_with(':');
    (starts && !unclear).then_some((text, &value[text.len()..]))
}

/// Whether every YAML reader reads the text without quotes as this text.
fn is_plain(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    let taken = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(word)
        && !taken.contains(&text.to_ascii_lowercase().as_str())
}
