//! JavaScript and TypeScript headers: `const` declarations read from the syntax tree, or the tags
//! of the first documentation comment.

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrowFunctionBody, AssignmentTargetPropertyIdentifier, BindingIdentifier, BindingPattern,
    CatchParameter, ClassBody, Declaration, ExportAllDeclaration, ExportSpecifier, Expression,
    FormalParameters, FunctionBody, IdentifierReference, ModuleExportName, Program,
    SimpleAssignmentTarget, Statement, VariableDeclaration, VariableDeclarationKind,
};
use oxc_ast_visit::{VisitJs, walk_js};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType};
use serde_json::{Map, Value};

use super::javascript_depth::extent;
use super::javascript_literal::{literal, place};
use super::names::{self, Binding, broken, fits};
use super::nesting::on_a_stack_for;
use crate::base::text::position;
use crate::parse::error::{PARSE_DUPLICATE_METADATA, PARSE_SYNTAX, ParseFault};

/// The tags of a documentation comment that are metadata; others are left to other readers.
const TAGS: &[&str] = &["version", "tool_type", "executor_id", "category", "description"];

/// The header of a JavaScript or, with `types`, a TypeScript file.
///
/// # Errors
/// `parse.syntax` for a text that is not of the language, `parse.limit` for one that is too large
/// or nests too deep, the errors of [`names::header`]; `parse.duplicate_metadata` also for a tag
/// that occurs twice and for a name given both by a tag and by a declaration.
pub(super) fn header(text: &str, types: bool) -> Result<Map<String, Value>, ParseFault> {
    let mut map = declared(text, types)?;
    for (tag, words, at) in tags(text) {
        if map.contains_key(tag) {
            let why = format!("`@{tag}` names what is named before or elsewhere");
            let position = position(text.as_bytes(), at);
            return Err(ParseFault::new(PARSE_DUPLICATE_METADATA, why).at(position));
        }
        map.insert(tag.into(), Value::String(words));
    }
    Ok(map)
}

/// What the declarations say.
fn declared(text: &str, types: bool) -> Result<Map<String, Value>, ParseFault> {
    fits(text)?;
    // A file does not say whether it is a module or a script, and valid code in one may be invalid
    // in the other.
    let forms = match types {
        false => [SourceType::unambiguous(), SourceType::mjs(), SourceType::cjs()],
        true => [
            SourceType::ts(),
            SourceType::ts().with_unambiguous(true),
            SourceType::ts().with_commonjs(true),
        ],
    };
    on_a_stack_for(extent(text, types), || {
        let mut first = None;
        for form in forms {
            match read(text, form) {
                Err(fault) if fault.code == PARSE_SYNTAX => first = first.or(Some(fault)),
                known => return known,
            }
        }
        first.map_or_else(|| Ok(Map::new()), Err)
    })
}

/// What the declarations of a text of this form say.
fn read(text: &str, form: SourceType) -> Result<Map<String, Value>, ParseFault> {
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, text, form).with_options(options).parse();
    if let Some(error) = parsed.diagnostics.errors().next() {
        let at = error.labels.first().map_or(0, |label| place(label.offset()));
        return Err(broken(text, at, &error.message));
    }
    let bindings = Bindings::collect(&parsed.program);
    names::header(text, bindings, |_, value| literal(text, value))
}

/// Collects every binding of a metadata name. Bodies of functions and classes have names of their
/// own.
#[derive(Default)]
struct Bindings<'p, 'a> {
    found: Vec<Binding<&'p Expression<'a>>>,
    /// Among parameters, whose names are the function's.
    parameters: bool,
}

impl<'p, 'a> Bindings<'p, 'a> {
    fn collect(program: &'p Program<'a>) -> Vec<Binding<&'p Expression<'a>>> {
        let mut all = Self::default();
        for statement in &program.body {
            match statement {
                Statement::VariableDeclaration(declared) => all.top_level(declared),
                Statement::ExportDeclaration(exported) => match &exported.declaration {
                    Declaration::VariableDeclaration(declared) => all.top_level(declared),
                    _ => all.visit_statement(statement),
                },
                _ => all.visit_statement(statement),
            }
        }
        all.found
    }

    fn top_level(&mut self, declared: &'p VariableDeclaration<'a>) {
        let is_plain = declared.kind == VariableDeclarationKind::Const && !declared.declare;
        for declarator in &declared.declarations {
            match (&declarator.id, &declarator.init) {
                (BindingPattern::BindingIdentifier(name), Some(value)) if is_plain => {
                    let binding = Binding::new(&name.name, place(name.span.start), Some(value));
                    self.found.extend(binding);
                    self.visit_expression(value);
                }
                _ => self.visit_variable_declarator(declarator),
            }
        }
    }

    /// Notes a binding in any other way than by a plain declaration.
    fn bind(&mut self, name: &str, at: u32) {
        self.found.extend(Binding::new(name, place(at), None));
    }

    fn assign(&mut self, name: &IdentifierReference<'a>) {
        self.bind(&name.name, name.span.start);
    }

