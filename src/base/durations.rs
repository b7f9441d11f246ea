//! The spans of time that more than one file uses. The unit is the end of the name.

use std::time::Duration;

/// A wait of so many milliseconds.
///
/// A debug build waits a fifth of it where the environment says `RYE_TEST_WAITS=short`, for tests.
/// A release knows no such variable.
pub(crate) fn wait_of(milliseconds: u64) -> Duration {
    #[cfg(debug_build)]
    {
        use std::sync::LazyLock;
        static IS_SHORT: LazyLock<bool> =
            LazyLock::new(|| std::env::var_os("RYE_TEST_WAITS").is_some_and(|how| how == "short"));
        if *IS_SHORT {
            return Duration::from_millis(milliseconds / 5);
        }
    }
    Duration::from_millis(milliseconds)
}

/// Default time for a run in milliseconds, until a runtime says otherwise.
pub(crate) const TIMEOUT_MS: u64 = 30_000;
/// How long a server of the exec protocol is kept without a call, in milliseconds, unless the item
/// says otherwise (exec-protocol 3.1).
pub(crate) const EXEC_IDLE_MS: u64 = 300_000;
/// The longest such wait.
pub(crate) const EXEC_BACKOFF_MAX_MS: u64 = 5_000;
pub(crate) const GIT_SETTINGS_TIME: u64 = 30;
/// How long a process waits for its turn to write the registry, and then for others that write
/// without a turn, in milliseconds: as long as a run may take, since a request that is not kept is
/// lost with the run that made it.
pub(crate) const REGISTRY_WAIT_MS: u64 = TIMEOUT_MS;
/// Longest time that a signed item may ask for in milliseconds: one day.
pub(crate) const TIMEOUT_MAX_MS: u64 = 86_400_000;
/// Between asking a process group to end and killing it, in milliseconds (core 7.11).
pub(crate) const TERM_GRACE_MS: u64 = 2_000;
/// How long a killed child is waited for, in milliseconds; only one that may not be killed takes
/// longer.
pub(crate) const REAP_MS: u64 = 500;
/// Time for a connection to come about in milliseconds, unless the tool says otherwise.
pub(crate) const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// Longest wait between two tries where the server names none, in milliseconds.
pub(crate) const BACKOFF_MAX_MS: u64 = 30_000;
/// How long an exchange is waited for after its connection was closed, in milliseconds.
#[cfg(feature = "http")]
pub(crate) const NET_GRACE_MS: u64 = 500;
/// How often a call looks for its turn at a server that serves another call, in milliseconds.
pub(crate) const MCP_TURN_MS: u64 = 10;
/// Time to start a server and read its list of tools at an import, in milliseconds: one that is
/// fetched first takes its time.
pub(crate) const MCP_IMPORT_MS: u64 = 120_000;
/// But it looks after this time though signs keep coming, in milliseconds.
pub(crate) const DEV_PATIENCE_MS: u64 = 1_000;
/// How long after a look it looks once more, in milliseconds: what was written into a new folder
/// before it was watched gave no sign.
pub(crate) const DEV_AGAIN_MS: u64 = 500;
/// How often a process looks at the request or the run that it waits for, in milliseconds.
pub(crate) const PENDING_LOOK_MS: u64 = 200;
/// How long a connection to a run's proxy may take for the head of a request, and for the greeting
/// in a tunnel, in milliseconds: a tool on this machine has both at once.
#[cfg(feature = "http")]
pub(crate) const PROXY_HEAD_MS: u64 = 10_000;
/// How long a call may take to end when its thread is to stop, in milliseconds, before it is asked
/// again, which gives it no more time.
pub(crate) const STOP_AGAIN_MS: u64 = 400;
/// How long a detached run asks a registry again that is out of reach, such as on a full disk, and
/// how often, in milliseconds. What waits is killed only behind that.
pub(crate) const REGISTRY_INSISTS_MS: u64 = 600_000;
/// See `REGISTRY_INSISTS_MS`.
pub(crate) const REGISTRY_AGAIN_MS: u64 = 500;
/// How long whatever ends calls that run at once waits for them, in milliseconds: a command that
/// does not end when it is asked to is killed long before.
pub(crate) const CALLS_END_MS: u64 = 60_000;
