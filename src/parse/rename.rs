//! Replacing one name in a file, and nothing else, for `rye mv`: the file is parsed before and
//! after, and compared.

use super::directive::Directive;
use super::error::ParseFault;
use super::item::{Item, parse};
use super::tool::header;
use crate::id::{ItemId, Kind};
use crate::space::HeaderStyle;

/// How a file names an item: another one, or itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// The `executor_id` of a tool.
    Executor,
    /// The parent that a directive extends.
    Extends,
    /// An action of a directive.
    Calls,
    /// A directive's own name.
    Name,
    /// The folder that a tool or a directive says it lies in.
    Category,
}

/// The text with `new` where it names `old` in this way; `None` where it does not.
///
/// # Errors
/// One sentence: it names it, and that cannot be changed without changing something else.
pub(crate) fn renamed(
    (kind, style): (Kind, &HeaderStyle),
    text: &str,
    naming: Naming,
    (old, new): (&str, &str),
) -> Result<Option<String>, String> {
    let read = |text: &str| read(kind, style, text).map_err(|fault| fault.why);
    let before = read(text)?;
    let mut wanted = before.clone();
    if naming.put(&mut wanted, old, new).is_none() {
        return Ok(None);
    }
    let means = |text: &str| read(text).is_ok_and(|meaning| meaning == wanted);
    let leads_there = |text: &str| {
        read(text).is_ok_and(|mut meaning| {
            naming.put(&mut meaning, old, new);
            meaning == wanted
        })
    };
    let text = match naming {
        Naming::Calls => Some(replaced_where(text, old, new, leads_there)).filter(|it| means(it)),
        _ => replaced_once(text, old, new, means),
    };
    match text {
        Some(text) => Ok(Some(text)),
        None => Err(format!("`{old}` cannot be changed in it without changing something else")),
    }
}

impl Naming {
    /// Puts the new name into each place of a meaning that has the old one.
    fn put(self, meaning: &mut Meaning, old: &str, new: &str) -> Option<()> {
        match (self, &mut meaning.item) {
            (Self::Executor, Item::Tool(tool)) => {
                let id = tool.executor.as_mut().filter(|id| id.as_str() == old)?;
                *id = new.parse::<ItemId>().ok()?;
                *meaning.header.as_mut()?.get_mut("executor_id")? = new.into();
            }
            (Self::Category, Item::Tool(tool)) => {
                let text = tool.category.as_mut().filter(|text| **text == old)?;
                new.clone_into(text);
                *meaning.header.as_mut()?.get_mut("category")? = new.into();
            }
            (Self::Extends, Item::Directive(directive)) => {
                let id = directive.extends.as_mut().filter(|id| id.as_str() == old)?;
                *id = new.parse::<ItemId>().ok()?;
            }
            (Self::Category, Item::Directive(directive)) => {
                let text = directive.category.as_mut().filter(|text| **text == old)?;
                new.clone_into(text);
            }
            (Self::Name, Item::Directive(directive)) => {
                let text = directive.name.as_mut().filter(|text| **text == old)?;
                new.clone_into(text);
            }
            (Self::Calls, Item::Directive(directive)) => {
                let all = directive.actions.iter_mut().flat_map(|action| &mut action.attributes);
                let items = all.filter(|(name, _)| name == "item_id" || name == "item");
                let named = items.map(|(_, item)| item).filter(|item| without_kind(item) == old);
                return named.map(|item| *item = item.replace(old, new)).last();
            }
            _ => return None,
        }
        Some(())
    }
}

/// The content of a file, without positions.
#[derive(Debug, Clone, PartialEq)]
struct Meaning {
    item: Item,
    header: Option<serde_json::Map<String, serde_json::Value>>,
    unknown: Vec<String>,
}

fn read(kind: Kind, style: &HeaderStyle, text: &str) -> Result<Meaning, ParseFault> {
    let item = parse(kind, style, text, || text.to_owned())?;
    // Unknown keys mean something to other readers, so they count too.
    let header = (kind == Kind::Tool).then(|| header(text, style)).transpose()?;
    let mut unknown = Vec::new();
    let item = match item {
        Item::Directive(directive) => {
            unknown = directive.unknown.iter().map(|(name, _)| name.clone()).collect();
            let nowhere = crate::base::text::Position { line: 1, column: 1 };
            Item::Directive(Box::new(Directive {
                unknown: Vec::new(),
                fence: nowhere,
                root: nowhere,
                body_start: 0,
                ..*directive
            }))
        }
        other => other,
    };
    unknown.sort();
    Ok(Meaning { item, header, unknown })
}

fn without_kind(item: &str) -> &str {
    item.split_once(':').map_or(item, |(_, id)| id)
}

