//! How long rye waits, keeps and tries: every span of time, once. The unit is the end of the name.

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

/// How far ahead of the clock a signature may be made, in seconds: clocks of two machines differ.
pub(crate) const CLOCK_SKEW_SECONDS: i64 = 300;
/// How long a value is checked at most where the caller sets no time, in milliseconds.
pub(crate) const CHECK_MS: u64 = 10_000;
/// Default time for a run in milliseconds, until a runtime says otherwise.
pub(crate) const TIMEOUT_MS: u64 = 30_000;
/// Time for one call of the exec protocol in milliseconds, unless the item says otherwise.
pub(crate) const EXEC_TIMEOUT_MS: u64 = 30_000;
/// Time for a hook in milliseconds, unless its item says otherwise (exec-protocol 6).
pub(crate) const HOOK_TIMEOUT_MS: u64 = 10_000;
/// How long a server of the exec protocol is kept without a call, in milliseconds, unless the item
/// says otherwise (exec-protocol 3.1).
pub(crate) const EXEC_IDLE_MS: u64 = 300_000;
/// First wait before a server that ended is started again, in milliseconds; twice as long each time
/// (exec-protocol 3.4).
pub(crate) const EXEC_BACKOFF_MS: u64 = 100;
/// The longest such wait.
pub(crate) const EXEC_BACKOFF_MAX_MS: u64 = 5_000;
pub(crate) const GIT_SETTINGS_TIME: u64 = 30;
/// How long a server may take to end once its input is closed, in milliseconds (exec-protocol 3.5).
pub(crate) const EXEC_CLOSE_MS: u64 = 2_000;
/// How long a process waits for its turn to write the registry, and then for others that write
/// without a turn, in milliseconds: as long as a run may take, since a request that is not kept is
/// lost with the run that made it.
pub(crate) const REGISTRY_WAIT_MS: u64 = TIMEOUT_MS;
/// Longest pause between two tries, in milliseconds: a write takes about as long.
pub(crate) const REGISTRY_PAUSE_MS: u64 = 20;
/// Between two tries to lock what this process registers, in milliseconds.
pub(crate) const LOCK_PAUSE_MS: u64 = 5;
/// Longest time that a signed item may ask for in milliseconds: one day.
pub(crate) const TIMEOUT_MAX_MS: u64 = 86_400_000;
/// Most processor time that a signed item may give a process, in milliseconds: a year. A process of
/// many threads uses more than a day of it in a day.
pub(crate) const CPU_MAX_MS: u64 = 31_536_000_000;
/// Between asking a process group to end and killing it, in milliseconds (core 7.11).
pub(crate) const TERM_GRACE_MS: u64 = 2_000;
/// How long output is still read after the child itself ended, in milliseconds: a grandchild that
/// holds the pipe must not hold the answer.
pub(crate) const DRAIN_MS: u64 = 100;
/// How long a program that is open for writing is tried to be started, in milliseconds: a child
/// between its birth and its program takes far less.
pub(crate) const BUSY_PROGRAM_MS: u64 = 1_000;
/// How long a killed child is waited for, in milliseconds; only one that may not be killed takes
/// longer.
pub(crate) const REAP_MS: u64 = 500;
/// Time for a connection to come about in milliseconds, unless the tool says otherwise.
pub(crate) const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// First wait between two tries in milliseconds, unless the tool says otherwise.
pub(crate) const BACKOFF_MS: u64 = 500;
/// Longest wait between two tries in milliseconds that nobody but us decided.
pub(crate) const BACKOFF_MAX_MS: u64 = 30_000;
/// First wait before a provider of models is asked again, in milliseconds, unless it says
/// otherwise; twice as long each time.
pub(crate) const PROVIDER_BACKOFF_MS: u64 = 1_000;
/// Longest wait that a provider may ask for, in milliseconds; one that asks for more is not asked
/// again.
pub(crate) const PROVIDER_WAIT_MAX_MS: u64 = 60_000;
/// How long an exchange is waited for after its connection was closed, in milliseconds.
#[cfg(feature = "http")]
pub(crate) const NET_GRACE_MS: u64 = 500;
/// How long a text is left alone after a change before it is judged, in milliseconds: most letters
/// follow sooner.
#[cfg(feature = "lsp")]
pub(crate) const LSP_DEBOUNCE_MS: u64 = 150;
/// How long a text is left unjudged while somebody types on, in milliseconds.
#[cfg(feature = "lsp")]
pub(crate) const LSP_LATEST_MS: u64 = 1_000;
/// How long the smallest difference of two texts is looked for, in milliseconds: a person waits for
/// it.
pub(crate) const DIFF_MS: u64 = 2_000;
/// Work that takes longer than this shows a progress bar, in milliseconds (core 11).
pub(crate) const PROGRESS_AFTER_MS: u64 = 500;
/// How long a program that tells an interpreter's path may take, in milliseconds: it is in the way
/// of every run.
pub(crate) const INTERPRETER_COMMAND_MS: u64 = 5_000;
/// How long an MCP server that ends waits for what it cancelled, in milliseconds: the time that a
/// process group is given to end, and a little to kill it.
#[cfg(feature = "mcp")]
pub(crate) const MCP_END_MS: u64 = TERM_GRACE_MS + 3_000;
/// How often a client that wants to know is told that a call still runs, in milliseconds.
#[cfg(feature = "mcp")]
pub(crate) const MCP_PROGRESS_MS: u64 = 1_000;
/// How long an MCP server waits after the last hint that a file changed before it looks, in
/// milliseconds.
#[cfg(feature = "mcp")]
pub(crate) const MCP_QUIET_MS: u64 = 150;
/// How long calls may go on when the client of an MCP server has closed our input, in milliseconds:
/// what was asked just before is answered, and nothing is left running for nobody.
#[cfg(feature = "mcp")]
pub(crate) const MCP_GONE_MS: u64 = 1_000;
/// How long a client may take for the head of an HTTP request, in milliseconds.
#[cfg(feature = "mcp")]
pub(crate) const MCP_HEADER_MS: u64 = 10_000;
/// How long a client may take for the body of an HTTP request, in milliseconds: one on this machine
/// needs less for the largest, and who never ends keeps nobody else out.
#[cfg(feature = "mcp")]
pub(crate) const MCP_BODY_MS: u64 = 10_000;
/// How long a call goes on over HTTP when nobody reads its answer, in milliseconds: a client is
/// told to come back after three seconds.
#[cfg(feature = "mcp")]
pub(crate) const MCP_LOST_MS: u64 = 5_000;
/// How long a server may take to hear that a call is cancelled, in milliseconds, before it is
/// ended.
pub(crate) const MCP_CANCEL_MS: u64 = 200;
/// How long rye waits before it comes back to a stream that ended without an answer, where the
/// server does not say, and the longest that it waits where the server does; in milliseconds.
pub(crate) const MCP_RETRY_MS: u64 = 1_000;
pub(crate) const MCP_RETRY_MAX_MS: u64 = 30_000;
/// How often whoever waits for a server that serves another call looks again, in milliseconds.
pub(crate) const MCP_TURN_MS: u64 = 10;
/// Time to start a server and read its list of tools at an import, in milliseconds: one that is
/// fetched first takes its time.
pub(crate) const MCP_IMPORT_MS: u64 = 120_000;
/// How long a dev key lives, in seconds: a working day and its evening (core 5.2).
pub(crate) const DEV_KEY_SECONDS: i64 = 12 * 3600;
/// A dev key with less left than this is not begun with, in seconds: its work would end in the
/// middle.
pub(crate) const DEV_KEY_SPARE_SECONDS: i64 = 15 * 60;
/// How long the record of a dev key that is over is kept, in seconds: what it signed is then told
/// from what a stranger signed.
pub(crate) const DEV_RECORD_SECONDS: u64 = 30 * 86_400;
/// How long `rye dev` waits at most before it asks the clock whether its key is nearly over, in
/// milliseconds: far less than the time that is left then, and no load.
pub(crate) const DEV_CLOCK_MS: u64 = 60_000;
/// After the last sign of a change `rye dev` waits so long before it looks, in milliseconds: an
/// editor takes several steps to save.
pub(crate) const DEV_QUIET_MS: u64 = 80;
/// But it looks after this time though signs keep coming, in milliseconds.
pub(crate) const DEV_PATIENCE_MS: u64 = 1_000;
/// How long after a look it looks once more, in milliseconds: what was written into a new folder
/// before it was watched gave no sign.
pub(crate) const DEV_AGAIN_MS: u64 = 500;
/// How long git may be at work before its lock counts as left behind, in milliseconds.
pub(crate) const DEV_GIT_MS: u64 = 10_000;
/// Age at which a temporary file is one that a killed process left, in seconds: no write takes as
/// long.
pub(crate) const LEFTOVER_SECONDS: u64 = 600;
/// How long a search index is kept at most where its files are watched, in milliseconds: a network
/// file system gives no sign of what another machine writes.
pub(crate) const SEARCH_KEEP_MS: u64 = 60_000;
/// How long an unstable server is left alone before it is started again, in milliseconds.
pub(crate) const EXEC_LEFT_ALONE_MS: u64 = 30_000;
/// In which span the ends of a server count together, in milliseconds.
pub(crate) const EXEC_DEATHS_MS: u64 = 60_000;
/// How often an observer looks whether it is to end, in milliseconds.
pub(crate) const OBSERVER_LOOK_MS: u64 = 50;
/// How long after git removed its lock git counts as done, in milliseconds.
pub(crate) const DEV_GIT_SETTLES_MS: u64 = 300;
/// How long a snippet waits for a person, in seconds: a week has each working day.
pub(crate) const SNIPPET_WAITS_S: u64 = 7 * 24 * 60 * 60;
/// How often it is looked whether a thread that is watched wrote more, in milliseconds: a person
/// sees no delay, and a look takes microseconds.
pub(crate) const TAIL_LOOK_MS: u64 = 100;
/// How often a request is looked at that somebody waits for, in milliseconds.
pub(crate) const PENDING_LOOK_MS: u64 = 200;
/// How long a thread may wait for what nobody decides any more before whoever waits for it is
/// told, in milliseconds: a decision and what follows it are two steps.
pub(crate) const UNATTENDED_MS: u64 = 2_000;
/// How long a connection to a run's proxy may take for the head of a request, and for the greeting
/// in a tunnel, in milliseconds: a tool on this machine has both at once.
#[cfg(feature = "http")]
pub(crate) const PROXY_HEAD_MS: u64 = 10_000;
/// How long a run's proxy waits for the addresses of a name, in milliseconds: as long as a resolver
/// tries its servers.
#[cfg(feature = "http")]
pub(crate) const PROXY_RESOLVE_MS: u64 = 10_000;
/// The time of `rye/web/fetch` for all requests of a page, in milliseconds.
#[cfg(feature = "http")]
pub(crate) const PAGE_FETCH_MS: u64 = 45_000;
/// The time of `rye/web/fetch` for making text of a page, in milliseconds.
#[cfg(feature = "http")]
pub(crate) const PAGE_READ_MS: u64 = 20_000;
/// How long a server may let a run's proxy wait for the head of its answer, in milliseconds, once
/// nothing more is sent to it: models and searches take minutes.
#[cfg(feature = "http")]
pub(crate) const PROXY_ANSWER_MS: u64 = 300_000;
/// How long a run's proxy tries one address of a name where there are others, in milliseconds.
#[cfg(feature = "http")]
pub(crate) const PROXY_ADDRESS_MS: u64 = 3_000;
/// Time for a snippet with its calls in milliseconds, unless it is configured otherwise, and the
/// most that can be (code-mode 1).
#[cfg(feature = "code")]
pub(crate) const CODE_TIMEOUT_MS: u64 = 120_000;
#[cfg(feature = "code")]
pub(crate) const CODE_TIMEOUT_MAX_MS: u64 = 600_000;
/// Time in milliseconds in which the engine of a snippet itself runs, unless it is configured
/// otherwise.
#[cfg(feature = "code")]
pub(crate) const CODE_ENGINE_MS: u64 = 5_000;
/// How long a snippet that is over its number of calls is still listened to without another call,
/// in milliseconds, and how long at most: calls that it made at once are recorded as refused.
#[cfg(feature = "code")]
pub(crate) const CODE_QUIET_MS: u64 = 200;
#[cfg(feature = "code")]
pub(crate) const CODE_REFUSING_MS: u64 = 2_000;
/// How long calls may go on behind the limit of time of their snippet until they are ended, in
/// milliseconds: the engine keeps that limit itself.
#[cfg(feature = "code")]
pub(crate) const CODE_GRACE_MS: u64 = 100;
/// How long a worker has to say which regular expression of a snippet is not valid, in
/// milliseconds: reading one takes microseconds, and the error is told without its place else.
#[cfg(feature = "code")]
pub(crate) const EXPRESSIONS_MS: u64 = 500;
/// How often it is looked whether a thread is to stop, in milliseconds: it stops within a second.
pub(crate) const STOP_LOOK_MS: u64 = 150;
/// How long a call may take to end when its thread is to stop, in milliseconds, before it is asked
/// again, which gives it no more time.
pub(crate) const STOP_AGAIN_MS: u64 = 400;
/// How long a detached run asks a registry again that is out of reach, such as on a full disk, and
/// how often, in milliseconds. What waits is killed only behind that.
pub(crate) const REGISTRY_INSISTS_MS: u64 = 600_000;
/// See `REGISTRY_INSISTS_MS`.
pub(crate) const REGISTRY_AGAIN_MS: u64 = 500;
/// How often the first of the runs that wait looks for a place, in milliseconds; one behind others
/// looks less often by as many.
pub(crate) const PLACE_LOOK_MS: u64 = 50;
/// The longest time between two such looks, in milliseconds.
pub(crate) const PLACE_LOOK_LONGEST_MS: u64 = 1_000;
/// How long the process of a detached run may take to register, in milliseconds: it may wait for
/// others that write the registry before.
pub(crate) const DETACHED_READY_MS: u64 = 2 * REGISTRY_WAIT_MS + 10_000;
/// How long whoever cancels or kills a thread waits until it ended, in milliseconds; after that it
/// is told that it still runs.
pub(crate) const STOP_WAIT_MS: u64 = 5_000;
/// How long whatever ends calls that run at once waits for them, in milliseconds: a command that
/// does not end when it is asked to is killed long before.
pub(crate) const CALLS_END_MS: u64 = 60_000;
