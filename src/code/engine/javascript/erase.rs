//! TypeScript as JavaScript: what is a type becomes spaces, and all else stays where it is.
//!
//! The rule is a list of what may be erased. What is more than types is refused with its place, and
//! what remains must parse as JavaScript.

use oxc_ast::AstKind;
use oxc_ast::ast::{
    ArrowFunctionExpression, Class, ClassElement, Expression, ForInStatement, ForOfStatement,
    ForStatement, FormalParameter, MethodDefinition, MethodDefinitionType, Program,
    PropertyDefinition, PropertyDefinitionType, PropertyKey, Statement, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, SourceType, Span};

use super::syntax::{SyntaxFault, with_tree};

/// The JavaScript in a text of TypeScript: it has as many bytes, and its lines end where they did.
///
/// # Errors
/// The text is not TypeScript, uses syntax that is more than types, or is no JavaScript without its
/// types.
pub(super) fn erase(code: &str) -> Result<String, SyntaxFault> {
    let types = SourceType::ts();
    let found = with_tree(code, types, |program: &Program<'_>| {
        let mut eraser = Eraser::new(code);
        eraser.visit_program(program);
        eraser.fault.map_or(Ok((eraser.erased, eraser.ends)), Err)
    })?;
    let erased = written(code, found.0, &found.1);
    // It is no deeper than before.
    let is_script = with_tree(&erased, SourceType::mjs(), |_| Ok(()));
    let why = |fault: SyntaxFault| SyntaxFault {
        message: format!("without its types this is not JavaScript: {}", fault.message),
        at: fault.at,
    };
    is_script.map_err(why)?;
    Ok(erased)
}

/// A part that is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    from: usize,
    to: usize,
    /// A semicolon takes the place of its first byte, so that the lines around it stay two
    /// statements.
    ends: bool,
}

fn written(code: &str, mut parts: Vec<Part>, ends: &[usize]) -> String {
    parts.sort_unstable();
    let mut bytes = code.as_bytes().to_vec();
    for part in &parts {
        let mut at = part.from;
        for sign in code[part.from..part.to].chars() {
            let stays = matches!(sign, '\n' | '\r' | '\u{2028}' | '\u{2029}');
            for byte in &mut bytes[at..at + sign.len_utf8()] {
                if !stays {
                    *byte = b' ';
                }
            }
            at += sign.len_utf8();
        }
    }
    for part in &parts {
        // A statement ends with a type, and only the end of its line says so.
        if (part.ends || ends.contains(&part.to))
            && let Some(byte) = bytes.get_mut(part.from).filter(|byte| **byte == b' ')
        {
            *byte = b';';
        }
    }
    String::from_utf8(bytes).expect("only whole characters became spaces")
}

struct Eraser<'c> {
    code: &'c str,
    erased: Vec<Part>,
    /// Where statements end.
    ends: Vec<usize>,
    /// Declarations of a loop's head, which end no statement.
    heads: Vec<Span>,
    fault: Option<SyntaxFault>,
}

fn index(at: u32) -> usize {
    usize::try_from(at).expect("a text in memory has an index for each byte")
}

impl<'c> Eraser<'c> {
    fn new(code: &'c str) -> Self {
        Self { code, erased: Vec::new(), ends: Vec::new(), heads: Vec::new(), fault: None }
    }

    fn refuse(&mut self, at: u32, what: &str) {
        let message = format!("{what} cannot be erased: it is more than types");
        self.refuse_with(at, message);
    }

    fn refuse_with(&mut self, at: u32, message: String) {
        let at = Some(index(at));
        if self.fault.as_ref().is_none_or(|before| before.at > at) {
            self.fault = Some(SyntaxFault { message, at });
        }
    }

    fn part(&mut self, from: u32, to: u32) {
        self.erased.push(Part { from: index(from), to: index(to), ends: false });
    }

    fn span(&mut self, span: Span) {
        self.part(span.start, span.end);
    }

    /// A whole statement or member.
    fn whole(&mut self, span: Span) {
        self.erased.push(Part { from: index(span.start), to: index(span.end), ends: true });
    }

    /// Erases this sign, the first behind `from`, comments aside.
    fn sign(&mut self, from: u32, to: u32, sign: u8) {
        if let Some(at) = self.find(from, to, |text| text.starts_with(char::from(sign))) {
            self.erased.push(Part { from: at, to: at + 1, ends: false });
        }
    }

    /// The first place between these where something stands that is no comment.
    fn find(&self, from: u32, to: u32, is_it: impl Fn(&str) -> bool) -> Option<usize> {
        let (mut at, to) = (index(from), index(to));
        while at < to {
            let rest = self.code.get(at..to)?;
            if is_it(rest) {
                return Some(at);
            }
            at += comment(rest).or_else(|| rest.chars().next().map(char::len_utf8))?;
        }
        None
    }

