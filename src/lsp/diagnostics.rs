//! A draft as the diagnostics of an editor.

use std::ops::Range;

use gen_lsp_types as lsp;
use serde_json::json;

use super::place::{Units, byte_of, line_range};
use crate::base::text::escape;
use crate::diagnostic::{Code, Diagnostic};
use crate::parse::Severity;
use crate::rye::{JudgedDraft, Remark, Spot};
use crate::space::SPACE_TOO_LARGE;
use crate::verify::{VERIFY_ALTERED, VERIFY_LEGACY, VERIFY_MOVED, VERIFY_UNSIGNED};

/// The refusals that your own signature would end.
const BY_SIGNING: [Code; 4] = [VERIFY_UNSIGNED, VERIFY_ALTERED, VERIFY_MOVED, VERIFY_LEGACY];

/// All diagnostics of a text, the verdict first.
pub(super) fn diagnostics(draft: &JudgedDraft, text: &str, units: Units) -> Vec<lsp::Diagnostic> {
    let verdict = draft.verdict.as_ref().err().map(|diagnostic| {
        let place = diagnostic.place.as_ref().map_or(Spot::Whole, Spot::from_place);
        let range = units.range(text, bytes_of(&place, text));
        // While a person types, the text always differs from the signed one; that is worth a remark
        // only once it is saved.
        let severity = match is_unsaved(draft) {
            true => lsp::DiagnosticSeverity::Hint,
            false => lsp::DiagnosticSeverity::Error,
        };
        let mut made = made(range, severity, &diagnostic.message, diagnostic.help.as_deref());
        made.code = Some(lsp::Code::String(diagnostic.code.name().to_owned()));
        made
    });
    let remarks = draft.remarks.iter().map(|remark| {
        let range = units.range(text, bytes_of(&remark.spot, text));
        let severity = match remark.severity {
            Severity::Error => lsp::DiagnosticSeverity::Error,
            Severity::Warning => lsp::DiagnosticSeverity::Warning,
        };
        let mut made = made(range, severity, &remark.message, remark.help.as_deref());
        made.code = remark.code.map(|code| lsp::Code::String(code.name().to_owned()));
        made.data = (!remark.meant.is_empty()).then(|| json!({"meant": remark.meant}));
        made
    });
    verdict.into_iter().chain(remarks).collect()
}

/// Returns true if the verdict is about a change that is not saved.
pub(super) fn is_unsaved(draft: &JudgedDraft) -> bool {
    !draft.saved && refusal(draft).is_some()
}

/// The refusal that your own signature would end, if there is one.
pub(super) fn refusal(draft: &JudgedDraft) -> Option<&Diagnostic> {
    draft.verdict.as_ref().err().filter(|refused| BY_SIGNING.contains(&refused.code))
}

/// The diagnostic of a text that is too large to be judged.
pub(super) fn too_large() -> lsp::Diagnostic {
    let message = "the text is larger than an item may be, so it is not looked at";
    let severity = lsp::DiagnosticSeverity::Error;
    let mut made = made(lsp::Range::default(), severity, message, None);
    made.code = Some(lsp::Code::String(SPACE_TOO_LARGE.name().to_owned()));
    made
}

/// The diagnostic of a project whose spaces cannot be found.
pub(super) fn nowhere(diagnostic: &Diagnostic) -> lsp::Diagnostic {
    let severity = lsp::DiagnosticSeverity::Error;
    let (range, help) = (lsp::Range::default(), diagnostic.help.as_deref());
    let mut made = made(range, severity, &diagnostic.message, help);
    made.code = Some(lsp::Code::String(diagnostic.code.name().to_owned()));
    made
}

