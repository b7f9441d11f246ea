//! `file:` URIs and paths.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::base::text::uri_path;

/// The path of a `file:` URI of this machine; `None` for any other, and for one that is malformed.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let uri = fluent_uri::Uri::parse(uri).ok()?;
    let here = uri.authority().is_none_or(|a| matches!(a.host(), "" | "localhost"));
    if !uri.scheme().as_str().eq_ignore_ascii_case("file") || !here {
        return None;
    }
    let bytes = uri.path().decode().to_bytes().into_owned();
    let path = PathBuf::from(OsString::from_vec(bytes));
    let plain = path.components().all(|part| part != std::path::Component::ParentDir);
    (path.is_absolute() && plain && !path.as_os_str().as_bytes().contains(&0)).then_some(path)
}

/// The `file:` URI of an absolute path.
pub(super) fn uri_of(path: &Path) -> String {
    format!("file://{}", uri_path(path.as_os_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{path_of, uri_of};
    use std::path::Path;

    #[test]
    fn uris_table() {
        let rows = [
            ("file:///a/b.py", Some("/a/b.py")),
            ("FILE://localhost/a", Some("/a")),
            ("file:///a%20b/%C3%A4%25", Some("/a b/ä%")),
            ("file:/a", Some("/a")),
            ("file://host/a", None),
            ("file:a", None),
            ("file:///a/../b", None),
            ("file:///a/%2e%2e/b", None),
            ("file:///a%00", None),
            ("untitled:Untitled-1", None),
            ("http://x/a", None),
            ("no uri at all", None),
        ];
        for (uri, want) in rows {
            assert_eq!(path_of(uri).as_deref(), want.map(Path::new), "{uri}");
        }
        for path in ["/a b/ä%#?.py", "/"] {
            assert_eq!(path_of(&uri_of(Path::new(path))).as_deref(), Some(Path::new(path)));
        }
    }
}
