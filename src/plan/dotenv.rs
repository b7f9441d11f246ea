//! The project's `.env` (core 7.5): values that an accepted project gives to its own tools.

use std::collections::BTreeMap;

/// Why the file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvFault {
    #[error("line {0} of the project's `.env` is not a valid `NAME=value`")]
    Line(usize),
    #[error("line {0} of the project's `.env` is not UTF-8")]
    NotUtf8(usize),
    #[error("the project's `.env` begins with a byte order mark")]
    ByteOrderMark,
}

impl EnvFault {
    pub(super) fn line(self) -> usize {
        match self {
            Self::Line(line) | Self::NotUtf8(line) => line,
            Self::ByteOrderMark => 1,
        }
    }
}

/// The file as a text.
///
/// # Errors
/// The file is not plain UTF-8.
pub(super) fn text(bytes: &[u8]) -> Result<&str, EnvFault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes[..error.valid_up_to()].iter();
        EnvFault::NotUtf8(before.filter(|byte| **byte == b'\n').count() + 1)
    })?;
    if text.starts_with('\u{feff}') { Err(EnvFault::ByteOrderMark) } else { Ok(text) }
}

/// The wanted names of the file and their values, taken literally; the last of a repeated name
/// counts.
///
/// A line is `NAME=value`, with or without `export `; empty lines and those that begin with `#` are
/// passed over. One pair of quotes around a value is taken off; nothing is expanded.
///
/// # Errors
/// The number of a line that is none of these.
pub(super) fn read(
    text: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<BTreeMap<String, String>, usize> {
    let mut values = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = assignment(line).ok_or(at + 1)?;
        let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if name.is_empty() || !name.bytes().all(letter) || value.contains('\0') {
            return Err(at + 1);
        }
        if is_wanted(name) {
            values.insert(name.to_owned(), value.to_owned());
        }
    }
    Ok(values)
}

/// The name and the value of a line `NAME=value`, with or without `export `.
pub(crate) fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    Some((name.trim(), unquoted(value.trim())))
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::parse::is_loader;

    #[test]
    fn values_are_literal() {
        let text = "# words\n\nA=1\nexport B = two words \nC=\"q\"\nD='$HOME ${A} `x`'\nE=\nA=2\nF=a#b=c\nG=x";
        let got = read(text, |name| name != "G").unwrap();
        let got: Vec<_> = got.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            got,
            [
                ("A", "2"),
                ("B", "two words"),
                ("C", "q"),
                ("D", "$HOME ${A} `x`"),
                ("E", ""),
                ("F", "a#b=c"),
            ]
        );
        for (bad, line) in [("A", 1), ("A=1\n=x", 2), ("A B=1", 1), ("\n\nÄ=1", 3)] {
            assert_eq!(read(bad, |_| true), Err(line), "{bad:?}");
        }
    }

    #[test]
    fn what_loads_code_or_moves_trust_is_no_value() {
        for name in [
            "PATH",
            "HOME",
            "IFS",
            "ENV",
            "LD_PRELOAD",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "PERL5LIB",
            "RUBYOPT",
            "LUA_PATH",
            "BASH_ENV",
            "GIT_SSH_COMMAND",
            "HTTPS_PROXY",
            "no_proxy",
            "SSL_CERT_FILE",
            "GLIBC_TUNABLES",
            "RYE_PYTHON",
            "USER_SPACE",
            "path",
        ] {
            assert!(is_loader(name), "{name}");
        }
        for name in ["API_BASE_URL", "TOKEN", "ENVIRONMENT", "HOMEPAGE", "PROXY"] {
            assert!(!is_loader(name), "{name}");
        }
    }
}
