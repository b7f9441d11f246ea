//! How the source is written: names that mean one thing, comments of one width, plain messages.
//! A list of what does not keep a rule yet only shrinks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::tidy::{files, root};

/// The most methods that a type may have, over all its own `impl` blocks.
const METHODS: usize = 25;

/// Types that have more, by their folder, and how many they may have; to be cut.
const MANY_METHODS: &[(&str, usize)] =
    &[("src/dev Session", 41), ("src/lsp Session", 28), ("src/trust TrustStore", 40)];

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
    places.retain(|_, files| files.len() > 1);
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
    assert!(messages.is_empty(), "not plain: {messages:#?}");
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
    let allowed = |name: &str| {
        let many = MANY_METHODS.iter().find(|(many, _)| *many == name);
        many.map_or(METHODS, |(_, count)| *count)
    };
    largest.retain(|(name, count)| **count > allowed(name));
    assert!(largest.is_empty(), "more than {METHODS} methods: {largest:#?}");
}

/// Beginnings of doc comments that ask or point back instead of naming the thing.
const QUESTIONS: &[&str] = &["What ", "Whether ", "The same "];
/// Words that leave open who acts, or that a shorter word says as well.
const NOT_PLAIN: &[&str] = &["whoever", "nobody", "somebody", "comes to be", "in the place of"];

#[test]
fn comments_are_plain() {
    let asks = |line: &str| {
        let doc = line.trim_start();
        let text = doc.strip_prefix("/// ").or(doc.strip_prefix("//! ")).unwrap_or_default();
        QUESTIONS.iter().any(|word| text.starts_with(word))
    };
    let is_vague = |line: &str| {
        let comment = line.split_once("//").map_or("", |(_, comment)| comment).to_lowercase();
        NOT_PLAIN.iter().any(|word| comment.contains(word))
    };
    assert!(asks("    /// What it is.") && asks("//! Whether it is.") && !asks("// What it is."));
    assert!(is_vague("// Nobody asks.") && !is_vague("\"nobody\""));
    let (asking, vague) = (left(asks), left(is_vague));
    assert!(asking.is_empty(), "these do not name the thing: {asking:#?}");
    assert!(vague.is_empty(), "these do not say who: {vague:#?}");
}

#[test]
fn each_source_file_that_a_comment_or_a_page_names_is_there() {
    let mut texts = files("src", "rs");
    texts.extend(files(".ai/knowledge", "md"));
    texts.push(("README.md".into(), fs::read_to_string(root().join("README.md")).unwrap()));
    let (mut named, mut gone) = (0, Vec::new());
    for (file, text) in texts {
        let folder = Path::new(&file).parent().unwrap();
        let prose =
            |line: &&str| file.strip_suffix(".rs").is_none() || line.trim_start().starts_with("//");
        for name in text.lines().filter(prose).flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let is_path =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_/.".contains(&b);
            if name.strip_suffix(".rs").is_none()
                || !name.bytes().all(is_path)
                || name == "error.rs"
            {
                continue;
            }
            named += 1;
            let places =
                [Path::new(""), Path::new("src"), folder, folder.parent().unwrap_or(folder)];
            if !places.iter().any(|place| root().join(place).join(name).is_file()) {
                gone.push(format!("{file}: `{name}`"));
            }
        }
    }
    assert!(named > 100, "the rule looked at {named} names only");
    assert!(gone.is_empty(), "these files are gone: {gone:#?}");
}
