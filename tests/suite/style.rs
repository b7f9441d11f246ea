//! How the source is written: names that mean one thing, comments of one width, plain messages.
//! Each rule has a list or a number of what does not keep it yet; both only shrink.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::files;

/// Names that several types have, each to be told apart by name.
const SHARED_NAMES: &[&str] = &[
    "Asked", "Context", "Ended", "Event", "Fault", "Finding", "Listed", "Place", "Staged", "State",
    "Unfit", "Verdict", "Wanted",
];

/// The most methods that a type may have, over all its own `impl` blocks.
const METHODS: usize = 25;

/// Types that have more, by their folder, and how many they may have; to be cut.
const MANY_METHODS: &[(&str, usize)] = &[
    ("src/dev Session", 41),
    ("src/lsp Session", 28),
    ("src/trust TrustStore", 40),
];

/// Messages that are left which say that something "is no" such thing.
const IS_NO: usize = 121;

#[test]
fn no_two_types_that_leave_their_module_have_one_name() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in files("src", "rs") {
        for line in text.lines() {
            let line = line.trim_start();
            let Some(line) = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")) else {
                continue;
            };
            let words = ["struct ", "enum ", "trait ", "type "];
            let Some(name) = words.into_iter().find_map(|word| line.strip_prefix(word)) else {
                continue;
            };
            let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
            places.entry(name).or_default().insert(file.clone());
        }
    }
    assert!(places.len() > 300, "the rule looked at {} types only", places.len());
    places.retain(|name, files| files.len() > 1 && !SHARED_NAMES.contains(&name.as_str()));
    assert!(places.is_empty(), "types of one name: {places:?}");
}

/// The lines of `src` that `is_left` tells, each with its place.
fn left(is_left: impl Fn(&str) -> bool) -> Vec<String> {
    let mut left = Vec::new();
    for (file, text) in files("src", "rs") {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_left(line)) {
            left.push(format!("{file}:{}: {}", number + 1, line.trim()));
        }
    }
    left
}

#[test]
fn a_comment_line_has_at_most_100_columns() {
    // A row of a table is one line.
    let is_wide = |line: &str| {
        let line_is_comment = line.trim_start().starts_with("//");
        line_is_comment && !line.contains("//! |") && line.chars().count() > 100
    };
    assert!(is_wide(&format!("// {}", "x".repeat(98))) && !is_wide(&"x".repeat(101)));
    let wide = left(is_wide);
    assert!(wide.is_empty(), "too wide: {wide:#?}");
}

#[test]
fn a_message_says_that_something_is_not_a_thing_and_not_that_it_is_no_thing() {
    let is_no = |line: &str| {
        let code = line.trim_start();
        let said = code.replace("there is no ", "");
        !code.starts_with("//") && said.contains('"') && said.contains(" is no ")
    };
    assert!(
        is_no("\"`x` is no item id\"") && !is_no("\"there is no key\"") && !is_no("// is no \"")
    );
    let messages = left(is_no);
    assert!(messages.len() <= IS_NO, "{} are not plain: {messages:#?}", messages.len());
}

/// The type of an `impl` block that is not one of a trait, by its first line.
fn own_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    // Generics of the block itself.
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    (!line.contains(" for ")).then_some(&rest[..end])
}

#[test]
fn a_type_answers_one_question_and_so_has_few_methods() {
    assert_eq!(own_impl("impl<'a> Loader<'a> {"), Some("Loader"));
    assert_eq!(own_impl("impl Rye {"), Some("Rye"));
    assert_eq!(own_impl("impl<T: Sized> From<T> for Rye {"), None);
    let mut methods: BTreeMap<String, usize> = BTreeMap::new();
    for (file, text) in files("src", "rs") {
        let (folder, _) = file.rsplit_once('/').unwrap();
        let mut block = None;
        for line in text.lines() {
            if line.starts_with("impl") {
                block = own_impl(line);
            } else if line.starts_with('}') {
                block = None;
            }
            let item = line.strip_prefix("    ").filter(|rest| !rest.starts_with([' ', '/', '#']));
            let is_method = item.is_some_and(|item| format!(" {item}").contains(" fn "));
            if let Some(name) = block.filter(|_| is_method) {
                *methods.entry(format!("{folder} {name}")).or_default() += 1;
            }
        }
    }
    assert!(methods.len() > 200, "the rule looked at {} types only", methods.len());
    let mut largest: Vec<(&String, &usize)> = methods.iter().collect();
    largest.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    println!("the largest types: {:#?}", &largest[..10]);
    let allowed = |name: &str| {
        let many = MANY_METHODS.iter().find(|(many, _)| *many == name);
        many.map_or(METHODS, |(_, count)| *count)
    };
    largest.retain(|(name, count)| **count > allowed(name));
    assert!(largest.is_empty(), "more than {METHODS} methods: {largest:#?}");
}
