//! Lines that fit a terminal: broken between words, in columns that stay below each other.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr;

/// The columns between two parts of a row, at the least.
const GAP: usize = 2;

/// How far in a line goes on that has no columns.
const HANG: usize = 4;

/// The columns that a tab takes at most.
const TAB: usize = 8;

/// First character of a code for colours, which ends with `m`.
const ESCAPE: char = '\u{1b}';

/// The kind of a text, which says where the rest of a line goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Sentences, and rows of which the last column goes on below itself.
    Rows,
    /// As `Rows`, but labels end at this column and one space stands behind them.
    Labels(usize),
    /// Markdown.
    Page,
}

/// The text in lines of at most so many columns, broken at spaces alone: a path, a digest or a URL
/// is whole, also where it is wider. What stands in backticks is whole where it can be, so that a
/// command can still be copied. A line that fits is left as it is, and so is each line of a page
/// that belongs to a program or to the front matter; the tables of a page are laid out.
pub(crate) fn fold(text: &str, columns: usize, shape: Shape) -> Cow<'_, str> {
    let is_page = shape == Shape::Page;
    let has_table = is_page && text.lines().any(|line| line.starts_with('|'));
    if !has_table && text.lines().all(|line| width(line) <= columns) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut lines = text.split_inclusive('\n').peekable();
    // The mark that ends the program or the front matter that this line is in.
    let mut end_mark = (is_page && text.starts_with("---\n")).then_some("---");
    if end_mark.is_some() {
        out.extend(lines.next());
    }
    while let Some(line) = lines.next() {
        let bare = line.trim();
        if let Some(mark) = end_mark {
            let rest = bare.strip_prefix(mark);
            let is_end = rest.is_some_and(|rest| rest.bytes().all(|b| mark.as_bytes()[0] == b));
            end_mark = end_mark.filter(|_| !is_end);
            out.push_str(line);
            continue;
        }
        let behind = bare.trim_start_matches(['`', '~']);
        end_mark = Some(&bare[..bare.len() - behind.len()]).filter(|it| is_page && it.len() >= 3);
        if is_page && bare.starts_with('|') && lines.peek().is_some_and(|next| is_rule(next)) {
            let mut rows = vec![cells(line)];
            lines.next();
            while let Some(row) = lines.next_if(|next| next.trim_start().starts_with('|')) {
                rows.push(cells(row));
            }
            lay_out(&rows, columns, &mut out);
            continue;
        }
        if end_mark.is_some() || width(line.trim_end_matches('\n')) <= columns {
            out.push_str(line);
            continue;
        }
        let mut line = Cow::Borrowed(line);
        while let Some(next) = lines.next_if(|next| goes_on(&line, next, shape)) {
            line = Cow::Owned(format!("{} {}", line.trim_end(), next.trim_start()));
        }
        let end = line.len() - line.trim_end_matches('\n').len();
        let (line, end) = line.split_at(line.len() - end);
        fold_line(line, columns, shape, &mut out);
        out.push_str(end);
    }
    Cow::Owned(out)
}

/// Says if a line separates the head of a table from its rows.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('|') && line.contains('-') && line.chars().all(|c| "|-: ".contains(c))
}

/// The cells of a row of a table.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|');
    let row = row.strip_suffix('|').filter(|row| !row.ends_with('\\')).unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for c in row.chars() {
        match c {
            '|' if !is_escaped => cells.push(String::new()),
            _ => {
                let last = cells.len() - 1;
                if c == '|' {
                    cells[last].pop();
                }
                cells[last].push(c);
            }
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Writes a table whose first row is its head; a cell that is too wide goes on below itself.
fn lay_out(rows: &[Vec<String>], columns: usize, out: &mut String) {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |at: usize, of: &dyn Fn(&str) -> usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| of(cell)).max().unwrap_or(0)
    };
    let longest = |cell: &str| cell.split(' ').map(width).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..count).map(|at| widest(at, &width)).collect();
    let least: Vec<usize> = (0..count).map(|at| widest(at, &longest)).collect();
    let room = columns.saturating_sub(GAP * count.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let can_shrink = (0..count).filter(|at| widths[*at] > least[*at]);
        let Some(at) = can_shrink.max_by_key(|at| widths[*at]) else { break };
        widths[at] -= 1;
    }
    for (number, row) in rows.iter().enumerate() {
        let folded: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| {
                let mut folded = String::new();
                fold_line(cell, *width, Shape::Page, &mut folded);
                folded
            })
            .collect();
        let height = folded.iter().map(|cell| cell.lines().count()).max().unwrap_or(0);
        for line in 0..height {
            let mut written = String::new();
            for (cell, room) in folded.iter().zip(&widths) {
                let text = cell.lines().nth(line).unwrap_or_default();
                let gap = (room + GAP).saturating_sub(width(text));
                written.push_str(text);
                written.extend(std::iter::repeat_n(' ', gap));
            }
            out.push_str(written.trim_end());
            out.push('\n');
        }
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            out.push_str(&rules.join(&" ".repeat(GAP)));
            out.push('\n');
        }
    }
}

