//! Directive files in, directives or codes out.

use super::{Action, Directive, DirectiveOutput, Input, Position};
use crate::parse::directive::InputType;
use crate::parse::error::ParseFault;
use serde_json::{Map, Value, json};

fn with(inside: &str) -> String {
    format!(
        "# T\n\n```xml\n<directive name=\"x\" version=\"1.0.0\">\n{inside}\n</directive>\n```\n\nDo it.\n"
    )
}

fn meta(inside: &str) -> Result<Directive, ParseFault> {
    Directive::parse(&with(&format!("<metadata>{inside}</metadata>")))
}

fn code(text: &str) -> &'static str {
    Directive::parse(text).map_or_else(|fault| fault.code.name(), |_| "ok")
}

#[test]
fn a_whole_directive() {
    let text = r#"<!-- rye:signed:v2 item=directive:acme/deploy -->
# Deploy `it`

Some words.

```xml
<?xml version="1.0"?>
<directive name="deploy" version="1.2.0" extends="acme/base">
  <metadata>
    <description>Deploys
      a &lt;service&gt;</description>
    <category>acme</category>
    <author>someone</author>
    <model tier="fast" id="m-1" provider="p"><fallback>m-0</fallback></model>
    <limits turns="8" spend="0.50" spend_currency="EUR"><tokens>4000</tokens></limits>
    <permissions>
      <execute><tool>rye.file-system.*</tool><directive>acme/a.b</directive></execute>
      <fetch>*</fetch>
      <acknowledge risk="elevated">it  must</acknowledge>
    </permissions>
    <context><system>acme/rules</system><before>knowledge:acme/a</before><suppress>acme/b</suppress></context>
    <hooks><hook event="error"/></hooks>
    <cost><total/></cost>
    <novelty/>
  </metadata>
  <inputs>
    <input name="target" required="true">Where to</input>
    <input name="count" type="integer" default="3"/>
    <input name="note" default=""><![CDATA[a <b>]]></input>
  </inputs>
  <outputs><output name="url" type="string">The address</output><output name="log" required="false"/></outputs>
  <process>
    <step><execute item_type="tool" item_id="acme/x"><param name="a" value="{input:target}"/><param name="b">c</param></execute></step>
  </process>
  <sign item="y"/>
</directive>
```

1. Go to {input:target}.

"#;
    let got = Directive::parse(text).unwrap();
    assert_eq!(got.title.as_deref(), Some("Deploy it"));
    assert_eq!(got.name.as_deref(), Some("deploy"));
    assert_eq!(got.version.as_deref(), Some("1.2.0"));
    assert_eq!(got.description.as_deref(), Some("Deploys a <service>"));
    assert_eq!(got.category.as_deref(), Some("acme"));
    assert_eq!(got.author.as_deref(), Some("someone"));
    assert_eq!(got.extends.as_ref().map(ToString::to_string).as_deref(), Some("acme/base"));
    let model = got.model.clone().unwrap();
    assert_eq!(
        [model.tier, model.id, model.fallback, model.provider].map(Option::unwrap),
        ["fast", "m-1", "m-0", "p"]
    );
    assert_eq!(
        Value::Object(got.limits.clone().unwrap()).to_string(),
        r#"{"turns":8,"spend":0.50,"spend_currency":"EUR","tokens":4000}"#
    );
    assert_eq!(
        got.permissions.clone().unwrap(),
        ["rye.execute.tool.rye.file-system.*", "rye.execute.directive.acme.a%2Eb", "rye.fetch.*"]
    );
    assert_eq!(got.acknowledged.len(), 1);
    assert_eq!(
        (got.acknowledged[0].risk.as_str(), got.acknowledged[0].why.as_str()),
        ("elevated", "it must")
    );
    let ids = [&got.context.system, &got.context.before, &got.context.after, &got.context.suppress];
    assert_eq!(
        ids.map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
        ["acme/rules", "acme/a", "", "acme/b"]
    );
    assert_eq!(got.hooks.as_deref(), Some(r#"<hooks><hook event="error"/></hooks>"#));
    assert_eq!(got.cost.as_deref(), Some("<cost><total/></cost>"));
    assert_eq!(
        got.inputs.iter().map(Input::to_json).collect::<Value>(),
        json!([
            {"name": "target", "type": "string", "required": true, "description": "Where to"},
            {"name": "count", "type": "integer", "required": false, "default": 3},
            {"name": "note", "type": "string", "required": false, "default": "", "description": "a <b>"},
        ])
    );
    assert_eq!(
        got.outputs.iter().map(DirectiveOutput::to_json).collect::<Value>(),
        json!([
            {"name": "url", "type": "string", "required": true, "description": "The address"},
            {"name": "log", "type": "string", "required": false},
        ])
    );
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let want = [
        Action {
            name: "execute".into(),
            attributes: vec![pair("item_type", "tool"), pair("item_id", "acme/x")],
            params: vec![pair("a", "{input:target}"), pair("b", "c")],
        },
        Action { name: "sign".into(), attributes: vec![pair("item", "y")], params: vec![] },
    ];
    assert_eq!(got.actions, want);
    assert_eq!(got.preamble, "Some words.");
    assert_eq!(got.body, "1. Go to {input:target}.");
    assert_eq!(got.content(), "Some words.\n\n1. Go to {input:target}.");
    assert_eq!(got.fence, Position { line: 6, column: 1 });
    assert!(text[got.body_start..].starts_with("1. Go"));
}

#[test]
fn little_is_enough() {
    let got = Directive::parse("```xml\n<directive/>\n```").unwrap();
    assert_eq!(
        (&got.title, &got.name, got.body.as_str(), got.content().as_str()),
        (&None, &None, "", "")
    );
    assert_eq!((got.permissions, got.limits), (None, None), "those of a parent count");
    let got = meta("<permissions/><limits/>").unwrap();
    assert_eq!((got.permissions, got.limits), (Some(Vec::new()), Some(Map::new())));
    let got = Directive::parse("```xml\n<directive/>\n```\n\n\n    code\n  end  \n").unwrap();
    assert_eq!(got.body, "    code\n  end");
}

#[test]
fn permissions_table() {
    let rows: [(&str, &[&str]); 9] = [
        ("", &[]),
        ("*", &["rye.execute.*", "rye.fetch.*", "rye.sign.*"]),
        (" * ", &["rye.execute.*", "rye.fetch.*", "rye.sign.*"]),
        ("<execute>*</execute>", &["rye.execute.*"]),
        ("<execute><tool>*</tool></execute>", &["rye.execute.tool.*"]),
        ("<sign><knowledge>a.**</knowledge></sign>", &["rye.sign.knowledge.a.**"]),
        ("<fetch><tool>a/b</tool><tool>a.b</tool></fetch>", &["rye.fetch.tool.a.b"]),
        ("<execute/>", &[]),
        ("<fetch/><acknowledge risk='write'/>", &[]),
    ];
    for (text, want) in rows {
        let got = meta(&format!("<permissions>{text}</permissions>"));
        assert_eq!(
            got.map(|d| d.permissions),
            Ok(Some(want.iter().map(|w| (*w).to_owned()).collect())),
            "{text:?}"
        );
    }
    for text in [
        "all",
        "<execute>rye.x</execute>",
        "<run>*</run>",
        "<execute><config>*</config></execute>",
        "<execute><tool/></execute>",
        "<execute><tool>a b</tool></execute>",
        "<execute><tool>a..b</tool></execute>",
        "<execute><tool>../x</tool></execute>",
        "<execute kind='tool'>*</execute>",
        "<acknowledge/>",
        "<acknowledge risk='high'/>",
        "<execute><tool><b/></tool></execute>",
    ] {
        let got = meta(&format!("<permissions>{text}</permissions>")).map_err(|f| f.code.name());
        assert_eq!(got.map(|_| ()), Err("parse.directive"), "{text:?}");
    }
}

#[test]
fn bad_fields_are_refused() {
    let rows = [
        ("<limits turn='3'/>", "`turn` is not a limit in `<limits>`; did you mean `turns`?"),
        ("<limits colour='3'/>", "known are `turns`"),
        (
            "<permissions><execute kind='a'>*</execute></permissions>",
            "`kind` is not an attribute of `<execute>`; it takes none",
        ),
        ("<limits turns='-1'/>", "`-1` is not a valid value for the limit `turns`"),
        ("<limits turns='+1'/>", "`+1` is not a valid value"),
        ("<limits turns=''/>", "`` is not a valid value"),
        ("<limits turns='1.5'/>", "`1.5` is not a valid value"),
        ("<limits spend='-1'/>", "`-1` is not a valid value"),
        ("<limits spend='1e999'/>", "`1e999` is not a valid value"),
        ("<limits spend_currency='dollars'/>", "`dollars` is not a valid value"),
        ("<limits turns='1'><turns>1</turns></limits>", "`turns` is given twice"),
        ("<limits/><limits/>", "`<limits>` occurs twice"),
        (
            "<description>a</description><description>b</description>",
            "`<description>` occurs twice",
        ),
        ("<description>a <b>c</b></description>", "`<description>` holds text only, not `<b>`"),
        ("<limits>turns=3</limits>", "`<limits>` holds no text; it takes `turns`"),
        ("<limits><turns max='1'>3</turns></limits>", "`max` is not an attribute of `<turns>`"),
        (
            "<model providr='a/b'/>",
            "`providr` is not a part of `<model>`; did you mean `provider`?",
        ),
        ("<model teir='fast'/>", "did you mean `tier`?"),
        ("<model><modle>m</modle></model>", "`modle` is not a part of `<model>`"),
        ("<model>my/local</model>", "`<model>` holds no text; it takes `tier`"),
        ("<model provider=''/>", "`provider` of `<model>` is empty"),
        ("<model><fallback/></model>", "`fallback` of `<model>` is empty"),
        (
            "<model><fallback tier='general'/></model>",
            "`tier` is not an attribute of `<fallback>`; it takes none",
        ),
        ("<acknowledge risk='elevted'/>", "did you mean `elevated`?"),
        (
            "<acknowledge risk='high'/>",
            "`high` is not a class of risk in `<acknowledge>`; known are `safe`, `write`",
        ),
        ("<acknowledge risk='write' why='x'/>", "`why` is not an attribute of `<acknowledge>`"),
        (
            "<permissions><execute>acme/x</execute></permissions>",
            "write `<execute><tool>acme.x</tool></execute>`",
        ),
        (
            "<permissions><fetch>knowledge:acme/x</fetch></permissions>",
            "write `<fetch><knowledge>acme.x</knowledge></fetch>`",
        ),
        (
            "<permissions><execute><tool>tool:acme/x</tool></execute></permissions>",
            "is not a pattern over dotted ids; write `acme.x`",
        ),
        (
            "<permissions><execute><tool>directive:acme/x</tool></execute></permissions>",
            "write `<directive>acme.x</directive>`",
        ),
        ("<context><sistem>a</sistem></context>", "did you mean `system`?"),
        ("<context><system>../a</system></context>", "`../a` is not a valid item id"),
        ("<context><system/></context>", "is not a valid item id"),
        ("<context><system>a</system><system>a</system></context>", "`a` is listed twice"),
    ];
    for (inside, want) in rows {
        let fault = meta(inside).unwrap_err();
        let code =
            if want.contains("not a valid item id") { "id.malformed" } else { "parse.directive" };
        assert_eq!(fault.code.name(), code, "{inside:?}");
        assert!(fault.why.contains(want), "{inside:?}: {}", fault.why);
        assert_eq!(fault.position.map(|p| p.line), Some(5), "{inside:?}");
    }
}

#[test]
fn bad_inputs_are_refused() {
    let rows = [
        ("<input/>", "an `<input>` has no `name`"),
        ("<input name=''/>", "`` cannot name an input"),
        ("<input name='1a'/>", "`1a` cannot name an input"),
        ("<input name='a b'/>", "`a b` cannot name an input"),
        ("<input name='é'/>", "cannot name an input"),
        ("<input name='a'/><input name='a'/>", "the input `a` is declared twice"),
        ("<input name='a' type='int'/>", "did you mean `integer`?"),
        ("<input name='a' type='String'/>", "did you mean `string`?"),
        ("<input name='a' required='yes'/>", "`required` is `true` or `false`, not `yes`"),
        ("<input name='a' requird='true'/>", "did you mean `required`?"),
        (
            "<input name='a' type='integer' default='x'/>",
            "the default `x` of `a` is not of the type `integer`",
        ),
        (
            "<input name='a' type='array' default='{}'/>",
            "the default `{}` of `a` is not of the type `array`",
        ),
        ("<imput name='a'/>", "`<inputs>` holds `<input>` only"),
        ("<input name='a'><b/></input>", "holds text only"),
    ];
    for (inside, want) in rows {
        let fault = Directive::parse(&with(&format!("<inputs>{inside}</inputs>"))).unwrap_err();
        assert_eq!(fault.code.name(), "parse.directive", "{inside:?}");
        assert!(fault.why.contains(want), "{inside:?}: {}", fault.why);
    }
    let text = with("<inputs><input name='a' type='object' default='{\"b\": [1]}'/></inputs>");
    let got = Directive::parse(&text).unwrap();
    assert_eq!(
        (got.inputs[0].ty, got.inputs[0].default.clone()),
        (InputType::Object, Some(json!({"b": [1]})))
    );
}

fn attributes(count: usize) -> String {
    (0..count).fold(String::new(), |text, at| text + &format!("a{at}='' "))
}

#[test]
fn hostile_xml_is_refused() {
    let rows = [
        (with("<a>"), "parse.xml"),
        (with("</directive>"), "parse.xml"),
        (with("</directive><directive>"), "parse.xml"),
        (with("<a b='1' b='2'/>"), "parse.xml"),
        (with("<a b=1/>"), "parse.xml"),
        (with("&nbsp;"), "parse.xml"),
        (with("&x;"), "parse.xml"),
        (with("<a>]]></a>"), "parse.xml"),
        (with("<![CDATA[ open"), "parse.xml"),
        (with("<!-- a -- b -->"), "parse.xml"),
        (with("<a b='<'/>"), "parse.xml"),
        (with("a & b"), "parse.xml"),
        (with("<!DOCTYPE x>"), "parse.xml"),
        (with("<execute xmlns='x'/>"), "parse.directive"),
        (with("<x:execute/>"), "parse.xml"),
        (with("<execute><param value='x'/></execute>"), "parse.directive"),
        (with("<execute><param name='a'/><param name='a'/></execute>"), "parse.directive"),
        (with("<metadata/><metadata/>"), "parse.directive"),
        (with("<inputs/><inputs/>"), "parse.directive"),
        (with("<permissions/><metadata><permissions/></metadata>"), "parse.directive"),
        (
            "```xml\n<!DOCTYPE d [<!ENTITY a \"b\">]>\n<directive>&a;</directive>\n```".into(),
            "parse.xml",
        ),
        ("```xml\n<!DOCTYPE d SYSTEM \"file:///etc/passwd\"><directive/>\n```".into(), "parse.xml"),
        ("```xml\n<directive extends='../x'/>\n```".into(), "id.malformed"),
        ("```xml\n<directive/><directive/>\n```".into(), "parse.xml"),
        ("```xml\n<directive/> words\n```".into(), "parse.xml"),
        ("```xml\n<directive\n```".into(), "parse.xml"),
        (with(&"<a>".repeat(15_000)), "parse.xml"),
        (with(&format!("{}{}", "<a>".repeat(100), "</a>".repeat(100))), "parse.limit"),
        (with(&format!("{}{}", "<a>".repeat(9_000), "</a>".repeat(9_000))), "parse.limit"),
        (with(&format!("<a {}/>", attributes(65))), "parse.limit"),
        (with(&format!("<a {}/>", attributes(5_000))), "parse.limit"),
    ];
    for (text, want) in rows {
        assert_eq!(code(&text), want, "{text:.120}");
    }
    let fault = Directive::parse(&with("<é/> &x;")).unwrap_err();
    assert_eq!(fault.position, Some(Position { line: 5, column: 6 }));
    assert!(fault.why.starts_with("its metadata is not XML: "), "{}", fault.why);
    assert_eq!(code(&with("<!-- </directive> --><![CDATA[</directive>]]>&lt;&amp;&#65;")), "ok");
}

#[test]
fn many_unknown_elements_take_linear_time() {
    // Their places are looked for in a long file; the fence holds as many as it may.
    let metadata = "<a/>".repeat(16_000);
    let text = format!(
        "{}\n```xml\n<directive><metadata>{metadata}</metadata></directive>\n```\n",
        "word\n".repeat(800_000),
    );
    let directive = Directive::parse(&text).unwrap();
    assert_eq!(directive.unknown.len(), 16_000);
    let place = |at: usize| Position { line: 800_003, column: 22 + 4 * at };
    for at in [0, 1, 15_999] {
        assert_eq!(directive.unknown[at].1, place(at));
    }
}
