//! One shape a form, what is left as it is, and a property over headers of every form.

use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{prop_assert, prop_assert_eq, proptest};

use super::{checked, read};
use crate::id::Kind;
use crate::space::HeaderStyle;

fn shell() -> HeaderStyle {
    HeaderStyle::Block { comment: "#".into() }
}

#[test]
fn each_form_has_one_shape() {
    let rows = [
        (
            Kind::Tool,
            HeaderStyle::Yaml,
            "# About\n\ndescription:  'Says it'  # why\n\n\n# the type\ntool_type:   \"tool\"\n\
             version: 1.0.0\nx-other: [1]\nconfig: \n  args:   [ ]\n# end\n",
            "# About\n\nversion: \"1.0.0\"\n\n# the type\ntool_type: tool\n\
             description: \"Says it\"  # why\nconfig:\n  args:   [ ]\nx-other: [1]\n# end\n",
        ),
        (
            Kind::Tool,
            HeaderStyle::Yaml,
            "description: |\n  # no comment\n\n  words\nversion: \"1\"\n",
            "version: \"1\"\ndescription: |\n  # no comment\n\n  words\n",
        ),
        (
            Kind::Tool,
            HeaderStyle::Toml,
            "# About\ncategory='a' # c\nversion   =\"1\"\n# e\nexecutor_id = 'a/b'\n\n[config]\nb=1\n",
            "# About\nversion = \"1\"\n# e\nexecutor_id = \"a/b\"\ncategory = \"a\" # c\n\n[config]\nb=1\n",
        ),
        (
            Kind::Tool,
            shell(),
            "#!/bin/sh\n# w\n# /// rye\n# tool_type='tool'\n#\n# version='1'\n# ///\necho  x\n",
            "#!/bin/sh\n# w\n# /// rye\n#\n# version = \"1\"\n# tool_type = \"tool\"\n# ///\necho  x\n",
        ),
        (
            Kind::Tool,
            HeaderStyle::Python,
            "'''\n__version__ = 'no'\n'''\n__category__   ='a'  # c\n__version__='1'\n\n\
             __tool_type__ = ('tool')\nx=1",
            "'''\n__version__ = 'no'\n'''\n__version__ = \"1\"\n__category__ = \"a\"  # c\n\n\
             __tool_type__ = ('tool')\nx=1",
        ),
        (
            Kind::Tool,
            HeaderStyle::Python,
            "# why a\n__category__='a'\n__tool_type__='tool'\n__version__='1'\n",
            "# why a\n__category__ = \"a\"\n__version__ = \"1\"\n__tool_type__ = \"tool\"\n",
        ),
        (
            Kind::Directive,
            HeaderStyle::Markdown,
            "# T\n```xml\n<directive version='1' name=\"t\"><inputs>\n<!-- r -->\n<input type='a' \
             name='x' default='\"'> d </input></inputs><metadata><author>a</author>\n\n\
             <description>d &lt;</description></metadata></directive>\n```\n B\n",
            "# T\n```xml\n<directive name=\"t\" version=\"1\">\n  <metadata>\n    \
             <description>d &lt;</description>\n    <author>a</author>\n  </metadata>\n  <inputs>\n    \
             <!-- r -->\n    <input name=\"x\" type=\"a\" default='\"'>d</input>\n  </inputs>\n\
             </directive>\n```\n B\n",
        ),
        (
            Kind::Knowledge,
            HeaderStyle::Markdown,
            "---\ntags:   []\ntitle: T\n---\n body: x\n",
            "---\ntitle: T\ntags: []\n---\n body: x\n",
        ),
    ];
    for (kind, style, text, want) in rows {
        // `a` is no type of an input, so the row about a directive shows its text alone.
        let text = text.replace("type='a'", "type='string'");
        let want = want.replace("type=\"a\"", "type=\"string\"");
        assert_eq!(checked(kind, &style, &text), Ok(Some(want.clone())), "{text}");
        assert_eq!(checked(kind, &style, &want), Ok(None), "tidying again changes nothing");
    }
}

