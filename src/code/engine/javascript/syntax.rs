//! Parses a snippet: checks that it is of its language, and finds its calls.

use std::ops::Range;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, ArrayExpressionElement, CallExpression, Expression, ObjectPropertyKind, Program,
    RegExpLiteral,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::Parser;
use oxc_span::{GetSpan, SourceType};

use super::place::place;
use crate::code::engine::{CalledTool, CheckedSnippet, EngineError, SnippetFault};
use crate::parse::with_room_for_javascript;

/// An error of syntax at a byte of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxFault {
    pub(super) message: String,
    pub(super) at: Option<usize>,
}

impl SyntaxFault {
    pub(super) fn in_text(self, code: &str) -> SnippetFault {
        let (line, column) = self.at.map_or((0, 0), |at| place(code, at));
        let name = "SyntaxError".to_owned();
        SnippetFault { name, message: self.message, line, column, ..SnippetFault::default() }
    }
}

/// Does `work` on the tree of the text.
pub(super) fn with_tree<T: Send>(
    code: &str,
    form: SourceType,
    work: impl FnOnce(&Program<'_>) -> Result<T, SyntaxFault> + Send,
) -> Result<T, SyntaxFault> {
    let parse = || {
        let allocator = Allocator::default();
        let parsed = Parser::new(&allocator, code, form).parse();
        if let Some(error) = parsed.diagnostics.errors().next() {
            let at = error.labels.first().map(oxc_span::LabeledSpan::offset);
            let message = error.message.to_string();
            return Err(SyntaxFault { message, at: at.and_then(|at| usize::try_from(at).ok()) });
        }
        work(&parsed.program)
    };
    with_room_for_javascript(code, form.is_typescript(), parse)
        .unwrap_or_else(|why| Err(SyntaxFault { message: why, at: None }))
}

/// The forms in which a text may be a snippet of JavaScript: await stands everywhere in the first,
/// and what is not strict in the second.
fn forms() -> [SourceType; 2] {
    [SourceType::mjs(), SourceType::cjs()]
}

/// The error of a text that an engine refused, by a parser that knows places better; `None` if it
/// finds none.
pub(super) fn error_in(code: &str) -> Option<SyntaxFault> {
    let mut furthest: Option<SyntaxFault> = None;
    for form in forms() {
        let fault = with_tree(code, form, |_| Ok(())).err()?;
        if furthest.as_ref().is_none_or(|before| before.at < fault.at) {
            furthest = Some(fault);
        }
    }
    furthest.filter(|fault| fault.at.is_some())
}

/// Where the regular expressions of a text stand, in its order; none of a text that is not a
/// snippet.
pub(super) fn expressions(code: &str) -> Vec<Range<usize>> {
    let read = |program: &Program<'_>| {
        let mut all = Expressions(Vec::new());
        all.visit_program(program);
        all.0.sort_by_key(|span| span.start);
        Ok(all.0)
    };
    forms().into_iter().find_map(|form| with_tree(code, form, read).ok()).unwrap_or_default()
}

struct Expressions(Vec<Range<usize>>);

impl<'a> Visit<'a> for Expressions {
    fn visit_reg_exp_literal(&mut self, it: &RegExpLiteral<'a>) {
        let byte = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        self.0.push(byte(it.span.start)..byte(it.span.end));
    }
}

/// The calls of the snippet.
///
/// # Errors
/// The first error of its syntax.
pub(super) fn check(code: &str, types: bool) -> Result<CheckedSnippet, EngineError> {
    let read = |program: &Program<'_>| {
        let mut calls = Calls { code, found: CheckedSnippet::default() };
        calls.visit_program(program);
        Ok(calls.found)
    };
    let failed = |fault: SyntaxFault| EngineError::Failed(fault.in_text(code));
    if types {
        // What can be parsed may still be more than types.
        super::erase::erase(code).map_err(failed)?;
        return with_tree(code, SourceType::ts(), read).map_err(failed);
    }
    let mut first = None;
    for form in forms() {
        match with_tree(code, form, read) {
            Ok(found) => return Ok(found),
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    let fault = error_in(code).or(first).expect("each form has an error");
    Err(failed(fault))
}

struct Calls<'c> {
    code: &'c str,
    found: CheckedSnippet,
}