/// Returns true if the line `next` goes on with the sentence of `line`: in a paragraph, or behind a
/// label.
fn goes_on(line: &str, next: &str, shape: Shape) -> bool {
    let rest = next.trim_start();
    let begins_another = || rest.starts_with(['#', '|', '>', '<', '-', '*', '+', '`', '~']);
    let is_numbered = || rest.split(' ').next().is_some_and(is_number);
    let indent = line.len() - line.trim_start_matches(' ').len();
    let first = line[indent..].split(' ').next().unwrap_or_default();
    let behind = indent + first.len() + 1;
    let below = match shape {
        _ if rest.is_empty() => return false,
        Shape::Page if begins_another() || is_numbered() => return false,
        Shape::Page if is_mark(first) => behind,
        Shape::Page => indent,
        _ if is_label(first) => behind,
        _ => return false,
    };
    next.len() - next.trim_start_matches(' ').len() == below
}

/// `-`, `*` or `1.`, behind which a point of a list stands.
fn is_mark(word: &str) -> bool {
    matches!(word, "-" | "*") || is_number(word)
}

fn is_number(word: &str) -> bool {
    word.strip_suffix('.').is_some_and(|number| number.parse::<u8>().is_ok())
}

/// `next:`, behind which a sentence stands.
fn is_label(word: &str) -> bool {
    let word = word.strip_suffix(':').unwrap_or_default();
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase())
}

/// The line as a terminal shows it, without the codes for colours.
fn shown(line: &str) -> Cow<'_, str> {
    if !line.contains(ESCAPE) {
        return Cow::Borrowed(line);
    }
    let mut parts = line.split(ESCAPE);
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, rest)| rest));
    Cow::Owned(std::iter::once(first).chain(rest).collect())
}

/// The columns that a line takes.
fn width(line: &str) -> usize {
    let tabs = line.matches('\t').count();
    shown(line).width() + tabs * (TAB - 1)
}

/// A word, and what stands before it.
struct Word<'t> {
    /// Spaces, and codes for colours.
    lead: &'t str,
    /// The number of the spaces.
    gap: usize,
    text: &'t str,
    width: usize,
}

/// How much of a text is spaces and codes for colours.
fn lead(text: &str, is_space: impl Fn(char) -> bool) -> usize {
    let mut rest = text;
    loop {
        let next = rest.trim_start_matches(&is_space);
        rest = match next.strip_prefix(ESCAPE).and_then(|code| code.split_once('m')) {
            Some((_, rest)) => rest,
            None => return text.len() - next.len(),
        };
    }
}

/// The words of a line. What stands in backticks counts as one if it takes at most `room` columns.
fn words(line: &str, room: usize) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let (mut rest, mut in_pieces) = (line, 0);
    while !rest.is_empty() {
        let (before, behind) = rest.split_at(lead(rest, |c| c == ' '));
        let whole = whole_word(behind);
        if whole > 0 && width(&behind[..whole]) > room {
            in_pieces = in_pieces.max(before.len() + whole);
        }
        let plain = behind.find(' ').unwrap_or(behind.len());
        let end = if before.len() < in_pieces { plain } else { whole };
        let (text, behind) = behind.split_at(end);
        let gap = before.matches(' ').count();
        words.push(Word { lead: before, gap, text, width: width(text) });
        in_pieces = in_pieces.saturating_sub(before.len() + end);
        rest = behind;
    }
    words
}

