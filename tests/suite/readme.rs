//! The README and the tour are true: each walk is run, block by block, and prints what it says.

use std::fs;
use std::path::Path;

use crate::world::World;

/// A fenced block: its info string and its text.
pub fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        found.push((info.to_owned(), body.join("\n")));
    }
    found
}

const README: &str = "README.md";
const TOUR: &str = ".ai/knowledge/rye/tour.md";

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// What stands below a heading, up to the next.
pub fn section(text: &str, title: &str) -> String {
    let behind = text.split(&format!("## {title}\n")).nth(1).unwrap();
    behind.split("\n## ").next().unwrap().to_owned()
}

/// Whether a line is what the page says; `[..]` stands for anything.
fn fits(line: &str, said: &str) -> bool {
    let mut parts = said.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Runs the blocks of a section, each of which must print what stands below it; gives how many.
#[track_caller]
fn walk(world: &World, path: &str, section: &str) -> usize {
    let text = page(path);
    let blocks = blocks(&self::section(&text, section));
    let mut run = 0;
    for pair in blocks.windows(2) {
        let [(first, script), (second, said)] = pair else { continue };
        if (first.as_str(), second.as_str()) != ("sh", "text") {
            continue;
        }
        let got = world.shell(script);
        let (got_lines, said_lines): (Vec<_>, Vec<_>) =
            (got.lines().collect(), said.lines().collect());
        let same = got_lines.len() == said_lines.len()
            && got_lines
                .iter()
                .zip(&said_lines)
                .all(|(got, said)| fits(got.trim_end(), said.trim_end()));
        assert!(same, "the page says\n{said}\n\nrye says\n{got}");
        run += 1;
    }
    let scripts = blocks.iter().filter(|(info, _)| info == "sh").count();
    assert_eq!(run, scripts, "each block says what it prints");
    run
}

#[test]
fn the_five_minutes_print_what_the_readme_says() {
    assert!(walk(&World::empty(), README, "Five minutes") >= 4, "the walk was found");
}

#[test]
fn the_tour_prints_what_the_page_says() {
    let world = World::empty();
    assert!(walk(&world, TOUR, "Five minutes") >= 8, "the walk was found");
    // It goes on in the same project.
    assert!(walk(&world, TOUR, "Every day") >= 2, "the section was found");
    assert!(walk(&world, TOUR, "Programs in any language") >= 1, "the section was found");
}

#[test]
fn the_readme_is_read_in_a_sitting() {
    let bytes = page(README).len();
    assert!(bytes <= 15 * 1024, "{bytes} bytes");
}

#[test]
fn the_two_commands_are_those_of_ci_and_the_issue() {
    let text = page(README);
    let commands = text.split("## Two commands").nth(1).unwrap();
    let (_, script) = blocks(commands).into_iter().next().unwrap();
    let lines: Vec<_> = script.lines().collect();
    assert_eq!(lines.len(), 2, "two commands");
    // The first, with the binary that these tests were built with.
    let words = lines[0].strip_prefix("cargo run -- ").unwrap();
    crate::sandbox::needed();
    assert_eq!(World::empty().shell(&format!("rye {words}")), "hello\n");
    let ci = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
    assert!(ci.contains(lines[1]), ".ci/run calls `{}`", lines[1]);
}
