//! Python headers: module-level names bound to literals, read from the syntax tree.

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::{Visitor, walk_except_handler, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{
    Comprehension, ExceptHandler, Expr, ExprContext, Identifier, ModModule, Pattern, Stmt,
};
use ruff_python_parser::lexer::lex;
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::Ranged;
use serde_json::{Map, Value};

use super::names::{self, Binding, broken, fault, fits};
use super::nesting::{Extent, Nesting, on_a_stack_for};
use super::python_literal::literal;
use crate::base::text::Position;
use crate::parse::error::{PARSE_ENCODING, PARSE_METADATA, ParseFault};

/// The header of a Python file.
///
/// # Errors
/// `parse.encoding` for a coding line other than UTF-8, `parse.syntax` for a text that is not
/// Python, `parse.limit` for one that is too large or nests too deep; else those of
/// [`names::header`].
pub(super) fn header(text: &str) -> Result<Map<String, Value>, ParseFault> {
    coding(text)?;
    tree(text, |module| {
        let bindings = Bindings::collect(module);
        names::header(text, bindings, |key, value| match value {
            // What an item is and what runs it stands in one piece, so that a search finds it.
            Expr::StringLiteral(it)
                if key != "description" && it.value.is_implicit_concatenated() =>
            {
                let why = "must be one string here: only texts for people may be in pieces";
                Err(fault(text, it.range.start().to_usize(), PARSE_METADATA, why))
            }
            value => literal(text, value),
        })
    })
}

/// Parses the whole text and gives its syntax tree to `read`.
fn tree<T: Send>(
    text: &str,
    read: impl FnOnce(&ModModule) -> Result<T, ParseFault> + Send,
) -> Result<T, ParseFault> {
    fits(text)?;
    on_a_stack_for(extent(text), || {
        let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
        if let Some(error) = parsed.errors().first() {
            return Err(broken(text, error.location.start().to_usize(), &error.error.to_string()));
        }
        match parsed.try_into_module() {
            Some(module) => read(Parsed::syntax(&module)),
            None => Err(broken(text, 0, "it is not a module")),
        }
    })
}

/// How deep the text nests at most, and how long it is, by the parser's own tokens.
fn extent(text: &str) -> Extent {
    use TokenKind as T;
    let mut lexer = lex(text, Mode::Module);
    let (mut nesting, mut tokens) = (Nesting::new(), 0);
    loop {
        let token = lexer.next_token();
        tokens += usize::from(!matches!(token, T::Comment | T::NonLogicalNewline));
        match token {
            T::EndOfFile => return Extent { depth: nesting.deepest(), tokens },
            T::Lpar | T::Lsqb | T::Lbrace | T::Indent => nesting.open(token),
            T::Rpar | T::Rsqb | T::Rbrace | T::Dedent => {
                let fits = matches!(
                    (nesting.innermost(), token),
                    (Some(T::Lpar), T::Rpar)
                        | (Some(T::Lsqb), T::Rsqb)
                        | (Some(T::Lbrace), T::Rbrace)
                        | (Some(T::Indent), T::Dedent)
                );
                // Tokens after the first error do not count.
                if !fits {
                    nesting.doubt();
                }
                nesting.close();
            }
            T::Unknown => nesting.doubt(),
            T::Comma => nesting.end_expression(),
            T::Semi | T::Newline => nesting.end_statement(),
            T::Name | T::Int | T::Float | T::Complex | T::String | T::Ellipsis => {}
            T::Comment | T::NonLogicalNewline | T::FStringMiddle | T::TStringMiddle => {}
            T::FStringEnd | T::TStringEnd | T::True | T::False | T::None => {}
            _ => nesting.link(),
        }
    }
}

/// Refuses a coding line that is not UTF-8: Python would run other text than was read here.
///
/// Python looks at two lines; the signature line may have pushed the second one down.
fn coding(text: &str) -> Result<(), ParseFault> {
    for (at, line) in text.lines().take(3).enumerate() {
        let Some(remark) = line.trim_start_matches([' ', '\t', '\u{c}']).strip_prefix('#') else {
            continue;
        };
        let Some(name) = remark.match_indices("coding").find_map(|(at, word)| {
            let rest = remark[at + word.len()..].strip_prefix([':', '='])?;
            let rest = rest.trim_start_matches([' ', '\t']);
            let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            let name = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
            (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
        }) else {
            continue;
        };
        if name != "utf-8" && name != "utf8" {
            let why = format!("its coding line says `{name}`; only UTF-8 is read");
            return Err(
                ParseFault::new(PARSE_ENCODING, why).at(Position { line: at + 1, column: 1 })
            );
        }
    }
    Ok(())
}

/// The name and the value of a statement that is one plain assignment. A bare annotation (`name:
/// str`) has no value, so it is not an assignment.
fn plain(stmt: &Stmt) -> Option<(&ruff_python_ast::ExprName, &Expr)> {
    let (target, value) = match stmt {
        Stmt::Assign(assign) => match assign.targets.as_slice() {
            // A bracket around the name begins the statement.
            [target] if target.start() == assign.range.start() => (target, &assign.value),
            _ => return None,
        },
        Stmt::AnnAssign(assign) if assign.simple => (&*assign.target, assign.value.as_ref()?),
        _ => return None,
    };
    Some((target.as_name_expr()?, value))
}

/// Collects every binding of a metadata name.
#[derive(Default)]
struct Bindings<'t> {
    found: Vec<Binding<&'t Expr>>,
    /// Inside the body of a function or class, which has names of its own.
    local: bool,
    /// In a target of a comprehension, whose names are the comprehension's.
    comprehended: bool,
}

impl<'t> Bindings<'t> {
    fn collect(module: &'t ModModule) -> Vec<Binding<&'t Expr>> {
        let mut all = Self::default();
        for stmt in &module.body {
            match plain(stmt) {
                Some((name, value)) => {
                    let at = name.range.start().to_usize();
                    all.found.extend(Binding::new(name.id.as_str(), at, Some(value)));
                    all.visit_expr(value);
                    if let Stmt::AnnAssign(assign) = stmt {
                        all.visit_annotation(&assign.annotation);
                    }
                }
                None => all.visit_stmt(stmt),
            }
        }
        all.found
    }

    /// Notes a binding in any other way than by a plain assignment, in its scope.
    fn bind(&mut self, name: &str, at: usize) {
        if !self.local {
            self.found.extend(Binding::new(name, at, None));
        }
    }

    fn bind_all<'i>(&mut self, names: impl IntoIterator<Item = &'i Identifier>) {
        for name in names {
            self.bind(name.as_str(), name.range.start().to_usize());
        }
    }

    fn in_scope(&mut self, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.local, true);
        walk(self);
        self.local = outer;
    }
}

