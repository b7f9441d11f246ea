//! The fuzz target for the head of a request.

use super::first_head::{BadHead, ended, judge};

/// A head is read and judged the same however it comes in pieces; what passes has lines that end in
/// one way, and one length of its body at the most.
pub(crate) fn first_head(data: &[u8]) {
    let Some((size, data)) = data.split_first() else { return };
    let whole = read(data, data.len().max(1));
    for size in [1, usize::from(*size).max(1)] {
        assert_eq!(read(data, size), whole, "in pieces of {size}");
    }
    let Ok(end) = whole else { return };
    let text = String::from_utf8_lossy(&data[..end]).into_owned();
    let head = text.strip_suffix("\r\n\r\n").expect("an empty line ends it");
    let lines: Vec<&str> = head.split("\r\n").collect();
    assert!(lines.iter().all(|line| !line.contains(['\r', '\n'])), "{text:?}");
    let says = |line: &&&str| {
        let name = line.split(':').next().unwrap_or_default().trim_matches([' ', '\t']);
        ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str())
    };
    assert!(lines.iter().filter(says).count() <= 1, "{text:?}");
}

/// Where the head ends, if it may be passed on.
fn read(data: &[u8], size: usize) -> Result<usize, BadHead> {
    let mut seen = 0;
    for end in (size..data.len() + size).step_by(size) {
        let first = &data[..end.min(data.len())];
        if let Some(end) = ended(first, seen)? {
            return judge(&first[..end]).map(|()| end);
        }
        seen = first.len().saturating_sub(3);
    }
    Err(BadHead::Missing)
}
