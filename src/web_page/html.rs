//! A page of HTML as Markdown or as plain text.
//!
//! The page is anybody's. It is read by the parser of a browser engine, and the converter goes down
//! the tree by recursion; so a tag that would open one more element where hundreds are open already
//! is passed over while the page is read, and its words stay.
//!
//! Nothing that a page repeats grows faster than the page: a tag with too many attributes ends it,
//! values of attributes are counted wherever they stand in the tree, and no cell of a table is
//! padded.

use std::cell::Cell;
use std::rc::Rc;

use htmd::element_handler::Handlers;
use htmd::options::{BulletListMarker, HrStyle, Options};
use htmd::{Element, HtmlToMarkdown};
use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::Tracer;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{LocalName, TokenizerResult};
use markup5ever_rcdom::{Node, NodeData, RcDom};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::fetch::plain_url;
use super::table::table;
use crate::base::Address;
use crate::base::limits::PAGE_BYTES;

/// Most levels of the tree of a page: misnested elements are deeper in it than they were open.
#[cfg(feature = "http")]
const PAGE_LEVELS: usize = 1_024;

/// Most lists and quotations of a page that are open at once: each makes every line in it longer.
#[cfg(feature = "http")]
const PAGE_INDENTING: usize = 24;

/// Most elements of a page that are open at once; browsers stop at 512. One more start tag costs as
/// many steps.
#[cfg(feature = "http")]
const PAGE_OPEN: usize = 256;

/// Most separators, of which one stands before each attribute, in a part of a page that does not
/// end: each attribute is compared with all before it in its tag. A picture of a megabyte that is
/// written into a tag has fewer.
#[cfg(feature = "http")]
const PAGE_ATTRIBUTES: usize = 20_000;

/// Elements whose content is not words of the page.
const LEFT_OUT: [&str; 14] = [
    "canvas", "embed", "frameset", "head", "iframe", "math", "noembed", "noframes", "noscript",
    "object", "script", "style", "svg", "template",
];

/// Elements that end before another begins: of them none stays open.
const LEAVES: [&str; 24] = [
    "area",
    "base",
    "br",
    "col",
    "embed",
    "frame",
    "hr",
    "iframe",
    "img",
    "input",
    "link",
    "meta",
    "noembed",
    "noframes",
    "noscript",
    "param",
    "plaintext",
    "script",
    "source",
    "style",
    "textarea",
    "title",
    "track",
    "wbr",
];

const INDENTING: [&str; 6] = ["blockquote", "dl", "li", "menu", "ol", "ul"];

/// The words of a page.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// As Markdown.
    pub(super) markdown: String,
    /// Of its `title`, as it stands there.
    pub(super) title: Option<String>,
    /// Something of it was too deep or too much to be shown.
    pub(super) is_cut: bool,
}

/// Reads a page that came from this address.
pub(super) fn words(html: &str, address: &Address) -> Words {
    let (document, is_whole) = tree(html);
    let mut words = Words { title: title(&document), ..Words::default() };
    let base = base(&document).and_then(|base| address.follow(&plain_url(&base)));
    words.is_cut = tidy(&document, base.as_ref().unwrap_or(address)) || !is_whole;
    let options = Options {
        bullet_list_marker: BulletListMarker::Dash,
        hr_style: HrStyle::Dashes,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter = HtmlToMarkdown::builder()
        .options(options)
        .add_handler(vec!["table"], |handlers: &dyn Handlers, element: Element| {
            table(handlers, element.node)
        })
        .build();
    words.markdown = converter.tree_to_markdown(&document);
    words
}

/// The tree of a page, in which nothing nests deeper than pages do, and whether all of it was read.
fn tree(html: &str) -> (Rc<Node>, bool) {
    let builder = TreeBuilder::new(RcDom::default(), TreeBuilderOpts::default());
    let shallow = Shallow { builder, passed_over: Cell::new(0), has_token: Cell::new(false) };
    let tokenizer = Tokenizer::new(shallow, TokenizerOpts::default());
    let input = BufferQueue::default();
    let mut rest = html;
    let mut separators = 0;
    while !rest.is_empty() && separators <= PAGE_ATTRIBUTES {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES).max(1));
        rest = after;
        input.push_back(StrTendril::from_slice(piece));
        tokenizer.sink.has_token.set(false);
        // It stops behind scripts, which are not run, and where the page names its letters.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        // Each attribute is compared with all before it in its tag.
        separators = match tokenizer.sink.has_token.get() {
            true => 0,
            false => separators + piece.bytes().filter(|byte| separates(*byte)).count(),
        };
    }
    tokenizer.end();
    (tokenizer.sink.builder.sink.document, rest.is_empty())
}

