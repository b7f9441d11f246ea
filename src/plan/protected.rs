//! Places that no grant reaches, by their names: what decides which programs a person runs, what
//! settles the kernel, and files of passwords.

/// A name below some folder, and whether it is a folder where it does not exist yet.
pub(super) type Name = (&'static str, bool);

/// Below a project's folder: an author of these decides what the project's next user runs.
pub(super) const OF_PROJECT: [Name; 2] = [(".ai", true), GIT];

/// Where `.git` is missing or spoilt, git takes the project itself for a repository if it has all
/// of these, so it is enough that one cannot be created. The first two are folders in a repository
/// and do not name a revision.
pub(super) const OF_BARE: [Name; 3] = [("refs", false), ("objects", false), ("HEAD", false)];

/// The name that makes a folder a work tree of git.
pub(crate) const GIT_NAME: &str = ".git";

/// The repository of the project.
pub(super) const GIT: Name = (GIT_NAME, true);

/// The names that stay closed in a repository that an item may write: what git runs, reads as
/// settings, or goes on with. Folders are kept whole, since a file that git replaces by another is
/// a new file.
pub(super) const OF_GIT: [Name; 13] = [
    (".git/hooks", true),
    (".git/config", false),
    (".git/config.worktree", false),
    // Of a repository that it names git follows the settings; a tool has a copy, which is judged.
    (".git/index", false),
    // Says where git finds the others.
    (".git/commondir", false),
    // `attributes`, by which git picks filters and drivers.
    (".git/info", true),
    (".git/modules", true),
    (".git/worktrees", true),
    // Plans that may hold `exec` lines.
    (".git/rebase-merge", true),
    (".git/rebase-apply", true),
    (".git/sequencer", true),
    // Older ways to say where a name fetches from and pushes to.
    (".git/remotes", true),
    (".git/branches", true),
];

/// Below a home: what its shells and sessions start with, and the programs that they find first.
pub(super) const OF_HOME: [Name; 45] = [
    (".ai", true),
    (".ssh", true),
    (".bashrc", false),
    (".bashrc.d", true),
    (".bash_profile", false),
    (".bash_login", false),
    (".bash_aliases", false),
    (".bash_logout", false),
    (".cshrc", false),
    (".tcshrc", false),
    (".login", false),
    (".logout", false),
    (".kshrc", false),
    (".mkshrc", false),
    (".xonshrc", false),
    (".profile", false),
    (".zshrc", false),
    (".zshenv", false),
    (".zprofile", false),
    (".zlogin", false),
    (".zlogout", false),
    (".xinitrc", false),
    (".xprofile", false),
    (".xsession", false),
    (".xsessionrc", false),
    (".pam_environment", false),
    (".gitconfig", false),
    (".config/git", true),
    (".config/fish", true),
    (".config/zsh", true),
    (".config/nushell", true),
    (".config/powershell", true),
    (".config/elvish", true),
    (".config/xonsh", true),
    (".config/autostart", true),
    (".config/autostart-scripts", true),
    (".config/plasma-workspace", true),
    (".config/environment.d", true),
    (".config/systemd", true),
    (".local/bin", true),
    (".local/share/applications", true),
    (".local/share/dbus-1", true),
    (".local/share/fish", true),
    (".local/share/systemd", true),
    (".local/share/powershell", true),
];

/// Folders below a home that are too wide to be granted, as the home itself is: too much of what is
/// read from them at the next login has no place in a list.
pub(super) const WIDE_OF_HOME: [&str; 2] = [".config", ".local"];

/// The kernel's own folders: files of them are settings of the machine.
pub(super) const OF_MACHINE: [Name; 2] = [("/proc", true), ("/sys", true)];

/// Files of passwords and private keys, which root owns and may read also without any capability.
pub(super) const PASSWORDS: [&str; 15] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/etc/letsencrypt/archive",
    "/etc/letsencrypt/live",
    "/etc/letsencrypt/keys",
];

/// The folder in which each `…_key` is the private key of this machine.
pub(super) const HOST_KEYS: &str = "/etc/ssh";