/// Where the first word ends, whose spaces in backticks do not end it.
fn whole_word(text: &str) -> usize {
    let mut at = 0;
    loop {
        at += text[at..].find([' ', '`']).unwrap_or(text.len() - at);
        if !text[at..].starts_with('`') {
            return at;
        }
        at += 1;
        at += text[at..].find('`').map_or(0, |end| end + 1);
    }
}

fn fold_line(line: &str, columns: usize, shape: Shape, out: &mut String) {
    let is_branch = |c: char| matches!(c, ' ' | '│' | '├' | '└' | '─');
    let (branch, rest) = line.split_at(lead(line, is_branch));
    let indent = width(branch);
    let words = words(rest, columns.saturating_sub(indent + HANG));
    let hang = hang(&words, indent, columns, shape);
    // What the branch is of goes on beside its other branches.
    let branches = shown(branch);
    let below = branches.chars().map(|c| if matches!(c, '│' | '├') { '│' } else { ' ' });
    let below: String = below.chain(std::iter::repeat(' ')).take(hang).collect();
    out.push_str(branch);
    let mut used = indent;
    for (at, word) in words.iter().enumerate() {
        // A column of a row is not broken if it fits on a line of its own.
        let column = words[at + 1..].iter().take_while(|next| next.gap < GAP);
        let column = word.width + column.map(|next| next.gap + next.width).sum::<usize>();
        let is_column = shape != Shape::Page && word.gap >= GAP;
        let is_kept = is_column && used + word.gap > hang && hang + column <= columns;
        let needed = word.gap + if is_kept { column } else { word.width };
        if at > 0 && word.width > 0 && used + needed > columns {
            out.push('\n');
            out.push_str(&below);
            out.extend(word.lead.chars().filter(|c| *c != ' '));
            used = hang;
        } else {
            out.push_str(word.lead);
            used += word.gap;
        }
        out.push_str(word.text);
        used += word.width;
    }
}