    /// Erases these words where they stand alone between the two places. The first one of a member
    /// leaves a semicolon, since what is behind it could go on with the line above.
    fn words(&mut self, from: u32, to: u32, words: &[&str]) {
        let (mut at, to) = (index(from), index(to));
        while let Some(rest) = self.code.get(at..to).filter(|rest| !rest.is_empty()) {
            if let Some(length) = comment(rest) {
                at += length;
                continue;
            }
            let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '$';
            let length: usize = rest.chars().take_while(|c| is_part(*c)).map(char::len_utf8).sum();
            if length == 0 {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
            if words.contains(&&rest[..length]) {
                let ends = at == index(from);
                self.erased.push(Part { from: at, to: at + length, ends });
            }
            at += length;
        }
    }

    fn is_broken(&self, from: u32, to: u32) -> bool {
        self.code[index(from)..index(to)].contains(['\n', '\r', '\u{2028}', '\u{2029}'])
    }

    /// Where an expression goes on that has a type behind it.
    fn behind(&mut self, inner: &Expression<'_>, outer: Span) {
        self.part(inner.span().end, outer.end);
    }
}

/// The length of the comment that the text begins with.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(text.len()));
    }
    text.strip_prefix("/*").map(|rest| rest.find("*/").map_or(text.len(), |end| end + 4))
}

/// Words in front of a member of a class.
const MODIFIERS: &[&str] =
    &["public", "private", "protected", "readonly", "override", "abstract", "declare"];

