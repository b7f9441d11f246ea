//! A diagnostic as text.

use std::fmt::Write as _;

use super::Diagnostic;
use crate::base::text::{escape, escape_line};

/// The meaning of a stretch of text, by which a terminal may colour it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Error,
    Warning,
    Good,
    Dim,
    Strong,
}

/// True if colours are used. Colour is never the only carrier of meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    pub(crate) fn style(self, style: Style, text: &str) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let ansi = match style {
            Style::Error => anstyle::AnsiColor::Red.on_default().bold(),
            Style::Warning => anstyle::AnsiColor::Yellow.on_default().bold(),
            Style::Good => anstyle::AnsiColor::Green.on_default(),
            Style::Dim => anstyle::Style::new().dimmed(),
            Style::Strong => anstyle::Style::new().bold(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
}

impl Diagnostic {
    /// `error[code]: sentence`, then the place, then the help, each on its line.
    pub(crate) fn to_text(&self, paint: Paint) -> String {
        let label = paint.style(Style::Error, &format!("error[{}]", self.code));
        let mut out = format!("{label}: {}\n", indented(&self.message));
        if let Some(place) = &self.place {
            let arrow = paint.style(Style::Dim, "-->");
            let _ = write!(out, "  {arrow} ");
            if let Some(space) = &place.space {
                let _ = write!(out, "{space}  ");
            }
            let _ = write!(out, "{}", escape_line(&place.path));
            for number in [place.line, place.column].into_iter().flatten() {
                let _ = write!(out, ":{number}");
            }
            if let Some(note) = &place.note {
                let _ = write!(out, "   {}", escape_line(note));
            }
            out.push('\n');
        }
        if let Some(help) = &self.help {
            let _ = writeln!(out, "  {}: {}", paint.style(Style::Strong, "help"), indented(help));
        }
        out
    }
}

/// Further lines of a message stand below its first.
fn indented(text: &str) -> String {
    escape(text).replace('\n', "\n    ")
}