/// The text with one `old` replaced, as a whole word of ids: the first for which `is_wanted`.
fn replaced_once(
    text: &str,
    old: &str,
    new: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<String> {
    let at: Box<dyn Iterator<Item = usize>> = match old {
        "" => Box::new(empty_places(text)),
        _ => Box::new(places(text, old)),
    };
    let mut all = at.take(PLACES).map(|at| replaced_at(text, at, old, new));
    all.find(|other| is_wanted(other))
}

/// How many places of a text are tried one by one, each of which reads the text again.
const PLACES: usize = 100;

/// The text with each `old` replaced, as a whole word of ids, and only those of which `is_right`
/// where it is not so with all of them. Where they are too many to be tried, the text as it is.
pub(crate) fn replaced_where(
    text: &str,
    old: &str,
    new: &str,
    is_right: impl Fn(&str) -> bool,
) -> String {
    let all = replaced_all(text, old, new);
    if is_right(&all) {
        return all;
    }
    let mut now = text.to_owned();
    let places: Vec<_> = places(text, old).take(PLACES + 1).collect();
    if places.len() <= PLACES {
        // From the end, so that the places before it stay where they are.
        for at in places.into_iter().rev() {
            let other = replaced_at(&now, at, old, new);
            if is_right(&other) {
                now = other;
            }
        }
    }
    now
}

fn replaced_at(text: &str, at: usize, old: &str, new: &str) -> String {
    format!("{}{new}{}", &text[..at], &text[at + old.len()..])
}

fn replaced_all(text: &str, old: &str, new: &str) -> String {
    let (mut all, mut done) = (String::with_capacity(text.len()), 0);
    for at in places(text, old) {
        all.push_str(&text[done..at]);
        all.push_str(new);
        done = at + old.len();
    }
    all + &text[done..]
}

/// Where an id stands in a text as a whole, and not as a part of another one.
pub(crate) fn places<'t>(text: &'t str, id: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "_-/".contains(c);
    text.match_indices(id).map(|(at, _)| at).filter(move |at| {
        let rest = &text[at + id.len()..];
        // A full stop ends a sentence, unless a letter follows.
        let goes_on = rest.strip_prefix('.').unwrap_or(rest).starts_with(is_inner);
        !id.is_empty() && !goes_on && !text[..*at].ends_with(|c| is_inner(c) || c == '.')
    })
}

/// Where a text may have an empty value; what rye reads stands near the beginning of a file.
fn empty_places(text: &str) -> impl Iterator<Item = usize> + '_ {
    const MOST: usize = 100;
    let pairs = text.as_bytes().windows(2).enumerate();
    let empty = pairs.filter(|(_, pair)| matches!(*pair, b"\"\"" | b"''" | b"><"));
    empty.map(|(at, _)| at + 1).take(MOST)
}

#[cfg(test)]
mod tests {
    use super::{Naming, places, renamed};
    use crate::id::Kind;
    use crate::space::HeaderStyle;

    #[test]
    fn an_id_stands_as_a_whole_or_not_at_all() {
        let rows = [
            ("a/b", 1),
            ("use a/b.", 1),
            ("'a/b' \"a/b\" tool:a/b@user", 3),
            ("a/bc x/a/b a/b/c a/b-c .a/b a/b.c", 0),
        ];
        for (text, want) in rows {
            assert_eq!(places(text, "a/b").count(), want, "{text}");
        }
    }

    #[test]
    fn a_name_is_changed_where_it_names_and_nowhere_else() {
        let yaml = "# a/b is below\ndescription: a/b\nexecutor_id: a/b\ncategory: a/b\n";
        let python = "\"\"\"a/b\"\"\"\n__executor_id__ = \"a/b\"\n__category__ = 'a/b'\n";
        let block = "#!/bin/sh\n# /// rye\n# category = \"a/b\"\n# executor_id = \"a/b\"\n# ///\n\
                     echo a/b\n";
        let shell = HeaderStyle::Block { comment: "#".into() };
        let rows = [(HeaderStyle::Yaml, yaml), (HeaderStyle::Python, python), (shell, block)];
        for (style, text) in rows {
            for (naming, key) in [(Naming::Executor, "executor_id"), (Naming::Category, "category")]
            {
                let got = renamed((Kind::Tool, &style), text, naming, ("a/b", "c"));
                let got = got.unwrap().expect("it is named");
                let changed: Vec<_> =
                    text.lines().zip(got.lines()).filter(|(old, new)| old != new).collect();
                assert_eq!(changed.len(), 1, "{got}");
                assert!(changed[0].1.contains(key) && changed[0].1.contains('c'), "{got}");
            }
            let other = renamed((Kind::Tool, &style), text, Naming::Executor, ("x", "c"));
            assert_eq!(other, Ok(None));
        }
        let directive = "# Go\n\n```xml\n<directive name=\"go\" version=\"1.0.0\" extends=\"a/go\">\n\
                         <metadata><category>a</category></metadata>\n\
                         <process><execute item_type=\"tool\" item_id=\"a/go\"/></process>\n\
                         </directive>\n```\n\nCall a/go.\n";
        let rows = [
            (Naming::Extends, "a/go", "extends=\"x/y\""),
            (Naming::Calls, "a/go", "item_id=\"x/y\""),
            (Naming::Name, "go", "name=\"x/y\""),
            (Naming::Category, "a", "<category>x/y<"),
        ];
        for (naming, old, want) in rows {
            let of = (Kind::Directive, &HeaderStyle::Markdown);
            let got = renamed(of, directive, naming, (old, "x/y")).unwrap().expect("it is named");
            assert!(got.contains(want) && got.contains("Call a/go."), "{got}");
        }
    }
}