/// The column in which the rest of a line goes on.
fn hang(words: &[Word<'_>], indent: usize, columns: usize, shape: Shape) -> usize {
    let mut end = indent;
    let starts = words.iter().map(|word| {
        let start = end + word.gap;
        end = start + word.width;
        (word.gap, start)
    });
    let starts: Vec<_> = starts.skip(1).collect();
    let first = words.first().map_or(Cow::Borrowed(""), |word| shown(word.text));
    let second = starts.first().map_or(indent, |(_, start)| *start);
    let is_column = |(gap, start): &&(usize, usize)| *gap >= GAP && *start <= columns / 2;
    let last_column = || starts.iter().rfind(is_column).map(|(_, start)| *start);
    let has_label = |at: usize| {
        let is_within = |(gap, start): &(usize, usize)| *gap >= GAP && *start <= at;
        indent > 0 && starts.contains(&(1, at + 1)) && !starts.iter().any(is_within)
    };
    let hang = match shape {
        _ if is_mark(&first) => second,
        Shape::Page => indent,
        // A sentence that stands alone.
        Shape::Labels(_) if indent == 0 && starts.iter().all(|(gap, _)| *gap < GAP) => 0,
        Shape::Labels(at) if has_label(at) => at + 1,
        _ => last_column().unwrap_or(if is_label(&first) { second } else { indent + HANG }),
    };
    // So that a long path or digest is not broken by the terminal, it stands further to the left.
    let longest = words.iter().skip(1).map(|word| word.width).max().unwrap_or(0);
    if longest > columns { hang } else { hang.min(columns - longest) }
}

#[cfg(test)]
mod tests {
    use super::{Shape, fold, width};

    #[test]
    fn lines_are_folded_between_words_and_commands_are_whole_where_they_can_be() {
        let rows = [
            (
                "error[a.b]: one two three\n  help: run `rye trust accept 14c4` and read on\nshort\n",
                "error[a.b]: one two\n    three\n  help: run `rye\n        trust accept\n        14c4` and\n        read on\nshort\n",
            ),
            ("a `b c d e` f `g", "a `b c d e` f `g"),
            ("one two three `b c d` f `g h i", "one two three\n    `b c d` f `g h i"),
            ("painted \u{1b}[1mone\u{1b}[0m two", "painted \u{1b}[1mone\u{1b}[0m two"),
            ("漢字漢字 漢字 漢字 漢字", "漢字漢字 漢字 漢字\n    漢字"),
            ("/a/path/that/is/too/long and more", "/a/path/that/is/too/long\n    and more"),
            ("at /a/path/too/long/x", "at\n  /a/path/too/long/x"),
        ];
        for (text, want) in rows {
            assert_eq!(fold(text, 20, Shape::Rows), want);
            assert_eq!(fold(text, 80, Shape::Rows), text);
        }
    }

    #[test]
    fn columns_labels_branches_and_marks_go_on_below_themselves() {
        let rows = [
            (Shape::Rows, "name  one two three four", "name  one two three\n      four"),
            (Shape::Rows, "name  project  one/two", "name  project\n      one/two"),
            (Shape::Rows, "note: one two three four", "note: one two three\n      four"),
            (Shape::Rows, "│  ├─ one two three four", "│  ├─ one two three\n│  │      four"),
            (Shape::Rows, "│  └─ one two three four", "│  └─ one two three\n│         four"),
            (Shape::Labels(8), "one two three four five", "one two three four\nfive"),
            (Shape::Labels(8), "      in one/two three", "      in one/two\n         three"),
            (
                Shape::Labels(8),
                "\u{1b}[2m      in\u{1b}[0m one/two three",
                "\u{1b}[2m      in\u{1b}[0m one/two\n         three",
            ),
            (Shape::Page, "- one two three four five", "- one two three four\n  five"),
            (Shape::Page, "one.  Two three four five", "one.  Two three four\nfive"),
            (
                Shape::Page,
                "one two three four five\nsix\n\nseven",
                "one two three four\nfive six\n\nseven",
            ),
            (
                Shape::Page,
                "- one two three four five\n  six\n- seven",
                "- one two three four\n  five six\n- seven",
            ),
            (Shape::Page, "one two three four five\n| six |", "one two three four\nfive\n| six |"),
            (
                Shape::Rows,
                "next: one two three four\n      five",
                "next: one two three\n      four five",
            ),
            (
                Shape::Rows,
                "a  one two three four five\n   six",
                "a  one two three\n   four five\n   six",
            ),
            (
                Shape::Page,
                "```\none two three four five\n```\none two three four five",
                "```\none two three four five\n```\none two three four\nfive",
            ),
            (
                Shape::Page,
                "````md\n```\none two three four five\n```\none two three four five\n````",
                "````md\n```\none two three four five\n```\none two three four five\n````",
            ),
            (
                Shape::Page,
                "---\ntags: [one, two, three]\nx: 1\n---\none two three four five",
                "---\ntags: [one, two, three]\nx: 1\n---\none two three four\nfive",
            ),
            (
                Shape::Page,
                "| a | b |\n|---|:-:|\n| `x\\|y` | one two three four |\n|z|\nend\n",
                "a      b\n-----  -------------\n`x|y`  one two three\n       four\nz\nend\n",
            ),
        ];
        for (shape, text, want) in rows {
            assert_eq!(fold(text, 20, shape), want);
        }
    }

    #[test]
    fn only_spaces_become_line_ends_whatever_the_text_and_the_width() {
        let texts = [
            "",
            " ",
            "`",
            "a `b  c` d  \u{1b}[2m  e\u{1b}[0m  `f g h i j k l m` ``n o`` `p",
            "│ │  \u{1b}[2m├─ \u{1b}[0mone  two `a b`, three  ",
            "漢字 漢字  漢字: 漢字",
        ];
        let plain = |text: &str| {
            let text = text.replace(['│', '├', '└', '─'], " ");
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for (text, columns) in texts.iter().flat_map(|text| (0..60).map(move |c| (text, c))) {
            for shape in [Shape::Rows, Shape::Labels(4), Shape::Page] {
                let folded = fold(text, columns, shape);
                let words = |text: &str| plain(&super::shown(text));
                assert_eq!(words(&folded), words(text), "{columns} {shape:?}");
                for line in folded.lines().filter(|line| width(line.trim()) > columns) {
                    assert!(!plain(&super::shown(line)).contains(' '), "{columns} {folded}");
                }
            }
        }
    }
}