/// How much of a page is read before it is asked whether a tag has ended.
const PIECE_BYTES: usize = 4 << 10;

/// Before each attribute of a tag stands at least one of these.
fn separates(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'')
}

/// Passes tokens on to the builder of the tree, but for tags that would nest too deep.
struct Shallow {
    builder: TreeBuilder<Rc<Node>, RcDom>,
    /// Start tags that were passed over, and whose end tags did not come yet.
    passed_over: Cell<usize>,
    /// Something came to its end: a tag, a comment, words.
    has_token: Cell<bool>,
}

impl TokenSink for Shallow {
    type Handle = Rc<Node>;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Rc<Node>> {
        if !matches!(token, Token::ParseError(_)) {
            self.has_token.set(true);
        }
        if let Token::TagToken(tag) = &token
            && !is_one_of(&LEAVES, &tag.name)
        {
            let passed_over = self.passed_over.get();
            match tag.kind {
                TagKind::StartTag if self.is_full(&tag.name) => {
                    self.passed_over.set(passed_over + 1);
                    return TokenSinkResult::Continue;
                }
                TagKind::EndTag if passed_over > 0 => {
                    self.passed_over.set(passed_over - 1);
                    return TokenSinkResult::Continue;
                }
                TagKind::StartTag | TagKind::EndTag => {}
            }
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl Shallow {
    fn is_full(&self, name: &LocalName) -> bool {
        let (all, indenting) = (Count::of(|_| true), Count::of(indents));
        self.builder.trace_handles(&all);
        if all.found.get() > PAGE_OPEN {
            return true;
        }
        if is_one_of(&INDENTING, name) {
            self.builder.trace_handles(&indenting);
        }
        indenting.found.get() > PAGE_INDENTING
    }
}

/// Counts what the builder holds on to: elements that are open, and those that it opens again.
struct Count {
    counts: fn(&Node) -> bool,
    found: Cell<usize>,
}

impl Count {
    fn of(counts: fn(&Node) -> bool) -> Self {
        Self { counts, found: Cell::new(0) }
    }
}

impl Tracer for Count {
    type Handle = Rc<Node>;

    fn trace_handle(&self, node: &Rc<Node>) {
        if (self.counts)(node) {
            self.found.set(self.found.get() + 1);
        }
    }
}

fn indents(node: &Node) -> bool {
    name(node).is_some_and(|name| is_one_of(&INDENTING, name))
}

fn is_one_of(names: &[&str], name: &LocalName) -> bool {
    names.binary_search(&name.as_ref()).is_ok()
}

pub(super) fn name(node: &Node) -> Option<&LocalName> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

/// Every node below and at this one, with its level; `visit` says whether to go on below it.
fn walk(top: &Rc<Node>, mut visit: impl FnMut(&Rc<Node>, usize) -> bool) {
    let mut open = vec![(top.clone(), 0)];
    while let Some((node, level)) = open.pop() {
        if visit(&node, level) {
            open.extend(node.children.borrow().iter().rev().map(|it| (it.clone(), level + 1)));
        }
    }
}

/// The value that `read` gives for the first element of that name that has one.
fn first<T>(document: &Rc<Node>, wanted: &str, read: impl Fn(&Rc<Node>) -> Option<T>) -> Option<T> {
    let mut found = None;
    walk(document, |node, _| {
        if found.is_none() && name(node).is_some_and(|name| name.as_ref() == wanted) {
            found = read(node);
        }
        found.is_none()
    });
    found
}

/// The words of the first `title`.
fn title(document: &Rc<Node>) -> Option<String> {
    first(document, "title", |node| {
        let children = node.children.borrow();
        let texts = children.iter().filter_map(|child| match &child.data {
            NodeData::Text { contents } => Some(contents.borrow().to_string()),
            _ => None,
        });
        Some(texts.collect())
    })
}

/// Whence the page says that its links lead.
fn base(document: &Rc<Node>) -> Option<String> {
    first(document, "base", |node| match &node.data {
        NodeData::Element { attrs, .. } => {
            let attrs = attrs.borrow();
            let href = attrs.iter().find(|attr| attr.name.local.as_ref() == "href")?;
            Some(href.value.trim().to_owned())
        }
        _ => None,
    })
}

/// Takes out what is not words or is not seen, makes links absolute, and cuts what is too deep or
/// too much; whether anything was cut.
fn tidy(document: &Rc<Node>, base: &Address) -> bool {
    let mut is_cut = false;
    // A short page repeats a long value often: by a `base`, or by a tag that is opened anew.
    let mut left = PAGE_BYTES;
    walk(document, |node, level| {
        if let NodeData::Element { attrs, .. } = &node.data {
            attrs.borrow_mut().retain_mut(|attr| {
                let is_link = matches!(attr.name.local.as_ref(), "href" | "src");
                if is_link && left > 0 {
                    let Some(to) = link(&attr.value, base) else { return false };
                    attr.value = to.into();
                }
                let is_kept = attr.value.len() <= left;
                left = if is_kept { left - attr.value.len() } else { 0 };
                is_cut |= !is_kept;
                is_kept
            });
        }
        if level >= PAGE_LEVELS {
            is_cut |= !node.children.borrow().is_empty();
            node.children.borrow_mut().clear();
        }
        node.children.borrow_mut().retain(|child| !is_left_out(child));
        true
    });
    is_cut
}

/// A link as it is shown; `None` where it holds a program or a file of its own.
fn link(text: &str, base: &Address) -> Option<String> {
    let text = text.trim();
    let is_mail = ["mailto:", "tel:"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(scheme))
    });
    if text.starts_with('#') || is_mail {
        return Some(text.to_owned());
    }
    let (page, place) = text.split_at(text.find('#').unwrap_or(text.len()));
    let to = base.follow(&plain_url(page))?;
    Some(format!("{}{}", to.as_str(), plain_url(place)))
}

/// Returns true if an element has no words, or is hidden by its own attributes: text for machines
/// alone is where a page speaks to one. What style sheets hide is not known.
fn is_left_out(node: &Node) -> bool {
    let NodeData::Element { name, attrs, .. } = &node.data else { return false };
    let is_page = matches!(name.local.as_ref(), "html" | "body");
    is_one_of(&LEFT_OUT, &name.local)
        || attrs.borrow().iter().any(|attr| match attr.name.local.as_ref() {
            "hidden" => !is_page,
            "style" => !is_page && hides(&attr.value),
            _ => false,
        })
}

fn hides(style: &str) -> bool {
    let plain: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    let plain = plain.to_ascii_lowercase();
    plain.split(';').any(|rule| {
        let rule = rule.trim_end_matches("!important");
        matches!(rule, "display:none" | "visibility:hidden" | "opacity:0" | "font-size:0")
    })
}

/// Markdown as plain text: words, lines and lists, without the signs of Markdown.
pub(super) fn plain(markdown: &str) -> String {
    let options = pulldown_cmark::Options::ENABLE_TABLES;
    let mut text = String::with_capacity(markdown.len());
    let mut lists: Vec<Option<u64>> = Vec::new();
    let gap = |text: &mut String| {
        let kept = text.trim_end().len();
        text.truncate(kept);
        if !text.is_empty() {
            text.push_str("\n\n");
        }
    };
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Text(words)
            | Event::Code(words)
            | Event::Html(words)
            | Event::InlineHtml(words) => {
                text.push_str(&words);
            }
            Event::SoftBreak | Event::HardBreak => text.push('\n'),
            Event::Rule => gap(&mut text),
            Event::Start(Tag::List(first)) => lists.push(first),
            Event::Start(Tag::Item) => {
                let kept = text.trim_end_matches('\n').len();
                text.truncate(kept);
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&"  ".repeat(lists.len().saturating_sub(1)));
                match lists.last_mut() {
                    Some(Some(number)) => {
                        text.push_str(&format!("{number}. "));
                        *number += 1;
                    }
                    _ => text.push_str("- "),
                }
            }
            Event::End(TagEnd::List(_)) => {
                lists.pop();
                if lists.is_empty() {
                    gap(&mut text);
                }
            }
            Event::End(TagEnd::TableCell) => text.push_str("  "),
            Event::End(TagEnd::TableRow | TagEnd::TableHead) => {
                let kept = text.trim_end_matches(' ').len();
                text.truncate(kept);
                text.push('\n');
            }
            Event::End(TagEnd::Paragraph) if !lists.is_empty() => text.push('\n'),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::CodeBlock
                | TagEnd::BlockQuote(_)
                | TagEnd::HtmlBlock
                | TagEnd::Table,
            ) => gap(&mut text),
            _ => {}
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::PAGE_ATTRIBUTES;
    use super::{plain, words};
    use crate::base::{Address, whole_tests};

    fn markdown(html: &str) -> String {
        words(html, &Address::parse("https://a.example/dir/page").unwrap()).markdown
    }

    #[test]
    fn tables_of_names_are_sorted() {
        for names in [&super::LEFT_OUT[..], &super::LEAVES, &super::INDENTING] {
            assert!(names.is_sorted(), "{names:?}");
        }
    }

    #[test]
    fn html_becomes_markdown_and_text_table() {
        let mut wrong: Vec<(&str, String, String)> = Vec::new();
        for (html, want, want_plain) in [
            (
                "<h1>Head</h1><p>Hello <b>bold</b> <i>words</i>",
                "# Head\n\nHello **bold** *words*",
                "Head\n\nHello bold words",
            ),
            (
                "<ul><li>one<li>two<ol><li>in</ol></ul>end",
                "- one\n- two\n  1. in\n\nend",
                "- one\n- two\n  1. in\n\nend",
            ),
            ("a<br>b", "a  \nb", "a\nb"),
            (
                "<pre><code class=language-rust>fn x() {\n}\n</code></pre>",
                "```rust\nfn x() {\n}\n```",
                "fn x() {\n}",
            ),
            (
                "<table><tr><th>a<th>b<tr><td>1<td>2</table>",
                "| a | b |\n| - | - |\n| 1 | 2 |",
                "a  b\n1  2",
            ),
            ("<blockquote>said</blockquote>", "> said", "said"),
            ("*no* list & &lt;b&gt;", "\\*no\\* list & \\<b>", "*no* list & <b>"),
            // Links lead where the page's links lead, and to nothing else.
            ("<a href=x?a=1#p>l</a>", "[l](https://a.example/dir/x?a=1#p)", "l"),
            ("<a href='//b.example/ä'>l</a>", "[l](https://b.example/%C3%A4)", "l"),
            ("<base href=https://c.example/d/><a href=x>l</a>", "[l](https://c.example/d/x)", "l"),
            ("<a href='mailto:a@b.example'>l</a>", "[l](mailto:a@b.example)", "l"),
            ("<a href=#p>l</a>", "[l](#p)", "l"),
            ("<a href='javascript:alert(1)'>l</a>", "l", "l"),
            ("<img src='data:image/png;base64,AAAA' alt=pic>", "", ""),
            ("<img src=p.png alt=pic>", "![pic](https://a.example/dir/p.png)", "pic"),
            // What is no word of the page.
            (
                "<script>x()</script><style>p{}</style><noscript>n</noscript>w<template>t</template>",
                "w",
                "w",
            ),
            ("<svg><text>s</text></svg><iframe>f</iframe><!-- c -->w", "w", "w"),
            ("<p hidden>h</p><p style='color:red; DISPLAY : none'>h</p><p>seen", "seen", "seen"),
            ("<body style='visibility:hidden'>seen", "seen", "seen"),
            ("<p>a\0b", "ab", "ab"),
            ("", "", ""),
            ("<", "<", "<"),
        ] {
            let got = markdown(html);
            if (got.as_str(), plain(&got).as_str()) != (want, want_plain) {
                wrong.push((html, plain(&got), got));
            }
        }
        assert_eq!(wrong, []);
        let page = words(
            "<title>T &amp; <b>\nx</title><title>2</title>w",
            &Address::parse("https://a.example/").unwrap(),
        );
        assert_eq!(
            (page.title.as_deref(), page.markdown.as_str(), page.is_cut),
            (Some("T & <b>\nx"), "w", false)
        );
    }

    /// Runs with the room that the program gives itself.
    fn with_room(run: impl FnOnce() + Send + 'static) {
        let room = std::thread::Builder::new().stack_size(crate::base::limits::PAGE_STACK_BYTES);
        room.spawn(run).unwrap().join().unwrap();
    }

    #[test]
    fn what_a_page_repeats_does_not_make_its_words_many_times_longer() {
        with_room(|| {
            let long = "x".repeat(7_000);
            let wide = "x".repeat(100_000);
            let pages = [
                format!(
                    "<base href=https://b.example/{long}/>{}",
                    "<a href=x>l</a>".repeat(10_000)
                ),
                format!("<p><a href=/{long}>{}", "x</p><p>".repeat(10_000)),
                format!("<p><a href=/ title={long}>{}", "x</p><p>".repeat(10_000)),
                format!("<table><tr><td>{wide}{}</table>", "<tr><td>x".repeat(10_000)),
                format!("<table><tr>{}{}</table>", "<td>".repeat(5_000), "<tr><td>x".repeat(5_000)),
                format!("{}{wide}{}", "<table><tr><td>".repeat(80), "<tr><td>x</table>".repeat(80)),
            ];
            for html in pages {
                let page = words(&html, &Address::parse("https://a.example/").unwrap());
                let (most, length) = (html.len() + (6 << 20), page.markdown.len());
                assert!(length < most, "{html:.60}: {length}");
            }
            let few = format!("<p><a href=/{long}>{}", "x</p><p>".repeat(3));
            assert_eq!(markdown(&few).matches(&long).count(), 3, "what is not too much stays");
        });
    }

    /// 1,500 levels here and attributes of one name; the whole is 10,000 and of many names.
    #[test]
    fn what_is_made_to_be_hard_to_read_is_read_and_its_words_are_kept() {
        with_room(|| {
            let count = if whole_tests() { 10_000 } else { 1_500 };
            let many = |text: &str| format!("{}deep", text.repeat(count));
            assert_eq!(markdown(&format!("{}deep", "<div>".repeat(10 * count))), "deep");
            for tag in
                ["<div>", "<b>", "<blockquote>", "<ul><li>", "<a href=x>", "<p><b><i>", "<a><div>"]
            {
                let got = markdown(&many(tag));
                assert!(got.contains("deep"), "{tag}: {got:.200}");
                assert!(got.len() < 400 * count, "{tag}: {}", got.len());
            }
            for tag in ["<svg>", "<math><mi>", "<template>", "<select><option>", "<table><tr><td>"]
            {
                markdown(&many(tag));
            }
            // Elements that are opened anew where others end.
            let misnested: [fn(usize) -> String; 3] = [
                |at| format!("<p><b a={at}>"),
                |at| format!("<b x={at}><table></b></table>"),
                |at| format!("<b x={at}><i y={at}></b>"),
            ];
            for tags in misnested {
                let html: String = (0..count / 5).map(tags).collect();
                let got = markdown(&(html + "deep"));
                assert!(got.contains("deep") && got.len() < 100_000, "{}: {got:.200}", got.len());
            }
            let back =
                format!("{}deep{}<h1>after</h1>", "<div>".repeat(count), "</div>".repeat(count));
            assert_eq!(markdown(&back), "deep\n\n# after");
            let attributes: String = (0..count).map(|at| format!(" a{at}=b")).collect();
            assert_eq!(markdown(&format!("<p{attributes}>words</p>")), "words");
            // Names that differ are compared with each other, which takes its time.
            let name = |at| if whole_tests() { at } else { 0 };
            let most = PAGE_ATTRIBUTES + 5 * count;
            let attributes: String = (0..most).map(|at| format!(" a{}", name(at))).collect();
            for html in [
                format!("before<p{attributes}>after"),
                format!("before<p{}>after", attributes.replace(' ', "/")),
                format!("before<p{}>after", attributes.replace(" a", "'' a=' ' a")),
            ] {
                let page = words(&html, &Address::parse("https://a.example/").unwrap());
                assert_eq!((page.markdown.as_str(), page.is_cut), ("before", true));
            }
            let entities = "&amp;&lt;&#x1b;&#0;&nonsense;&#x110000;".repeat(2 * count);
            assert!(markdown(&entities).len() < 200 * count);
            let quoted = format!("{}{}", "<blockquote>".repeat(100), "x<br>".repeat(count));
            assert!(markdown(&quoted).len() < 100 * count);
        });
    }
}