#[test]
fn what_cannot_be_promised_is_left_with_a_reason() {
    let rows = [
        (HeaderStyle::Yaml, "{version: '1', tool_type: tool}\n"),
        (HeaderStyle::Yaml, "tool_type: tool\n'version': '1'\n"),
        (HeaderStyle::Yaml, "x-a: &a [1]\nversion: '1'\nconfig: {x: *a}\n"),
        (HeaderStyle::Yaml, "description: |+\n  words\n\n\nversion: '1'\n"),
        (HeaderStyle::Yaml, "--- # one\nversion: '1'\n"),
    ];
    for (style, text) in rows {
        assert!(read(Kind::Tool, &style, text).is_ok(), "the fixture itself is good: {text}");
        let got = checked(Kind::Tool, &style, text);
        assert!(got.is_err(), "{text}\n{got:?}");
    }
}

#[test]
fn what_is_no_header_has_no_shape() {
    let rows = [
        (Kind::Config, HeaderStyle::Yaml, "b:   1\na:  'x'\n"),
        (Kind::Knowledge, HeaderStyle::Yaml, "tags:   []\ntitle:  'x'\n"),
        (Kind::Tool, HeaderStyle::JavaScript, "const __version__ = '1'\nconst   x = 1\n"),
    ];
    for (kind, style, text) in rows {
        assert_eq!(checked(kind, &style, text), Ok(None), "{text}");
    }
}

/// Lines of each form, of which any choice in any order may be a header.
fn pool(form: usize) -> (Kind, HeaderStyle, Vec<&'static str>, [&'static str; 2]) {
    match form {
        0 => (
            Kind::Tool,
            HeaderStyle::Yaml,
            vec![
                "version:   1.0.0 # v\n",
                "tool_type: 'tool'\n",
                "executor_id:   \"a/b\"\n",
                "description: it's \"so\": no\n",
                "description: 'it''s'\n",
                "description: >-\n   two\n\n   lines # no comment\n",
                "category:\n",
                "env: [A,\n  B]\n",
                "secrets:\n- A\n",
                "config:\n    x:   {a: 1}\n  # inner\n",
                "x-own:   1\n",
                "# words\n",
                "\n",
                "   # indented words\n",
            ],
            ["", ""],
        ),
        1 => (
            Kind::Tool,
            HeaderStyle::Toml,
            vec![
                "version='1' # v\n",
                "tool_type   =   \"tool\"\n",
                "description = '''a\n# no comment\n'''\n",
                "description = 'a \"b\"'\n",
                "category = 'a'\n",
                "env = [ # e\n 'A',\n]\n",
                "child_constraints.version='1'\n",
                "x-own   =  {a=1}\n",
                "# words\n",
                "\n",
                "[config]\nx   =1\n",
                "[[parameters]] # p\nname='x'\n",
            ],
            ["", ""],
        ),
        2 => (
            Kind::Tool,
            shell(),
            vec![
                "# version='1' # v\n",
                "# tool_type=\"tool\"\n",
                "# env = [\n#   'A']\n",
                "#\n",
                "# # words\n",
                "# [config]\n# x   =1\n",
            ],
            ["#!/bin/sh\n# /// rye\n", "# ///\necho  'x'   # version='1'\n"],
        ),
        3 => (
            Kind::Tool,
            HeaderStyle::Python,
            vec![
                "__version__='1' # v\n",
                "__tool_type__   =   'tool'\n",
                "__category__ = 'a\\n\"'\n",
                "__executor_id__ = (\n 'a/b')\n",
                "__tool_description__ = '''a\n__version__ = 2\n'''\n",
                "# words\n",
                "\n",
                "x   =1;   y='z'\n",
                "def f():\n    return '1'\n",
                "if True:\n    z='1'\n",
            ],
            ["", "print('x')"],
        ),
        _ => (
            Kind::Directive,
            HeaderStyle::Markdown,
            vec![
                "<metadata><author>a</author><description>d\n e</description></metadata>\n",
                "<inputs><input required='false' name=\"x\">  d </input></inputs>",
                "<!-- words -->",
                "\n",
                "\n\n   ",
                "<outputs/>",
                "<execute b='1' a='&quot;'>text <b/> </execute>\n",
                "<note><![CDATA[ <x> ]]></note>",
                "<hooks  a='1'/>\n",
            ],
            [
                "# T\n\nWords  .\n```xml\n<directive version='1.0.0'   name='t'>",
                "</directive>\n```\n\n B\n",
            ],
        ),
    }
}

