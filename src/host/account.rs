//! The caller, as the user database of this machine knows them: no variable of the environment is
//! asked.
//!
//! `/etc/passwd` and `/etc/group` are read as they are. The C library would also ask services of
//! other machines, by code that it loads at run time, which a static program cannot: it crashes. Of
//! a user that only such a service knows, nothing is known here, which is the strict side.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Most bytes of either file that are read: a machine has some hundred users.
const DATABASE_BYTES: u64 = 4 << 20;

/// The user that this process acts as.
pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The real path of the home that the user database names for the caller; `None` where it names
/// none that is there.
pub(crate) fn own_home() -> Option<PathBuf> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let users = read("/etc/passwd")?;
        let home = user(&users, own_uid())?.home;
        home.starts_with('/').then(|| PathBuf::from(home).canonicalize().ok()).flatten()
    };
    HOME.get_or_init(find).clone()
}

/// The home that the user database names for a user.
pub(crate) fn home_of(name: &str) -> Option<PathBuf> {
    let users = read("/etc/passwd")?;
    users
        .lines()
        .filter_map(User::parse)
        .find(|user| user.name == name)
        .map(|user| user.home.into())
}

/// The name of a user, as the user database has it.
pub(crate) fn user_name(uid: u32) -> Option<String> {
    Some(user(&read("/etc/passwd")?, uid)?.name.to_owned())
}

/// Returns true if a group has no member but the caller: the one of the caller's own name, as most
/// systems make it for each user.
pub(crate) fn is_own_private_group(gid: u32) -> bool {
    let found = || {
        let users = read("/etc/passwd")?;
        let user = user(&users, own_uid())?;
        let others = users
            .lines()
            .filter_map(User::parse)
            .any(|other| other.gid == gid && other.uid != user.uid);
        let is_private = is_private_to(&read("/etc/group")?, gid, user.name);
        Some(user.gid == gid && is_private && !others)
    };
    found().unwrap_or(false)
}

/// One line of `/etc/passwd` (passwd(5)).
#[derive(Debug, PartialEq)]
struct User<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
    home: &'a str,
}

impl<'a> User<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, home, _] = fields.as_slice() else { return None };
        Some(Self { name, uid: uid.parse().ok()?, gid: gid.parse().ok()?, home })
    }
}

/// The first line for a user id, as the C library takes it.
fn user(users: &str, uid: u32) -> Option<User<'_>> {
    users.lines().filter_map(User::parse).find(|user| user.uid == uid)
}

/// Returns true if the group of an id has the name of a user and no other member (group(5)).
fn is_private_to(groups: &str, gid: u32, name: &str) -> bool {
    let group = groups.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [group, _, id, members] = fields.as_slice() else { return None };
        (id.parse() == Ok(gid)).then_some((*group, *members))
    });
    group.is_some_and(|(group, members)| {
        group == name && members.split(',').all(|member| member.is_empty() || member == name)
    })
}

fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(DATABASE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{User, is_private_to, user};

    const USERS: &str = "root:x:0:0:root:/root:/bin/bash\n# a remark\nbroken:x:1\n\
                         ada:x:1000:1000:Ada,,,:/home/ada:/bin/zsh\nada2:x:1000:1000::/evil:/bin/sh\n";

    #[test]
    fn the_first_line_of_a_user_counts() {
        let ada = User { name: "ada", uid: 1000, gid: 1000, home: "/home/ada" };
        assert_eq!(user(USERS, 1000), Some(ada));
        assert_eq!(user(USERS, 0).map(|root| root.home), Some("/root"));
        assert_eq!(user(USERS, 1), None);
        assert_eq!(user(USERS, 12345), None);
    }

    #[test]
    fn a_group_is_private_that_has_the_name_of_its_only_member() {
        let groups = "root:x:0:\nada:x:1000:\nbob:x:1001:ada\nteam:x:1002:ada\neve:x:1003:eve\n";
        assert!(is_private_to(groups, 1000, "ada") && is_private_to(groups, 1003, "eve"));
        for (gid, name) in [(1001, "bob"), (1002, "ada"), (1000, "bob"), (7, "ada")] {
            assert!(!is_private_to(groups, gid, name), "{gid} {name}");
        }
    }
}
