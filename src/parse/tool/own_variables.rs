//! Variables that are taken: rye's own, which a signed item cannot set, request or receive, and
//! those that steer programs.

use crate::host::{RUN_VAR, THREAD_VAR};

/// Variables that decide about trust. Rye reads them and never passes them to a child.
pub(crate) const KEPT_BACK: [&str; 4] =
    ["USER_SPACE", "RYE_SYSTEM_SPACE", "RYE_DEV_MODE", "RYE_SIGNING_KEY"];

/// The folders of packages that a child may load from, as a JSON list.
pub(crate) const DEPS_VAR: &str = "RYE_DEPS";

/// The private folder of the run.
pub(crate) const PIN_VAR: &str = "RYE_PIN";

/// Variables that rye alone sets for a child.
const TOLD: [&str; 7] =
    ["RYE_PROJECT", "RYE_ITEM", "RYE_ITEM_PATH", RUN_VAR, THREAD_VAR, DEPS_VAR, PIN_VAR];

/// Returns true if rye itself sets the variable.
pub(super) fn is_own(name: &str) -> bool {
    KEPT_BACK.contains(&name) || TOLD.contains(&name)
}

/// Names that decide what a program loads, trusts or talks to.
const LOADERS: &[&str] = &[
    "PATH",
    "HOME",
    "IFS",
    "ENV",
    "USER_SPACE",
    "CLASSPATH",
    "ZDOTDIR",
    "SHELLOPTS",
    "PHPRC",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
];

/// The beginnings of more names of that kind.
const LOADER_FAMILIES: &[&str] = &[
    "LD_", "DYLD_", "PYTHON", "NODE_", "PERL", "RUBY", "LUA_", "BASH_", "GIT_", "SSL_", "GLIBC_",
    "RYE_", "OPENSSL_", "JAVA_", "JDK_", "_JAVA_", "DOTNET_", "GEM_", "BUNDLE_", "GCONV_",
];

/// Returns true if a variable decides what a program loads, trusts or talks to: a project's `.env`
/// cannot set it, and no endpoint may have its name.
pub(crate) fn is_loader(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    LOADERS.contains(&upper.as_str())
        || LOADER_FAMILIES.iter().any(|family| upper.starts_with(family))
        || upper.ends_with("_PROXY")
        || upper.ends_with("_CA_BUNDLE")
}

/// Variables that every program has for another purpose.
const OF_ALL: [&str; 10] =
    ["HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR", "PWD", "PATH"];

/// Returns true if a variable means something else already, so that no service may have its name.
pub(super) fn is_taken(name: &str) -> bool {
    is_own(name) || is_loader(name) || OF_ALL.contains(&name) || name.starts_with("LC_")
}
