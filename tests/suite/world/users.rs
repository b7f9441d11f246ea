//! A world with a user database of its own: whose home the caller's is, no variable says.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

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
        let mut command = match &self.users {
            None => Command::new(program()),
            Some(users) => {
                let script = "mount --bind \"$0\" /etc/passwd && exec \"$@\"";
                let mut command = Command::new("unshare");
                command.args(["--mount", "sh", "-c", script]).arg(users).arg(program());
                command
            }
        };
        listen_to_signals(&mut command);
        command
    }
}

/// What started the tests may ignore signals, as `nohup` does, and a child would go on with that.
#[expect(unsafe_code, reason = "signals are reset between fork and exec")]
fn listen_to_signals(command: &mut Command) {
    let reset = || {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            // SAFETY: `signal` may be called between fork and exec, and no handler is set.
            if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: it allocates nothing and takes no lock.
    unsafe { command.pre_exec(reset) };
}
