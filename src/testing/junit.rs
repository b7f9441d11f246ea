//! The XML of `JUnit`, as CI systems read it.

use std::fmt::Write as _;
use std::time::Duration;

use super::error::TEST_FAILED;
use super::find::Suite;
use super::judge::Mismatch;
use super::run::CaseResult;
use crate::base::text::escape;

/// The report of all suites, each with its verdicts in the order of its cases. A spec that could
/// not be used is an error of its suite.
pub(crate) fn junit(suites: &[(&Suite, Vec<CaseResult>)]) -> String {
    let broken = |suite: &Suite| usize::from(suite.cases.is_err());
    let failed = |all: &[CaseResult]| all.iter().filter(|one| failure(one).is_some()).count();
    let erred = |all: &[CaseResult]| {
        all.iter().filter(|one| !one.findings.is_empty() && failure(one).is_none()).count()
    };
    let time = |all: &[CaseResult]| all.iter().map(|one| one.elapsed).sum::<Duration>();
    let tests: usize = suites.iter().map(|(suite, all)| all.len() + broken(suite)).sum();
    let failures: usize = suites.iter().map(|(_, all)| failed(all)).sum();
    let errors: usize = suites.iter().map(|(suite, all)| broken(suite) + erred(all)).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"rye test\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\" time=\"{}\">",
        seconds(suites.iter().map(|(_, all)| time(all)).sum()),
    );
    for (suite, all) in suites {
        let name = escaped(&suite.item.to_string());
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" file=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">",
            escaped(&suite.place.path),
            all.len() + broken(suite),
            failed(all),
            broken(suite) + erred(all),
            seconds(time(all)),
        );
        match &suite.cases {
            Ok(cases) => {
                for (case, verdict) in cases.iter().zip(all) {
                    one(&mut out, &name, &case.name, verdict);
                }
            }
            Err(diagnostic) => {
                let (code, text) = (escaped(diagnostic.code.name()), escaped(&diagnostic.message));
                let _ = writeln!(
                    out,
                    "    <testcase name=\"spec\" classname=\"{name}\" time=\"0.000\">\n      \
                     <error type=\"{code}\" message=\"{text}\"/>\n    </testcase>"
                );
            }
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

/// The first expectation that was not met; what could not be judged is none.
fn failure(verdict: &CaseResult) -> Option<&Mismatch> {
    verdict.findings.iter().find(|finding| finding.error.is_none())
}

fn one(out: &mut String, class: &str, name: &str, verdict: &CaseResult) {
    let (name, time) = (escaped(name), seconds(verdict.elapsed));
    let _ = write!(out, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{time}\"");
    let Some(first) = failure(verdict).or(verdict.findings.first()) else {
        out.push_str("/>\n");
        return;
    };
    let (element, kind) =
        first.error.map_or(("failure", TEST_FAILED.name()), |code| ("error", code));
    let message = format!("{} {}", first.what, first.why.lines().next().unwrap_or_default());
    let told: Vec<String> = verdict.findings.iter().map(Mismatch::text).collect();
    let _ = writeln!(
        out,
        ">\n      <{element} type=\"{kind}\" message=\"{}\">{}</{element}>\n    </testcase>",
        escaped(&message),
        escaped(&told.join("\n"))
    );
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Text for an element or an attribute. What XML 1.0 cannot hold, and what could hide, is shown as
/// its number.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{FFFE}' | '\u{FFFF}' => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn any_text_is_well_formed_and_nothing_is_lost_in_silence() {
        let all: String = (0..0x3000).chain(0xFFF0..0x1_0010).filter_map(char::from_u32).collect();
        let xml = format!("<a b=\"{0}\">{0}</a>", escaped(&all));
        let document = roxmltree::Document::parse(&xml).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("b"), root.text());
        assert_eq!(escaped("a\u{1b}<\n\u{ffff}\u{202e}"), "a\\u{1b}&lt;&#10;\\u{ffff}\\u{202e}");
    }
}