    /// A name that is exported under this one.
    fn export(&mut self, name: &ModuleExportName<'a>) {
        match name {
            ModuleExportName::IdentifierName(name) => self.bind(&name.name, name.span.start),
            ModuleExportName::IdentifierReference(name) => self.assign(name),
            ModuleExportName::StringLiteral(_) => {}
        }
    }

    fn among_parameters(&mut self, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.parameters, true);
        walk(self);
        self.parameters = outer;
    }
}

impl<'a> VisitJs<'a> for Bindings<'_, 'a> {
    fn visit_binding_identifier(&mut self, name: &BindingIdentifier<'a>) {
        if !self.parameters {
            self.bind(&name.name, name.span.start);
        }
    }

    fn visit_simple_assignment_target(&mut self, target: &SimpleAssignmentTarget<'a>) {
        let mut inner = match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(name) => return self.assign(name),
            SimpleAssignmentTarget::TSAsExpression(inner) => &inner.expression,
            SimpleAssignmentTarget::TSSatisfiesExpression(inner) => &inner.expression,
            SimpleAssignmentTarget::TSNonNullExpression(inner) => &inner.expression,
            SimpleAssignmentTarget::TSTypeAssertion(inner) => &inner.expression,
            _ => return walk_js::walk_simple_assignment_target(self, target),
        };
        loop {
            inner = match inner {
                Expression::Identifier(name) => return self.assign(name),
                Expression::ParenthesizedExpression(inner) => &inner.expression,
                Expression::TSAsExpression(inner) => &inner.expression,
                Expression::TSSatisfiesExpression(inner) => &inner.expression,
                Expression::TSNonNullExpression(inner) => &inner.expression,
                Expression::TSTypeAssertion(inner) => &inner.expression,
                other => return self.visit_expression(other),
            };
        }
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        target: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        self.assign(&target.binding);
        walk_js::walk_assignment_target_property_identifier(self, target);
    }

    fn visit_expression(&mut self, expression: &Expression<'a>) {
        match expression {
            // The names of these two are their own.
            Expression::FunctionExpression(function) => {
                self.visit_formal_parameters(&function.params);
            }
            Expression::ClassExpression(class) => {
                self.visit_decorators(&class.decorators);
                class.heritage.iter().for_each(|heritage| self.visit_class_heritage(heritage));
            }
            _ => walk_js::walk_expression(self, expression),
        }
    }

    fn visit_formal_parameters(&mut self, parameters: &FormalParameters<'a>) {
        self.among_parameters(|inside| walk_js::walk_formal_parameters(inside, parameters));
    }

    fn visit_catch_parameter(&mut self, parameter: &CatchParameter<'a>) {
        self.among_parameters(|inside| walk_js::walk_catch_parameter(inside, parameter));
    }

    fn visit_function_body(&mut self, _: &FunctionBody<'a>) {}

    fn visit_arrow_function_body(&mut self, _: &ArrowFunctionBody<'a>) {}

    fn visit_class_body(&mut self, _: &ClassBody<'a>) {}

    fn visit_export_specifier(&mut self, specifier: &ExportSpecifier<'a>) {
        if specifier.local.span() != specifier.exported.span() {
            self.export(&specifier.exported);
        }
    }

    fn visit_export_all_declaration(&mut self, all: &ExportAllDeclaration<'a>) {
        all.exported.iter().for_each(|name| self.export(name));
    }
}

/// The metadata tags of the first documentation comment, if it stands before any code, each with
/// its words and its place. Words run to the next tag; line ends and stars become one space.
fn tags(text: &str) -> Vec<(&'static str, String, usize)> {
    let Some((start, comment)) = first_comment(text) else { return Vec::new() };
    let mut found: Vec<(Option<&'static str>, String, usize)> = Vec::new();
    let mut at = start;
    for line in comment.split_inclusive('\n') {
        let bare = line.trim_start_matches([' ', '\t', '*']);
        let words = bare.trim_end();
        if let Some(tag) = bare.strip_prefix('@') {
            let (name, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
            let known = TAGS.iter().find(|known| **known == name).copied();
            found.push((known, rest.trim().to_owned(), at + line.len() - bare.len()));
        } else if let Some((_, before, _)) = found.last_mut()
            && !words.is_empty()
        {
            before.push(' ');
            before.push_str(words);
        }
        at += line.len();
    }
    let known = found.into_iter().filter_map(|(tag, words, at)| Some((tag?, words, at)));
    known.map(|(tag, words, at)| (tag, words.trim().to_owned(), at)).collect()
}

/// What stands inside the first `/** … */`, and where, if only white space and other comments
/// stand before it.
fn first_comment(text: &str) -> Option<(usize, &str)> {
    let mut at = if text.starts_with("#!") { text.find('\n')? } else { 0 };
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n')?;
        } else if let Some(body) = rest.strip_prefix("/**").filter(|body| !body.starts_with('/')) {
            return Some((at + 3, &body[..body.find("*/")?]));
        } else if let Some(body) = rest.strip_prefix("/*") {
            at += 2 + body.find("*/")? + 2;
        } else {
            return None;
        }
    }
}

#[cfg(test)]
#[path = "javascript_tests.rs"]
mod tests;
