//! Ranking, pages and what is kept, by example and by property.

use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};

use super::cache::Cache;
use super::rank::{Page, Wanted, search};
use super::rows::FILE;
use super::shelf::{Copied, Doc, Filling, Glance, Shelf};
use crate::id::{Kind, Ref, Space};
use crate::parse::Outline;
use crate::space::Stamp;

/// A shelf of knowledge pages, each an id and what it says.
fn shelf<'t>(pages: impl IntoIterator<Item = (&'t str, &'t str)>) -> Shelf {
    let docs = pages.into_iter().map(|(id, text)| {
        let item = Ref::new(Kind::Knowledge, id.parse().expect("an id"));
        let outline = Outline { description: Some(text.to_owned()), ..Outline::default() };
        (format!("{id}.md"), Doc::of(&item, Some(&outline)))
    });
    let docs: Vec<_> = docs.collect();
    let mut filling = Filling::new(Space::Project);
    filling.folder(Kind::Knowledge, "knowledge", Stamp::default());
    for (path, doc) in &docs {
        filling.file(Kind::Knowledge, path, Glance::default(), doc);
    }
    filling.done()
}

fn page(shelf: &Shelf, text: &str, limit: usize, cursor: Option<&str>) -> Page {
    let wanted = Wanted { text, filters: "", takes: &|_| true, is_hit: &|_| true, limit, cursor };
    search(&[shelf], &wanted).expect("a good search")
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
    /// Pages put together are the ranking of what did not change, whatever came and went in between.
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
            shelf(rows.map(|(id, text)| (id.as_str(), text.as_str())))
        };
        let first = all_of(&others[0]);
        let mut whole = ids(&page(&first, &query, 1_000, None));
        whole.retain(|id| id.starts_with("kept/"));
        let (mut got, mut cursor) = (Vec::new(), None::<String>);
        for others in others.iter().cycle().take(80) {
            let shelf = if cursor.is_none() { first.clone() } else { all_of(others) };
            let page = page(&shelf, &query, limit, cursor.as_deref());
            got.extend(ids(&page).into_iter().filter(|id| id.starts_with("kept/")));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        prop_assert_eq!(got, whole);
    }

    /// What is kept and read again ranks as it did, and a file that is kept beside others stays as it is.
    #[test]
    fn what_is_kept_is_what_was(pages in texts(20), query in "[a-z]{1,6} [a-z]{1,6}") {
        let pages = named("kept", &pages);
        let rows = || pages.iter().map(|(id, text)| (id.as_str(), text.as_str()));
        let before = shelf(rows());
        let cache = Cache::of("/".as_ref(), &[b"test"]);
        let bytes = cache.encode(&before);
        let after = cache.decode(bytes.clone(), Space::Project).expect("what was encoded");
        let mut filling = Filling::new(Space::Project);
        filling.folder(Kind::Knowledge, "knowledge", Stamp::default());
        let mut copied = Copied::of(&after);
        after.places().for_each(|at| filling.copy(&mut copied, at));
        let beside = filling.done();
        let want = ids(&page(&before, &query, 100, None));
        prop_assert_eq!(&ids(&page(&after, &query, 100, None)), &want);
        prop_assert_eq!(&ids(&page(&beside, &query, 100, None)), &want);
    }
}

#[test]
fn ranking_table() {
    let shelf = shelf([
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
        let mut got = ids(&page(&shelf, query, 100, None));
        let mut want: Vec<String> = want.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(got.first(), want.first(), "{query}: {got:?}");
        got.sort();
        want.sort();
        assert_eq!(got, want, "{query}");
    }
    // Ties, and no words at all, by id.
    assert_eq!(ids(&page(&shelf, "", 3, None)), ["a/deploy", "c/begins", "c/long"]);
}

#[test]
fn any_bytes_are_no_cursor_of_a_search() {
    let shelf = shelf([("a/b", "deploy"), ("a/c", "deploy")]);
    let next = page(&shelf, "deploy", 1, None).next.expect("a second page");
    for at in 0..next.len() {
        for sign in ["", "A", "-", "~", "é"] {
            let text = format!("{}{sign}{}", &next[..at], &next[at + 1..]);
            let wanted = Wanted {
                text: "deploy",
                filters: "",
                takes: &|_| true,
                is_hit: &|_| true,
                limit: 5,
                cursor: Some(&text),
            };
            // Another position in the same search is one that somebody made up; it shows nothing else.
            if let Ok(page) = search(&[&shelf], &wanted) {
                assert!(page.hits.len() <= 2 && page.total == 2, "{text}");
            }
        }
    }
}

#[test]
fn kept_words_that_would_cost_more_than_any_of_ours_are_as_good_as_none() {
    let cache = Cache::of("/".as_ref(), &[b"test"]);
    let decodes = |shelf: &Shelf| cache.decode(cache.encode(shelf), Space::Project).is_some();
    let good = shelf([("a/b", "deploy the site"), ("a/c", "deploy")]);
    assert!(decodes(&good), "the fixture is good");
    // Each file has all the words there are.
    let mut overlapping = good.clone();
    overlapping.rows.bytes[FILE + 12..FILE + 16].fill(0);
    assert!(!decodes(&overlapping), "words of two files");
    // Each folder has all the files there are.
    let mut again = good.clone();
    again.folders.push(good.folders[0]);
    assert!(!decodes(&again), "files of two folders");
    // A word is compared with each word of a query.
    let mut long = good.clone();
    long.terms.push_str(&"deploi".repeat(10_000));
    long.ends.push(u32::try_from(long.terms.len()).expect("few"));
    assert!(!decodes(&long), "a word without end");
}

#[test]
fn the_corpus_holds_kept_words_of_this_version() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/corpus/kept_words");
    let cache = Cache::of("/".as_ref(), &[b"fuzz"]);
    let files = std::fs::read_dir(folder).expect("a corpus");
    let shelves = files.filter_map(|file| {
        let body = std::fs::read(file.expect("a file").path()).expect("bytes");
        cache.decode(cache.with_head(&body), Space::Project)
    });
    let files: usize = shelves.map(|shelf| shelf.places().len()).sum();
    assert!(files > 0, "mutants of nothing find nothing");
}