impl Calls<'_> {
    fn calls(&mut self, id: String, at: u32) {
        let (line, column) = place(self.code, usize::try_from(at).unwrap_or_default());
        self.found.calls.push(CalledTool { id, line, column });
    }

    /// The steps of a chain that are written out.
    fn chain(&mut self, steps: Option<&Argument<'_>>) {
        let Some(Argument::ArrayExpression(steps)) = steps else {
            self.found.calls_others = true;
            return;
        };
        for step in &steps.elements {
            let id = match step {
                ArrayExpressionElement::ObjectExpression(step) => {
                    step.properties.iter().find_map(|property| match property {
                        ObjectPropertyKind::ObjectProperty(property)
                            if property.key.static_name().as_deref() == Some("tool_id") =>
                        {
                            text_in(&property.value)
                        }
                        _ => None,
                    })
                }
                _ => None,
            };
            match id {
                Some((id, at)) => self.calls(id, at),
                None => self.found.calls_others = true,
            }
        }
    }
}

impl<'a> Visit<'a> for Calls<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        match &call.callee {
            Expression::Identifier(name) if name.name == "runTool" => {
                match call.arguments.first().and_then(Argument::as_expression).and_then(text_in) {
                    Some((id, at)) => self.calls(id, at),
                    None => self.found.calls_others = true,
                }
            }
            Expression::Identifier(name) if name.name == "runChain" => {
                self.chain(call.arguments.first());
            }
            callee => match path_of(callee) {
                Path::Known(id) => self.calls(id, callee.span().start),
                Path::Unknown => self.found.calls_others = true,
                Path::Other => {}
            },
        }
        walk::walk_call_expression(self, call);
    }
}

/// A text that is written out, and where.
fn text_in(expression: &Expression<'_>) -> Option<(String, u32)> {
    match expression {
        Expression::StringLiteral(text) => Some((text.value.to_string(), text.span.start)),
        Expression::TemplateLiteral(text) if text.expressions.is_empty() => {
            let quasi = text.quasis.first()?;
            Some((quasi.value.cooked.as_ref()?.to_string(), text.span.start))
        }
        Expression::ParenthesizedExpression(inner) => text_in(&inner.expression),
        _ => None,
    }
}

/// The target of a call by a path such as `tools.a.b`.
enum Path {
    /// The tool of this id.
    Known(String),
    /// A tool; a part of its id is not written out.
    Unknown,
    /// The path does not begin with `tools`.
    Other,
}

fn path_of(callee: &Expression<'_>) -> Path {
    let mut parts = Vec::new();
    let mut is_known = true;
    let mut at = callee;
    loop {
        at = match at {
            Expression::Identifier(name) if name.name == "tools" && !parts.is_empty() => break,
            Expression::StaticMemberExpression(member) => {
                parts.push(member.property.name.to_string());
                &member.object
            }
            Expression::ComputedMemberExpression(member) => {
                let part = text_in(&member.expression);
                is_known &= part.is_some();
                parts.push(part.map(|(part, _)| part).unwrap_or_default());
                &member.object
            }
            _ => return Path::Other,
        };
    }
    parts.reverse();
    if is_known { Path::Known(parts.join("/")) } else { Path::Unknown }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_snippet_tells_what_it_calls_without_being_run() {
        let code = "const é = 1; await runTool('a/b', {});\n  tools.acme['my-tool'].go({x: runTool(`c`)});\nrunChain([{tool_id: 'd'}, {'tool_id': \"e/f\"}]);\n";
        let found = check(code, false).unwrap();
        let calls: Vec<_> =
            found.calls.iter().map(|it| (it.id.as_str(), it.line, it.column)).collect();
        let want =
            [("a/b", 1, 28), ("acme/my-tool/go", 2, 3), ("c", 2, 40), ("d", 3, 21), ("e/f", 3, 39)];
        assert_eq!(calls, want);
        assert!(!found.calls_others);
        for others in ["runTool(id)", "tools[x].y()", "runChain(steps)", "runChain([a])"] {
            assert!(check(others, false).unwrap().calls_others, "{others}");
        }
        assert!(check("const x: string = 'y'; runTool(x as any)", true).unwrap().calls_others);
        for wrong in ["let 1", "return 5 +"] {
            check(wrong, false).unwrap_err();
        }
        check("enum E { A }", true).unwrap_err();
    }

    #[test]
    fn what_is_valid_in_a_script_alone_or_with_await_outside_of_functions_is_a_snippet() {
        for code in
            ["await x; let y = 1", "with (a) b", "var let = 1", "for await (const a of b) c"]
        {
            check(code, false).unwrap_or_else(|error| panic!("{code}: {error}"));
        }
    }
}
