//! The name of a thread: `<directive id>/<name>-<UUIDv7>`.

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::base::random;
use crate::id::ItemId;

/// The name of one thread, which is also the path of its record.
///
/// Invariant: the id of a directive, its last segment once more, and a UUID of version 7 (RFC 9562)
/// in lower case; so it never leads out of the folder of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThreadId(String);

impl ThreadId {
    /// A name that no other thread has.
    ///
    /// # Errors
    /// An error of the system's randomness.
    pub(crate) fn new(directive: &ItemId) -> io::Result<Self> {
        Ok(Self(format!("{directive}/{}-{}", directive.name(), new_uuid()?)))
    }

    /// The id of the directive that runs as it.
    pub(crate) fn directive(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(directive, _)| directive)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A UUID of version 7 (RFC 9562), in lower case.
///
/// # Errors
/// An error of the system's randomness.
pub(crate) fn new_uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    random::fill(&mut bytes)?;
    let ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
    bytes[..6].copy_from_slice(&ms.to_be_bytes()[2..]);
    bytes[6] = 0x70 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    let hex = hex::encode(bytes);
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Ok(parts.join("-"))
}

/// Returns true if a text is the name of a detached run of a tool.
pub(crate) fn is_uuid(text: &str) -> bool {
    let fits = text.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'7',
        19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    });
    text.len() == 36 && fits
}

impl FromStr for ThreadId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (directive, last) = text.rsplit_once('/').ok_or(())?;
        let directive: ItemId = directive.parse().map_err(drop)?;
        let uuid = last.strip_prefix(directive.name()).and_then(|rest| rest.strip_prefix('-'));
        let is_its = directive.as_str() == &text[..directive.as_str().len()];
        if !uuid.is_some_and(is_uuid) || !is_its {
            return Err(());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::ThreadId;

    #[test]
    fn an_id_is_read_back_and_nothing_else_is_one() {
        let directive = "acme/look".parse().unwrap();
        let id = ThreadId::new(&directive).unwrap();
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        assert_ne!(ThreadId::new(&directive).unwrap(), id);
        let uuid = &id.as_str()["acme/look/look-".len()..];
        assert_eq!(uuid.len(), 36);
        for bad in [
            "",
            "acme/look",
            uuid,
            &format!("look-{uuid}"),
            &format!("acme/look/other-{uuid}"),
            &format!("acme/../look/look-{uuid}"),
            &format!("/acme/look/look-{uuid}"),
            &format!("acme/look/look-{}", uuid.to_uppercase()),
            &format!("acme/look/look-{}", &uuid[1..]),
            &format!("{id}/"),
            &format!("{id}\n"),
        ] {
            assert_eq!(bad.parse::<ThreadId>(), Err(()), "{bad:?}");
        }
    }

    #[test]
    fn h03_ids_made_in_one_millisecond_are_distinct() {
        let directive = "acme/look".parse().unwrap();
        let ids: Vec<_> =
            (0..20_000).map(|_| ThreadId::new(&directive).unwrap().to_string()).collect();
        let prefix = |id: &String| id["acme/look/look-".len()..][..13].to_owned();
        let moments: std::collections::BTreeSet<_> = ids.iter().map(prefix).collect();
        assert!(moments.len() * 2 < ids.len(), "several were made in one millisecond");
        let all: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(all.len(), ids.len());
    }

    #[test]
    fn ids_made_later_sort_later() {
        let directive = "a".parse().unwrap();
        let first = ThreadId::new(&directive).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(first.as_str() < ThreadId::new(&directive).unwrap().as_str());
    }
}
