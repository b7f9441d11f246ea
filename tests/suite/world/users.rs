//! A world with a user database of its own: whose home the caller's is, no variable says.

use std::path::Path;
use std::process::Command;
use std::sync::Once;

use super::{World, program, write};

impl World {
    /// The same world where the user database names this one's home as the caller's; `None`, which
    /// is said, on a machine where that cannot be tried.
    pub fn at_home(self) -> Option<Self> {
        let home = self.home();
        self.where_home_is(&home)
    }

    /// The same with another folder as the caller's home.
    pub fn where_home_is(mut self, home: &Path) -> Option<Self> {
        // A user namespace would make the machine's own folders nobody's.
        let can = Command::new("unshare").args(["--mount", "true"]).output();
        if !can.is_ok_and(|output| output.status.success()) {
            eprintln!("no mounts of one's own: a home of the user database is not tried");
            return None;
        }
        let home = home.canonicalize().expect("a home");
        let text = format!("root:x:0:0:root:{}:/bin/sh\n", home.display());
        self.users = Some(write(&self.folder.path().join("passwd"), text.as_bytes()));
        Some(self)
    }

    /// rye, with the user database of this world.
    pub(super) fn rye_itself(&self) -> Command {
        let_children_hear_signals();
        match &self.users {
            None => Command::new(program()),
            Some(users) => {
                let script = "mount --bind \"$0\" /etc/passwd && exec \"$@\"";
                let mut command = Command::new("unshare");
                command.args(["--mount", "sh", "-c", script]).arg(users).arg(program());
                command
            }
        }
    }
}

/// What started the tests may ignore signals, as `nohup` does, and a child would go on with that.
///
/// A handler is not inherited: so a signal that this process ignores is caught by one that does
/// nothing, and ends a child all the same. Code between fork and exec would make each start copy the
/// page tables of the tests, which is most of what a start costs.
#[expect(unsafe_code, reason = "there is no safe way to ask for and set a signal's disposition")]
fn let_children_hear_signals() {
    extern "C" fn nothing(_: libc::c_int) {}
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: the kernel fills in and reads a structure of ours; the handler does nothing.
            unsafe {
                let mut now: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut now);
                if now.sa_sigaction == libc::SIG_IGN {
                    now.sa_sigaction = nothing as *const () as usize;
                    now.sa_flags = libc::SA_RESTART;
                    libc::sigaction(signal, &raw const now, std::ptr::null_mut());
                }
            }
        }
    });
}
