//! Ranking and pages, by example and by property.

use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};

use super::rank::{Criteria, Page, search};
use super::segment::{Doc, Segment, SegmentBuilder};
use crate::id::{Kind, Ref, Space};
use crate::parse::Outline;
use crate::space::Entry;

/// A segment of knowledge pages, each an id and what it says.
fn segment<'t>(pages: impl IntoIterator<Item = (&'t str, &'t str)>) -> Segment {
    let mut builder = SegmentBuilder::default();
    for (id, text) in pages {
        let item = Ref::new(Kind::Knowledge, id.parse().expect("an id"));
        let entry = Entry { item, space: Space::Project, bundle: None, ext: "md".into() };
        let outline = Outline { description: Some(text.to_owned()), ..Outline::default() };
        builder.add(Doc::new(entry, Some(&outline), false));
    }
    builder.done()
}

fn page(segment: &Segment, text: &str, limit: usize, cursor: Option<&str>) -> Page {
    let criteria =
        Criteria { text, filters: "", takes: &|_| true, is_hit: &|_| true, limit, cursor };
    search(&[segment], &criteria).expect("a good search")
}

fn ids(page: &Page) -> Vec<String> {
    page.hits.iter().map(|hit| hit.entry.item.id.to_string()).collect()
}

const WORDS: [&str; 8] =
    ["deploy", "deployment", "site", "mail", "send", "customer", "invoice", "the"];

fn texts(most: usize) -> impl Strategy<Value = Vec<String>> {
    let text = proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..8);
    proptest::collection::vec(text.prop_map(|words| words.join(" ")), 0..most)
}

fn named(prefix: &str, texts: &[String]) -> Vec<(String, String)> {
    let rows = texts.iter().enumerate();
    rows.map(|(at, text)| (format!("{prefix}/{at:03}"), text.clone())).collect()
}

proptest! {
    /// Pages put together are the ranking of what did not change, whatever came and went in
    /// between.
    #[test]
    fn pages_hold_each_unchanged_item_once_and_in_its_order(
        pages in texts(30),
        others in proptest::collection::vec(texts(12), 40),
        query in proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..4),
        slip in any::<bool>(),
        limit in 1_usize..6,
    ) {
        let mut query = query.join(" ");
        if slip {
            query = query.replace("mail", "mial").replace("customer", "custmoer");
        }
        let pages = named("kept", &pages);
        let all_of = |others: &[String]| {
            let others = named("other", others);
            let rows = pages.iter().chain(&others);
            segment(rows.map(|(id, text)| (id.as_str(), text.as_str())))
        };
        let first = all_of(&others[0]);
        let mut whole = ids(&page(&first, &query, 1_000, None));
        whole.retain(|id| id.starts_with("kept/"));
        let (mut got, mut cursor) = (Vec::new(), None::<String>);
        for others in others.iter().cycle().take(80) {
            let segment = if cursor.is_none() { first.clone() } else { all_of(others) };
            let page = page(&segment, &query, limit, cursor.as_deref());
            got.extend(ids(&page).into_iter().filter(|id| id.starts_with("kept/")));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        prop_assert_eq!(got, whole);
    }
}

#[test]
fn ranking_table() {
    let segment = segment([
        ("a/deploy", "Publishes the site"),
        ("deploy/b", "Does something"),
        ("c/told", "Helps to deploy"),
        ("c/begins", "About deployments"),
        ("c/long", "deploy deploy deploy deploy deploy deploy and many other words beside it"),
        ("mail/send-to-all", "Writes letters"),
        ("file-system/read", "Reads"),
    ]);
    let rows: [(&str, &[&str]); 10] = [
        ("deploy", &["a/deploy", "deploy/b", "c/long", "c/told", "c/begins"]),
        ("site deploy", &["a/deploy", "deploy/b", "c/long", "c/told", "c/begins"]),
        ("deplyo", &["a/deploy", "deploy/b", "c/long", "c/told", "c/begins"]),
        ("filesystem", &["file-system/read"]),
        ("fileSystem", &["file-system/read"]),
        ("sendtoall", &["mail/send-to-all"]),
        ("lettres", &["mail/send-to-all"]),
        ("xyz", &[]),
        ("x", &[]),
        (" -- !", &[]),
    ];
    for (query, want) in rows {
        let mut got = ids(&page(&segment, query, 100, None));
        let mut want: Vec<String> = want.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(got.first(), want.first(), "{query}: {got:?}");
        got.sort();
        want.sort();
        assert_eq!(got, want, "{query}");
    }
    // Ties, and no words at all, by id.
    assert_eq!(ids(&page(&segment, "", 3, None)), ["a/deploy", "c/begins", "c/long"]);
}

#[test]
fn any_bytes_are_no_cursor_of_a_search() {
    let segment = segment([("a/b", "deploy"), ("a/c", "deploy")]);
    let next = page(&segment, "deploy", 1, None).next.expect("a second page");
    for at in 0..next.len() {
        for sign in ["", "A", "-", "~", "é"] {
            let text = format!("{}{sign}{}", &next[..at], &next[at + 1..]);
            let criteria = Criteria {
                text: "deploy",
                filters: "",
                takes: &|_| true,
                is_hit: &|_| true,
                limit: 5,
                cursor: Some(&text),
            };
            // Another position in the same search is an invented one; it shows nothing else.
            if let Ok(page) = search(&[&segment], &criteria) {
                assert!(page.hits.len() <= 2 && page.total == 2, "{text}");
            }
        }
    }
}