impl<'t> Visitor<'t> for Bindings<'t> {
    fn visit_stmt(&mut self, stmt: &'t Stmt) {
        match stmt {
            Stmt::FunctionDef(def) => {
                self.bind_all([&def.name]);
                def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                def.type_params.iter().for_each(|params| self.visit_type_params(params));
                self.visit_parameters(&def.parameters);
                def.returns.iter().for_each(|returns| self.visit_annotation(returns));
                self.in_scope(|inside| inside.visit_body(&def.body));
            }
            Stmt::ClassDef(def) => {
                self.bind_all([&def.name]);
                def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                def.type_params.iter().for_each(|params| self.visit_type_params(params));
                def.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                self.in_scope(|inside| inside.visit_body(&def.body));
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let whole = alias.asname.as_ref().unwrap_or(&alias.name);
                    let first = whole.as_str().split('.').next().unwrap_or_default();
                    self.bind(first, whole.range.start().to_usize());
                }
            }
            Stmt::ImportFrom(import) => {
                let names = import.names.iter();
                self.bind_all(names.map(|alias| alias.asname.as_ref().unwrap_or(&alias.name)));
            }
            // A `global` statement counts for the whole program.
            Stmt::Global(global) => {
                let names = global.names.iter();
                self.found.extend(names.filter_map(|name| {
                    Binding::new(name.as_str(), name.range.start().to_usize(), None)
                }));
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'t Expr) {
        if self.local {
            return;
        }
        match expr {
            Expr::Name(name) if name.ctx != ExprContext::Load => {
                if !self.comprehended {
                    self.bind(name.id.as_str(), name.range.start().to_usize());
                }
            }
            Expr::Named(named) => {
                let outer = std::mem::replace(&mut self.comprehended, false);
                walk_expr(self, expr);
                self.comprehended = outer;
                debug_assert!(named.target.is_name_expr(), "nothing else is bound in this way");
            }
            Expr::Lambda(lambda) => {
                lambda.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                self.in_scope(|inside| inside.visit_expr(&lambda.body));
            }
            _ => walk_expr(self, expr),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'t Comprehension) {
        self.visit_expr(&comprehension.iter);
        comprehension.ifs.iter().for_each(|condition| self.visit_expr(condition));
        let outer = std::mem::replace(&mut self.comprehended, true);
        self.visit_expr(&comprehension.target);
        self.comprehended = outer;
    }

    fn visit_except_handler(&mut self, handler: &'t ExceptHandler) {
        let ExceptHandler::ExceptHandler(inside) = handler;
        self.bind_all(&inside.name);
        walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'t Pattern) {
        match pattern {
            Pattern::MatchAs(capture) => self.bind_all(&capture.name),
            Pattern::MatchStar(capture) => self.bind_all(&capture.name),
            Pattern::MatchMapping(mapping) => self.bind_all(&mapping.rest),
            _ => {}
        }
        walk_pattern(self, pattern);
    }
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