fn made(
    range: lsp::Range,
    severity: lsp::DiagnosticSeverity,
    message: &str,
    help: Option<&str>,
) -> lsp::Diagnostic {
    let help = help.map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    lsp::Diagnostic {
        range,
        severity: Some(severity),
        code: None,
        code_description: None,
        source: Some("rye".to_owned()),
        // The message may hold foreign text, and not every editor shows invisible characters.
        message: escape(&format!("{message}{help}")).into_owned().into(),
        tags: None,
        related_information: None,
        data: None,
    }
}

/// The bytes that a remark is about: at least one letter, unless the text is empty.
pub(super) fn bytes_of(spot: &Spot, text: &str) -> Range<usize> {
    match spot {
        Spot::Whole => line_range(text, first_line(text)),
        Spot::Line(line) => line_range(text, *line),
        Spot::Position(position) => {
            let start = byte_of(text, *position);
            start..start + extent(&text[start..])
        }
        Spot::Word(position, word) => {
            let from = position.map_or(0, |position| byte_of(text, position));
            match find_word(&text[from..], word) {
                Some(at) => from + at..from + at + word.len(),
                None => bytes_of(&position.map_or(Spot::Whole, Spot::Position), text),
            }
        }
    }
}

/// Remarks about the item do not stand on its `#!` line.
fn first_line(text: &str) -> usize {
    if text.starts_with("#!") { 2 } else { 1 }
}

/// The first place where the word stands alone, else the first place where it stands.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    let alone =
        |at: &usize| !text[..*at].ends_with(part) && !text[at + word.len()..].starts_with(part);
    let mut places = text.match_indices(word).map(|(at, _)| at);
    places.find(alone).or_else(|| text.find(word)).filter(|_| !word.is_empty())
}

/// The length of the first piece of a text: a word, a placeholder, else the rest of the line.
fn extent(text: &str) -> usize {
    let line = text.find('\n').map_or(text, |feed| &text[..feed]).trim_end();
    let word = line.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/')));
    match (line.starts_with('{'), word) {
        (true, _) => line.find('}').map_or(line.len(), |brace| brace + 1),
        (false, Some(0)) => line.len(),
        (false, Some(end)) => end,
        (false, None) => line.len(),
    }
}

/// The remarks whose range holds or touches a place.
pub(super) fn at<'d>(draft: &'d JudgedDraft, text: &str, byte: usize) -> Vec<&'d Remark> {
    let touches = |remark: &&Remark| {
        let range = bytes_of(&remark.spot, text);
        range.start <= byte && byte <= range.end
    };
    draft.remarks.iter().filter(touches).collect()
}

#[cfg(test)]
mod tests {
    use super::{Spot, bytes_of};
    use crate::base::text::Position;

    #[test]
    fn the_range_of_a_remark() {
        let text = "#!/bin/sh\n# executor_id = \"a/run\"\n{input:who} a/run.py `é x\n\n";
        let at = |line, column| Position { line, column };
        let rows = [
            (Spot::Whole, "# executor_id = \"a/run\""),
            (Spot::Line(1), "#!/bin/sh"),
            (Spot::Position(at(3, 1)), "{input:who}"),
            (Spot::Position(at(3, 13)), "a/run.py"),
            (Spot::Position(at(3, 22)), "`é x"),
            (Spot::Position(at(3, 23)), "é"),
            (Spot::Position(at(9, 9)), ""),
            (Spot::Word(None, "a/run".into()), "a/run"),
            (Spot::Word(Some(at(3, 1)), "who".into()), "who"),
            (Spot::Word(Some(at(3, 1)), "nobody".into()), "{input:who}"),
            (Spot::Word(None, String::new()), "# executor_id = \"a/run\""),
        ];
        for (spot, want) in rows {
            assert_eq!(&text[bytes_of(&spot, text)], want, "{spot:?}");
        }
        assert_eq!(bytes_of(&Spot::Word(None, "a/run".into()), text), 27..32);
        for spot in [Spot::Whole, Spot::Line(3), Spot::Position(at(1, 1))] {
            assert_eq!(bytes_of(&spot, ""), 0..0, "{spot:?}");
        }
    }
}