impl<'a> Visit<'a> for Eraser<'_> {
    /// Refuses the nodes that no other function here handles, if they belong to types alone.
    fn enter_node(&mut self, kind: AstKind<'a>) {
        let name = format!("{:?}", kind.ty());
        if name.starts_with("TS") || name.starts_with("JSX") || name.starts_with("JSDoc") {
            let known = [
                "TSAsExpression",
                "TSSatisfiesExpression",
                "TSNonNullExpression",
                "TSInstantiationExpression",
            ];
            if !known.contains(&name.as_str()) {
                self.refuse(kind.span().start, "what stands here");
            }
        }
        if matches!(
            kind,
            AstKind::ExpressionStatement(_)
                | AstKind::VariableDeclaration(_)
                | AstKind::ReturnStatement(_)
                | AstKind::ThrowStatement(_)
                | AstKind::PropertyDefinition(_)
        ) && !self.heads.contains(&kind.span())
        {
            self.ends.push(index(kind.span().end));
        }
    }

    fn visit_statement(&mut self, statement: &Statement<'a>) {
        let span = statement.span();
        match statement {
            Statement::TSTypeAliasDeclaration(_) | Statement::TSInterfaceDeclaration(_) => {
                self.whole(span);
            }
            Statement::TSEnumDeclaration(it) if it.declare => self.whole(span),
            Statement::TSEnumDeclaration(_) => self.refuse(span.start, "an `enum`"),
            Statement::TSNamespaceDeclaration(it) if it.declare => self.whole(span),
            Statement::TSNamespaceDeclaration(_) => self.refuse(span.start, "a `namespace`"),
            Statement::TSExternalModuleDeclaration(_) | Statement::TSGlobalDeclaration(_) => {
                self.whole(span);
            }
            Statement::ImportDeclaration(_) | Statement::TSImportEqualsDeclaration(_) => {
                let message = "a snippet has no modules: `import` is not possible".to_owned();
                self.refuse_with(span.start, message);
            }
            Statement::VariableDeclaration(it) if it.declare => self.whole(span),
            Statement::FunctionDeclaration(it) if it.declare || it.body.is_none() => {
                self.whole(span);
            }
            Statement::ClassDeclaration(it) if it.declare => self.whole(span),
            other if other.is_module_declaration() => {
                let message = "a snippet has no modules: `export` is not possible".to_owned();
                self.refuse_with(span.start, message);
            }
            _ => walk::walk_statement(self, statement),
        }
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        self.heads.extend(it.init.as_ref().map(GetSpan::span));
        walk::walk_for_statement(self, it);
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.heads.push(it.left.span());
        walk::walk_for_in_statement(self, it);
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        self.heads.push(it.left.span());
        walk::walk_for_of_statement(self, it);
    }

    fn visit_ts_type_annotation(&mut self, it: &oxc_ast::ast::TSTypeAnnotation<'a>) {
        self.span(it.span);
    }

    fn visit_ts_type_parameter_declaration(
        &mut self,
        it: &oxc_ast::ast::TSTypeParameterDeclaration<'a>,
    ) {
        self.span(it.span);
    }

    fn visit_ts_type_parameter_instantiation(
        &mut self,
        it: &oxc_ast::ast::TSTypeParameterInstantiation<'a>,
    ) {
        self.span(it.span);
    }

    fn visit_ts_as_expression(&mut self, it: &oxc_ast::ast::TSAsExpression<'a>) {
        self.behind(&it.expression, it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &oxc_ast::ast::TSSatisfiesExpression<'a>) {
        self.behind(&it.expression, it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &oxc_ast::ast::TSNonNullExpression<'a>) {
        self.behind(&it.expression, it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_assertion(&mut self, it: &oxc_ast::ast::TSTypeAssertion<'a>) {
        // What is left could begin a block or go on with the line above.
        let message = "`<type>` in front of a value cannot be erased: write `… as type`";
        self.refuse_with(it.span.start, message.to_owned());
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            let to = it.type_annotation.as_ref().map_or(it.span.end, |types| types.span.start);
            self.sign(it.id.span().end, to, b'!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            self.refuse(it.span.start, "a parameter that is a property");
            return;
        }
        if it.optional {
            let to = it.type_annotation.as_ref().map_or(it.span.end, |types| types.span.start);
            // The question mark may stand just behind what is the parameter's own.
            self.sign(it.pattern.span().end, to.max(it.pattern.span().end + 1), b'?');
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_ts_this_parameter(&mut self, it: &oxc_ast::ast::TSThisParameter<'a>) {
        self.span(it.span);
        let end = u32::try_from(self.code.len()).unwrap_or(u32::MAX);
        let next = self.find(it.span.end, end, |text| {
            comment(text).is_none() && !text.starts_with(char::is_whitespace)
        });
        if let Some(at) = next.filter(|at| self.code[*at..].starts_with(',')) {
            self.erased.push(Part { from: at, to: at + 1, ends: false });
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let Some(types) = &it.return_type
            && self.is_broken(it.params.span.end, types.span.end)
        {
            let message = "a type in front of `=>` must stand on one line".to_owned();
            self.refuse_with(types.span.start, message);
        }
        if let Some(types) = &it.type_parameters
            && it.r#async
            && self.is_broken(types.span.start, it.params.span.start)
        {
            let message = "type parameters behind `async` must stand on one line".to_owned();
            self.refuse_with(types.span.start, message);
        }
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_decorator(&mut self, it: &oxc_ast::ast::Decorator<'a>) {
        self.refuse(it.span.start, "a decorator");
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            let to = it.id.as_ref().map_or(it.body.span.start, |id| id.span.start);
            let from = index(it.span.start);
            self.words(it.span.start, to, &["abstract"]);
            // What is left begins with `class`, which goes on with nothing.
            for part in self.erased.iter_mut().filter(|part| part.from == from) {
                part.ends = false;
            }
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) {
            let from = [
                it.id.as_ref().map(|id| id.span.end),
                it.type_parameters.as_ref().map(|types| types.span.end),
                it.heritage.as_ref().map(|heritage| heritage.expression.span().end),
                it.heritage.as_ref().and_then(|h| h.type_arguments.as_ref()).map(|t| t.span.end),
            ];
            let from = from.into_iter().flatten().max().unwrap_or(it.span.start);
            if let Some(at) = self.find(from, first.span.start, |t| t.starts_with("implements")) {
                self.erased.push(Part { from: at, to: index(last.span.end), ends: false });
            }
        }
        self.visit_decorators(&it.decorators);
        if let Some(types) = &it.type_parameters {
            self.visit_ts_type_parameter_declaration(types);
        }
        if let Some(heritage) = &it.heritage {
            self.visit_class_heritage(heritage);
        }
        self.visit_class_body(&it.body);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        match it {
            ClassElement::TSIndexSignature(it) => self.whole(it.span),
            ClassElement::AccessorProperty(it) => self.refuse(it.span.start, "an `accessor`"),
            _ => walk::walk_class_element(self, it),
        }
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let is_abstract = it.r#type == MethodDefinitionType::TSAbstractMethodDefinition;
        if is_abstract || it.value.body.is_none() {
            self.visit_decorators(&it.decorators);
            self.whole(it.span);
            return;
        }
        self.words(it.span.start, it.key.span().start, MODIFIERS);
        if it.optional {
            self.sign(key_end(&it.key, it.computed, self.code), it.value.span.end, b'?');
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let is_abstract = it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition;
        if is_abstract || it.declare {
            self.visit_decorators(&it.decorators);
            self.whole(it.span);
            return;
        }
        self.words(it.span.start, it.key.span().start, MODIFIERS);
        let end = key_end(&it.key, it.computed, self.code);
        let to = it.type_annotation.as_ref().map(|types| types.span.start);
        let to = to.or(it.value.as_ref().map(|value| value.span().start)).unwrap_or(it.span.end);
        if it.optional {
            self.sign(end, to, b'?');
        }
        if it.definite {
            self.sign(end, to, b'!');
        }
        walk::walk_property_definition(self, it);
    }
}

/// Where the name of a member ends, with the bracket of one that is computed.
fn key_end(key: &PropertyKey<'_>, computed: bool, code: &str) -> u32 {
    let end = key.span().end;
    let more = computed.then(|| code[index(end)..].find(']')).flatten();
    more.and_then(|more| u32::try_from(more + 1).ok()).map_or(end, |more| end + more)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::erase;

    /// The output of another program for the same texts; the file says which.
    const OTHERS: &str = include_str!("../../../../tests/code/typescript/erased.json");

    #[test]
    fn types_are_erased_as_others_erase_them() {
        let others: Value = serde_json::from_str(OTHERS).unwrap();
        let cases = others["cases"].as_array().unwrap();
        assert!(cases.len() > 35, "{}", cases.len());
        for case in cases {
            let (code, want) = (case["code"].as_str().unwrap(), case["want"].as_str().unwrap());
            let erased = erase(code).unwrap_or_else(|fault| panic!("{code}\n{fault:?}"));
            assert_eq!(erased.len(), code.len(), "{code}");
            // Where a semicolon stands in place of a type is up to each of them.
            let alike = |text: &str| {
                let pairs = text.chars().zip(code.chars());
                let no_mark =
                    |(sign, was): (char, char)| if sign == ';' && was != ';' { ' ' } else { sign };
                pairs.map(no_mark).collect::<String>()
            };
            assert_eq!(alike(&erased), alike(want), "{code}");
        }
    }

    #[test]
    fn two_statements_stay_two_when_a_type_between_them_is_erased() {
        for (code, want) in [
            ("a as b\n(c)", "a;    \n(c)"),
            ("let x: T\n(c)", "let x;  \n(c)"),
            ("a\ntype B = C\n[d]", "a\n;         \n[d]"),
            ("let a = b!\n++c", "let a = b;\n++c"),
            // Not two: the template is the tag's.
            ("a!\n`b`", "a \n`b`"),
            (
                "class A {\n x = 1\n private ['y'] = 2\n}",
                "class A {\n x = 1\n ;       ['y'] = 2\n}",
            ),
            ("class A {\n x: T\n ['y']() {}\n}", "class A {\n x;  \n ['y']() {}\n}"),
            ("for (let a: T of b) {}", "for (let a    of b) {}"),
            ("for (let a: T in b) {}", "for (let a    in b) {}"),
            ("if (a) b as c\nelse d", "if (a) b;    \nelse d"),
        ] {
            assert_eq!(erase(code).as_deref(), Ok(want), "{code}");
        }
    }

    #[test]
    fn what_is_more_than_types_is_refused_at_its_place_table() {
        for (code, at, word) in [
            ("let a = 1;\nenum E { A }", 11, "enum"),
            ("const enum E { A }", 0, "enum"),
            ("  namespace N { export const a = 1 }", 2, "namespace"),
            ("module M {}", 0, "namespace"),
            ("class A { constructor(private a: string) {} }", 22, "property"),
            ("class A { constructor(readonly a: string) {} }", 22, "property"),
            ("@d class A {}", 0, "decorator"),
            ("class A { @d m() {} }", 10, "decorator"),
            ("class A { accessor a = 1 }", 10, "accessor"),
            ("import a from 'b'", 0, "import"),
            ("import type { A } from 'b'", 0, "import"),
            ("import a = require('b')", 0, "import"),
            ("export const a = 1", 0, "export"),
            ("export default 1", 0, "export"),
            ("export = a", 0, "export"),
            ("const a = <b>c", 10, "as type"),
            ("const f = (a: b)\n  : c => d", 0, ""),
        ] {
            let fault = erase(code).expect_err(code);
            assert!(fault.message.contains(word), "{code}: {fault:?}");
            if !word.is_empty() {
                assert_eq!(fault.at, Some(at), "{code}: {fault:?}");
            }
        }
    }

    #[test]
    fn each_line_ends_where_it_did() {
        let code = "type A =\r\n  | 'é😀'\r\n  | B\nlet x = 'ü'; // :T\n";
        let erased = erase(code).unwrap();
        let ends =
            |text: &str| text.match_indices(['\r', '\n']).map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(ends(&erased), ends(code));
        assert!(erased.ends_with("let x = 'ü'; // :T\n"), "{erased}");
    }
}