/// What a finger may slip in.
const SLIPS: &[char] =
    &[' ', '#', '\'', '"', ':', '=', '<', '>', '-', '\n', '[', '}', '&', '\\', '|'];

/// A text of a form: some of its lines, in some order, perhaps with one letter changed.
fn texts() -> impl Strategy<Value = (Kind, HeaderStyle, String)> {
    let form = 0..5_usize;
    form.prop_flat_map(|form| {
        let (kind, style, lines, around) = pool(form);
        let chosen = prop::sample::subsequence(lines.clone(), 0..=lines.len()).prop_shuffle();
        let slip = prop::option::weighted(
            0.3,
            (any::<prop::sample::Index>(), prop::sample::select(SLIPS)),
        );
        (Just(kind), Just(style), chosen, slip).prop_map(move |(kind, style, lines, slip)| {
            let mut text = format!("{}{}{}", around[0], lines.concat(), around[1]);
            if let Some((at, letter)) = slip {
                let at = at.index(text.len() + 1);
                text.insert(at, letter);
            }
            (kind, style, text)
        })
    })
}

/// The words of a text that are in comments, wherever they stand.
fn remarks(text: &str) -> usize {
    text.matches("words").count() + text.matches("# v").count() + text.matches("inner").count()
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..Default::default()
    })]
    #[test]
    fn tidying_keeps_the_meaning_and_the_comments_and_is_done_once((kind, style, text) in texts()) {
        let Ok(before) = read(kind, &style, &text) else { return Ok(()) };
        if let Ok(Some(tidy)) = checked(kind, &style, &text) {
            let after = read(kind, &style, &tidy);
            prop_assert!(after.is_ok_and(|after| after == before), "{text}\n---\n{tidy}");
            prop_assert_eq!(remarks(&tidy), remarks(&text), "{}\n---\n{}", text, tidy);
            prop_assert_eq!(checked(kind, &style, &tidy), Ok(None), "{}", tidy);
            let letters = |text: &str| {
                let mut all: Vec<char> =
                    text.chars().filter(|c| c.is_alphanumeric() || "#!".contains(*c)).collect();
                all.sort_unstable();
                all
            };
            prop_assert_eq!(letters(&tidy), letters(&text), "no letter comes or goes: {}", tidy);
        }
    }
}

/// The pool gives what the property is about: most of its texts can be read, and many change.
#[test]
fn the_property_looks_at_every_form() {
    for form in 0..5 {
        let (kind, style, lines, around) = pool(form);
        let (mut good, mut changed) = (0, 0);
        for skip in 0..lines.len() {
            for take in 1..4 {
                let some: Vec<&str> =
                    lines.iter().cycle().skip(skip).step_by(take).take(3).copied().collect();
                let text = format!("{}{}{}", around[0], some.concat(), around[1]);
                if read(kind, &style, &text).is_ok() {
                    good += 1;
                    changed += usize::from(matches!(checked(kind, &style, &text), Ok(Some(_))));
                }
            }
        }
        assert!(good >= 5 && changed >= 3, "form {form}: {good} can be read, {changed} change");
    }
}

/// Every text that fuzzing found worth keeping, in the form that it was found in.
#[test]
fn the_texts_that_fuzzing_found_are_tidied_as_promised() {
    let forms = [
        ("yaml", 0),
        ("toml", 1),
        ("python", 2),
        ("javascript", 3),
        ("header_block", 4),
        ("header_block", 5),
        ("directive", 6),
        ("knowledge", 7),
    ];
    for (target, form) in forms {
        let inputs = crate::fuzz::inputs(target);
        assert!(inputs.len() > 10, "{target}");
        for (_, bytes) in inputs {
            // A target may keep a byte of its own in front.
            for skip in 0..bytes.len().min(2) {
                crate::parse::fuzz::tidy(&[&[form], &bytes[skip..]].concat());
            }
        }
    }
}
